//! Many jobs enqueued at once are the same as each by itself.

use super::fixture::{Place, new_job, spec, unsynced};
use crate::model::{Bytes, Timestamp};
use crate::store::NewJob;

/// Plain jobs, which share statements, with others among them, which do not.
fn mixed() -> Vec<NewJob> {
    let mut other = spec("other");
    other.expires_in = Some(crate::model::Millis(7_000));
    other.queue = "q".to_owned();
    other.priority = 3;
    (0..150)
        .map(|n| {
            let mut job = new_job(if n % 3 == 0 { other.clone() } else { spec("a") });
            job.args = vec![Bytes::from(format!("argument {n}").as_str())];
            job.run_at = (n % 5 == 0).then_some(Timestamp(2_000 + n));
            job.idempotency_key = (n == 70 || n == 140).then(|| "twice".to_owned());
            job
        })
        .collect()
}

#[test]
fn many_at_once_are_what_they_are_one_by_one() {
    let clock = || Timestamp(1_000);
    let jobs = mixed();
    let (together, alone) = (Place::empty(), Place::empty());
    let (mut together, mut alone) = (unsynced(together.open()), unsynced(alone.open()));
    let ids = together.enqueue(&jobs, &clock).unwrap();
    let one_by_one: Vec<_> =
        jobs.iter().flat_map(|job| alone.enqueue(std::slice::from_ref(job), &clock).unwrap()).collect();
    assert_eq!(ids, one_by_one);
    assert_eq!(ids.iter().filter(|job| job.created).count(), 149);
    for id in 1..=149 {
        let [left, right] = [&together, &alone].map(|store| store.job(id, Timestamp(1_000)).unwrap());
        assert_eq!(format!("{left:?}"), format!("{right:?}"));
    }
    assert_eq!(together.audit().unwrap(), []);
    let [left, right] = [together, alone].map(|mut store| store.overview(Timestamp(2_010)).unwrap());
    assert_eq!(format!("{left:?}"), format!("{right:?}"));
    assert_eq!((left.counts.ready, left.counts.scheduled), (123, 26));
}
