//! What a `run` finds of the runs before it.

use super::fixture::{Scene, definition, new_job, worker_row};
use crate::store::{DefinitionCache, NewJob, Others, RunStart, Takes, TurnRequest, Worker};
use crate::text::Timestamp;

/// Registers a `run` of this name.
fn register(scene: &mut Scene, name: &str) -> i64 {
    scene.store.register_worker(&Worker { queues: Some(Vec::new()), ..worker_row(name) }).unwrap()
}

/// Each of these runs is for the same work, and no worker takes its queue.
fn start(scene: &mut Scene, run: i64, is_dead: impl Fn(i64) -> bool) -> RunStart {
    let job = NewJob { run_worker_id: Some(run), ..new_job(definition("night")) };
    scene
        .store
        .at(Timestamp(1))
        .start_run(run, &[job], false, Others { would_start: &|_, _| false, is_dead: &is_dead })
        .unwrap()
}

#[test]
fn what_a_dead_run_was_running_is_taken_on_before_anybody_could_recover_it() {
    let mut scene = Scene::new();
    let [first, second, third] = ["a", "b", "c"].map(|name| register(&mut scene, name));
    assert_eq!(start(&mut scene, first, |_| false), RunStart::Enqueued(1));
    let request = TurnRequest { takes: Takes::OwnJobs, idle_slots: 1, ..TurnRequest::of(first) };
    let turn = scene.store.at(Timestamp(2)).turn(&mut DefinitionCache::default(), &request).unwrap();
    assert_eq!(turn.claims.len(), 1);
    assert_eq!(start(&mut scene, second, |_| false), RunStart::Enqueued(2), "the first one lives");
    assert_eq!(start(&mut scene, third, |worker| worker == first), RunStart::TakenOn(1));
}
