//! `runner inspect --watch`: a screen that is drawn again when something changes.

use std::fs;

use crate::support::{Call, Sandbox, Session, Signal, many_kinds, wait_until};

fn call(sandbox: &Sandbox, what: &str) -> Call {
    sandbox.call(&format!("inspect {what} --watch --color never")).env("TERM", "xterm").env("LANG", "C.UTF-8")
}

fn watch(sandbox: &Sandbox, what: &str) -> Session {
    Session::start(call(sandbox, what), 80)
}

#[test]
fn a_change_is_shown_and_the_end_leaves_the_terminal_as_it_was() {
    for (end, status) in
        [(None, 0), (Some(Signal::INT), 0), (Some(Signal::TERM), 143), (Some(Signal::HUP), 129)]
    {
        let sandbox = Sandbox::empty();
        let mut session = watch(&sandbox, "");
        session.until_shown("there is no database yet");
        sandbox.add_line("", "true");
        session.until_shown("1 ready");
        sandbox.drain();
        session.until_shown("1 succeeded");
        session.until_gone("ready");
        match end {
            None => session.press("xq"),
            Some(signal) => session.signal(signal),
        }
        assert_eq!(session.exits(status), [""], "the screen is as it was");
    }
}

#[test]
fn ctrl_z_gives_the_terminal_back_until_the_program_goes_on() {
    let sandbox = many_kinds();
    let mut session = watch(&sandbox, "jobs");
    session.until_shown("push");
    session.signal(Signal::TSTP);
    session.until_gone("push");
    session.signal(Signal::CONT);
    session.until_shown("push");
    session.press("q");
    session.exits(0);
}

#[test]
fn every_list_and_job_can_be_watched() {
    let sandbox = many_kinds();
    for (what, shown) in [
        ("jobs", "cancelled"),
        ("jobs --state dead --limit 1", "the newest 1"),
        ("attempts", "exit 22"),
        ("dead", "runner retry 1"),
        ("workers", "no worker is running"),
        ("queues", "files"),
        ("schedules", "there is no schedule"),
        ("stats", "last success"),
        ("1", "job 1 push: dead"),
        ("push.2", "--- stderr"),
    ] {
        let mut session = watch(&sandbox, what);
        session.until_shown(shown);
        session.press("q");
        session.exits(0);
    }
}

#[test]
fn a_line_that_is_too_long_ends_in_dots() {
    let sandbox = Sandbox::empty();
    sandbox
        .call("enqueue --batch -")
        .stdin("{\"command\": [\"false\"], \"name\": \"fetch\"}\n".repeat(20))
        .run()
        .ok();
    sandbox.drain();
    let mut session = Session::start(call(&sandbox, ""), 60);
    session.until_shown("runner retry 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 …");
    session.press("q");
    session.exits(0);
}

#[test]
fn the_screen_is_cut_to_its_height_and_says_how_much_more_there_is() {
    let sandbox = many_kinds();
    let whole = sandbox.run("inspect jobs").ok().stdout.lines().count();
    let mut session = watch(&sandbox, "jobs");
    session.until_shown("push");
    for rows in [5, 2, 1] {
        session.resize(60, rows);
        let rows = usize::from(rows);
        wait_until("the last line says how many more", || {
            let lines = session.lines();
            lines.len() == rows && lines[rows - 1].ends_with(" more lines")
        });
    }
    session.resize(200, 100);
    wait_until("all is shown", || !session.lines().iter().any(|line| line.ends_with(" more lines")));
    // Above stands the line with the time.
    assert!(session.lines().len() >= whole, "{:#?}", session.lines());
    session.press("q");
    session.exits(0);
}

#[test]
fn of_a_long_job_the_middle_is_left_out() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--name fetch --max-attempts 30 --backoff 0s", "exit 3");
    sandbox.drain();
    let mut session = watch(&sandbox, "1");
    session.until_shown("job 1 fetch: dead");
    session.resize(80, 24);
    wait_until("the screen is drawn anew, down to its last line", || {
        let lines = session.lines();
        lines.len() == 24 && lines[23].starts_with("next  runner retry 1")
    });
    let lines = session.lines();
    assert!(lines.iter().any(|line| line.ends_with(" lines left out")), "{lines:#?}");
    assert!(lines[1].starts_with("job 1 fetch: dead"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("   30  ")), "{lines:#?}");
    session.press("q");
    session.exits(0);
}

#[test]
fn above_all_stand_the_time_the_database_and_the_host_and_then_what_runs() {
    let sandbox = Sandbox::empty();
    sandbox.add("--name copy --max-attempts 1 -- true");
    sandbox.drain();
    sandbox.add_line("--name copy --max-attempts 4", "echo $((1 + 2)) of 9 files; exec sleep 1000");
    let _worker = sandbox.worker("-j1");
    let mut session = watch(&sandbox, "");
    session.until_shown("3 of 9 files");
    let lines = session.lines();
    let host = rustix::system::uname();
    let host = host.nodename().to_str().expect("a name");
    let words: Vec<_> = lines[0].split_whitespace().collect();
    assert!(words[1].contains(':') && words[2].ends_with("/runner.db"), "{lines:#?}");
    assert_eq!(words[3..], [host], "{lines:#?}");
    let running = lines.iter().find(|line| line.contains(" copy ") && line.contains("1/4"));
    let running = running.unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(running.starts_with(" 2") && running.ends_with("3 of 9 files"), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains(".db")).count(), 1, "{lines:#?}");
    session.press("q");
    session.exits(0);
}

#[test]
fn time_passes_where_nothing_changes() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--in 1h", "true");
    let mut session = watch(&sandbox, "");
    session.until_shown("in 59m 5");
    let before = session.lines();
    wait_until("another frame", || session.lines() != before);
    session.press("q");
    session.exits(0);
}

#[test]
fn a_database_that_is_replaced_or_removed_is_watched_on() {
    let sandbox = many_kinds();
    sandbox.run("backup copy.db").ok();
    sandbox.add_line("--name newer", "true");
    let mut session = watch(&sandbox, "jobs");
    session.until_shown("newer");
    sandbox.run("restore copy.db").ok();
    session.until_gone("newer");
    session.until_shown("push");
    fs::remove_file(sandbox.db()).expect("it is there");
    session.until_shown("there is no database yet");
    session.press("q");
    session.exits(0);
}

#[test]
fn an_error_is_said_on_the_terminal_as_it_was() {
    let sandbox = many_kinds();
    let session = watch(&sandbox, "5");
    session.until_shown("job 5 fine");
    sandbox.run("prune --older-than 0s --state cancelled").ok();
    let left = session.exits(66);
    assert!(left[0].starts_with("runner: there is no job 5 in"), "{left:#?}");
    watch(&sandbox, "nothing-of-this-name").exits(66);
}

#[test]
fn what_cannot_be_drawn_again_is_refused() {
    let sandbox = Sandbox::empty();
    let said = "--watch needs a terminal that can be drawn on again";
    call(&sandbox, "").run().exits(2).says(said).prints("");
    call(&sandbox, "").env("TERM", "dumb").at_terminal(80).exits(2).shows(said);
    call(&sandbox, "").env_remove("TERM").at_terminal(80).exits(2).shows(said);
    for other in ["--json", "--html", "--openmetrics", "dead --fail-if-any"] {
        call(&sandbox, other).at_terminal(80).exits(2);
    }
}
