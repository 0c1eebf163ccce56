//! What needs attention of a schedule, and of the job file that it is from.

use rusqlite::params;

use super::attention_query::{AttentionQuery, ChangedFile};
use super::problem::{AttentionEntry, HolderState, Problem};
use crate::model::{Attention, JobState};
use crate::store::file::error::Result;
use crate::store::file::row::{all, maybe, value};
use crate::store::write::conditions::{has_expired, is_blocked, is_unfinished};
use crate::store::write::same_work::is_same_file;
use crate::store::write::scheduled_run::is_within;
use crate::store::write::schedules::StoredSchedule;

/// A schedule that has skipped this number of times in a row is held, unless the holder of its key is running.
const SKIPS: u64 = 3;

impl AttentionQuery<'_> {
    /// An entry if no worker fires the schedules whose time has passed. Any worker fires any schedule.
    pub fn unfired(&self, schedules: &[&StoredSchedule]) -> Option<AttentionEntry> {
        let takers = self.seen.workers.iter().filter(|worker| worker.takes_jobs());
        let newest = takers.max_by_key(|worker| worker.row.version).map(|worker| &worker.row);
        let is_fired =
            |row: &StoredSchedule| newest.is_some_and(|newest| newest.version >= row.needs_version);
        let due = schedules.iter().filter(|row| !row.is_paused() && !is_fired(row));
        let mut due: Vec<_> =
            due.filter_map(|row| Some((row.next_at.filter(|at| *at <= self.now)?, row.name()))).collect();
        due.sort_unstable();
        let (oldest, _) = *due.first()?;
        let schedules = due.iter().map(|(_, name)| (*name).to_owned()).collect();
        Some(self.alarm_if_late(
            oldest,
            Problem::Unfired { schedules, oldest, old_worker: newest.map(|worker| worker.pid) },
        ))
    }

    pub fn schedule(&self, row: &StoredSchedule) -> Result<Vec<AttentionEntry>> {
        let (schedule, file) = (row.name().to_owned(), row.file.clone());
        let mut list = Vec::new();
        if let Some(pause) = row.pause {
            let passed = row.next_at.filter(|at| *at <= self.now);
            let until = pause.ends_at();
            list.extend(passed.map(|passed| {
                self.alarm_if_forgotten(pause, passed, Problem::PausedSchedule { schedule, passed, until })
            }));
        } else if let Err(why) = row.times() {
            let why = why.clone();
            list.push(Problem::NoTimes { schedule, next_at: row.next_at, why }.alarm());
        } else if !row.goes_on() {
            list.push(Problem::NoNextTime { schedule, file }.alarm());
        } else {
            list.extend(self.skipping(row)?);
        }
        list.extend(self.stale(row)?);
        Ok(list)
    }

    /// An entry if a job that is not running holds the key of the schedule's job, time after time.
    fn skipping(&self, row: &StoredSchedule) -> Result<Option<AttentionEntry>> {
        let Some(key) = row.chain.root.definition.unique_key.as_ref().filter(|_| row.skipped_in_row >= SKIPS)
        else {
            return Ok(None);
        };
        let sql = format!(
            "SELECT id, name, state, {} AS is_blocked, run_at > ?2 AS is_later FROM jobs
             WHERE unique_key = ?1 AND {} AND NOT ({})",
            is_blocked("jobs"),
            is_unfinished("jobs"),
            has_expired("jobs", "?2")
        );
        maybe(self.tx, &sql, params![key, self.now], |found| {
            let state = match found.get("state")? {
                JobState::Running => return Ok(None),
                _ if found.get("is_blocked")? => HolderState::Blocked,
                _ if found.get("is_later")? => HolderState::NotDue,
                _ => HolderState::Ready,
            };
            let (schedule, in_row) = (row.name().to_owned(), row.skipped_in_row);
            let (holder, holder_name) = (found.get("id")?, found.get("name")?);
            let problem = Problem::Skipping { schedule, in_row, holder, holder_name, state };
            Ok(Some(problem.alarm().about(vec![holder])))
        })
        .map(Option::flatten)
    }

    /// An entry if the last success of the schedule's job is older than it should be.
    fn stale(&self, row: &StoredSchedule) -> Result<Option<AttentionEntry>> {
        // A success in the future is none, and a file is not applied in it, either.
        let since = row.last_success_at.filter(|at| *at <= self.now);
        let since = since.unwrap_or_else(|| row.applied_at.min(self.now));
        let Some(within) = row.text.fresh_within.filter(|within| !is_within(since, *within, self.now)) else {
            return Ok(None);
        };
        let name = row.name();
        let sql = format!(
            "SELECT id FROM jobs INDEXED BY jobs_by_name WHERE name = ?1 AND {} AND {} ORDER BY id DESC LIMIT ?2",
            is_unfinished("jobs"),
            is_same_file("job_file", "(SELECT id FROM job_files WHERE path = ?3)")
        );
        let unfinished: Vec<i64> = all(self.tx, &sql, params![name, Attention::MAX_JOBS, row.file], value)?;
        let problem = Problem::Stale {
            name: name.to_owned(),
            file: row.file.clone(),
            last_success: row.last_success_at,
            applied_at: row.applied_at,
            within,
            unfinished: unfinished.first().copied(),
            is_declared: !self.seen.files.iter().any(|file| file.undeclared.iter().any(|it| it == name)),
        };
        Ok(Some(problem.alarm().about(unfinished)))
    }

    /// A note if the file differs from what was applied from it.
    pub fn file(&self, file: &ChangedFile, schedules: &[&StoredSchedule]) -> Option<AttentionEntry> {
        let no_name = self.filter.name.is_none() && self.filter.wants_label(None);
        let is_wanted = |name: &&String| {
            no_name && self.filter.queue.is_none() || schedules.iter().any(|row| row.name() == *name)
        };
        let is_wanted_queue =
            |queue: &&String| no_name && self.filter.queue.as_ref().is_none_or(|wanted| wanted == *queue);
        let schedules: Vec<String> = file.schedules.iter().filter(is_wanted).cloned().collect();
        let queues: Vec<String> = file.queues.iter().filter(is_wanted_queue).cloned().collect();
        let (path, change) = (file.path.clone(), file.change.clone());
        let is_any = !schedules.is_empty() || !queues.is_empty();
        is_any.then(|| Problem::Changed { path, change, schedules, queues }.note())
    }
}
