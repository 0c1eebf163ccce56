//! Removing definitions that no job has and workers that no attempt names, after a prune.
//!
//! No index leads from a definition to its jobs, or from a worker to its attempts: each enqueue and each finish would
//! pay for such an index. So one read finds the unused rows, and short transactions remove them.

use std::thread;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::error::Result;
use super::open::Store;
use crate::text::Timestamp;

/// The pause between two transactions: longer than the longest wait between two tries of another writer (see `busy`), so
/// that the other writer comes first.
pub(super) const GAP: Duration = Duration::from_millis(3);

/// Rows removed in one transaction.
const CHUNK_ROWS: usize = 500;

/// Removes unused definitions, and unused workers that ended at this time or before. `go_on` says whether to go on.
pub(super) fn collect(store: &mut Store, until: Timestamp, go_on: &mut dyn FnMut() -> bool) -> Result<()> {
    let (definitions, workers, newest_job) = store.read(|tx| {
        // The last definition stays: its id would be given out again, and a worker may remember its meaning.
        let definitions = "SELECT id FROM definitions WHERE id < (SELECT max(id) FROM definitions)
                           AND id NOT IN (SELECT definition_id FROM jobs)";
        // A worker that has ended records no attempt: an unused worker stays unused.
        let workers =
            "SELECT id FROM workers WHERE ended_at <= ?1 AND id NOT IN (SELECT worker_id FROM attempts)";
        let newest_job: i64 = tx.query_row("SELECT coalesce(max(id), 0) FROM jobs", [], |row| row.get(0))?;
        Ok((ids(tx, definitions, [])?, ids(tx, workers, [until.0])?, newest_job))
    })?;
    // An enqueue finds definitions by their text, and may have used one of these since.
    let sql = "DELETE FROM definitions WHERE id IN (SELECT value FROM json_each(?1))
               AND id NOT IN (SELECT definition_id FROM jobs WHERE id > ?2)";
    remove(store, &definitions, go_on, &|tx, chunk| {
        tx.prepare_cached(sql)?.execute(params![chunk, newest_job])
    })?;
    let sql = "DELETE FROM workers WHERE id IN (SELECT value FROM json_each(?1))";
    remove(store, &workers, go_on, &|tx, chunk| tx.prepare_cached(sql)?.execute([chunk]))
}

/// Deletes these rows, a chunk a transaction. `delete` takes a JSON array of ids.
fn remove(
    store: &mut Store,
    unused: &[i64],
    go_on: &mut dyn FnMut() -> bool,
    delete: &dyn Fn(&Connection, &str) -> rusqlite::Result<usize>,
) -> Result<()> {
    for chunk in unused.chunks(CHUNK_ROWS) {
        if !go_on() {
            return Ok(());
        }
        let chunk = serde_json::json!(chunk).to_string();
        store.write(|tx| Ok(delete(tx, &chunk)?))?;
        thread::sleep(GAP);
    }
    Ok(())
}

fn ids(tx: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<Vec<i64>> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
