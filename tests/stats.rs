//! `inspect stats`: numbers by the name of the jobs.

use crate::support::{Sandbox, Value, assert_screen, json};

const JOBS: &str = r#"
[jobs.good]
command = "exit 0"
[jobs.bad]
command = "exit 3"
max_attempts = 1
queue = "net"
[jobs.twice]
command = 'test "$RUNNER_ATTEMPT" = 2'
backoff = ["1ms"]
"#;

const FIELDS: &str = "name jobs succeeded dead cancelled success_rate attempts_per_success duration_p50_ms \
    duration_p95_ms duration_max_ms wait_p50_ms wait_p95_ms last_success_at last_failure_at last_error_code \
    cpu_p95_ms max_rss_p95_bytes file warnings";

/// Three good, one of which was called off, two bad, one that took two attempts, and one that waits.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good");
    sandbox.run("cancel 1").ok();
    sandbox.run("enqueue good good bad bad twice").ok();
    sandbox.run("work -j1 --drain").exits(1);
    sandbox.add("--in 1h --name later -- true");
    sandbox
}

/// The numbers, by name, in their order.
#[track_caller]
fn stats(sandbox: &Sandbox, filter: &str) -> Vec<(String, Value)> {
    let rows = sandbox.run(&format!("inspect stats --json {filter}")).ok().json_lines();
    rows.into_iter().map(|row| (row["name"].as_str().expect("a name").to_owned(), row)).collect()
}

#[track_caller]
fn names(sandbox: &Sandbox, filter: &str) -> Vec<String> {
    stats(sandbox, filter).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn the_numbers_of_each_name() {
    let sandbox = sandbox();
    let all = stats(&sandbox, "");
    let of = |wanted: &str| &all.iter().find(|(name, _)| name == wanted).expect("a row").1;
    let pick = |row: &Value, fields: &str| -> Vec<Value> {
        fields.split(' ').map(|field| row[field].clone()).collect()
    };
    let counts = "jobs succeeded dead cancelled success_rate attempts_per_success";
    assert_eq!(json!(pick(of("good"), counts)), json!([3, 2, 0, 1, 1.0, 1.0]));
    assert_eq!(json!(pick(of("bad"), counts)), json!([2, 0, 2, 0, 0.0, null]));
    assert_eq!(json!(pick(of("twice"), counts)), json!([1, 1, 0, 0, 1.0, 2.0]));
    assert_eq!(of("bad")["last_error_code"], json!("EXIT_3"));
    assert_eq!(of("bad")["last_success_at"], json!(null));
    assert_eq!(pick(of("good"), "last_failure_at last_error_code"), [json!(null), json!(null)]);
    let succeeded = sandbox.run("inspect jobs --json --state succeeded --name good --limit 1").ok().json();
    assert_eq!(of("good")["last_success_at"], succeeded["finished_at"]);
    for (name, row) in &all {
        for field in ["duration_p50_ms", "duration_p95_ms", "duration_max_ms", "wait_p50_ms", "wait_p95_ms"] {
            assert!(row[field].is_u64(), "{field} of {name}: {row}");
        }
        let fields: Vec<&str> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(fields, FIELDS.split_whitespace().collect::<Vec<_>>());
    }
}

#[test]
fn the_busiest_first_and_what_only_waits_not_at_all() {
    let sandbox = sandbox();
    assert_eq!(names(&sandbox, ""), ["good", "bad", "twice"]);
    assert_eq!(names(&sandbox, "--limit 2"), ["good", "bad"]);
    sandbox.run("inspect stats --limit 1").ok().shows("the busiest 1; --limit 0 shows all");
}

#[test]
fn by_name_queue_and_time() {
    let sandbox = sandbox();
    assert_eq!(names(&sandbox, "--name twice"), ["twice"]);
    assert_eq!(names(&sandbox, "--queue net"), ["bad"]);
    assert_eq!(names(&sandbox, "--since 1h").len(), 3);
    assert_eq!(names(&sandbox, "--since 2099-01-01T00:00:00Z"), [""; 0]);
    sandbox.run("inspect stats --state dead").exits(2).says("--state has no effect here");
    sandbox.run("inspect stats --error-code EXIT_3").exits(2);
    sandbox.run("inspect stats --name bad --fail-if-any").exits(1);
    sandbox
        .run("inspect stats --name nobody --fail-if-any")
        .says("runner: no job has the name nobody; did you mean good?")
        .ok()
        .prints("no ended jobs\n");
}

#[test]
fn the_table_for_a_person() {
    let sandbox = sandbox();
    let ran = sandbox.run("inspect stats").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        name  jobs  ok  tries  p50  p95  max  wait50  wait95  cpu95  memory95  last success  last failure
        good  3  100%  1.0  [DURATION]  [DURATION]  [DURATION]  [DURATION]  [DURATION]  [DURATION]  [SIZE]  [AGO]
        bad  2  0%  [DURATION]  [DURATION]  [DURATION]  [DURATION]  [DURATION]  [DURATION]  [SIZE]  [AGO], EXIT_3
        twice  1  100%  2.0  [DURATION]  [DURATION]  [DURATION]  [DURATION]  [DURATION]  [DURATION]  [SIZE]  [AGO]  [AGO], EXIT_1
        jobs: ended ones; tries: attempts per success; p50, p95, max: run time; wait: until started; cpu, memory: of an attempt
        ");
    });
}

#[test]
fn stats_are_sorted_as_asked_and_names_without_a_number_come_last() {
    let sandbox = Sandbox::new("");
    for (name, line) in [("quick", "true"), ("slow", "sleep 0.3"), ("bad", "exit 3")] {
        sandbox.call("enqueue --name").arg(name).arg("-c").arg(line).run().ok();
    }
    sandbox.add("--name quick -- true");
    sandbox.call("enqueue --name none --expires-in 1ms -- true").run().ok();
    sandbox.run("work --drain").exits(1);
    let first = |key: &str| {
        let listed = sandbox.run(&format!("inspect stats --json {key}")).ok().stdout;
        let names = listed.lines().map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            row["name"].as_str().unwrap().to_owned()
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(first("")[0], "quick", "the busiest");
    assert_eq!(first("--sort p95")[0], "slow");
    assert_eq!(first("--sort max")[0], "slow");
    assert_eq!(first("--sort p95").last().unwrap(), "none");
    assert_eq!(first("--sort failures")[..2], ["bad", "none"]);
    assert_eq!(first("--sort name"), ["bad", "none", "quick", "slow"]);
    assert_eq!(first("--sort cpu").len(), 4);
    assert_eq!(first("--sort rss").len(), 4);
    sandbox.run("inspect stats --sort p95 --limit 1").ok().shows("the slowest 1; --limit 0 shows all");
    sandbox.run("inspect jobs --sort p95").exits(2);
    sandbox.run("inspect stats --sort size").exits(2);
}
