//! The definitions in a file without mistakes.

use std::collections::BTreeMap;
use std::path::Path;

use super::EXAMPLE;
use crate::jobfile::keys::Section;
use crate::jobfile::{Declared, JobFile};
use crate::model::{
    Backoff, Bytes, Command, ErrorCode, ExitRules, Jitter, JobSpec, PolicyLayer, Status, Strategy,
};
use crate::text::Millis;

fn parse(text: &str) -> JobFile {
    JobFile::parse(Path::new("/srv/app/jobs.toml"), text).unwrap_or_else(|it| panic!("{it}"))
}

fn only(text: &str) -> Declared {
    let mut file = parse(text);
    assert_eq!(file.jobs.len(), 1);
    file.jobs.remove(0)
}

fn constant(seconds: u64) -> Backoff {
    let delay = Millis::from_secs(seconds);
    Backoff { strategy: Strategy::Constant { delay }, jitter: Jitter::DEFAULT }
}

#[test]
fn a_job_that_says_nothing_has_the_defaults() {
    let job = only("[jobs.a]\ncommand = 'true'\n");
    let plain = JobSpec::new("a", Command::Shell("true".into()), "/srv/app".into());
    assert_eq!(job.spec, plain);
    assert_eq!(job.layers, [PolicyLayer::default(), PolicyLayer::default()]);
    assert_eq!(job.description, None);
    assert_eq!(parse("").jobs, []);
}

#[test]
fn a_job_replaces_defaults_whole_and_env_by_entry() {
    let job = only(
        r#"
        [defaults]
        env = { A = "far", B = "far" }
        queue = "far"
        timeout = "1m"
        grace_period = "0s"
        max_attempts = 9
        backoff = { initial = "2s", jitter = false }
        never_retry_for = ["EXIT_2"]
        [jobs.a]
        command = ["printf", "", "%s"]
        env = { B = "near", C = "near" }
        timeout = "1h 30m"
        backoff = "5s"
        never_retry_for = []
        "#,
    );
    let env = [("A", "far"), ("B", "near"), ("C", "near")];
    let env: BTreeMap<_, _> = env.map(|(k, v)| (Bytes::from(k), Bytes::from(v))).into();
    assert_eq!(job.spec.env, env);
    assert_eq!(job.spec.queue, "far");
    assert_eq!(job.spec.timeout, Some(Millis::from_secs(5_400)));
    assert_eq!(job.spec.grace_period, Millis(0));
    assert_eq!(job.spec.policy.max_attempts, 9);
    assert_eq!(job.spec.policy.backoff, constant(5));
    assert!(job.spec.policy.never_retry_for.is_empty());
    let words = ["printf", "", "%s"].map(Bytes::from).to_vec();
    assert_eq!(job.spec.command, Command::Argv(words));
    assert_eq!(job.layers[0].backoff, Some(constant(5)));
    assert_eq!(job.layers[1].max_attempts, Some(9));
}

#[test]
fn every_form_of_backoff_is_read() {
    let backoff = |text: &str| {
        let text = format!("[jobs.a]\ncommand = 'true'\nbackoff = {text}\n");
        only(&text).spec.policy.backoff
    };
    let list = |delays: &[u64], repeat_last| Strategy::List {
        delays: delays.iter().map(|s| Millis::from_secs(*s)).collect(),
        repeat_last,
    };
    assert_eq!(backoff("'10m'"), constant(600));
    assert_eq!(backoff("['5s', '1m']").strategy, list(&[5, 60], false));
    assert_eq!(backoff("{}").strategy, Strategy::exponential());
    let repeated = backoff("{ strategy = 'list', delays = ['1s'], repeat_last = true }");
    assert_eq!(repeated.strategy, list(&[1], true));
    let growing = backoff("{ initial = '0s', multiplier = 3, max = '0s', jitter = 1 }");
    assert_eq!(growing.jitter, Jitter::Fraction(1.0));
    assert_eq!(
        growing.strategy,
        Strategy::Exponential { initial: Millis(0), multiplier: 3.0, max: Millis(0) }
    );
    let linear = backoff("{ strategy = 'linear', jitter = '100ms' }");
    assert_eq!(linear.jitter, Jitter::Absolute(Millis(100)));
    assert_eq!(linear.strategy.nominal(2), Millis::from_secs(120));
}

#[test]
fn lists_fix_the_number_of_runs() {
    for (defaults, job, runs) in [
        ("", "backoff = ['1s', '2s']", 3),
        ("", "backoff = ['1s', '2s']\nmax_attempts = 3", 3),
        ("", "max_attempts = 9\nbackoff = { strategy = 'list', delays = ['1s'], repeat_last = true }", 9),
        ("backoff = ['1s', '2s']", "max_attempts = 2", 2),
        ("backoff = { strategy = 'list', delays = ['1s'], repeat_last = true }", "max_attempts = 7", 7),
        ("backoff = ['1s', '2s']", "max_attempts = 7\nbackoff = '1s'", 7),
        ("max_attempts = 7", "backoff = ['1s', '2s']", 3),
        ("retryable = false", "max_attempts = 2", 1),
        ("", "retryable = false\nbackoff = ['1s']", 1),
        ("max_attempts = 7", "retryable = false", 1),
    ] {
        let text = format!("[defaults]\n{defaults}\n[jobs.a]\ncommand = 'true'\n{job}\n");
        assert_eq!(only(&text).spec.policy.runs(), runs, "{text}");
    }
}

#[test]
fn the_successes_of_another_level_do_not_contradict_a_mapping() {
    let text = "[defaults]\nsuccess_exit_codes = [3]\n[jobs.a]\ncommand = 'true'\nexit_codes = { 0 = 'ZERO', 3 = 'THREE' }";
    assert_eq!(only(text).spec.exit.success, [3]);
    let text = "exit_codes = { 3 = 'THREE' }\n[jobs.a]\ncommand = 'true'\nsuccess_exit_codes = [0, 3]";
    assert_eq!(only(text).spec.exit.file.0.len(), 1);
    let text = "exit_codes = { 0 = 'ZERO' }\n[jobs.a]\ncommand = 'true'\nsuccess_exit_codes = [1]";
    let rules = ExitRules { success: vec![1], ..only(text).spec.exit };
    assert_eq!(rules.code_of(Status::Exited(0)), ErrorCode::parse("ZERO").unwrap());
}

#[test]
fn the_example_shows_every_key() {
    let code = EXAMPLE.lines().map(|line| line.split('#').next().unwrap_or_default());
    let code = code.collect::<Vec<_>>().join("\n");
    for key in [Section::File, Section::Defaults, Section::Job, Section::Backoff].map(Section::keys).concat()
    {
        let given = [format!("{key} = "), format!("[{key}]"), format!(".{key}]"), format!("[{key}.")];
        assert!(given.iter().any(|form| code.contains(form)), "{key}");
    }
}

#[test]
fn every_key_that_is_allowed_is_read() {
    for (place, header) in [
        (Section::Defaults, "[defaults]"),
        (Section::Job, "[jobs.a]"),
        (Section::Backoff, "[jobs.a.backoff]"),
    ] {
        for key in place.keys() {
            let text = format!("{header}\n{key} = 1979-05-27\n");
            let mistakes = JobFile::parse(Path::new("/j"), &text).unwrap_err().to_string();
            assert!(mistakes.contains("a date or time") || mistakes.contains("has no `"), "{mistakes}");
        }
    }
}
