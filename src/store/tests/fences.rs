//! Fences: a transition is refused to everybody but the worker that holds the job, for the attempt that it holds.

use super::fixture::{Scene, definition, exited, failed, lost, new_job, worker_row};
use crate::model::{AttemptOutput, Event, StreamBytes};
use crate::store::{DefinitionCache, LiveOutput, StoreError, TurnRequest};
use crate::text::Timestamp;

/// Job 1 runs in worker 1, and worker 2 has nothing.
fn scene() -> (Scene, i64, i64) {
    let mut scene = Scene::new();
    scene.add(new_job(definition("a")), 1_000);
    assert_eq!(scene.turn(&[], 1, 1_000).claims.len(), 1);
    let holder = scene.worker;
    let other = scene.store.register_worker(&worker_row("other")).unwrap();
    (scene, holder, other)
}

#[test]
fn only_the_holder_finishes_its_own_attempt_and_once() {
    let (mut scene, holder, other) = scene();
    let mut recorded = |worker, job, number| {
        scene.worker = worker;
        let ended = [exited(job, number, Timestamp(2_000))];
        matches!(scene.turn(&ended, 0, 2_000).events[..], [Event::AttemptEnded(_)])
    };
    let refused = [(other, 1, 1), (holder, 1, 2), (holder, 2, 1)];
    assert!(!refused.into_iter().any(|(worker, job, number)| recorded(worker, job, number)));
    assert!(recorded(holder, 1, 1));
    assert!(!recorded(holder, 1, 1), "it was told before");
}

#[test]
fn only_the_holder_gives_a_claim_back_or_saves_its_output() {
    let (mut scene, holder, other) = scene();
    let output = AttemptOutput {
        stdout: StreamBytes { bytes: b"x".to_vec(), ..StreamBytes::default() },
        ..AttemptOutput::default()
    };
    for (worker, number, saved) in [(other, 1, 0), (holder, 2, 0), (holder, 1, 1)] {
        let live = LiveOutput { job_id: 1, number, started_at: Timestamp(900), output: output.clone() };
        scene.store.save_live_outputs(worker, &[live]).unwrap();
        assert_eq!(scene.store.live_lengths(1, number).unwrap().0, saved);
    }
    let mut definitions = DefinitionCache::default();
    for (worker, status) in [(other, "running"), (holder, "ready")] {
        let request = TurnRequest { release: &[1], ..TurnRequest::of(worker) };
        scene.store.at(Timestamp(1_000)).turn(&mut definitions, &request).unwrap();
        assert_eq!(scene.status(1, 1_000), status);
    }
}

#[test]
fn a_claim_that_comes_back_is_due_although_the_clock_was_set_back() {
    let (mut scene, worker, _) = scene();
    let request = TurnRequest { release: &[1], ..TurnRequest::of(worker) };
    scene.store.at(Timestamp(10)).turn(&mut DefinitionCache::default(), &request).unwrap();
    assert_eq!(scene.turn(&[], 1, 10).claims.len(), 1);
}

#[test]
fn a_worker_that_holds_a_job_is_not_closed() {
    let (mut scene, holder, other) = scene();
    for worker in [holder, other] {
        scene.store.at(Timestamp(2_000)).worker_ended(worker).unwrap();
    }
    let open: Vec<i64> = scene.store.open_workers().unwrap().iter().map(|row| row.id).collect();
    assert_eq!(open, [holder]);
}

#[test]
fn a_claim_that_no_recovery_could_end_is_damage() {
    let (mut scene, holder, _) = scene();
    let mut recover = |number| {
        let lost = [lost(1, number, Timestamp(1_000))];
        scene.store.at(Timestamp(1_000)).recover(&mut DefinitionCache::default(), holder, &lost, &[])
    };
    let error = recover(2).unwrap_err();
    assert!(matches!(&error, StoreError::Damaged(..)) && error.to_string().contains("job 1"), "{error}");
    let events = recover(1).unwrap();
    assert!(
        matches!(events[..], [Event::AttemptLost(_), Event::AttemptEnded(_)]),
        "nothing of that was written"
    );
    assert_eq!(recover(1).unwrap(), [], "somebody else did so before");
}

#[test]
fn a_turn_that_is_undone_leaves_no_definition_behind() {
    let mut scene = Scene::new();
    let mut dying = definition("dying");
    dying.policy.retryable = false;
    dying.on_dead = Some(Box::new(definition("alert")));
    let id = scene.add(new_job(dying), 1_000);
    scene.turn(&[], 1, 1_000);
    let fail = "CREATE TEMP TRIGGER fail BEFORE UPDATE ON jobs WHEN NEW.name = 'alert'
                BEGIN SELECT RAISE(ABORT, 'no'); END";
    scene.store.connection.execute_batch(fail).unwrap();
    let ended = [failed(id, 1, 2_000)];
    let mut definitions = DefinitionCache::default();
    let request = TurnRequest { ended: &ended, idle_slots: 1, ..TurnRequest::of(scene.worker) };
    scene.store.at(Timestamp(2_000)).turn(&mut definitions, &request).unwrap_err();
    scene.store.connection.execute_batch("DROP TRIGGER fail").unwrap();
    // This one gets the id that the definition of the alert had.
    scene.other().at(Timestamp(2_000)).add(&[new_job(definition("other"))]).unwrap();
    let request = TurnRequest { idle_slots: 2, ..request };
    let claims = scene.store.at(Timestamp(2_000)).turn(&mut definitions, &request).unwrap().claims;
    let names: Vec<_> = claims.iter().map(|claim| claim.definition.name.as_str()).collect();
    assert_eq!(names, ["other", "alert"]);
}
