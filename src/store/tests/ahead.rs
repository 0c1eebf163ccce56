//! What may be claimed before there is a slot for it.

use super::fixture::{Place, exited, new_job, spec, worker_row};
use crate::model::{CodePattern, Exit, JobSpec, Status};
use crate::store::{Definitions, Ended, Errand, Store, Want};
use crate::text::{Millis, Timestamp};

const NOW: Timestamp = Timestamp(1_000);

/// The ids that a worker gets which can start one job and may hold nine more.
fn claimed(store: &mut Store, jobs: &[JobSpec]) -> Vec<i64> {
    let jobs: Vec<_> = jobs.iter().map(|spec| new_job(spec.clone())).collect();
    store.enqueue(&jobs, &|| NOW).unwrap();
    let worker = store.register_worker(&worker_row("w")).unwrap();
    let want = Want { now: 1, ahead: 9 };
    let errand = Errand { worker, queues: None, ended: &[], give_back: &[], want };
    let turn = store.turn(&mut Definitions::default(), &errand, &|| NOW).unwrap();
    turn.claims.iter().map(|claim| claim.job_id).collect()
}

fn once(change: impl FnOnce(&mut JobSpec)) -> JobSpec {
    let mut spec = spec("once");
    change(&mut spec);
    spec
}

#[test]
fn jobs_that_outlive_a_crash_are_claimed_ahead() {
    let place = Place::empty();
    assert_eq!(claimed(&mut place.open(), &[spec("a"), spec("b"), spec("c")]), [1, 2, 3]);
}

#[test]
fn a_job_that_a_crash_would_end_is_claimed_only_to_be_started_and_nothing_overtakes_it() {
    let crash = || vec![CodePattern::parse("WORKER_CRASHED").unwrap()];
    let timeout = || vec![CodePattern::parse("TIMEOUT").unwrap()];
    for last_run in [
        once(|spec| spec.policy.retryable = false),
        once(|spec| spec.policy.max_attempts = 1),
        once(|spec| spec.policy.never_retry_for = crash()),
        once(|spec| spec.policy.auto_retry_for = Some(timeout())),
        once(|spec| spec.expires_in = Some(Millis(1_000))), // the wait before a retry is as long
    ] {
        let place = Place::empty();
        assert_eq!(claimed(&mut place.open(), &[last_run.clone(), last_run.clone()]), [1]);
        let place = Place::empty();
        assert_eq!(claimed(&mut place.open(), &[spec("a"), spec("b"), last_run, spec("c")]), [1, 2]);
    }
}

#[test]
fn the_last_run_of_a_budget_is_not_claimed_ahead() {
    let place = Place::empty();
    let mut store = place.open();
    let mut twice = spec("twice");
    twice.policy.max_attempts = 2;
    store.enqueue(&[new_job(twice)], &|| Timestamp(1)).unwrap();
    let worker = store.register_worker(&worker_row("v")).unwrap();
    let mut definitions = Definitions::default();
    let mut turn = |ended: &[_], want, at| {
        let errand = Errand { worker, queues: None, ended, give_back: &[], want };
        store.turn(&mut definitions, &errand, &|| Timestamp(at)).unwrap().claims.len()
    };
    let ahead = Want { now: 0, ahead: 1 };
    assert_eq!(turn(&[], ahead, 10), 1);
    let ending = Exit::by_itself(Status::Exited(1));
    let failed = Ended { ending, ..exited(1, 1, Timestamp(20)) };
    assert_eq!(turn(&[failed], ahead, 100_000), 0);
    assert_eq!(turn(&[], Want::now(1), 100_000), 1);
}

#[test]
fn what_is_given_back_is_due_though_the_clock_was_set_back_meanwhile() {
    let place = Place::empty();
    let mut store = place.open();
    let future = Timestamp(1_000_000_000);
    store.enqueue(&[new_job(spec("a"))], &|| future).unwrap();
    let worker = store.register_worker(&worker_row("w")).unwrap();
    let mut definitions = Definitions::default();
    let mut turn = |give_back: &[i64], want, at| {
        let errand = Errand { worker, queues: None, ended: &[], give_back, want };
        store.turn(&mut definitions, &errand, &|| at).unwrap().claims.len()
    };
    assert_eq!(turn(&[], Want { now: 0, ahead: 1 }, future), 1);
    assert_eq!(turn(&[1], Want::now(0), NOW), 0);
    assert_eq!(turn(&[], Want::now(1), NOW), 1);
}
