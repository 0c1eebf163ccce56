//! The store: one SQLite file, and the only SQL of the program; one file a verb.
//!
//! Every writing transaction is `BEGIN IMMEDIATE` and synced in full before anybody is told of it. A transition of a
//! job and the attempt row that tells of it are one transaction.

mod audit;
mod backup;
mod busy;
mod cancel;
mod candidates;
mod claim;
mod create;
mod definition;
mod enqueue;
mod error;
mod expire;
mod file;
mod filter;
mod finish;
mod insert;
mod inspect;
mod job_row;
mod list_attempts;
mod list_jobs;
mod log_name;
mod open;
mod outputs;
mod overview;
mod prune;
mod queues;
mod rebase;
mod recover;
mod replay;
mod stats;
mod sweep;
mod turn;
mod unique_key;
mod words;
mod workers;

#[cfg(test)]
mod tests;

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use audit::Finding;
pub use cancel::{CancelOutcome, Cancelled};
pub use claim::Claim;
pub use definition::Definitions;
pub use enqueue::{EnqueueError, Enqueued, NewJob, OnConflict};
pub use error::StoreError;
pub use expire::Expired;
pub use file::{StoreFile, locate};
pub use filter::{AttemptFilter, JobFilter, StateFilter};
pub use finish::{Ended, Recorded};
pub use job_row::JobRow;
pub use list_jobs::JobCursor;
pub use outputs::{Output, StreamBytes};
pub use overview::{Counts, Overview, QueueRow};
pub use prune::{PruneCounts, PruneFilter};
pub use queues::Backlog;
pub use recover::{HeldClaim, Recovered};
pub use replay::{Refusal, Replayed};
pub use stats::{NameStats, Stats, StatsFilter};
pub use turn::{CancelledClaim, Turn, TurnRequest};
pub use words::Word;
pub use workers::WorkerRow;

/// What the store's functions answer with.
pub type Result<T> = std::result::Result<T, StoreError>;

/// An open database.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    file: StoreFile,
    /// Device and inode of the file that was opened.
    identity: (u64, u64),
    /// The disk is full, and others wait until this is closed: it is there to be read.
    only_to_look: bool,
    /// This process has seen to it that the log's name is on disk.
    log_is_named: bool,
}

impl Store {
    /// Where it lies.
    pub fn file(&self) -> &StoreFile {
        &self.file
    }

    /// Fails where the path no longer leads to the file that was opened: nobody else would ever see what is written.
    pub fn check_place(&self) -> Result<()> {
        match open::identity(self.file.path()) {
            Ok(found) if found == self.identity => Ok(()),
            _ => Err(StoreError::Moved(self.file.path().to_owned())),
        }
    }

    /// Ends the use of the database with the process, where somebody else has it open: what SQLite would take apart, the
    /// kernel takes back, the locks too. Putting the log away is then the business of the other, who is the last.
    pub fn leave(self) {
        std::mem::forget(self);
    }

    /// Runs one writing transaction. When this returns `Ok`, what it did is on disk.
    fn write<T>(&mut self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        if self.only_to_look {
            return Err(StoreError::Full);
        }
        self.transact(body).map_err(|error| open::explain_denial(error, &self.file))
    }

    fn transact<T>(&mut self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        let value = body(&transaction)?;
        if !self.log_is_named {
            let what = || format!("sync the folder of the database {}", self.file.path().display());
            log_name::secure(&self.file).map_err(|error| StoreError::Io(what(), error))?;
            self.log_is_named = true;
        }
        transaction.commit().map_err(StoreError::at_commit)?;
        Ok(value)
    }

    /// Runs one reading transaction: everything in it sees the same moment.
    fn read<T>(&mut self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let _transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
        body(&self.connection)
    }

    /// Changes whenever another connection has written: a cheap way to see that something may be new.
    pub fn data_version(&self) -> Result<i64> {
        Ok(self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
    }
}
