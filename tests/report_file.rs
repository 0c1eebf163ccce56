//! `$RUNNER_REPORT`: what a job says about itself.

use crate::support::{Sandbox, Value, assert_fields, json};

/// The job after its first attempt has reported these lines and exited with `status`.
#[track_caller]
fn after(lines: &str, status: u8, keys: &str) -> Value {
    let command = format!("cat lines > \"$RUNNER_REPORT\"; exit {status}");
    let sandbox = Sandbox::new(&format!("[jobs.job]\ncommand = '{command}'\nbackoff = '1h'\n{keys}\n"));
    sandbox.write("lines", lines);
    sandbox.add("job");
    sandbox.run("work --until-idle");
    sandbox.job(1)
}

#[test]
fn the_report_names_the_failure_and_the_policy_heeds_the_name() {
    let lines = "error_code=FIRST\nerror_code=RATE_LIMITED\n\nmessage=slow down = please\r\n";
    let job = after(lines, 22, "exit_codes = { 22 = 'HTTP' }");
    let expected = json!({"error_code": "RATE_LIMITED", "message": "slow down = please", "exit_code": 22});
    assert_fields(&job["history"][0], &expected);
    assert_eq!(job["state"], "pending", "a code that `reports` does not declare is taken");
    let job = after("error_code=USAGE\n", 1, "reports = ['USAGE']\nnever_retry_for = ['USAGE']");
    assert_fields(&job, &json!({"dead_reason": "never_retry", "error_code": "USAGE"}));
    let job = after("unrecoverable=true\nerror_code=BAD\n", 1, "auto_retry_for = ['BAD']\nreports = ['BAD']");
    assert_fields(&job, &json!({"dead_reason": "unrecoverable", "error_code": "BAD"}));
}

#[test]
fn retry_after_replaces_the_wait() {
    let most = 30 * 86_400_000_u64;
    for (value, delay) in [
        ("30s", 30_000),
        ("90", 90_000),
        ("1.5s", 1_500),
        ("1m 5s", 65_000),
        ("31d", most),
        ("20y", most),
        ("3000000", most),
        ("99999999999999999999", most),
    ] {
        let job = after(&format!("retry_after={value}\n"), 1, "");
        assert_fields(&job["history"][0], &json!({"delay_ms": delay, "nominal_delay_ms": 3_600_000}));
    }
}

#[test]
fn the_exit_status_alone_decides_about_success() {
    let job = after("error_code=BAD\nunrecoverable=true\nresult=42\n", 0, "");
    assert_fields(&job, &json!({"state": "succeeded", "result": "42"}));
    assert_eq!(job["history"][0]["error_code"], json!(null));
}

#[test]
fn a_result_is_kept_from_the_last_attempt_that_gave_one_and_a_large_one_is_cut() {
    let sandbox = Sandbox::empty();
    let line = "[ $RUNNER_ATTEMPT -eq 3 ] || echo result=$RUNNER_ATTEMPT = yes >> $RUNNER_REPORT; exit 1";
    assert_eq!(sandbox.finish_line("--backoff 1ms,1ms", line)["result"], "2 = yes");
    let line = "{ printf result=; head -c 100000 /dev/zero | tr '\\0' x; echo; } > $RUNNER_REPORT";
    assert_eq!(sandbox.finish_line("", line)["result"].as_str().map(str::len), Some(64 * 1024));
    let job = after(&format!("error_code=EARLY\n{}error_code=LATE\n", "\n".repeat(1 << 20)), 1, "");
    let note = "report: longer than 1 MiB; the rest is ignored";
    assert_fields(&job["history"][0], &json!({"error_code": "EARLY", "message": note}));
}

#[test]
fn malformed_lines_and_reserved_codes_are_noted_and_do_no_harm() {
    for line in [
        "nonsense",
        "colour=red",
        "error_code=lower",
        "retry_after=soon",
        "retry_after=-1",
        "unrecoverable=perhaps",
        "=1",
    ] {
        let job = after(&format!("{line}\n"), 1, "");
        let attempt = &job["history"][0];
        assert_eq!((&attempt["error_code"], &job["state"]), (&json!("EXIT_1"), &json!("pending")), "{line}");
        assert!(attempt["message"].as_str().is_some_and(|text| text.contains("line 1")), "{line}: {attempt}");
    }
    let job = after("error_code=B\nerror_code=bad\nerror_code=TIMEOUT\n", 1, "");
    assert_eq!(job["history"][0]["error_code"], "B", "the last line that can be taken counts");
    let interrupted = ["TIMEOUT", "CANCELLED", "INTERRUPTED", "WORKER_CRASHED"];
    for code in interrupted.iter().chain(&["SPAWN_FAILED", "EXPIRED", "EXIT_2", "SIGNAL_KILL"]) {
        let job = after(&format!("error_code={code}\nmessage=mine\n"), 1, "");
        let attempt = &job["history"][0];
        assert_eq!(attempt["error_code"], "EXIT_1", "{code}");
        let message = attempt["message"].as_str().unwrap_or_default();
        assert!(message.contains("mine") && message.contains(code), "{message}");
    }
}

#[test]
fn a_job_that_reports_nothing_need_not_make_the_file() {
    let line = "[ ! -e \"$RUNNER_REPORT\" ] && [ -d \"$(dirname \"$RUNNER_REPORT\")\" ]";
    let job = Sandbox::empty().finish_line("", line);
    assert_eq!((&job["state"], &job["history"][0]["message"]), (&json!("succeeded"), &json!(null)));
}

#[test]
fn only_a_regular_file_is_read() {
    let no_file = "report: not a regular file; it is ignored";
    for (make, note) in [
        ("ln -s $PWD/lines $RUNNER_REPORT", "report: a symbolic link; it is ignored"),
        ("mkfifo $RUNNER_REPORT", no_file),
        ("mkdir $RUNNER_REPORT", no_file),
    ] {
        let sandbox = Sandbox::empty();
        sandbox.write("lines", "error_code=FOLLOWED\n");
        let job = sandbox.finish_line("", &format!("{make}; exit 1"));
        assert_fields(&job["history"][0], &json!({"error_code": "EXIT_1", "message": note}));
        assert_eq!(sandbox.read("lines"), "error_code=FOLLOWED\n");
    }
}
