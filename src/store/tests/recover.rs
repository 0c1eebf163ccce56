//! Burying dead workers, in files that are not as workers leave them.

use super::fixture::{Place, lost, new_job, spec, unsynced, worker_row};
use crate::store::{Definitions, Errand, Recorded, StoreError, Want};
use crate::text::Timestamp;

#[test]
fn what_a_dead_worker_would_hold_for_ever_is_a_damage() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    let clock = &|| Timestamp(1_000);
    let mut definitions = Definitions::default();
    let worker = store.register_worker(&worker_row("one")).unwrap();
    store.enqueue(&[new_job(spec("a")), new_job(spec("a"))], clock).unwrap();
    let errand = Errand { worker, queues: None, ended: &[], give_back: &[], want: Want::now(2) };
    store.turn(&mut definitions, &errand, clock).unwrap();
    let mut bury = |number| {
        let lost = [lost(1, number, Timestamp(1_000))];
        store.bury(&mut definitions, worker, &lost, &[], clock).map(|buried| buried.recorded)
    };
    let error = bury(2).unwrap_err();
    assert!(matches!(&error, StoreError::Damaged(..)) && error.to_string().contains("job 1"), "{error}");
    assert!(matches!(bury(1).unwrap()[..], [Recorded::Written { .. }]), "nothing of that was written");
    assert!(matches!(bury(1).unwrap()[..], [Recorded::Late { .. }]), "somebody else did so before");
}
