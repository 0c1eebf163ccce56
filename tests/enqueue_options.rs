//! Options of `enqueue`: each goes before what the job file says, for this job.

use crate::support::{Sandbox, Value, json};

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

/// The only attempt of the job as it runs with these options.
#[track_caller]
fn first_attempt(options: &str) -> Value {
    let sandbox = Sandbox::new(JOB);
    let id = sandbox.add(&format!("job {options}"));
    sandbox.run("work --until-idle");
    sandbox.attempts(id).remove(0)
}

#[test]
fn queue_and_priority() {
    let plain = job("");
    assert_eq!((&plain["queue"], &plain["priority"]), (&json!("file"), &json!(1)));
    let other = job("--queue net --priority -5");
    assert_eq!((&other["queue"], &other["priority"]), (&json!("net"), &json!(-5)));
}

#[test]
fn in_delays_the_first_run() {
    let sandbox = Sandbox::new(JOB);
    sandbox.add("job --in 1h");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log(), [""; 0]);
    sandbox.run("inspect jobs --state scheduled --json").ok().shows("\"id\":1");
    sandbox.add("job --in 0s");
    sandbox.run("work --until-idle");
    assert_eq!(sandbox.log(), ["ran"]);
}

#[test]
fn at_names_the_moment_of_the_first_run() {
    assert_eq!(job("--at 2099-01-02T03:04:05Z")["run_at"], "2099-01-02T03:04:05.000Z");
    assert_eq!(job("--at 2099-01-02T03:04:05.5+01:00")["run_at"], "2099-01-02T02:04:05.500Z");
    let sandbox = Sandbox::new(JOB);
    let at = |time| sandbox.call("enqueue job --json --at").arg(time).run().ok().json()["run_at"].clone();
    assert_eq!(at("2099-01-02 03:04"), "2099-01-02T03:04:00.000Z");
    assert_eq!(at("2099-01-02 03:04:05"), "2099-01-02T03:04:05.000Z");
    assert!(at("03:04").as_str().is_some_and(|at| at.ends_with("T03:04:00.000Z")));
}

#[test]
fn at_is_local_time() {
    let sandbox = Sandbox::new(JOB);
    let call = sandbox.call("enqueue job --json --at").arg("2099-01-02 03:04").env("TZ", "CET-1");
    assert_eq!(call.run().ok().json()["run_at"], "2099-01-02T02:04:00.000Z");
}

#[test]
fn a_past_time_is_due_at_once() {
    let sandbox = Sandbox::new(JOB);
    let job = sandbox.run("enqueue job --json --at 2001-01-01T00:00:00Z --expires-in 1h").ok().json();
    assert_eq!(job["run_at"], job["enqueued_at"]);
    sandbox.run("work --until-idle");
    assert_eq!(sandbox.log(), ["ran"]);
}

#[test]
fn max_attempts_is_the_number_of_runs() {
    assert_eq!(job("")["max_attempts"], 1);
    assert_eq!(job("--max-attempts 4")["max_attempts"], 4);
    assert_eq!(first_attempt("--max-attempts 4")["will_retry"], true);
}

#[test]
fn retryable_false_means_one_run() {
    let job = job("--max-attempts 1 --retryable false");
    assert_eq!((&job["retryable"], &job["max_attempts"]), (&json!(false), &json!(1)));
    let sandbox = Sandbox::new("[jobs.j]\ncommand = 'exit 7'\n");
    let id = sandbox.add("j --retryable false");
    sandbox.drain();
    assert_eq!(sandbox.job(id)["dead_reason"], "not_retryable");
    let once = Sandbox::new("[jobs.j]\ncommand = 'exit 7'\nretryable = false\n");
    let job = once.run("enqueue j --json --retryable true --max-attempts 2").ok().json();
    assert_eq!((&job["retryable"], &job["max_attempts"]), (&json!(true), &json!(2)));
}

#[test]
fn backoff_is_the_wait_between_runs() {
    for (spec, wait) in [
        ("30s", 30_000),
        ("5s,1m", 5_000),
        ("exponential:3s", 3_000),
        ("exponential:3s:2:1m", 3_000),
        ("linear:7s", 7_000),
        ("linear:7s:8s", 7_000),
    ] {
        let attempt = first_attempt(&format!("--max-attempts 3 --backoff {spec}"));
        assert_eq!(attempt["nominal_delay_ms"], wait, "{spec}");
    }
}

#[test]
fn jitter_spreads_the_wait() {
    let attempt = first_attempt("--max-attempts 2 --jitter false");
    assert_eq!(attempt["delay_ms"], 3_600_000);
    let attempt = first_attempt("--max-attempts 2 --backoff 30s --jitter 2s");
    let delay = attempt["delay_ms"].as_u64().expect("a delay");
    assert!((28_000..=32_000).contains(&delay), "{delay}");
    let drawn = |_| first_attempt("--max-attempts 2 --jitter 1")["delay_ms"].clone();
    let delays: Vec<_> = (0..4).map(drawn).collect();
    assert!(delays.iter().any(|delay| *delay != 3_600_000), "{delays:?}");
}

#[test]
fn auto_retry_for_names_what_is_retried() {
    let sandbox = Sandbox::new(JOB);
    sandbox.add("job --max-attempts 3 --auto-retry-for OTHER,EXIT_*");
    sandbox.add("job --max-attempts 3 --auto-retry-for OTHER,SEVEN");
    sandbox.run("work --until-idle").exits(1);
    assert_eq!(sandbox.job(1)["dead_reason"], "code_not_listed");
    assert_eq!(sandbox.job(2)["state"], "pending");
}

#[test]
fn never_retry_for_names_what_is_final() {
    let sandbox = Sandbox::new(JOB);
    sandbox.add("job --max-attempts 3 --never-retry-for OTHER,SEVEN");
    sandbox.add("job --max-attempts 3 --never-retry-for OTHER");
    sandbox.run("work --until-idle").exits(1);
    assert_eq!(sandbox.job(1)["dead_reason"], "never_retry");
    assert_eq!(sandbox.job(2)["state"], "pending");
}

#[test]
fn timeout_ends_an_attempt() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add_line("--timeout 100ms", "exec sleep 20");
    sandbox.drain();
    assert_eq!(sandbox.job(id)["error_code"], "TIMEOUT");
}

#[test]
fn grace_period_stands_between_term_and_kill() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add_line("--timeout 200ms --grace-period 0s", "trap 'sleep 20' TERM; sleep 20");
    sandbox.drain();
    assert_eq!(sandbox.attempts(id)[0]["signal"], "SIGKILL");
    let id = sandbox.add_line("--timeout 200ms --grace-period 20s", "trap 'exit 9' TERM; sleep 20");
    sandbox.drain();
    assert_eq!(sandbox.attempts(id)[0]["exit_code"], 9);
}

#[test]
fn expires_in_counts_from_the_due_time() {
    assert_eq!(job("")["expires_at"], json!(null));
    let job = job("--expires-in 1h --at 2099-01-02T03:04:05Z");
    assert_eq!(job["expires_at"], "2099-01-02T04:04:05.000Z");
}

#[test]
fn env_is_laid_over_the_file_entry_by_entry() {
    let sandbox = Sandbox::new(&JOB.replace("echo ran >> log; exit 7", "echo $KEPT, $COLOUR, $NEW >> log"));
    sandbox.call("enqueue job --env NEW=a=b --env").arg("COLOUR=from the line").run().ok();
    sandbox.drain();
    assert_eq!(sandbox.log(), ["from the file, from the line, a=b"]);
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
fn unique_key_and_idempotency_key_are_kept_on_the_job() {
    let job = job("--unique-key u --idempotency-key i");
    assert_eq!((&job["unique_key"], &job["idempotency_key"]), (&json!("u"), &json!("i")));
}

#[test]
fn options_survive_a_retry_and_a_replay() {
    let sandbox = Sandbox::new(JOB);
    let id = sandbox.add("job --priority 9 --queue net --max-attempts 2 --backoff 1ms --env A=b");
    sandbox.drain();
    sandbox.run("retry 1").ok();
    sandbox.drain();
    let job = sandbox.job(id);
    assert_eq!((&job["priority"], &job["queue"], &job["attempts"]), (&json!(9), &json!("net"), &json!(4)));
}

#[test]
fn an_option_that_contradicts_the_file_wins() {
    let sandbox = Sandbox::new("[jobs.j]\ncommand = 'exit 1'\nmax_attempts = 3\nbackoff = ['1ms', '1ms']\n");
    assert_eq!(sandbox.run("enqueue j --json --max-attempts 2").ok().json()["max_attempts"], 2);
    assert_eq!(sandbox.run("enqueue j --json --backoff 1s,1s,1s").ok().json()["max_attempts"], 4);
    assert_eq!(sandbox.run("enqueue j --json --retryable false").ok().json()["max_attempts"], 1);
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
