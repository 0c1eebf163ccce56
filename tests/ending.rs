//! `runner check NAME --exit N`: what would follow an end of an attempt, and why. `runner inspect ID` says it of a job.

use crate::support::{Sandbox, Value, assert_fields, json};

const JOBS: &str = r#"
default_error_code = "FAILED"
[jobs.push]
command = "exit 22"
max_attempts = 3
timeout = "1m"
auto_retry_for = ["HTTP", "TIMEOUT"]
never_retry_for = ["USAGE"]
backoff = { strategy = "exponential", initial = "2s", jitter = 0.25 }
exit_codes = { 22 = "HTTP", 2 = "USAGE", SIGKILL = "MEMORY" }
[jobs.once]
command = "true"
retryable = false
"#;

#[track_caller]
fn foreseen(line: &str) -> Value {
    Sandbox::new(JOBS).run(&format!("check {line} --json")).ok().json()
}

#[test]
fn an_ending_that_might_come() {
    for (line, expected) in [
        ("push --exit 22", json!({"error_code": "HTTP", "dead_reason": null, "delay_min_ms": 1_500})),
        ("push --exit 22", json!({"delay_max_ms": 2_500})),
        ("push --exit 2", json!({"error_code": "USAGE", "dead_reason": "never_retry", "delay_min_ms": null})),
        ("push --exit 9", json!({"error_code": "FAILED", "dead_reason": "code_not_listed"})),
        ("push --exit 0", json!({"error_code": null, "dead_reason": null})),
        ("push --signal SIGKILL", json!({"error_code": "MEMORY"})),
        ("push --signal KILL", json!({"error_code": "MEMORY"})),
        ("push --signal 9", json!({"error_code": "MEMORY"})),
        ("push --signal TERM", json!({"error_code": "FAILED"})),
        ("push --timeout", json!({"error_code": "TIMEOUT", "dead_reason": null})),
        ("push --exit 22 --attempt 2", json!({"delay_min_ms": 3_000})),
        ("push --exit 22 --attempt 3", json!({"dead_reason": "attempts_exhausted"})),
        ("once --exit 1", json!({"dead_reason": "not_retryable"})),
    ] {
        assert_fields(&foreseen(line), &expected);
    }
    Sandbox::new(JOBS).run("check push --exit 0").ok().shows("succeeded");
}

#[test]
fn in_words() {
    let sandbox = Sandbox::new(JOBS);
    let ran = sandbox.run("check push --exit 22").ok().quietly();
    insta::assert_snapshot!(ran.stdout, @r"
    push, attempt 1 of 3: exit status 22
      code      HTTP, from the job's exit_codes
      decision  HTTP is retried: attempt 2 of 3 in 1.5s to 2.5s
    ");
    let ran = sandbox.run("check push --signal KILL --attempt 2").ok();
    insta::assert_snapshot!(ran.stdout, @"
    push, attempt 2 of 3: a command of its shell is killed by SIGKILL
      seen as   exit status 137, as the shell reports it
      code      MEMORY, from the job's exit_codes
      decision  MEMORY is final: its error code is not in auto_retry_for
    ");
}

#[test]
fn quiet_says_nothing_of_what_would_follow() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("check push --exit 22 -q").ok().prints("").quietly();
    sandbox.run("check push --exit 22 -q --json").ok().prints("").quietly();
    sandbox.run("check pusch --exit 22 -q").exits(66).says("push");
}

#[test]
fn the_delay_is_told_as_in_the_table_of_delays() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'x'\nbackoff = { initial = '1.25s', jitter = false }\n");
    sandbox.run("check").ok().shows(" 1.25s ");
    sandbox.run("check a --exit 1").ok().shows("attempt 2 of 3 in 1.25s\n");
}

#[test]
fn a_signal_is_what_the_shell_makes_of_it() {
    let jobs = "[jobs.line]\ncommand = 'x'\nnever_retry_for = ['SIGNAL_KILL']\nexit_codes = { 143 = 'STOPPED' }\n\
                [jobs.words]\ncommand = ['x']\nnever_retry_for = ['SIGNAL_KILL']\n";
    let sandbox = Sandbox::new(jobs);
    let ran = sandbox.run("check line --signal SIGKILL").ok();
    insta::assert_snapshot!(ran.stdout, @"
    line, attempt 1 of 3: a command of its shell is killed by SIGKILL
      seen as   exit status 137, as the shell reports it
      code      EXIT_137, as nothing maps it
      decision  EXIT_137 is final: its error code is in never_retry_for
      else      if the signal ends the shell itself: SIGNAL_KILL is final: its error code is in never_retry_for
    ");
    for (line, code, reason) in [
        ("line --signal KILL", "EXIT_137", json!("never_retry")),
        ("line --signal TERM", "STOPPED", json!(null)),
        ("line --exit 137", "EXIT_137", json!("never_retry")),
        ("words --signal KILL", "SIGNAL_KILL", json!("never_retry")),
        ("words --exit 137", "EXIT_137", json!(null)),
    ] {
        let said = sandbox.run(&format!("check {line} --json")).ok().json();
        assert_fields(&said, &json!({"error_code": code, "dead_reason": reason}));
    }
}

#[test]
fn the_answer_agrees_with_the_later_attempt() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("push");
    sandbox.run("work --until-idle").ok();
    let happened = sandbox.attempts(1).remove(0);
    let said = foreseen("push --exit 22");
    assert_eq!(happened["error_code"], said["error_code"]);
    let delay = happened["delay_ms"].as_u64();
    assert!(said["delay_min_ms"].as_u64() <= delay && delay <= said["delay_max_ms"].as_u64(), "{happened}");
}

#[test]
fn why_a_job_is_in_its_state() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("push");
    sandbox.run("inspect 1").ok().shows("ready");
    sandbox.run("work --until-idle").ok();
    sandbox.run("inspect 1").ok().shows("retrying").shows("HTTP");
    sandbox.add("once --in 1h");
    sandbox.run("inspect 2").ok().shows("scheduled");
    sandbox.run("cancel 2").ok();
    sandbox.run("inspect 2").ok().shows("cancelled");
    sandbox.add_line("", "exit 3");
    sandbox.run("work --until-idle").exits(1);
    sandbox.run("inspect 3").ok().shows("dead").shows("EXIT_3").shows("attempts_exhausted");
}

#[test]
fn what_happens_when_a_job_expires() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("push --expires-in 10m");
    sandbox.run("inspect 1").ok().shows("it dies (expired) unless it is started by then: in 9m");
    sandbox.run("cancel 1").ok();
    sandbox.add_line("--max-attempts 2 --expires-in 1h", "echo $$ > pid; exec sleep 20");
    let worker = sandbox.worker("-j2");
    sandbox.pid_of("pid");
    sandbox.run("inspect 2").ok().shows("it is not retried from its expiry on: in 59m");
    worker.kill();
    sandbox.add("push --in 1h --expires-in 1m");
    sandbox.run("inspect 3").ok().shows("unless it is started by then: in 1h");
}

#[test]
fn a_retry_that_would_come_after_the_expiry_is_none() {
    let jobs = "[jobs.soon]\ncommand = 'x'\nexpires_in = '1s'\nbackoff = '5s'\n";
    let ran = Sandbox::new(jobs).run("check soon --exit 22 --json").ok().json();
    assert_eq!(ran["dead_reason"], "expired", "{ran}");
}

#[test]
fn what_cannot_be_looked_up() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("check pusch --exit 1").exits(66).says("push");
    sandbox.run("check 7 --exit 1").exits(2).says("7 is an id");
    sandbox.run("check --exit 1").exits(2).says("of which job?");
    sandbox.run("check push --attempt 2").exits(2).says("--exit");
    sandbox.run("check push --exit 1 --attempt 4").exits(2).says("push has no attempt 4: its budget is 3");
    for status in ["256", "-1"] {
        sandbox
            .run(&format!("check push --exit {status}"))
            .exits(2)
            .says("an exit status is a whole number from 0 to 255");
    }
    sandbox.run("check push --signal HELLO").exits(2);
    for signal in ["STOP", "SIGCONT", "17"] {
        sandbox.run(&format!("check push --signal {signal}")).exits(2).says("ends no process");
    }
    sandbox
        .run("check once --timeout")
        .exits(2)
        .says("once has no timeout, so none of its attempts can exceed one");
    sandbox.run("check push --exit 1 --timeout").exits(2);
    sandbox.run("check push --exit 1 --attempt 0").exits(2);
}
