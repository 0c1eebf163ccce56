//! `$RUNNER_REPORT`: what a job says about itself.

use crate::support::{Sandbox, Value, json};

/// The job after its first attempt has reported these lines and exited with `status`.
#[track_caller]
fn after(lines: &str, status: u8, keys: &str) -> Value {
    let command = format!("cat lines > \"$RUNNER_REPORT\"; exit {status}");
    let sandbox = Sandbox::new(&format!("[jobs.job]\ncommand = '{command}'\nbackoff = '1h'\n{keys}\n"));
    sandbox.write("lines", lines);
    let id = sandbox.add("job");
    sandbox.run("work --until-idle");
    sandbox.job(id)
}

#[test]
fn it_names_the_failure() {
    let job =
        after("error_code=RATE_LIMITED\nmessage=slow down, please\n", 22, "exit_codes = { 22 = 'HTTP' }");
    let attempt = &job["history"][0];
    assert_eq!(
        (&attempt["error_code"], &attempt["message"]),
        (&json!("RATE_LIMITED"), &json!("slow down, please"))
    );
    assert_eq!(attempt["exit_code"], 22);
    assert_eq!(job["state"], "pending", "a code that `reports` does not declare is taken");
}

#[test]
fn the_policy_looks_at_the_reported_code() {
    let keys = "reports = ['USAGE']\nnever_retry_for = ['USAGE']";
    let job = after("error_code=USAGE\n", 1, keys);
    assert_eq!((&job["dead_reason"], &job["error_code"]), (&json!("never_retry"), &json!("USAGE")));
}

#[test]
fn retry_after_replaces_the_wait() {
    for (value, delay) in [("30s", 30_000), ("90", 90_000), ("31d", 30 * 86_400_000_u64), ("1m 5s", 65_000)] {
        let job = after(&format!("retry_after={value}\n"), 1, "");
        let attempt = &job["history"][0];
        assert_eq!(
            (&attempt["delay_ms"], &attempt["nominal_delay_ms"]),
            (&json!(delay), &json!(3_600_000)),
            "{value}"
        );
    }
}

#[test]
fn unrecoverable_is_final() {
    let job = after("unrecoverable=true\nerror_code=BAD\n", 1, "auto_retry_for = ['BAD']\nreports = ['BAD']");
    assert_eq!((&job["dead_reason"], &job["error_code"]), (&json!("unrecoverable"), &json!("BAD")));
}

#[test]
fn the_exit_status_alone_decides_about_success() {
    let job = after("error_code=BAD\nunrecoverable=true\nresult=42\n", 0, "");
    assert_eq!((&job["state"], &job["result"]), (&json!("succeeded"), &json!("42")));
    assert_eq!(job["history"][0]["error_code"], json!(null));
}

#[test]
fn a_result_is_kept_from_the_last_attempt_that_gave_one() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = '[ $RUNNER_ATTEMPT -eq 3 ] || echo result=$RUNNER_ATTEMPT = yes >> $RUNNER_REPORT; exit 1'\nbackoff = ['1ms', '1ms']\n",
    );
    let id = sandbox.add("job");
    sandbox.drain();
    assert_eq!(sandbox.job(id)["result"], "2 = yes");
}

#[test]
fn of_a_repeated_key_the_last_line_counts() {
    let job = after("error_code=FIRST\nerror_code=SECOND\n", 1, "");
    assert_eq!(job["history"][0]["error_code"], "SECOND");
}

#[test]
fn malformed_lines_are_noted_and_do_no_harm() {
    for line in ["nonsense", "colour=red", "error_code=lower", "retry_after=soon", "unrecoverable=perhaps"] {
        let job = after(&format!("{line}\n"), 1, "");
        let attempt = &job["history"][0];
        assert_eq!(attempt["error_code"], "EXIT_1", "{line}");
        let message = attempt["message"].as_str().unwrap_or_default();
        assert!(message.contains("line 1"), "{line}: {attempt}");
        assert_eq!(job["state"], "pending");
    }
}

#[test]
fn reserved_codes_are_refused() {
    for code in [
        "TIMEOUT",
        "CANCELLED",
        "INTERRUPTED",
        "WORKER_CRASHED",
        "SPAWN_FAILED",
        "EXPIRED",
        "EXIT_2",
        "SIGNAL_KILL",
    ] {
        let job = after(&format!("error_code={code}\nmessage=mine\n"), 1, "");
        let attempt = &job["history"][0];
        assert_eq!(attempt["error_code"], "EXIT_1", "{code}");
        let message = attempt["message"].as_str().unwrap_or_default();
        assert!(message.contains("mine") && message.contains(code), "{message}");
    }
}

#[test]
fn a_job_that_reports_nothing_need_not_make_the_file() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add_line("", "[ ! -e \"$RUNNER_REPORT\" ] && [ -d \"$(dirname \"$RUNNER_REPORT\")\" ]");
    sandbox.drain();
    let job = sandbox.job(id);
    assert_eq!((&job["state"], &job["history"][0]["message"]), (&json!("succeeded"), &json!(null)));
}

#[test]
fn only_a_regular_file_is_read() {
    for make in ["ln -s $PWD/lines $RUNNER_REPORT", "mkfifo $RUNNER_REPORT", "mkdir $RUNNER_REPORT"] {
        let sandbox = Sandbox::empty();
        sandbox.write("lines", "error_code=FOLLOWED\n");
        let id = sandbox.add_line("", &format!("{make}; exit 1"));
        sandbox.drain();
        assert_eq!(sandbox.job(id)["error_code"], "EXIT_1", "{make}");
    }
}

#[test]
fn a_large_result_is_cut() {
    let sandbox = Sandbox::empty();
    let id = sandbox
        .add_line("", "{ printf result=; head -c 100000 /dev/zero | tr '\\0' x; echo; } > $RUNNER_REPORT");
    sandbox.drain();
    assert_eq!(sandbox.job(id)["result"].as_str().map(str::len), Some(64 * 1024));
}
