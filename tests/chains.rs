//! Jobs that are after other jobs, and alerts of jobs that die.

use serde_json::Value;

use crate::support::{Sandbox, Signal, json, wait_until};

/// `report` is after `load` and `clean`, both are after `extract`. `extract` fails as long as there is a file `broken`.
pub const CHAIN: &str = r#"
[defaults]
max_attempts = 1
[jobs.report]
command = "echo report >> log"
after = ["load", "clean"]
unique_key = "report"
[jobs.load]
command = "echo load >> log"
after = ["extract"]
[jobs.clean]
command = "echo clean >> log"
after = ["extract"]
[jobs.extract]
command = "echo extract >> log; test ! -e broken"
"#;

fn after(sandbox: &Sandbox, id: u64) -> Value {
    sandbox.job(id)["after"].clone()
}

#[test]
fn a_job_is_enqueued_with_what_it_is_after_and_starts_after_that() {
    let sandbox = Sandbox::new(CHAIN);
    let blocked = || sandbox.run("inspect --json").ok().json()["counts"]["blocked"].clone();
    assert_eq!(sandbox.run("enqueue report --priority 9").ok().ids(), [1, 2, 3, 4]);
    assert_eq!(sandbox.states(), ["extract pending", "load pending", "clean pending", "report pending"]);
    assert_eq!(
        [1, 2, 3, 4].map(|id| after(&sandbox, id)),
        [json!([]), json!([1]), json!([1]), json!([2, 3])]
    );
    assert_eq!(blocked(), 3);
    assert_eq!(sandbox.job(4)["priority"], 9);
    assert_eq!(sandbox.job(1)["priority"], 0, "options are for the named job alone");
    sandbox
        .run("inspect 4")
        .ok()
        .shows("job 4 report: blocked")
        .shows("waits for job 1 extract, which is pending");
    sandbox.run("inspect jobs --state blocked --json").ok().shows("\"id\":4");
    sandbox.run("inspect queues").ok().shows("blocked");
    sandbox.run("work -j4 --drain").ok();
    assert_eq!(sandbox.log()[0], "extract");
    assert_eq!(sandbox.log()[3], "report");
    assert_eq!(blocked(), 0);
}

#[test]
fn one_call_enqueues_each_job_once_and_dependencies_first() {
    let names = |line: &str| {
        let sandbox = Sandbox::new(CHAIN);
        sandbox.run(&format!("enqueue --json {line}")).ok().each("name")
    };
    for (line, expected) in [
        ("--all", "extract load clean report"),
        ("report load", "extract load clean report"),
        ("load extract", "extract load"),
        ("extract load", "extract load"),
        ("load load", "extract load load"),
        ("report --no-deps", "report"),
    ] {
        assert_eq!(names(line), expected.split(' ').collect::<Vec<_>>(), "{line}");
    }
    let sandbox = Sandbox::new(CHAIN);
    sandbox.run("enqueue load extract --queue q").ok();
    assert_eq!([1, 2].map(|id| sandbox.job(id)["queue"].clone()), ["q", "q"], "both are named");
    sandbox.run("enqueue report --dry-run").ok().shows("at most 1 attempt, after load, clean\n");
    assert_eq!(sandbox.count_jobs(), 2);
}

#[test]
fn a_held_key_keeps_the_chain_out_or_stands_for_a_dependency() {
    let sandbox = Sandbox::new(&CHAIN.replace("[jobs.load]", "[jobs.load]\nunique_key = 'load'"));
    assert_eq!(sandbox.run("enqueue load").ok().ids(), [1, 2]);
    assert_eq!(sandbox.run("enqueue report").says("job 2 already holds").ok().ids(), [3, 2, 4, 5]);
    assert_eq!(after(&sandbox, 5), json!([2, 4]));
    assert_eq!(sandbox.run("enqueue report").says("job 5 already holds").ok().ids(), [5]);
    sandbox.run("enqueue report --on-conflict error").exits(75);
    assert_eq!(sandbox.count_jobs(), 5);
    assert_eq!(sandbox.run("enqueue clean --idempotency-key k").ok().ids(), [6, 7]);
    assert_eq!(
        sandbox.run("enqueue clean --idempotency-key k").says("already holds the idempotency key").ok().ids(),
        [7]
    );
}

#[test]
fn where_there_is_no_database_there_is_no_job_to_wait_for() {
    let sandbox = Sandbox::new(CHAIN);
    let refused = sandbox.run("enqueue --after load -- true").exits(66).prints("");
    refused
        .says("there is no job named load to wait for: there is no database yet at ")
        .says("creates it; --db");
    assert!(!sandbox.db().exists());
}

#[test]
fn a_job_can_be_after_jobs_that_exist() {
    let sandbox = Sandbox::new(CHAIN);
    let done = sandbox.finish("extract")["id"].as_u64().unwrap();
    let ready = sandbox.run(&format!("enqueue --after {done} -- true")).ok().id();
    sandbox.run(&format!("inspect {ready}")).ok().shows(": ready");
    let waiting = sandbox.run(&format!("enqueue load --after {ready},{done}")).ok().ids();
    assert_eq!(after(&sandbox, waiting[1]), json!([done, ready, waiting[0]]));
    let jobs = sandbox.count_jobs();
    sandbox.run("enqueue --after 1,99 -- true").exits(66).says("there is no job 99 to wait for");
    assert_eq!(sandbox.count_jobs(), jobs);
    let batch =
        "{\"command\":\"true\",\"after\":[1]}\n{\"name\":\"load\"}\n{\"name\":\"clean\",\"no_deps\":true}\n";
    let ids = sandbox.call("enqueue --batch -").stdin(batch).run().ok().ids();
    assert_eq!(
        ids.iter().map(|id| after(&sandbox, *id)).collect::<Vec<_>>(),
        [json!([1]), json!([]), json!([ids[1]]), json!([])]
    );
    let bad = "{\"command\":\"true\",\"after\":\"1\"}\n";
    sandbox.call("enqueue --batch -").stdin(bad).run().exits(65).says("line 1: \"after\"");
    sandbox.run("doctor").ok();
}

#[test]
fn a_chain_stops_at_a_death_and_goes_on_with_a_replay() {
    let sandbox = Sandbox::new(CHAIN);
    sandbox.write("broken", "");
    sandbox.run("enqueue report").ok();
    for _ in 0..2 {
        sandbox.run("work --drain").exits(1).says("3 jobs still wait for jobs that are dead or cancelled");
    }
    sandbox.run("work --until-idle").ok();
    sandbox.run("prune --state dead,cancelled --older-than 0s").ok();
    assert_eq!(sandbox.count_jobs(), 4, "what is waited for stays");
    sandbox.run("cancel 2").ok();
    std::fs::remove_file(sandbox.path("broken")).unwrap();
    sandbox.run("retry 1").ok();
    sandbox.run("work --drain").exits(1).says("1 job still waits");
    sandbox.run("retry 2").ok();
    sandbox.run("work --drain").ok();
    let done = ["extract succeeded", "load succeeded", "clean succeeded", "report succeeded"];
    assert_eq!(sandbox.states(), done);
    sandbox.run("doctor").ok();
}

#[test]
fn a_job_that_is_redefined_takes_what_waits_with_it() {
    let sandbox = Sandbox::new(CHAIN);
    sandbox.write("broken", "");
    sandbox.run("enqueue load").ok();
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.run("retry 1 --redefine").ok().ids(), [3]);
    assert_eq!(after(&sandbox, 2), json!([3]));
    sandbox.run("cancel 2").ok();
    assert_eq!(sandbox.run("retry 2 --redefine").ok().ids(), [4], "what it is after is not enqueued again");
    assert_eq!(after(&sandbox, 4), json!([3]));
    std::fs::remove_file(sandbox.path("broken")).unwrap();
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log(), ["extract", "extract", "load"]);
    sandbox.run("doctor").ok();
}

#[test]
fn a_drain_of_one_queue_waits_for_a_job_of_another() {
    let sandbox = Sandbox::new(&CHAIN.replace("[jobs.load]", "[jobs.load]\nqueue = 'q'"));
    sandbox.run("enqueue load").ok();
    let mut drain = sandbox.worker("--queue q --drain");
    sandbox.run("work --queue default --drain").ok();
    drain.wait().ok();
    assert_eq!(sandbox.log(), ["extract", "load"]);
}

#[test]
fn a_blocked_job_expires_all_the_same() {
    let sandbox = Sandbox::new(CHAIN);
    sandbox.run("enqueue load --expires-in 1ms --wait").exits(1).says("EXPIRED");
    sandbox.run("inspect 2").ok().shows("EXPIRED, expired: it expired");
}

#[test]
fn a_schedule_fires_the_whole_chain_or_none_of_it() {
    let sandbox = Sandbox::new(
        &CHAIN
            .replace("[jobs.report]", "[jobs.report]\nschedule = 'every 1h'")
            .replace("echo report", "echo report $RUNNER_SCHEDULED_FOR"),
    );
    sandbox.run("apply").ok();
    sandbox.make_due(9);
    sandbox.run("work --until-idle").ok();
    assert_eq!((sandbox.log().len(), sandbox.count_jobs()), (4, 4));
    assert!(sandbox.log()[3].starts_with("report 20"), "{:?}", sandbox.log());
    assert_eq!(sandbox.run("inspect schedules --json").ok().json()["last_job_id"], 4);
    sandbox.run("enqueue report --no-deps --in 1h").ok();
    sandbox.make_due(9);
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.count_jobs(), 5, "the key is held: nothing is enqueued");
    assert_eq!(sandbox.run("inspect schedules --json").ok().json()["skipped"], 1);
    let file = sandbox.read("jobs.toml");
    sandbox.write("jobs.toml", file.replace("echo extract", "echo other"));
    sandbox.run("inspect schedules").ok().shows("report: ").shows("has changed since");
    sandbox.run("apply").ok().shows("~ schedule report changed");
}

const ALERTED: &str = r#"
[defaults]
max_attempts = 1
on_dead = "alert"
[jobs.alert]
command = 'echo "$RUNNER_DEAD_JOB_ID $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE $RUNNER_DEAD_REASON $RUNNER_DEAD_MESSAGE" >> log; false'
[jobs.bad]
command = 'echo message=why >> $RUNNER_REPORT; exit 3'
[jobs.late]
command = 'true'
expires_in = '1ms'
[jobs.killed]
command = 'echo >> log; sleep 100'
[jobs.good]
command = 'true'
"#;

#[test]
fn a_death_calls_the_alert_and_a_dead_alert_calls_nobody() {
    let sandbox = Sandbox::new(ALERTED);
    sandbox.run("enqueue bad good").ok();
    // The alert was frozen with the job.
    sandbox.write("jobs.toml", "[jobs.alert]\ncommand = 'echo other >> log'");
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.log(), ["1 bad EXIT_3 attempts_exhausted why"]);
    assert_eq!(sandbox.states(), ["bad dead", "good succeeded", "alert dead"]);
    sandbox.run("retry 1").ok();
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.log().len(), 2, "a death after a replay counts, too");
}

#[test]
fn neither_message_nor_output_makes_the_alert_too_long_to_start() {
    // The sign in place of a NUL in a variable takes three bytes.
    let sandbox = Sandbox::new(
        r#"
[defaults]
max_attempts = 1
on_dead = "alert"
[jobs.alert]
command = 'printf %s "$RUNNER_DEAD_MESSAGE" | wc -c >> log; printf %s "$RUNNER_DEAD_OUTPUT" | wc -c >> log'
[jobs.reports]
command = '{ printf message=; head -c 60000 /dev/zero; } >> $RUNNER_REPORT; head -c 60000 /dev/zero; exit 3'
[jobs.writes]
command = 'printf "1%.0s" $(seq 60000); exit 3'
"#,
    );
    for name in ["reports", "writes"] {
        sandbox.add(name);
        sandbox.drain();
    }
    assert_eq!(sandbox.states(), ["reports dead", "alert succeeded", "writes dead", "alert succeeded"]);
    for bytes in sandbox.log() {
        let bytes: usize = bytes.trim().parse().expect("a number");
        assert!(((16 << 10) - 3..=16 << 10).contains(&bytes), "{bytes}");
    }
}

#[test]
fn an_alert_gets_the_end_of_what_the_last_attempt_wrote() {
    let sandbox = Sandbox::new(
        r#"
[defaults]
max_attempts = 1
on_dead = "alert"
[jobs.alert]
command = 'printf "%s|%s|" "$RUNNER_DEAD_MESSAGE" "$RUNNER_DEAD_OUTPUT" >> log'
[jobs.stderr]
command = 'echo out; printf "one\n\n \\033[1mtw\0o\t\r\n\n" >&2; exit 3'
[jobs.stdout]
command = 'printf "out\nno newline"; exit 3'
[jobs.blank]
command = 'echo out; printf "\n" >&2; exit 3'
[jobs.silent]
command = 'exit 3'
[jobs.bytes]
command = 'printf "caf\\351\n" >&2; exit 3'
[jobs.long]
command = 'yes é | head -c 30002; exit 3'
[jobs.gap]
command = 'printf "head%01000d\nend" 1; exit 3'
output_limit = "16B"
[jobs.missing]
command = ["./missing"]
[jobs.second]
command = 'echo "attempt $RUNNER_ATTEMPT"; exit 3'
backoff = ["1ms"]
[jobs.late]
command = 'true'
expires_in = '1ms'
"#,
    );
    let told = |name: &str| {
        sandbox.write("log", "");
        sandbox.add(name);
        wait_until("the expiry", || name != "late" || sandbox.run("inspect late").stdout.contains("EXPIRED"));
        sandbox.drain();
        std::fs::read(sandbox.path("log")).expect("the alert ran")
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    assert_eq!(text(told("stderr")), " tw\u{fffd}o|one\n\n \u{1b}[1mtw\u{fffd}o\t\r\n\n|");
    assert_eq!(text(told("stdout")), "no newline|out\nno newline|");
    assert_eq!(text(told("blank")), "out|\n|");
    assert_eq!(text(told("silent")), "||");
    assert_eq!(told("bytes"), b"caf\xef\xbf\xbd|caf\xe9\n|");
    let long = text(told("long"));
    assert!(long.starts_with("é|\né\n") && long.len() < (16 << 10) + 5, "{} bytes", long.len());
    assert_eq!(text(told("gap")), "end|00000001\nend|");
    assert_eq!(text(told("missing")), "no such program: ./missing||");
    assert_eq!(text(told("second")), "attempt 2|attempt 2\n|");
    assert_eq!(text(told("late")), "||");
}

#[test]
fn an_expiry_and_a_crash_call_the_alert_and_a_held_key_stands_for_it() {
    let sandbox = Sandbox::new(ALERTED);
    sandbox.run("enqueue late --wait").exits(1);
    assert_eq!(sandbox.states(), ["late dead", "alert pending"], "whoever records the expiry");
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.log(), ["1 late EXPIRED expired "]);

    let sandbox = Sandbox::new(&ALERTED.replace("[jobs.alert]", "[jobs.alert]\nunique_key = 'alert'"));
    sandbox.run("enqueue killed").ok();
    let worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    worker.kill();
    sandbox.run("enqueue bad").ok();
    sandbox.run("work --max-jobs 1").exits(1);
    assert_eq!(sandbox.states().iter().filter(|state| state.starts_with("alert")).count(), 1);
}

#[test]
fn mistakes_about_other_jobs_are_told_with_their_places() {
    let sandbox = Sandbox::new(
        "[defaults]\non_dead = 'alarm'\n[jobs.a]\ncommand = 'x'\nafter = ['b', 'lod', 'b']\n[jobs.b]\ncommand = 'x'\nafter = ['a']\n\
         [jobs.load]\ncommand = 'x'\nafter = ['load']\non_dead = 'load'\n",
    );
    let ran = sandbox.run("check").exits(65);
    for words in [
        "there is no job `alarm` in this file",
        "\"b\" is entered twice",
        "there is no job `lod` in this file",
        "did you mean \"load\"?",
        "a job would wait for itself: `a` is after `b` is after `a`",
        "a job would wait for itself: `load` is after `load`",
        "the job `load` cannot be its own alert",
        "jobs.toml:8:10",
        "6 mistakes",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    let sandbox = Sandbox::new(CHAIN);
    sandbox.run("check").ok().shows("after     load, clean");
}

#[test]
fn a_worker_that_dies_forgets_no_chain() {
    let sandbox = Sandbox::new(&CHAIN.replace("echo extract >> log", "echo extract >> log; sleep 0.2"));
    sandbox.run("enqueue report --max-attempts 1").ok();
    let worker = sandbox.worker("-j2");
    sandbox.until_logged(1);
    worker.signal(Signal::KILL);
    drop(worker);
    sandbox.run("work --drain").exits(1);
    sandbox.run("inspect 1").ok().shows("WORKER_CRASHED");
    sandbox.run("retry 1").ok();
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log().len(), 5);
    sandbox.run("doctor").ok();
}

#[test]
fn a_wait_for_nothing_is_found_and_does_not_hold_up_a_drain() {
    let sandbox = Sandbox::new(CHAIN);
    sandbox.run("enqueue extract").ok();
    sandbox.sql().run("DROP TRIGGER jobs_count_dependencies_down; UPDATE jobs SET unmet_dependencies = 2");
    sandbox.run("work --drain").exits(1).says("1 job still waits");
    sandbox.run("doctor").exits(1).shows("job 1 waits for 2 jobs, not 0");
}

/// The chain of [`CHAIN`] with a job at its end that runs whatever came of it.
fn with_an_end() -> String {
    let end =
        "[jobs.end]\ncommand = 'echo \"$RUNNER_DEPENDENCIES\" >> log'\nafter_any = ['report', 'load']\n";
    format!("{CHAIN}{end}")
}

#[test]
fn a_dependency_with_a_label_is_told_with_it() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'exit 3'\nretryable = false\n");
    sandbox.call("enqueue a --label").arg("eu west").run().ok();
    sandbox.run("enqueue a").ok();
    sandbox.call("enqueue --after-any 1,2 -c").arg("echo \"$RUNNER_DEPENDENCIES\" >> log").run().ok();
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.log(), ["1 dead a eu west", "2 dead a"]);
}

#[test]
fn a_job_that_is_after_any_end_runs_whatever_came_of_the_chain() {
    let sandbox = Sandbox::new(&with_an_end());
    assert_eq!(sandbox.run("enqueue end").ok().ids(), [1, 2, 3, 4, 5]);
    assert_eq!(sandbox.job(5)["after_any"], json!([2, 4]));
    assert_eq!(after(&sandbox, 5), json!([]));
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log()[4..], ["2 succeeded load", "4 succeeded report"]);

    sandbox.write("broken", "");
    assert_eq!(sandbox.run("enqueue end").ok().ids(), [6, 7, 8, 9, 10]);
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.log()[6..], ["extract", "7 blocked load", "9 blocked report"]);
    // Later changes to the chain change nothing for the job at its end.
    std::fs::remove_file(sandbox.path("broken")).unwrap();
    sandbox.run("retry 6").ok();
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.job(9)["state"], "succeeded");
    assert_eq!(sandbox.job(10)["attempts"], 1);

    sandbox.run("enqueue end").ok();
    sandbox.run("cancel 11 --json").ok();
    assert_eq!(sandbox.job(15)["state"], "pending");
    sandbox.run("inspect 15").ok().shows(": ready").shows("after any job 12, job 14");
    sandbox.run("doctor").ok();
}

#[test]
fn any_end_of_a_job_that_exists_will_do_and_counts_once() {
    let sandbox = Sandbox::new(CHAIN);
    let fails = sandbox.run("enqueue --name fails -- test -e mended").ok().id();
    let other = sandbox.run("enqueue --name other --in 1h -- true").ok().id();
    let waits = sandbox.run(&format!("enqueue --after-any {fails},{other} -- true")).ok().id();
    let expired = sandbox.run("enqueue --in 1ms --expires-in 1ms -- true").ok().id();
    sandbox.run("work --until-idle").exits(1);
    // It dies once, and succeeds later; that is one end.
    sandbox.write("mended", "");
    sandbox.run(&format!("retry {fails}")).ok();
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.job(waits)["state"], "pending");
    sandbox.run(&format!("inspect {waits}")).ok().shows(": blocked");
    sandbox.run(&format!("cancel {other}")).ok();
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.job(waits)["state"], "succeeded");
    // A dependency that has ended before is met at once: by a death, a cancel, an expiry, or because it is stuck.
    let stuck = sandbox.run(&format!("enqueue --after {other} -- true")).ok().id();
    for dependency in [fails, other, expired, stuck] {
        let id = sandbox.run(&format!("enqueue --after-any {dependency} -- true")).ok().id();
        sandbox.run(&format!("inspect {id}")).ok().shows(": ready");
    }
    let line = format!("{{\"command\":\"true\",\"after\":[{other}],\"after_any\":[{stuck}]}}\n");
    let both = sandbox.call("enqueue --batch -").stdin(line.as_str()).run().ok().id();
    assert_eq!(sandbox.job(both)["after_any"], json!([stuck]));
    sandbox
        .run("enqueue --after 1,2 --after-any 2 -- true")
        .exits(2)
        .says("job 2 stands in --after and in --after-any");
    sandbox.run("enqueue --after-any 99 -- true").exits(66).says("there is no job 99 to wait for");
    sandbox.run("doctor").ok();
}
