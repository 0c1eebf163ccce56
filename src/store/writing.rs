//! A writing transaction: a connection that counts along.

use std::cell::RefCell;
use std::ops::Deref;

use rusqlite::Transaction;

use super::tally::{Tally, Waiting};
use super::{Connection, Result, StoreError};
use crate::model::JobState;

/// A writing transaction. Whatever moves a job in it says so here, and the counts go to disk with the commit.
pub(super) struct Writing<'a> {
    connection: &'a Connection,
    transaction: Transaction<'a>,
    tally: RefCell<Tally>,
}

impl<'a> Writing<'a> {
    /// The transaction that has begun on this connection.
    pub(super) fn new(connection: &'a Connection, transaction: Transaction<'a>) -> Self {
        Self { connection, transaction, tally: RefCell::default() }
    }

    /// A job waits from now on.
    pub(super) fn waits(&self, job: Waiting) {
        self.tally.borrow_mut().waits(job);
    }

    /// A job waits no more.
    pub(super) fn leaves(&self, job: Waiting) {
        self.tally.borrow_mut().leaves(job);
    }

    /// A job is over.
    pub(super) fn is_over(&self, state: JobState, error_code: Option<&str>) {
        self.tally.borrow_mut().finished(state, error_code, 1);
    }

    /// A job that was over is put back.
    pub(super) fn comes_back(&self, state: JobState, error_code: Option<&str>) {
        self.tally.borrow_mut().finished(state, error_code, -1);
    }

    /// Writes the counts, and puts everything on disk.
    pub(super) fn commit(self) -> Result<()> {
        self.tally.into_inner().write(self.connection)?;
        self.transaction.commit().map_err(StoreError::at_commit)
    }
}

impl Deref for Writing<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}
