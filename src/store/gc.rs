//! Removing definitions that no job has and workers that no attempt names, after a prune.
//!
//! No index leads from a definition to its jobs, or from a worker to its attempts: each enqueue and each finish would
//! pay for it. So one read finds what is unused, and short transactions remove it.

use std::collections::BTreeSet;
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
const CHUNK: usize = 500;

/// Removes unused definitions, and unused workers that ended at this time or before. `go_on` says whether to go on.
pub(super) fn collect(store: &mut Store, until: Timestamp, go_on: &mut dyn FnMut() -> bool) -> Result<()> {
    // The last definition stays: its id would be given out again, and a worker may remember its meaning.
    let (unused, newest_job) = store.read(|tx| {
        let unused = "SELECT id FROM definitions WHERE id < (SELECT max(id) FROM definitions)
                      AND id NOT IN (SELECT definition_id FROM jobs)";
        let newest_job: i64 = tx.query_row("SELECT coalesce(max(id), 0) FROM jobs", [], |row| row.get(0))?;
        Ok((ids(tx, unused, [])?, newest_job))
    })?;
    let reused = |tx: &Connection| {
        // An enqueue finds definitions by their text: it may have used one of these since.
        ids(tx, "SELECT definition_id FROM jobs WHERE id > ?1", [newest_job])
    };
    remove(store, "DELETE FROM definitions WHERE id = ?1", &unused, &reused, go_on)?;

    // A worker that has ended records no attempt: what is unused now stays so.
    let unused = store.read(|tx| {
        let sql =
            "SELECT id FROM workers WHERE ended_at <= ?1 AND id NOT IN (SELECT worker_id FROM attempts)";
        ids(tx, sql, params![until.0])
    })?;
    let sql = "DELETE FROM workers WHERE id = ?1 AND ended_at IS NOT NULL";
    remove(store, sql, &unused, &|_| Ok(BTreeSet::new()), go_on)
}

/// Deletes these rows but those that are used again by then, a chunk a transaction.
fn remove(
    store: &mut Store,
    sql: &str,
    unused: &BTreeSet<i64>,
    reused: &dyn Fn(&Connection) -> Result<BTreeSet<i64>>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let unused: Vec<i64> = unused.iter().copied().collect();
    for chunk in unused.chunks(CHUNK) {
        if !go_on() {
            return Ok(());
        }
        store.write(|tx| {
            let reused = reused(tx)?;
            let mut delete = tx.prepare_cached(sql)?;
            for id in chunk.iter().filter(|id| !reused.contains(id)) {
                delete.execute([id])?;
            }
            Ok(())
        })?;
        thread::sleep(GAP);
    }
    Ok(())
}

fn ids(tx: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<BTreeSet<i64>> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
