//! Recovery of dead workers' claims, and claims that go back.

use super::fixture::{Place, lost, new_job, spec, unsynced, worker_row};
use crate::store::{Definitions, Recorded, StoreError, TurnRequest};
use crate::text::Timestamp;

#[test]
fn what_a_dead_worker_would_hold_for_ever_is_a_damage() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    let clock = &|| Timestamp(1_000);
    let mut definitions = Definitions::default();
    let worker = store.register_worker(&worker_row("one")).unwrap();
    store.add(&[new_job(spec("a")), new_job(spec("a"))], clock).unwrap();
    let request = TurnRequest { worker, queues: None, ended: &[], give_back: &[], idle_slots: 2 };
    store.turn(&mut definitions, &request, clock).unwrap();
    let mut recover = |number| {
        let lost = [lost(1, number, Timestamp(1_000))];
        store.recover(&mut definitions, worker, &lost, &[], clock).map(|recovered| recovered.recorded)
    };
    let error = recover(2).unwrap_err();
    assert!(matches!(&error, StoreError::Damaged(..)) && error.to_string().contains("job 1"), "{error}");
    assert!(matches!(recover(1).unwrap()[..], [Recorded::Written { .. }]), "nothing of that was written");
    assert!(matches!(recover(1).unwrap()[..], [Recorded::Late { .. }]), "somebody else did so before");
}

#[test]
fn a_returned_claim_is_due_though_the_clock_was_set_back() {
    let place = Place::empty();
    let mut store = place.open();
    let future = Timestamp(1_000_000_000);
    store.add(&[new_job(spec("a"))], &|| future).unwrap();
    let worker = store.register_worker(&worker_row("w")).unwrap();
    let mut definitions = Definitions::default();
    let mut turn = |give_back: &[i64], idle_slots, at| {
        let request = TurnRequest { worker, queues: None, ended: &[], give_back, idle_slots };
        store.turn(&mut definitions, &request, &|| at).unwrap().claims.len()
    };
    assert_eq!(turn(&[], 1, future), 1);
    let now = Timestamp(1_000);
    assert_eq!(turn(&[1], 0, now), 0);
    assert_eq!(turn(&[], 1, now), 1);
}
