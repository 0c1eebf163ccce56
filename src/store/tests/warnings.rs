//! Successes with a warning: what follows from them, and until when they need attention.

use super::fixture::{Scene, definition, exited, failed, new_job, worker_row};
use crate::model::{
    Bytes, DependencyKind, ErrorCode, ExitCodes, ExitEntry, ExitKey, JobDefinition, JobState,
};
use crate::store::problem::Problem;
use crate::store::{
    Act, Dependency, Done, Filter, JobFilePath, NewJob, PruneFilter, Refusal, StateFilter, Surroundings,
    Version,
};
use crate::text::Timestamp;

/// A job for which exit status 3 is a warning.
fn warning(name: &str) -> JobDefinition {
    let mut definition = definition(name);
    definition.exit.warning = vec![3];
    definition
}

/// The entries of warnings: the name, the warning, how many they are and the ids.
fn warned(scene: &Scene, at: i64) -> Vec<(String, String, u64, Vec<i64>)> {
    let seen = Surroundings { queues: &[], workers: &[], schedules: &[], files: &[], leftovers: &[] };
    let found = scene.store.attention(seen, &Filter::default(), Timestamp(at)).unwrap();
    let warned = found.into_iter().filter_map(|entry| match entry.problem {
        Problem::Warned(warned) => {
            assert!(!entry.alarm, "a warning is no alarm");
            Some((warned.name, warned.warning.to_string(), warned.count.counted, entry.jobs))
        }
        _ => None,
    });
    warned.collect()
}

fn entry(name: &str, jobs: &[i64]) -> (String, String, u64, Vec<i64>) {
    (name.to_owned(), "EXIT_3".to_owned(), jobs.len() as u64, jobs.to_vec())
}

impl Scene {
    /// Runs a job, which is enqueued at this time and ends a little later with this status: 3, or 0.
    fn ran(&mut self, job: NewJob, is_warned: bool, at: i64) -> i64 {
        let id = self.add(job, at);
        let end = if is_warned { failed(id, 1, at + 20) } else { exited(id, 1, Timestamp(at + 20)) };
        self.run(at, at + 5, &end);
        id
    }

    fn resolve(&mut self, id: i64, note: Option<&str>, at: i64) -> Result<Done, Refusal> {
        self.store.at(Timestamp(at)).act(&[id], Act::Resolve { note }).unwrap()[0].outcome
    }
}

#[test]
fn a_warning_is_a_success_for_whatever_waits_for_it_and_is_counted_for_good() {
    let mut scene = Scene::new();
    let first = scene.add(new_job(JobDefinition { unique_key: Some("k".to_owned()), ..warning("a") }), 1_000);
    let after = NewJob {
        dependencies: vec![(Dependency::Job(first), DependencyKind::Success)],
        ..new_job(definition("b"))
    };
    let second = scene.add(after, 1_000);
    scene.run(1_000, 1_000, &failed(first, 1, 2_000));
    let job = scene.store.job(first, Timestamp(2_000)).unwrap().unwrap();
    assert_eq!((job.state, job.shown_status().as_str()), (JobState::Succeeded, "succeeded, exit 3"));
    assert_eq!((job.error_code, job.needs_version), (None, Version::of_minor(2)));
    let attempt = scene.store.attempt(first, 1).unwrap().unwrap();
    assert_eq!((attempt.outcome.as_str(), attempt.error_code), ("succeeded", None));
    assert_eq!(attempt.warning.unwrap().as_str(), "EXIT_3");
    assert_eq!(scene.status(second, 2_000), "ready");
    let again = new_job(JobDefinition { unique_key: Some("k".to_owned()), ..warning("a") });
    assert!(scene.store.at(Timestamp(2_000)).add(&[again]).unwrap()[0].created, "the key is free");
    let totals = |scene: &Scene| scene.store.totals_by_name(Timestamp(9_000)).unwrap()["a"].warnings;
    assert_eq!(totals(&scene), 1);
    scene.run(2_000, 2_000, &exited(second, 1, Timestamp(2_100)));
    let all =
        PruneFilter { states: vec![JobState::Succeeded], name: None, queue: None, until: Timestamp(9_000) };
    assert_eq!(scene.store.at(Timestamp(9_000)).prune(&all, &mut |_| true).unwrap(), 2);
    assert_eq!((totals(&scene), scene.store.audit().unwrap()), (1, Vec::new()));
}

#[test]
fn a_warning_needs_attention_until_a_later_success_comes_without_one() {
    let mut scene = Scene::new();
    let first = scene.ran(new_job(warning("a")), true, 1_000);
    assert_eq!(warned(&scene, 2_000), [entry("a", &[first])]);
    let second = scene.ran(new_job(warning("a")), true, 2_000);
    assert_eq!(warned(&scene, 3_000), [entry("a", &[second, first])]);
    // Another label is other work.
    let eu = NewJob { label: Some("eu".to_owned()), ..new_job(warning("a")) };
    let other = scene.ran(eu.clone(), true, 3_000);
    scene.ran(new_job(warning("a")), false, 4_000);
    assert_eq!(warned(&scene, 5_000), [entry("a", &[other])]);
    scene.ran(eu, false, 5_000);
    assert_eq!(warned(&scene, 6_000), []);
    let listed = |scene: &Scene, filter: &Filter| scene.store.ids(filter, Timestamp(9_000)).unwrap();
    let all = Filter { states: vec![StateFilter::Warned], ..Filter::default() };
    assert_eq!(listed(&scene, &all), [first, second, other]);
    let open = Filter { with_open_warning: true, ..Filter::default() };
    assert_eq!(listed(&scene, &open).len(), 3);
}

#[test]
fn a_success_of_another_job_file_or_of_an_ad_hoc_job_leaves_a_warning() {
    let mut scene = Scene::new();
    let mut file = |path: &str| {
        let file = JobFilePath { path: path.to_owned(), named: path.to_owned(), schedules: Vec::new() };
        Some(scene.store.register_job_file(&file, &[]).unwrap().id)
    };
    let (here, there) = (file("/a/jobs.toml"), file("/b/jobs.toml"));
    let of = |job_file| NewJob { job_file, ..new_job(warning("a")) };
    let first = scene.ran(of(here), true, 1_000);
    let second = scene.ran(of(there), true, 2_000);
    assert_eq!(warned(&scene, 3_000), [entry("a", &[second]), entry("a", &[first])]);
    scene.ran(of(there), false, 3_000);
    assert_eq!(warned(&scene, 4_000), [entry("a", &[first])]);
    let ad_hoc = || new_job(JobDefinition { ad_hoc: true, ..warning("b") });
    let third = scene.ran(ad_hoc(), true, 4_000);
    scene.ran(ad_hoc(), false, 5_000);
    assert_eq!(warned(&scene, 6_000), [entry("b", &[third]), entry("a", &[first])]);
}

#[test]
fn each_name_and_warning_has_an_entry_and_counting_stops() {
    let mut scene = Scene::new();
    for at in 0..6 {
        scene.ran(new_job(warning("a")), true, 1_000 + at * 100);
    }
    let mut named = warning("a");
    let code = ErrorCode::parse("LOOK").unwrap();
    named.exit.job = ExitCodes(vec![ExitEntry { key: ExitKey::Exact(3), code }]);
    let last = scene.ran(new_job(named), true, 2_000);
    let found = warned(&scene, 3_000);
    let shown: Vec<_> =
        found.iter().map(|(_, warning, count, jobs)| (warning.as_str(), *count, jobs.len())).collect();
    assert_eq!(shown, [("LOOK", 1, 1), ("EXIT_3", 4, 4)]);
    assert_eq!(found[0].3, [last]);
    scene.ran(new_job(warning("a")), false, 4_000);
    assert_eq!(warned(&scene, 5_000), []);
}

#[test]
fn a_warning_is_resolved_once_and_counts_as_resolved() {
    let mut scene = Scene::new();
    let plain = scene.ran(new_job(warning("a")), false, 1_000);
    let id = scene.ran(new_job(warning("a")), true, 2_000);
    assert_eq!(scene.resolve(plain, None, 3_000), Err(Refusal::State(JobState::Succeeded)));
    assert_eq!(scene.resolve(id, Some("looked"), 3_000), Ok(Done::Changed));
    assert_eq!(scene.resolve(id, None, 4_000), Ok(Done::Changed));
    let job = scene.store.job(id, Timestamp(5_000)).unwrap().unwrap();
    assert_eq!((job.resolved_at, job.resolution.as_deref()), (Some(Timestamp(3_000)), Some("looked")));
    assert_eq!((job.state, warned(&scene, 5_000)), (JobState::Succeeded, Vec::new()));
    let counts = scene.store.overview(Timestamp(5_000)).unwrap().counts;
    assert_eq!((counts.succeeded, counts.resolved, counts.dead), (2, 1, 0));
    let open = Filter { with_open_warning: true, ..Filter::default() };
    assert_eq!(scene.store.ids(&open, Timestamp(5_000)).unwrap(), [0_i64; 0]);
    assert_eq!(scene.store.audit().unwrap(), []);
}

#[test]
fn a_warning_makes_a_death_good() {
    let mut scene = Scene::new();
    let mut dying = warning("a");
    dying.policy.max_attempts = 1;
    dying.exit.warning = Vec::new();
    let dead = scene.ran(new_job(dying), true, 1_000);
    assert_eq!(scene.status(dead, 1_500), "dead");
    scene.ran(new_job(warning("a")), true, 2_000);
    assert!(scene.store.has_recovered(dead).unwrap());
}

#[test]
fn the_alert_of_a_warning_is_told_of_it_and_calls_nobody_when_it_is_warned_itself() {
    let mut scene = Scene::new();
    let alert = warning("alert");
    let job = JobDefinition {
        on_warning: Some(Box::new(alert)),
        on_dead: Some(Box::new(definition("other"))),
        ..warning("a")
    };
    let id = scene.ran(new_job(job), true, 1_000);
    let claims = scene.turn(&[], 4, 2_000).claims;
    let [alert] = claims.as_slice() else { panic!("{claims:?}") };
    let told =
        |name: &str| alert.definition.env.get(&Bytes::from(name)).map(Bytes::to_text).unwrap_or_default();
    assert_eq!(alert.definition.name, "alert");
    assert_eq!(told("RUNNER_DEAD_JOB_ID"), id.to_string());
    assert_eq!(
        (told("RUNNER_DEAD_REASON"), told("RUNNER_DEAD_ERROR_CODE")),
        ("warning".into(), "EXIT_3".into())
    );
    let ended = failed(alert.job_id, 1, 2_100);
    assert!(scene.turn(&[ended], 4, 2_100).claims.is_empty());
    assert_eq!(scene.status(alert.job_id, 2_200), "succeeded");
}

#[test]
fn what_is_wrong_with_a_warning_is_found() {
    let mut scene = Scene::new();
    scene.ran(new_job(warning("a")), true, 1_000);
    scene.store.register_worker(&worker_row("x")).unwrap();
    for (damage, expected) in [
        (
            "UPDATE jobs SET warning = 'OTHER'",
            "job 1 has the warning OTHER, and its last attempt tells another story",
        ),
        (
            "UPDATE jobs SET warning = NULL",
            "job 1 has the warning none, and its last attempt tells another story",
        ),
        ("UPDATE warning_totals SET warnings = 0", "a has had 1 warning, and fewer were counted"),
        (
            "UPDATE jobs SET warning = NULL, warning_resolved_at = 5",
            "a warning of job 1 was resolved, and there is none",
        ),
    ] {
        scene.store.connection.execute_batch(&format!("BEGIN; {damage}")).unwrap();
        let found = scene.store.audit().unwrap();
        scene.store.connection.execute_batch("ROLLBACK").unwrap();
        assert!(found.iter().any(|broken| broken.what == expected), "{damage}: {found:?}");
    }
}
