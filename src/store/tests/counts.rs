//! The counts of the overview.

use super::fixture::{Place, new_job, spec, unsynced};
use crate::store::{NewJob, Store};
use crate::text::{Millis, Timestamp};

const HOUR: i64 = 3_600_000;

/// What waits now, in an hour, in a year; and what expires.
fn spread(store: &mut Store) {
    let mut expiring = spec("b");
    expiring.expires_in = Some(Millis(5_000));
    let mut jobs = vec![new_job(expiring)];
    for at in [1, 9_000, HOUR, 2 * HOUR, 365 * 24 * HOUR] {
        jobs.push(NewJob { run_at: Some(Timestamp(at)), ..new_job(spec("a")) });
    }
    store.add(&jobs, &|| Timestamp(0)).unwrap();
}

#[test]
fn the_same_jobs_are_counted_right_at_any_moment() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    spread(&mut store);
    for (now, ready, scheduled, dead) in [
        (0, 1, 5, 0),
        (1, 2, 4, 0),
        (4_999, 2, 4, 0),
        (5_000, 1, 4, 1),
        (8_999, 1, 4, 1),
        (9_000, 2, 3, 1),
        (HOUR - 1, 2, 3, 1),
        (HOUR, 3, 2, 1),
        (24 * HOUR, 4, 1, 1),
        (365 * 24 * HOUR, 5, 0, 1),
        (-HOUR, 0, 6, 0),
    ] {
        let counts = store.overview(Timestamp(now)).unwrap().counts;
        assert_eq!((counts.ready, counts.scheduled, counts.dead), (ready, scheduled, dead), "at {now}");
    }
}

#[test]
fn an_expiry_is_counted_in_its_own_queue_and_only_while_the_job_waits() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    for (queue, expires_in) in [("one", 5_000), ("other", 6_000), ("one", 7_000)] {
        let mut spec = spec("a");
        queue.clone_into(&mut spec.queue);
        spec.expires_in = Some(Millis(expires_in));
        store.add(&[new_job(spec)], &|| Timestamp(0)).unwrap();
    }
    store.cancel(&[3], &|| Timestamp(0)).unwrap();
    let overview = store.overview(Timestamp(5_500)).unwrap();
    assert_eq!((overview.counts.dead, overview.counts.ready, overview.counts.cancelled), (1, 1, 1));
    let queues: Vec<_> = overview.queues.iter().map(|row| (row.name.as_str(), row.counts.ready)).collect();
    assert_eq!(queues, [("other", 1)]);
}
