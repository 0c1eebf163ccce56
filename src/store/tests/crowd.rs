//! Many connections on one file.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use super::fixture::{Place, definition, exited, new_job, worker_row};
use crate::model::Bytes;
use crate::store::{DefinitionCache, NewJob, Store, TurnRequest};
use crate::text::Timestamp;

const WRITERS: usize = 8;

/// Transactions of each writer.
const ROUNDS: usize = 300;

#[test]
fn eight_writers_never_see_busy_and_never_share_a_job() {
    let place = Place::empty();
    drop(place.open());
    let file = &place.file;
    let ran: Vec<Vec<i64>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|n| scope.spawn(move || write(file.clone(), n))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let all: Vec<i64> = ran.into_iter().flatten().collect();
    let distinct: BTreeSet<i64> = all.iter().copied().collect();
    assert_eq!(all.len(), distinct.len(), "a job was claimed twice");
    let store = place.open();
    let enqueued = i64::try_from(WRITERS * ROUNDS / 2).unwrap();
    let last: i64 = store.connection.query_row("SELECT max(id) FROM jobs", [], |row| row.get(0)).unwrap();
    assert_eq!(last, enqueued);
    let left = store.count_unfinished(None).unwrap();
    assert_eq!(usize::try_from(left).unwrap() + distinct.len(), WRITERS * ROUNDS / 2);
}

/// Enqueues and works in turns; gives the jobs that it ran. The last turn claims nothing.
fn write(file: crate::store::StoreFile, n: usize) -> Vec<i64> {
    let mut store = Store::open(file).unwrap();
    store.at(Timestamp(1_000));
    let mut definitions = DefinitionCache::default();
    let worker = store.register_worker(&worker_row(&format!("w{n}"))).unwrap();
    let (mut ran, mut ended) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS / 2 {
        store.add(&[new_job(definition("a"))]).unwrap();
        let idle_slots = usize::from(round + 1 < ROUNDS / 2);
        let request = TurnRequest { ended: &ended, idle_slots, ..TurnRequest::of(worker) };
        let turn = store.turn(&mut definitions, &request).unwrap();
        ran.extend(turn.claims.iter().map(|claim| claim.job_id));
        ended =
            turn.claims.iter().map(|claim| exited(claim.job_id, claim.number, Timestamp(1_000))).collect();
    }
    ran
}

#[test]
fn sixteen_that_create_at_once_share_one_file() {
    for _ in 0..5 {
        let place = Place::empty();
        let barrier = Barrier::new(16);
        let ids: Vec<i64> = thread::scope(|scope| {
            let creators: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let mut store = Store::open_or_create(place.file.clone()).unwrap();
                        store.at(Timestamp(1)).add(&[new_job(definition("a"))]).unwrap()[0].id
                    })
                })
                .collect();
            creators.into_iter().map(|creator| creator.join().unwrap()).collect()
        });
        assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), (1..=16).collect());
    }
}

#[test]
fn a_file_that_others_open_write_and_close_is_never_taken_for_damaged() {
    let place = Place::empty();
    drop(place.open());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..150 {
                    let mut store = Store::open(place.file.clone()).unwrap();
                    let job = NewJob { args: vec![Bytes(vec![b'x'; 20_000])], ..new_job(definition("a")) };
                    store.at(Timestamp(1)).add(&[job]).unwrap();
                }
            });
        }
    });
    assert_eq!(place.open().count_unfinished(None).unwrap(), 300);
}
