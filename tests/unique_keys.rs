//! `unique_key` and `--idempotency-key`: a doubled cron line enqueues once.

use std::process::Stdio;

use crate::support::{Background, Sandbox, Value, assert_fields, assert_screen, json};

const JOBS: &str = r#"
[jobs.job]
command = "echo ran >> log"
[jobs.keyed]
command = "echo keyed >> log"
unique_key = "declared"
[jobs.slow]
command = "echo slow >> log; exec sleep 20"
[jobs.again]
command = "exit 1"
max_attempts = 2
backoff = "1h"
"#;

#[test]
fn a_held_unique_key_gives_the_id_of_the_job_that_holds_it() {
    let sandbox = Sandbox::new(JOBS);
    for options in ["", "", "--on-conflict skip"] {
        sandbox.run(&format!("enqueue job --unique-key k {options}")).exits(0).prints("1\n");
    }
    sandbox.run("enqueue job --unique-key other").ok().prints("2\n");
}

#[test]
fn a_job_that_has_ended_holds_no_unique_key() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.finish("job --unique-key k");
    sandbox.run("enqueue job --unique-key k").ok().prints("2\n");
    sandbox.run("cancel 2").ok();
    sandbox.run("enqueue job --unique-key k").ok().prints("3\n");
}

#[test]
fn a_job_between_its_retries_holds_its_key() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("again --unique-key k");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.job(1)["attempts"], 1);
    sandbox.run("enqueue job --unique-key k").exits(0).prints("1\n");
}

#[test]
fn a_running_job_holds_its_key() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("slow --unique-key k");
    let _worker = sandbox.worker("-j1");
    sandbox.until_state(1, "running");
    sandbox.run("enqueue job --unique-key k").exits(0).prints("1\n");
}

#[test]
fn a_declared_unique_key_holds_for_every_enqueue() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue keyed keyed job").exits(0).prints("1\n1\n2\n");
    assert_eq!(sandbox.job(1)["unique_key"], "declared");
    sandbox.run("enqueue job --unique-key declared").exits(0).prints("1\n");
    sandbox.run("enqueue keyed --unique-key mine").ok().prints("3\n");
}

#[test]
fn stderr_says_which_job_holds_the_key() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("job --unique-key k --in 1h");
    sandbox.add("job --idempotency-key once");
    sandbox.run("work --until-idle").ok();
    let again = sandbox.run("enqueue job --unique-key k").exits(0).prints("1\n");
    again.says("nothing new: job 1 already holds the unique key");
    let seen = |line: &str| sandbox.call(line).at_terminal(200).ok().stdout;
    let all =
        ["job --unique-key k", "job --idempotency-key once", "job --idempotency-key once --unique-key k"]
            .map(|line| seen(&format!("enqueue {line}")))
            .concat();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(all, @r#"
        runner: nothing new: job 1 already holds the unique key "k", pending since [TIME]
        1
        runner: nothing new: job 2 already holds the idempotency key "once", succeeded at [TIME]
        2
        runner: nothing new: job 2 already holds the idempotency key "once", succeeded at [TIME]
        2
        "#);
    });
    assert_eq!(seen("enqueue job --unique-key k -q"), "");
    sandbox.write("batch", "{\"name\":\"job\",\"unique_key\":\"k\"}\n".repeat(7));
    let many = seen("enqueue --batch batch");
    assert_eq!(many.matches("holds the unique key").count(), 5);
    assert!(many.contains("the keys of 2 further jobs are held, too"), "{many}");
}

#[test]
fn error_refuses_a_held_key() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("job --unique-key k");
    sandbox.run("enqueue job --unique-key k --on-conflict error").exits(75).prints("").says("1");
    assert_eq!(sandbox.count_jobs(), 1);
    sandbox.drain();
    sandbox.run("enqueue job --unique-key k --on-conflict error").ok().prints("2\n");
}

#[test]
fn replace_takes_the_place_of_a_job_that_never_started_and_of_no_other() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("slow --unique-key k --in 1h");
    sandbox.run("enqueue slow --unique-key k --on-conflict replace").ok().prints("2\n");
    assert_eq!(sandbox.job(1)["state"], "cancelled");
    let worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    let refused = |state: &str| {
        sandbox.run("enqueue job --unique-key k --on-conflict replace").exits(75).prints("");
        assert_eq!(sandbox.job(2)["state"], state);
    };
    refused("running");
    drop(worker);
    // It is waiting again, but it has been started.
    refused("pending");
    assert_eq!(sandbox.count_jobs(), 2);
}

#[test]
fn a_conflict_enqueues_nothing_of_the_call() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("keyed");
    let ran = sandbox.run("enqueue job keyed --on-conflict error").exits(75).prints("");
    ran.says("nothing was enqueued: the unique key").says("is held by job 1").says("runner inspect 1");
    let twice = "{\"name\":\"job\",\"unique_key\":\"k\",\"on_conflict\":\"error\"}\n".repeat(2);
    let ran = sandbox.call("enqueue --batch -").stdin(twice).run().exits(75).prints("");
    ran.says("two jobs of this call have the unique key \"k\"");
    assert_eq!(sandbox.count_jobs(), 1);
}

#[test]
fn an_idempotency_key_is_never_given_out_twice() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue job --idempotency-key night-1").ok().prints("1\n");
    sandbox
        .run("enqueue job --idempotency-key night-1")
        .says("already holds the idempotency key")
        .ok()
        .prints("1\n");
    sandbox.drain();
    let job = sandbox
        .run("enqueue job --idempotency-key night-1 --json")
        .says("already holds the idempotency key")
        .ok()
        .json();
    assert_fields(&job, &json!({"id": 1, "created": false, "state": "succeeded"}));
    sandbox.run("enqueue job --idempotency-key night-2").ok().prints("2\n");
    sandbox.drain();
    assert_eq!(sandbox.log(), ["ran", "ran"]);
}

/// What a user meets who takes one key for two backups: nothing told that the second was never made.
#[test]
fn an_idempotency_key_of_other_work_is_refused() {
    let sandbox = Sandbox::new(JOBS);
    sandbox
        .run("enqueue job --idempotency-key d1 -- home")
        .says("runner: job takes no notice of its arguments: a command that is a")
        .ok()
        .prints("1\n");
    let refused = |line: &str, why: &str| {
        let ran = sandbox.run(&format!("enqueue {line}")).exits(65).prints("");
        ran.says(&format!(
            "nothing was enqueued: the idempotency key \"d1\" belongs to job 1, which does other work ({why})"
        ))
        .says("runner inspect 1 shows it; give other work a key of its own");
    };
    let check = || {
        for options in ["", "-q", "--wait", "--dry-run"] {
            refused(&format!("job --idempotency-key d1 {options} -- PHOTOS"), "other arguments");
        }
        sandbox
            .run("enqueue job --idempotency-key d1 --json -- PHOTOS")
            .exits(65)
            .prints("")
            .says("\"status\":65");
        refused("job --idempotency-key d1", "other arguments");
        refused("keyed --idempotency-key d1 -- home", "another name");
        refused("--name job --idempotency-key d1 -- true", "other arguments");
        refused("--name job --idempotency-key d1 -c true -- home", "one of the two is ad hoc");
        // How the work is done may differ.
        let options = "--priority 5 --queue net --label l --cwd / --env A=b --unique-key u --max-attempts 9";
        sandbox
            .run(&format!("enqueue job --idempotency-key d1 {options} -- home"))
            .says("already holds the idempotency key")
            .ok()
            .prints("1\n");
    };
    check();
    sandbox.drain();
    check();
    sandbox.write("jobs.toml", JOBS.replace("echo ran", "echo edited"));
    sandbox
        .run("enqueue job --idempotency-key d1 -- home")
        .says("already holds the idempotency key")
        .ok()
        .prints("1\n");
    assert_eq!(sandbox.count_jobs(), 1);
    sandbox.sql().run("DELETE FROM jobs WHERE id = 1");
    sandbox
        .run("enqueue job --idempotency-key d1 -- PHOTOS")
        .says("runner: job takes no notice of its arguments: a command that is a")
        .ok()
        .prints("2\n");
}

#[test]
fn an_ad_hoc_job_does_other_work_in_another_directory_or_by_another_command() {
    let sandbox = Sandbox::empty();
    sandbox.write("deep/file", "");
    let call =
        |line: &str, word: &str| sandbox.call(&format!("enqueue --idempotency-key k {line}")).arg(word);
    call("--name n -c", "true").run().ok().prints("1\n");
    call("--name n -c", "true").run().says("already holds the idempotency key").ok().prints("1\n");
    call("--name n --retryable false -c", "true")
        .run()
        .says("already holds the idempotency key")
        .ok()
        .prints("1\n");
    call("--name n -c", "false").run().exits(65).says("(another command)");
    call("--name n --", "true").run().exits(65).says("(another command)");
    call("-c", "true").run().exits(65).says("(another name)");
    call("--name n -c", "true").dir(sandbox.path("deep")).run().exits(65).says("(another directory)");
    let here = sandbox.dir().display().to_string();
    call(&format!("--name n --cwd {here} -c"), "true")
        .dir(sandbox.path("deep"))
        .run()
        .says("already holds the idempotency key")
        .ok()
        .prints("1\n");
}

#[test]
fn a_batch_names_the_line_of_a_key_that_belongs_to_other_work() {
    let sandbox = Sandbox::new(JOBS);
    let batch = |lines: &str| sandbox.call("enqueue -q --batch -").stdin(lines).run();
    let line =
        |args: &str| format!("{{\"name\": \"job\", \"idempotency_key\": \"k\", \"args\": [{args}]}}\n");
    let ran = batch(&(line("\"a\"") + "\n" + &line("\"a\"") + &line("\"b\""))).exits(65).prints("");
    ran.says(
        "nothing was enqueued: standard input line 4: two jobs of this call have the idempotency key \"k\" and do different work (other arguments)",
    );
    batch(&line("\"a\"")).ok();
    assert_eq!(sandbox.count_jobs(), 1);
    let ran = batch(&format!("{{\"name\": \"slow\"}}\n{}", line("\"b\""))).exits(65).prints("");
    ran.says("standard input line 2: the idempotency key \"k\" belongs to job 1, which does other work");
    let held =
        "{\"name\": \"slow\"}\n{\"name\": \"job\", \"unique_key\": \"u\", \"on_conflict\": \"error\"}\n";
    sandbox.add("job --unique-key u");
    batch(held).exits(75).says("standard input line 2: the unique key \"u\" is held by job 2");
    assert_eq!(sandbox.count_jobs(), 2);
    // A line that takes the place of a dependency is the one that is named.
    sandbox.write("jobs.toml", "[jobs.a]\ncommand = 'true'\nafter = ['job']\n[jobs.job]\ncommand = 'true'\n");
    batch(&format!("{{\"name\": \"a\"}}\n{}", line("\"b\""))).exits(65).says("line 2: the idempotency key");
}

#[test]
fn keys_as_options_are_for_a_single_job() {
    let sandbox = Sandbox::new(JOBS);
    for key in ["--unique-key k", "--idempotency-key k"] {
        sandbox.run(&format!("enqueue job slow {key}")).exits(2).prints("");
        sandbox.run(&format!("enqueue --all {key}")).exits(2).prints("");
        let batch = sandbox.call(&format!("enqueue --batch - {key}")).stdin("{\"name\":\"job\"}\n");
        batch.run().exits(2).prints("");
    }
    assert!(!sandbox.db().exists());
}

#[test]
fn eight_at_once_with_one_key_give_one_job() {
    for key in ["--unique-key k", "--idempotency-key k"] {
        let sandbox = Sandbox::new(JOBS);
        let line = format!("enqueue job {key}");
        let calls = [0; 8].map(|_| sandbox.call(&line).spawn(Stdio::piped(), Stdio::piped()));
        for call in calls {
            let output = call.wait_with_output().expect("a child");
            assert!(output.status.success(), "{output:?}");
            assert_eq!(output.stdout, b"1\n", "{output:?}");
        }
        assert_eq!(sandbox.count_jobs(), 1);
    }
}

#[test]
fn a_key_that_a_dead_job_holds_says_how_to_put_it_back() {
    let sandbox = Sandbox::new("[jobs.bad]\ncommand = 'false'\nmax_attempts = 1\n");
    sandbox.add("bad --idempotency-key today");
    sandbox.run("work --drain").exits(1);
    sandbox.run("enqueue bad --idempotency-key today").prints("1\n").says("runner retry 1").ok();
    sandbox.run("enqueue bad --idempotency-key today -q").ok().prints("").quietly();
    sandbox.write("batch", "{\"name\":\"bad\",\"idempotency_key\":\"today\"}\n".repeat(7));
    let many = sandbox.run("enqueue --batch batch").says("the keys of 2 further jobs are held, too").ok();
    assert_eq!(many.stderr.matches("runner retry 1").count(), 5);
}

#[test]
fn who_waits_for_a_replaced_job_waits_for_the_one_in_its_place() {
    let sandbox = Sandbox::new(
        "[jobs.load]\ncommand = 'echo load >> log'\nunique_key = 'k'\n\
         [jobs.report]\ncommand = 'echo report $RUNNER_DEPENDENCIES >> log'\nafter_any = ['load']\n\
         [jobs.send]\ncommand = 'echo send >> log'\nafter = ['load']\n\
         [jobs.other]\ncommand = 'true'\nunique_key = 'k'\n",
    );
    sandbox.run("enqueue -q report").exits(0);
    sandbox.run("enqueue -q send").exits(0);
    let mut wait = Background::start(&sandbox, sandbox.call("wait 1 -q"));
    assert_eq!(sandbox.add("load --in 300ms --on-conflict replace"), 4);
    assert_eq!(sandbox.job(1)["replaced_by"], 4);
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log()[0], "load");
    assert_eq!(sandbox.states(), ["load cancelled", "report succeeded", "send succeeded", "load succeeded"]);
    wait.wait().exits(0);

    // A job of another name does other work.
    sandbox.add("load --in 1h");
    sandbox.add("--after 5 -- true");
    sandbox.add("other --on-conflict replace");
    sandbox.run("work --until-idle").exits(0);
    assert_eq!(sandbox.states()[4..], ["load cancelled", "true pending", "other succeeded"]);
    assert_eq!(sandbox.job(5)["replaced_by"], Value::Null);

    // Nobody waits for itself.
    sandbox.add("load --in 1h");
    sandbox.add("load --unique-key none --after 8 --in 1h");
    let last = sandbox.add("load --after 9 --on-conflict replace");
    assert_eq!(sandbox.job(8)["replaced_by"], Value::Null);
    assert_eq!(sandbox.job(last)["after"], json!([9]));
}

#[test]
fn of_two_jobs_of_a_call_with_one_key_the_second_takes_the_place_of_the_first() {
    let sandbox = Sandbox::empty();
    let line = r#"{"command": "true", "name": "x", "unique_key": "k", "on_conflict": "replace"}"#;
    sandbox.call("enqueue --batch -").stdin(format!("{line}\n{line}\n")).run().exits(0).prints("1\n2\n");
    assert_eq!(sandbox.job(1)["replaced_by"], 2);
}
