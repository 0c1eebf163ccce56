//! What random histories meet too seldom: many expiries at once, and a key around its holder's expiry.

use super::fixture::{Place, new_job, spec, worker_row};
use crate::model::JobSpec;
use crate::store::{Definitions, NewJob, OnConflict, Store, TurnRequest};
use crate::text::{Millis, Timestamp};

#[test]
pub(super) fn of_many_jobs_that_expired_together_none_is_claimed() {
    let place = Place::empty();
    let mut store = place.open();
    let mut definitions = Definitions::default();
    let spec = JobSpec { expires_in: Some(Millis(1)), ..spec("a") };
    let jobs: Vec<_> = (0..1_500).map(|_| new_job(spec.clone())).collect();
    store.add(&jobs, &|| Timestamp(1)).unwrap();
    let worker = store.register_worker(&worker_row("w")).unwrap();
    let request = TurnRequest { worker, queues: None, ended: &[], give_back: &[], idle_slots: 10 };
    let mut expired = 0;
    for _ in 0..2 {
        let turn = store.turn(&mut definitions, &request, &|| Timestamp(2)).unwrap();
        assert!(turn.claims.is_empty());
        // Where some are left for the next turn, that one is to be now.
        assert_eq!(turn.backlog.next_due.is_some(), turn.backlog.waiting);
        expired += turn.expired.len();
    }
    assert_eq!(expired, jobs.len());
}

#[test]
pub(super) fn a_holder_that_expires_this_very_moment_holds_its_key_no_more() {
    let place = Place::empty();
    let mut store = place.open();
    let spec = JobSpec { expires_in: Some(Millis(9)), unique_key: Some("k".to_owned()), ..spec("a") };
    let mut enqueue_at = |at| {
        let job = new_job(spec.clone());
        store.add(&[job], &|| Timestamp(at)).unwrap()[0]
    };
    let first = enqueue_at(1);
    assert_eq!(enqueue_at(9).id, first.id);
    assert!(enqueue_at(10).created);
    assert_eq!(store.job(first.id, Timestamp(10)).unwrap().unwrap().status(), "dead");
}

#[test]
pub(super) fn a_holder_that_runs_holds_its_key_also_after_its_expiry_and_is_not_replaced() {
    let place = Place::empty();
    let mut store = place.open();
    let spec = JobSpec { expires_in: Some(Millis(9)), unique_key: Some("k".to_owned()), ..spec("a") };
    let first = store.add(&[new_job(spec.clone())], &|| Timestamp(1)).unwrap()[0];
    let worker = store.register_worker(&worker_row("w")).unwrap();
    let request = TurnRequest { worker, queues: None, ended: &[], give_back: &[], idle_slots: 1 };
    store.turn(&mut Definitions::default(), &request, &|| Timestamp(2)).unwrap();
    for at in [3, 10] {
        let next = NewJob { on_conflict: OnConflict::Replace, ..new_job(spec.clone()) };
        let refused = store.add(&[next], &|| Timestamp(at)).unwrap_err();
        assert!(refused.to_string().contains("has started"), "{refused}");
        let again = store.add(&[new_job(spec.clone())], &|| Timestamp(at)).unwrap()[0];
        assert_eq!((again.id, again.created), (first.id, false));
    }
}

#[test]
pub(super) fn an_expiry_is_recorded_of_the_job_that_is_named_alone() {
    let place = Place::empty();
    let mut store = place.open();
    for span in [9, 90] {
        let spec = JobSpec { expires_in: Some(Millis(span)), ..spec("a") };
        store.add(&[new_job(spec)], &|| Timestamp(1)).unwrap();
    }
    let state = |store: &Store, id| store.job(id, Timestamp(1)).unwrap().unwrap().status();
    store.record_expiry(2, &|| Timestamp(50)).unwrap();
    assert_eq!((state(&store, 1), state(&store, 2)), ("ready", "ready"));
    store.record_expiry(1, &|| Timestamp(50)).unwrap();
    assert_eq!((state(&store, 1), state(&store, 2)), ("dead", "ready"));
}
