//! Rows that differ in one thing only, which random histories do not come by.

use super::fixture::{Place, new_job, spec};
use crate::text::Timestamp;

const CLOCK: &dyn Fn() -> Timestamp = &|| Timestamp(10_000);

#[test]
pub(super) fn definitions_of_the_same_hash_are_told_apart() {
    let (place, other) = (Place::empty(), Place::empty());
    let mut store = place.open();
    let wanted = spec("wanted");
    store.add(&[new_job(wanted.clone())], CLOCK).unwrap();
    let sql = "SELECT hash FROM definitions";
    let hash: i64 = store.connection.query_row(sql, [], |row| row.get(0)).unwrap();
    let mut store = other.open();
    let lookalike = serde_json::to_string(&spec("another")).unwrap();
    let sql = "INSERT INTO definitions (hash, spec) VALUES (?1, ?2)";
    store.connection.execute(sql, rusqlite::params![hash, lookalike]).unwrap();
    store.add(&[new_job(wanted.clone())], CLOCK).unwrap();
    assert_eq!(*store.job(1, CLOCK()).unwrap().unwrap().spec, wanted);
}

#[test]
pub(super) fn a_job_that_was_only_enqueued_does_not_wait_for_a_clock_that_was_set_back() {
    let place = Place::empty();
    let mut store = place.open();
    store.add(&[new_job(spec("a"))], CLOCK).unwrap();
    let now = Timestamp(1_000);
    assert_eq!(store.follow_clock_step(now).unwrap(), 1);
    assert_eq!(store.job(1, now).unwrap().unwrap().run_at, now);
}
