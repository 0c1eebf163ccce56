//! The kept counts: a difference is told of, and is mended as it is told.

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
    store.enqueue(&jobs, &|| Timestamp(0)).unwrap();
}

#[test]
pub(super) fn the_same_jobs_are_counted_right_at_any_moment() {
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
fn a_difference_is_found_and_can_be_mended() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    spread(&mut store);
    assert_eq!(store.audit().unwrap(), []);
    let by_hand = "UPDATE jobs SET state = 'cancelled', changed_at = 3 WHERE id = 2";
    store.connection.execute_batch(by_hand).unwrap();
    let said: Vec<String> = store.audit().unwrap().into_iter().map(|finding| finding.what).collect();
    assert!(
        said.iter().any(|what| what.starts_with("no jobs are counted as cancelled, and there are 1")),
        "{said:?}"
    );
    assert!(
        said.iter().any(|what| what.contains("bucket new/13/0 of queue default, and there are 1")),
        "{said:?}"
    );
    for table in ["finished", "waiting"] {
        let mend =
            format!("DELETE FROM {table}_counts; INSERT INTO {table}_counts SELECT * FROM {table}_recounted");
        store.connection.execute_batch(&mend).unwrap();
    }
    assert_eq!(store.audit().unwrap(), []);
    assert_eq!(store.overview(Timestamp(0)).unwrap().counts.cancelled, 1);
}

#[test]
pub(super) fn an_expiry_is_counted_in_its_own_queue_and_only_while_the_job_waits() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    // All in the same bucket.
    for (queue, expires_in) in [("one", 5_000), ("other", 6_000), ("one", 7_000)] {
        let mut spec = spec("a");
        queue.clone_into(&mut spec.queue);
        spec.expires_in = Some(Millis(expires_in));
        store.enqueue(&[new_job(spec)], &|| Timestamp(0)).unwrap();
    }
    store.cancel(&[3], &|| Timestamp(0)).unwrap();
    let overview = store.overview(Timestamp(5_500)).unwrap();
    assert_eq!((overview.counts.dead, overview.counts.ready, overview.counts.cancelled), (1, 1, 1));
    let queues: Vec<_> = overview.queues.iter().map(|row| (row.name.as_str(), row.counts.ready)).collect();
    assert_eq!(queues, [("other", 1)]);
}
