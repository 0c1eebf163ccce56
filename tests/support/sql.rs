//! The database as somebody with the `sqlite3` shell sees it: foreign keys off, recursive triggers off.

use std::path::Path;

use rusqlite::{Connection, Row};

/// An open connection.
pub struct Sql(Connection);

impl Sql {
    pub fn open(path: &Path) -> Self {
        let connection = Connection::open(path).expect("an SQLite file");
        connection.pragma_update(None, "foreign_keys", "OFF").expect("a pragma");
        connection.pragma_update(None, "recursive_triggers", "OFF").expect("a pragma");
        connection.busy_timeout(std::time::Duration::from_secs(20)).expect("a timeout");
        Self(connection)
    }

    /// Runs statements that may be refused.
    pub fn try_run(&self, sql: &str) -> rusqlite::Result<()> {
        self.0.execute_batch(sql)
    }

    /// Runs statements that must succeed.
    #[track_caller]
    pub fn run(&self, sql: &str) {
        self.try_run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs a statement that must be refused, and returns the error message.
    #[track_caller]
    pub fn refused(&self, sql: &str) -> String {
        match self.try_run(sql) {
            Ok(()) => panic!("this was not refused: {sql}"),
            Err(error) => error.to_string(),
        }
    }

    /// The number that a query gives.
    #[track_caller]
    pub fn number(&self, sql: &str) -> i64 {
        self.one(sql, |row| row.get(0))
    }

    /// The text that a query gives.
    #[track_caller]
    pub fn text(&self, sql: &str) -> String {
        self.one(sql, |row| row.get(0))
    }

    /// What a query gives, a row at a time.
    #[track_caller]
    pub fn all<T>(&self, sql: &str, read: impl FnMut(&Row) -> rusqlite::Result<T>) -> Vec<T> {
        let mut statement = self.0.prepare_cached(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let rows = statement.query_map((), read).and_then(Iterator::collect);
        rows.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    #[track_caller]
    fn one<T>(&self, sql: &str, read: impl FnMut(&Row) -> rusqlite::Result<T>) -> T {
        self.all(sql, read).into_iter().next().unwrap_or_else(|| panic!("{sql}: no row"))
    }
}
