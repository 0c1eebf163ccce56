//! Dependencies with a schedule of their own: how old a success may be, and that what a job waits for fires before it, however
//! much else is due.

use std::collections::BTreeMap;

use super::fixture::{Scene, definition, new_job};
use crate::model::{Chain, DependencyKind, Link, Missed, OwnSchedule, ScheduleText};
use crate::store::{Declarations, DeclaredSchedule, Dependency, NewJob, ScheduledRun};
use crate::text::{Millis, Timestamp};

fn hourly(name: &str, after: &[&str]) -> DeclaredSchedule {
    let own_schedule = Some(OwnSchedule { fresh_within: None });
    let link = |name: &&str| Link { own_schedule, ..Link::new(definition(name)) };
    let root = Link { after: (0..after.len()).collect(), ..Link::new(definition(name)) };
    let text = ScheduleText {
        lines: vec!["every 1h".to_owned()],
        timezone: None,
        missed: Missed::Once,
        missed_within: None,
        fresh_within: None,
        random_delay: None,
    };
    DeclaredSchedule {
        chain: Chain { dependencies: after.iter().map(link).collect(), root },
        text,
        zone: None,
    }
}

fn apply(scene: &mut Scene, file: &str, schedules: &[DeclaredSchedule], at: i64) {
    let queues = BTreeMap::new();
    let declared =
        Declarations { file, schedules, boot_id: "boot", queues: &queues, take_over: &["/one".to_owned()] };
    scene.store.at(Timestamp(at)).apply(declared).unwrap();
}

#[test]
fn a_success_is_fresh_up_to_the_last_millisecond_and_not_in_the_future() {
    let own_schedule = Some(OwnSchedule { fresh_within: Some(Millis(5_000)) });
    for (at, found) in [
        (10_999, ScheduledRun::TooOld(1)),
        (11_000, ScheduledRun::Counts(1)),
        (16_000, ScheduledRun::Counts(1)),
        (16_001, ScheduledRun::TooOld(1)),
    ] {
        let mut scene = Scene::new();
        scene.succeed("a", 10_000);
        let before = NewJob { is_dependency: true, own_schedule, ..new_job(definition("a")) };
        let after = vec![(Dependency::InCall(0), DependencyKind::Success)];
        let jobs = [before, NewJob { dependencies: after, ..new_job(definition("b")) }];
        let enqueued = scene.store.at(Timestamp(at)).add(&jobs).unwrap();
        assert_eq!(enqueued[0].scheduled_run, Some(found), "{at}");
        assert_eq!(enqueued[0].created, found != ScheduledRun::Counts(1));
    }
}

#[test]
fn a_dependency_that_is_due_fires_in_the_same_turn_as_what_is_after_it() {
    let mut scene = Scene::new();
    let others: Vec<String> = (0..150).map(|index| format!("m{index:03}")).collect();
    let mut schedules: Vec<_> = others.iter().map(|name| hourly(name, &[])).collect();
    schedules.push(hourly("a", &["z"]));
    schedules.push(hourly("z", &[]));
    apply(&mut scene, "/one", &schedules, 0);
    scene.turn(&[], 0, 3_600_000);
    assert_eq!(scene.column("SELECT name FROM jobs ORDER BY id LIMIT 3"), ["z", "a", "m000"]);
    let waits =
        "SELECT count(*) || ' ' || (SELECT name FROM jobs WHERE id = dependency_id) FROM dependencies";
    assert_eq!(scene.column(waits), ["1 z"]);
    scene.turn(&[], 0, 3_600_000);
    assert_eq!(scene.column("SELECT count(*) || '' FROM jobs"), ["152"]);
}

#[test]
fn schedules_of_two_files_with_the_same_names_wait_for_their_own_jobs() {
    let mut scene = Scene::new();
    apply(&mut scene, "/one", &[hourly("a", &["b"]), hourly("b", &[])], 0);
    apply(&mut scene, "/two", &[hourly("b", &["a"])], 0);
    scene.turn(&[], 0, 3_600_000);
    // Each brings the job of its own file that it is after.
    let jobs = "SELECT name || ' ' || (scheduled_for || ' ' || unmet_dependencies) FROM jobs ORDER BY id";
    assert_eq!(scene.column(jobs), ["a 3600000 0", "b 3600000 1", "b 3600000 0", "a 3600000 1"]);
    let edges = "SELECT job_id || ' after ' || dependency_id FROM dependencies ORDER BY job_id";
    assert_eq!(scene.column(edges), ["2 after 1", "4 after 3"]);
}
