//! `inspect --prometheus`: the numbers, and what Prometheus says of them.

use std::fs;
use std::path::Path;

use crate::support::{Call, Finished, Sandbox, many_kinds, wait_until};

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
    let text = sandbox.run("inspect --prometheus").ok().quietly().stdout;
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
        ("runner_dead_letters{name=\"push\",error_code=\"HTTP_ERROR\"}", 1.0),
        ("runner_dead_letters{name=\"once\",error_code=\"SIGNAL_KILL\"}", 1.0),
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
    assert!(
        !text.contains("HTTP_ERROR") && !text.contains("runner_schedule_next_timestamp_seconds{"),
        "{text}"
    );
}

#[test]
fn totals_of_attempts_never_fall() {
    let sandbox = Sandbox::empty();
    sandbox.add("--name fetch --max-attempts 2 --backoff 1ms -- sh -c 'exit 3'");
    sandbox.add("--name fetch -- sleep 0.02");
    sandbox.add("--name lost -- /no/such/program");
    sandbox.drain();
    let samples = [
        ("runner_attempts_total{name=\"fetch\",outcome=\"failed\"}", 2.0),
        ("runner_attempts_total{name=\"fetch\",outcome=\"succeeded\"}", 1.0),
        ("runner_attempts_total{name=\"fetch\",outcome=\"timed_out\"}", 0.0),
        ("runner_attempts_total{name=\"lost\",outcome=\"spawn_failed\"}", 1.0),
        ("runner_run_seconds_count{name=\"fetch\"}", 3.0),
        ("runner_run_seconds_count{name=\"lost\"}", 0.0),
        ("runner_run_seconds_sum{name=\"lost\"}", 0.0),
    ];
    let sum = "runner_run_seconds_sum{name=\"fetch\"}";
    let before = metrics(&sandbox);
    assert!(value(&before, sum) >= 0.02, "{before}");
    sandbox.run("prune --older-than 0s --state succeeded --state dead").ok();
    let pruned = metrics(&sandbox);
    for text in [&before, &pruned] {
        for (sample, expected) in samples {
            assert_eq!(value(text, sample).to_string(), expected.to_string(), "{sample}: {text}");
        }
    }
    assert_eq!(value(&before, sum).to_string(), value(&pruned, sum).to_string());
    assert!(!pruned.contains("runner_last_success_timestamp_seconds{"), "{pruned}");

    sandbox.add("--name fetch -- true");
    sandbox.drain();
    let text = metrics(&sandbox);
    assert_eq!(value(&text, samples[1].0).to_string(), "2");
    assert_eq!(value(&text, samples[4].0).to_string(), "4");
}

#[test]
fn slots_limits_and_pauses() {
    let sandbox = Sandbox::empty();
    sandbox.write("jobs.toml", "[jobs.hourly]\ncommand = 'true'\nschedule = 'every 1h'\n");
    sandbox.run("apply").ok();
    sandbox.run("limit net --max-running 4 --rate 30/m").ok();
    sandbox.add("--queue net -- sleep 1000");
    let _worker = sandbox.worker("-j 3 --queue net");
    wait_until("it runs", || sandbox.sql().number("SELECT count(*) FROM jobs WHERE state = 'running'") == 1);
    let text = metrics(&sandbox);
    for (sample, expected) in [
        ("runner_slots{}", 3.0),
        ("runner_slots_busy{}", 1.0),
        ("runner_queue_max_running{queue=\"net\"}", 4.0),
        ("runner_queue_rate_per_second{queue=\"net\"}", 0.5),
        ("runner_schedule_paused{name=\"hourly\"}", 0.0),
        ("runner_left_out{label=\"name\"}", 0.0),
        ("runner_up{}", 1.0),
    ] {
        assert_eq!(value(&text, sample).to_string(), expected.to_string(), "{sample}: {text}");
    }
    sandbox.run("pause --schedule hourly").ok();
    assert_eq!(value(&metrics(&sandbox), "runner_schedule_paused{name=\"hourly\"}").to_string(), "1");
}

#[test]
fn the_number_of_series_is_bounded_and_the_sum_of_dead_letters_is_whole() {
    let sandbox = Sandbox::empty();
    let line = |number| {
        format!(
            "{{\"command\": [\"true\"], \"name\": \"n{number}\", \"queue\": \"q{number}\", \"expires_in\": \"1ms\"}}\n"
        )
    };
    sandbox.call("enqueue --batch -").stdin((0..1_100).map(line).collect::<String>()).run().ok();
    wait_until("all have expired", || metrics(&sandbox).contains(",error_code=\"EXPIRED\"} 100\n"));
    let text = metrics(&sandbox);
    for (sample, expected) in [
        ("runner_left_out{label=\"name\"}", 100),
        ("runner_left_out{label=\"queue\"}", 100),
        ("runner_dead_letters{error_code=\"EXPIRED\"}", 100),
    ] {
        assert_eq!(value(&text, sample).to_string(), expected.to_string(), "{sample}");
    }
    let series = |metric: &str| text.lines().filter(|line| line.starts_with(metric)).count();
    assert_eq!(series("runner_dead_letters{"), 1_001);
    assert_eq!(series("runner_jobs{"), 9_000);
    assert_eq!(series("runner_attempts_total{"), 7_000);
}

#[test]
fn without_a_database_it_is_not_up() {
    let sandbox = Sandbox::empty();
    let text = metrics(&sandbox);
    assert_eq!(value(&text, "runner_up{}").to_string(), "0");
    let version = format!("runner_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&text, &version).to_string(), "1");
    assert_eq!(text.lines().count(), 7, "{text}");
    sandbox.run("inspect --prometheus --since 1h").exits(2);
    sandbox.run("inspect --prometheus --json").exits(2);
}

#[test]
fn the_older_name_does_the_same() {
    let sandbox = many_kinds();
    let samples = |option: &str| {
        let text = sandbox.run(&format!("inspect {option}")).ok().stdout;
        // Ages and run times go on between two calls.
        text.lines()
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(name, _)| name.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(samples("--openmetrics"), samples("--prometheus"));
    sandbox.run("inspect --openmetrics jobs").exits(2);
    sandbox.run("inspect --openmetrics --watch").exits(2);
    let help = sandbox.run("inspect --help").ok().stdout;
    assert!(help.contains("--prometheus") && help.contains("[alias: --openmetrics]"), "{help}");
}

#[test]
fn hostile_text_stays_in_its_label() {
    let sandbox = Sandbox::empty();
    let hostile = "a\"} 1\nrunner_workers_alive 99\n\\\u{1b}[2J\t\u{202e}#";
    let call = |line: &str| sandbox.call(line).env("RUNNER_DB", sandbox.path(hostile)).run();
    call("enqueue -- true").ok();
    let text = call("inspect --prometheus").ok().stdout;
    let label = r#"a\"} 1\\nrunner_workers_alive 99\\n\\\\e[2J\\t\\u{202e}#""#;
    assert!(text.matches(label).count() >= 3, "{text}");
    assert!(!text.lines().any(|line| line.starts_with("runner_workers_alive 99")), "{text}");
}

#[test]
fn the_alert_rules_of_the_docs_are_rules() {
    let sandbox = Sandbox::empty();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md");
    let page = fs::read_to_string(page).expect("text");
    let rules =
        page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of rules");
    sandbox.write("rules.yml", rules);
    if let Some(said) = promtool(&sandbox, "check rules rules.yml", "") {
        said.ok().shows("2 rules found");
    }
}
