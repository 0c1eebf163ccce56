//! The connection that the statements of the store go through.

use std::ops::{Deref, DerefMut};

use rusqlite::{CachedStatement, Params, Row, Statement};

/// A connection to the database. Every statement of the store is prepared by it: a test can hear each, and put another
/// in its place. Otherwise it is SQLite's, and costs nothing.
#[derive(Debug)]
pub(super) struct Connection {
    inner: rusqlite::Connection,
    #[cfg(test)]
    tap: std::sync::Arc<super::tests::Tap>,
}

impl Connection {
    pub fn new(inner: rusqlite::Connection) -> Self {
        #[cfg(test)]
        let (inner, tap) = super::tests::Tap::onto(inner);
        Self {
            inner,
            #[cfg(test)]
            tap,
        }
    }

    pub fn prepare_cached(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        #[cfg(test)]
        let sql = self.tap.pass(sql);
        self.inner.prepare_cached(sql)
    }

    pub fn prepare(&self, sql: &str) -> rusqlite::Result<Statement<'_>> {
        #[cfg(test)]
        let sql = self.tap.pass(sql);
        self.inner.prepare(sql)
    }

    pub fn execute(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        #[cfg(test)]
        let sql = self.tap.pass(sql);
        self.inner.execute(sql, params)
    }

    pub fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        #[cfg(test)]
        let sql = self.tap.pass(sql);
        self.inner.query_row(sql, params, read)
    }
}

impl Deref for Connection {
    type Target = rusqlite::Connection;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}
