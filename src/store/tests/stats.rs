//! Numbers by name, from a history whose times are known.

use super::fixture::{Scene, definition, due_at, exited, failed, lost, new_job};
use crate::model::{EndCause, Jitter, Status, Strategy};
use crate::store::{Act, Due, Filter, NameStats, NewJob};
use crate::text::{Millis, Timestamp};

/// A job of this name with two runs, the second 100 ms after the first.
fn twice(name: &str) -> NewJob {
    runs(name, 2)
}

/// A job of this name with so many runs, each 100 ms after the one before.
fn runs(name: &str, number: u32) -> NewJob {
    let mut definition = definition(name);
    let policy = &mut definition.policy;
    policy.max_attempts = number;
    policy.backoff.strategy = Strategy::Constant { delay: Millis(100) };
    policy.backoff.jitter = Jitter::NONE;
    new_job(definition)
}

impl Scene {
    fn of(&mut self, name: &str, since: Option<i64>) -> NameStats {
        let filter = Filter { since: since.map(Timestamp), ..Filter::default() };
        self.store
            .stats(&filter, Timestamp(50_000))
            .unwrap()
            .into_iter()
            .find(|of| of.name == name)
            .unwrap_or_default()
    }
}

#[test]
fn jobs_attempts_and_how_long_they_ran_and_waited() {
    let mut scene = Scene::new();
    let job = scene.add(twice("a"), 1_000);
    // Due at 1000, but of a first run that was retried that is not kept; due again at 1300 + 100.
    scene.run(1_050, 1_100, &failed(job, 1, 1_300));
    scene.run(1_420, 1_430, &exited(job, 2, Timestamp(1_530)));
    let job = scene.add(NewJob { due: Due::At(Timestamp(5_000)), ..twice("a") }, 2_000);
    scene.run(5_001, 5_007, &exited(job, 1, Timestamp(5_047)));
    let a = scene.of("a", None);
    assert_eq!((a.succeeded, a.dead, a.cancelled, a.attempts, a.successes), (2, 0, 0, 3, 2));
    assert_eq!((a.success_rate(), a.attempts_per_success()), (Some(1.0), Some(1.5)));
    assert_eq!([50, 95].map(|p| a.runs.percentile(p).unwrap().0), [100, 200]);
    assert_eq!(a.waits.max(), Some(Millis(30)));
    assert_eq!(a.waits.percentile(50), Some(Millis(7)));
    assert_eq!(a.last_failure, Some((Timestamp(1_300), "EXIT_3".to_owned())));
    assert_eq!(a.last_success, Some(Timestamp(5_047)));
}

#[test]
fn a_retry_was_due_when_its_delay_was_over() {
    let mut scene = Scene::new();
    let job = scene.add(runs("a", 4), 1_000);
    scene.run(1_000, 1_000, &failed(job, 1, 1_300));
    scene.run(1_410, 1_420, &failed(job, 2, 1_500));
    scene.run(1_610, 1_630, &failed(job, 3, 1_700));
    let a = scene.of("a", None);
    assert_eq!([50, 100].map(|percent| a.waits.percentile(percent).unwrap().0), [20, 30]);
}

#[test]
fn only_what_ended_since() {
    let mut scene = Scene::new();
    let job = scene.add(twice("a"), 1_000);
    scene.run(1_000, 1_000, &failed(job, 1, 2_000));
    scene.run(2_100, 2_100, &failed(job, 2, 3_000));
    let all = scene.of("a", Some(2_000));
    assert_eq!((all.dead, all.attempts), (1, 2));
    let late = scene.of("a", Some(2_001));
    assert_eq!((late.dead, late.attempts, late.runs.max()), (1, 1, Some(Millis(900))));
    let none = scene.of("a", Some(3_001));
    assert_eq!((none.jobs(), none.attempts, none.last_failure), (0, 0, None));
}

#[test]
fn what_was_cut_short_says_nothing_about_how_long_it_runs() {
    let mut scene = Scene::new();
    let job = scene.add(twice("a"), 1_000);
    let cut = |cause, number, at| {
        let mut ended = exited(job, number, Timestamp(at));
        (ended.end.cause, ended.end.status) = (Some(cause), Some(Status::Signaled(15)));
        ended
    };
    let interrupted = cut(EndCause::Interrupted, 1, 2_000);
    scene.run(1_000, 1_000, &interrupted);
    assert_eq!(scene.of("a", None).last_failure, None);
    scene.run(2_000, 2_010, &lost(job, 2, Timestamp(3_000)));
    let crashed = scene.of("a", None);
    assert_eq!(crashed.runs.max(), None);
    assert_eq!(crashed.waits.max(), Some(Millis(10)), "an interrupted one is due again at once");
    assert_eq!(crashed.last_failure, Some((Timestamp(3_000), "WORKER_CRASHED".to_owned())));
    let timed_out = cut(EndCause::TimedOut, 3, 4_000);
    scene.run(3_200, 3_200, &timed_out);
    assert_eq!(scene.of("a", None).runs.max(), Some(Millis(800)));
}

#[test]
fn a_retry_that_was_made_due_earlier_has_not_waited_less_than_nothing() {
    let mut scene = Scene::new();
    let job = scene.add(twice("a"), 1_000);
    scene.run(1_000, 1_000, &failed(job, 1, 1_100));
    scene.store.at(Timestamp(1_120)).act(&[job], Act::Change(&due_at(Timestamp(0)))).unwrap();
    scene.run(1_120, 1_125, &failed(job, 2, 1_200));
    assert_eq!(scene.of("a", None).waits.max(), Some(Millis(5)), "the last due time is kept");
    scene.store.at(Timestamp(9_000)).act(&[job], Act::Retry { force: false }).unwrap();
    assert_eq!(scene.of("a", None).waits.max(), None, "it is no longer");
}

#[test]
fn a_job_that_expired_counts_as_dead_recorded_or_not() {
    let mut scene = Scene::new();
    let mut short = twice("short");
    std::sync::Arc::make_mut(&mut short.definition).expires_in = Some(Millis(10));
    scene.add(short.clone(), 1_000);
    let unseen = scene.of("short", None);
    assert_eq!((unseen.dead, &unseen.last_failure), (1, &Some((Timestamp(1_010), "EXPIRED".to_owned()))));
    assert_eq!(scene.of("short", Some(1_011)).dead, 0);
    scene.store.at(Timestamp(40_000)).record_expiry(1).unwrap();
    let recorded = scene.of("short", None);
    assert_eq!((recorded.dead, recorded.last_failure), (1, unseen.last_failure));
}
