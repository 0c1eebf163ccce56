//! Removing finished jobs: in pages, while others go on, stopped at any moment, and with all that they leave behind.

use std::collections::BTreeSet;

use super::fixture::{Place, exited, new_job, spec, unsynced, worker_row};
use super::plans::{long_steps, traced};
use crate::model::JobState;
use crate::store::{Definitions, NewJob, PruneFilter, Store, TurnRequest};
use crate::text::{Millis, Timestamp};

const CLOCK: &dyn Fn() -> Timestamp = &|| Timestamp(1_000);

/// Everything that has finished.
fn all() -> PruneFilter {
    let states = vec![JobState::Succeeded, JobState::Dead, JobState::Cancelled];
    PruneFilter { states, name: None, queue: None, until: Timestamp(100_000) }
}

fn number(store: &Store, sql: &str) -> i64 {
    store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn column(store: &Store, sql: &str) -> Vec<String> {
    let mut statement = store.connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn jobs(store: &Store) -> i64 {
    number(store, "SELECT count(*) FROM jobs")
}

fn enqueue(store: &mut Store, name: &str) -> i64 {
    store.add(&[new_job(spec(name))], CLOCK).unwrap()[0].id
}

/// Jobs that were called off, all in the same millisecond.
fn cancelled(store: &mut Store, names: &[&str]) {
    let jobs: Vec<NewJob> = names.iter().map(|name| new_job(spec(name))).collect();
    let ids: Vec<i64> = store.add(&jobs, CLOCK).unwrap().iter().map(|job| job.id).collect();
    store.cancel(&ids, CLOCK).unwrap();
}

/// Runs everything that is due, in a worker that stops then.
fn work(store: &mut Store, worker: &str) {
    let id = store.register_worker(&worker_row(worker)).unwrap();
    let mut definitions = Definitions::default();
    let request = TurnRequest { worker: id, queues: None, ended: &[], give_back: &[], idle_slots: 9 };
    let claims = store.turn(&mut definitions, &request, CLOCK).unwrap().claims;
    let ended: Vec<_> =
        claims.iter().map(|claim| exited(claim.job_id, claim.number, Timestamp(2_000))).collect();
    let request = TurnRequest { ended: &ended, idle_slots: 0, ..request };
    store.turn(&mut definitions, &request, CLOCK).unwrap();
    store.worker_ended(id, Timestamp(3_000)).unwrap();
}

#[test]
fn no_statement_walks_or_sorts_the_jobs() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    for name in ["a", "b", "c"] {
        enqueue(&mut store, name);
        work(&mut store, name);
    }
    let mut late = spec("late");
    late.expires_in = Some(Millis(5));
    store.add(&[new_job(late)], CLOCK).unwrap();
    enqueue(&mut store, "waits");
    let mut traced = traced(&mut store, |store| {
        store.count_prunable(&all()).unwrap();
        store.prune(&all(), &mut |_| true).unwrap();
    });
    // The collection of what nothing uses any more reads all jobs and attempts once, without the write lock.
    let once =
        |sql: &str| sql.contains("NOT IN (SELECT definition_id") || sql.contains("NOT IN (SELECT worker_id");
    traced.sql.retain(|sql| !once(sql));
    traced.slow.retain(|sql| !once(sql));
    assert!(traced.sql.iter().any(|sql| sql.contains("DELETE FROM definitions")), "{:?}", traced.sql);
    assert!(traced.sql.iter().any(|sql| sql.contains("DELETE FROM workers")), "{:?}", traced.sql);
    assert_eq!(long_steps(&store.connection, &traced.sql), [""; 0]);
    assert_eq!(traced.slow, BTreeSet::new());
    for index in ["jobs_finished", "jobs_expiring"] {
        let dropping = store.connection.transaction().unwrap();
        dropping.execute_batch(&format!("DROP INDEX {index}")).unwrap();
        assert!(!long_steps(&dropping, &traced.sql).is_empty(), "nothing uses {index}");
    }
}

#[test]
fn pages_leave_none_out_where_many_finished_at_once() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    let names: Vec<&str> = (0..2_500).map(|n| if n % 3 == 0 { "other" } else { "this" }).collect();
    cancelled(&mut store, &names);
    let filter = PruneFilter { name: Some("this".to_owned()), ..all() };
    let mut told = Vec::new();
    let removed = store
        .prune(&filter, &mut |gone| {
            told.push(gone);
            true
        })
        .unwrap();
    assert_eq!(removed[2], (JobState::Cancelled, 1_666));
    assert_eq!((jobs(&store), told.last()), (834, Some(&1_666)));
    assert!(told.is_sorted() && told[0] > 0 && told[0] < 1_666, "in several transactions: {told:?}");
}

#[test]
fn stopped_at_any_moment_it_leaves_whole_jobs() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    cancelled(&mut store, &vec!["a"; 1_500]);
    let removed = store.prune(&all(), &mut |_| false).unwrap();
    let left = jobs(&store);
    assert!(removed[2].1 > 0 && left > 0, "{removed:?}, {left} left");
    assert_eq!(removed[2].1, 1_500 - u64::try_from(left).unwrap());
    assert_eq!(store.audit().unwrap(), []);
    assert_eq!(store.prune(&all(), &mut |_| true).unwrap()[2].1, u64::try_from(left).unwrap());
}

#[test]
pub(super) fn what_is_put_back_meanwhile_stays_even_if_it_ends_again() {
    let place = Place::empty();
    let (mut store, mut other) = (unsynced(place.open()), unsynced(place.open()));
    cancelled(&mut store, &vec!["a"; 1_000]);
    let mut last = 0;
    store
        .prune(&PruneFilter { until: Timestamp(1_500), ..all() }, &mut |_| {
            // The jobs of this page were found before; of the last two one is waiting, the other ended too late.
            if last == 0 {
                last = number(&other, "SELECT max(id) FROM jobs");
                other.retry(&[last - 1, last], false, CLOCK).unwrap();
                other.cancel(&[last], &|| Timestamp(2_000)).unwrap();
            }
            true
        })
        .unwrap();
    assert_eq!(column(&store, "SELECT state FROM jobs ORDER BY id"), ["pending", "cancelled"]);
    assert_eq!(number(&store, "SELECT min(id) FROM jobs"), last - 1);
    assert_eq!(store.audit().unwrap(), []);
}

#[test]
pub(super) fn only_of_one_name_or_one_queue() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    for (name, queue) in [("a", "one"), ("a", "other"), ("b", "one"), ("b", "other")] {
        let mut spec = spec(name);
        queue.clone_into(&mut spec.queue);
        let id = store.add(&[new_job(spec)], CLOCK).unwrap()[0].id;
        store.cancel(&[id], CLOCK).unwrap();
    }
    for (name, queue, expected) in
        [(Some("a"), Some("other"), 1), (None, Some("one"), 2), (Some("b"), None, 1)]
    {
        let (name, queue) = (name.map(str::to_owned), queue.map(str::to_owned));
        let filter = PruneFilter { name, queue, ..all() };
        let counted = store.count_prunable(&filter).unwrap();
        assert_eq!(counted[2], (JobState::Cancelled, expected));
        assert_eq!(store.prune(&filter, &mut |_| true).unwrap(), counted);
    }
    assert_eq!(jobs(&store), 0);
}

#[test]
pub(super) fn definitions_and_workers_go_when_nothing_needs_them() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    for name in ["a", "b"] {
        enqueue(&mut store, name);
        work(&mut store, name);
    }
    let open = store.register_worker(&worker_row("open")).unwrap();
    let kept = enqueue(&mut store, "kept");
    work(&mut store, "c");
    enqueue(&mut store, "last");
    let filter = PruneFilter { until: Timestamp(1_999), ..all() };
    store.prune(&filter, &mut |_| true).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM definitions"), 4, "nothing finished by then");
    let filter = PruneFilter { name: Some("a".to_owned()), ..all() };
    store.prune(&filter, &mut |_| true).unwrap();
    assert_eq!(column(&store, "SELECT spec ->> 'name' FROM definitions ORDER BY id"), ["b", "kept", "last"]);
    assert_eq!(column(&store, "SELECT name FROM workers ORDER BY id"), ["b", "open", "c"]);
    let filter = PruneFilter { name: Some("b".to_owned()), ..all() };
    store.prune(&filter, &mut |_| true).unwrap();
    assert_eq!(store.history(kept, 1).unwrap()[0].worker_id, "c");
    assert_eq!(store.open_workers().unwrap()[0].id, open);
    assert_eq!(column(&store, "SELECT name FROM workers ORDER BY id"), ["open", "c"]);
    assert_eq!(store.audit().unwrap(), []);
}

#[test]
pub(super) fn a_definition_that_is_taken_up_again_meanwhile_stays() {
    // Whenever the enqueue comes: each moment at which somebody else can write is tried.
    for moment in 1.. {
        let place = Place::empty();
        let (mut store, mut other) = (unsynced(place.open()), unsynced(place.open()));
        enqueue(&mut store, "again");
        work(&mut store, "w");
        enqueue(&mut store, "last");
        let mut calls = 0;
        let removed = store.prune(&all(), &mut |_| {
            calls += 1;
            if calls == moment {
                enqueue(&mut other, "again");
            }
            true
        });
        assert_eq!(removed.unwrap()[0], (JobState::Succeeded, 1));
        assert_eq!(store.audit().unwrap(), [], "enqueued at moment {moment}");
        if calls < moment {
            assert!(moment > 3, "only {calls} moments");
            break;
        }
    }
}

#[test]
pub(super) fn the_id_of_a_definition_never_gets_another_meaning() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    let worker = store.register_worker(&worker_row("w")).unwrap();
    // What a worker remembers of definitions lasts as long as it does.
    let mut definitions = Definitions::default();
    for name in ["a", "b", "c"] {
        enqueue(&mut store, name);
        let request = TurnRequest { worker, queues: None, ended: &[], give_back: &[], idle_slots: 1 };
        let claims = store.turn(&mut definitions, &request, CLOCK).unwrap().claims;
        assert_eq!(claims[0].spec.name, name);
        let ended = [exited(claims[0].job_id, 1, Timestamp(2_000))];
        store
            .turn(&mut definitions, &TurnRequest { ended: &ended, idle_slots: 0, ..request }, CLOCK)
            .unwrap();
        store.prune(&all(), &mut |_| true).unwrap();
        assert_eq!(jobs(&store), 0);
    }
}

#[test]
pub(super) fn jobs_whose_expiry_nobody_recorded_are_counted_as_they_would_go() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    // The first was changed after its expiry, as no job is by this version: it has not died before that.
    for (name, queue) in [("a", "one"), ("a", "one"), ("b", "one"), ("a", "other")] {
        let mut spec = spec(name);
        queue.clone_into(&mut spec.queue);
        spec.expires_in = Some(Millis(5));
        store.add(&[new_job(spec)], CLOCK).unwrap();
    }
    store.connection.execute("UPDATE jobs SET changed_at = 3000 WHERE id = 1", []).unwrap();
    let count = |name: Option<&str>, queue: Option<&str>, until| {
        let (name, queue) = (name.map(str::to_owned), queue.map(str::to_owned));
        let states = vec![JobState::Dead];
        let filter = PruneFilter { states, name, queue, until: Timestamp(until) };
        store.count_prunable(&filter).unwrap()[0].1
    };
    assert_eq!([1_004, 1_005, 2_999, 3_000].map(|until| count(None, None, until)), [0, 3, 3, 4]);
    assert_eq!((count(Some("a"), None, 2_000), count(None, Some("one"), 2_000)), (2, 2));
    assert_eq!(count(Some("a"), Some("one"), 2_000), 1);
}

#[test]
pub(super) fn a_worker_that_ended_lately_stays() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    cancelled(&mut store, &["a"]);
    for (name, ended_at) in [("early", 1_500), ("late", 3_000)] {
        let worker = store.register_worker(&worker_row(name)).unwrap();
        store.worker_ended(worker, Timestamp(ended_at)).unwrap();
    }
    store.prune(&PruneFilter { until: Timestamp(2_000), ..all() }, &mut |_| true).unwrap();
    assert_eq!(column(&store, "SELECT name FROM workers"), ["late"]);
}
