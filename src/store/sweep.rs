//! Removing what removed jobs leave behind: definitions that no job has, workers that no attempt names.
//!
//! No index leads from a definition to its jobs, or from a worker to its attempts: each enqueue and each finish would
//! pay for it. So all that is left is looked at, a page at a time, without the write lock, and no further than needed.

use std::collections::BTreeSet;
use std::thread;

use rusqlite::{Connection, params};

use super::prune::GAP;
use super::{Result, Store};
use crate::text::Timestamp;

/// Rows looked at in one read: no read lasts long enough to hold up a checkpoint.
const PAGE: usize = 10_000;

/// Rows removed in one transaction.
const REMOVED: usize = 500;

/// Candidates that are held in memory at once.
const MOST: usize = 1_000_000;

/// Says whether there is still time.
pub(super) type GoOn<'a> = dyn FnMut() -> bool + 'a;

impl Store {
    /// Removes them. Workers only if they ended at this time or before.
    pub(super) fn sweep(&mut self, until: Timestamp, go_on: &mut GoOn<'_>) -> Result<()> {
        self.sweep_definitions(go_on)?;
        self.sweep_workers(until, go_on)
    }

    fn sweep_definitions(&mut self, go_on: &mut GoOn<'_>) -> Result<()> {
        let mut after = 0;
        loop {
            let (unused, newest) = self.read(|tx| {
                // Never the last: its id would be given out again, and a worker may remember what it meant.
                let sql =
                    "SELECT id FROM definitions WHERE id > ?1 AND id < (SELECT max(id) FROM definitions)
                           ORDER BY id LIMIT ?2";
                Ok((ids(tx, sql, params![after, MOST])?, newest_job(tx)?))
            })?;
            let Some(last) = unused.last() else { return Ok(()) };
            after = *last;
            let Some(unused) = self.no_job_has(unused, newest, go_on)? else { return Ok(()) };
            if !self.remove_unused(unused, newest, go_on)? {
                return Ok(());
            }
        }
    }

    /// Those of these definitions that none of the jobs up to `newest` has. None where the time is up.
    fn no_job_has(
        &self,
        mut unused: BTreeSet<i64>,
        newest: i64,
        go_on: &mut GoOn<'_>,
    ) -> Result<Option<BTreeSet<i64>>> {
        let mut before = newest + 1;
        // The newest jobs have most of the definitions that are in use: often there is nothing left to look for soon.
        while !unused.is_empty() {
            if !go_on() {
                return Ok(None);
            }
            let sql = "SELECT id, definition_id FROM jobs WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
            let page = pairs(&self.connection, sql, params![before, PAGE])?;
            let Some((last, _)) = page.last() else { break };
            before = *last;
            for (_, definition) in page {
                unused.remove(&definition);
            }
        }
        Ok(Some(unused))
    }

    /// Removes these definitions, unless a job that came after `newest` has one. False where the time is up.
    fn remove_unused(
        &mut self,
        mut unused: BTreeSet<i64>,
        mut newest: i64,
        go_on: &mut GoOn<'_>,
    ) -> Result<bool> {
        if !unused.is_empty() {
            forget_used(&self.connection, &mut unused, &mut newest)?;
        }
        while !unused.is_empty() {
            if !go_on() {
                return Ok(false);
            }
            self.write(|tx| {
                // An enqueue finds definitions by what they say: it may have taken one of these up since.
                forget_used(tx, &mut unused, &mut newest)?;
                remove(tx, "DELETE FROM definitions WHERE id = ?1", &mut unused)
            })?;
            thread::sleep(GAP);
        }
        Ok(true)
    }

    fn sweep_workers(&mut self, until: Timestamp, go_on: &mut GoOn<'_>) -> Result<()> {
        let mut after = 0;
        loop {
            // No attempt is recorded by a worker that has ended: what nobody names now, nobody will.
            let sql = "SELECT id FROM workers WHERE id > ?1 AND ended_at <= ?2 ORDER BY id LIMIT ?3";
            let ended = ids(&self.connection, sql, params![after, until.0, MOST])?;
            let Some(last) = ended.last() else { return Ok(()) };
            after = *last;
            let Some(mut unnamed) = self.no_attempt_names(ended, go_on)? else { return Ok(()) };
            while !unnamed.is_empty() {
                if !go_on() {
                    return Ok(());
                }
                let sql = "DELETE FROM workers WHERE id = ?1 AND ended_at IS NOT NULL";
                self.write(|tx| remove(tx, sql, &mut unnamed))?;
                thread::sleep(GAP);
            }
        }
    }

    /// Those of these workers that no attempt names. None where the time is up.
    fn no_attempt_names(
        &self,
        mut workers: BTreeSet<i64>,
        go_on: &mut GoOn<'_>,
    ) -> Result<Option<BTreeSet<i64>>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT job_id, number, worker_id FROM attempts WHERE (job_id, number) < (?1, ?2)
             ORDER BY job_id DESC, number DESC LIMIT ?3",
        )?;
        let mut before = Some((i64::MAX, 0));
        while let Some((job, number)) = before.take().filter(|_| !workers.is_empty()) {
            if !go_on() {
                return Ok(None);
            }
            let mut rows = statement.query(params![job, number, PAGE])?;
            while let Some(row) = rows.next()? {
                before = Some((row.get(0)?, row.get(1)?));
                workers.remove(&row.get(2)?);
            }
        }
        Ok(Some(workers))
    }
}

/// Strikes out the definitions of jobs that came after `newest`, which moves on.
fn forget_used(connection: &Connection, unused: &mut BTreeSet<i64>, newest: &mut i64) -> Result<()> {
    loop {
        let page = pairs(
            connection,
            "SELECT id, definition_id FROM jobs WHERE id > ?1 ORDER BY id LIMIT ?2",
            params![*newest, PAGE],
        )?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        *newest = *last;
        for (_, definition) in page {
            unused.remove(&definition);
        }
    }
}

/// Removes some of these rows, and strikes them out.
fn remove(connection: &Connection, sql: &str, rows: &mut BTreeSet<i64>) -> Result<()> {
    let some: Vec<i64> = rows.iter().take(REMOVED).copied().collect();
    let mut statement = connection.prepare_cached(sql)?;
    for id in some {
        statement.execute([id])?;
        rows.remove(&id);
    }
    Ok(())
}

fn newest_job(connection: &Connection) -> Result<i64> {
    let sql = "SELECT coalesce(max(id), 0) FROM jobs";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

fn ids(connection: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<BTreeSet<i64>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn pairs(connection: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<Vec<(i64, i64)>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
