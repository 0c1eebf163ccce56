//! The plain model at work: claims, ends, deaths of workers.

use std::rc::Rc;

use super::plain::{Job, Plain};
use crate::model::{Attempt, Circumstances, Decision, JobSpec, JobState, Outcome, classify, decide};
use crate::store::finish::INTERRUPTED_EXPIRY;
use crate::store::{
    Backlog, Claim, DroppedJob, Ended, HeldClaim, Hold, Output, Recorded, Recovered, Turn, TurnRequest,
    Waiting,
};
use crate::text::Timestamp;

impl Plain {
    pub fn turn(&mut self, request: &TurnRequest, now: Timestamp) -> Turn {
        let is_full = |plain: &Self, queue: &str| matches!(plain.hold(queue, now), Some(Hold::Full(_)));
        let full: Vec<String> = self
            .limits
            .keys()
            .filter(|queue| !request.ended.is_empty() && is_full(self, queue))
            .cloned()
            .collect();
        let recorded = request.ended.iter().map(|ended| self.finish(request.worker, ended)).collect();
        let given = request.give_back.iter();
        let cancelled = given.filter_map(|id| self.give_back(request.worker, *id, now)).collect();
        let fired = self.fire_due(now);
        let expired = self.expire_due(now, now);
        let expired = expired.iter().map(|id| &self.jobs[id]).map(|job| DroppedJob {
            id: job.id,
            name: job.spec.name.clone(),
            attempts: job.next_number() - 1,
            queue: job.spec.queue.clone(),
        });
        let expired = expired.collect();
        Turn {
            recorded,
            cancelled,
            fired,
            expired,
            claims: self.claim(request, now),
            backlog: self.backlog(request.queues, &full, now),
            cancels: self
                .held(request.worker)
                .filter(|job| job.cancel_requested_at.is_some())
                .map(|j| j.id)
                .collect(),
        }
    }

    /// The jobs that this worker runs.
    pub fn held(&self, worker: i64) -> impl Iterator<Item = &Job> {
        self.jobs.values().filter(move |job| job.worker == Some(worker))
    }

    pub fn held_claims(&self, worker: i64) -> Vec<HeldClaim> {
        let claim =
            |job: &Job| HeldClaim { job_id: job.id, number: job.next_number(), claimed_at: job.changed_at };
        self.held(worker).map(claim).collect()
    }

    fn is_open(&self, job: &Job, selected: Option<&[String]>) -> bool {
        !self.paused.contains(&job.spec.queue) && selected.is_none_or(|names| names.contains(&job.spec.queue))
    }

    fn claim(&mut self, request: &TurnRequest, now: Timestamp) -> Vec<Claim> {
        let mut due: Vec<&Job> = self
            .jobs
            .values()
            .filter(|job| job.state == JobState::Pending && job.run_at <= now && !job.has_expired(now))
            .filter(|job| self.is_open(job, request.queues) && !self.is_blocked(job))
            .collect();
        due.sort_by_key(|job| (-job.spec.priority, job.run_at, job.id));
        let due: Vec<(i64, String)> = due.into_iter().map(|job| (job.id, job.spec.queue.clone())).collect();
        let mut claims = Vec::new();
        for (id, queue) in due {
            if claims.len() < request.idle_slots && self.hold(&queue, now).is_none() {
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
        let job = self.jobs.get_mut(&id).unwrap();
        job.state = JobState::Running;
        job.worker = Some(worker);
        job.changed_at = now;
        let last = job.attempts.last();
        Claim {
            scheduled: job.scheduled,
            job_id: id,
            number: job.next_number(),
            budget_number: job.budget_used + 1,
            // What a job keeps in its own row is not part of its definition.
            spec: JobSpec { queue: String::new(), priority: 0, unique_key: None, ..(*job.spec).clone() }
                .into(),
            queue: job.spec.queue.clone(),
            expires_at: job.expires_at,
            args: job.args.clone(),
            stdin: job.stdin.clone(),
            last_error_code: last.and_then(|attempt| attempt.error_code.clone()),
            last_worker: last.map(|attempt| attempt.worker_id.clone()),
        }
    }

    fn backlog(&self, selected: Option<&[String]>, full: &[String], now: Timestamp) -> Backlog {
        let pending = || self.jobs.values().filter(|job| job.state == JobState::Pending);
        let open = || pending().filter(|job| self.is_open(job, selected) && !self.is_blocked(job));
        let later = open().map(|job| job.run_at).filter(|at| *at > now);
        let running = self.schedules.values().filter(|schedule| !schedule.row.paused);
        let next_times = running.filter_map(|schedule| schedule.row.next_at);
        let due = || open().filter(|job| job.run_at <= now);
        let paced = due().filter_map(|job| match self.hold(&job.spec.queue, now) {
            Some(Hold::Paced(_, next)) => Some(next),
            _ => None,
        });
        let has_place = |job: &&Job| !matches!(self.hold(&job.spec.queue, now), Some(Hold::Full(_)));
        Backlog {
            running: self
                .jobs
                .values()
                .any(|job| job.state == JobState::Running && self.is_open(job, selected)),
            place_freed: due().filter(has_place).any(|job| full.contains(&job.spec.queue)),
            waiting: match due().next() {
                Some(_) if due().any(|job| self.hold(&job.spec.queue, now).is_none()) => Waiting::Startable,
                Some(_) => Waiting::HeldBack,
                None if open().next().is_some() => Waiting::Later,
                None => Waiting::Nothing,
            },
            next_due: later
                .chain(paced)
                .chain(next_times)
                .chain(pending().filter_map(|job| job.expires_at))
                .min(),
        }
    }

    /// Nothing but the very attempt that this very worker runs can be finished.
    pub fn finish(&mut self, worker: i64, ended: &Ended) -> Recorded {
        let worker_name =
            self.workers.iter().find(|(row, _)| row.id == worker).map(|(row, _)| row.name.clone());
        let late = Recorded::Late { job_id: ended.job_id, number: ended.number };
        let Some(job) = self.jobs.get_mut(&ended.job_id) else {
            return late;
        };
        if job.worker != Some(worker) || job.next_number() != ended.number {
            return late;
        }
        let verdict = classify(&job.spec.exit, ended.exit, ended.report.error_code.as_ref());
        let n = job.budget_used + 1;
        let at = Circumstances {
            budget_number: n,
            cancel_requested: job.cancel_requested_at.is_some(),
            expires_at: job.expires_at,
            finished_at: ended.finished_at,
            roll: ended.roll,
        };
        let decision = decide(&job.spec.policy, &verdict, &ended.report, at);
        let said: Vec<String> =
            ended.report.message.iter().chain(&ended.message).chain(&ended.report.notes).cloned().collect();
        let mut attempt = Attempt {
            job_id: job.id,
            number: ended.number,
            outcome: verdict.outcome,
            error_code: verdict.code,
            status: ended.exit.status,
            message: (!said.is_empty()).then(|| said.join("; ")),
            worker_id: worker_name.unwrap(),
            started_at: ended.started_at,
            finished_at: ended.finished_at,
            duration: ended.duration,
            budget_number: n,
            next_state: decision.state(),
            dead_reason: decision.dead_reason(),
            nominal_delay: None,
            delay: None,
            leaked: ended.leaked,
            spawn_failure: ended.spawn_failure,
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
        job.worker = None;
        job.changed_at = ended.finished_at;
        job.started_at = job.started_at.or(ended.started_at);
        job.budget_used += u32::from(verdict.outcome != Outcome::Interrupted);
        job.result = ended.report.result.clone().or(job.result.take());
        let live = job.live.take().filter(|(number, _)| *number == ended.number).map(|(_, output)| output);
        let wrote = |output: &Output| {
            [&output.stdout, &output.stderr]
                .iter()
                .any(|stream| !stream.bytes.is_empty() || stream.omitted > 0)
        };
        let kept = ended.output.clone().map_or(live, |output| wrote(&output).then_some(output));
        job.outputs.extend(kept.map(|output| (ended.number, output)));
        Rc::make_mut(&mut job.attempts).push(attempt.clone());
        let (name, queue, runs) = (job.spec.name.clone(), job.spec.queue.clone(), job.spec.policy.runs());
        let id = job.id;
        let succeeded = job.state == JobState::Succeeded;
        if job.state == JobState::Dead {
            self.call_alert(id, ended.finished_at);
        }
        let goes_on =
            succeeded && self.jobs.values().any(|job| job.after.contains(&id) && self.waiting_for(job) == 0);
        Recorded::Written { attempt: Box::new(attempt), name, queue, runs, goes_on }
    }

    fn give_back(&mut self, worker: i64, id: i64, now: Timestamp) -> Option<DroppedJob> {
        let job = self.jobs.get_mut(&id).filter(|job| job.worker == Some(worker))?;
        job.state = if job.cancel_requested_at.is_some() { JobState::Cancelled } else { JobState::Pending };
        job.worker = None;
        job.run_at = job.run_at.min(now);
        job.changed_at = if job.state == JobState::Cancelled { now } else { job.run_at };
        let (name, attempts) = (job.spec.name.clone(), job.next_number() - 1);
        let queue = job.spec.queue.clone();
        (job.state == JobState::Cancelled).then_some(DroppedJob { id, name, attempts, queue })
    }

    pub fn recover(
        &mut self,
        worker: i64,
        lost: &[Ended],
        never_started: &[i64],
        now: Timestamp,
    ) -> Recovered {
        let recorded = lost.iter().map(|ended| self.finish(worker, ended)).collect();
        let cancelled = never_started.iter().filter_map(|id| self.give_back(worker, *id, now)).collect();
        if self.held(worker).next().is_none() {
            self.close(worker);
        }
        Recovered { recorded, cancelled }
    }

    pub fn close(&mut self, worker: i64) {
        for (_, open) in self.workers.iter_mut().filter(|(row, _)| row.id == worker) {
            *open = false;
        }
    }
}
