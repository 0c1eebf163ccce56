//! Every error says what was tried, what was found, and what to do next.

use crate::support::{Bed, assert_screen};

const JOBS: &str = "[jobs.backup]\ncommand = 'true'\n[jobs.report]\ncommand = 'exit 1'\nretryable = false\n";

#[test]
fn a_name_that_nobody_declared() {
    let bed = Bed::new(JOBS);
    let ran = bed.run("enqueue bakcup").exits(66);
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stderr, @r#"
        runner: there is no job "bakcup" in [DIR]/jobs.toml
        hint: did you mean backup?
        "#);
    });
}

#[test]
fn no_job_file() {
    let bed = Bed::bare();
    let ran = bed.run("enqueue backup --file nothing.toml").exits(66);
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stderr, @r"
        runner: there is no job file [DIR]/nothing.toml
        hint: check the path, or write a job file with `runner init`
        ");
    });
}

#[test]
fn no_database_yet() {
    let bed = Bed::bare();
    let ran = bed.run("inspect 1").exits(66);
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: there is no database yet at [DIR]/runner.db
        hint: runner enqueue creates it; --db or $RUNNER_DB names another one
        ");
    });
}

#[test]
fn an_unknown_id() {
    let bed = Bed::new(JOBS);
    bed.add("backup");
    let ran = bed.run("inspect 7").exits(66);
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: there is no job 7 in [DIR]/runner.db
        hint: runner inspect jobs lists them
        ");
    });
}

#[test]
fn a_held_key() {
    let bed = Bed::new(JOBS);
    bed.add("backup --unique-key k");
    let ran = bed.run("enqueue backup --unique-key k --on-conflict error").exits(75);
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stderr, @r#"
        runner: nothing was enqueued: the unique key "k" is held by job 1
        hint: runner inspect 1 shows it; --on-conflict skip takes it as it is
        "#);
    });
}

#[test]
fn a_bad_line_of_a_batch() {
    let bed = Bed::new(JOBS);
    let lines = "{\"name\":\"backup\"}\n{\"name\":\"backup\",\"priorty\":3}\n";
    let ran = bed.call("enqueue --batch -").stdin(lines).run().exits(65);
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stderr, @r#"
        runner: nothing was enqueued: standard input line 2: unknown key "priorty"; did you mean "priority"?
        "#);
    });
}

#[test]
fn a_job_that_has_not_started() {
    let bed = Bed::new(JOBS);
    bed.add("backup");
    let ran = bed.run("logs 1").exits(66);
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: job 1 has not been started yet: ready, due [AGO]
        hint: runner explain 1 says why; runner logs -f 1 waits for it
        ");
    });
}

#[test]
fn files_that_are_no_databases_of_ours() {
    let bed = Bed::bare();
    bed.write("runner.db", "this is a letter\n");
    let foreign = bed.run("inspect").exits(74).stderr;
    std::fs::remove_file(bed.db()).expect("it goes");
    bed.add("-- true");
    bed.sql().run("PRAGMA user_version = 2");
    let newer = bed.run("inspect").exits(76).stderr;
    bed.sql().run("PRAGMA user_version = 1");
    std::fs::hard_link(bed.db(), bed.path("second.db")).expect("a link");
    let linked = bed.run("inspect").exits(74).stderr;
    assert_screen(&bed, || {
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
    let bed = Bed::new(JOBS);
    let ran = bed.run("enqueue").exits(2);
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stderr, @"
        runner: there is nothing to enqueue: no name, no command
        hint: runner enqueue NAME, runner enqueue -- CMD, or runner enqueue --help
        ");
    });
}
