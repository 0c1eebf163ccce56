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
    let jobs = sandbox.run(&format!("inspect {what} --json")).ok().json_lines();
    jobs.into_iter().map(|job| job["id"].clone()).collect()
}

#[test]
fn a_resolved_job_leaves_what_needs_attention_and_stays_in_the_history() {
    let sandbox = sandbox();
    sandbox.run("resolve 1").ok().prints("job 1 bad: resolved\n").quietly();
    assert_eq!(listed(&sandbox, "dead"), [2]);
    assert_eq!(listed(&sandbox, "dead --resolved"), [1]);
    assert_eq!(listed(&sandbox, "jobs --state dead"), [2, 1]);
    sandbox.run("inspect jobs --state dead").ok().shows("resolved, ");
    let overview = sandbox.run("inspect --json").ok().json();
    assert_fields(&overview["counts"], &json!({"dead": 1, "resolved": 1}));
    assert_eq!(overview["dead_by_error_code"], json!({"EXIT_3": 1}));
    sandbox.run("inspect").ok().shows("1 succeeded, 1 dead, 1 resolved").shows(", EXIT_3");
    sandbox.run("inspect dead --fail-if-any").exits(1);
    sandbox.run("resolve 2").ok();
    sandbox.run("inspect dead --fail-if-any").ok().shows("no dead letters");
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
    sandbox.run("resolve 1").ok();
    assert_fields(&sandbox.job(1), &json!({"resolution": "the cable was out"}));
    let again = note("the plug\x1b was out");
    assert_fields(
        &again,
        &json!({"resolution": "the plug\x1b was out", "resolved_at": resolved["resolved_at"]}),
    );
    sandbox.run("inspect 1").ok().shows("resolved now: the plug\\e was out");
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
fn dead_selects_by_name_and_code_what_is_not_resolved() {
    let sandbox = sandbox();
    sandbox.add_line("--name other", "exit 4");
    sandbox.run("work --until-idle").exits(1);
    sandbox.run("resolve 1 --note before").ok();
    sandbox
        .run("resolve --dead --name none")
        .ok()
        .prints("")
        .says("no unresolved dead letter of the name none\n");
    sandbox
        .run("resolve --dead --error-code EXIT_4")
        .ok()
        .prints("job 5 other [exit 4]: resolved\n")
        .quietly();
    let rest = sandbox.run("resolve --dead --name bad --note now --json").ok().json_lines();
    assert_eq!(rest.len(), 1, "job 1 keeps its note");
    assert_fields(&rest[0], &json!({"id": 2, "resolution": "now"}));
    for line in ["resolve --dead 1", "resolve --name bad", "resolve --error-code EXIT_3 1"] {
        sandbox.run(line).exits(2);
    }
}

#[test]
fn a_retry_takes_it_back_and_the_retry_of_all_passes_it_over() {
    let sandbox = sandbox();
    sandbox.run("resolve 1 --note done").ok();
    sandbox.run("retry --dead").ok().prints("job 2 bad: pending again, due now\n");
    sandbox.run("retry --dead").ok().prints("").says("there is no unresolved dead letter\n");
    sandbox.run("retry 1").ok();
    assert_fields(&sandbox.job(1), &json!({"state": "pending", "resolved_at": null, "resolution": null}));
    sandbox.run("work --until-idle").exits(1);
    assert_eq!(listed(&sandbox, "jobs --state dead"), [2, 1]);
    assert_eq!(listed(&sandbox, "dead --resolved"), [0; 0]);
}

#[test]
fn a_job_that_is_not_dead_is_left_and_named() {
    let sandbox = sandbox();
    let ran = sandbox.run("resolve 3 1 4").exits(1).prints("job 1 bad: resolved\n");
    ran.says("job 3 is succeeded").says("job 4 is pending");
    sandbox.run("resolve 9 2").exits(66).prints("job 2 bad: resolved\n").says("no job 9");
    sandbox.run("resolve").exits(2);
    sandbox.run("resolve 1 -q").ok().prints("").quietly();
    sandbox.run("inspect jobs --resolved").exits(2);
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
