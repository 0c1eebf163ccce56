//! `runner retry`: a dead letter is put back with a fresh budget.

use std::process::Stdio;

use crate::support::{Sandbox, Value, assert_fields, assert_screen, json};

pub const JOBS: &str = r#"
[jobs.bad]
command = "echo $RUNNER_ATTEMPT >> log; exit 3"
backoff = ["1ms"]
[jobs.worse]
command = "exit 4"
max_attempts = 1
[jobs.once]
command = "echo once >> log; exit 5"
retryable = false
"#;

#[test]
fn a_dead_job_keeps_id_and_history_and_gets_a_fresh_budget() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.finish("bad --expires-in 1h");
    let before = sandbox.job(1)["expires_at"].clone();
    sandbox
        .run("retry 1")
        .says("differs (expires_in); to take the present one: runner change")
        .ok()
        .shows("1");
    let job = sandbox.job(1);
    assert_fields(&job, &json!({"state": "pending", "attempts": 2, "budget_used": 0}));
    assert_fields(&job, &json!({"error_code": null, "dead_reason": null, "finished_at": null}));
    assert!(job["expires_at"].as_str() > before.as_str(), "its expiry counts anew: {job}");
    sandbox.drain();
    assert_eq!(sandbox.log(), ["1", "2", "3", "4"]);
    let job = sandbox.job(1);
    assert_fields(&job, &json!({"state": "dead", "attempts": 4, "budget_used": 2}));
    assert_eq!(job["history"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_cancelled_job_is_put_back_and_wakes_a_worker() {
    let sandbox = Sandbox::new(JOBS);
    let _worker = sandbox.worker("-j1");
    sandbox.add("bad --in 1h");
    sandbox.run("cancel 1").ok();
    sandbox.run("retry 1").ok();
    sandbox.until_logged(1);
}

#[test]
fn force_runs_a_job_that_is_not_retryable_again() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.finish("once");
    sandbox.run("retry 1").exits(1).says("--force");
    sandbox.run("retry --dead").says("left 1 job declared retryable = false").ok();
    sandbox.run("retry --dead -q").ok().prints("").quietly();
    sandbox.run("retry 1 --force").ok();
    sandbox.drain();
    assert_eq!(sandbox.log(), ["once", "once"]);
    assert_eq!(sandbox.job(1)["attempts"], 2);
}

#[test]
fn dead_selects_by_code() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue bad worse worse").ok();
    sandbox.drain();
    sandbox
        .run("retry --dead --name bad --error-code EXIT_4")
        .says("runner: there is no unresolved dead letter of the name bad with the")
        .ok()
        .prints("");
    assert_eq!(sandbox.run("retry --dead --error-code EXIT_4 --json").ok().json_lines().len(), 2);
}

#[test]
fn a_job_whose_key_is_taken_is_left() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("worse --unique-key k");
    sandbox.add("worse");
    sandbox.drain();
    sandbox.add("worse --unique-key k --in 1h");
    sandbox.run("retry 1 2").exits(1).says("job 1").says("3");
    assert_eq!((&sandbox.job(1)["state"], &sandbox.job(2)["state"]), (&json!("dead"), &json!("pending")));
    sandbox.run("retry --dead").says("1").ok();
    assert_eq!(sandbox.job(1)["state"], "dead");
}

#[test]
fn a_dry_run_says_what_would_happen_and_changes_nothing() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue bad worse once").ok();
    sandbox.drain();
    sandbox.add("bad --in 1h");
    sandbox.add("bad --in 1ms --expires-in 1ms");
    let before = sandbox.run("inspect jobs --json").ok().stdout;
    let state = "SELECT json_group_array(json_array(id, state, run_at, resolved_at)) FROM jobs";
    let rows = sandbox.sql().text(state);
    for (line, status, expected) in [
        (
            "retry --dead",
            0,
            "would put job 1 bad back\nwould put job 2 worse back\nwould put job 5 bad back\n",
        ),
        ("retry --dead --force --name once", 0, "would put job 3 once back\n"),
        ("retry 3 2", 1, "would put job 2 worse back\n"),
        ("retry 99", 66, ""),
        ("retry 2 --redefine", 0, "would replace job 2 worse\n"),
        ("retry 2 -q", 0, ""),
    ] {
        sandbox.run(&format!("{line} --dry-run")).exits(status).prints(expected);
    }
    sandbox.run("retry --dead --dry-run").says("left 1 job declared retryable = false").ok();
    sandbox.run("retry --dead --dry-run").says("3 jobs would change; nothing is done yet").ok();
    let job = sandbox.run("retry 2 --dry-run --json").ok().json();
    assert_fields(&job, &json!({"id": 2, "state": "dead", "error_code": "EXIT_4"}));
    let job = sandbox.run("retry 2 --redefine --dry-run --json").ok().json();
    assert_fields(&job, &json!({"id": null, "state": "pending", "attempts": 0}));
    assert_eq!(sandbox.run("inspect jobs --json").ok().stdout, before);
    assert_eq!(sandbox.sql().text(state), rows);
    sandbox.run("enqueue bad").ok().prints("6\n");
}

#[test]
fn one_of_several_calls_at_once_puts_a_job_back() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("worse");
    sandbox.drain();
    let calls: Vec<_> =
        (0..6).map(|_| sandbox.call("retry 1").spawn(Stdio::null(), Stdio::piped())).collect();
    let outputs: Vec<_> = calls.into_iter().map(|call| call.wait_with_output().expect("a child")).collect();
    let done = outputs.iter().filter(|output| output.status.success()).count();
    assert_eq!(done, 1, "{outputs:?}");
    sandbox.drain();
    assert_eq!(sandbox.job(1)["attempts"], 2);
}

#[test]
fn a_selection_of_nothing_is_named_with_what_may_be_meant() {
    let sandbox = Sandbox::new("[jobs.push]\ncommand = 'exit 3'\nmax_attempts = 1\n");
    sandbox.finish("push");
    for verb in ["retry --dead", "resolve --dead"] {
        let said = |options: &str| {
            let ran = sandbox.run(&format!("{verb} {options}")).exits(0).prints("");
            sandbox.run(&format!("{verb} {options} -q")).ok().quietly();
            ran.stderr
        };
        insta::allow_duplicates! {
            insta::assert_snapshot!(said("--error-code EXIT_33"), @"
            runner: there is no unresolved dead letter with the code EXIT_33
            runner: nothing has ended with the code EXIT_33; did you mean EXIT_3?
            ");
            insta::assert_snapshot!(said("--name psuh --error-code EXIT_3 --json"), @r#"
            {"note":"there is no unresolved dead letter of the name psuh with the code EXIT_3"}
            {"note":"no job has the name psuh; did you mean push?"}
            "#);
        }
    }
    sandbox.run("inspect dead --error-code EXIT_33 --json").prints("").says("did you mean EXIT_3?").ok();
    sandbox.run("inspect dead --error-code EXIT_33 --fail-if-any").says("did you mean EXIT_3?").ok();
}

/// A schedule that failed for a week needs one run, not seven.
#[test]
fn latest_replays_the_newest_of_those_that_do_the_same_and_resolves_the_others() {
    let sandbox =
        Sandbox::new("[jobs.backup]\ncommand = 'test -e mended && echo $1 >> log'\nmax_attempts = 1\n");
    sandbox.run("enqueue backup backup backup").ok();
    sandbox.run("enqueue backup --label home -- home").ok();
    sandbox.run("enqueue backup --label home -- home").ok();
    sandbox.run("enqueue backup --label home -- other").ok();
    sandbox.run("enqueue backup -- a").ok();
    sandbox.run("enqueue backup -- a").ok();
    sandbox.run("enqueue --name backup -- false").ok();
    sandbox.run("enqueue --name backup -- false").ok();
    sandbox.drain();
    sandbox.run("enqueue --name after --after 2 -- true").ok();
    sandbox.run("resolve 1 --note by-hand").ok();
    let line = "retry --dead --name backup --latest";
    let planned =
        sandbox.run(&format!("{line} --dry-run")).says("9 jobs would change; nothing is done yet").ok();
    insta::assert_snapshot!(planned.stdout, @"
    would resolve job 2 backup, because a newer one does its work
    would put job 3 backup back
    would resolve job 4 backup [home], because a newer one does its work
    would put job 5 backup [home] back
    would put job 6 backup [home] back
    would put job 7 backup [a] back
    would put job 8 backup [a] back
    would put job 9 backup back
    would put job 10 backup back
    ");
    assert_eq!(sandbox.run("inspect dead --json").ok().json_lines().len(), 9);
    insta::assert_snapshot!(sandbox.run(line).ok().quietly().stdout, @"
    job 2 backup: resolved, because job 3 does its work; it holds back 1 job: after
    job 3 backup: pending again, due now
    job 4 backup [home]: resolved, because job 5 does its work
    job 5 backup [home]: pending again, due now
    job 6 backup [home]: pending again, due now
    job 7 backup [a]: pending again, due now
    job 8 backup [a]: pending again, due now
    job 9 backup: pending again, due now
    job 10 backup: pending again, due now
    ");
    assert_fields(&sandbox.job(2), &json!({"state": "dead", "resolution": "job 3 was replayed instead"}));
    assert_fields(&sandbox.job(1), &json!({"resolution": "by-hand"}));
    sandbox.run("inspect dead").ok().shows("no dead letters");
    sandbox.write("mended", "");
    sandbox.drain();
    assert_eq!(sandbox.log(), ["", "home", "other", "a", "a"]);
    sandbox.run("retry 2").ok();
    assert_fields(&sandbox.job(2), &json!({"resolution": null, "resolved_at": null}));
    sandbox.run("retry --latest").exits(2);
    sandbox.run("retry 2 --latest").exits(2);
    sandbox.run("doctor").ok();
}

#[test]
fn older_ones_stay_dead_letters_where_the_newest_cannot_be_replayed() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue once once").ok();
    sandbox.add("worse");
    sandbox.add("worse --unique-key k");
    sandbox.drain();
    sandbox.add("bad --unique-key k --in 1h");
    let dead = || {
        let mut ids = sandbox.run("inspect dead --json").ok().each("id");
        ids.sort_by_key(Value::as_u64);
        ids
    };
    let ran = sandbox
        .run("retry --dead --latest")
        .says("jobs because a newer one, which does the same, was left")
        .ok()
        .prints("");
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @"
    runner: left 2 jobs because a newer one, which does the same, was left
    runner: left 1 job declared retryable = false; see --force
    runner: left 1 job whose unique key is held by an unfinished job
    ");
    });
    assert_eq!(dead(), [1, 2, 3, 4], "nothing was resolved");
    sandbox.run("retry --dead --latest --force --name once").ok();
    assert_eq!(dead(), [3, 4]);
    assert_fields(&sandbox.job(1), &json!({"resolution": "job 2 was replayed instead"}));
    sandbox.run("cancel 5").ok();
    let jobs = sandbox
        .run("retry --dead --latest --json")
        .says("differs (unique_key); to take the present one: runner change")
        .ok()
        .json_lines();
    assert_fields(&jobs[0], &json!({"id": 3, "state": "dead", "resolution": "job 4 was replayed instead"}));
    assert_fields(&jobs[1], &json!({"id": 4, "state": "pending"}));
}

#[test]
fn latest_redefines_the_newest_where_that_is_asked_for() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue worse worse worse").ok();
    sandbox.drain();
    sandbox.write("jobs.toml", JOBS.replace("exit 4", "true"));
    sandbox.run("retry --dead --latest --dry-run").says("job 3 keeps the definition of its enqueue").ok();
    let planned = sandbox
        .run("retry --dead --latest --redefine --dry-run")
        .says("jobs would change; nothing is done yet")
        .ok();
    planned
        .shows("would resolve job 2 worse, because a newer one does its work\nwould replace job 3 worse\n");
    let ran = sandbox
        .run("retry --dead --latest --redefine")
        .says("older jobs, whose work the new ones do")
        .ok()
        .prints("4\n");
    ran.says("resolved 2 older jobs, whose work the new ones do");
    assert_fields(&sandbox.job(1), &json!({"resolution": "job 4 was enqueued instead"}));
    assert_fields(&sandbox.job(3), &json!({"resolution": "replaced by job 4"}));
    sandbox.drain();
    assert_eq!(sandbox.job(4)["state"], "succeeded");
}

/// The advice is to run the newest alone where that does the work of all, and only there.
#[test]
fn the_newest_is_advised_only_where_it_stands_for_all() {
    let jobs = "[jobs.a]\ncommand = 'exit 1'\nmax_attempts = 1\n[jobs.once]\ncommand = 'exit 1'\nretryable = false\n";
    let command = |lines: &[&str]| {
        let sandbox = Sandbox::new(jobs);
        for line in lines {
            sandbox.run(&format!("enqueue {line}")).exits(0);
        }
        sandbox.run("work -j1 --drain -q").exits(1);
        let list = sandbox.run("inspect --json").ok().json()["attention"].as_array().expect("a list").clone();
        let all =
            |key: &str| list.iter().filter_map(|entry| entry[key].as_str()).collect::<Vec<_>>().join("; ");
        (all("command"), all("message"))
    };
    assert_eq!(command(&["a", "a", "a"]).0, "runner retry --dead --name a --latest");
    assert_eq!(command(&["a --label x -- 1", "a --label x -- 1"]).0, "runner retry --dead --name a --latest");
    assert_eq!(command(&["a"]).0, "runner retry 1");
    // Each of these does work of its own.
    assert_eq!(command(&["a -- 1", "a -- 1"]).0, "runner retry 1 2");
    assert_eq!(command(&["--name a -- false", "--name a -- false"]).0, "runner retry 1 2");
    assert_eq!(command(&["a --label x -- 1", "a --label x -- 2"]).0, "runner retry 1 2");
    // Some of these do the same.
    let some = "runner retry --dead --name a --error-code EXIT_1 --latest";
    assert_eq!(command(&["a", "a", "a -- 1"]).0, some);
    assert_eq!(command(&["a --label x", "a --label x", "a --label y"]).0, some);
    let (forced, said) = command(&["once", "once"]);
    assert_eq!(forced, "runner resolve 1 2");
    assert!(
        said.contains("runner retry --dead --name once --latest --force runs the newest again"),
        "{said}"
    );
}

#[test]
fn a_retry_of_a_blocked_job_leads_to_what_it_waits_for() {
    let sandbox = Sandbox::new(
        "[jobs.one]\ncommand = 'false'\nmax_attempts = 1\n[jobs.two]\ncommand = 'true'\nafter = ['one']\n",
    );
    sandbox.run("enqueue two").exits(0);
    sandbox.run("work --until-idle").exits(1);
    sandbox.run("retry 2").exits(1).says("waits for other jobs; runner inspect 2 says what gets it going");
}
