//! Many jobs enqueued at once are the same as each by itself.

use super::fixture::{Place, new_job, spec, unsynced};
use crate::model::Bytes;
use crate::store::NewJob;
use crate::text::Timestamp;

/// Plain jobs, which share statements, with others among them, which do not.
fn mixed() -> Vec<NewJob> {
    let mut other = spec("other");
    other.expires_in = Some(crate::text::Millis(7_000));
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

/// Plain jobs alone: each with a definition of its own, then of one definition, then at times of their own as well.
fn all_plain() -> Vec<NewJob> {
    let mut jobs = mixed();
    jobs.retain(|job| job.idempotency_key.is_none());
    jobs.extend(vec![NewJob { run_at: Some(Timestamp(3_000)), ..new_job(spec("a")) }; 120]);
    for (n, job) in (0_u16..).zip(&mut jobs) {
        job.args = vec![Bytes::from(n.to_string().as_str()); usize::from(n % 3)];
        if n >= 192 {
            job.run_at = Some(Timestamp(3_000 + i64::from(n)));
        }
    }
    jobs
}

/// Enqueues them together and one by one, which comes to the same. Gives how many are ready then, and scheduled.
fn together_and_alone(jobs: &[NewJob], created: i64) -> (u64, u64) {
    let clock = || Timestamp(1_000);
    let (together, alone) = (Place::empty(), Place::empty());
    let (mut together, mut alone) = (unsynced(together.open()), unsynced(alone.open()));
    let ids = together.add(jobs, &clock).unwrap();
    let one_by_one: Vec<_> =
        jobs.iter().flat_map(|job| alone.add(std::slice::from_ref(job), &clock).unwrap()).collect();
    assert_eq!(ids, one_by_one);
    assert_eq!(
        ids.iter().filter(|job| job.created).map(|job| job.id).collect::<Vec<_>>(),
        (1..=created).collect::<Vec<_>>()
    );
    for id in 1..=created {
        let [left, right] = [&together, &alone].map(|store| store.job(id, Timestamp(1_000)).unwrap());
        assert_eq!(format!("{left:?}"), format!("{right:?}"));
    }
    assert_eq!(together.audit().unwrap(), []);
    let [left, right] = [&mut together, &mut alone].map(|store| store.overview(Timestamp(2_010)).unwrap());
    assert_eq!(format!("{left:?}"), format!("{right:?}"));
    (left.counts.ready, left.counts.scheduled)
}

#[test]
fn many_at_once_are_what_they_are_one_by_one() {
    assert_eq!(together_and_alone(&mixed(), 149), (123, 26));
    assert_eq!(together_and_alone(&all_plain(), 268), (123, 145));
}

#[test]
fn one_bad_job_among_many_undoes_all() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    let clock = || Timestamp(1_000);
    let mut jobs = vec![new_job(spec("a")); 100];
    assert_eq!(store.add(&jobs, &clock).unwrap().len(), 100);

    let mut bad = spec("bad");
    bad.priority = 1_001;
    jobs[90].spec = std::sync::Arc::new(bad);
    let said = store.add(&jobs, &clock).unwrap_err().to_string();
    assert!(said.contains("CHECK constraint failed: priority BETWEEN -1000 AND 1000"), "{said}");
    assert_eq!(store.count_unfinished().unwrap(), 100);
    assert_eq!(store.audit().unwrap(), []);
    assert_eq!(store.add(&jobs[..1], &clock).unwrap()[0].id, 101);
}
