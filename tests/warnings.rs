//! Success with a warning: an exit status that means "done, but look".

use crate::support::{Finished, Sandbox, Value, assert_fields, json};

const JOBS: &str = r#"
exit_codes = { 24 = "VANISHED", "40-49" = "WIDE" }
default_error_code = "FAILED"

[jobs.sync]
command = "echo copied; echo \"vanished: $N\" >&2; exit ${N:-24}"
warning_exit_codes = [24, 25, 42]
on_warning = "alert"
unique_key = "sync"

[jobs.after]
command = "echo after"
after = ["sync"]

[jobs.alert]
command = 'echo "$RUNNER_DEAD_JOB_ID $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_REASON $RUNNER_DEAD_ERROR_CODE $RUNNER_DEAD_MESSAGE" >> log'
"#;

/// The entries of needs attention, without the kinds that are about workers.
fn attention(sandbox: &Sandbox) -> Vec<Value> {
    let list = sandbox.run("inspect --json").ok().json()["attention"].as_array().cloned().expect("a list");
    list.into_iter().filter(|entry| entry["kind"] == "warned").collect()
}

/// Runs this call, of which a job succeeds with a warning and is told to have written to standard error.
fn warned(sandbox: &Sandbox, line: &str) -> Finished {
    sandbox.run(line).says("vanished: ").says(": succeeded, ").ok()
}

#[test]
fn it_is_a_success_of_which_everybody_is_told() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue after").ok();
    sandbox.drain().ok();
    let job = sandbox.job(1);
    assert_fields(
        &job,
        &json!({"state": "succeeded", "phase": "succeeded", "error_code": null, "warning": "VANISHED"}),
    );
    assert_fields(&sandbox.job(2), &json!({"state": "succeeded", "warning": null}));
    assert_fields(
        &sandbox.attempt(1, 1),
        &json!({"outcome": "succeeded", "error_code": null, "exit_code": 24, "warning": "VANISHED", "will_retry": false}),
    );
    assert_eq!(sandbox.log(), ["1 sync warning VANISHED vanished:"]);
    sandbox
        .run("inspect 1")
        .ok()
        .shows("sync: succeeded, VANISHED")
        .shows("exit 24")
        .shows("stderr: vanished:");
    sandbox.run("inspect 1.1").ok().shows("succeeded, VANISHED");
    sandbox.run("inspect jobs").ok().shows("succeeded, VANISHED");
    sandbox.run("inspect attempts").ok().shows("succeeded, VANISHED");
    sandbox.run("inspect").ok().shows("sync succeeded with a warning").shows("  !  ");
    sandbox.run("wait 1").ok().prints("job 1 sync: succeeded, VANISHED\n");
    let stats = sandbox.run("inspect stats --name sync --json").ok().json();
    assert_fields(&stats, &json!({"succeeded": 1, "dead": 0, "warnings": 1, "success_rate": 1.0}));
    let page = sandbox.run("inspect --html").ok().stdout;
    assert!(page.contains("succeeded with a warning") && page.contains("class=\"a"), "{page}");
}

#[test]
fn exit_codes_name_a_warning_and_the_default_does_not() {
    let sandbox = Sandbox::new(JOBS);
    for (status, state, warning, code) in [
        (24, "succeeded", json!("VANISHED"), json!(null)),
        (42, "succeeded", json!("WIDE"), json!(null)),
        (25, "succeeded", json!("EXIT_25"), json!(null)),
        (0, "succeeded", json!(null), json!(null)),
        (43, "dead", json!(null), json!("WIDE")),
        (26, "dead", json!(null), json!("FAILED")),
    ] {
        let job = sandbox.finish(&format!("sync --max-attempts 1 --env N={status}"));
        assert_fields(&job, &json!({"state": state, "warning": warning, "error_code": code}));
    }
}

#[test]
fn what_runner_ended_is_no_warning_and_a_report_names_none() {
    let sandbox = Sandbox::new(
        r#"
[defaults]
warning_exit_codes = [3]
max_attempts = 1
[jobs.slow]
command = "trap 'exit 3' TERM; sleep 60 & wait"
timeout = "200ms"
[jobs.report]
command = 'echo error_code=OWN > "$RUNNER_REPORT"; exit 3'
reports = ["OWN"]
"#,
    );
    assert_fields(
        &sandbox.finish("slow"),
        &json!({"state": "dead", "error_code": "TIMEOUT", "warning": null}),
    );
    assert_fields(&sandbox.finish("report"), &json!({"state": "succeeded", "warning": "EXIT_3"}));
}

#[test]
fn run_says_so_and_with_quiet_writes_what_was_written() {
    let sandbox = Sandbox::new(JOBS);
    warned(&sandbox, "run sync").prints("copied\n");
    sandbox.run("run sync -q --env N=0").ok().prints("").quietly();
    warned(&sandbox, "run sync -q").prints("copied\n");
    // The output of a dependency, too.
    warned(&sandbox, "run after -q").prints("copied\n");
    warned(&sandbox, "run after").prints("copied\nafter\n");
    let shown = sandbox.run("run sync --json").says("{\"note\":").ok().json();
    assert_fields(&shown, &json!({"state": "succeeded", "warning": "VANISHED"}));
    assert_eq!(shown["attempt"]["warning"], "VANISHED");
    let alerts = |log: Vec<String>| log.iter().filter(|line| line.contains(" sync warning VANISHED")).count();
    assert_eq!(alerts(sandbox.log()), 5, "a run runs the alerts along");
}

#[test]
fn output_on_failure_shows_that_of_a_warning() {
    let sandbox = Sandbox::new(JOBS);
    let worker = sandbox.worker("");
    warned(&sandbox, "enqueue sync --wait --output-on-failure").prints("1\ncopied\n");
    sandbox.run("enqueue sync --wait --output-on-failure --env N=0").ok().prints("3\n");
    drop(worker);
}

#[test]
fn a_note_stands_until_a_run_comes_without_a_warning_or_somebody_has_looked() {
    let sandbox = Sandbox::new(JOBS);
    warned(&sandbox, "run sync -q");
    let [entry] = attention(&sandbox).try_into().expect("one entry");
    assert_fields(&entry, &json!({"alarm": false, "jobs": [1]}));
    let message = entry["message"].as_str().expect("a sentence");
    assert!(message.contains("exit 24, VANISHED: vanished"), "{message}");
    sandbox.run("doctor --strict").ok();
    sandbox.run("run sync -q --env N=0").ok();
    assert_eq!(attention(&sandbox), [json!(null); 0]);
    warned(&sandbox, "run sync -q");
    let command = attention(&sandbox)[0]["command"].as_str().map(str::to_owned).expect("a command");
    let (_, ids) = command.rsplit_once(' ').expect("an id");
    sandbox.run(&format!("resolve {ids}")).ok();
    assert_eq!(attention(&sandbox), [json!(null); 0]);
}

#[test]
fn warnings_are_listed_counted_and_resolved() {
    let sandbox = Sandbox::new(JOBS);
    for _ in 0..2 {
        warned(&sandbox, "run sync -q");
    }
    sandbox.run("run -q --name sync -- false").exits(1).says("dead, EXIT_1");
    let listed = |what: &str| sandbox.run(&format!("inspect {what} --json")).ok().each("id");
    assert_eq!(listed("jobs --state warned"), [3, 1]);
    // A name stands for the newest dead one, else the newest with a warning.
    sandbox.run("resolve sync --note looked").ok().prints("job 5 sync: resolved\n");
    sandbox.run("resolve sync --note looked").ok().prints("job 3 sync: resolved\n");
    assert_fields(&sandbox.job(3), &json!({"state": "succeeded", "resolution": "looked"}));
    sandbox
        .run("resolve --warned --name other")
        .says("no unresolved warning")
        .says("no job has the name")
        .ok()
        .prints("");
    sandbox.call("resolve --warned --name sync --label").arg("").run().ok().prints("job 1 sync: resolved\n");
    sandbox.run("resolve --warned").says("no unresolved warning").ok().prints("");
    sandbox.run("resolve 2").exits(1).says("job 2 is succeeded").says("with a warning");
    sandbox.run("resolve --warned --dead").exits(2);
    sandbox.run("resolve --name sync").exits(2);
    assert_eq!(listed("jobs --state warned"), [3, 1]);
    assert_eq!(listed("dead --resolved"), [5]);
    let counts = &sandbox.run("inspect --json").ok().json()["counts"];
    assert_fields(counts, &json!({"succeeded": 4, "dead": 0, "resolved": 3}));
    sandbox.run("inspect attempts --state warned").exits(2);
    sandbox.run("retry 1").exits(1).says("job 1 is succeeded");
    let metric = "runner_warnings_total{db=";
    let metrics = || {
        let shown = sandbox.run("inspect --prometheus").ok().stdout;
        let of_sync = |line: &&str| line.starts_with(metric) && line.contains("name=\"sync\"");
        shown.lines().find(of_sync).map(str::to_owned).expect("a counter")
    };
    assert!(metrics().ends_with(" 2"));
    sandbox.run("prune --older-than 0s").ok();
    assert!(metrics().ends_with(" 2"), "it never falls");
    sandbox.run("doctor").ok();
}

#[test]
fn options_and_lines_of_a_batch_say_which_statuses_are_warnings() {
    let sandbox = Sandbox::new(JOBS);
    let run = |options: &str, line: &str| sandbox.call(&format!("run {options} -c")).arg(line).run();
    run("--success-exit-codes 0,7 --warning-exit-codes 3", "exit 7").ok();
    run("--warning-exit-codes 3", "exit 3").says("succeeded, exit 3").ok();
    assert_fields(&sandbox.job(2), &json!({"max_attempts": 1, "warning": "EXIT_3"}));
    // The nearer level has a status, and an empty list takes back a farther one.
    assert_fields(
        &sandbox.finish("sync --success-exit-codes 0,24"),
        &json!({"state": "succeeded", "warning": null}),
    );
    let cleared = sandbox.call("run sync -q --max-attempts 1 --warning-exit-codes").arg("").run();
    cleared.exits(24).says("dead, VANISHED").says("vanished");
    let batch = |line: &str| sandbox.call("enqueue --batch -").stdin(line).run();
    let id =
        batch(r#"{"command": "exit 5", "warning_exit_codes": [5], "success_exit_codes": [0]}"#).ok().id();
    sandbox.drain().ok();
    assert_fields(&sandbox.job(id), &json!({"state": "succeeded", "warning": "EXIT_5"}));
    for (options, said) in [
        ("--warning-exit-codes 0", "exit status 0 is a success"),
        ("--warning-exit-codes 3 --success-exit-codes 0,3", "exit status 3 is in"),
        ("--warning-exit-codes 256", "a whole number from 0 to 255"),
        ("--warning-exit-codes 3,3", "3 is given twice"),
        ("--success-exit-codes x", "a whole number from 0 to 255"),
    ] {
        sandbox.run(&format!("enqueue {options} -- true")).exits(2).says(said);
    }
    for line in [
        r#"{"command": "true", "warning_exit_codes": [0]}"#,
        r#"{"command": "true", "warning_exit_codes": 3}"#,
    ] {
        batch(line).exits(65).says("warning");
    }
    sandbox.run("run --success-exit-codes 3 --warning-exit-codes 0 -- true").says("succeeded, exit 0").ok();
}

#[test]
fn a_job_of_an_alert_is_left_out_of_all_and_a_useless_one_is_noted() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue --all --dry-run").ok().shows("sync").shows("after");
    assert_eq!(sandbox.run("enqueue --all --dry-run --json").ok().each("name"), ["sync", "after"]);
    sandbox.run("check").ok().shows("exit status 24, 25, 42").shows("on_warning alert").quietly();
    sandbox.write("jobs.toml", "[jobs.a]\ncommand = 'true'\non_warning = 'b'\n[jobs.b]\ncommand = 'true'\n");
    sandbox.run("check").says("a: `on_warning` has no effect").ok();
    sandbox.write(
        "jobs.toml",
        "[defaults]\non_warning = 'b'\n[jobs.a]\ncommand = 'true'\n[jobs.b]\ncommand = 'true'\n",
    );
    sandbox.run("check").says("[defaults]: `on_warning` has no effect").ok();
}

#[test]
fn check_foresees_a_warning() {
    let sandbox = Sandbox::new(JOBS);
    sandbox
        .run("check sync --exit 24")
        .ok()
        .shows("named VANISHED, from the file's exit_codes")
        .shows("succeeded with a warning");
    let ending = sandbox.run("check sync --exit 25 --json").ok().json();
    assert_fields(&ending, &json!({"error_code": null, "warning": "EXIT_25"}));
}

#[test]
fn the_log_of_a_worker_tells_of_a_warning() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("sync");
    let ran = sandbox.run("work --drain --log json").ok();
    let events = ran.json_lines();
    let ended = events.iter().find(|event| event["event"] == "job_succeeded").expect("a success");
    assert_fields(
        ended,
        &json!({"job_id": 1, "outcome": "succeeded", "warning": "VANISHED", "last_output": "vanished:"}),
    );
    sandbox.add("sync");
    sandbox.run("work --drain").says("sync: succeeded, VANISHED after").ok();
    sandbox.add("sync");
    sandbox.run("work --drain -q").says("runner: job 5 sync: succeeded, VANISHED after").ok();
}
