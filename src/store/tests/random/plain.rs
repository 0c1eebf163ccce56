//! The plain model: what the rules say of jobs, in maps and loops, with no thought of how it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::plain_schedules::Schedule;
use crate::model::{Attempt, Bytes, DeadReason, EXPIRED, ErrorCode, JobSpec, JobState, Limits};
use crate::store::{
    Applied, CancelOutcome, Change, Declarations, Enqueued, Hold, Kind, LimitChange, NewJob, OnConflict,
    Output, PruneCounts, PruneFilter, Refusal, Replacement, Result, Scheduled, StoreError, WorkerRow,
};
use crate::text::Timestamp;

/// Everything there is.
#[derive(Clone, Default)]
pub(super) struct Plain {
    pub jobs: BTreeMap<i64, Job>,
    pub last_id: i64,
    pub paused: BTreeSet<String>,
    pub schedules: BTreeMap<String, Schedule>,
    pub limits: BTreeMap<String, Limits>,
    /// The files that set the `max_running` and the rate of a queue.
    files: BTreeMap<String, [Option<String>; 2]>,
    /// The last start in each queue while it had a rate.
    pub last_starts: BTreeMap<String, Timestamp>,
    /// All workers; the open ones are true.
    pub workers: Vec<(WorkerRow, bool)>,
}

/// A job with its history.
#[derive(Clone)]
pub(super) struct Job {
    pub id: i64,
    pub spec: Arc<JobSpec>,
    pub args: Vec<Bytes>,
    pub stdin: Option<Vec<u8>>,
    pub idempotency_key: Option<String>,
    pub state: JobState,
    pub enqueued_at: Timestamp,
    pub run_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub changed_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub budget_used: u32,
    pub worker: Option<i64>,
    pub cancel_requested_at: Option<Timestamp>,
    pub dead: Option<(DeadReason, ErrorCode)>,
    pub result: Option<String>,
    pub resolved_at: Option<Timestamp>,
    pub resolution: Option<String>,
    pub replaced_by: Option<i64>,
    pub attempts: Rc<Vec<Attempt>>,
    pub outputs: BTreeMap<u32, Output>,
    pub live: Option<(u32, Output)>,
    pub scheduled: Option<Scheduled>,
}

/// The job that was changed, or the reason why it was left.
type Asked = std::result::Result<i64, Refusal>;

impl Job {
    pub fn is_unfinished(&self) -> bool {
        matches!(self.state, JobState::Pending | JobState::Running)
    }

    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.state == JobState::Pending && self.expires_at.is_some_and(|expiry| expiry <= now)
    }

    pub fn next_number(&self) -> u32 {
        u32::try_from(self.attempts.len()).unwrap() + 1
    }

    pub fn expire(&mut self) {
        self.state = JobState::Dead;
        self.dead = Some((DeadReason::Expired, ErrorCode::built_in(EXPIRED)));
        self.changed_at = self.changed_at.max(self.expires_at.unwrap());
    }

    pub fn cancel_waiting(&mut self, now: Timestamp) {
        self.state = JobState::Cancelled;
        self.changed_at = now;
    }
}

impl Plain {
    /// The unfinished job that holds the key, after an expiry that is due.
    fn holder(&mut self, key: &str, now: Timestamp) -> Option<&mut Job> {
        let holds = |job: &&mut Job| job.is_unfinished() && job.spec.unique_key.as_deref() == Some(key);
        let holder = self.jobs.values_mut().find(holds)?;
        if holder.has_expired(now) {
            holder.expire();
            return None;
        }
        Some(holder)
    }

    /// All or none.
    pub fn enqueue(&mut self, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Enqueued>> {
        let before = self.clone();
        let mut done = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            match self.enqueue_one(job, index, now) {
                Ok(enqueued) => done.push(enqueued),
                Err(refused) => {
                    *self = before;
                    return Err(refused);
                }
            }
        }
        Ok(done)
    }

    fn enqueue_one(&mut self, new: &NewJob, index: usize, now: Timestamp) -> Result<Enqueued> {
        if new.idempotency_key.is_some()
            && let Some(first) = self.jobs.values().find(|job| job.idempotency_key == new.idempotency_key)
        {
            return Ok(Enqueued { id: first.id, created: false });
        }
        if let Some(key) = &new.spec.unique_key
            && let Some(holder) = self.holder(key, now)
        {
            let replaceable = holder.state == JobState::Pending && holder.attempts.is_empty();
            let started = new.on_conflict == OnConflict::Replace;
            match new.on_conflict {
                OnConflict::Skip => return Ok(Enqueued { id: holder.id, created: false }),
                OnConflict::Replace if replaceable => holder.cancel_waiting(now),
                OnConflict::Replace | OnConflict::Error => {
                    let (key, holder) = (key.clone(), holder.id);
                    return Err(StoreError::KeyHeld { key, holder, started, index });
                }
            }
        }
        self.last_id += 1;
        let run_at = new.scheduled.map_or_else(|| new.run_at.map_or(now, |at| at.max(now)), |it| it.at);
        let job = Job {
            id: self.last_id,
            spec: Arc::clone(&new.spec),
            args: new.args.clone(),
            stdin: new.stdin.clone(),
            idempotency_key: new.idempotency_key.clone(),
            state: JobState::Pending,
            enqueued_at: now,
            run_at,
            expires_at: new.spec.expires_in.map(|span| run_at.plus(span)),
            changed_at: now,
            started_at: None,
            budget_used: 0,
            worker: None,
            cancel_requested_at: None,
            dead: None,
            result: None,
            resolved_at: None,
            resolution: None,
            replaced_by: None,
            attempts: Rc::default(),
            outputs: BTreeMap::new(),
            live: None,
            scheduled: new.scheduled,
        };
        self.jobs.insert(job.id, job);
        Ok(Enqueued { id: self.last_id, created: true })
    }

    pub fn cancel(&mut self, id: i64, now: Timestamp) -> CancelOutcome {
        let Some(job) = self.jobs.get_mut(&id) else {
            return CancelOutcome::Unknown;
        };
        if job.has_expired(now) {
            job.expire();
        }
        match job.state {
            JobState::Pending => {
                job.cancel_waiting(now);
                CancelOutcome::Cancelled
            }
            JobState::Running => {
                job.cancel_requested_at.get_or_insert(now);
                CancelOutcome::Requested
            }
            done => CancelOutcome::Finished(done),
        }
    }

    /// The job of this id, after an expiry that is due.
    fn at(&mut self, id: i64, now: Timestamp) -> std::result::Result<&mut Job, Refusal> {
        let job = self.jobs.get_mut(&id).ok_or(Refusal::Unknown)?;
        if job.has_expired(now) {
            job.expire();
        }
        Ok(job)
    }

    pub fn retry(&mut self, id: i64, force: bool, now: Timestamp) -> Asked {
        let job = self.at(id, now)?;
        if !matches!(job.state, JobState::Dead | JobState::Cancelled) {
            return Err(Refusal::State(job.state));
        }
        let spec = Arc::clone(&job.spec);
        if !spec.policy.retryable && !force {
            return Err(Refusal::NotRetryable);
        }
        if let Some(holder) = spec.unique_key.as_ref().and_then(|key| self.holder(key, now)) {
            return Err(Refusal::KeyTaken(holder.id));
        }
        let job = self.jobs.get_mut(&id).unwrap();
        job.state = JobState::Pending;
        job.run_at = now;
        job.changed_at = now;
        job.expires_at = spec.expires_in.map(|span| now.plus(span));
        job.budget_used = 0;
        job.dead = None;
        job.cancel_requested_at = None;
        job.resolved_at = None;
        job.resolution = None;
        job.replaced_by = None;
        Ok(id)
    }

    /// A new job takes the place of an old one, with its input.
    pub fn redefine(&mut self, Replacement { id, job }: &Replacement, force: bool, now: Timestamp) -> Asked {
        let old = self.at(*id, now)?;
        if !matches!(old.state, JobState::Dead | JobState::Cancelled) {
            return Err(Refusal::State(old.state));
        }
        if let Some(by) = old.replaced_by {
            return Err(Refusal::Replaced(by));
        }
        if old.spec.ad_hoc {
            return Err(Refusal::AdHoc);
        }
        let Some(new) = job else { return Err(Refusal::Undeclared) };
        if !old.spec.policy.retryable && !force {
            return Err(Refusal::NotRetryable);
        }
        let stdin = old.stdin.clone();
        if let Some(holder) = new.spec.unique_key.as_ref().and_then(|key| self.holder(key, now)) {
            return Err(Refusal::KeyTaken(holder.id));
        }
        let old = self.jobs.get_mut(id).unwrap();
        (old.resolved_at, old.resolution, old.idempotency_key) = (Some(now), None, None);
        let new = self.enqueue_one(&NewJob { stdin, ..new.clone() }, 0, now).unwrap().id;
        self.jobs.get_mut(id).unwrap().replaced_by = Some(new);
        Ok(new)
    }

    pub fn resolve(&mut self, id: i64, note: Option<&str>, now: Timestamp) -> Asked {
        let job = self.at(id, now)?;
        if job.state != JobState::Dead {
            return Err(Refusal::State(job.state));
        }
        job.resolved_at.get_or_insert(now);
        job.resolution = note.map(str::to_owned).or(job.resolution.take());
        Ok(id)
    }

    pub fn make_due(&mut self, id: i64, now: Timestamp) -> Asked {
        let job = self.at(id, now)?;
        if job.state != JobState::Pending {
            return Err(Refusal::State(job.state));
        }
        job.run_at = job.run_at.min(now);
        Ok(id)
    }

    /// Waits that would begin in the future begin now. Gives how many there were.
    pub fn follow_clock_step(&mut self, now: Timestamp) -> usize {
        let is_ahead = |at: Timestamp| at.0 > now.0 + 1_000;
        let mut ends =
            self.jobs.values().flat_map(|job| job.attempts.iter()).map(|attempt| attempt.finished_at);
        let mut newest = self.jobs.values().rev().take(1_000);
        let mut starts = self.last_starts.values();
        if !ends.any(is_ahead)
            && !newest.any(|job| is_ahead(job.enqueued_at))
            && !starts.any(|at| is_ahead(*at))
        {
            return 0;
        }
        let mut moved = 0;
        for last in self.last_starts.values_mut().filter(|last| is_ahead(**last)) {
            *last = now;
            moved += 1;
        }
        for job in self.jobs.values_mut() {
            let at_once = job.run_at <= job.changed_at;
            if job.state == JobState::Pending
                && is_ahead(job.changed_at)
                && (!job.attempts.is_empty() || at_once)
            {
                job.run_at = Timestamp(now.0 + job.run_at.0 - job.changed_at.0);
                job.changed_at = now;
                moved += 1;
            }
        }
        moved
    }

    /// True where it changed something.
    pub fn pause(&mut self, queue: &str, paused: bool) -> bool {
        if paused { self.paused.insert(queue.to_owned()) } else { self.paused.remove(queue) }
    }

    pub fn limit(&mut self, queue: &str, change: LimitChange) {
        let limits = self.limits.entry(queue.to_owned()).or_default();
        let files = self.files.entry(queue.to_owned()).or_default();
        let LimitChange::Set(Limits { max_running, rate }) = change else {
            *limits = Limits::default();
            *files = [None, None];
            return;
        };
        if max_running.is_some() {
            (limits.max_running, files[0]) = (max_running, None);
        }
        if rate.is_some() {
            (limits.rate, files[1]) = (rate, None);
        }
    }

    pub fn apply_limits(&mut self, declared: Declarations) -> Vec<Applied> {
        let Declarations { file, queues, .. } = declared;
        let before = self.limits.clone();
        let mut names: BTreeSet<String> = queues.keys().cloned().collect();
        for (name, files) in &mut self.files {
            let limits = self.limits.get_mut(name).unwrap();
            if files[0].as_deref() == Some(file) {
                (limits.max_running, files[0]) = (None, None);
                names.insert(name.clone());
            }
            if files[1].as_deref() == Some(file) {
                (limits.rate, files[1]) = (None, None);
                names.insert(name.clone());
            }
        }
        for (name, limits) in queues {
            let owner = Some(file.to_owned());
            let files = [limits.max_running.and(owner.as_ref()), limits.rate.and(owner.as_ref())];
            self.files.insert(name.clone(), files.map(Option::<&String>::cloned));
            self.limits.insert(name.clone(), *limits);
        }
        let of =
            |limits: &BTreeMap<String, Limits>, name: &String| limits.get(name).copied().unwrap_or_default();
        let change = |name: String| {
            let (before, after) = (of(&before, &name), of(&self.limits, &name));
            let change = match (before.is_none(), after.is_none()) {
                (true, false) => Change::Added,
                (false, true) => Change::Removed,
                _ if before == after => Change::Unchanged,
                _ => Change::Changed,
            };
            Applied { name, change, kind: Kind::Queue { before, after } }
        };
        names.into_iter().map(change).collect()
    }

    fn running(&self, queue: &str) -> usize {
        self.jobs.values().filter(|job| job.state == JobState::Running && job.spec.queue == queue).count()
    }

    /// What keeps this queue from starting a job.
    pub fn hold(&self, queue: &str, now: Timestamp) -> Option<Hold> {
        let Limits { max_running, rate } = self.limits.get(queue).copied().unwrap_or_default();
        if self.paused.contains(queue) {
            return Some(Hold::Paused);
        }
        if let Some(most) = max_running.filter(|most| self.running(queue) >= *most as usize) {
            return Some(Hold::Full(most));
        }
        let next = self.last_starts.get(queue)?.plus(rate?.spacing());
        (next > now).then_some(Hold::Paced(rate?, next))
    }

    /// Records what has expired, and gives those jobs.
    pub fn expire_due(&mut self, now: Timestamp) -> Vec<&Job> {
        let mut expired = Vec::new();
        for job in self.jobs.values_mut().filter(|job| job.has_expired(now)) {
            job.expire();
            expired.push(&*job);
        }
        expired
    }

    /// Removes what finished long ago; what expired by then has finished, too.
    pub fn prune(&mut self, filter: &PruneFilter) -> PruneCounts {
        if filter.states.contains(&JobState::Dead) {
            self.expire_due(filter.until);
        }
        let PruneFilter { states, name, queue, until } = filter;
        let of_state = |state: &JobState| {
            let before = self.jobs.len();
            self.jobs.retain(|_, job| {
                job.state != *state
                    || job.changed_at > *until
                    || name.as_ref().is_some_and(|name| *name != job.spec.name)
                    || queue.as_ref().is_some_and(|queue| *queue != job.spec.queue)
            });
            (*state, (before - self.jobs.len()) as u64)
        };
        states.iter().map(of_state).collect()
    }
}
