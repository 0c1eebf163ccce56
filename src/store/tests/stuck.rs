//! Stuck jobs: which are found, and behind which job.

use super::fixture::{Place, Scene, definition, exited, failed, new_job, unsynced};
use crate::model::{DependencyKind, JobState};
use crate::store::file::error::Result;
use crate::store::read::stuck_groups::{each_root, held_back};
use crate::store::write::stuck::{DependencyState, state};
use crate::store::{Act, Dependency, NewJob, Store, StuckBehind};
use crate::text::{Millis, Timestamp};

/// A job that is dead, cancelled or removed, and the jobs that are stuck behind it.
pub struct StuckRoot {
    id: i64,
    /// None if the job was removed.
    job: Option<DependencyState>,
    /// Sorted.
    pub jobs: Vec<i64>,
}

impl Store {
    /// All jobs with stuck jobs behind them, by id.
    pub fn stuck(&self) -> Result<Vec<StuckRoot>> {
        self.read(|tx| {
            let mut found = Vec::new();
            each_root(tx, |root| {
                let job = state(tx, root.id)?;
                let mut jobs = held_back(tx, &[root.id], job.is_none())?;
                jobs.sort_unstable();
                found.push(StuckRoot { id: root.id, job, jobs });
                Ok(true)
            })?;
            found.reverse();
            Ok(found)
        })
    }
}

fn after(name: &str, dependencies: &[i64]) -> NewJob {
    let dependencies =
        dependencies.iter().map(|id| (Dependency::Job(*id), DependencyKind::Success)).collect();
    NewJob { dependencies, ..new_job(definition(name)) }
}

/// Id and state of each root, with the jobs behind it.
fn found(scene: &mut Scene, at: i64) -> Vec<(i64, Option<JobState>, Vec<i64>)> {
    let roots = scene.store.at(Timestamp(at)).stuck().unwrap();
    roots.into_iter().map(|StuckRoot { id, job, jobs }| (id, job.map(|job| job.state), jobs)).collect()
}

#[test]
fn jobs_behind_a_dead_a_cancelled_and_a_removed_job_are_stuck_until_somebody_deals_with_it() {
    let mut scene = Scene::new();
    let extract = scene.add(new_job(definition("extract")), 1);
    let live = scene.add(new_job(definition("live")), 1);
    let load = scene.add(after("load", &[extract]), 1);
    let report = scene.add(after("report", &[load, live]), 1);
    let last = scene.add(after("last", &[live]), 1);
    assert_eq!(found(&mut scene, 2), []);

    scene.store.at(Timestamp(3)).act(&[extract], Act::Cancel).unwrap();
    let cancelled = (extract, Some(JobState::Cancelled), vec![load, report]);
    assert_eq!(found(&mut scene, 3), [cancelled]);
    // The root is the job that a person has to deal with: not the cancelled job behind it, nor a job without dependents.
    scene.store.at(Timestamp(4)).act(&[load], Act::Cancel).unwrap();
    assert_eq!(found(&mut scene, 4), [(load, Some(JobState::Cancelled), vec![report])]);

    scene.store.at(Timestamp(5)).act(&[extract, load], Act::Retry { force: false }).unwrap();
    assert_eq!(found(&mut scene, 5), []);
    scene.store.connection.execute_batch("DROP TRIGGER jobs_are_finished_before_they_go").unwrap();
    scene.store.connection.execute_batch("DROP TRIGGER jobs_stay_while_others_wait").unwrap();
    scene.store.connection.execute("DELETE FROM jobs WHERE id = ?1", [live]).unwrap();
    assert_eq!(found(&mut scene, 6), [(live, None, vec![report, last])]);
}

#[test]
fn a_resolved_and_an_expired_job_keep_the_jobs_behind_them() {
    let mut scene = Scene::new();
    let mut short = definition("short");
    short.expires_in = Some(Millis(10));
    short.policy.max_attempts = 1;
    let dead = scene.add(new_job(short.clone()), 1);
    let behind = scene.add(after("behind", &[dead]), 1);
    let expiring = scene.add(new_job(short.clone()), 5);
    let waiting = scene.add(
        NewJob { dependencies: vec![(Dependency::Job(expiring), DependencyKind::Success)], ..new_job(short) },
        5,
    );
    let other = scene.add(after("other", &[waiting]), 5);
    scene.run(2, 2, &failed(dead, 1, 3));
    scene.store.at(Timestamp(4)).act(&[dead], Act::Resolve { note: None }).unwrap();
    assert_eq!(found(&mut scene, 5), [(dead, Some(JobState::Dead), vec![behind])]);
    assert!(scene.store.at(Timestamp(5)).stuck().unwrap()[0].job.as_ref().is_some_and(|job| job.resolved));
    // Both have expired by now, and a job that has expired is not stuck.
    let recorded = found(&mut scene, 20);
    assert_eq!(recorded[1..], [(waiting, Some(JobState::Dead), vec![other])]);
    scene.turn(&[], 0, 20);
    assert_eq!(found(&mut scene, 20), recorded);
}

#[test]
fn many_jobs_behind_one_are_counted_up_to_a_limit_and_passed_over_if_it_is_well() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    let well = store.add(&[new_job(definition("well"))]).unwrap()[0].id;
    let many = StuckBehind::MAX_COUNT + 10;
    let dependents = |id| vec![after("dependent", &[id]); many];
    store.add(&dependents(well)).unwrap();
    let dead = store.add(&[new_job(definition("dead"))]).unwrap()[0].id;
    store.add(&dependents(dead)).unwrap();
    store.act(&[dead], Act::Cancel).unwrap();

    let roots = store.stuck().unwrap();
    assert_eq!(roots.len(), 1);
    assert_eq!((roots[0].id, roots[0].jobs.len()), (dead, StuckBehind::MAX_COUNT + 1));
    let behind = store.held_back(&[dead]).unwrap();
    assert_eq!(
        (behind.count, &behind.names[..]),
        (StuckBehind::MAX_COUNT + 1, &["dependent".to_owned()][..])
    );
}

#[test]
fn a_drain_that_looks_for_blocked_jobs_finds_one_that_became_ready_since_its_turn() {
    let mut scene = Scene::new();
    let first = scene.add(new_job(definition("first")), 1);
    let last = scene.add(after("last", &[first]), 1);
    let claimed = scene.turn(&[], 1, 2);
    assert_eq!(claimed.claims.len(), 1);
    let may_unblock = |scene: &Scene| scene.store.blocked(None).unwrap().may_unblock;
    assert!(may_unblock(&scene), "the last job waits for a running one");
    scene.turn(&[exited(first, 1, Timestamp(3))], 0, 3);
    assert_eq!(scene.status(last, 3), "ready");
    assert!(may_unblock(&scene), "the last job is ready");
    scene.turn(&[], 1, 4);
    assert!(may_unblock(&scene), "the last job runs");
    scene.turn(&[exited(last, 1, Timestamp(5))], 0, 5);
    assert!(!may_unblock(&scene), "nothing is left");
}
