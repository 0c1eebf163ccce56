//! The plain model at work: claims, ends, deaths of workers, steps of the clock.

use std::rc::Rc;

use super::plain::{Job, Plain};
use crate::model::{
    Attempt, AttemptOutput, Circumstances, Decision, EndCause, Event, JobLabel, JobState, Outcome,
    PendingJob, RecordedAttempt, classify, decide,
};
use crate::store::file::version::Version;
use crate::store::tests::fixture::mark_of;
use crate::store::write::finish::INTERRUPTED_EXPIRY;
use crate::store::{
    Backlog, Claim, EndedAttempt, EndedDependency, OrphanedClaim, PendingWork, QueueHold, Takes, Turn,
    TurnRequest,
};
use crate::text::Timestamp;

impl Job {
    /// The job as an event tells of it.
    fn as_pending(&self) -> PendingJob {
        PendingJob {
            id: self.id,
            name: self.definition.name.clone(),
            label: JobLabel::of(&self.definition, self.label.clone(), &self.args),
            queue: self.definition.queue.clone(),
            attempts: self.next_number() - 1,
        }
    }
}

impl Plain {
    pub fn turn(&mut self, request: &TurnRequest, now: Timestamp) -> Turn {
        let is_full =
            |plain: &Self, queue: &str| matches!(plain.queue_hold(queue, now), Some(QueueHold::Full(_)));
        let full: Vec<String> = self
            .limits
            .keys()
            .filter(|queue| !request.ended.is_empty() && is_full(self, queue))
            .cloned()
            .collect();
        self.end_pauses(now);
        let mut events: Vec<Event> = Vec::new();
        for ended in request.ended {
            events.push(match self.finish(request.worker, ended, now) {
                Some(recorded) => Event::AttemptEnded(recorded.into()),
                None => Event::late(ended.job_id, ended.number),
            });
        }
        for id in request.release {
            events.extend(self.release(request.worker, *id, now));
        }
        if !request.claims_no_more && matches!(request.takes, Takes::Queues(_)) {
            events.extend(self.fire_due(now));
        }
        for id in self.expire_due(now, now) {
            let job = &self.jobs[&id];
            events.push(Event::expired(job.as_pending()));
        }
        Turn {
            events,
            claims: self.claim(request, now),
            unreadable: Vec::new(),
            backlog: match request.takes {
                Takes::Queues(queues) => self.backlog(queues, &full, now),
                Takes::OwnJobs => self.backlog_of_run(request.worker, &full, now),
            },
            cancels: self
                .running_job(request.worker)
                .filter(|job| job.cancel_requested_at.is_some())
                .map(|j| j.id)
                .collect(),
        }
    }

    /// The jobs that this worker runs.
    pub fn running_job(&self, worker: i64) -> impl Iterator<Item = &Job> {
        self.jobs.values().filter(move |job| job.worker == Some(worker))
    }

    pub fn held_claims(&self, worker: i64) -> Vec<OrphanedClaim> {
        let claim = |job: &Job| OrphanedClaim {
            job_id: job.id,
            number: job.next_number(),
            claimed_at: job.changed_at,
            has_started: job.live.is_some(),
            started_at: job.live.as_ref().map(|(_, at, _)| *at),
        };
        self.running_job(worker).map(claim).collect()
    }

    fn is_open(&self, job: &Job, selected: Option<&[String]>) -> bool {
        !self.is_paused(&job.definition.queue)
            && selected.is_none_or(|names| names.contains(&job.definition.queue))
    }

    fn may_take(&self, job: &Job, request: &TurnRequest) -> bool {
        match request.takes {
            Takes::Queues(queues) => self.is_open(job, queues) && !self.is_kept(job),
            Takes::OwnJobs => self.is_open(job, None) && job.run == Some(request.worker),
        }
    }

    fn claim(&mut self, request: &TurnRequest, now: Timestamp) -> Vec<Claim> {
        let mut due: Vec<&Job> = self
            .jobs
            .values()
            .filter(|job| job.state == JobState::Pending && job.run_at <= now && !job.has_expired(now))
            .filter(|job| self.may_take(job, request) && !self.is_blocked(job))
            .collect();
        due.sort_by_key(|job| (-job.definition.priority, job.run_at, job.id));
        let due: Vec<(i64, String)> =
            due.into_iter().map(|job| (job.id, job.definition.queue.clone())).collect();
        let mut claims = Vec::new();
        for (id, queue) in due {
            if claims.len() < request.idle_slots && self.queue_hold(&queue, now).is_none() {
                claims.push(self.take(id, request.worker, now));
                if let Some(rate) = self.limits.get(&queue).and_then(|limits| limits.rate) {
                    let start = rate.counted_start(self.last_starts.get(&queue).copied(), now);
                    self.last_starts.insert(queue, start);
                }
            }
        }
        claims
    }

    fn take(&mut self, id: i64, worker: i64, now: Timestamp) -> Claim {
        let told = |id: &i64| {
            let job = self.jobs.get(id)?;
            let state = if self.is_blocked(job) { "blocked" } else { job.state.as_str() };
            let (name, label) = (job.definition.name.clone(), job.label.clone());
            Some(EndedDependency { id: *id, state, name, label })
        };
        let dependencies = self.jobs[&id].after.keys().filter_map(told).collect();
        let job = self.jobs.get_mut(&id).unwrap();
        job.state = JobState::Running;
        job.worker = Some(worker);
        job.changed_at = now;
        let last = job.attempts.last();
        Claim {
            scheduled: job.scheduled,
            job_id: id,
            number: job.next_number(),
            attempt_in_budget: job.attempts_used + 1,
            // Columns of the job's own row are not part of its definition.
            definition: job.definition.without_columns().into(),
            queue: job.definition.queue.clone(),
            expires_at: job.expires_at,
            args: job.args.clone(),
            label: job.label.clone(),
            stdin: job.stdin.clone(),
            last_error_code: last.and_then(|attempt| attempt.error_code.clone()),
            last_mark: last
                .and_then(|attempt| attempt.worker_id.as_deref())
                .map(|worker| (mark_of(worker), Version::FIRST)),
            dependencies,
        }
    }

    fn backlog(&self, selected: Option<&[String]>, full: &[String], now: Timestamp) -> Backlog {
        let open = self.waiting().filter(|job| self.is_open(job, selected));
        let open: Vec<&Job> = open.filter(|job| !self.is_kept(job)).collect();
        let next_times = self.schedules.values().filter_map(|schedule| match schedule.row.pause {
            Some(pause) => pause.ends_at(),
            None => schedule.row.next_at.filter(|_| self.pause_of_all.is_none()),
        });
        // A `run` whose queue was full waits to be told, whichever queues this worker serves.
        let kept: Vec<&Job> = self.waiting().filter(|job| self.is_kept(job)).collect();
        Backlog {
            running: self
                .jobs
                .values()
                .any(|job| job.state == JobState::Running && self.is_open(job, selected)),
            place_freed: self.freed(&open, full, now) || self.freed(&kept, full, now),
            pending: self.pending_work(&open, now),
            next_due: self.next_due(&open, now).into_iter().chain(next_times).min(),
        }
    }

    /// What is left of a `run`, which waits for a paused queue as for a full one.
    fn backlog_of_run(&self, run: i64, full: &[String], now: Timestamp) -> Backlog {
        let own: Vec<&Job> = self.waiting().filter(|job| job.run == Some(run)).collect();
        let is_full = |queue: &String| matches!(self.queue_hold(queue, now), Some(QueueHold::Full(_)));
        Backlog {
            running: self.jobs.values().any(|job| job.state == JobState::Running && job.run == Some(run)),
            // Whoever waits for the place is another worker.
            place_freed: full.iter().any(|queue| !is_full(queue)),
            pending: self.pending_work(&own, now),
            next_due: self.next_due(&own, now),
        }
    }

    /// The pending jobs that are not blocked.
    fn waiting(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values().filter(|job| job.state == JobState::Pending && !self.is_blocked(job))
    }

    /// Whether one of these jobs is due in a queue that was full and has a place.
    fn freed(&self, jobs: &[&Job], full: &[String], now: Timestamp) -> bool {
        let due = jobs.iter().filter(|job| job.run_at <= now);
        due.map(|job| &job.definition.queue).any(|queue| {
            full.contains(queue) && !matches!(self.queue_hold(queue, now), Some(QueueHold::Full(_)))
        })
    }

    fn pending_work(&self, jobs: &[&Job], now: Timestamp) -> PendingWork {
        let work = |job: &&Job| match self.queue_hold(&job.definition.queue, now) {
            _ if job.run_at > now => PendingWork::Later,
            Some(_) => PendingWork::AtLimit,
            None => PendingWork::Startable,
        };
        jobs.iter().map(work).max().unwrap_or(PendingWork::Nothing)
    }

    /// When to look again for the sake of these jobs, or because something expires.
    fn next_due(&self, jobs: &[&Job], now: Timestamp) -> Option<Timestamp> {
        let of_job = |job: &&Job| match self.queue_hold(&job.definition.queue, now) {
            _ if job.run_at > now => Some(job.run_at),
            Some(QueueHold::Paced(_, next)) => Some(next),
            _ => None,
        };
        let pending = self.jobs.values().filter(|job| job.state == JobState::Pending);
        let pauses = self.paused.values().chain(&self.pause_of_all).filter_map(|pause| pause.ends_at());
        jobs.iter().filter_map(of_job).chain(pending.filter_map(|job| job.expires_at)).chain(pauses).min()
    }

    /// Nothing but the very attempt that this very worker runs can be finished.
    pub fn finish(&mut self, worker: i64, ended: &EndedAttempt, now: Timestamp) -> Option<RecordedAttempt> {
        let worker_name =
            self.workers.iter().find(|(row, _)| row.id == worker).map(|(row, _)| row.name.clone());
        let blocked: Vec<i64> =
            self.jobs.values().filter(|job| self.is_blocked(job)).map(|job| job.id).collect();
        let job = self.jobs.get_mut(&ended.job_id)?;
        if job.worker != Some(worker) || job.next_number() != ended.number {
            return None;
        }
        let end = &ended.end;
        let verdict = classify(&job.definition.exit, end);
        let n = job.attempts_used + 1;
        let at = Circumstances {
            attempt_in_budget: n,
            cancel_requested: job.cancel_requested_at.is_some(),
            expires_at: job.expires_at,
            jitter_sample: ended.jitter_sample,
        };
        let decision = decide(&job.definition.policy, end, &verdict, at);
        let said: Vec<String> =
            end.report.message.iter().chain(&end.message).chain(&end.report.notes).cloned().collect();
        let mut attempt = Attempt {
            job_id: job.id,
            number: ended.number,
            outcome: verdict.outcome,
            error_code: verdict.code,
            warning: verdict.warning,
            status: end.status,
            message: (!said.is_empty()).then(|| said.join("; ")),
            worker_id: worker_name,
            started_at: end.started_at,
            finished_at: end.finished_at,
            duration: end.duration,
            attempt_in_budget: n,
            next_state: decision.state(),
            dead_reason: decision.dead_reason(),
            nominal_delay: None,
            delay: None,
            usage: end.usage,
            output_held_open: end.output_held_open,
            spawn_failure: match end.cause {
                Some(EndCause::SpawnFailed(failure)) => failure,
                _ => None,
            },
        };
        job.state = decision.state();
        job.dead = decision.dead_reason().map(|reason| (reason, attempt.error_code.clone().unwrap()));
        if let Decision::Retry { nominal, delay, at } = decision {
            (attempt.nominal_delay, attempt.delay) = (Some(nominal), Some(delay));
            job.run_at = at;
            job.expires_at =
                job.expires_at.map(|expiry| if at < expiry { expiry } else { at.plus(INTERRUPTED_EXPIRY) });
            assert_eq!(at, attempt.finished_at.plus(delay));
        }
        job.warning.clone_from(&attempt.warning);
        job.worker = None;
        job.changed_at = end.finished_at;
        job.started_at = job.started_at.or(end.started_at);
        job.attempts_used += u32::from(verdict.outcome != Outcome::Interrupted);
        job.result = end.report.result.clone().or(job.result.take());
        let live = job.live.take().filter(|(number, ..)| *number == ended.number).map(|(.., output)| output);
        let wrote = |output: &AttemptOutput| {
            [&output.stdout, &output.stderr]
                .iter()
                .any(|stream| !stream.bytes.is_empty() || stream.omitted > 0)
        };
        let kept = end.output.clone().or(live).filter(wrote);
        let last_output = kept
            .as_ref()
            .filter(|_| job.dead.is_some() || job.warning.is_some())
            .and_then(AttemptOutput::last_line);
        job.outputs.extend(kept.map(|output| (ended.number, output)));
        Rc::make_mut(&mut job.attempts).push(attempt.clone());
        let PendingJob { id, name, label, queue, .. } = job.as_pending();
        let max_attempts = job.definition.policy.max_attempts();
        let job_succeeded = job.state == JobState::Succeeded;
        if job.warning.is_some() {
            *self.warnings.entry(name.clone()).or_default() += 1;
        }
        if attempt.next_state == JobState::Dead || attempt.warning.is_some() {
            self.call_alert(id, now);
        }
        let file = self.jobs[&id].file.map(|file| self.files[usize::try_from(file).unwrap() - 1].clone());
        if job_succeeded
            && let Some(schedule) = self.schedules.get_mut(&name)
            && file.is_none_or(|file| file == schedule.row.file)
            && self.jobs[&id].does_what_a_schedule_does()
        {
            schedule.row.last_success_at = Some(attempt.finished_at);
        }
        self.settle();
        let may_start = |job: &Job| job.state == JobState::Pending && !self.is_blocked(job);
        let has_died = attempt.next_state == JobState::Dead;
        let unblocks = !has_died && blocked.iter().any(|id| may_start(&self.jobs[id]));
        Some(RecordedAttempt { attempt, name, label, queue, max_attempts, last_output, unblocks })
    }

    fn release(&mut self, worker: i64, id: i64, now: Timestamp) -> Option<Event> {
        let job = self.jobs.get_mut(&id).filter(|job| job.worker == Some(worker))?;
        job.state = if job.cancel_requested_at.is_some() { JobState::Cancelled } else { JobState::Pending };
        job.worker = None;
        job.run_at = job.run_at.min(now);
        job.changed_at = if job.state == JobState::Cancelled { now } else { job.run_at };
        let (job, is_cancelled) = (job.as_pending(), job.state == JobState::Cancelled);
        self.settle();
        is_cancelled.then_some(Event::cancelled(job))
    }

    pub fn recover(
        &mut self,
        worker: i64,
        lost: &[EndedAttempt],
        never_started: &[i64],
        now: Timestamp,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        for recorded in lost.iter().filter_map(|ended| self.finish(worker, ended, now)) {
            events.push(Event::lost(&recorded));
            events.push(Event::AttemptEnded(recorded.into()));
        }
        events.extend(never_started.iter().filter_map(|id| self.release(worker, *id, now)));
        if self.running_job(worker).next().is_none() {
            self.close(worker);
        }
        events
    }

    pub fn close(&mut self, worker: i64) {
        for (row, open) in self.workers.iter_mut().filter(|(row, _)| row.id == worker) {
            *open = false;
            row.leftover_since = None;
        }
    }

    /// Rebases waits after the clock was set back, and gives their number.
    pub fn rebase_after_clock_step(&mut self, now: Timestamp) -> usize {
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
                && job.delay != Some((job.run_at, None))
            {
                job.run_at = Timestamp(now.0 + job.run_at.0 - job.changed_at.0);
                job.changed_at = now;
                moved += 1;
            }
        }
        moved
    }
}
