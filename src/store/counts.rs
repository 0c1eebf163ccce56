//! The counts read back: what they say at one moment.

use std::collections::BTreeMap;

use rusqlite::params;

use super::tally::{COARSE, FINE, Kind};
use super::{Connection, Result};
use crate::text::Timestamp;

/// Jobs of one kind, before and after a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sides {
    /// Due by then, or expired.
    pub past: i64,
    /// Later.
    pub future: i64,
}

/// Rows looked at on the later side of the moment before the earlier side is counted instead. The first few hundred
/// microseconds of a count; jobs that were enqueued together are all on one side.
const FEW: i64 = 2_000;

/// The waiting jobs of each queue, by kind.
///
/// Sums of coarse buckets, then of the fine ones in the coarse bucket of this moment; of the fine one of this moment the
/// jobs themselves are looked at.
pub(super) fn waiting(
    connection: &Connection,
    kind: Kind,
    now: Timestamp,
) -> Result<BTreeMap<String, Sides>> {
    let mut queues: BTreeMap<String, Sides> = BTreeMap::new();
    let mut split: Vec<(String, i64)> = Vec::new();
    let coarse = now.0 >> COARSE;
    let first = coarse << (COARSE - FINE);
    let last = first + (1 << (COARSE - FINE)) - 1;
    let mut add = |width: u32, from: i64, to: i64| -> Result<()> {
        let mut buckets = connection.prepare_cached(
            "SELECT bucket, queue, jobs FROM waiting_counts
             WHERE kind = ?1 AND width = ?2 AND bucket BETWEEN ?3 AND ?4",
        )?;
        let mut rows = buckets.query(params![kind.as_str(), width, from, to])?;
        while let Some(row) = rows.next()? {
            let (bucket, queue, jobs): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            match bucket.cmp(&(now.0 >> width)) {
                std::cmp::Ordering::Less => queues.entry(queue).or_default().past += jobs,
                std::cmp::Ordering::Greater => queues.entry(queue).or_default().future += jobs,
                std::cmp::Ordering::Equal if width == FINE => split.push((queue, jobs)),
                std::cmp::Ordering::Equal => {}
            }
        }
        Ok(())
    };
    add(COARSE, i64::MIN, i64::MAX)?;
    add(FINE, first, last)?;
    for (queue, jobs) in split {
        let past = past_of_this_bucket(connection, kind, &queue, jobs, now)?;
        let sides = queues.entry(queue).or_default();
        sides.past += past;
        sides.future += jobs - past;
    }
    Ok(queues)
}

/// Of the jobs in the fine bucket of this moment: how many are past.
fn past_of_this_bucket(
    connection: &Connection,
    kind: Kind,
    queue: &str,
    jobs: i64,
    now: Timestamp,
) -> Result<i64> {
    let first = (now.0 >> FINE) << FINE;
    let last = first + (1 << FINE) - 1;
    let later = in_range(connection, kind, queue, now.0 + 1, last, FEW)?;
    if later < FEW { Ok(jobs - later) } else { in_range(connection, kind, queue, first, now.0, i64::MAX) }
}

/// Counts jobs whose time lies between these, up to `most` of them or a little more.
fn in_range(connection: &Connection, kind: Kind, queue: &str, from: i64, to: i64, most: i64) -> Result<i64> {
    if kind == Kind::Expiring {
        let sql =
            "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL
                                         AND expires_at BETWEEN ?1 AND ?2 AND queue = ?3 LIMIT ?4)";
        let mut count = connection.prepare_cached(sql)?;
        return Ok(count.query_row(params![from, to, queue, most], |row| row.get(0))?);
    }
    let mut count = connection.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority = ?2
                               AND run_at BETWEEN ?3 AND ?4 AND (attempts = 0) = ?5 LIMIT ?6)",
    )?;
    let mut found = 0;
    for priority in super::queues::priorities(connection, queue)? {
        let is_new = kind == Kind::New;
        found +=
            count.query_row(params![queue, priority, from, to, is_new, most], |row| row.get::<_, i64>(0))?;
        if found >= most {
            break;
        }
    }
    Ok(found)
}
