//! The plain model: the rules for jobs, in maps and loops, without a thought of how they are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::plain_schedules::PlainSchedule;
use crate::model::{
    Attempt, AttemptOutput, Bytes, DeadReason, DependencyKind, EXPIRED, ErrorCode, JobDefinition, JobState,
    Limits, Pause, StreamBytes,
};
use crate::store::{
    Dependency, Due, Enqueued, Firing, NewJob, OnConflict, PruneFilter, Result, ScheduledRun, StoreError,
    Worker,
};
use crate::text::{Millis, Timestamp};

/// Why a job cannot go on by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    End,
    Removal,
    Pause,
}

/// Everything there is.
#[derive(Clone, Default)]
pub(super) struct Plain {
    pub jobs: BTreeMap<i64, Job>,
    pub last_id: i64,
    /// The jobs of each name that have ever succeeded with a warning.
    pub warnings: BTreeMap<String, u64>,
    /// The pauses of queues, as they are recorded: one that is over stays until the next turn.
    pub paused: BTreeMap<String, Pause>,
    pub pause_of_all: Option<Pause>,
    pub schedules: BTreeMap<String, PlainSchedule>,
    pub limits: BTreeMap<String, Limits>,
    /// The files that set the `max_running` and the rate of a queue.
    pub limit_files: BTreeMap<String, [Option<String>; 2]>,
    /// The last start in each queue while it had a rate.
    pub last_starts: BTreeMap<String, Timestamp>,
    /// All workers; the open ones are true.
    pub workers: Vec<(Worker, bool)>,
    /// The paths of the job files, the first of which has the row 1.
    pub files: Vec<String>,
}

/// A job with its history.
#[derive(Clone)]
pub(super) struct Job {
    pub id: i64,
    pub definition: Arc<JobDefinition>,
    pub args: Vec<Bytes>,
    pub stdin: Option<Vec<u8>>,
    pub idempotency_key: Option<String>,
    pub label: Option<String>,
    pub state: JobState,
    pub enqueued_at: Timestamp,
    pub run_at: Timestamp,
    pub file: Option<i64>,
    /// The time and the delay that a due time was computed from; one that a change has named counts from itself.
    pub delay: Option<(Timestamp, Option<Millis>)>,
    pub expires_at: Option<Timestamp>,
    pub changed_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub attempts_used: u32,
    pub worker: Option<i64>,
    pub cancel_requested_at: Option<Timestamp>,
    pub dead: Option<(DeadReason, ErrorCode)>,
    pub warning: Option<ErrorCode>,
    pub result: Option<String>,
    pub resolved_at: Option<Timestamp>,
    pub resolution: Option<String>,
    pub replaced_by: Option<i64>,
    pub attempts: Rc<Vec<Attempt>>,
    pub outputs: BTreeMap<u32, AttemptOutput>,
    pub live: Option<(u32, Timestamp, AttemptOutput)>,
    pub scheduled: Option<Firing>,
    pub after: BTreeMap<i64, DependencyKind>,
    /// The `run` that it is for, dead or alive.
    pub run: Option<i64>,
    pub was_enqueued_by_run: bool,
    /// The dependencies of kind `Any` that have ended.
    pub ended: BTreeSet<i64>,
}

impl Job {
    /// No other job does the same.
    pub fn is_one_of_a_kind(&self) -> bool {
        self.definition.ad_hoc || self.definition.is_alert() || self.label.is_none() && !self.args.is_empty()
    }

    pub fn does_what_a_schedule_does(&self) -> bool {
        !self.is_one_of_a_kind() && self.label.is_none() && self.args.is_empty()
    }

    pub fn is_unfinished(&self) -> bool {
        matches!(self.state, JobState::Pending | JobState::Running)
    }

    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.state == JobState::Pending && self.expires_at.is_some_and(|expiry| expiry <= now)
    }

    pub fn next_number(&self) -> u32 {
        u32::try_from(self.attempts.len()).unwrap() + 1
    }

    /// The answer to a call with the idempotency key of this job.
    fn stands_for(&self, new: &NewJob, index: usize) -> Result<Enqueued> {
        let Some(difference) = self.difference(new) else {
            return Ok(Enqueued { index, id: self.id, created: false, scheduled_run: None });
        };
        let key = new.idempotency_key.clone().unwrap();
        Err(StoreError::KeyOfOtherWork { key, first: self.id, difference, index })
    }

    /// What makes the new job other work than this one.
    pub fn difference(&self, new: &NewJob) -> Option<&'static str> {
        let (old, wanted) = (&self.definition, &new.definition);
        let is_ad_hoc = old.ad_hoc && wanted.ad_hoc;
        if old.name != wanted.name {
            Some("another name")
        } else if self.is_of_other_file(new) {
            Some("another job file")
        } else if self.args != new.args {
            Some("other arguments")
        } else if old.ad_hoc != wanted.ad_hoc {
            Some("one of the two is ad hoc")
        } else if is_ad_hoc && old.command != wanted.command {
            Some("another command")
        } else if is_ad_hoc && old.cwd != wanted.cwd {
            Some("another directory")
        } else {
            None
        }
    }

    pub fn is_of_other_file(&self, new: &NewJob) -> bool {
        matches!((self.file, new.job_file), (Some(one), Some(other)) if one != other)
    }

    /// Whether it does the same work as the new job.
    pub fn does_the_work_of(&self, new: &NewJob) -> bool {
        self.label == new.label && self.difference(new).is_none()
    }

    pub fn expire(&mut self) {
        self.state = JobState::Dead;
        self.dead = Some((DeadReason::Expired, ErrorCode::built_in(EXPIRED)));
        self.changed_at = self.changed_at.max(self.expires_at.unwrap());
    }

    /// The job that has taken its place while it waited.
    pub fn changed_to(&self) -> Option<i64> {
        self.replaced_by.filter(|by| self.state == JobState::Cancelled && *by > self.id)
    }

    pub fn cancel_waiting(&mut self, now: Timestamp) {
        self.state = JobState::Cancelled;
        self.changed_at = now;
    }
}

impl Plain {
    /// The row of a job file.
    pub fn file(&mut self, path: &str) -> i64 {
        let known = self.files.iter().position(|known| known == path);
        let at = known.unwrap_or_else(|| {
            self.files.push(path.to_owned());
            self.files.len() - 1
        });
        i64::try_from(at).unwrap() + 1
    }

    /// The unfinished job that holds the key, after an expiry that is due.
    pub fn holder(&mut self, key: &str, now: Timestamp) -> Option<&mut Job> {
        let holds = |job: &&mut Job| job.is_unfinished() && job.definition.unique_key.as_deref() == Some(key);
        let id = self.jobs.values_mut().find(holds)?.id;
        if self.expire(id, now) {
            return self.holder(key, now);
        }
        self.jobs.get_mut(&id)
    }

    /// Records an expiry that is due, and calls the alert. True if there was one.
    pub fn expire(&mut self, id: i64, now: Timestamp) -> bool {
        let Some(job) = self.jobs.get_mut(&id).filter(|job| job.has_expired(now)) else { return false };
        job.expire();
        self.settle();
        self.call_alert(id, now);
        true
    }

    /// Enqueues the alert of a job that has died or was warned.
    pub fn call_alert(&mut self, id: i64, now: Timestamp) {
        let job = &self.jobs[&id];
        let (alert, reason, code) = match (&job.dead, &job.warning) {
            (Some((reason, code)), _) => (&job.definition.on_dead, reason.as_str(), code),
            (None, warning) => (&job.definition.on_warning, "warning", warning.as_ref().unwrap()),
        };
        let Some(alert) = alert.clone() else { return };
        let mut alert = *alert;
        let message = job.attempts.last().and_then(|attempt| attempt.message.clone());
        // The outputs that are drawn are a few times the letter x.
        let output = u32::try_from(job.attempts.len()).ok().and_then(|number| job.outputs.get(&number));
        let output = output.cloned().unwrap_or_default();
        let end = |stream: &StreamBytes| {
            let head = if stream.omitted > 0 { stream.head } else { 0 };
            "x".repeat(stream.bytes.len() - head)
        };
        let (stdout, stderr) = (end(&output.stdout), end(&output.stderr));
        let last_line = if stderr.is_empty() { stdout.clone() } else { stderr.clone() };
        let last_output = if output.stderr.bytes.is_empty() { stdout } else { stderr };
        for (name, value) in [
            ("RUNNER_DEAD_JOB_ID", id.to_string()),
            ("RUNNER_DEAD_JOB_NAME", job.definition.name.clone()),
            ("RUNNER_DEAD_ERROR_CODE", code.to_string()),
            ("RUNNER_DEAD_REASON", reason.to_string()),
            ("RUNNER_DEAD_MESSAGE", message.unwrap_or(last_line)),
            ("RUNNER_DEAD_OUTPUT", last_output),
        ] {
            alert.env.insert(Bytes::from(name), Bytes::from(value.as_str()));
        }
        let run_worker_id = self.keeper(&self.jobs[&id]);
        let job_file = self.jobs[&id].file;
        if let Some(key) = alert.unique_key.clone()
            && let Some(holder) = self.holder(&key, now)
            && holder.file.zip(job_file).is_some_and(|(one, other)| one != other)
        {
            alert.unique_key = None;
        }
        let alert = NewJob { run_worker_id, job_file, ..NewJob::new(Arc::new(alert)) };
        self.enqueue_one(&alert, BTreeMap::new(), 0, now).unwrap();
    }

    /// The number of jobs that this one still waits for.
    pub fn unmet_dependencies(&self, job: &Job) -> u32 {
        u32::try_from(job.after.iter().filter(|(id, kind)| !self.is_met(job, **id, **kind)).count()).unwrap()
    }

    pub fn is_met(&self, job: &Job, id: i64, kind: DependencyKind) -> bool {
        match kind {
            DependencyKind::Any => job.ended.contains(&id),
            DependencyKind::Success => self.jobs.get(&id).is_some_and(|job| job.state == JobState::Succeeded),
        }
    }

    /// Whether only a person can get this job going. An expiry counts if it is recorded, or if it has come by `now`.
    pub fn is_stuck(&self, id: i64, now: Option<Timestamp>) -> bool {
        self.is_behind(id, now, Cause::End) || self.is_behind(id, now, Cause::Removal)
    }

    /// Whether this job waits for good for one that has ended, was removed, or is in a paused queue.
    pub fn is_behind(&self, id: i64, now: Option<Timestamp>, cause: Cause) -> bool {
        let has_ended = |job: &Job| !job.is_unfinished() || now.is_some_and(|now| job.has_expired(now));
        let Some(job) = self.jobs.get(&id).filter(|job| !has_ended(job)) else { return false };
        job.after.iter().filter(|(before, kind)| !self.is_met(job, **before, **kind)).any(|(before, kind)| {
            let needs_success = *kind == DependencyKind::Success;
            match self.jobs.get(before) {
                None => cause == Cause::Removal,
                Some(before) if has_ended(before) => cause == Cause::End && needs_success,
                Some(before) => {
                    let is_paused =
                        before.state == JobState::Pending && self.is_paused(&before.definition.queue);
                    (cause == Cause::Pause && is_paused || self.is_behind(before.id, now, cause))
                        && (needs_success || cause != Cause::End && before.expires_at.is_none())
                }
            }
        })
    }

    /// Notes which dependencies have ended, for the jobs that any end lets go on. A removal is noticed by new jobs alone.
    pub fn settle(&mut self) {
        for id in self.jobs.keys().copied().collect::<Vec<_>>() {
            self.note_ended(id, |plain, before| plain.is_behind(before, None, Cause::End));
        }
    }

    pub fn settle_new(&mut self, id: i64) {
        self.note_ended(id, |plain, before| plain.is_stuck(before, None));
        self.settle();
    }

    fn note_ended(&mut self, id: i64, is_stuck: impl Fn(&Self, i64) -> bool) {
        let has_ended = |before: &i64| {
            self.jobs.get(before).is_some_and(|job| !job.is_unfinished()) || is_stuck(self, *before)
        };
        let any = self.jobs[&id].after.iter().filter(|(_, kind)| **kind == DependencyKind::Any);
        let ended: Vec<i64> = any.map(|(id, _)| *id).filter(has_ended).collect();
        self.jobs.get_mut(&id).unwrap().ended.extend(ended);
    }

    pub fn is_blocked(&self, job: &Job) -> bool {
        job.state == JobState::Pending && self.unmet_dependencies(job) > 0
    }

    /// Whether an unfinished job depends on this one.
    pub fn is_needed(&self, id: i64) -> bool {
        self.jobs.values().any(|job| job.is_unfinished() && job.after.contains_key(&id))
    }

    pub fn remove(&mut self, id: i64) {
        let gone = self.jobs.remove(&id);
        let succeeded = gone.is_some_and(|job| job.state == JobState::Succeeded);
        for job in self.jobs.values_mut() {
            let ended = job.ended.contains(&id);
            let is_met = |kind: &DependencyKind| match kind {
                DependencyKind::Success => succeeded,
                DependencyKind::Any => ended,
            };
            job.after.retain(|before, kind| *before != id || !is_met(kind));
        }
    }

    /// All or none.
    pub fn enqueue(&mut self, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Enqueued>> {
        let before = self.clone();
        for (dependency, _) in jobs.iter().flat_map(|job| &job.dependencies) {
            if let Dependency::Job(id) = dependency {
                self.expire(*id, now);
            }
        }
        let mut done = Vec::new();
        let (wanted, runs) = match self.wanted(jobs, now) {
            Ok(answer) => answer,
            Err(refused) => {
                *self = before;
                return Err(refused);
            }
        };
        let mut ids = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            let mut after = BTreeMap::new();
            for (dependency, kind) in &job.dependencies {
                let id = match *dependency {
                    Dependency::Job(id) => id,
                    Dependency::InCall(index) => ids[index],
                };
                let known = after.entry(id).or_insert(*kind);
                *known = if *kind == DependencyKind::Success { *kind } else { *known };
            }
            if !wanted[index] {
                ids.push(0);
                continue;
            }
            let scheduled_run = runs[index];
            if let Some(ScheduledRun::Counts(id)) = scheduled_run {
                ids.push(id);
                done.push(Enqueued { index, id, created: false, scheduled_run });
                continue;
            }
            match self.enqueue_one(job, after, index, now) {
                Ok(enqueued) => {
                    let is_old = |id: &&mut i64| {
                        enqueued.created
                            && self.jobs.get(id).is_some_and(|old| old.replaced_by == Some(enqueued.id))
                    };
                    ids.iter_mut().filter(is_old).for_each(|id| *id = enqueued.id);
                    ids.push(enqueued.id);
                    done.push(Enqueued { scheduled_run, ..enqueued });
                }
                Err(refused) => {
                    *self = before;
                    return Err(refused);
                }
            }
        }
        Ok(done)
    }

    /// The jobs that `enqueue` looks at: a dependency only if a new job depends on it. With each dependency that has a schedule
    /// of its own comes what was found of its runs.
    ///
    /// The order matters because a look at a key records the expiry of its holder, which may enqueue an alert, and because the
    /// first key that belongs to other work refuses the call.
    fn wanted(&mut self, jobs: &[NewJob], now: Timestamp) -> Result<(Vec<bool>, Vec<Option<ScheduledRun>>)> {
        let mut runs = vec![None; jobs.len()];
        let mut wanted: Vec<bool> = jobs.iter().map(|job| !job.is_dependency).collect();
        for (index, job) in jobs.iter().enumerate().rev() {
            let in_call = job.dependencies.iter().filter_map(|(dependency, _)| match *dependency {
                Dependency::InCall(index) => Some(index),
                Dependency::Job(_) => None,
            });
            let open: Vec<usize> = in_call.filter(|index| !wanted[*index]).collect();
            if wanted[index] && job.is_dependency && job.own_schedule.is_some() {
                runs[index] = Some(self.scheduled_run(job, now));
            }
            if matches!(runs[index], Some(ScheduledRun::Counts(_))) {
                continue;
            }
            if wanted[index] && !open.is_empty() && self.is_new(job, index, now)? {
                for index in open {
                    wanted[index] = true;
                }
            }
        }
        Ok((wanted, runs))
    }

    /// Finds the last job that was enqueued as the schedule of this dependency enqueues it, and says what it is.
    fn scheduled_run(&mut self, wanted: &NewJob, now: Timestamp) -> ScheduledRun {
        let name = &wanted.definition.name;
        let is_one = |job: &&Job| {
            job.definition.name == *name
                && job.label.is_none()
                && job.args.is_empty()
                && !job.definition.ad_hoc
                && !job.definition.is_alert()
                && !job.is_of_other_file(wanted)
        };
        let Some(mut id) = self.jobs.values().rfind(is_one).map(|job| job.id) else {
            return ScheduledRun::Missing;
        };
        while let Some(by) = self.jobs.get(&id).and_then(Job::changed_to) {
            id = by;
        }
        if !self.jobs.contains_key(&id) {
            return ScheduledRun::Missing;
        }
        self.expire(id, now);
        let job = &self.jobs[&id];
        let oldest = wanted.own_schedule.and_then(|schedule| schedule.fresh_within).map(|age| now.minus(age));
        match job.state {
            JobState::Dead if job.definition.policy.retryable => ScheduledRun::Dead(id),
            JobState::Succeeded if oldest.is_some_and(|oldest| !(oldest..=now).contains(&job.changed_at)) => {
                ScheduledRun::TooOld(id)
            }
            _ => ScheduledRun::Counts(id),
        }
    }

    fn is_new(&mut self, job: &NewJob, index: usize, now: Timestamp) -> Result<bool> {
        if job.idempotency_key.is_some()
            && let Some(first) = self.jobs.values().find(|first| first.idempotency_key == job.idempotency_key)
        {
            first.stands_for(job, index)?;
            return Ok(false);
        }
        let key = job.definition.unique_key.as_ref().filter(|_| job.on_conflict == OnConflict::Skip);
        Ok(key.is_none_or(|key| self.holder(key, now).is_none()))
    }

    pub fn enqueue_one(
        &mut self,
        new: &NewJob,
        after: BTreeMap<i64, DependencyKind>,
        index: usize,
        now: Timestamp,
    ) -> Result<Enqueued> {
        if new.idempotency_key.is_some()
            && let Some(first) = self.jobs.values().find(|job| job.idempotency_key == new.idempotency_key)
        {
            return first.stands_for(new, index);
        }
        let (mut replaced, mut run) = (None, new.run_worker_id);
        if let Some(key) = &new.definition.unique_key
            && let Some(holder) = self.holder(key, now)
        {
            let is_namesake = holder.definition.name == new.definition.name && holder.is_of_other_file(new);
            if is_namesake && (new.scheduled.is_none() || new.is_dependency) {
                let (holder, file) = (holder.id, holder.file.unwrap());
                let file = self.files[usize::try_from(file).unwrap() - 1].clone();
                return Err(StoreError::KeyOfNamesake { key: key.clone(), holder, file, index });
            }
            let replaceable = holder.state == JobState::Pending && holder.attempts.is_empty();
            let started = new.on_conflict == OnConflict::Replace;
            match new.on_conflict {
                OnConflict::Skip => {
                    return Ok(Enqueued { index, id: holder.id, created: false, scheduled_run: None });
                }
                OnConflict::Replace if replaceable => {
                    let is_namesake = holder.definition.name == new.definition.name;
                    (replaced, run) =
                        (Some(holder.id).filter(|_| is_namesake), run.or(holder.run.filter(|_| is_namesake)));
                    holder.cancel_waiting(now);
                    if !is_namesake {
                        self.settle();
                    }
                }
                OnConflict::Replace | OnConflict::Error => {
                    let (key, holder) = (key.clone(), holder.id);
                    return Err(StoreError::KeyHeld { key, holder, started, index });
                }
            }
        }
        if let Some(gone) = after.keys().find(|id| !self.jobs.contains_key(id)) {
            return Err(StoreError::NoDependency { id: *gone, index });
        }
        self.last_id += 1;
        let from = new.scheduled.map_or(now, |scheduled| scheduled.at);
        let run_at = match new.due {
            Due::Now => from,
            Due::At(at) => {
                if new.scheduled.is_some() {
                    at
                } else {
                    at.max(now)
                }
            }
            Due::In(delay) => from.plus(delay),
        };
        let job = Job {
            id: self.last_id,
            definition: Arc::clone(&new.definition),
            args: new.args.clone(),
            stdin: new.stdin.clone(),
            idempotency_key: new.idempotency_key.clone(),
            label: new.label.clone(),
            state: JobState::Pending,
            enqueued_at: now,
            run_at,
            file: new.job_file,
            delay: new.due.delay().map(|delay| (from, Some(delay))),
            expires_at: new.definition.expires_in.map(|span| run_at.plus(span)),
            changed_at: now,
            started_at: None,
            attempts_used: 0,
            worker: None,
            cancel_requested_at: None,
            dead: None,
            warning: None,
            result: None,
            resolved_at: None,
            resolution: None,
            replaced_by: None,
            attempts: Rc::default(),
            outputs: BTreeMap::new(),
            live: None,
            scheduled: new.scheduled,
            after,
            run,
            was_enqueued_by_run: run.is_some(),
            ended: BTreeSet::new(),
        };
        let id = job.id;
        self.jobs.insert(id, job);
        self.note_ended(id, |plain, before| plain.is_stuck(before, None));
        if let Some(old) = replaced.filter(|old| !self.waits_for(id, *old)) {
            self.put_in_place(old, id, now);
        }
        self.settle_new(id);
        Ok(Enqueued { index, id, created: true, scheduled_run: None })
    }

    /// Whether a job waits for another one, at any distance.
    fn waits_for(&self, id: i64, other: i64) -> bool {
        let Some(job) = self.jobs.get(&id) else { return false };
        let mut open = job.after.iter().filter(|(before, kind)| !self.is_met(job, **before, **kind));
        open.any(|(before, _)| *before == other || self.waits_for(*before, other))
    }

    /// Whoever waits for the old job waits for the new one.
    fn put_in_place(&mut self, old: i64, new: i64, now: Timestamp) {
        for job in self.jobs.values_mut().filter(|job| job.id != new && !job.ended.contains(&old)) {
            if let Some(kind) = job.after.remove(&old) {
                job.after.insert(new, kind);
            }
        }
        let job = self.jobs.get_mut(&old).unwrap();
        (job.resolved_at, job.replaced_by) = (Some(now), Some(new));
        for (row, _) in &mut self.workers {
            if Some(row.id) == job.run && row.run_job_id == Some(old) {
                row.run_job_id = Some(new);
            }
        }
    }

    /// Records what had expired by a time, and gives those jobs.
    pub fn expire_due(&mut self, until: Timestamp, now: Timestamp) -> Vec<i64> {
        let expired = self.jobs.values().filter(|job| job.has_expired(until)).map(|job| job.id);
        let expired: Vec<_> = expired.collect();
        for id in &expired {
            self.jobs.get_mut(id).unwrap().expire();
        }
        self.settle();
        for id in &expired {
            self.call_alert(*id, now);
        }
        expired
    }

    /// Removes what finished long ago; what expired by then has finished, too.
    pub fn prune(&mut self, filter: &PruneFilter, now: Timestamp) -> u64 {
        if filter.states.contains(&JobState::Dead) {
            self.expire_due(filter.until, now);
        }
        let PruneFilter { states, name, queue, until } = filter;
        let of_state = |state: &JobState| {
            let goes = |job: &&Job| {
                job.state == *state
                    && job.changed_at <= *until
                    && name.as_ref().is_none_or(|name| *name == job.definition.name)
                    && queue.as_ref().is_none_or(|queue| *queue == job.definition.queue)
                    && !self.is_needed(job.id)
                    && !self.is_waited_for_by_replacement(job)
                    && !self.makes_good(job)
            };
            let gone: Vec<i64> = self.jobs.values().filter(goes).map(|job| job.id).collect();
            for id in &gone {
                self.remove(*id);
            }
            gone.len() as u64
        };
        let (dead, others): (Vec<_>, Vec<_>) = states.iter().partition(|state| **state == JobState::Dead);
        dead.into_iter().chain(others).map(of_state).sum()
    }

    /// Whether an unfinished job has taken the place of this one while it waited.
    fn is_waited_for_by_replacement(&self, job: &Job) -> bool {
        let by = job.replaced_by.filter(|_| job.state == JobState::Cancelled);
        by.and_then(|by| self.jobs.get(&by)).is_some_and(Job::is_unfinished)
    }

    /// Whether this is a success without a newer one, and makes an unresolved death good.
    fn makes_good(&self, job: &Job) -> bool {
        let work = |job: &Job| (job.definition.name.clone(), job.label.clone(), job.args.clone());
        let of_work = |other: &&Job| !other.is_one_of_a_kind() && work(other) == work(job);
        let is_newer = |other: &Job| other.id > job.id && other.changed_at >= job.changed_at;
        job.state == JobState::Succeeded
            && !job.is_one_of_a_kind()
            && self.jobs.values().filter(of_work).any(|dead| {
                let since = dead.started_at.unwrap_or(dead.changed_at);
                let is_of_other_file = dead.file.zip(job.file).is_some_and(|(one, other)| one != other);
                let is_unresolved = dead.dead.is_some() && dead.resolved_at.is_none();
                is_unresolved && job.id > dead.id && job.changed_at > since && !is_of_other_file
            })
            && !self
                .jobs
                .values()
                .filter(of_work)
                .any(|other| other.state == JobState::Succeeded && other.file == job.file && is_newer(other))
    }
}
