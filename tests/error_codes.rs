//! What a failure is called.

use crate::support::{Sandbox, Value, json};

/// The only attempt of a job that ends in this way, in a file that begins with `globals`.
#[track_caller]
fn attempt_of(globals: &str, command: &str, keys: &str) -> Value {
    let sandbox =
        Sandbox::new(&format!("{globals}\n[jobs.job]\ncommand = {command}\nretryable = false\n{keys}\n"));
    let id = sandbox.add("job");
    sandbox.drain();
    sandbox.attempts(id).remove(0)
}

#[track_caller]
fn code_of(globals: &str, command: &str, keys: &str) -> Value {
    attempt_of(globals, command, keys)["error_code"].clone()
}

const MAP: &str =
    "[jobs.job.exit_codes]\n22 = 'EXACT'\n'20-29' = 'NARROW'\n'1-99' = 'WIDE'\nSIGKILL = 'KILLED'\n";
const GLOBAL: &str = "exit_codes = { 22 = 'GLOBAL_22', 150 = 'GLOBAL_150' }\n";

#[test]
fn an_exact_entry_goes_before_a_range_and_a_narrow_range_before_a_wide_one() {
    for (status, code) in [(22, "EXACT"), (23, "NARROW"), (30, "WIDE"), (100, "EXIT_100")] {
        assert_eq!(code_of("", &format!("'exit {status}'"), MAP), code);
    }
}

#[test]
fn the_map_of_the_job_goes_before_that_of_the_file() {
    assert_eq!(code_of(GLOBAL, "'exit 22'", MAP), "EXACT");
    assert_eq!(code_of(GLOBAL, "'exit 150'", MAP), "GLOBAL_150");
    assert_eq!(code_of(GLOBAL, "'exit 22'", ""), "GLOBAL_22");
}

#[test]
fn defaults_name_what_no_map_does() {
    let global = "default_error_code = 'FILE'\n";
    assert_eq!(code_of(global, "'exit 9'", ""), "FILE");
    assert_eq!(code_of(global, "'exit 9'", "default_error_code = 'JOB'"), "JOB");
    assert_eq!(code_of(global, "'kill -SEGV $$'", "default_error_code = 'JOB'"), "JOB");
    assert_eq!(code_of(GLOBAL, "'exit 150'", "default_error_code = 'JOB'"), "GLOBAL_150");
}

#[test]
fn without_a_name_it_keeps_its_number() {
    assert_eq!(code_of("", "'exit 9'", ""), "EXIT_9");
    assert_eq!(code_of("", "'kill -KILL $$'", ""), "SIGNAL_KILL");
    assert_eq!(code_of("", "'kill -KILL $$'", MAP), "KILLED");
}

#[test]
fn exit_status_and_signal_are_kept_apart() {
    let exited = attempt_of("", "'exit 137'", "");
    assert_eq!((&exited["exit_code"], &exited["signal"]), (&json!(137), &json!(null)));
    assert_eq!(exited["error_code"], "EXIT_137");
    let killed = attempt_of("", "'kill -KILL $$'", "");
    assert_eq!((&killed["exit_code"], &killed["signal"]), (&json!(null), &json!("SIGKILL")));
    assert_eq!(killed["outcome"], "failed");
    // A shell that waits for a killed child exits with 128 and the signal.
    let shell = attempt_of("", "'sh -c \"kill -KILL \\$\\$\"; exit $?'", "");
    assert_eq!((&shell["exit_code"], &shell["error_code"]), (&json!(137), &json!("EXIT_137")));
}

#[test]
fn a_signal_without_a_name_is_its_number() {
    let attempt = attempt_of("", "'kill -40 $$'", "");
    assert_eq!((&attempt["signal"], &attempt["error_code"]), (&json!("40"), &json!("SIGNAL_40")));
}

#[test]
fn success_is_what_success_exit_codes_say() {
    let outcome = |status: u32| {
        attempt_of("", &format!("'exit {status}'"), "success_exit_codes = [0, 24]")["outcome"].clone()
    };
    assert_eq!(outcome(0), "succeeded");
    assert_eq!(outcome(24), "succeeded");
    assert_eq!(outcome(1), "failed");
    assert_eq!(attempt_of("", "'exit 0'", "success_exit_codes = [3]")["error_code"], "EXIT_0");
    let succeeded =
        attempt_of("", "'exit 24'", "success_exit_codes = [24]\nexit_codes = { '1-99' = 'WIDE' }");
    assert_eq!((&succeeded["outcome"], &succeeded["error_code"]), (&json!("succeeded"), &json!(null)));
}

#[test]
fn what_cannot_be_started_is_spawn_failed() {
    let sandbox = Sandbox::empty();
    sandbox.write("plain", "not a program");
    for (command, keys) in [
        ("['no-such-program-anywhere']", ""),
        ("['/']", ""),
        ("['./plain']", ""),
        ("'true'", "cwd = 'no-such-directory'"),
    ] {
        let attempt = attempt_of("default_error_code = 'FAILED'", command, keys);
        assert_eq!(attempt["outcome"], "spawn_failed", "{command} {keys}: {attempt}");
        assert_eq!(attempt["error_code"], "SPAWN_FAILED");
        assert_eq!((&attempt["exit_code"], &attempt["signal"]), (&json!(null), &json!(null)));
        assert_ne!(attempt["message"], json!(null));
    }
}

#[test]
fn spawn_failed_is_final_unless_it_is_listed() {
    let job = |keys: &str| {
        let sandbox =
            Sandbox::new(&format!("[jobs.job]\ncommand = ['no-such-program']\nbackoff = ['1ms']\n{keys}\n"));
        let id = sandbox.add("job");
        sandbox.drain();
        sandbox.job(id)
    };
    let plain = job("");
    assert_eq!((&plain["attempts"], &plain["dead_reason"]), (&json!(1), &json!("spawn_failed")));
    let listed = job("auto_retry_for = ['SPAWN_FAILED']");
    assert_eq!((&listed["attempts"], &listed["dead_reason"]), (&json!(2), &json!("attempts_exhausted")));
}

#[test]
fn reserved_codes_are_no_targets() {
    for target in ["TIMEOUT", "CANCELLED", "EXPIRED", "EXIT_3", "SIGNAL_KILL", "lower"] {
        let sandbox =
            Sandbox::new(&format!("[jobs.job]\ncommand = 'true'\nexit_codes = {{ 3 = '{target}' }}\n"));
        sandbox.run("check").exits(65).says(target);
    }
}
