//! The error of a wrong command line suggests what was probably meant.

use crate::support::{Finished, Sandbox};

/// The tips that an unusable command line gets.
#[track_caller]
fn tips(ran: Finished) -> String {
    let ran = ran.exits(2).prints("");
    let tips = ran.stderr.lines().filter(|line| line.starts_with("  tip: "));
    tips.map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_unknown_option_of_enqueue_may_be_an_argument_of_the_job() {
    let sandbox = Sandbox::empty();
    for (line, argument) in [("enqueue x --month 3", "--month"), ("--quiet enqueue x -z", "-z")] {
        let wanted = format!("tip: arguments for the job go after `--`: `-- {argument}`");
        assert_eq!(tips(sandbox.run(line)), wanted, "{line}");
    }
}

#[test]
fn a_slip_of_the_fingers_is_told_by_its_letters() {
    let sandbox = Sandbox::empty();
    assert_eq!(tips(sandbox.run("inspec")), "tip: a similar subcommand exists: 'inspect'");
    let near = tips(sandbox.run("enqueue --priorty 3 x"));
    assert!(near.starts_with("tip: a similar argument exists: '--priority'"), "{near}");
    sandbox.run("help").ok();
}

#[test]
fn words_of_other_programs_are_told_what_to_type() {
    let sandbox = Sandbox::empty();
    for (line, tip) in [
        ("run fetch", "tip: `runner enqueue NAME` puts a job on disk, and `runner work` runs it"),
        ("status", "tip: `runner inspect` shows what ran and what waits"),
        ("list", "tip: `runner inspect` shows what ran and what waits"),
        ("kill 7", "tip: `runner cancel NAME` ends a job"),
        ("quiz", ""),
        (
            "wait --name fetch",
            "tip: `runner wait NAME` waits for the newest job of that name, `--label TEXT` for all with a label",
        ),
        ("logs 1 --tail 3", "tip: `-n 20` prints the last 20 lines"),
        ("retry --all", "tip: `runner retry --dead` puts all dead jobs back"),
        ("retry --cancelled", ""),
        ("inspect jobs --limit -1", ""),
    ] {
        assert_eq!(tips(sandbox.run(line)), tip, "{line}");
    }
}

#[test]
fn a_list_is_told_from_a_name() {
    let sandbox = Sandbox::empty();
    sandbox.run("enqueue -q --name dad -c true").ok();
    for (line, hint) in [
        ("inspect queue", "did you mean runner inspect queues?"),
        ("inspect jbos", "did you mean runner inspect jobs?"),
        ("inspect dadd", "did you mean dad?"),
        ("logs queue", "runner inspect jobs lists them"),
    ] {
        sandbox.run(line).exits(66).says(&format!("hint: {hint}\n"));
    }
}

#[test]
fn a_retry_by_name_names_the_cancelled_job() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add("--name push -c true");
    sandbox.run("cancel push").ok();
    sandbox.run("retry push").exits(66).says("hint: runner retry 1 puts it back;");
    sandbox.run(&format!("retry {id}")).ok();
}

#[test]
fn errors_show_what_is_required_and_what_may_stand_there() {
    let sandbox = Sandbox::empty();
    for (line, said) in [
        ("prune", "--older-than <DUR>\n"),
        ("prune", "Usage: runner prune [OPTIONS] --older-than <DUR>\n"),
        ("retry", "runner retry [OPTIONS] --dead\n"),
        ("inspect jobs --limit many", "a whole number"),
        ("logs 1 -n few", "a whole number"),
        ("inspect --fail-if-any", "hint: runner doctor --strict -q fails if"),
        ("inspect jobs --state failed", "there is no state \"failed\"; did you mean dead or retrying?"),
        ("limit net --max-running 0", "runner pause holds one"),
        ("explain x --exit 999", "a whole number from 0 to 255"),
        ("enqueue x --timeout 0", "it must be longer than zero"),
        ("enqueue x --after 0", "as enqueue and inspect jobs print it"),
        ("enqueue x --in 14:30", "\"14:30\" is not a duration"),
        ("enqueue x --at 5m", "\"5m\" is not a time"),
        ("enqueue x --in 3", "write \"3s\" for seconds"),
        ("prune --older-than 30", "write \"30d\" for days"),
    ] {
        sandbox.run(line).exits(2).prints("").says(said);
    }
}

#[test]
fn a_word_that_names_no_job_is_told_what_it_may_be_instead() {
    let sandbox = Sandbox::new("[jobs.killed]\ncommand = 'exit 3'\nmax_attempts = 1\n");
    sandbox.run("enqueue killed killed").ok();
    sandbox.drain();
    for (line, said) in [
        ("inspect faild", "hint: runner inspect jobs lists them"),
        ("inspect kiled", "did you mean killed?"),
        ("retry 2.1", "would be an attempt; write the id of its job, 2"),
    ] {
        sandbox.run(line).exits(66).says(said);
    }
    let command = sandbox.call("enqueue").arg("echo hi").run();
    command.exits(66).prints("").says("write a command as -c 'echo hi', or -- echo hi");
}

#[test]
fn names_have_ascii_letters() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\n");
    for (line, status) in [("enqueue größe", 66), ("enqueue a --queue größe", 2), ("pause größe", 2)] {
        sandbox.run(line).exits(status).prints("").says("ASCII letters");
    }
    sandbox.run("enqueue tar x.tgz").exits(66).says("runner enqueue -- CMD takes any command");
    sandbox.write("jobs.toml", "[jobs.\"größe\"]\ncommand = 'true'\n");
    sandbox.run("check").exits(65).says("ASCII letters");
}
