//! Each kind of failure has its error code.

use crate::support::{Sandbox, Value, assert_fields, json};

/// The job after all its attempts, in a file that begins with `globals`.
#[track_caller]
fn finished(globals: &str, command: &str, keys: &str) -> Value {
    let jobs = format!("{globals}\n[jobs.job]\ncommand = {command}\nbackoff = ['1ms']\n{keys}\n");
    let sandbox = Sandbox::new(&jobs);
    sandbox.write("plain", "not a program");
    sandbox.finish("job")
}

/// The last attempt of a job that ends in this way.
#[track_caller]
fn attempt_of(globals: &str, command: &str, keys: &str) -> Value {
    let job = finished(globals, command, keys);
    job["history"].as_array().and_then(|attempts| attempts.last()).expect("an attempt").clone()
}

const MAP: &str =
    "[jobs.job.exit_codes]\n22 = 'EXACT'\n'20-29' = 'NARROW'\n'1-99' = 'WIDE'\nSIGKILL = 'KILLED'\n";
const GLOBAL: &str = "exit_codes = { 22 = 'GLOBAL_22', 150 = 'GLOBAL_150' }\n";
const FILE: &str = "default_error_code = 'FILE'\n";
const JOB: &str = "default_error_code = 'JOB'\n";

#[test]
fn the_first_that_matches_names_the_failure() {
    for (globals, command, keys, code) in [
        // An exact entry, then the narrowest range, then the number.
        ("", "'exit 22'", MAP, "EXACT"),
        ("", "'exit 23'", MAP, "NARROW"),
        ("", "'exit 30'", MAP, "WIDE"),
        ("", "'exit 100'", MAP, "EXIT_100"),
        // The job's map, then the file's.
        (GLOBAL, "'exit 22'", MAP, "EXACT"),
        (GLOBAL, "'exit 150'", MAP, "GLOBAL_150"),
        (GLOBAL, "'exit 22'", "", "GLOBAL_22"),
        // The defaults come after all maps.
        (FILE, "'exit 9'", "", "FILE"),
        (FILE, "'exit 9'", JOB, "JOB"),
        (FILE, "'kill -SEGV $$'", JOB, "JOB"),
        (GLOBAL, "'exit 150'", JOB, "GLOBAL_150"),
        ("", "'kill -KILL $$'", MAP, "KILLED"),
    ] {
        assert_eq!(attempt_of(globals, command, keys)["error_code"], code, "{globals} {command} {keys}");
    }
}

#[test]
fn exit_status_and_signal_are_kept_apart() {
    for (command, exit_code, signal, code) in [
        ("'exit 137'", json!(137), json!(null), "EXIT_137"),
        ("'kill -KILL $$'", json!(null), json!("SIGKILL"), "SIGNAL_KILL"),
        // A shell that waits for a killed child exits with 128 and the signal.
        ("'sh -c \"kill -KILL \\$\\$\"; exit $?'", json!(137), json!(null), "EXIT_137"),
        // A signal without a name is its number.
        ("'kill -40 $$'", json!(null), json!("40"), "SIGNAL_40"),
    ] {
        let expected =
            json!({"outcome": "failed", "exit_code": exit_code, "signal": signal, "error_code": code});
        assert_fields(&attempt_of("", command, ""), &expected);
    }
}

#[test]
fn success_is_what_success_exit_codes_say() {
    for (status, keys, outcome, code) in [
        (0, "success_exit_codes = [0, 24]", "succeeded", json!(null)),
        (24, "success_exit_codes = [0, 24]", "succeeded", json!(null)),
        (1, "success_exit_codes = [0, 24]", "failed", json!("EXIT_1")),
        (0, "success_exit_codes = [3]", "failed", json!("EXIT_0")),
        (24, "success_exit_codes = [24]\nexit_codes = { '1-99' = 'WIDE' }", "succeeded", json!(null)),
    ] {
        let attempt = attempt_of("", &format!("'exit {status}'"), keys);
        assert_fields(&attempt, &json!({"outcome": outcome, "error_code": code}));
    }
}

#[test]
fn a_job_that_cannot_be_started_is_spawn_failed_and_final_unless_that_is_listed() {
    for (command, keys) in [
        ("['no-such-program-anywhere']", ""),
        ("['/']", ""),
        ("['./plain']", ""),
        ("'true'", "cwd = 'no-such-directory'"),
    ] {
        let job = finished("default_error_code = 'FAILED'", command, keys);
        assert_fields(
            &job,
            &json!({"attempts": 1, "dead_reason": "spawn_failed", "error_code": "SPAWN_FAILED"}),
        );
        let attempt = &job["history"][0];
        assert_fields(attempt, &json!({"outcome": "spawn_failed", "exit_code": null, "signal": null}));
        assert_ne!(attempt["message"], json!(null));
    }
    let listed = finished("", "['no-such-program']", "auto_retry_for = ['SPAWN_FAILED']");
    assert_fields(&listed, &json!({"attempts": 2, "dead_reason": "attempts_exhausted"}));
}

/// A line whose command dies by this signal while the shell waits for it.
fn dies_in_the_shell(signal: &str) -> String {
    format!("'sh -c \"kill -{signal} \\$\\$\"; exit $?'")
}

#[test]
fn what_is_written_of_a_signal_holds_for_the_status_by_which_a_shell_reports_it() {
    for (globals, keys, code, reason) in [
        ("", "exit_codes = { SIGKILL = 'OUT_OF_MEMORY' }", "OUT_OF_MEMORY", "attempts_exhausted"),
        ("exit_codes = { SIGKILL = 'OUT_OF_MEMORY' }", "", "OUT_OF_MEMORY", "attempts_exhausted"),
        ("", "never_retry_for = ['SIGNAL_KILL']", "EXIT_137", "never_retry"),
        ("", "never_retry_for = ['SIGNAL_*']\nlauncher = ['env']", "EXIT_137", "never_retry"),
        ("", "auto_retry_for = ['SIGNAL_KILL']", "EXIT_137", "attempts_exhausted"),
        ("", "auto_retry_for = ['SIGNAL_TERM']", "EXIT_137", "code_not_listed"),
        (
            "",
            "auto_retry_for = ['EXIT_137']\nnever_retry_for = ['SIGNAL_KILL']",
            "EXIT_137",
            "attempts_exhausted",
        ),
        ("", "exit_codes = { 137 = 'OWN' }\nnever_retry_for = ['SIGNAL_KILL']", "OWN", "attempts_exhausted"),
        ("", "exit_codes = { SIGKILL = 'OOM' }\nnever_retry_for = ['EXIT_137']", "EXIT_137", "never_retry"),
        ("exit_codes = { SIGKILL = 'OOM' }", "never_retry_for = ['EXIT_137']", "EXIT_137", "never_retry"),
        (
            "exit_codes = { SIGKILL = 'OOM' }\n[defaults]\nnever_retry_for = ['EXIT_137']",
            "",
            "EXIT_137",
            "never_retry",
        ),
        (
            "",
            "exit_codes = { SIGKILL = 'OOM' }\nauto_retry_for = ['EXIT_137']",
            "EXIT_137",
            "attempts_exhausted",
        ),
    ] {
        let job = finished(globals, &dies_in_the_shell("KILL"), keys);
        assert_fields(&job, &json!({"error_code": code, "dead_reason": reason}));
    }
    // An array is not known to be a shell.
    let array = r#"["sh", "-c", "sh -c 'kill -KILL $$'; exit $?"]"#;
    let job = finished("", array, "never_retry_for = ['SIGNAL_KILL']\nexit_codes = { SIGTERM = 'STOPPED' }");
    assert_fields(&job, &json!({"error_code": "EXIT_137", "dead_reason": "attempts_exhausted"}));
    let line = "sh -c 'kill -KILL $$'; exit $?";
    let job = Sandbox::empty().finish_line("--never-retry-for SIGNAL_KILL --backoff 1ms", line);
    assert_fields(&job, &json!({"error_code": "EXIT_137", "dead_reason": "never_retry", "attempts": 1}));
}

#[test]
fn an_option_that_names_the_status_goes_before_what_the_file_says_of_the_signal() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'exit 137'\nexit_codes = { SIGKILL = 'OOM', SIGTERM = 'STOPPED' }\nbackoff = ['1ms']\n",
    );
    for (options, code, reason) in [
        ("", "OOM", "attempts_exhausted"),
        ("--never-retry-for EXIT_143", "OOM", "attempts_exhausted"),
        ("--never-retry-for EXIT_137", "EXIT_137", "never_retry"),
        ("--auto-retry-for EXIT_137", "EXIT_137", "attempts_exhausted"),
    ] {
        let job = sandbox.finish(&format!("job {options}"));
        assert_fields(&job, &json!({"error_code": code, "dead_reason": reason}));
        let shown = sandbox.run(&format!("inspect {}", job["id"])).ok().stdout;
        assert!(!shown.contains("137 OOM"), "{shown}");
    }
    let batch = r#"{"name": "job", "never_retry_for": ["EXIT_137"]}"#;
    let id = sandbox.call("enqueue --batch -").stdin(batch).run().ok().id();
    sandbox.drain();
    assert_fields(&sandbox.job(id), &json!({"error_code": "EXIT_137", "dead_reason": "never_retry"}));
}

#[test]
fn screens_show_what_was_written_and_say_what_the_status_means() {
    let keys =
        "never_retry_for = ['SIGNAL_*', 'EXIT_2']\nexit_codes = { SIGTERM = 'STOPPED', 3 = 'THREE' }\n";
    let command = dies_in_the_shell("KILL");
    let sandbox = Sandbox::new(&format!("[jobs.job]\ncommand = {command}\n{keys}"));
    let checked = sandbox.run("check").ok().shows("never for EXIT_2, SIGNAL_*\n");
    checked.shows("codes     3 THREE, SIGTERM STOPPED\n");
    let lists = sandbox.run("check --json").ok().json()["policy"]["never_retry_for"].clone();
    assert_eq!(lists, json!(["EXIT_2", "SIGNAL_*"]));
    sandbox.finish("job");
    let shown = sandbox.run("inspect 1").ok().shows("never for EXIT_2, SIGNAL_*\n");
    shown.shows("137: the shell says that SIGKILL ended a command, often for lack of memory\n");
    sandbox.run("inspect 1.1").ok().shows("137: the shell says that SIGKILL ended a command");
    sandbox.run("retry 1").ok().quietly();
    // A job of an array says nothing of a shell.
    let id = sandbox.call("enqueue -- sh -c").arg("exit 137").run().ok().id();
    sandbox.drain();
    assert!(!sandbox.run(&format!("inspect {id}")).ok().stdout.contains("137: the shell"));
}
