//! Jobs that wait for a job which will not end by itself: every view says so, and nothing waits for them for ever.

use crate::chains::CHAIN;
use crate::support::{Background, Sandbox, assert_screen, json, wait_until};

#[test]
fn a_death_tells_whom_it_holds_back_and_a_wait_for_these_ends() {
    let sandbox = Sandbox::new(CHAIN);
    sandbox.write("broken", "");
    sandbox.run("enqueue report").ok();
    let mut waiting = Background::start(&sandbox, sandbox.call("wait 4"));
    sandbox.run("work --drain").exits(1);
    // A worker would start none of them.
    sandbox.run("inspect").ok().shows("\nworkers   none\n");
    let stuck =
        "job 4 waits for job 1 extract, which is dead: runner retry 1 goes on, runner cancel 4 gives up";
    waiting.wait().exits(1).says(stuck);
    sandbox.run("wait 4 --json").exits(1).says(stuck).shows("\"phase\":\"blocked\"");
    sandbox.run("inspect 1").ok().shows("holds back 3 jobs: load, clean, report");
    sandbox.run("resolve 1").ok().shows("job 1 extract: resolved; it holds back 3 jobs: load, clean, report");
    sandbox.run("cancel 3").ok().shows("job 3 clean: cancelled; it holds back 1 job: report");
    let both = "waits for job 1 extract, which is dead, and for job 3 clean, which is cancelled: \
                runner retry 1 3 goes on, runner cancel 4 gives up";
    sandbox.run("inspect 4").ok().shows(both);
    let waits_for = sandbox.run("inspect 4 --json").ok().json()["waits_for"].clone();
    assert_eq!(
        waits_for,
        json!([
            {"job_id": 1, "name": "extract", "state": "dead"},
            {"job_id": 3, "name": "clean", "state": "cancelled"}
        ])
    );
    sandbox.run("enqueue --wait --after 4 -- true").exits(1).says("waits for job 1 extract");
}

#[test]
fn a_retry_is_not_promised_while_another_job_holds_the_key() {
    let sandbox = Sandbox::new(
        "[jobs.one]\ncommand = 'exit 1'\nmax_attempts = 1\nunique_key = 'k'\n[jobs.two]\ncommand = 'true'\nafter = ['one']\n",
    );
    sandbox.run("enqueue two").ok();
    sandbox.run("work --drain -q").exits(1);
    sandbox.run("enqueue one --in 1h").ok().prints("3\n");
    let ways = "runner retry 1 goes on once job 3, which holds its key, has ended, runner cancel 2 gives up";
    sandbox.run("inspect 2").ok().shows(ways);
    sandbox.run("retry 1").exits(1);
    sandbox.run("cancel 3").ok();
    sandbox.run("inspect 2").ok().shows("dead: runner retry 1 goes on, runner cancel 2 gives up");
    sandbox.run("retry 1").ok();
}

#[test]
fn what_is_stuck_is_a_note_once_a_later_night_of_the_chain_went_well() {
    let sandbox = Sandbox::new(CHAIN);
    sandbox.write("broken", "");
    sandbox.run("enqueue report").ok();
    sandbox.drain();
    let strict = |status| sandbox.run("doctor --strict").exits(status).stdout;
    assert!(strict(1).ends_with("2 things need attention\n"));
    std::fs::remove_file(sandbox.path("broken")).unwrap();
    sandbox.run("enqueue extract").ok();
    sandbox.run("work --until-idle").ok();
    let listed = sandbox.run("inspect --json").ok().json()["attention"].clone();
    assert_eq!(
        listed[0],
        json!({
            "kind": "stuck",
            "alarm": false,
            "message": "job 1 extract holds back 3 jobs: 2 load, 3 clean, 4 report, though job 5 has done the same as \
                        job 1 extract since; runner cancel 2 3 4 gives up",
            "command": "runner retry 1",
            "jobs": [2, 3, 4],
            "file": sandbox.path("jobs.toml").canonicalize().unwrap()
        })
    );
    assert!(strict(0).ends_with("verdict   the file is sound; no alarm, 2 notes\n"));
    assert!(sandbox.run("inspect --html").ok().stdout.contains("No alarm, 2 notes"));
    let metrics = sandbox.run("inspect --openmetrics").ok().stdout;
    assert!(metrics.contains("kind=\"stuck\"} 1\n") && metrics.contains("runner_alarms"), "{metrics}");
    assert!(
        metrics.lines().any(|line| line.starts_with("runner_alarms{") && line.ends_with(" 0")),
        "{metrics}"
    );
    // Nothing is lost without the jobs that wait once others have done their work, too.
    sandbox.run("enqueue report --unique-key other").ok();
    sandbox.run("work --until-idle").ok();
    let stuck = sandbox.run("inspect --json").ok().json()["attention"][0].clone();
    assert_eq!(stuck["command"], "runner cancel 2 3 4", "{stuck}");
    // An ad hoc job does work that no other one does.
    let dead = sandbox.add("--name odd -- false");
    sandbox.run(&format!("enqueue --name behind --after {dead} -- true")).ok();
    sandbox.run("enqueue --name odd -- true").ok();
    sandbox.run("work --until-idle").exits(1);
    assert!(strict(1).ends_with("2 things need attention\n"));
}

#[test]
fn dead_letters_tell_whom_they_hold_back() {
    let sandbox = Sandbox::new(CHAIN);
    sandbox.write("broken", "");
    sandbox.run("enqueue report").ok();
    sandbox.run("enqueue load").ok();
    sandbox.add("--name alone -- false");
    sandbox.drain();
    let dead = || {
        let shown = sandbox.run("inspect dead --error-code EXIT_1").ok().stdout;
        shown.lines().filter(|line| line.contains("back")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(dead(), "  jobs 1, 5 hold back 4 jobs: load, clean, report");
    sandbox.run("cancel 2 3 4 --quiet").ok();
    assert_eq!(dead(), "  job 5 holds back 1 job: load");
    sandbox.run("resolve 1 5 --quiet").ok();
    assert_eq!(dead(), "");
    for _ in 0..12 {
        sandbox.run("enqueue load").ok();
    }
    sandbox.drain();
    assert_eq!(dead(), "  12 jobs of extract hold back 12 jobs: load");
}

/// A sandbox whose job 2, `late`, has expired while it was blocked by job 1, `first`.
fn expired_while_blocked() -> Sandbox {
    let jobs = "[jobs.first]\ncommand = 'test -e mended'\nmax_attempts = 1\n\
                [jobs.late]\ncommand = 'true'\nexpires_in = '1ms'\nafter = ['first']\n";
    let sandbox = Sandbox::new(jobs);
    sandbox.run("enqueue late").ok();
    wait_until("it expires", || sandbox.job(2)["state"] == "dead");
    sandbox
}

#[test]
fn a_job_that_expired_while_it_was_blocked_says_what_it_waited_for() {
    let sandbox = expired_while_blocked();
    let why = "it was blocked until it expired: it waited for job 1 first, which";
    sandbox.run("inspect 2").ok().shows(&format!("{why} is pending\n"));
    sandbox.drain();
    let first = format!("{why} is dead: runner retry 1 comes first");
    sandbox.run("inspect 2").ok().shows(&first);
    let shown = sandbox.run("inspect dead --error-code EXPIRED").ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(shown.stdout, @"
        EXPIRED: 1 job, expired
          id  name  runs  died  what it said
           2  late  0/3  [AGO]
          why  it was blocked until it expired: it waited for job 1 first, which is dead: runner retry 1 comes first
          replay  runner retry 2

        runner resolve ID takes off this list what was dealt with
        ");
    });
    sandbox.write("mended", "");
    sandbox.run("retry 1").ok();
    sandbox.drain();
    // Nothing keeps it now, but a longer time would not have been the remedy.
    sandbox.run("inspect dead").ok().shows(&format!("why     {why} has succeeded since\n"));
    sandbox.run("retry 2").ok();
}

#[test]
fn a_job_that_was_ready_when_it_expired_is_advised_to_expire_later() {
    let sandbox = expired_while_blocked();
    sandbox.write("mended", "");
    sandbox.run("work --drain").exits(1);
    // Its dependency has succeeded before, so it expires for another reason the second time.
    let late = sandbox.run("enqueue --after 1 --expires-in 1ms -- true").ok().id();
    wait_until("it expires", || sandbox.job(late)["state"] == "dead");
    let shown = sandbox
        .run("inspect dead --name true")
        .ok()
        .shows("fix     enqueue it anew with a longer --expires-in");
    assert!(!shown.stdout.contains("blocked"), "{shown}");
}

/// The chain of [`CHAIN`], with `extract` in the queue `net`, which is paused.
fn behind_a_paused_queue() -> Sandbox {
    let sandbox = Sandbox::new(&CHAIN.replace("[jobs.extract]", "[jobs.extract]\nqueue = 'net'"));
    sandbox.add("--queue net -- true");
    sandbox.run("pause net").ok();
    sandbox.run("enqueue report").ok();
    sandbox
}

#[test]
fn a_drain_ends_where_jobs_wait_for_a_paused_queue() {
    let sandbox = behind_a_paused_queue();
    let left = "3 jobs still wait for jobs in paused queues; runner inspect jobs --state blocked lists them";
    let ran = sandbox.run("work --drain").exits(1).says(left);
    ran.says("2 jobs still wait in queue net, which is paused; runner resume net opens it");
    sandbox.run("work --drain --queue default -q").exits(1).says(left);
    sandbox.run("work --until-idle").ok();
    let why = "waits for job 2 extract, whose queue net is paused: runner resume net opens queue net\n";
    sandbox.run("inspect 5").ok().shows(why);
    // A death is the greater trouble, and is told apart.
    sandbox.run("cancel 3").ok();
    sandbox.run("inspect 5").ok().shows(
        "waits for job 3 load, which is cancelled, and for job 2 extract, whose queue net is paused: \
         runner retry 3 goes on, runner resume net opens queue net, runner cancel 5 gives up\n",
    );
    let ran =
        sandbox.run("work --drain").exits(1).says("1 job still waits for jobs that are dead or cancelled");
    ran.says("1 job still waits for jobs in paused queues");
    sandbox.run("retry 3").ok();
    sandbox.run("resume net").ok();
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log()[3..], ["report"]);
}

#[test]
fn a_drain_waits_for_what_goes_on_by_itself_beside_a_paused_queue() {
    let sandbox = Sandbox::empty();
    // The expiry of a job in a paused queue is an end, and what any end lets go on need not be left.
    let expires = sandbox.add("--queue net --expires-in 300ms -- true");
    sandbox.run("pause net").ok();
    let last = sandbox.add(&format!("--after-any {expires} -- true"));
    sandbox.run("work --drain").exits(1).says("expired");
    assert_eq!(sandbox.job(last)["state"], "succeeded");
    // An end that was met earlier, here by a death, keeps nothing from going on.
    let next = sandbox.add("--queue other -- true");
    sandbox.add(&format!("--queue q --after-any {expires} --after {next} -- true"));
    let mut drain = sandbox.worker("--queue q --drain");
    sandbox.run("work --queue other --drain").ok();
    drain.wait().ok();
    // A job that was started before its queue was paused ends by itself, too.
    let starts =
        sandbox.add_line("--queue net", "until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done");
    sandbox.run("resume net").ok();
    let _worker = sandbox.worker("--queue net");
    sandbox.until_state(starts, "running");
    sandbox.run("pause net").ok();
    let waits = sandbox.add(&format!("--after {starts} -- true"));
    let mut drain = sandbox.worker("--drain");
    sandbox.write("go", "");
    drain.wait().ok();
    assert_eq!(sandbox.job(waits)["state"], "succeeded");
}

#[test]
fn a_wait_for_a_job_behind_a_paused_queue_says_so_once_and_goes_on() {
    let sandbox = behind_a_paused_queue();
    let warned = |id: u64, said: &str| {
        let waiter = Background::start(&sandbox, sandbox.call(&format!("wait {id}")));
        waiter.until_it_says(said);
        waiter
    };
    let mut first = warned(1, "waiting for job 1, but queue net is paused; runner resume net opens it");
    let mut last = warned(
        5,
        "waiting for job 5, but it waits for job 2 extract, whose queue net is paused: runner resume net",
    );
    sandbox.run("resume net").ok();
    last.until_it_says("waiting for job 5, but no worker is running for queue default");
    sandbox.run("work --drain").ok();
    let ran = last.wait().says("extract, whose queue net is paused: runner resume net opens queue net").ok();
    assert_eq!(ran.stderr.matches("is paused").count(), 1, "{ran}");
    first.wait().says("but queue net is paused; runner resume net opens it").ok();
}

/// A sandbox in which job 1 was removed by hand. Job 2 is after it, and job 3 after any end of job 2, which will not come.
fn after_any_end_of_a_job_behind_a_removed_one(options: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.add("--name first --in 1h -- true");
    sandbox.add(&format!("--name second --after 1 {options} -- true"));
    sandbox.add("--name last --after-any 2 -- true");
    remove_by_hand(&sandbox, 1);
    sandbox
}

fn remove_by_hand(sandbox: &Sandbox, id: u64) {
    sandbox.sql().run(&format!(
        "DROP TRIGGER jobs_are_finished_before_they_go; DROP TRIGGER jobs_stay_while_others_wait;
         DELETE FROM jobs WHERE id = {id}"
    ));
}

#[test]
fn all_agree_about_any_end_of_a_job_behind_one_that_was_removed() {
    let sandbox = after_any_end_of_a_job_behind_a_removed_one("");
    let why = "waits for job 1, which was removed: runner cancel 3 gives up";
    sandbox.run("inspect 3").ok().shows(why);
    sandbox.run("wait 3").exits(1).says(why);
    sandbox.run("work --drain").exits(1).says("2 jobs still wait for jobs that are dead or cancelled");
    let listed = sandbox.run("inspect --json").ok().json()["attention"].clone();
    assert_eq!((&listed[0]["kind"], &listed[0]["jobs"]), (&json!("stuck"), &json!([2, 3])));
    // One that is enqueued now finds it stuck, and a cancel is an end.
    let later = sandbox.add("--after-any 2 -- true");
    sandbox.run("cancel 2 --quiet").ok();
    sandbox.drain();
    for id in [3, later] {
        assert_eq!(sandbox.job(id)["state"], "succeeded");
    }
}

#[test]
fn an_expiry_is_an_end_that_comes_by_itself() {
    let sandbox = after_any_end_of_a_job_behind_a_removed_one("--expires-in 1h");
    sandbox.run("wait 3 --wait-timeout 200ms").exits(75).says("gave up waiting");
    let listed = sandbox.run("inspect --json").ok().json()["attention"].clone();
    assert_eq!((&listed[0]["kind"], &listed[0]["jobs"]), (&json!("stuck"), &json!([2])));
}

#[test]
fn a_run_ends_where_its_job_waits_for_one_that_was_removed() {
    let sandbox = Sandbox::new(
        "[jobs.first]\ncommand = 'true'\nqueue = 'net'\n[jobs.second]\ncommand = 'true'\nafter = ['first']\n
         [jobs.last]\ncommand = 'true'\nafter_any = ['second']\n",
    );
    sandbox.add("--queue net -- true");
    sandbox.run("pause net").ok();
    let mut run = Background::start(&sandbox, sandbox.call("run last"));
    wait_until("the chain is enqueued", || sandbox.count_jobs() == 4);
    remove_by_hand(&sandbox, 2);
    run.wait().exits(1).says("job 4 waits for job 2, which was removed");
}
