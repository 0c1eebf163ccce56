//! Makes the one list of what needs attention that every view shows, from the obstacles of each unfinished job and each
//! schedule. Dead letters are in `unresolved`, blocked jobs that only a person can get going in `stuck`, jobs that are
//! interrupted time after time in `interrupted`, and processes that cannot be ended in `leftover`.
//!
//! The list walks forward from what is wrong, along indexes, because a million jobs may wait or have died.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rusqlite::{Connection, Row, ToSql, params, params_from_iter};
use rustix::fs::StatVfsMountFlags;

use super::filter::Filter;
use super::interrupted;
use super::leftover::{self, Leftovers, shortened};
use super::overview::QueueRow;
use super::stuck;
use super::unresolved;
use crate::model::{Attention, AttentionKind, AttentionSubject, JobState};
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{all, maybe, value};
use crate::store::file::schema::version_of;
use crate::store::file::store_file::StoreFile;
use crate::store::file::version::Version;
use crate::store::write::claim::priorities_of;
use crate::store::write::limits::{self, BlockReason};
use crate::store::write::schedules::StoredSchedule;
use crate::store::write::workers::{Liveness, NoWorker, WorkerStatus};
use crate::text::{
    Millis, Timestamp, clock_time, counted, human_duration, local_time, safe_line, shell_word,
};

/// Work that has been due for longer than this without a worker is an alarm; before, a worker may just be starting.
const NO_WORKER: Millis = Millis::from_secs(2 * 60);

/// Work that has been due for longer than this is overdue, unless something of its queue started within this time.
const OVERDUE: Millis = Millis::from_secs(60 * 60);

/// A schedule that has skipped this number of times in a row is held, unless the holder of its key is running.
const SKIPS: u64 = 3;

/// At most this number of the newest attempts is searched for one of an overdue queue.
const MAX_ATTEMPTS: u64 = 50_000;

/// The facts that the caller has to find out, because the database does not have them.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The unfinished jobs by queue, as the overview counts them.
    pub queues: &'a [QueueRow],
    pub workers: &'a [WorkerStatus],
    pub schedules: &'a [StoredSchedule],
    pub files: &'a [ChangedFile],
    pub leftovers: &'a [Leftovers],
}

/// A job file that differs from what was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    pub change: FileChange,
    /// The schedules that differ, or all schedules of a file that cannot be read.
    pub schedules: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    Edited,
    /// It is as it was applied, but the machine has another time zone now, of this name.
    Zone(String),
    Gone,
    /// It has a mistake, or cannot be read.
    Unusable,
    /// It was not read, and why.
    NotRead(&'static str),
}

impl Store {
    /// Lists what needs attention at `now`, alarms first. The filter narrows the list by name, label and queue, not by time.
    pub fn attention(
        &self,
        seen: Surroundings<'_>,
        filter: &Filter,
        now: Timestamp,
    ) -> Result<Vec<Attention>> {
        let mut list: Vec<Attention> = disk_full(self.file()).into_iter().collect();
        self.read(|tx| {
            list.extend(unresolved::attention(tx, filter, now)?);
            list.extend(stuck::attention(tx, filter)?);
            list.extend(interrupted::attention(tx, filter, now)?);
            let query = AttentionQuery { tx, seen, filter, now };
            for queue in seen.queues.iter().filter(|queue| query.wants_queue(&queue.name)) {
                list.extend(query.queue(queue)?);
            }
            list.extend(query.orphaned_jobs()?);
            list.extend(leftover::attention(tx, seen.leftovers, seen.workers, filter, now)?);
            let schedules = seen.schedules.iter().filter(|row| query.wants_schedule(row));
            let schedules: Vec<&StoredSchedule> = schedules.collect();
            list.extend(query.unfired(&schedules));
            for schedule in &schedules {
                list.extend(query.schedule(schedule)?);
            }
            list.extend(seen.files.iter().filter_map(|file| query.file(file, &schedules)));
            Ok(())
        })?;
        for entry in &mut list {
            entry.message = safe_line(&entry.message);
        }
        Attention::sort(&mut list);
        Ok(list)
    }
}

fn entry(kind: AttentionKind, alarm: bool, message: String, command: Option<String>) -> Attention {
    Attention { kind, alarm, message, own_from: 0, command, jobs: Vec::new(), subject: None }
}

/// An alarm if the file system of the database takes no more data of the file's owner.
fn disk_full(file: &StoreFile) -> Option<Attention> {
    let found = rustix::fs::statvfs(file.path()).ok()?;
    let is_of_root = fs::metadata(file.path()).is_ok_and(|file| file.uid() == 0);
    let free = if is_of_root { found.f_bfree } else { found.f_bavail };
    let why = if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
        // Another mount of it may be writable.
        "is read-only: nothing can be enqueued, started or recorded through this path"
    } else if found.f_blocks > 0 && free == 0 {
        "is full: nothing is enqueued, started or recorded"
    } else {
        return None;
    };
    let message = format!("the file system of {} {why} until that ends", file.path().display());
    Some(entry(AttentionKind::DiskFull, true, message, None))
}

/// What is asked for, at one moment.
struct AttentionQuery<'a> {
    tx: &'a Connection,
    seen: Surroundings<'a>,
    filter: &'a Filter,
    now: Timestamp,
}

impl AttentionQuery<'_> {
    fn wants_queue(&self, queue: &str) -> bool {
        self.filter.queue.as_ref().is_none_or(|wanted| wanted == queue)
    }

    fn wants_schedule(&self, row: &StoredSchedule) -> bool {
        // The jobs of a schedule have no label.
        self.filter.name.as_ref().is_none_or(|wanted| wanted == row.name())
            && self.filter.wants_label(None)
            && self.wants_queue(&row.chain.root.definition.queue)
    }

    fn when(&self, at: Timestamp) -> String {
        clock_time(at, self.now)
    }

    /// An entry if something keeps the due jobs of a queue from starting.
    fn queue(&self, queue: &QueueRow) -> Result<Option<Attention>> {
        if queue.counts.ready == 0 {
            return Ok(None);
        }
        let due = self.due(&queue.name, None)?;
        let Some(oldest) = due.first().map(|(at, _)| *at) else { return Ok(None) };
        let name = &queue.name;
        let work = format!("{} of queue {name}", counted(queue.counts.ready, "due job"));
        let found = if queue.paused {
            let message = format!(
                "queue {name} is paused and holds {}, the oldest since {}",
                counted(queue.counts.ready, "due job"),
                self.when(oldest)
            );
            entry(AttentionKind::Paused, false, message, Some(format!("runner resume {name}")))
        } else if let Some(NoWorker { why, command, .. }) = NoWorker::of(name, self.seen.workers) {
            let has = if queue.counts.ready == 1 { "has" } else { "have" };
            let message = format!("{work} {has} waited since {}: {why}", self.when(oldest));
            entry(AttentionKind::NoWorker, self.is_alarm(oldest), message, Some(command))
        } else if let Some(found) = self.needs_newer_worker(name)? {
            return Ok(Some(found));
        } else if self.now.since(oldest) > OVERDUE && !self.has_started_lately(name)? {
            let waited = human_duration(self.now.since(oldest));
            let oldest = if queue.counts.ready == 1 { " has" } else { ": the oldest has" };
            let message = format!(
                "{work}{oldest} waited for {waited}, and nothing of the queue has started for an hour: {}",
                self.overdue_reason(queue)?
            );
            entry(AttentionKind::Overdue, true, message, None)
        } else {
            return Ok(None);
        };
        Ok(Some(Attention { jobs: due.into_iter().map(|(_, id)| id).collect(), ..found }))
    }

    /// Work without a worker is an alarm if it has been due for a while.
    fn is_alarm(&self, due: Timestamp) -> bool {
        self.now.since(due) > NO_WORKER
    }

    /// The oldest due jobs of a queue, oldest first; with a version, only those that need a newer one.
    fn due(&self, queue: &str, needs_over: Option<Version>) -> Result<Vec<(Timestamp, i64)>> {
        let over = needs_over.unwrap_or(Version(0));
        let mut found = Vec::new();
        for (_, priority) in priorities_of(self.tx, queue)? {
            let mut wanted = self.filter.narrowed(self.now);
            wanted.and("j.queue = {}", queue.to_owned());
            wanted.and("j.priority = {}", priority);
            wanted.and("j.needs_version > {}", over.0);
            let sql = format!(
                "SELECT j.run_at, j.id FROM jobs AS j
                 WHERE j.state = 'pending' AND j.unmet_dependencies = 0 AND j.run_at <= ?1
                   AND (j.expires_at IS NULL OR j.expires_at > ?1) AND {}
                 ORDER BY j.run_at, j.id LIMIT {}",
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
    fn needs_newer_worker(&self, queue: &str) -> Result<Option<Attention>> {
        let takers = self.seen.workers.iter().filter(|worker| worker.takes_from(queue));
        let Some(newest) = takers.max_by_key(|worker| worker.row.version) else { return Ok(None) };
        if newest.row.version >= version_of(self.tx)? {
            return Ok(None);
        }
        let due = self.due(queue, Some(newest.row.version))?;
        let Some((oldest, _)) = due.first().copied() else { return Ok(None) };
        let message = format!(
            "due jobs of queue {queue} need a newer runner than its worker (pid {}), which has to be restarted; the oldest waits since {}",
            newest.row.pid,
            self.when(oldest)
        );
        let found =
            entry(AttentionKind::NoWorker, self.is_alarm(oldest), message, Some("runner work".to_owned()));
        Ok(Some(Attention { jobs: due.into_iter().map(|(_, id)| id).collect(), ..found }))
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

    /// Says why the due jobs of a queue do not start although a worker takes them.
    fn overdue_reason(&self, queue: &QueueRow) -> Result<String> {
        let settings = limits::settings(self.tx)?.remove(&queue.name).unwrap_or_default();
        let takers: Vec<&WorkerStatus> =
            self.seen.workers.iter().filter(|worker| worker.takes_from(&queue.name)).collect();
        let slots: u64 = takers.iter().map(|worker| worker.row.slots as u64).sum();
        let busy: u64 = takers.iter().map(|worker| worker.row.running).sum();
        let longest = |condition: &str, values: &dyn ToSql| -> Result<String> {
            let sql = format!(
                "SELECT id, name, changed_at FROM jobs INDEXED BY jobs_running
                 WHERE state = 'running' AND {condition} ORDER BY changed_at LIMIT 1"
            );
            let found = maybe(self.tx, &sql, [values], |row| {
                let (id, name): (i64, String) = (row.get("id")?, row.get("name")?);
                let since = self.when(row.get("changed_at")?);
                Ok(format!("; job {id} {name} has been running since {since} (runner cancel {id} ends it)"))
            })?;
            Ok(found.unwrap_or_default())
        };
        Ok(match settings.block_reason(queue.counts.running, self.now) {
            Some(BlockReason::Full(most)) => {
                let running = longest("queue = ?1", &queue.name)?;
                format!("the queue is at its limit, max_running {most}{running}")
            }
            Some(BlockReason::Paced(rate, next)) => {
                format!("its rate is {rate}, and its next start {}", self.when(next))
            }
            Some(BlockReason::Paused) | None if busy >= slots => {
                let ids: Vec<i64> = takers.iter().map(|worker| worker.row.id).collect();
                let ids = serde_json::json!(ids).to_string();
                let running = longest("worker_id IN (SELECT value FROM json_each(?1))", &ids)?;
                match slots {
                    1 => format!("the only slot of its workers is busy{running}"),
                    slots => format!("all {slots} slots of its workers are busy{running}"),
                }
            }
            Some(BlockReason::Paused) | None => {
                "its workers do not take it; runner inspect workers shows them".to_owned()
            }
        })
    }

    /// Running jobs whose worker does not look after them: it died and no other one recovers them, or it is suspended.
    fn orphaned_jobs(&self) -> Result<Vec<Attention>> {
        let can_recover = self.seen.workers.iter().any(WorkerStatus::takes_jobs);
        let mut list = Vec::new();
        for worker in self.seen.workers.iter().filter(|worker| worker.row.running > 0) {
            let pid = worker.row.pid;
            let (what, command) = match worker.is_alive() {
                true if worker.liveness == Liveness::Suspended => {
                    ("is suspended: nobody records their ends".to_owned(), format!("kill -CONT {pid}"))
                }
                false if !can_recover => {
                    ("died, and no other worker recovers them".to_owned(), "runner work".to_owned())
                }
                _ => continue,
            };
            let mut wanted = self.filter.narrowed(self.now);
            wanted.and("j.worker_id = {}", worker.row.id);
            let sql = format!(
                "SELECT j.id, j.changed_at FROM jobs AS j WHERE j.state = 'running' AND {} ORDER BY j.id LIMIT {}",
                wanted.sql,
                Attention::MAX_JOBS
            );
            let read = |row: &Row<'_>| Ok((row.get("id")?, row.get("changed_at")?));
            let held: Vec<(i64, Timestamp)> = all(self.tx, &sql, params_from_iter(wanted.values), read)?;
            let Some(oldest) = held.iter().map(|(_, at)| *at).min() else { continue };
            let jobs = counted(worker.row.running, "running job");
            let message =
                format!("{jobs}, the oldest since {}: the worker (pid {pid}) {what}", self.when(oldest));
            list.push(Attention {
                jobs: held.into_iter().map(|(id, _)| id).collect(),
                ..entry(AttentionKind::NoWorker, self.is_alarm(oldest), message, Some(command))
            });
        }
        Ok(list)
    }

    /// An entry if no worker fires the schedules whose time has passed. Any worker fires any schedule.
    fn unfired(&self, schedules: &[&StoredSchedule]) -> Option<Attention> {
        let newest = self.seen.workers.iter().filter(|worker| worker.takes_jobs());
        let newest = newest.map(|worker| worker.row.version).max();
        let is_fired = |row: &StoredSchedule| newest.is_some_and(|newest| newest >= row.needs_version);
        let due = schedules.iter().filter(|row| !row.paused && !is_fired(row));
        let mut due: Vec<_> =
            due.filter_map(|row| Some((row.next_at.filter(|at| *at <= self.now)?, row.name()))).collect();
        due.sort_unstable();
        let (oldest, _) = *due.first()?;
        let names: Vec<&str> = due.iter().map(|(_, name)| *name).collect();
        let why = if newest.is_some() {
            "the worker is older than the program that applied it, and has to be restarted"
        } else {
            "no worker is running"
        };
        let message = format!(
            "{} passed without a run since {}: {why}",
            named("the time of schedule", &names),
            self.when(oldest)
        );
        Some(entry(AttentionKind::NoWorker, self.is_alarm(oldest), message, Some("runner work".to_owned())))
    }

    fn schedule(&self, row: &StoredSchedule) -> Result<Vec<Attention>> {
        let name = row.name();
        let mut list = Vec::new();
        if row.paused {
            if let Some(passed) = row.next_at.filter(|at| *at <= self.now) {
                let message =
                    format!("schedule {name} is paused, and its time {} has passed", self.when(passed));
                let command = Some(format!("runner resume --schedule {name}"));
                list.push(entry(AttentionKind::Paused, false, message, command));
            }
        } else if let Err(why) = row.times() {
            let once_more = row.next_at.map(|at| format!(" after {}", self.when(at))).unwrap_or_default();
            let message = format!("schedule {name} has no times{once_more}, and fires no more: {why}");
            list.push(entry(AttentionKind::Skipping, true, message, None));
        } else if !row.goes_on() {
            let command = Some(format!("runner apply --file {}", shell_word(&row.file)));
            let message = format!("schedule {name} has no next time, and fires no more");
            list.push(entry(AttentionKind::Skipping, true, message, command));
        } else {
            list.extend(self.held(row)?);
        }
        list.extend(self.stale(row)?);
        for entry in &mut list {
            entry.subject = Some(AttentionSubject::of(name));
        }
        Ok(list)
    }

    /// An entry if a job that is not running holds the key of the schedule's job, time after time.
    fn held(&self, row: &StoredSchedule) -> Result<Option<Attention>> {
        let Some(key) = row.chain.root.definition.unique_key.as_ref().filter(|_| row.skipped_in_row >= SKIPS)
        else {
            return Ok(None);
        };
        let sql = "SELECT id, name, state, unmet_dependencies > 0 AS is_blocked, run_at > ?2 AS is_later FROM jobs
                   WHERE unique_key = ?1 AND state IN ('pending', 'running') AND coalesce(expires_at > ?2, 1)";
        maybe(self.tx, sql, params![key, self.now], |found| {
            let (id, holder): (i64, String) = (found.get("id")?, found.get("name")?);
            let state = match found.get("state")? {
                JobState::Running => return Ok(None),
                _ if found.get("is_blocked")? => "blocked",
                _ if found.get("is_later")? => "not due yet",
                _ => "ready, but has not started",
            };
            let skipped = counted(row.skipped_in_row, "time");
            let message = format!(
                "schedule {} was skipped {skipped} in a row: its key is held by job {id} {holder}, which is {state}; runner inspect {id} says why",
                row.name()
            );
            let found = entry(AttentionKind::Skipping, true, message, Some(format!("runner cancel {id}")));
            Ok(Some(Attention { jobs: vec![id], ..found }))
        })
        .map(Option::flatten)
    }

    /// An entry if the last success of the schedule's job is older than it should be.
    fn stale(&self, row: &StoredSchedule) -> Result<Option<Attention>> {
        // One in the future is no success: the clock was ahead.
        let since = row.last_success_at.filter(|at| *at <= self.now).unwrap_or(row.applied_at);
        let Some(within) = row.text.fresh_within.filter(|within| self.now.since(since) > *within) else {
            return Ok(None);
        };
        let name = row.name();
        let last = match row.last_success_at {
            Some(at) if at > self.now => {
                format!("last succeeded at {}, by a clock that was ahead", local_time(at))
            }
            Some(at) => format!("last succeeded {}", self.when(at)),
            None => format!("has not succeeded since it was applied {}", self.when(row.applied_at)),
        };
        let sql =
            "SELECT id FROM jobs INDEXED BY jobs_by_name WHERE name = ?1 AND state IN ('pending', 'running')
                   ORDER BY id DESC LIMIT ?2";
        let unfinished: Vec<i64> = all(self.tx, sql, params![name, Attention::MAX_JOBS], value)?;
        let (command, waits) = match unfinished.first() {
            None => (Some(format!("runner enqueue --file {} {name}", shell_word(&row.file))), String::new()),
            Some(id) => (None, format!("; job {id} is unfinished, runner inspect {id} says more")),
        };
        let message = format!("{name} {last}, and should at least every {}{waits}", human_duration(within));
        Ok(Some(Attention { jobs: unfinished, ..entry(AttentionKind::Stale, true, message, command) }))
    }

    /// A note if the file differs from the schedules that were applied from it.
    fn file(&self, file: &ChangedFile, schedules: &[&StoredSchedule]) -> Option<Attention> {
        let is_wanted = |name: &&String| {
            self.filter.name.is_none() && self.filter.queue.is_none() && self.filter.wants_label(None)
                || schedules.iter().any(|row| row.name() == *name)
        };
        let names: Vec<&str> = file.schedules.iter().filter(is_wanted).map(String::as_str).collect();
        if names.is_empty() {
            return None;
        }
        let (path, word) = (&file.path, shell_word(&file.path));
        let what = named("schedule", &names);
        let (message, command) = match &file.change {
            FileChange::Edited => (
                format!("{path} has changed since it was applied: {what}"),
                Some(format!("runner apply --file {word}")),
            ),
            FileChange::Zone(zone) => (
                format!(
                    "the time zone of this machine is {zone} now; {path} was applied in another one, which still holds for {what}; runner apply takes the new one"
                ),
                Some(format!("runner apply --file {word}")),
            ),
            FileChange::Gone => (
                format!(
                    "{path} is gone; what was applied from it goes on: {what}; if it was moved, runner apply in its new folder takes it over, and this ends it"
                ),
                Some(format!("runner apply --none --file {word}")),
            ),
            FileChange::NotRead(why) => (
                format!(
                    "{path} is not read, because {why}; what was applied from it goes on: {what}; this ends it"
                ),
                Some(format!("runner apply --none --file {word}")),
            ),
            FileChange::Unusable => (
                format!(
                    "{path} cannot be used now, as runner check {word} shows; what was applied from it goes on: {what}"
                ),
                None,
            ),
        };
        Some(entry(AttentionKind::Changed, false, message, command))
    }
}

/// `schedule a` or `schedules a, b and 3 more`.
fn named(what: &str, names: &[&str]) -> String {
    let plural = if names.len() == 1 { "" } else { "s" };
    format!("{what}{plural} {}", shortened(names))
}
