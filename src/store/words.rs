//! The words that are in use: what a filter can be meant to say.

use super::{Result, Store};

/// What a list is narrowed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The name of a job.
    Name,
    /// A queue.
    Queue,
    /// What an attempt, or a job, ended with.
    ErrorCode,
}

impl Store {
    /// All words of this kind, each once. Goes through all jobs: only for a person who waits for an answer.
    pub fn words(&self, kind: Word) -> Result<Vec<String>> {
        let sql = match kind {
            Word::Name => "SELECT DISTINCT name FROM jobs",
            Word::Queue => "SELECT queue FROM jobs UNION SELECT name FROM paused_queues",
            Word::ErrorCode => "SELECT error_code FROM jobs UNION SELECT error_code FROM attempts",
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let words = statement.query_map([], |row| row.get::<_, Option<String>>(0))?;
        Ok(words.filter_map(rusqlite::Result::transpose).collect::<rusqlite::Result<_>>()?)
    }
}
