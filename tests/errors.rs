//! Every error says what was tried, what was found, and what to do next.

use crate::support::{Sandbox, assert_screen};

const JOBS: &str = "[jobs.backup]\ncommand = 'true'\n[jobs.report]\ncommand = 'exit 1'\nretryable = false\n";

#[test]
fn a_name_that_nobody_declared() {
    let sandbox = Sandbox::new(JOBS);
    let ran = sandbox.run("enqueue bakcup").exits(66);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @r#"
        runner: there is no job "bakcup" in [DIR]/jobs.toml
        hint: did you mean backup?
        "#);
    });
}

#[test]
fn no_job_file() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.run("enqueue backup --file nothing.toml").exits(66);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @r"
        runner: there is no job file [DIR]/nothing.toml
        hint: check the path, or write a job file with `runner init`
        ");
    });
}

#[test]
fn no_database_yet() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.run("inspect 1").exits(66);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: there is no database yet at [DIR]/runner.db
        hint: runner enqueue creates it; --db or $RUNNER_DB names another one
        ");
    });
}

#[test]
fn an_unknown_id() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("backup");
    let ran = sandbox.run("inspect 7").exits(66);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: there is no job 7 in [DIR]/runner.db
        hint: runner inspect jobs lists them
        ");
    });
}

#[test]
fn a_held_key() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("backup --unique-key k");
    let ran = sandbox.run("enqueue backup --unique-key k --on-conflict error").exits(75);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @r#"
        runner: nothing was enqueued: the unique key "k" is held by job 1
        hint: runner inspect 1 shows it; --on-conflict skip takes it as it is
        "#);
    });
}

#[test]
fn a_bad_line_of_a_batch() {
    let sandbox = Sandbox::new(JOBS);
    let lines = "{\"name\":\"backup\"}\n{\"name\":\"backup\",\"priorty\":3}\n";
    let ran = sandbox.call("enqueue --batch -").stdin(lines).run().exits(65);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @r#"
        runner: nothing was enqueued: standard input line 2: unknown key "priorty"; did you mean "priority"?
        "#);
    });
}

#[test]
fn a_job_that_has_not_started() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("backup");
    let ran = sandbox.run("logs 1").exits(66);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: job 1 has not been started yet: ready, due [AGO]
        hint: runner explain 1 says why; runner logs -f 1 waits for it
        ");
    });
}

#[test]
fn files_that_are_no_databases_of_ours() {
    let sandbox = Sandbox::empty();
    sandbox.write("runner.db", "this is a letter\n");
    let foreign = sandbox.run("inspect").exits(74).stderr;
    std::fs::remove_file(sandbox.db()).expect("it goes");
    sandbox.add("-- true");
    sandbox.sql().run("PRAGMA user_version = 2");
    let newer = sandbox.run("inspect").exits(76).stderr;
    sandbox.sql().run("PRAGMA user_version = 1");
    std::fs::hard_link(sandbox.db(), sandbox.path("second.db")).expect("a link");
    let linked = sandbox.run("inspect").exits(74).stderr;
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(format!("{foreign}{newer}{linked}"), @"
        runner: [DIR]/runner.db is not a runner database: it is not an SQLite file; it was not touched
        hint: name another file with --db or $RUNNER_DB
        runner: the database [DIR]/runner.db is of version 2, from a newer runner than this one; it was not touched
        hint: use the runner that wrote it, or a newer one
        runner: the database [DIR]/runner.db has 2 names (hard links); under a second name its newest data would not be found
        hint: remove the other names of the file
        ");
    });
}

#[test]
fn a_command_line_without_anything_to_do() {
    let sandbox = Sandbox::new(JOBS);
    let ran = sandbox.run("enqueue").exits(2);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: there is nothing to enqueue: no name, no command
        hint: runner enqueue NAME, runner enqueue -- CMD, or runner enqueue --help
        ");
    });
}
