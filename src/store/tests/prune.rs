//! Removing finished jobs: in pages, while others go on, stopped at any moment, and with all that only they needed.

use super::fixture::{Scene, definition, exited, new_job, worker_row};
use crate::model::JobState;
use crate::store::{Act, NewJob, PruneFilter};
use crate::text::Timestamp;

/// Everything that has finished.
fn all() -> PruneFilter {
    let states = vec![JobState::Succeeded, JobState::Dead, JobState::Cancelled];
    PruneFilter { states, name: None, queue: None, until: Timestamp(100_000) }
}

fn of_name(name: &str) -> PruneFilter {
    PruneFilter { name: Some(name.to_owned()), ..all() }
}

/// Cancelled jobs of these names, all in the same millisecond.
fn cancelled(names: &[&str]) -> Scene {
    let mut scene = Scene::new();
    let jobs: Vec<NewJob> = names.iter().map(|name| new_job(definition(name))).collect();
    let ids: Vec<i64> =
        scene.store.at(Timestamp(1_000)).add(&jobs).unwrap().iter().map(|job| job.id).collect();
    scene.store.at(Timestamp(1_000)).act(&ids, Act::Cancel).unwrap();
    scene
}

fn jobs(scene: &Scene) -> u64 {
    scene.column("SELECT name FROM jobs").len() as u64
}

#[test]
fn pages_leave_none_out_if_many_finished_at_once() {
    let names: Vec<&str> = (0..2_500).map(|n| if n % 3 == 0 { "other" } else { "this" }).collect();
    let mut scene = cancelled(&names);
    let mut told = Vec::new();
    let mut go_on = |gone| {
        told.push(gone);
        true
    };
    let removed = scene.store.prune(&of_name("this"), &mut go_on).unwrap();
    assert_eq!(removed, 1_666);
    assert_eq!((jobs(&scene), told.last()), (834, Some(&1_666)));
    assert!(told.is_sorted() && told[0] > 0 && told[0] < 1_666, "in several transactions: {told:?}");
}

#[test]
fn a_job_that_is_retried_meanwhile_stays_even_if_it_ends_again() {
    let mut scene = cancelled(&vec!["a"; 1_000]);
    let mut other = scene.other();
    let mut retried = false;
    let mut go_on = |_| {
        // All jobs of this page were found before. Of the last two, one waits then, and one ended too late.
        if !std::mem::replace(&mut retried, true) {
            other.at(Timestamp(1_000)).act(&[999, 1_000], Act::Retry { force: false }).unwrap();
            other.at(Timestamp(2_000)).act(&[1_000], Act::Cancel).unwrap();
        }
        true
    };
    scene.store.prune(&PruneFilter { until: Timestamp(1_500), ..all() }, &mut go_on).unwrap();
    assert_eq!(scene.column("SELECT id || state FROM jobs"), ["999pending", "1000cancelled"]);
    assert_eq!(scene.store.audit().unwrap(), []);
}

#[test]
fn definitions_and_workers_go_when_nothing_needs_them() {
    let mut scene = Scene::new();
    for (name, at) in [("a", 1_000), ("b", 1_000), ("kept", 1_000)] {
        scene.succeed(name, at);
    }
    let late = scene.store.register_worker(&worker_row("late")).unwrap();
    scene.store.at(Timestamp(200_000)).worker_ended(late).unwrap();
    scene.add(new_job(definition("last")), 1_000);
    let mut left = |filter: &PruneFilter| {
        scene.store.prune(filter, &mut |_| true).unwrap();
        assert_eq!(scene.store.audit().unwrap(), []);
        let definitions = scene.column("SELECT definition ->> 'name' FROM job_definitions ORDER BY id");
        (definitions.join(" "), scene.column("SELECT name FROM workers ORDER BY id").join(" "))
    };
    let names = |definitions: &str, workers: &str| {
        let workers: Vec<_> = workers.split(' ').map(|name| worker_row(name).name).collect();
        (definitions.to_owned(), workers.join(" "))
    };
    let early = PruneFilter { until: Timestamp(1_999), ..all() };
    assert_eq!(left(&early), names("a b kept last", "w a b kept late"), "nothing finished by then");
    assert_eq!(left(&of_name("a")), names("b kept last", "w b kept late"));
    assert_eq!(left(&of_name("b")), names("kept last", "w kept late"));
}

#[test]
fn a_definition_that_is_used_again_meanwhile_stays() {
    // Each moment at which another process can write is tried.
    for moment in 1.. {
        let mut scene = Scene::new();
        scene.succeed("again", 1_000);
        scene.add(new_job(definition("last")), 1_000);
        let mut other = scene.other();
        let mut calls = 0;
        let mut go_on = |_| {
            calls += 1;
            if calls == moment {
                other.at(Timestamp(1_000)).add(&[new_job(definition("again"))]).unwrap();
            }
            true
        };
        assert_eq!(scene.store.prune(&all(), &mut go_on).unwrap(), 1);
        assert_eq!(scene.store.audit().unwrap(), [], "enqueued at moment {moment}");
        if calls < moment {
            assert!(moment > 3, "only {calls} moments");
            break;
        }
    }
}

#[test]
fn the_id_of_a_definition_never_gets_another_meaning() {
    // The worker of a scene remembers definitions.
    let mut scene = Scene::new();
    for name in ["a", "b", "c"] {
        let id = scene.add(new_job(definition(name)), 1_000);
        assert_eq!(scene.turn(&[], 1, 1_000).claims[0].definition.name, name);
        scene.turn(&[exited(id, 1, Timestamp(2_000))], 0, 2_000);
        scene.store.prune(&all(), &mut |_| true).unwrap();
        assert_eq!(jobs(&scene), 0);
    }
}
