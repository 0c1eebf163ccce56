//! A job file that has changed since a job was enqueued: `retry` says so first, and `--redefine` takes the present
//! definition.

use crate::retry::JOBS;
use crate::support::{Background, Sandbox, assert_fields, assert_screen, json};

const MENDED: &str = r#"
[jobs.worse]
command = 'echo mended $1 $(cat) >> log'
timeout = '5m'
unique_key = 'declared'
[jobs.bad]
command = "echo $RUNNER_ATTEMPT >> log; exit 3"
backoff = ["1ms"]
[jobs.once]
command = "true"
retryable = false
"#;

#[test]
fn a_definition_that_differs_is_told_first_and_kept() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue bad worse worse").ok();
    sandbox.add("worse --priority 7");
    sandbox.add("worse --in 1h");
    sandbox.run("work --until-idle").exits(1);
    sandbox.run("retry 4").says("worse in ").says(" differs (priority)").ok();
    sandbox.run("work --until-idle").exits(1);
    sandbox.write("jobs.toml", MENDED);
    sandbox.run("retry 1").ok().quietly();
    let told = |line: &str| sandbox.run(line).exits(0).stderr;
    let said = [told("retry 2 --dry-run"), told("retry 2"), told("retry --dead")].concat();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(said, @"
        runner: job 2 keeps the definition of its enqueue; worse in [DIR]/jobs.toml differs (command, max_attempts, timeout, unique_key); to take the present one: runner retry 2 --redefine
        runner: job 2 keeps the definition of its enqueue; worse in [DIR]/jobs.toml differs (command, max_attempts, timeout, unique_key); to take the present one: runner change 2 --redefine
        runner: 2 jobs of worse keep the definition of their enqueue; worse in [DIR]/jobs.toml differs (command, max_attempts, priority, timeout, unique_key); to take the present one: runner change 3 4 --redefine
        ");
    });
    sandbox.run("change 5 --now").ok();
    sandbox.drain();
    assert_eq!(sandbox.job(2)["error_code"], "EXIT_4", "it is the old one that was run");
    sandbox.run("retry 2 -q").ok().prints("").quietly();
    let ran = sandbox.run("retry 2").exits(1);
    assert!(!ran.stderr.contains("differs"), "what was left needs no other definition: {ran}");
    sandbox.drain();
    sandbox.write("jobs.toml", "no job file");
    sandbox.run("retry 2").ok().quietly();
}

#[test]
fn what_differs_is_named_by_its_key() {
    let with = |keys: &str| format!("[jobs.job]\ncommand = 'exit 5'\nmax_attempts = 1\n{keys}");
    let sandbox = Sandbox::new(&with(""));
    sandbox.finish("job");
    assert!(!sandbox.run("inspect 1").ok().stdout.contains("--redefine"));
    for (keys, named) in [
        ("success_exit_codes = [0, 3]", "success_exit_codes"),
        ("warning_exit_codes = [3]", "warning_exit_codes"),
        ("exit_codes = { 5 = 'BUSY' }", "exit_codes"),
        ("default_error_code = 'OTHER'", "default_error_code"),
        ("retryable = false", "retryable"),
    ] {
        sandbox.write("jobs.toml", with(keys));
        sandbox.run("retry 1 --dry-run").says(&format!("differs ({named}); to take")).ok();
        sandbox
            .run("inspect 1")
            .ok()
            .shows("runner retry 1 --redefine   with the definition of the job file");
    }
}

#[test]
fn an_alert_does_not_differ_by_what_it_tells_of() {
    let sandbox = Sandbox::new(
        "[jobs.bad]\ncommand = 'exit 1'\nmax_attempts = 1\non_dead = 'mail'\n[jobs.mail]\ncommand = 'exit 1'\nmax_attempts = 1\n",
    );
    sandbox.finish("bad");
    for line in ["inspect 2", "inspect dead", "retry --dead --dry-run"] {
        let ran = sandbox.run(line).exits(0);
        assert!(!ran.stdout.contains("differs") && !ran.stderr.contains("differs"), "{ran}");
    }
}

#[test]
fn a_changed_directory_is_told_and_an_ad_hoc_job_is_not_compared() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("worse");
    sandbox.call("enqueue --name worse -- false").run().ok();
    sandbox.drain();
    sandbox.write("jobs.toml", JOBS.replace("\"exit 4\"", "\"exit 4\"\ncwd = \"other\""));
    sandbox.run("retry 1").says("differs (cwd)").ok();
    sandbox.run("retry 2").ok().quietly();
}

#[test]
fn redefine_enqueues_the_present_definition_with_the_old_arguments_input_and_keys() {
    let sandbox = Sandbox::new(JOBS);
    let options = "worse --priority 7 --unique-key own --idempotency-key today --stdin -- argument";
    sandbox
        .call(&format!("enqueue {options}"))
        .stdin("input")
        .run()
        .says("runner: worse takes no notice of its arguments: a command that is a")
        .ok();
    sandbox.drain();
    sandbox.write("jobs.toml", MENDED.replace("unique_key = 'declared'", ""));
    sandbox.run("retry 1 --redefine").ok().prints("2\n").quietly();
    let old = sandbox.job(1);
    assert_fields(
        &old,
        &json!({"state": "dead", "resolution": "replaced by job 2", "idempotency_key": null}),
    );
    assert!(old["resolved_at"].is_string(), "{old}");
    sandbox.run("inspect 1").ok().shows("resolved now: replaced by job 2");
    sandbox.run("inspect dead").ok().shows("no dead letters");
    let new = json!({"state": "pending", "attempts": 0, "priority": 0, "max_attempts": 3, "args": ["argument"],
        "unique_key": "own", "idempotency_key": "today"});
    assert_fields(&sandbox.job(2), &new);
    sandbox.run("enqueue worse --idempotency-key today -- argument").prints("2\n").says("nothing new").ok();
    sandbox.drain();
    assert_eq!(sandbox.log(), ["mended argument input"]);
    sandbox.run("doctor").ok();
}

#[test]
fn a_declared_unique_key_goes_first_and_a_held_one_leaves_the_job() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("worse --unique-key own");
    sandbox.add("worse");
    sandbox.add("bad --in 1h");
    sandbox.run("cancel 3").ok();
    sandbox.drain();
    sandbox.write("jobs.toml", MENDED);
    sandbox
        .run("retry 1 2 3 --redefine")
        .exits(1)
        .prints("4\n5\n")
        .says("job 2 was left")
        .says("held by job 4");
    assert_fields(&sandbox.job(4), &json!({"unique_key": "declared"}));
    assert_fields(&sandbox.job(2), &json!({"resolved_at": null}));
    // A cancelled job is replaced, too, and is no dead letter then.
    assert_fields(&sandbox.job(3), &json!({"state": "cancelled", "resolution": "replaced by job 5"}));
    let counts = sandbox.run("inspect --json").ok().json()["counts"].clone();
    assert_fields(&counts, &json!({"dead": 1, "resolved": 1, "cancelled": 1}));
}

#[test]
fn what_cannot_be_redefined_is_left_and_named_and_the_rest_goes_on() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue bad worse once").ok();
    sandbox.add("--name worse -- false");
    sandbox.add("worse");
    sandbox.drain();
    sandbox.add("worse --in 1h");
    sandbox.add("worse");
    sandbox.run("work --until-idle").exits(1);
    sandbox.run("retry 7 --redefine").ok().prints("8\n");
    sandbox.write("jobs.toml", MENDED.replace("[jobs.bad]", "[jobs.good]"));
    let ran = sandbox.run("retry 1 3 4 6 7 2 --redefine").exits(1).prints("9\n");
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: job 1 was left: the job file does not declare bad any more
        runner: job 3 is declared retryable = false; runner retry 3 --redefine --force runs it again
        runner: job 4 was left: it is ad hoc, and no job file has a definition of it; cancel it, and enqueue it again as it should be
        runner: job 6 is pending; runner change 6 --redefine puts a new job in its place
        runner: job 7 was left: job 8 has replaced it before
        ");
    });
    sandbox.run("retry --dead --redefine").prints("").says("left 1 job declared retryable = false").ok();
    sandbox.run("retry --dead --redefine --force --name once").ok().prints("10\n");
    // A replaced job that is taken back may be replaced again.
    sandbox.run("retry 7").says("job 8 was enqueued in place of job 7: the work of 7 may be done twice").ok();
    sandbox.run("cancel 7").ok();
    assert_fields(&sandbox.job(7), &json!({"resolved_at": null, "resolution": null}));
    sandbox.run("cancel 9 8").ok();
    sandbox.run("retry 7 --redefine").ok().prints("11\n");
    sandbox.run("retry 5 --redefine --json").exits(1).prints("");
    let ad_hoc = sandbox.add("--name own --in 1h -- true");
    let left = format!("job {ad_hoc} is pending; only dead and cancelled jobs are replaced\n");
    sandbox.run(&format!("retry {ad_hoc} --redefine")).exits(1).says(&left);
    sandbox.run("doctor").ok();
}

#[test]
fn an_alert_that_is_redefined_is_still_told_of_which_death() {
    const ALERT: &str = "[jobs.j]\ncommand = 'echo why; exit 3'\nmax_attempts = 1\non_dead = 'alert'\n\
         [jobs.alert]\ncommand = 'echo $RUNNER_DEAD_JOB_ID $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_OUTPUT; test -e mended'\nmax_attempts = 1\n";
    let sandbox = Sandbox::new(ALERT);
    sandbox.add("j");
    sandbox.run("work --max-jobs 1 -q").exits(1);
    sandbox.run("change alert --redefine").ok().prints("3\n");
    sandbox.run("work --drain -q").exits(1);
    sandbox.run("logs 3").ok().prints("1 j why\n");
    sandbox.write("mended", "");
    sandbox.run("retry 3 --redefine").ok().prints("4\n");
    sandbox.drain();
    sandbox.run("logs 4").ok().prints("1 j why\n");
}

#[test]
fn an_id_that_the_call_itself_gives_out_is_not_taken_for_one_of_the_named() {
    let sandbox = Sandbox::new("[jobs.j]\ncommand = 'true'\n");
    sandbox.run("enqueue j --in 1h").ok().prints("1\n");
    sandbox.run("change 1 2 --redefine").exits(66).prints("2\n").says("there is no job 2\n");
    sandbox.run("cancel 2").ok();
    sandbox.run("retry 2 3 --redefine").exits(66).prints("3\n").says("there is no job 3\n");
    // In a list, a job that was replaced in its place is not called resolved.
    let listed = sandbox.run("inspect jobs").ok().stdout;
    assert!(listed.contains("replaced by job 2"), "{listed}");
}

#[test]
fn without_a_sound_job_file_nothing_is_done() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("worse");
    sandbox.drain();
    sandbox.run("retry 1 --redefine --file none.toml").exits(66).prints("");
    sandbox.write("jobs.toml", "[jobs.worse]\ncomand = 'true'\n");
    sandbox.run("retry 1 --redefine").exits(65).prints("");
    assert_fields(&sandbox.job(1), &json!({"state": "dead", "resolved_at": null}));
    sandbox.write("other.toml", MENDED);
    sandbox.run("retry 1 --redefine -q --file other.toml").ok().prints("").quietly();
    sandbox.drain();
    assert_eq!(sandbox.log(), ["mended"]);
}

#[test]
fn a_run_of_a_schedule_that_is_redefined_keeps_its_time_and_is_due_and_expires_from_now() {
    let of_schedule = |keys: &str| {
        format!(
            "[jobs.hourly]\ncommand = 'echo $RUNNER_SCHEDULED_FOR >> log; test -e mended'\nschedule = 'every 1h'\n\
                 timezone = 'Asia/Kolkata'\nmax_attempts = 1\n{keys}"
        )
    };
    let sandbox = Sandbox::new(&of_schedule(""));
    sandbox.run("apply").ok();
    sandbox.make_due(3_000_000);
    sandbox.run("work --until-idle").exits(1);
    // Its time is past by more than the new definition gives it.
    sandbox.write("jobs.toml", of_schedule("expires_in = '10m'\n"));
    sandbox.write("mended", "");
    sandbox.run("retry 1 --redefine").ok().prints("2\n");
    let (old, new) = (sandbox.job(1), sandbox.job(2));
    assert_eq!(new["scheduled_for"], old["scheduled_for"]);
    assert!(new["run_at"].as_str() > old["finished_at"].as_str(), "{new}");
    assert_fields(&new, &json!({"state": "pending", "phase": "ready"}));
    sandbox.run("work --until-idle").ok();
    assert_fields(&sandbox.job(2), &json!({"state": "succeeded", "attempts": 1}));
    let log = sandbox.log();
    assert!(log.len() == 2 && log[0] == log[1] && log[0].ends_with("+05:30"), "{log:?}");
    // One that nothing scheduled has no time, as before.
    sandbox.run("enqueue hourly --max-attempts 1 --cwd /").ok();
    sandbox.run("cancel 3").ok();
    sandbox.run("retry 3 --redefine").ok().prints("4\n");
    assert_fields(&sandbox.job(4), &json!({"scheduled_for": null}));
    sandbox.run("doctor").ok();
}

#[test]
fn who_waits_for_a_replaced_job_follows_it_whatever_becomes_of_its_row() {
    let sandbox = Sandbox::new("[jobs.load]\ncommand = 'false'\nqueue = 'net'\nmax_attempts = 1\n");
    sandbox.run("enqueue load").ok();
    sandbox.run("pause net").ok();
    let mut waits = Background::start(&sandbox, sandbox.call("wait 1"));
    waits.until_it_says("paused");
    let mut run = Background::start(&sandbox, sandbox.call("run load"));
    run.until_it_says("paused");
    sandbox.write("jobs.toml", sandbox.read("jobs.toml").replace("false", "true"));
    assert_eq!(sandbox.run("change 1 2 --redefine").exits(0).ids(), [3, 4]);
    // The row of a job stays while the one in its place is unfinished.
    sandbox.run("prune --state cancelled --older-than 0s").exits(0);
    assert_eq!(sandbox.job(1)["state"], "cancelled");
    // Programs before 1.2 remove it.
    sandbox.sql().run("DELETE FROM jobs WHERE id = 2");
    sandbox.run("resume net").exits(0);
    run.wait().says("paused").ok();
    let _worker = sandbox.worker("");
    waits.wait().exits(0);
    assert_eq!(sandbox.job(4)["state"], "succeeded");
    sandbox.run("prune --state cancelled --older-than 0s").exits(0);
    sandbox.run("inspect 1").exits(66);
}

#[test]
fn a_new_dependency_in_the_job_file_is_told_not_to_hold() {
    let sandbox =
        Sandbox::new("[jobs.dump]\ncommand = 'true'\n[jobs.send]\ncommand = 'false'\nmax_attempts = 1\n");
    sandbox.finish("send");
    sandbox.add("send --in 1h");
    sandbox.write(
        "jobs.toml",
        "[jobs.dump]\ncommand = 'true'\n[jobs.send]\ncommand = 'false'\nmax_attempts = 1\nafter = ['dump']\n",
    );
    let told = |id: u64| {
        format!("what job {id} send waits for stays as it was, though the job file has more in `after`")
    };
    sandbox.run("change 2 --redefine").says(&told(2)).exits(0);
    sandbox.run("retry 1 --redefine").says(&told(1)).exits(0);
    // A chain that is as the file says is not told of.
    sandbox.run("enqueue send --in 1h").exits(0);
    let ran = sandbox.run("change 6 --redefine").exits(0);
    assert!(!ran.stderr.contains("waits for stays"), "{ran}");
}
