//! `inspect --openmetrics`: the numbers, and what Prometheus says of them.

use std::fs;
use std::path::Path;

use crate::support::{Call, Finished, Sandbox, many_kinds};

/// Runs promtool, if it is there.
fn promtool(sandbox: &Sandbox, words: &str, input: &str) -> Option<Finished> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("promtool").exists()) {
        println!("skipped: there is no promtool");
        return None;
    }
    Some(words.split(' ').fold(sandbox.program("promtool"), Call::arg).stdin(input).run())
}

#[track_caller]
fn metrics(sandbox: &Sandbox) -> String {
    let text = sandbox.run("inspect --openmetrics").ok().quietly().stdout;
    assert!(text.ends_with("# EOF\n"), "{text}");
    if let Some(said) = promtool(sandbox, "check metrics", &text) {
        assert_eq!((said.status(), said.stdout.as_str(), said.stderr.as_str()), (Some(0), "", ""), "{text}");
    }
    text
}

/// The value of a sample, its database left out.
#[track_caller]
fn value(text: &str, sample: &str) -> f64 {
    let line = text.lines().find_map(|line| {
        let (labels, value) = line.rsplit_once(' ')?;
        let (name, labels) = labels.split_once("{db=\"")?;
        let labels = labels.split_once('"')?.1.trim_start_matches(',');
        (format!("{name}{{{labels}") == sample).then_some(value)
    });
    line.unwrap_or_else(|| panic!("{sample} is missing: {text}")).parse().expect("a number")
}

#[test]
fn the_numbers_of_a_database() {
    let sandbox = many_kinds();
    sandbox.write("jobs.toml", "[jobs.hourly]\ncommand = 'true'\nschedule = 'every 1h'\n");
    sandbox.run("apply").ok();
    sandbox.add("--queue img --name picture -- true");
    sandbox.run("pause img").ok();
    sandbox.add("--after 3 --queue chain --name next -- true");
    let text = metrics(&sandbox);
    for (sample, expected) in [
        ("runner_jobs{queue=\"net\",state=\"dead\"}", 1.0),
        ("runner_jobs{queue=\"default\",state=\"succeeded\"}", 1.0),
        ("runner_jobs{queue=\"default\",state=\"cancelled\"}", 1.0),
        ("runner_jobs{queue=\"default\",state=\"running\"}", 0.0),
        ("runner_jobs{queue=\"files\",state=\"scheduled\"}", 1.0),
        ("runner_jobs{queue=\"img\",state=\"ready\"}", 1.0),
        ("runner_jobs{queue=\"chain\",state=\"blocked\"}", 1.0),
        ("runner_jobs{queue=\"chain\",state=\"ready\"}", 0.0),
        ("runner_dead_letters{error_code=\"HTTP_ERROR\"}", 1.0),
        ("runner_dead_letters{error_code=\"SIGNAL_KILL\"}", 1.0),
        ("runner_workers_alive{}", 0.0),
        ("runner_queue_paused{queue=\"img\"}", 1.0),
        ("runner_queue_paused{queue=\"net\"}", 0.0),
    ] {
        assert_eq!(value(&text, sample).to_string(), expected.to_string(), "{sample}: {text}");
    }
    let recent = sandbox.sql().number("SELECT unixepoch() - 600");
    for sample in [
        "runner_last_success_timestamp_seconds{name=\"fine\"}",
        "runner_last_failure_timestamp_seconds{name=\"push\"}",
        "runner_schedule_next_timestamp_seconds{name=\"hourly\"}",
    ] {
        assert!(
            value(&text, sample) > f64::from(i32::try_from(recent).expect("before 2038")),
            "{sample}: {text}"
        );
    }
    assert!(value(&text, "runner_oldest_due_age_seconds{queue=\"img\"}") >= 0.0);
    let aged: Vec<_> =
        text.lines().filter(|line| line.starts_with("runner_oldest_due_age_seconds{")).collect();
    assert_eq!(aged.len(), 1, "only img has due jobs: {text}");

    let _worker = sandbox.worker("--queue none");
    sandbox.run("resolve 1").ok();
    sandbox.run("pause --schedule hourly").ok();
    let text = metrics(&sandbox);
    assert_eq!(value(&text, "runner_workers_alive{}").to_string(), "1");
    assert_eq!(value(&text, "runner_jobs{queue=\"net\",state=\"resolved\"}").to_string(), "1");
    assert!(!text.contains("HTTP_ERROR") && !text.contains("name=\"hourly\""), "{text}");
}

#[test]
fn no_database_is_no_number() {
    let sandbox = Sandbox::empty();
    assert_eq!(metrics(&sandbox), "# EOF\n");
    sandbox.run("inspect --openmetrics --since 1h").exits(2);
    sandbox.run("inspect --openmetrics --json").exits(2);
}

#[test]
fn hostile_text_stays_in_its_label() {
    let sandbox = Sandbox::empty();
    let hostile = "a\"} 1\nrunner_workers_alive 99\n\\\u{1b}[2J\t\u{202e}#";
    let call = |line: &str| sandbox.call(line).env("RUNNER_DB", sandbox.path(hostile)).run();
    call("enqueue -- true").ok();
    let text = call("inspect --openmetrics").ok().stdout;
    let label = r#"a\"} 1\\nrunner_workers_alive 99\\n\\\\e[2J\\t\\u{202e}#""#;
    assert!(text.matches(label).count() >= 3, "{text}");
    assert!(!text.lines().any(|line| line.starts_with("runner_workers_alive 99")), "{text}");
}

#[test]
fn the_alert_rules_of_the_docs_are_rules() {
    let sandbox = Sandbox::empty();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operating.md");
    let page = fs::read_to_string(page).expect("text");
    let rules =
        page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of rules");
    sandbox.write("rules.yml", rules);
    if let Some(said) = promtool(&sandbox, "check rules rules.yml", "") {
        said.ok().shows("2 rules found");
    }
}
