//! Dead letters and their last words, all of them in one pass.

use rusqlite::{Row, params_from_iter};

use super::error::Result;
use super::filter::Filter;
use super::jobs;
use super::open::Store;
use crate::model::DeadReason;
use crate::text::{Timestamp, last_lines, safe_line};

/// A dead job, as far as dead jobs resemble each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    pub id: i64,
    pub died_at: Timestamp,
    pub name: String,
    pub error_code: String,
    pub reason: Option<DeadReason>,
    /// The message of the last attempt, else the last line of its standard error, else of its standard output, made safe.
    pub last_words: String,
}

impl Store {
    /// Hands on each dead letter, the newest first. Takes about a third of a second for 100 000.
    pub fn for_each_dead_letter(
        &self,
        filter: &Filter,
        now: Timestamp,
        mut each: impl FnMut(DeadLetter),
    ) -> Result<()> {
        let wanted = filter.conditions(now);
        // The length of a stream is read without the stream.
        let columns =
            ", j.name, coalesce(j.error_code, 'EXPIRED'), a.message, iif(a.message IS NULL, o.stderr, NULL),
                       iif(a.message IS NULL AND length(o.stderr) = 0, o.stdout, NULL),
                       coalesce(j.dead_reason, 'expired')";
        let joins = "LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts
                     LEFT JOIN outputs AS o ON o.job_id = j.id AND o.number = j.attempts";
        let sql = jobs::dead_letters(columns, joins, |_| wanted.sql.clone());
        self.autocommit(|tx| {
            let mut statement = tx.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(&wanted.values))?;
            while let Some(row) = rows.next()? {
                each(read(row)?);
            }
            Ok(())
        })
    }
}

fn read(row: &Row) -> rusqlite::Result<DeadLetter> {
    let last_line = |column: usize| -> rusqlite::Result<Option<String>> {
        Ok(row.get_ref(column)?.as_blob_or_null()?.and_then(|bytes| last_lines(bytes, 1).pop()))
    };
    let message = row.get_ref(4)?.as_str_or_null()?.map(safe_line);
    let last_words = message.or(last_line(5)?).or(last_line(6)?).unwrap_or_default();
    Ok(DeadLetter {
        died_at: Timestamp(row.get(0)?),
        id: row.get(1)?,
        name: row.get(2)?,
        error_code: row.get(3)?,
        reason: DeadReason::parse(row.get_ref(7)?.as_str()?),
        last_words,
    })
}
