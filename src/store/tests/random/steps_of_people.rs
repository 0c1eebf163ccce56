//! What people do in a history: each step asks the store and the model the same.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::history::History;
use super::plain::Job;
use super::plain_schedules::{MINUTES, Pace, ZONES, scheduled};
use super::{draw, whole};
use crate::model::{Chain, DeadReason, JobDefinition, JobState, Link, Missed, Phase};
use crate::store::{Act, ActResult, Declarations, Due, JobChange, JobRow, LimitChange, NewJob, PruneFilter};
use crate::text::{Millis, Timestamp};

impl History {
    pub fn enqueue(&mut self) {
        let now = self.now;
        let jobs = draw::call(&mut self.rng, &self.definitions, self.plain.last_id.max(1), now);
        self.log(format!("enqueue {jobs:?}"));
        let answer = self.store().0.at(now).add(&jobs);
        let expected = self.plain.enqueue(&jobs, now);
        self.agree(&answer, &expected);
    }

    pub fn cancel(&mut self) {
        let ids = self.some_ids();
        self.act(&ids, Act::Cancel);
    }

    pub fn retry(&mut self) {
        let (ids, force) = (self.some_ids(), self.rng.random_bool(0.3));
        self.act(&ids, Act::Retry { force });
    }

    pub fn replace_ended(&mut self) {
        let (ids, force) = (self.some_ids(), self.rng.random_bool(0.3));
        let jobs = self.replacements(&ids);
        self.act(&ids, Act::ReplaceEnded { jobs: &jobs, force });
    }

    /// Dead letters, and now and then others that somebody has put back or resolved meanwhile.
    pub fn act_on_latest(&mut self) {
        let (now, force) = (self.now, self.rng.random_bool(0.3));
        let is_dead = |job: &Job| job.state == JobState::Dead && job.resolved_at.is_none();
        let ids = self.plain.jobs.values().filter(|job| is_dead(job)).map(|job| job.id);
        let mut ids: BTreeSet<i64> = ids.collect();
        ids.retain(|_| self.rng.random_bool(0.5));
        if self.rng.random_bool(0.3) {
            ids.extend(self.some_ids());
        }
        let some: Vec<i64> = ids.iter().copied().collect();
        let jobs = self.replacements(&some);
        let redefine = self.rng.random_bool(0.3);
        let act = if redefine { Act::ReplaceEnded { jobs: &jobs, force } } else { Act::Retry { force } };
        self.log(format!("latest of {some:?}: {act:?}"));
        let answer = self.store().0.at(now).act_on_latest(&some, act).unwrap();
        let expected = self.plain.act_on_latest(&ids, act, now);
        let expected: Vec<_> = expected.into_iter().map(|(id, outcome)| ActResult { id, outcome }).collect();
        self.agree(&answer, &expected);
    }

    fn replacements(&mut self, ids: &[i64]) -> BTreeMap<i64, NewJob> {
        let now = self.now;
        let mut jobs = BTreeMap::new();
        for id in ids {
            let old = self.plain.jobs.get(id).filter(|_| self.rng.random_bool(0.9));
            let new = old.map(|old| NewJob {
                args: old.args.clone(),
                stdin: None,
                idempotency_key: old.idempotency_key.clone(),
                label: old.label.clone(),
                scheduled: old.scheduled,
                due: Due::At(now),
                ..draw::new_job(&mut self.rng, &self.definitions, now)
            });
            jobs.extend(new.map(|new| (*id, new)));
        }
        jobs
    }

    pub fn resolve(&mut self) {
        let ids = self.some_ids();
        let note = ["dealt with", "no matter"].choose(&mut self.rng).copied();
        let note = note.filter(|_| self.rng.random_bool(0.5));
        self.act(&ids, Act::Resolve { note });
    }

    pub fn change(&mut self) {
        let ids = self.some_ids();
        let now = self.now;
        let rng = &mut self.rng;
        let change = JobChange {
            due: rng.random_bool(0.7).then(|| match draw::due(rng, now) {
                // Most are near, so that they come.
                Due::At(at) if at.0 > now.0 + 600 => Due::At(Timestamp(now.0 + 600)),
                due => due,
            }),
            priority: rng.random_bool(0.3).then(|| rng.random_range(-3..3)),
            queue: draw::QUEUES.choose(rng).filter(|_| rng.random_bool(0.3)).map(|queue| (*queue).to_owned()),
        };
        self.act(&ids, Act::Change(&change));
    }

    pub fn replace_pending(&mut self) {
        let ids = self.some_ids();
        let jobs = self.replacements(&ids);
        self.act(&ids, Act::ReplacePending { jobs: &jobs });
    }

    fn act(&mut self, ids: &[i64], act: Act) {
        let now = self.now;
        self.log(format!("{act:?} {ids:?}"));
        let answer = self.store().0.at(now).act(ids, act).unwrap();
        let expected = |id: &i64| ActResult { id: *id, outcome: self.plain.act(*id, act, now) };
        let expected: Vec<_> = ids.iter().map(expected).collect();
        self.agree(&answer, &expected);
    }

    pub fn pause(&mut self) {
        let queue = *draw::QUEUES.choose(&mut self.rng).unwrap();
        let (now, pause) = (self.now, draw::pause(&mut self.rng, self.now));
        self.log(format!("pause of queue {queue}: {pause:?}"));
        let answer = self.store().0.at(now).pause_queue(queue, pause).unwrap();
        let expected = self.plain.pause(queue, pause, now);
        self.agree(&answer, &expected);
    }

    pub fn pause_all(&mut self) {
        let (now, pause) = (self.now, draw::pause(&mut self.rng, self.now));
        self.log(format!("pause of everything: {pause:?}"));
        let answer = self.store().0.at(now).pause_all(pause).unwrap();
        let expected = self.plain.pause_all(pause, now);
        self.agree(&answer, &expected);
    }

    pub fn limit(&mut self) {
        let queue = *draw::QUEUES.choose(&mut self.rng).unwrap();
        let limits = draw::limits(&mut self.rng);
        let change = if self.rng.random_bool(0.3) { LimitChange::Lift } else { LimitChange::Set(limits) };
        self.log(format!("limit {queue}: {change:?}"));
        self.store().0.change_limits(queue, change).unwrap();
        self.plain.limit(queue, change);
    }

    /// One of two job files is applied; one name may stand in both.
    pub fn apply(&mut self) {
        // Often no worker has looked for a while.
        self.now.0 += *[0, 70_000, 200_000, 9_000_000].choose(&mut self.rng).unwrap();
        let now = self.now;
        let (file, names) = *[("/one", ["s1", "s2"]), ("/two", ["s2", "s3"])].choose(&mut self.rng).unwrap();
        let mut wanted = Vec::new();
        for name in names {
            let every = [1_000, 7_000, 40_000, 3_600_000].map(|span| Some(Pace::Every(Millis(span))));
            let paces = [&every[..], &MINUTES.map(Some), &[None]].concat();
            let (pace, definition) =
                (*paces.choose(&mut self.rng).unwrap(), self.definitions.choose(&mut self.rng).unwrap());
            let unique_key = self.rng.random_bool(0.5).then(|| name.to_owned());
            let definition = JobDefinition { name: name.to_owned(), unique_key, ..definition.clone() };
            let missed = *[Missed::Once, Missed::All, Missed::Skip].choose(&mut self.rng).unwrap();
            let within = [30_000, 100_000, 1_000_000].map(Millis);
            let missed_within = within.choose(&mut self.rng).copied().filter(|_| self.rng.random_bool(0.4));
            if self.rng.random_bool(0.6) {
                let number = self.rng.random_range(0..=2);
                let before: Vec<_> = self.definitions.sample(&mut self.rng, number).cloned().collect();
                let mut dependencies: Vec<Link> = before
                    .into_iter()
                    .map(|definition| Link {
                        own_schedule: draw::own_schedule(&mut self.rng),
                        ..Link::new(definition)
                    })
                    .collect();
                // Now and then the other job of the file, which has a schedule, too.
                let other = names.iter().find(|other| **other != name);
                if let Some(other) = other.filter(|_| self.rng.random_bool(0.5)) {
                    let definition = self.definitions.choose(&mut self.rng).unwrap().clone();
                    let other = JobDefinition { name: (*other).to_owned(), ..definition };
                    let after = (0..dependencies.len()).filter(|_| self.rng.random_bool(0.5)).collect();
                    let own_schedule = draw::own_schedule(&mut self.rng);
                    dependencies.push(Link { after, own_schedule, ..Link::new(other) });
                }
                let (after, after_any) = (0..dependencies.len()).partition(|_| self.rng.random_bool(0.6));
                let root = Link { after, after_any, ..Link::new(definition) };
                let (zone, _) = *ZONES.choose(&mut self.rng).unwrap();
                let is_named = self.rng.random_bool(0.5);
                wanted.push(scheduled(
                    Chain { dependencies, root },
                    pace,
                    missed,
                    missed_within,
                    zone,
                    is_named,
                ));
            }
        }
        let number = self.rng.random_range(0..=2);
        let names: Vec<_> = draw::QUEUES.sample(&mut self.rng, number).collect();
        let queues =
            names.into_iter().map(|name| ((*name).to_owned(), draw::limits(&mut self.rng))).collect();
        let all = ["/one", "/two"].map(str::to_owned);
        let take_over = if self.rng.random_bool(0.2) { &all[..] } else { &[] };
        let boot_id = &self.boot_id.clone();
        let declared = Declarations { file, schedules: &wanted, boot_id, queues: &queues, take_over };
        self.log(format!("apply {declared:?}"));
        let preview = self.store().0.at(now).rehearse(|store| store.apply(declared)).unwrap();
        let answer = self.store().0.at(now).apply(declared);
        let expected = self.plain.apply(declared, now);
        self.agree(&(preview, answer), &(&expected, &expected));
    }

    pub fn pause_schedule(&mut self) {
        let (now, pause) = (self.now, draw::pause(&mut self.rng, self.now));
        let name = *["s1", "s2", "s3"].choose(&mut self.rng).unwrap();
        self.log(format!("pause of schedule {name}: {pause:?}"));
        let boot_id = self.boot_id.clone();
        let answer = self.store().0.at(now).pause_schedule(name, pause, &boot_id).unwrap();
        let expected = self.plain.pause_schedule(name, pause, &boot_id, now);
        self.agree(&answer, &expected);
    }

    /// A person looks at one job, and an expiry that was due is recorded.
    pub fn look_at_one(&mut self) {
        let now = self.now;
        let Some(&id) = self.some_ids().first() else { return };
        self.log(format!("a look at {id}"));
        let store = &mut self.store().0;
        store.at(now).record_expiry(id).unwrap();
        let last = store.history(id, 1).unwrap().pop();
        let number = last.as_ref().map_or(1, |attempt| attempt.number);
        let mut job = store.job(id, now).unwrap();
        let is_stuck = job.as_ref().is_some_and(JobRow::is_stuck);
        if let Some(job) = &mut job {
            if job.dead_reason != Some(DeadReason::Expired) {
                assert_eq!(!job.waits_for.is_empty(), job.phase == Some(Phase::Blocked));
            }
            job.waits_for.clear();
        }
        let answer = (job, store.attempt(id, number).unwrap(), last, is_stuck);
        let _ = self.plain.at(id, now);
        let job = self.plain.jobs.get(&id);
        let last = job.and_then(|job| job.attempts.last().cloned());
        let is_stuck = self.plain.is_stuck(id, Some(now));
        let shown = job.map(|job| {
            let keeper = self.plain.keeper(job).filter(|_| job.is_unfinished());
            JobRow { run_worker_id: keeper, ..whole::shown(&self.plain, job, now) }
        });
        let expected = (shown, last.clone(), last, is_stuck);
        self.agree(&answer, &expected);
    }

    /// A person deletes a job, where an unfinished one stays; or removes what finished long ago.
    pub fn prune(&mut self) {
        if self.rng.random_bool(0.3) {
            return self.prune_many();
        }
        let Some(&id) = self.some_ids().first() else { return };
        self.log(format!("delete {id}"));
        let result = self.store().0.connection.execute("DELETE FROM jobs WHERE id = ?1", [id]);
        let stays =
            self.plain.jobs.get(&id).is_some_and(|job| job.is_unfinished() || self.plain.is_needed(id));
        assert_eq!(result.is_err(), stays, "{result:?}");
        if !stays {
            self.plain.remove(id);
        }
    }

    /// A person removes a job that others wait for, in spite of the triggers.
    pub fn remove_by_hand(&mut self) {
        let is_awaited = |job: &&Job| job.state == JobState::Pending && self.plain.is_needed(job.id);
        let awaited: Vec<i64> = self.plain.jobs.values().filter(is_awaited).map(|job| job.id).collect();
        let Some(&id) = awaited.choose(&mut self.rng) else { return };
        self.log(format!("remove {id} by hand"));
        let connection = &self.store().0.connection;
        let sql = "SELECT group_concat(sql, ';') FROM sqlite_schema
                   WHERE name IN ('jobs_are_finished_before_they_go', 'jobs_stay_while_others_wait')";
        let triggers: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        let removal = format!(
            "BEGIN IMMEDIATE; DROP TRIGGER jobs_are_finished_before_they_go; DROP TRIGGER jobs_stay_while_others_wait;
             DELETE FROM jobs WHERE id = {id}; {triggers}; COMMIT"
        );
        connection.execute_batch(&removal).unwrap();
        self.plain.remove(id);
    }

    fn prune_many(&mut self) {
        let now = self.now;
        let all = [JobState::Succeeded, JobState::Dead, JobState::Cancelled];
        let number = self.rng.random_range(1..=3);
        let filter = PruneFilter {
            states: all.sample(&mut self.rng, number).copied().collect(),
            name: draw::NAMES
                .choose(&mut self.rng)
                .filter(|_| self.rng.random_bool(0.3))
                .map(|&name| name.into()),
            queue: draw::QUEUES
                .choose(&mut self.rng)
                .filter(|_| self.rng.random_bool(0.3))
                .map(|&name| name.into()),
            until: Timestamp(now.0 - self.rng.random_range(0..20_000)),
        };
        self.log(format!("prune {filter:?}"));
        let counted = self.store().0.count_prunable(&filter).unwrap();
        let answer = self.store().0.at(now).prune(&filter, &mut |_| true).unwrap();
        let expected = self.plain.prune(&filter, now);
        self.agree(&(counted, answer), &(expected, expected));
    }
}
