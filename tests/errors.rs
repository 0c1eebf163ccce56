//! Every error says what was tried, what was found, and what to do next.

use crate::support::{Sandbox, assert_screen};

const JOBS: &str = "[jobs.backup]\ncommand = 'true'\n[jobs.report]\ncommand = 'exit 1'\nretryable = false\n";

#[test]
fn errors_name_the_next_command() {
    let sandbox = Sandbox::new(JOBS);
    let said = |line: &str, status| sandbox.run(line).exits(status).stderr;
    let mut all = ["enqueue bakcup", "enqueue backup --file nothing.toml", "inspect 1"]
        .map(|line| said(line, 66))
        .concat();
    all += &said("enqueue", 2);
    sandbox.add("backup --unique-key k");
    all += &["inspect 7", "logs 1"].map(|line| said(line, 66)).concat();
    all += &said("enqueue backup --unique-key k --on-conflict error", 75);
    sandbox.write("lines", "{\"name\":\"backup\"}\n{\"name\":\"backup\",\"priorty\":3}\n");
    all += &said("enqueue --batch lines", 65);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(all, @r#"
        runner: there is no job "bakcup" in [DIR]/jobs.toml
        hint: did you mean backup?
        runner: there is no job file [DIR]/nothing.toml
        hint: check the path, or write a job file with `runner init --file [DIR]/nothing.toml`
        runner: there is no database yet at [DIR]/runner.db
        hint: runner enqueue creates it; --db or $RUNNER_DB names another one
        runner: there is nothing to enqueue: no name, no command
        hint: runner enqueue NAME, runner enqueue -- CMD, or runner enqueue --help
        runner: there is no job 7 in [DIR]/runner.db
        hint: runner inspect jobs lists them
        runner: job 1 has not been started yet: ready, due [AGO]
        hint: runner inspect 1 says why; runner logs -f 1 waits for it
        runner: nothing was enqueued: the unique key "k" is held by job 1
        hint: runner inspect 1 shows it; --on-conflict skip takes it as it is
        runner: nothing was enqueued: lines line 2: unknown key "priorty"; did you mean "priority"?
        "#);
    });
}

#[test]
fn files_that_are_no_databases_of_ours() {
    let sandbox = Sandbox::empty();
    sandbox.write("runner.db", "this is a letter\n");
    let foreign = sandbox.run("inspect").exits(74).stderr;
    std::fs::remove_file(sandbox.db()).expect("it goes");
    sandbox.add("-- true");
    sandbox.sql().run("PRAGMA user_version = 2000");
    let newer = sandbox.run("inspect").exits(76).stderr;
    sandbox.sql().run("PRAGMA user_version = 1002");
    std::fs::hard_link(sandbox.db(), sandbox.path("second.db")).expect("a link");
    let linked = sandbox.run("inspect").exits(74).stderr;
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(format!("{foreign}{newer}{linked}"), @"
        runner: [DIR]/runner.db is not a runner database: it is not an SQLite file; it was not touched
        hint: name another file with --db or $RUNNER_DB
        runner: the database [DIR]/runner.db is of version 2.0, and this runner knows version 1.2; it was not touched
        hint: use a runner that knows version 2
        runner: the database [DIR]/runner.db has 2 names (hard links); under a second name its newest data would not be found
        hint: remove the other names of the file
        ");
    });
}

#[test]
fn a_damaged_name_is_found_before_a_command_is_started() {
    let sandbox = Sandbox::empty();
    sandbox.add("--name one -- touch started");
    sandbox.sql().run("DROP TRIGGER jobs_keep_what_they_are; UPDATE jobs SET name = 'x y'");
    sandbox.run("work --drain").exits(74);
    assert!(!sandbox.path("started").exists());
}
