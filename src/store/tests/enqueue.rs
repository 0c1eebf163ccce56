//! Jobs before their first attempt: many at once, keys, expiries, counts, a clock that steps back.

use std::sync::Arc;

use super::fixture::{Place, Scene, failed, new_job, spec, unsynced};
use crate::model::{Bytes, JobSpec};
use crate::store::{Enqueued, NewJob, OnConflict, StoreError, Waiting};
use crate::text::{Millis, Timestamp};

const HOUR: i64 = 3_600_000;

fn expiring(expires_in: u64, key: Option<&str>) -> JobSpec {
    JobSpec { expires_in: Some(Millis(expires_in)), unique_key: key.map(str::to_owned), ..spec("a") }
}

#[test]
fn many_at_once_are_what_they_are_one_by_one() {
    let jobs: Vec<NewJob> = (0..100)
        .map(|n| {
            let mut job = new_job(if n % 3 == 0 { expiring(7_000, None) } else { spec("b") });
            job.args = vec![Bytes::from(n.to_string().as_str()); usize::try_from(n % 3).unwrap()];
            job.run_at = (n % 5 == 0).then_some(Timestamp(2_000 + n));
            job.idempotency_key = (n == 70 || n == 90).then(|| "twice".to_owned());
            job
        })
        .collect();
    let clock = || Timestamp(1_000);
    let places = [Place::empty(), Place::empty()];
    let [mut together, mut alone] = places.each_ref().map(|place| unsynced(place.open()));
    let mut told = Vec::new();
    let ids = together.enqueue(&jobs, &clock, &mut |done| told.push(done)).unwrap();
    assert_eq!(told, (0..100).collect::<Vec<_>>());
    let one_by_one: Vec<_> =
        jobs.iter().flat_map(|job| alone.add(std::slice::from_ref(job), &clock).unwrap()).collect();
    let told = |all: &[Enqueued]| all.iter().map(|job| (job.id, job.created)).collect::<Vec<_>>();
    assert_eq!(told(&ids), told(&one_by_one));
    assert!(ids.iter().filter(|job| job.created).map(|job| job.id).eq(1..=99));
    for id in 1..=99 {
        let [left, right] = [&together, &alone].map(|store| store.job(id, Timestamp(1_000)).unwrap());
        assert_eq!(format!("{left:?}"), format!("{right:?}"));
    }
}

#[test]
fn one_bad_job_among_many_undoes_all() {
    let mut scene = Scene::new();
    let mut jobs = vec![new_job(spec("a")); 100];
    jobs[90].spec = Arc::new(JobSpec { priority: 1_001, ..spec("bad") });
    let said = scene.store.add(&jobs, &|| Timestamp(1)).unwrap_err().to_string();
    assert!(said.contains("CHECK constraint failed: priority BETWEEN -1000 AND 1000"), "{said}");
    jobs[90] = new_job(expiring(9, Some("k")));
    jobs[95] = NewJob { on_conflict: OnConflict::Error, ..jobs[90].clone() };
    let refused = scene.store.add(&jobs, &|| Timestamp(1)).unwrap_err();
    assert!(matches!(refused, StoreError::KeyHeld { holder: 91, index: 95, .. }), "{refused}");
    assert_eq!(scene.store.count_unfinished(None).unwrap(), 0);
    assert_eq!(scene.store.audit().unwrap(), []);
}

#[test]
fn definitions_of_the_same_hash_are_told_apart() {
    let wanted = spec("wanted");
    let mut scene = Scene::new();
    scene.add(new_job(wanted.clone()), 1);
    let hash = scene.column("SELECT CAST(hash AS TEXT) FROM definitions").remove(0);
    let mut scene = Scene::new();
    let lookalike = serde_json::to_string(&spec("another")).unwrap();
    let sql = "INSERT INTO definitions (hash, spec) VALUES (CAST(?1 AS INTEGER), ?2)";
    scene.store.connection.execute(sql, [hash, lookalike]).unwrap();
    scene.add(new_job(wanted.clone()), 1);
    assert_eq!(*scene.store.job(1, Timestamp(1)).unwrap().unwrap().spec, wanted);
}

#[test]
fn a_holder_that_expires_this_very_moment_holds_its_key_no_more() {
    let mut scene = Scene::new();
    let mut enqueue_at = |at| scene.add(new_job(expiring(9, Some("k"))), at);
    assert_eq!([1, 9, 10].map(&mut enqueue_at), [1, 1, 2]);
    assert_eq!(scene.status(1, 10), "dead");
}

#[test]
fn a_running_holder_keeps_its_key_past_its_expiry_and_is_not_replaced() {
    let mut scene = Scene::new();
    let job = new_job(expiring(9, Some("k")));
    scene.add(job.clone(), 1);
    scene.turn(&[], 1, 2);
    for at in [3, 10] {
        let next = NewJob { on_conflict: OnConflict::Replace, ..job.clone() };
        let refused = scene.store.add(&[next], &|| Timestamp(at)).unwrap_err();
        assert!(refused.to_string().contains("has started"), "{refused}");
        assert_eq!(scene.add(job.clone(), at), 1);
    }
}

#[test]
fn of_many_jobs_that_expired_together_none_is_claimed() {
    let mut scene = Scene::new();
    let jobs = vec![new_job(expiring(1, None)); 1_500];
    scene.store.add(&jobs, &|| Timestamp(1)).unwrap();
    let mut expired = 0;
    for _ in 0..2 {
        let turn = scene.turn(&[], 10, 2);
        assert!(turn.claims.is_empty());
        // If some are left for the next turn, that turn is due now.
        assert_eq!(turn.backlog.next_due.is_some(), turn.backlog.waiting > Waiting::Nothing);
        expired += turn.expired.len();
    }
    assert_eq!(expired, jobs.len());
}

#[test]
fn an_expiry_is_recorded_of_the_named_job_alone() {
    let mut scene = Scene::new();
    for expires_in in [9, 90, 9] {
        scene.add(new_job(expiring(expires_in, None)), 1);
    }
    for id in [2, 1] {
        scene.store.record_expiry(id, &|| Timestamp(50)).unwrap();
    }
    assert_eq!([1, 2, 3].map(|id| scene.status(id, 1)), ["dead", "ready", "ready"]);
}

#[test]
fn the_same_jobs_are_counted_right_at_any_moment() {
    let mut scene = Scene::new();
    scene.add(new_job(expiring(5_000, None)), 0);
    for at in [1, 9_000, HOUR, 2 * HOUR, 365 * 24 * HOUR] {
        scene.add(NewJob { run_at: Some(Timestamp(at)), ..new_job(spec("b")) }, 0);
    }
    for (now, expected) in [
        (0, (1, 5, 0)),
        (1, (2, 4, 0)),
        (4_999, (2, 4, 0)),
        (5_000, (1, 4, 1)),
        (9_000, (2, 3, 1)),
        (HOUR - 1, (2, 3, 1)),
        (HOUR, (3, 2, 1)),
        (365 * 24 * HOUR, (5, 0, 1)),
        (-HOUR, (0, 6, 0)),
    ] {
        let counts = scene.store.overview(Timestamp(now)).unwrap().counts;
        assert_eq!((counts.ready, counts.scheduled, counts.dead), expected, "at {now}");
    }
}

#[test]
fn an_expiry_is_counted_in_its_own_queue_and_only_while_the_job_waits() {
    let mut scene = Scene::new();
    for (queue, expires_in) in [("one", 5_000), ("other", 6_000), ("one", 7_000)] {
        let queue = queue.to_owned();
        scene.add(new_job(JobSpec { queue, ..expiring(expires_in, None) }), 0);
    }
    scene.store.cancel(&[3], &|| Timestamp(0)).unwrap();
    let overview = scene.store.overview(Timestamp(5_500)).unwrap();
    assert_eq!((overview.counts.dead, overview.counts.ready, overview.counts.cancelled), (1, 1, 1));
    let queues: Vec<_> = overview.queues.iter().map(|row| (row.name.as_str(), row.counts.ready)).collect();
    assert_eq!(queues, [("other", 1)]);
}

#[test]
fn a_clock_that_was_set_back_does_not_stretch_a_wait() {
    let run_at = |scene: &Scene, now: i64| scene.store.job(1, Timestamp(now)).unwrap().unwrap().run_at.0;
    let (before, now) = (1_800_000_000_000, 1_500_000_000_000);
    let mut scene = Scene::new();
    let mut twice = spec("a");
    twice.policy.max_attempts = 2;
    scene.add(new_job(twice), before);
    scene.run(before, before, &failed(1, 1, before));
    scene.add(NewJob { run_at: Some(Timestamp(before + HOUR)), ..new_job(spec("b")) }, before);
    let wait = run_at(&scene, before) - before;
    assert!(wait > 0);
    assert_eq!(scene.store.follow_clock_step(Timestamp(before)).unwrap(), 0);
    assert_eq!(scene.store.follow_clock_step(Timestamp(now)).unwrap(), 1, "a due time that was given stays");
    assert_eq!(run_at(&scene, now), now + wait);
    assert_eq!(scene.store.follow_clock_step(Timestamp(now)).unwrap(), 0, "once is enough");

    let mut scene = Scene::new();
    scene.add(new_job(spec("a")), before);
    assert_eq!(scene.store.follow_clock_step(Timestamp(now)).unwrap(), 1, "it never started");
    assert_eq!(run_at(&scene, now), now);
}
