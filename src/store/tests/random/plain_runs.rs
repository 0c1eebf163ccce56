//! The plain model of `run`: a worker for one call, whose jobs nobody else starts while it lives.

use std::collections::BTreeSet;

use super::plain::{Job, Plain};
use crate::model::JobState;
use crate::store::{NewJob, OnConflict, Result, RunStart};
use crate::text::Timestamp;

impl Plain {
    pub fn is_run(&self, worker: i64) -> bool {
        self.workers.iter().any(|(row, _)| row.id == worker && row.is_foreground())
    }

    /// The `run` that keeps this job for itself.
    pub fn keeper(&self, job: &Job) -> Option<i64> {
        let lives = |run: &i64| {
            self.workers.iter().any(|(row, open)| row.id == *run && *open && row.leftover_since.is_none())
        };
        job.run.filter(lives)
    }

    pub fn is_kept(&self, job: &Job) -> bool {
        self.keeper(job).is_some()
    }

    /// What a `run` that is called for the one job that is no dependency does. Workers take the jobs of these queues.
    pub fn start_run(
        &mut self,
        run: i64,
        jobs: &[NewJob],
        says_more: bool,
        served: &[&str],
        now: Timestamp,
    ) -> Result<RunStart> {
        let before = self.clone();
        let start = self.find_or_enqueue(run, jobs, says_more, served, now);
        match &start {
            Ok(RunStart::Enqueued(id) | RunStart::TakenOn(id) | RunStart::First(id)) => {
                let (row, _) = self.workers.iter_mut().find(|(row, _)| row.id == run).unwrap();
                row.run_job_id = Some(*id);
                for job in jobs {
                    self.take_on_alerts(run, job, served, now);
                }
            }
            Ok(RunStart::Held(_)) => {}
            Err(_) => *self = before,
        }
        start
    }

    fn find_or_enqueue(
        &mut self,
        run: i64,
        jobs: &[NewJob],
        says_more: bool,
        served: &[&str],
        now: Timestamp,
    ) -> Result<RunStart> {
        let (place, named) = jobs.iter().enumerate().find(|(_, job)| !job.is_dependency).unwrap();
        let is_same_work =
            |job: &&Job| job.run.is_some() && job.is_unfinished() && job.does_the_work_of(named);
        let same: Vec<i64> = self.jobs.values().filter(is_same_work).map(|job| job.id).collect();
        // A call that says more than which work it is does not wait for what is due later.
        let may_come_first = |plain: &Self, id: i64| {
            let job = &plain.jobs[&id];
            let key = named.idempotency_key.as_ref();
            !says_more
                || job.run_at <= now
                || key.is_some_and(|key| job.idempotency_key.as_ref() == Some(key))
        };
        for id in same {
            if self.is_left_to_nobody(id, served, now) && may_come_first(self, id) && !self.is_stuck(id, None)
            {
                self.take_on(id, run, served, now);
                return Ok(RunStart::TakenOn(id));
            }
        }
        if let Some(key) = &named.definition.unique_key
            && let Some(holder) = self.holder(key, now)
        {
            let (id, is_fresh) = (holder.id, holder.state == JobState::Pending && holder.attempts.is_empty());
            let is_replaced = named.on_conflict == OnConflict::Replace && is_fresh;
            let is_refused =
                holder.definition.name == named.definition.name && holder.is_of_other_file(named);
            let is_same_work = holder.does_the_work_of(named);
            if !is_replaced && !is_refused && self.is_left_to_nobody(id, served, now) {
                self.take_on(id, run, served, now);
                return Ok(if is_same_work { RunStart::TakenOn(id) } else { RunStart::First(id) });
            }
        }
        let mut start = None;
        for enqueued in self.enqueue(jobs, now)? {
            let id = enqueued.id;
            let (found, wanted) = (&self.jobs[&id], &jobs[enqueued.index]);
            let key = &found.definition.unique_key;
            let has_its_key = key.is_some() && *key == wanted.definition.unique_key;
            let stands_for_it = found.does_the_work_of(wanted) || has_its_key;
            let may_be_taken = enqueued.index != place || may_come_first(self, id);
            let is_left =
                !enqueued.created && stands_for_it && self.is_left_to_nobody(id, served, now) && may_be_taken;
            if is_left {
                self.take_on(id, run, served, now);
            }
            if enqueued.index == place {
                start = Some(match (enqueued.created, is_left) {
                    (true, _) => RunStart::Enqueued(id),
                    (false, true) => RunStart::TakenOn(id),
                    (false, false) => RunStart::Held(id),
                });
            }
        }
        Ok(start.unwrap())
    }

    /// Takes on the alerts of jobs of runs that did this work, as far as they are left to nobody.
    fn take_on_alerts(&mut self, run: i64, wanted: &NewJob, served: &[&str], now: Timestamp) {
        let names: BTreeSet<String> =
            wanted.definition.alerts().map(|(_, alert)| alert.name.clone()).collect();
        let tells_of = |job: &Job| job.definition.dead_job().and_then(|dead| self.jobs.get(&dead));
        let is_wanted = |job: &&Job| {
            let dead = tells_of(job).filter(|dead| dead.run.is_some() && dead.does_the_work_of(wanted));
            names.contains(&job.definition.name) && job.state == JobState::Pending && dead.is_some()
        };
        let alerts: Vec<i64> = self.jobs.values().filter(is_wanted).map(|job| job.id).collect();
        for alert in alerts {
            if self.is_left_to_nobody(alert, served, now) {
                self.take_on(alert, run, served, now);
            }
        }
    }

    /// Whether this job is unfinished, no living `run` keeps it, and no worker has it or would take it.
    fn is_left_to_nobody(&mut self, id: i64, served: &[&str], now: Timestamp) -> bool {
        self.expire(id, now);
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_unfinished()) else { return false };
        let holder = self.workers.iter().find(|(row, _)| Some(row.id) == job.worker);
        let is_at_work = holder.is_some_and(|(row, _)| row.leftover_since.is_none());
        !is_at_work && !self.is_kept(job) && !served.contains(&job.definition.queue.as_str())
    }

    /// Gives this job to the `run`, and those that it waits for, as far as they are left to nobody.
    fn take_on(&mut self, id: i64, run: i64, served: &[&str], now: Timestamp) {
        let (mut left, mut seen) = (vec![id], BTreeSet::from([id]));
        while let Some(id) = left.pop() {
            let job = self.jobs.get_mut(&id).unwrap();
            job.run = Some(run);
            let job = self.jobs[&id].clone();
            let unmet: Vec<i64> = job
                .after
                .iter()
                .filter(|(before, kind)| !self.is_met(&job, **before, **kind))
                .map(|(before, _)| *before)
                .collect();
            for before in unmet {
                if seen.insert(before) && self.is_left_to_nobody(before, served, now) {
                    left.push(before);
                }
            }
        }
    }
}
