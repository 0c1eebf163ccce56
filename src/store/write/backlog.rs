//! The work that is left in a worker's queues: whether the worker may end, and when it has to look again.

use rusqlite::{Connection, params};

use super::claim::{QueuePriority, claimable, due_times, earlier, none_of, open_priorities};
use super::conditions::{is_blocked, is_known, is_unfinished};
use super::inside::{Inside, inside};
use super::kept_by_run::is_place_freed;
use super::limits::{IS_PAUSED, QueueCapacity, QueueHold};
use super::stuck::{and_behind, edge_blocks, ended_without_success};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::Store;
use crate::store::file::row::{each, one, value};
use crate::text::Timestamp;

/// The blocked jobs of some queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Blocked {
    /// Some job may still go on without a person's help, because it can be unblocked or is not blocked at all.
    pub may_unblock: bool,
    /// The number of jobs that cannot, because they depend on dead, cancelled or removed jobs, directly or through others.
    /// In a damaged file they may depend on none at all.
    pub stuck: u64,
    /// The number of the other jobs that cannot, because they depend on pending jobs in paused queues.
    pub behind_paused: u64,
}

impl Store {
    /// Looks at every blocked job of these queues (none: of all), but not of paused ones.
    pub fn blocked(&self, selected: Option<&[String]>) -> Result<Blocked> {
        let ended_without_success = ended_without_success();
        let roots = format!(
            "SELECT w.id, CASE WHEN j.id IS NULL THEN 'removal' WHEN {ended_without_success} THEN 'end' ELSE 'pause' END
             FROM jobs AS w JOIN dependencies AS d ON d.job_id = w.id AND NOT d.met
             LEFT JOIN jobs AS j ON j.id = d.dependency_id
             WHERE {}
                   AND CASE WHEN {ended_without_success} THEN {} ELSE j.state = 'pending' AND j.queue IN paused_queues AND {} END
             UNION SELECT id, 'end' FROM blocked WHERE NOT EXISTS
                 (SELECT 1 FROM dependencies AS d JOIN jobs AS a ON a.id = d.dependency_id
                  WHERE d.job_id = blocked.id AND NOT d.met AND {})",
            is_blocked("w"),
            edge_blocks("j.id IS NULL"),
            edge_blocks("1"),
            is_unfinished("a")
        );
        let sql = format!(
            "WITH RECURSIVE paused_queues (name) AS (SELECT name FROM queues WHERE paused UNION
                 SELECT queue FROM jobs WHERE state = 'pending' AND EXISTS (SELECT 1 FROM pause_of_all)),
             blocked (id, queue) AS (SELECT id, queue FROM jobs WHERE {}),
             {}
             SELECT queue, count(*) AS jobs, sum(id IN (SELECT id FROM stuck)) AS stuck,
                    sum(id IN (SELECT id FROM stuck WHERE cause <> 'pause')) AS stuck_by_end,
                    sum(id IN (SELECT id FROM stuck) OR id IN (SELECT value FROM json_each(?3))) AS left_out
             FROM blocked WHERE queue NOT IN paused_queues GROUP BY queue",
            is_blocked("jobs"),
            and_behind(&roots)
        );
        self.read(|tx| {
            // Since the worker's turn another one may have ended a job, so that the last blocked job is ready now.
            let capacity = QueueCapacity::read(tx)?;
            let inside = inside(tx, self.caller.as_ref(), &capacity, None)?;
            let priorities = open_priorities(tx, selected, &capacity)?;
            let left = backlog(tx, selected, &priorities, &capacity, &[], &[], &inside)?;
            let may_unblock = left.running || left.pending != PendingWork::Nothing;
            let mut blocked = Blocked { may_unblock, ..Blocked::default() };
            each(tx, &sql, params![None::<i64>, None::<i64>, inside.ids()], |row| {
                let (queue, jobs, left_out): (String, u64, u64) =
                    (row.get("queue")?, row.get("jobs")?, row.get("left_out")?);
                let (stuck, by_end): (u64, u64) = (row.get("stuck")?, row.get("stuck_by_end")?);
                if selected.is_none_or(|names| names.contains(&queue)) {
                    blocked.may_unblock |= left_out < jobs;
                    blocked.stuck += by_end;
                    blocked.behind_paused += stuck - by_end;
                }
                Ok(())
            })?;
            Ok(blocked)
        })
    }
}

/// The most startable pending job in the selected queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PendingWork {
    #[default]
    Nothing,
    /// No job is due.
    Later,
    /// A job is due, but a limit of its queue holds it back.
    AtLimit,
    /// A job is due and may start.
    Startable,
}

/// The work that is left in the selected queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    /// A job is running, here or in another worker.
    pub running: bool,
    pub pending: PendingWork,
    /// When to look again: a job falls due or expires, a rate allows the next start, a schedule fires, or a pause ends.
    pub next_due: Option<Timestamp>,
    /// An attempt in a full queue has ended, so the queue has room again, and this worker leaves its due jobs to others.
    pub place_freed: bool,
}

/// Finds the work that is left in these queues (none: in all), which have these open priorities. `full` names the queues that were full
/// before this turn recorded ended attempts, and `left_alone` lists the jobs that the worker cannot read. What cannot end before the
/// worker does is left out, and so are schedules.
pub fn backlog(
    tx: &Connection,
    selected: Option<&[String]>,
    priorities: &[QueuePriority],
    capacity: &QueueCapacity,
    full: &[String],
    left_alone: &[i64],
    inside: &Inside,
) -> Result<Backlog> {
    let claimable = claimable(left_alone);
    let mut backlog = Backlog {
        running: any_running(tx, selected, inside)?,
        next_due: earlier(next_expiry(tx, left_alone)?, capacity.next_pause_end()),
        place_freed: is_place_freed(tx, capacity, full)?,
        ..Backlog::default()
    };
    for priority in priorities.iter().filter(|(queue, _)| !inside.holds_limit_of(queue)) {
        let (due, later) = due_times(tx, &claimable, std::slice::from_ref(priority), capacity.now)?;
        backlog.next_due = earlier(backlog.next_due, later);
        if later.is_some() {
            backlog.pending = backlog.pending.max(PendingWork::Later);
        }
        if due.is_none() {
            continue;
        }
        let queue = &priority.0;
        let queue_hold = capacity.queue_hold(queue);
        let pending = if queue_hold.is_some() { PendingWork::AtLimit } else { PendingWork::Startable };
        backlog.pending = backlog.pending.max(pending);
        backlog.next_due = earlier(backlog.next_due, queue_hold.and_then(QueueHold::next_start));
        let has_place = !matches!(queue_hold, Some(QueueHold::Full(_)));
        backlog.place_freed |= has_place && full.contains(queue);
    }
    Ok(backlog)
}

/// When the next pending job expires, but for these, which cannot be read.
pub fn next_expiry(tx: &Connection, left_alone: &[i64]) -> Result<Option<Timestamp>> {
    let sql = format!(
        "SELECT min(expires_at) FROM jobs WHERE state = 'pending' AND expires_at IS NOT NULL
         AND {} AND {}",
        is_known("jobs"),
        none_of(left_alone)
    );
    one(tx, &sql, [], value)
}

/// Whether a job of these queues is running, here or in another worker. One that only a newer program knows is left to newer
/// workers, and what cannot end before this worker is left out.
fn any_running(tx: &Connection, selected: Option<&[String]>, inside: &Inside) -> Result<bool> {
    let sql = format!(
        "SELECT j.queue, j.id, EXISTS (SELECT 1 FROM workers INDEXED BY workers_open
                                       WHERE id = j.worker_id AND ended_at IS NULL) AS has_worker
         FROM jobs AS j WHERE j.state = 'running' AND {} AND NOT {IS_PAUSED}",
        is_known("j")
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get("id")?;
        if !row.get::<_, bool>("has_worker")? {
            // Nobody would ever end this job, and a wait for its end would never end.
            return Err(StoreError::contradiction(format!("job {id} is held by a worker that has ended")));
        }
        let queue: String = row.get("queue")?;
        if !inside.jobs.contains(&id) && selected.is_none_or(|names| names.contains(&queue)) {
            return Ok(true);
        }
    }
    Ok(false)
}
