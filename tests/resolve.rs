//! `runner resolve`: a dead letter that was dealt with needs no more attention, and stays in the history.

use crate::support::{Sandbox, Value, assert_fields, assert_screen, json};

const JOBS: &str = r#"
[jobs.bad]
command = "echo no route to host >&2; exit 3"
max_attempts = 1
[jobs.good]
command = "true"
"#;

/// Jobs 1 and 2 are dead, job 3 has succeeded, job 4 waits.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue bad bad good").ok();
    sandbox.drain();
    sandbox.add("good --in 1h");
    sandbox
}

fn listed(sandbox: &Sandbox, what: &str) -> Vec<Value> {
    sandbox.run(&format!("inspect {what} --json")).ok().each("id")
}

#[test]
fn a_resolved_job_leaves_what_needs_attention_and_stays_in_the_history() {
    let sandbox = sandbox();
    sandbox.run("resolve 1").ok().prints("job 1 bad: resolved\n").quietly();
    assert_eq!(listed(&sandbox, "dead"), [2]);
    let lists = "; runner inspect dead --resolved lists the";
    sandbox.run("inspect dead").ok().shows(&format!("dealt with{lists} one that was resolved\n"));
    assert_eq!(listed(&sandbox, "dead --resolved"), [1]);
    assert_eq!(listed(&sandbox, "jobs --state dead"), [2, 1]);
    sandbox.run("inspect jobs --state dead").ok().shows("resolved, ");
    let overview = sandbox.run("inspect --json").ok().json();
    assert_fields(&overview["counts"], &json!({"dead": 1, "resolved": 1}));
    assert_eq!(overview["dead_by_error_code"], json!({"EXIT_3": 1}));
    sandbox.run("inspect").ok().shows("1 succeeded, 1 dead, 1 resolved").shows(", EXIT_3");
    sandbox.run("inspect dead --fail-if-any").exits(1);
    sandbox.run("resolve 2").ok();
    sandbox.run("inspect dead --fail-if-any").ok();
    sandbox.run("inspect dead").ok().prints(&format!("no dead letters{lists} 2 that were resolved\n"));
    sandbox.run("inspect dead --name good").ok().prints("no dead letters\n");
    let overview = sandbox.run("inspect --json").ok().json();
    assert_fields(&overview, &json!({"dead_by_error_code": {}}));
    sandbox.run("doctor").ok();
}

#[test]
fn the_note_is_kept_until_there_is_a_new_one() {
    let sandbox = sandbox();
    assert_fields(&sandbox.job(1), &json!({"resolved_at": null, "resolution": null}));
    let note = |note: &str| sandbox.call("resolve 1 --json --note").arg(note).run().ok().json();
    let resolved = note("the cable was out");
    assert_fields(&resolved, &json!({"id": 1, "state": "dead", "resolution": "the cable was out"}));
    assert!(resolved["resolved_at"].is_string(), "{resolved}");
    sandbox.run("resolve 1").ok().prints("job 1 bad: resolved before, left as it is\n");
    assert_fields(&sandbox.job(1), &json!({"resolution": "the cable was out"}));
    let again = note("the plug\x1b was out");
    assert_fields(
        &again,
        &json!({"resolution": "the plug\x1b was out", "resolved_at": resolved["resolved_at"]}),
    );
    sandbox.run("inspect 1").ok().shows("resolved now: the plug\\e was out").shows("EXIT_3, ");
    let ran = sandbox.run("resolve 1 --note plug").ok();
    ran.prints("job 1 bad: resolved before, the note is changed\n");
    note("the plug\x1b was out");
    let list = sandbox.run("inspect dead --resolved").ok().stdout;
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(list, @r"
        id  name  runs  died  resolved  code  how
         1  bad  1/1  [AGO]  [AGO]  EXIT_3  the plug\e was out
        ");
    });
    sandbox.call("resolve 2 --note").arg(" ").run().exits(2);
}

#[test]
fn an_expiry_that_nobody_recorded_is_resolved_and_prune_takes_a_resolved_job_as_dead() {
    let sandbox = sandbox();
    sandbox.add("good --expires-in 1ms");
    sandbox.run("resolve 5 1").ok();
    assert_fields(&sandbox.job(5), &json!({"error_code": "EXPIRED"}));
    sandbox.run("prune --older-than 0s").ok();
    sandbox.run("prune --older-than 0s --state dead").ok();
    assert_eq!(listed(&sandbox, "jobs"), [4]);
}

/// Each screen that shows a dead job gives the same advice.
#[test]
fn all_screens_advise_the_same_for_a_job_that_must_not_run_twice() {
    let sandbox = Sandbox::new(
        r#"
[jobs.bad]
command = "test -e done"
retryable = false
[jobs.next]
command = "true"
after = ["bad"]
"#,
    );
    sandbox.run("enqueue bad").ok();
    sandbox.drain();
    let (resolve, retry) = ("runner resolve 1", "runner retry 1 --force");
    sandbox.run("inspect 1").ok().shows(&format!("next  {resolve}   {retry}\n"));
    let ran = sandbox.run("inspect dead").ok();
    ran.shows(&format!("  resolve {resolve}   if that was dealt with\n  replay  {retry}\n"));
    sandbox.run("inspect").ok().shows(&format!("{retry} runs it again\n          {resolve}\n"));

    // One that holds back another is to run again, and does not keep the first from being resolved.
    sandbox.run("enqueue next").ok();
    sandbox.drain();
    sandbox.write("done", "");
    sandbox.run("enqueue bad").ok();
    sandbox.drain();
    sandbox.run("inspect 1").ok().shows("next  runner resolve 1\n");
    sandbox.run("inspect 2").ok().shows("next  runner retry 2 --force\n");
    let ran = sandbox.run("inspect dead").ok();
    ran.shows("  resolve runner resolve 1\n  replay  runner retry 2 --force\n");
}
