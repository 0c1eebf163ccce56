//! Options of `enqueue`: each goes before what the job file says, for this job.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::{Sandbox, Value, assert_fields, json};

const JOB: &str = r#"
[jobs.job]
command = "echo ran >> log; exit 7"
queue = "file"
priority = 1
max_attempts = 1
backoff = { strategy = "constant", delay = "1h", jitter = false }
env = { KEPT = "from the file", COLOUR = "from the file" }
[jobs.job.exit_codes]
7 = "SEVEN"
"#;

/// The job as it is enqueued with these options.
#[track_caller]
fn job(options: &str) -> Value {
    Sandbox::new(JOB).run(&format!("enqueue job --json {options}")).ok().json()
}

/// The job after its first attempt.
#[track_caller]
fn started(options: &str) -> Value {
    let sandbox = Sandbox::new(JOB);
    let id = sandbox.add(&format!("job {options}"));
    sandbox.run("work --until-idle");
    sandbox.job(id)
}

#[test]
fn options_show_on_the_job() {
    for (options, expected) in [
        ("", json!({"queue": "file", "priority": 1, "max_attempts": 1, "expires_at": null})),
        ("--queue net --priority -5", json!({"queue": "net", "priority": -5})),
        ("--max-attempts 4 --in 0s", json!({"max_attempts": 4})),
        ("--max-attempts 1 --retryable false", json!({"retryable": false, "max_attempts": 1})),
        ("--at 2099-01-02T03:04:05Z", json!({"run_at": "2099-01-02T03:04:05.000Z"})),
        ("--at 2099-01-02T03:04:05.5+01:00", json!({"run_at": "2099-01-02T02:04:05.500Z"})),
        ("--expires-in 1h --at 2099-01-02T03:04:05Z", json!({"expires_at": "2099-01-02T04:04:05.000Z"})),
        ("--unique-key u --idempotency-key i", json!({"unique_key": "u", "idempotency_key": "i"})),
    ] {
        assert_fields(&job(options), &expected);
    }
    let past = job("--at 2001-01-01T00:00:00Z --expires-in 1h");
    assert_eq!(past["run_at"], past["enqueued_at"], "a past time is due at once");
}

#[test]
fn at_takes_local_times() {
    let sandbox = Sandbox::new(JOB);
    let at = |time: &str, zone: &str| {
        let call = sandbox.call("enqueue job --json --at").arg(time).env("TZ", zone);
        call.run().ok().json()["run_at"].as_str().expect("a time").to_owned()
    };
    assert_eq!(at("2099-01-02 03:04", "UTC"), "2099-01-02T03:04:00.000Z");
    assert_eq!(at("2099-01-02 03:04:05", "UTC"), "2099-01-02T03:04:05.000Z");
    assert_eq!(at("2099-01-02 03:04", "CET-1"), "2099-01-02T02:04:00.000Z");
    assert!(at("03:04", "UTC").ends_with("T03:04:00.000Z"));
}

#[test]
fn backoff_and_jitter_set_the_wait_between_runs() {
    for (options, nominal) in [
        ("--backoff 30s", 30_000),
        ("--backoff 5s,1m", 5_000),
        ("--backoff exponential:3s", 3_000),
        ("--backoff exponential:3s:2:1m", 3_000),
        ("--backoff linear:7s", 7_000),
        ("--backoff linear:7s:8s", 7_000),
    ] {
        let job = started(&format!("--max-attempts 3 {options}"));
        assert_fields(&job["history"][0], &json!({"nominal_delay_ms": nominal, "will_retry": true}));
    }
    let delay = |options: &str| {
        let job = started(&format!("--max-attempts 2 {options}"));
        job["history"][0]["delay_ms"].as_u64().expect("a delay")
    };
    assert_eq!(delay("--jitter false"), 3_600_000);
    assert!((28_000..=32_000).contains(&delay("--backoff 30s --jitter 2s")));
    assert!((0..4).any(|_| delay("--jitter 1") != 3_600_000), "no jitter");
}

#[test]
fn lists_of_codes_say_which_failures_are_retried() {
    for (options, state, reason) in [
        ("--auto-retry-for OTHER,EXIT_*", "dead", json!("code_not_listed")),
        ("--auto-retry-for OTHER,SEVEN", "pending", json!(null)),
        ("--never-retry-for OTHER,SEVEN", "dead", json!("never_retry")),
        ("--never-retry-for OTHER", "pending", json!(null)),
    ] {
        let job = started(&format!("--max-attempts 3 {options}"));
        assert_fields(&job, &json!({"state": state, "dead_reason": reason}));
    }
}

#[test]
fn env_is_laid_over_the_file_entry_by_entry() {
    let sandbox = Sandbox::new(&JOB.replace("echo ran >> log; exit 7", "echo $KEPT, $COLOUR, $NEW >> log"));
    sandbox.call("enqueue job --env NEW=a=b --env").arg("COLOUR=from the line").run().ok();
    sandbox.drain();
    assert_eq!(sandbox.log(), ["from the file, from the line, a=b"]);
}

#[test]
fn env_without_a_value_takes_that_of_the_caller() {
    let sandbox =
        Sandbox::new(&JOB.replace("echo ran >> log; exit 7", "echo $KEPT, $TOKEN, ${EMPTY-unset} >> log"));
    let call = |line: &str| sandbox.call(line).env("TOKEN", "a=b c").env("EMPTY", "").env("KEPT", "here");
    call("enqueue job --env TOKEN --env EMPTY --env KEPT").run().ok();
    sandbox.drain();
    assert_eq!(sandbox.log(), ["here, a=b c,"]);
    call("enqueue job --env MISSING").run().exits(2).says("MISSING").says("it is not set");
}

#[test]
fn cwd_is_relative_to_the_caller() {
    let sandbox = Sandbox::new(&JOB.replace("echo ran >> log; exit 7", "pwd"));
    sandbox.write("deep/down/file", "");
    let call = sandbox.call("enqueue job --json --cwd down").dir(sandbox.path("deep"));
    assert_eq!(call.run().ok().json()["cwd"], sandbox.path("deep/down").display().to_string());
    sandbox.drain();
    sandbox.run("logs 1").ok().prints(&format!("{}\n", sandbox.path("deep/down").display()));
}

#[test]
fn options_survive_a_retry_and_a_replay() {
    let sandbox = Sandbox::new(JOB);
    sandbox.finish("job --priority 9 --queue net --max-attempts 2 --backoff 1ms --env A=b");
    sandbox.run("retry 1").says("differs (backoff, env, max_attempts, priority, queue); to take the").ok();
    sandbox.drain();
    assert_fields(&sandbox.job(1), &json!({"priority": 9, "queue": "net", "attempts": 4}));
}

#[test]
fn an_option_that_contradicts_the_file_wins() {
    let list = "[jobs.j]\ncommand = 'exit 1'\nmax_attempts = 3\nbackoff = ['1ms', '1ms']\n";
    let once = "[jobs.j]\ncommand = 'exit 7'\nretryable = false\n";
    for (jobs, options, retryable, runs) in [
        (list, "--max-attempts 2", true, 2),
        (list, "--backoff 1s,1s,1s", true, 4),
        (list, "--retryable false", false, 1),
        (once, "--retryable true --max-attempts 2", true, 2),
    ] {
        let job = Sandbox::new(jobs).run(&format!("enqueue j --json {options}")).ok().json();
        assert_fields(&job, &json!({"retryable": retryable, "max_attempts": runs}));
    }
}

#[test]
fn values_that_cannot_be_taken_are_usage_errors() {
    let sandbox = Sandbox::new(JOB);
    for options in [
        "--queue a/b",
        "--priority 1001",
        "--priority high",
        "--in 5",
        "--in -1s",
        "--at tomorrow",
        "--in 1s --at 03:04",
        "--max-attempts 0",
        "--max-attempts 1000001",
        "--retryable maybe",
        "--retryable false --max-attempts 2",
        "--retryable false --auto-retry-for A",
        "--backoff 30",
        "--backoff fixed:3s",
        "--backoff exponential:1m:2:1s",
        "--backoff 1s,1s --max-attempts 5",
        "--jitter 2",
        "--auto-retry-for lower",
        "--auto-retry-for CANCELLED",
        "--never-retry-for INTERRUPTED",
        "--never-retry-for EXPIRED",
        "--timeout 0s",
        "--timeout 10",
        "--grace-period soon",
        "--expires-in 0s",
        "--expires-in 11y",
        "--env NOVALUE",
        "--env =value",
        "--on-conflict perhaps",
        "--no-such-option",
    ] {
        sandbox.run(&format!("enqueue job {options}")).exits(2).prints("");
    }
    sandbox.call("enqueue job --unique-key").arg("").run().exits(2);
    assert!(!sandbox.db().exists());
}

#[test]
fn a_value_that_is_no_text_is_told_with_its_option() {
    let sandbox = Sandbox::empty();
    for option in ["--queue", "--priority", "--after", "--auto-retry-for", "--label", "--backoff"] {
        let call = sandbox.call(&format!("enqueue {option}")).arg(OsStr::from_bytes(b"a\xff"));
        let ran = call.arg("--").arg("true").run().exits(2).prints("");
        ran.says(&format!("for '{option} ")).says(">': it is not UTF-8\n");
    }
    assert!(!sandbox.db().exists());
}

#[test]
fn arguments_that_a_line_for_the_shell_does_not_use_are_told() {
    let sandbox = Sandbox::new(
        "[jobs.line]\ncommand = './fetch'\n[jobs.words]\ncommand = ['./fetch']\n[jobs.both]\ncommand = './fetch \"$@\"'\n",
    );
    let note = "takes no notice of its arguments: a command that is a string gets them as \"$@\" or $1; an array gets them at its end";
    sandbox.run("enqueue line -- URL").says(&format!("runner: line {note}\n")).ok();
    sandbox.run("enqueue line --dry-run -- URL").says(note).ok();
    for line in ["enqueue line", "enqueue words -- URL", "enqueue both -- URL", "enqueue -q line -- URL"] {
        let ran = sandbox.run(line).ok();
        assert!(!ran.stderr.contains("takes no notice"), "{ran}");
    }
    for (line, is_told) in [
        ("echo ${1:-x}", false),
        ("n=$#; echo $n", false),
        ("while shift; do :; done", false),
        ("echo $$ $HOME 1", true),
    ] {
        let ran = sandbox.call("enqueue --name x -c").arg(line).arg("--").arg("URL").run().exits(0);
        assert_eq!(ran.stderr.contains("takes no notice"), is_told, "{ran}");
    }
    // Many jobs of a batch are told once.
    let batch = "{\"name\": \"line\", \"args\": [\"a\"]}\n".repeat(3);
    let ran = sandbox.call("enqueue --batch -").stdin(batch).run().exits(0);
    assert_eq!(ran.stderr.matches("takes no notice").count(), 1, "{ran}");
}
