//! Finds what needs attention, the one list that every view shows, from the obstacles of each unfinished job and each
//! schedule. Dead letters are in `deaths`, blocked jobs that only a person can get going in `stuck_groups`, jobs that are
//! interrupted time after time in `interrupted`, and processes that cannot be ended in `leftover`. Schedules are in `schedule_problems`.
//!
//! The list walks forward from what is wrong, along indexes, because a million jobs may wait or have died.

use rusqlite::{Row, ToSql, params, params_from_iter};

use super::attention_query::{AttentionQuery, Surroundings};
use super::deaths::entries;
use super::filter::Filter;
use super::interrupted;
use super::leftover;
use super::overview::QueueRow;
use super::problem::{AttentionEntry, LongestRunning, OVERDUE, OverdueReason, Problem};
use super::{stuck_groups, warned};
use crate::model::Attention;
use crate::store::file::error::{NoRoom, Result};
use crate::store::file::immutable::{is_on_read_only_file_system, lack_of_room};
use crate::store::file::open::Store;
use crate::store::file::row::{all, maybe, one, value};
use crate::store::file::schema::version_of;
use crate::store::file::store_file::StoreFile;
use crate::store::file::version::Version;
use crate::store::write::claim::priorities_of;
use crate::store::write::conditions::is_ready;
use crate::store::write::limits::{self, QueueHold};
use crate::store::write::schedules::StoredSchedule;
use crate::store::write::workers::{Liveness, NoWorker, WorkerStatus, no_worker};
use crate::text::Timestamp;

/// At most this number of the newest attempts is searched for one of an overdue queue.
const MAX_ATTEMPTS: u64 = 50_000;

impl Store {
    /// Finds what needs attention at `now`. The filter narrows the list by name, label and queue, not by time.
    pub fn attention(
        &self,
        seen: Surroundings<'_>,
        filter: &Filter,
        now: Timestamp,
    ) -> Result<Vec<AttentionEntry>> {
        let mut list: Vec<AttentionEntry> = disk_full(self.file()).into_iter().collect();
        self.read(|tx| {
            list.extend(entries::attention(tx, filter, now)?);
            list.extend(warned::attention(tx, filter)?);
            list.extend(stuck_groups::attention(tx, filter)?);
            list.extend(interrupted::attention(tx, filter, now)?);
            let query = AttentionQuery { tx, seen, filter, now };
            for queue in seen.queues.iter().filter(|queue| query.wants_queue(&queue.name)) {
                list.extend(query.queue(queue)?);
            }
            list.extend(query.orphaned_jobs()?);
            list.extend(leftover::attention(tx, seen.leftovers, seen.workers, filter, now)?);
            let schedules = seen.schedules.iter().filter(|row| query.wants_schedule(row));
            let schedules: Vec<&StoredSchedule> = schedules.collect();
            match query.all_paused(&schedules)? {
                Some(found) => list.push(found),
                None => list.extend(query.unfired(&schedules)),
            }
            for schedule in &schedules {
                list.extend(query.schedule(schedule)?);
            }
            list.extend(seen.files.iter().filter_map(|file| query.file(file, &schedules)));
            Ok(())
        })?;
        Ok(list)
    }
}

/// An alarm if the file system of the database takes no more data of the file's owner.
fn disk_full(file: &StoreFile) -> Option<AttentionEntry> {
    let is_read_only = is_on_read_only_file_system(file.path());
    let why = if is_read_only { Some(NoRoom::ReadOnly) } else { lack_of_room(file) };
    why.map(|why| Problem::DiskFull { path: file.path().to_owned(), why }.alarm())
}

/// The party that due jobs wait for.
#[derive(Clone, Copy)]
enum WaitsFor {
    Any,
    Workers,
    /// The living `run` with this row id, which keeps them.
    Run(i64),
}

/// An entry about these jobs.
fn about(found: AttentionEntry, jobs: &[(Timestamp, i64)]) -> AttentionEntry {
    found.about(jobs.iter().map(|(_, id)| *id).collect())
}

impl AttentionQuery<'_> {
    /// An entry if everything is paused.
    fn all_paused(&self, schedules: &[&StoredSchedule]) -> Result<Option<AttentionEntry>> {
        let Some(pause) = limits::pause_of_all(self.tx, self.now)? else { return Ok(None) };
        let mut jobs = Vec::new();
        for queue in self.seen.queues.iter().filter(|queue| queue.pause.is_none() && queue.counts.ready > 0) {
            if self.wants_queue(&queue.name) {
                jobs.extend(self.due(&queue.name, WaitsFor::Any, None)?);
            }
        }
        jobs.sort_unstable();
        jobs.truncate(Attention::MAX_JOBS);
        let passed = schedules.iter().filter(|row| !row.is_paused()).filter_map(|row| row.next_at);
        let passed = passed.filter(|at| *at <= self.now).min();
        let oldest = jobs.first().map(|(due, _)| *due).into_iter().chain(passed).min();
        let problem = Problem::AllPaused { oldest, until: pause.ends_at() };
        let found = self.alarm_if_forgotten(pause, oldest.unwrap_or(self.now), problem);
        Ok(Some(about(found, &jobs)))
    }

    /// The entries about what keeps the due jobs of a queue from starting.
    fn queue(&self, queue: &QueueRow) -> Result<Vec<AttentionEntry>> {
        if queue.counts.ready == 0 {
            return Ok(Vec::new());
        }
        if let Some(pause) = queue.pause {
            let jobs = self.due(&queue.name, WaitsFor::Any, None)?;
            let Some((oldest, _)) = jobs.first().copied() else { return Ok(Vec::new()) };
            let (name, due, until) = (queue.name.clone(), queue.counts.ready, pause.ends_at());
            let problem = Problem::PausedQueue { queue: name, due, oldest, until };
            return Ok(vec![about(self.alarm_if_forgotten(pause, oldest, problem), &jobs)]);
        }
        if queue.pause_of_all.is_some() {
            return Ok(Vec::new());
        }
        let (mut list, mut of_runs) = (Vec::new(), 0);
        for run in self.living_runs() {
            let jobs = self.due(&queue.name, WaitsFor::Run(run.row.id), None)?;
            let Some((oldest, _)) = jobs.first().copied() else { continue };
            let due = jobs.len() as u64;
            of_runs += due;
            if run.liveness == Liveness::Suspended {
                let why = NoWorker::SuspendedRun(run.row.pid);
                let problem = Problem::NoWorker { queue: queue.name.clone(), due, oldest, why };
                list.push(about(self.alarm_if_late(oldest, problem), &jobs));
            } else {
                list.extend(self.overdue(queue, due, &jobs, &[run])?);
            }
        }
        list.extend(self.waits_for_workers(queue, queue.counts.ready.saturating_sub(of_runs))?);
        Ok(list)
    }

    /// An entry if something keeps the due jobs of a queue from starting that wait for a worker, of which there are so many.
    fn waits_for_workers(&self, queue: &QueueRow, due: u64) -> Result<Option<AttentionEntry>> {
        let jobs = self.due(&queue.name, WaitsFor::Workers, None)?;
        let Some((oldest, _)) = jobs.first().copied() else { return Ok(None) };
        if let Some(why) = no_worker(Some(&queue.name), self.seen.workers) {
            let problem = Problem::NoWorker { queue: queue.name.clone(), due, oldest, why };
            return Ok(Some(about(self.alarm_if_late(oldest, problem), &jobs)));
        }
        if let Some(found) = self.needs_newer_worker(&queue.name)? {
            return Ok(Some(found));
        }
        let takers = self.seen.workers.iter().filter(|worker| worker.takes_from(&queue.name));
        self.overdue(queue, due, &jobs, &takers.collect::<Vec<_>>())
    }

    /// An entry if these due jobs of a queue, which these workers take, have waited for too long.
    fn overdue(
        &self,
        queue: &QueueRow,
        due: u64,
        jobs: &[(Timestamp, i64)],
        takers: &[&WorkerStatus],
    ) -> Result<Option<AttentionEntry>> {
        let late = jobs.first().filter(|(oldest, _)| self.now.since(*oldest) > OVERDUE);
        let Some((oldest, _)) = late.copied() else { return Ok(None) };
        if self.has_started_lately(&queue.name)? {
            return Ok(None);
        }
        let reason = self.overdue_reason(queue, takers)?;
        let problem = Problem::Overdue { queue: queue.name.clone(), due, oldest, reason };
        Ok(Some(about(problem.alarm(), jobs)))
    }

    /// Each `run` that lives, and so keeps the jobs that it was called for.
    fn living_runs(&self) -> impl Iterator<Item = &WorkerStatus> {
        self.seen.workers.iter().filter(|worker| worker.is_alive() && worker.row.is_foreground())
    }

    /// The oldest due jobs of a queue that wait for this, oldest first; with a version, only those that need a newer one.
    fn due(
        &self,
        queue: &str,
        waits_for: WaitsFor,
        needs_over: Option<Version>,
    ) -> Result<Vec<(Timestamp, i64)>> {
        let over = needs_over.unwrap_or(Version(0));
        let mut found = Vec::new();
        for (_, priority) in priorities_of(self.tx, queue)? {
            let mut wanted = self.filter.narrowed(self.now);
            wanted.and("j.queue = {}", queue.to_owned());
            wanted.and("j.priority = {}", priority);
            wanted.and("j.needs_version > {}", over.0);
            match waits_for {
                WaitsFor::Any => {}
                WaitsFor::Run(id) => wanted.and("j.run_worker_id = {}", id),
                WaitsFor::Workers => {
                    self.living_runs().for_each(|run| wanted.and("j.run_worker_id IS NOT {}", run.row.id));
                }
            }
            let sql = format!(
                "SELECT j.run_at, j.id FROM jobs AS j
                 WHERE {} AND {} ORDER BY j.run_at, j.id LIMIT {}",
                is_ready("j", "?1"),
                wanted.sql,
                Attention::MAX_JOBS
            );
            let read = |row: &Row<'_>| Ok((row.get("run_at")?, row.get("id")?));
            found.extend(all(self.tx, &sql, params_from_iter(wanted.values), read)?);
        }
        found.sort_unstable();
        found.truncate(Attention::MAX_JOBS);
        Ok(found)
    }

    /// An entry if due jobs of the queue need a newer program than its workers are.
    fn needs_newer_worker(&self, queue: &str) -> Result<Option<AttentionEntry>> {
        let takers = self.seen.workers.iter().filter(|worker| worker.takes_from(queue));
        let Some(newest) = takers.max_by_key(|worker| worker.row.version) else { return Ok(None) };
        if newest.row.version >= version_of(self.tx)? {
            return Ok(None);
        }
        let due = self.due(queue, WaitsFor::Workers, Some(newest.row.version))?;
        let Some((oldest, _)) = due.first().copied() else { return Ok(None) };
        let problem = Problem::OldWorker { queue: queue.to_owned(), pid: newest.row.pid, oldest };
        Ok(Some(about(self.alarm_if_late(oldest, problem), &due)))
    }

    /// Whether a job of this queue started within [`OVERDUE`].
    fn has_started_lately(&self, queue: &str) -> Result<bool> {
        let since = self.now.minus(OVERDUE);
        let running = "SELECT 1 FROM jobs WHERE state = 'running' AND queue = ?1 AND changed_at >= ?2";
        let ended = "SELECT 1 FROM (SELECT job_id, number FROM attempts INDEXED BY attempts_by_time
                                    WHERE finished_at >= ?2 ORDER BY finished_at DESC LIMIT ?3) AS n
                     CROSS JOIN jobs AS j ON j.id = n.job_id
                     CROSS JOIN attempts AS a ON a.job_id = n.job_id AND a.number = n.number
                     WHERE j.queue = ?1 AND a.started_at >= ?2 LIMIT 1";
        Ok(maybe(self.tx, running, params![queue, since], value::<i64>)?.is_some()
            || maybe(self.tx, ended, params![queue, since, MAX_ATTEMPTS], value::<i64>)?.is_some())
    }

    /// Why the due jobs of a queue do not start although these workers take them.
    fn overdue_reason(&self, queue: &QueueRow, takers: &[&WorkerStatus]) -> Result<OverdueReason> {
        let settings = limits::settings(self.tx)?.remove(&queue.name).unwrap_or_default();
        let slots: u64 = takers.iter().map(|worker| worker.row.slots as u64).sum();
        let busy: u64 = takers.iter().map(|worker| worker.row.running).sum();
        let longest = |condition: &str, values: &dyn ToSql| -> Result<Option<LongestRunning>> {
            let sql = format!(
                "SELECT id, name, changed_at FROM jobs INDEXED BY jobs_running
                 WHERE state = 'running' AND {condition} ORDER BY changed_at LIMIT 1"
            );
            maybe(self.tx, &sql, [values], |row| {
                Ok(LongestRunning {
                    id: row.get("id")?,
                    name: row.get("name")?,
                    since: row.get("changed_at")?,
                })
            })
        };
        Ok(match settings.queue_hold(queue.counts.running, self.now) {
            Some(QueueHold::Full(max_running)) => {
                OverdueReason::Limit { max_running, longest: longest("queue = ?1", &queue.name)? }
            }
            Some(hold) if hold.limit().is_some() => OverdueReason::AtLimit(hold),
            _ if busy >= slots => {
                let ids: Vec<i64> = takers.iter().map(|worker| worker.row.id).collect();
                let ids = serde_json::json!(ids).to_string();
                let longest = longest("worker_id IN (SELECT value FROM json_each(?1))", &ids)?;
                OverdueReason::Busy { slots, longest }
            }
            _ => OverdueReason::Unknown,
        })
    }

    /// Running jobs whose worker does not look after them: an entry for each suspended worker, and one for all that died, as far as no
    /// other one recovers their jobs. A worker leaves those alone that need a newer program.
    fn orphaned_jobs(&self) -> Result<Vec<AttentionEntry>> {
        let mut list = Vec::new();
        let holders = || self.seen.workers.iter().filter(|worker| worker.row.running > 0);
        for worker in holders().filter(|worker| worker.liveness == Liveness::Suspended) {
            let (pid, jobs) = (worker.row.pid, worker.row.running);
            list.extend(self.held_by(&[worker], Version(0), |oldest| Problem::Unattended {
                pid,
                jobs,
                oldest,
            })?);
        }
        let takers = self.seen.workers.iter().filter(|worker| worker.takes_jobs());
        let newest = takers.map(|worker| worker.row.version).max().unwrap_or(Version(0));
        let (mut dead, mut jobs) = (Vec::new(), 0);
        for worker in holders().filter(|worker| !worker.is_alive()) {
            let sql =
                "SELECT count(*) FROM jobs WHERE state = 'running' AND worker_id = ?1 AND needs_version > ?2";
            let left = one(self.tx, sql, params![worker.row.id, newest], value::<u64>)?;
            if left > 0 {
                dead.push(worker);
                jobs += left;
            }
        }
        let pids = dead.iter().map(|worker| worker.row.pid).collect();
        list.extend(self.held_by(&dead, newest, |oldest| Problem::Orphaned { pids, jobs, oldest })?);
        Ok(list)
    }

    /// The problem of the running jobs of these workers that need a newer version than this. It is given the start of the oldest of
    /// them. None if the filter wants no such job.
    fn held_by(
        &self,
        workers: &[&WorkerStatus],
        needs_over: Version,
        problem: impl FnOnce(Timestamp) -> Problem,
    ) -> Result<Option<AttentionEntry>> {
        let mut held: Vec<(i64, Timestamp)> = Vec::new();
        for worker in workers {
            let mut wanted = self.filter.narrowed(self.now);
            wanted.and("j.worker_id = {}", worker.row.id);
            wanted.and("j.needs_version > {}", needs_over.0);
            let sql = format!(
                "SELECT j.id, j.changed_at FROM jobs AS j WHERE j.state = 'running' AND {} ORDER BY j.id LIMIT {}",
                wanted.sql,
                Attention::MAX_JOBS
            );
            let read = |row: &Row<'_>| Ok((row.get("id")?, row.get("changed_at")?));
            held.extend(all(self.tx, &sql, params_from_iter(wanted.values), read)?);
        }
        let Some(oldest) = held.iter().map(|(_, at)| *at).min() else { return Ok(None) };
        held.sort_unstable();
        held.truncate(Attention::MAX_JOBS);
        let jobs = held.into_iter().map(|(id, _)| id).collect();
        Ok(Some(self.alarm_if_late(oldest, problem(oldest)).about(jobs)))
    }
}
