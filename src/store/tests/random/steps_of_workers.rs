//! What workers do in a history: each step asks the store and the model the same.

use std::thread;

use rand::RngExt;
use rand::seq::{IndexedMutRandom, IndexedRandom, SliceRandom};

use super::draw;
use super::history::History;
use crate::model::Event;
use crate::store::{Due, EndedAttempt, LiveOutput, Others, RunStart, Takes, TurnRequest};
use crate::text::Timestamp;

/// As many `run`s live at once.
const MOST_RUNS: usize = 3;

impl History {
    /// A `run` begins, while workers take the jobs of some queues.
    pub fn start_run(&mut self) {
        let now = self.now;
        let living = self.alive.iter().copied().filter(|worker| self.plain.is_run(*worker));
        let living: Vec<i64> = living.collect();
        if living.len() == MOST_RUNS {
            let one = *living.choose(&mut self.rng).unwrap();
            self.die_or_stop(one);
        }
        let run = self.register(Some(Vec::new()));
        let mut jobs = draw::call(&mut self.rng, &self.definitions, self.plain.last_id.max(1), now);
        let named = jobs.len() - 1;
        for (index, job) in jobs.iter_mut().enumerate() {
            job.is_dependency = index < named;
            job.run_worker_id = Some(run);
            job.due = Due::Now;
        }
        let number = self.rng.random_range(0..=2);
        let served: Vec<&str> = draw::QUEUES.sample(&mut self.rng, number).copied().collect();
        self.log(format!("run {run} begins where workers take {served:?}: {jobs:?}"));

        let says_more = self.rng.random_bool(0.3);
        let would_start = |queue: &str, _| served.contains(&queue);
        let answer = self.store().0.at(now).start_run(
            run,
            &jobs,
            says_more,
            Others { would_start: &would_start, is_dead: &|_| false },
        );
        if let Ok(start) = answer {
            self.kinds.insert(match start {
                RunStart::Enqueued(_) => "run, enqueued",
                RunStart::TakenOn(_) => "run, taken on",
                RunStart::First(_) => "run, the holder of its key first",
                RunStart::Held(_) => "run, held",
            });
        }
        let expected = self.plain.start_run(run, &jobs, says_more, &served, now);
        self.agree(&answer, &expected);
    }

    pub fn turn(&mut self) {
        let now = self.now;
        let worker = *self.alive.choose(&mut self.rng).unwrap();
        let mut held: Vec<_> = self.plain.held_claims(worker);
        held.shuffle(&mut self.rng);
        let (mut ended, mut release) = (Vec::new(), Vec::new());
        for claim in held {
            match self.rng.random_range(0..10) {
                0 if !self.started.contains(&(claim.job_id, claim.number)) => release.push(claim.job_id),
                0..6 => ended.push(draw::ended(&mut self.rng, claim.job_id, claim.number, now)),
                _ => {}
            }
        }
        if self.rng.random_bool(0.1) {
            ended.extend(ended.first().cloned());
        }
        // A claim of another worker is not this one's to give back.
        release.extend(self.some_ids().into_iter().filter(|id| {
            self.plain.jobs.get(id).is_some_and(|job| job.worker.is_some_and(|holder| holder != worker))
        }));
        let queues: Option<Vec<String>> = self.rng.random_bool(0.3).then(|| {
            // Now and then the same one twice.
            let number = self.rng.random_range(0..=3);
            (0..number).map(|_| (*draw::QUEUES.choose(&mut self.rng).unwrap()).to_owned()).collect()
        });
        let idle_slots = self.rng.random_range(0..=5);
        let claims_no_more = self.rng.random_bool(0.1);
        let idle_slots = if claims_no_more { 0 } else { idle_slots };
        let request = TurnRequest {
            takes: if self.plain.is_run(worker) { Takes::OwnJobs } else { Takes::Queues(queues.as_deref()) },
            ended: &ended,
            release: &release,
            idle_slots,
            claims_no_more,
            ..TurnRequest::of(worker)
        };
        self.log(format!("turn {request:?}"));
        let (store, definitions) = self.store();
        let mut answer = store.at(now).turn(definitions, &request).unwrap();
        answer.cancels.sort_unstable();
        let expected = self.plain.turn(&request, now);
        self.agree(&answer, &expected);
        for claim in &answer.claims {
            assert!(self.plain.jobs[&claim.job_id].run_at <= now, "claimed before it was due");
        }
        self.told.extend(ended.into_iter().map(|ended| (worker, ended)));
    }

    /// Tells an end that must be refused: told before, of another attempt, or by another worker.
    pub fn stale(&mut self) {
        let now = self.now;
        let anyone = self.plain.workers.choose(&mut self.rng).unwrap().0.id;
        let (worker, ended) = if self.rng.random_bool(0.5) && !self.told.is_empty() {
            self.told.choose(&mut self.rng).unwrap().clone()
        } else {
            let running: Vec<_> = self.plain.jobs.values().filter(|job| job.worker.is_some()).collect();
            let Some(job) = running.choose(&mut self.rng) else { return };
            let number = job.next_number();
            let number = if job.worker == Some(anyone) { number + 1 } else { number };
            (anyone, draw::ended(&mut self.rng, job.id, number, now))
        };
        self.log(format!("stale finish by worker {worker}: {ended:?}"));
        let ended = [ended];
        let request = TurnRequest {
            takes: if self.plain.is_run(worker) { Takes::OwnJobs } else { Takes::Queues(None) },
            ended: &ended,
            ..TurnRequest::of(worker)
        };
        let (store, definitions) = self.store();
        let answer = store.at(now).turn(definitions, &request).unwrap().events;
        let expected = self.plain.turn(&request, now).events;
        self.agree(&answer, &expected);
        assert!(matches!(answer[..], [Event::AttemptLost(_), ..]), "{answer:?}");
    }

    /// A worker starts, perhaps after the machine has booted.
    pub fn boot(&mut self) {
        let now = self.now;
        if self.rng.random_bool(0.7) {
            self.boot_id.push('+');
        }
        let boot_id = self.boot_id.clone();
        self.log(format!("a worker starts in boot {boot_id}"));
        let answer = self.store().0.at(now).fire_at_boot(&boot_id).unwrap();
        let expected = self.plain.fire_at_boot(&boot_id, now);
        self.agree(&answer, &expected);
    }

    /// A worker starts, or sees that the clock was set back.
    pub fn rebase_after_clock_step(&mut self) {
        let now = self.now;
        self.log("waits that begin in the future begin now");
        let answer = self.store().0.at(now).rebase_after_clock_step().unwrap();
        let expected = self.plain.rebase_after_clock_step(now);
        self.agree(&answer, &expected);
        self.log("schedules whose next times lie too far ahead get nearer ones");
        let answer = self.store().0.at(now).bring_far_times_nearer().unwrap();
        let expected = self.plain.bring_far_times_nearer(now);
        self.agree(&answer, &expected);
    }

    /// A worker dies; or it stops, where it runs nothing.
    pub fn die(&mut self) {
        let worker = *self.alive.choose(&mut self.rng).unwrap();
        self.die_or_stop(worker);
    }

    fn die_or_stop(&mut self, worker: i64) {
        let now = self.now;
        self.alive.retain(|alive| *alive != worker);
        if self.plain.running_job(worker).next().is_none() && self.rng.random_bool(0.5) {
            self.log(format!("worker {worker} stops"));
            self.store().0.at(now).worker_ended(worker).unwrap();
            self.plain.close(worker);
        } else {
            self.log(format!("worker {worker} dies"));
            self.dead.push(worker);
        }
    }

    /// A recoverer cannot end what is left of a dead worker.
    pub fn find_leftover(&mut self) {
        let now = self.now;
        let Some(worker) = self.dead.choose(&mut self.rng).copied() else { return };
        self.log(format!("worker {worker} has left processes that cannot be ended"));
        self.store().0.at(now).leftover_found(worker).unwrap();
        let (row, _) = self.plain.workers.iter_mut().find(|(row, _)| row.id == worker).unwrap();
        row.leftover_since.get_or_insert(now);
    }

    /// Two recoverers deal with the same dead worker at once; either may be first. Some attempts may have to wait.
    pub fn recover(&mut self) {
        let now = self.now;
        let closed: Vec<_> =
            self.plain.workers.iter().filter(|(_, open)| !open).map(|(row, _)| row.id).collect();
        // Now and then one that was recovered, or stopped, long ago.
        let old = closed.choose(&mut self.rng).filter(|_| self.rng.random_bool(0.2));
        let Some(worker) = old.or(self.dead.choose(&mut self.rng)).copied() else { return };
        let held = self.store().0.held_by(worker).unwrap();
        let expected = self.plain.held_claims(worker);
        self.agree(&held, &expected);
        let (mut lost, mut other_lost, mut never_started) = (Vec::new(), Vec::new(), Vec::new());
        for claim in held {
            let (id, number) = (claim.job_id, claim.number);
            match self.rng.random_range(0..10) {
                0 => {}
                1..4 if !self.started.contains(&(id, number)) => never_started.push(id),
                _ => {
                    lost.push(draw::lost(&mut self.rng, id, number, now));
                    other_lost.push(draw::lost(&mut self.rng, id, number, now));
                }
            }
        }
        self.log(format!(
            "two recover worker {worker}: {lost:?} or {other_lost:?}, never started: {never_started:?}"
        ));
        let tellings = [lost, other_lost];
        let answers = self.both_recover(worker, &tellings, &never_started, now);
        // The second recoverer changes nothing.
        let first = usize::from(answers[0].is_empty());
        for who in [first, 1 - first] {
            let expected = self.plain.recover(worker, &tellings[who], &never_started, now);
            self.agree(&answers[who], &expected);
        }
        if self.plain.running_job(worker).next().is_none() {
            self.dead.retain(|dead| *dead != worker);
        }
        let [lost, _] = tellings;
        self.told.extend(lost.into_iter().map(|ended| (worker, ended)));
    }

    fn both_recover(
        &mut self,
        worker: i64,
        tellings: &[Vec<EndedAttempt>; 2],
        never_started: &[i64],
        now: Timestamp,
    ) -> Vec<Vec<Event>> {
        thread::scope(|scope| {
            let recoverers: Vec<_> = self
                .stores
                .iter_mut()
                .zip(tellings)
                .map(|((store, definitions), lost)| {
                    scope.spawn(move || {
                        store.at(now).recover(definitions, worker, lost, never_started).unwrap()
                    })
                })
                .collect();
            recoverers.into_iter().map(|recoverer| recoverer.join().unwrap()).collect()
        })
    }

    /// A running attempt writes; so does one that is over, or another worker's.
    pub fn save_live(&mut self) {
        let mut running: Vec<_> = self.plain.jobs.values_mut().filter(|job| job.worker.is_some()).collect();
        let Some(job) = running.choose_mut(&mut self.rng) else { return };
        let anyone = *self.alive.choose(&mut self.rng).unwrap();
        let worker = job.worker.filter(|_| self.rng.random_bool(0.7)).unwrap_or(anyone);
        let (id, number) = (job.id, job.next_number() - u32::from(self.rng.random_bool(0.3)));
        let output = draw::output(&mut self.rng);
        let started_at = self.now;
        if job.worker == Some(worker) && number == job.next_number() {
            job.live = Some((number, started_at, output.clone()));
            self.started.insert((id, number));
        }
        self.log(format!("worker {worker} saves output of {id}.{number}: {output:?}"));
        let live = LiveOutput { job_id: id, number, started_at, output };
        self.store().0.save_live_outputs(worker, &[live]).unwrap();
    }
}
