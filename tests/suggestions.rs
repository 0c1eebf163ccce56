//! The error of a wrong command line suggests what was probably meant.

use std::fmt::Write;

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
        let told = tips(sandbox.run(line));
        assert!(
            told.starts_with(&format!("tip: arguments for the job go after `--`: `-- {argument}`")),
            "{told}"
        );
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
        (
            "submit fetch",
            "tip: `runner run NAME` runs a job here, `runner enqueue NAME` puts it on disk for a worker",
        ),
        ("status", "tip: `runner inspect` shows what ran and what waits"),
        ("list", "tip: `runner inspect` shows what ran and what waits"),
        ("kill 7", "tip: `runner cancel NAME` ends a job"),
        (
            "--db /other.db explain 7",
            "tip: `runner inspect --db /other.db ID` says why a job is in its state, `runner check --db /other.db NAME --exit N` what would follow an exit",
        ),
        (
            "explain 7",
            "tip: `runner inspect ID` says why a job is in its state, `runner check NAME --exit N` what would follow an exit",
        ),
        ("quiz", ""),
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
    let ran = sandbox.run("retry push").exits(66).says("hint: runner retry 1 puts it back;");
    ran.says("no job named push is dead; the newest, job 1, is cancelled");
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
        ("check x --exit 999", "a whole number from 0 to 255"),
        ("enqueue x --timeout 0", "it must be longer than zero"),
        ("enqueue x --after 0", "as enqueue and inspect jobs print it"),
        ("enqueue x --in 14:30", "\"14:30\" is not a duration"),
        ("enqueue x --at 5m", "\"5m\" is not a time"),
        ("enqueue x --in 3", "write \"3s\" for seconds"),
        ("prune --older-than 30", "write \"30d\" for days"),
        ("enqueue x --backoff liner", "or linear:DELAY[:MAX]; did you mean linear?"),
        (
            "enqueue x --backoff liner",
            "write exponential, linear, constant, 30s, 5s,1m,10m, exponential:INITIAL",
        ),
        ("enqueue x --backoff Exponental:1s", "did you mean exponential?"),
        ("enqueue x --backoff often", "\"often\" is neither a strategy nor a delay; write exponential"),
        ("enqueue x --backoff constant:9s", "write 9s for the same delay each time"),
        ("enqueue x --backoff 5sek", "the unknown unit \"sek\""),
        ("enqueue x --jitter ture", "nor a duration such as 100ms; did you mean true?"),
        ("enqueue x --on-conflict skp", "it is skip, replace or error; did you mean skip?"),
        ("inspect dead --dead-reason expird", "did you mean expired?"),
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
    let without_file = Sandbox::empty();
    for (typed, call) in [
        ("echo hi", "type: runner enqueue -- echo hi"),
        ("ls | wc -l", "type: runner enqueue -c 'ls | wc -l'"),
        ("./backup.sh", "type: runner enqueue -- ./backup.sh"),
    ] {
        sandbox.call("enqueue").arg(typed).run().exits(66).prints("").says(call);
        without_file.call("enqueue").arg(typed).run().exits(66).prints("").says(call).says("runner init");
        let call = call.replace("enqueue", "run");
        sandbox.call("run").arg(typed).run().exits(66).prints("").says(&call);
    }
    without_file.run("run ls").exits(66).says("a command needs none: runner run -- ls");
    without_file.run("enqueue ls").exits(66).says("a command needs none: runner enqueue -- ls");
}

#[test]
fn names_have_ascii_letters() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\n");
    for (line, status) in [("enqueue größe", 66), ("enqueue a --queue größe", 2), ("pause größe", 2)] {
        sandbox.run(line).exits(status).prints("").says("ASCII letters");
    }
    sandbox.run("enqueue tar").exits(66).says("runner enqueue -- CMD takes any command");
    sandbox.write("jobs.toml", "[jobs.\"größe\"]\ncommand = 'true'\n");
    sandbox.run("check").exits(65).says("ASCII letters");
}

#[test]
fn several_words_in_the_place_of_a_name_are_told_as_a_command() {
    let without_file = Sandbox::empty();
    let with_file = Sandbox::new("[jobs.echoes]\ncommand = 'true'\n");
    for sandbox in [&with_file, &without_file] {
        sandbox.run("enqueue ls hi").exits(66).says("runner enqueue -- ls hi");
        sandbox.run("run ls hi").exits(2).says("runner run -- ls hi");
        sandbox.run("run ls -l").exits(2).says("runner run -- ls -l");
        sandbox.run("enqueue ls -l").exits(2).says("`runner enqueue -- ls -l`");
    }
    // A name is still told as one.
    with_file.run("enqueue echos hi").exits(66).says("did you mean echoes?");
}

#[test]
fn options_of_other_programs_are_told_what_to_type() {
    let sandbox = Sandbox::empty();
    let mut told = String::new();
    for line in [
        "enqueue x --retries 3",
        "enqueue x --max-retries=3",
        "enqueue x --every 5m",
        "enqueue x --cron daily",
        "enqueue x --delay 5m",
        "enqueue x --depends-on 1",
        "enqueue x --after-ok 1",
        "enqueue x --group net",
        "enqueue x --user root",
        "enqueue x --detach",
        "enqueue x -d",
        "enqueue x -w /srv",
        "enqueue x -e A=b",
        "enqueue x --tag a",
        "enqueue x --follow",
        "enqueue x --nice 10",
        "enqueue x --unique",
        "enqueue x -j 4",
        "enqueue x --mnoth 3",
        "work -d",
        "work --daemon",
        "work --concurrency 4",
        "work -p 4",
        "work --burst",
        "inspect --all",
        "inspect -n 5",
        "inspect -f",
        "inspect --failed",
        "logs x --since 1h",
        "logs -u x",
        "cancel x --force",
        "cancel -9 1",
        "wait 1 --timeout 5s",
        "retry --failed",
        "prune --days 30",
        "pause --queue net",
        "atq",
        "atrm 1",
        "disable x",
        "list-timers",
        "trigger x",
        "upgrade",
    ] {
        let _ = writeln!(told, "{line}: {}", tips(sandbox.run(line)).trim_start_matches("tip: "));
    }
    insta::assert_snapshot!(told, @r#"
    enqueue x --retries 3: `--max-attempts 4` makes 3 retries: it counts the first attempt, too
    enqueue x --max-retries=3: `--max-attempts 4` makes 3 retries: it counts the first attempt, too
    enqueue x --every 5m: a schedule stands in the job file, schedule = "every 5m", and `runner apply` takes it over
    enqueue x --cron daily: a schedule stands in the job file, schedule = "every 5m", and `runner apply` takes it over
    enqueue x --delay 5m: `--in 10m` or `--at 18:00` says when
    enqueue x --depends-on 1: `--after ID` waits for the success of a job, `--after-any ID` for any end
    enqueue x --after-ok 1: `--after ID` waits for the success of a job, `--after-any ID` for any end
    enqueue x --group net: `--queue NAME` names its queue
    enqueue x --user root: a job runs as its worker's user; a `launcher` in the job file changes that
    enqueue x --detach: leave it out: the job is on disk at once, and a worker runs it in the background
    enqueue x -d: leave it out: the job is on disk at once, and a worker runs it in the background; a command goes after `--`, too: `runner enqueue -- x -d`
    enqueue x -w /srv: `--cwd DIR` names its folder; a command goes after `--`, too: `runner enqueue -- x -w /srv`
    enqueue x -e A=b: `--env K=V` sets a variable; a command goes after `--`, too: `runner enqueue -- x -e A=b`
    enqueue x --tag a: `--label TEXT` tells it from other jobs of its name
    enqueue x --follow: `--wait` waits for its end, and `runner logs -f ID` follows its output
    enqueue x --nice 10: write it before the command: `-- nice -n 10 COMMAND`; in a job file it is a `launcher`
    enqueue x --unique: `--unique-key K` is held by one unfinished job at a time
    enqueue x -j 4: `runner work -j N` runs N jobs at once; `runner limit QUEUE --max-running N` limits a queue; a command goes after `--`, too: `runner enqueue -- x -j 4`
    enqueue x --mnoth 3: arguments for the job go after `--`: `-- --mnoth`
    work -d: a worker stays in the foreground; a unit of systemd, or the line `* * * * * runner work --single -q` in a crontab, keeps one running
    work --daemon: a worker stays in the foreground; a unit of systemd, or the line `* * * * * runner work --single -q` in a crontab, keeps one running
    work --concurrency 4: `-j N` is the number of jobs at once
    work -p 4: `-j N` is the number of jobs at once
    work --burst: `--until-idle` ends when nothing is due or running
    inspect --all: `runner inspect jobs --limit 0` lists all jobs
    inspect -n 5: `--limit N` shows so many rows
    inspect -f: `--watch` shows what changes
    inspect --failed: `runner inspect jobs --state running` lists the jobs of a state
    logs x --since 1h: `runner inspect attempts --since 1h` lists the attempts of a time
    logs -u x: `runner logs NAME` prints what the newest job of that name wrote
    cancel x --force: a running job gets SIGTERM, and SIGKILL after its `grace_period`
    cancel -9 1: a running job gets SIGTERM, and SIGKILL after its `grace_period`
    wait 1 --timeout 5s: `--wait-timeout DUR` gives up after so long
    retry --failed: `runner retry --dead` puts all dead jobs back
    prune --days 30: `--older-than 30d` says how long finished jobs stay
    pause --queue net: `runner pause QUEUE` holds a queue, `--schedule NAME` a schedule
    atq: `runner inspect` shows what ran and what waits
    atrm 1: `runner cancel NAME` ends a job
    disable x: `runner pause --schedule NAME` holds a schedule, and `runner resume --schedule NAME` lets it go on
    list-timers: `runner inspect schedules` shows when each fires
    trigger x: `runner run NAME` runs a job here, `runner enqueue NAME` puts it on disk for a worker
    upgrade: the first command of a new version brings the database up to it
    "#);
}

#[test]
fn states_of_other_programs_are_told_as_they_are_called_here() {
    let sandbox = Sandbox::empty();
    sandbox.run("enqueue -q -c true").ok();
    for (word, meant) in [("queued", "pending"), ("failed", "dead or retrying"), ("completed", "succeeded")] {
        let ran = sandbox.run(&format!("inspect jobs --state {word}")).exits(2);
        ran.says(&format!("there is no state \"{word}\"; did you mean {meant}?"));
    }
    for (word, meant) in
        [("running", "jobs --state running"), ("queued", "jobs --state pending"), ("failed", "dead")]
    {
        let ran = sandbox.run(&format!("inspect {word}")).exits(66);
        ran.says(&format!("hint: did you mean runner inspect {meant}?\n"));
    }
    for (line, lists) in [
        ("inspect --state running", "jobs and attempts, as in runner inspect jobs --state running"),
        ("inspect jobs --sort p95", "stats"),
        ("inspect jobs --next 1h", "schedules"),
        ("inspect jobs --resolved", "dead"),
    ] {
        sandbox.run(line).exits(2).says(&format!("hint: it goes with {lists}\n"));
    }
}
