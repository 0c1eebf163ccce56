//! What needs attention, beside a plain computation over all jobs of small random databases. In tests the caps are so low that
//! they bite: none may hide an alarm.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rusqlite::params;

use super::fixture::{Scene, definition, new_job};
use crate::model::AttentionKind;
use crate::store::problem::{AttentionEntry, Dead, Problem};
use crate::store::{Filter, Surroundings};
use crate::text::Timestamp;

const NOW: i64 = 1_000;

/// A job, as far as attention is concerned.
#[derive(Debug, Clone)]
struct Plain {
    id: i64,
    name: &'static str,
    label: Option<&'static str>,
    queue: &'static str,
    state: &'static str,
    code: &'static str,
    resolved: bool,
    changed_at: i64,
    started_at: Option<i64>,
    expires_at: Option<i64>,
    task: Option<i64>,
    after: Vec<i64>,
}

impl Plain {
    fn draw(id: i64, rng: &mut SmallRng) -> Self {
        let name = *["a", "b", "c"].choose(rng).unwrap();
        let label = *[None, None, Some("x"), Some("y")].choose(rng).unwrap();
        let state =
            *["dead", "dead", "dead", "succeeded", "cancelled", "pending", "pending"].choose(rng).unwrap();
        // Few tasks, so that many do the same; a label tells them apart.
        let arguments = rng.random_range(0..3);
        let is_repeated = label.is_some() || arguments == 0;
        let task = format!("{name} {label:?} {arguments}")
            .bytes()
            .fold(7, |sum, byte| (sum * 31 + i64::from(byte)) % 1_000_003);
        let after = if state == "pending" && rng.random_bool(0.6) {
            (0..rng.random_range(1..3))
                .map(|_| rng.random_range(1..=id))
                .filter(|other| *other < id)
                .collect()
        } else {
            Vec::new()
        };
        let changed_at = rng.random_range(1..NOW / 2);
        Self {
            id,
            name,
            label,
            queue: ["p", "q"].choose(rng).unwrap(),
            state,
            code: ["EXIT_1", "EXIT_2"].choose(rng).unwrap(),
            resolved: state == "dead" && rng.random_bool(0.2),
            changed_at,
            // A clock may have been set back since.
            started_at: rng.random_bool(0.8).then(|| rng.random_range(1..=changed_at + 20)),
            expires_at: (state == "pending" && rng.random_bool(0.3))
                .then(|| rng.random_range(NOW / 2..2 * NOW)),
            task: is_repeated.then_some(task),
            after,
        }
    }

    fn has_expired(&self) -> bool {
        self.state == "pending" && self.expires_at.is_some_and(|at| at <= NOW)
    }

    fn died_at(&self) -> Option<i64> {
        match self.state {
            "dead" if !self.resolved => Some(self.changed_at),
            _ if self.has_expired() => self.expires_at.max(Some(self.changed_at)),
            _ => None,
        }
    }

    fn is_wanted(&self, filter: &Filter) -> bool {
        filter.name.as_ref().is_none_or(|name| name == self.name)
            && filter.queue.as_ref().is_none_or(|queue| queue == self.queue)
            && filter.label.as_ref().is_none_or(|label| label == self.label.unwrap_or_default())
    }
}

struct Database(BTreeMap<i64, Plain>);

impl Database {
    fn draw(scene: &mut Scene, rng: &mut SmallRng) -> Self {
        // For the definition, which all jobs share.
        scene.add(new_job(definition("a")), 1);
        let connection = &scene.store.connection;
        connection.execute_batch("DROP TRIGGER jobs_are_finished_before_they_go; DROP TRIGGER jobs_stay_while_others_wait; DELETE FROM jobs").unwrap();
        let first = 10;
        let jobs = (first..first + rng.random_range(0..80)).map(|id| (id, Plain::draw(id, rng)));
        let jobs: BTreeMap<i64, Plain> = jobs.collect();
        let sql = "INSERT INTO jobs (id, definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at, attempts,
                       expires_at, error_code, dead_reason, resolved_at, label, task_hash, unmet_dependencies, started_at)
                   VALUES (?1, 1, ?2, ?3, 0, ?4, 1, 1, ?5, 1, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        for job in jobs.values() {
            let is_dead = job.state == "dead";
            // A dependency that has succeeded is met.
            let is_met = |id: &i64| jobs.get(id).is_some_and(|other| other.state == "succeeded");
            let after: BTreeSet<i64> = job.after.iter().copied().collect();
            let values = params![
                job.id,
                job.name,
                job.queue,
                job.state,
                job.changed_at,
                job.expires_at,
                is_dead.then_some(job.code),
                is_dead.then_some("attempts_exhausted"),
                job.resolved.then_some(NOW),
                job.label,
                job.task,
                after.iter().filter(|id| !is_met(id)).count(),
                job.started_at
            ];
            connection.execute(sql, values).unwrap();
            for other in after {
                let sql = "INSERT INTO dependencies (job_id, dependency_id, met) VALUES (?1, ?2, ?3)";
                connection.execute(sql, params![job.id, other, is_met(&other)]).unwrap();
            }
        }
        Self(jobs)
    }

    /// The dead letters that the filter selects: those that need attention, or those of which a later run succeeded.
    fn dead(&self, filter: &Filter, has_recovered: bool) -> BTreeSet<i64> {
        let jobs = self.0.values().filter(|job| job.is_wanted(filter));
        let found =
            jobs.filter(|job| job.died_at().is_some_and(|at| self.has_succeeded(job, at) == has_recovered));
        found.map(|job| job.id).collect()
    }

    /// Whether a later job that does the same as this one, which ended then, has succeeded.
    fn has_succeeded(&self, job: &Plain, ended_at: i64) -> bool {
        let does_the_same = |other: &&Plain| other.task.is_some() && other.task == job.task;
        let mut successes = self.0.values().filter(|other| other.state == "succeeded").filter(does_the_same);
        let since = job.started_at.unwrap_or(ended_at);
        successes.any(|other| other.id > job.id && other.changed_at > since)
    }

    /// Whether it is a note and no alarm that jobs are stuck behind this one.
    fn has_root_recovered(&self, root: i64) -> bool {
        self.0.get(&root).is_some_and(|job| self.has_succeeded(job, job.died_at().unwrap_or(job.changed_at)))
    }

    /// The same of roots that one entry is about.
    fn have_recovered(&self, roots: &[i64]) -> bool {
        let each: BTreeSet<bool> = roots.iter().map(|root| self.has_root_recovered(*root)).collect();
        assert_eq!(each.len(), 1, "{roots:?}");
        each.contains(&true)
    }

    /// The jobs that wait for one of these.
    fn behind(&self, roots: &[i64]) -> BTreeSet<i64> {
        let waits = |id: &i64| self.roots(*id).iter().any(|root| roots.contains(root));
        self.0.keys().copied().filter(waits).collect()
    }

    /// What keeps this job from going on, at the ends of its chains; none if it is no waiting job.
    fn roots(&self, id: i64) -> BTreeSet<i64> {
        let Some(job) = self.0.get(&id).filter(|job| job.state == "pending" && !job.has_expired()) else {
            return BTreeSet::new();
        };
        let behind = |other: &i64| match self.0.get(other) {
            Some(job) if job.state == "succeeded" => BTreeSet::new(),
            Some(job) if job.state == "pending" && !job.has_expired() => self.roots(*other),
            _ => BTreeSet::from([*other]),
        };
        job.after.iter().flat_map(behind).collect()
    }

    /// The roots that the filter selects, or of which it selects a job that waits.
    fn all_roots(&self, filter: &Filter) -> BTreeSet<i64> {
        let is_wanted = |id: i64| self.0.get(&id).map_or(is_empty(filter), |job| job.is_wanted(filter));
        let waits = self.0.keys().flat_map(|id| self.roots(*id).into_iter().map(|root| (*id, root)));
        waits.filter(|(id, root)| is_wanted(*id) || is_wanted(*root)).map(|(_, root)| root).collect()
    }
}

impl Database {
    /// Each entry about stuck jobs is one of a name, with all that its jobs keep, and an alarm stays one.
    fn has_stuck_entries(&self, list: &[AttentionEntry], roots: &BTreeSet<i64>, what: &str) {
        let (mut seen, mut named, mut is_any_alarm) = (BTreeSet::new(), BTreeSet::new(), false);
        let mut are_others_left = false;
        for AttentionEntry { problem, alarm, jobs } in list {
            match problem {
                Problem::Stuck(stuck) => {
                    let newest = &stuck.newest_roots;
                    assert!(
                        seen.insert((stuck.name.clone(), stuck.file.clone(), *alarm)),
                        "two entries: {what}"
                    );
                    assert!(
                        newest.is_sorted_by(|a, b| a > b) && stuck.roots == newest.len() as u64,
                        "{what}"
                    );
                    let name = |id: &i64| self.0.get(id).map(|job| job.name.to_owned());
                    assert!(newest.iter().all(|id| roots.contains(id) && name(id) == stuck.name), "{what}");
                    let behind = self.behind(newest);
                    assert_eq!(stuck.count.counted, behind.len() as u64, "{what}");
                    assert!(behind.iter().take(jobs.len()).eq(jobs), "{what}");
                    named.extend(newest);
                    is_any_alarm |= alarm;
                }
                Problem::OtherStuck(_) => {
                    are_others_left = true;
                    is_any_alarm |= alarm;
                }
                _ => {}
            }
        }
        assert!(are_others_left || named == *roots, "{what}");
        assert!(is_any_alarm || roots.iter().all(|root| self.has_root_recovered(*root)), "{what}");
    }
}

fn is_empty(filter: &Filter) -> bool {
    filter.name.is_none() && filter.label.is_none() && filter.queue.is_none()
}

/// The entries of this kind: how many jobs they count, whether they say that there are more, and which jobs they name.
struct Entries {
    jobs: u64,
    is_more: bool,
    named: BTreeSet<i64>,
}

impl Entries {
    fn of(kind: AttentionKind, list: &[AttentionEntry]) -> Self {
        let (mut jobs, mut is_more, mut named) = (0, false, BTreeSet::new());
        for AttentionEntry { problem, jobs: ids, .. } in
            list.iter().filter(|found| found.problem.kind() == kind)
        {
            let count = match problem {
                Problem::Dead(dead) => dead.letters.count,
                Problem::Recovered(letters) => letters.count,
                Problem::OtherDead { count, .. }
                | Problem::OtherRecovered { count, .. }
                | Problem::OtherStuck(count) => *count,
                Problem::Stuck(stuck) => stuck.count,
                other => panic!("{other:?}"),
            };
            jobs += count.counted;
            is_more |= count.is_more;
            named.extend(ids);
        }
        Self { jobs, is_more, named }
    }

    #[track_caller]
    fn are(&self, expected: &BTreeSet<i64>, what: &str) {
        let all = expected.len() as u64;
        assert!(self.named.is_subset(expected), "{what}: {:?} of {expected:?}", self.named);
        assert_eq!(self.named.is_empty(), expected.is_empty(), "{what}: {expected:?}");
        assert!(self.jobs == all || self.is_more && self.jobs < all, "{what}: {} of {expected:?}", self.jobs);
    }
}

#[test]
fn no_cap_hides_a_job_that_needs_attention() {
    let some = |text: &str| Some(text.to_owned());
    let filters = [
        Filter::default(),
        Filter { name: some("a"), ..Filter::default() },
        Filter { label: some("x"), ..Filter::default() },
        Filter { label: some(""), queue: some("q"), ..Filter::default() },
        Filter { queue: some("p"), name: some("c"), ..Filter::default() },
    ];
    let mut seen = BTreeSet::new();
    for seed in 0..50 {
        let mut scene = Scene::new();
        let database = Database::draw(&mut scene, &mut SmallRng::seed_from_u64(seed));
        for filter in &filters {
            let nothing =
                Surroundings { queues: &[], workers: &[], schedules: &[], files: &[], leftovers: &[] };
            let store = scene.store.at(Timestamp(NOW));
            let list = store.attention(nothing, filter, Timestamp(NOW)).unwrap();
            let what = format!("seed {seed}, {filter:?}: {list:#?}");
            Entries::of(AttentionKind::Dead, &list).are(&database.dead(filter, false), &what);
            let (stuck, roots) = (Entries::of(AttentionKind::Stuck, &list), database.all_roots(filter));
            assert!(!stuck.named.is_empty() || roots.is_empty(), "{what}");
            // With a filter, those that were not looked at are counted.
            assert!(stuck.named.is_empty() || !roots.is_empty() || !is_empty(filter), "{what}");
            database.has_stuck_entries(&list, &roots, &what);
            let good = Entries::of(AttentionKind::Recovered, &list);
            assert!(good.named.is_subset(&database.dead(filter, true)), "{what}");
            let (mut named, mut all_named) = (BTreeSet::new(), BTreeSet::new());
            for AttentionEntry { problem, jobs, .. } in &list {
                let (Problem::Dead(Dead { letters, .. }) | Problem::Recovered(letters)) = problem else {
                    continue;
                };
                let is_new = named.insert((problem.kind(), &letters.name, &letters.error_code));
                assert!(is_new, "two entries: {what}");
                if letters.are_all_named && problem.kind() == AttentionKind::Dead {
                    all_named.extend(jobs.iter().map(|id| (*id, &letters.name, &letters.error_code)));
                }
            }
            let code = |job: &Plain| if job.state == "dead" { job.code } else { "EXPIRED" };
            let dead = database.dead(filter, false);
            for (id, name, error_code) in all_named {
                let job = &database.0[&id];
                assert!(dead.contains(&id) && job.name == name && code(job) == error_code, "{id}: {what}");
            }
            for AttentionEntry { problem, alarm, .. } in &list {
                let (is_note, is_besides) = match problem {
                    Problem::Recovered(_) => (true, false),
                    Problem::OtherRecovered { .. } => (true, true),
                    Problem::Stuck(stuck) => (database.have_recovered(&stuck.newest_roots), false),
                    // With a filter, those that were not looked at are counted.
                    Problem::OtherStuck(_) => (!*alarm, true),
                    Problem::OtherDead { .. } => (false, true),
                    _ => (false, false),
                };
                assert_eq!(*alarm, !is_note, "{what}");
                seen.insert((problem.kind(), is_besides));
            }
        }
    }
    assert_eq!(seen.len(), 6, "not every cap was reached: {seen:?}");
}
