//! What was meant by a command line that is none: the tips of its error.

use crate::support::{Finished, Sandbox};

/// The tips and hints that it gives.
#[track_caller]
fn tips(ran: Finished) -> String {
    let ran = ran.exits(2).prints("");
    let tips = ran.stderr.lines().filter(|line| line.starts_with("  tip: ") || line.starts_with("hint: "));
    tips.map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn verbs_of_other_programs_by_what_they_mean() {
    let sandbox = Sandbox::empty();
    let mut all = String::new();
    for (verbs, means) in [
        ("start daemon serve", "`runner work`"),
        ("run", "`runner work`"),
        ("run", "`runner enqueue -- CMD`"),
        ("add push submit queue new", "`runner enqueue NAME`"),
        ("list ls ps status top show stat", "`runner inspect`"),
        ("kill stop abort", "`runner cancel ID`"),
        ("rm remove delete clean gc", "`runner prune --older-than 30d`"),
        ("output log", "`runner logs ID`"),
        ("tail", "`runner logs -f ID`"),
        ("replay requeue restart rerun", "`runner retry ID`"),
        ("validate lint", "`runner check`"),
        ("unpause continue", "`runner resume QUEUE`"),
        ("why", "`runner explain ID`"),
    ] {
        for verb in verbs.split(' ') {
            for line in [format!("{verb} x"), format!("--quiet {verb}"), format!("help {verb}")] {
                let tips = tips(sandbox.run(&line));
                assert!(tips.contains(means) && !tips.contains("similar"), "{line}: {tips}");
                all.push_str(&tips);
            }
        }
    }
    // What is told of is there.
    for verb in all.split("`runner ").skip(1).filter_map(|rest| rest.split([' ', '`']).next()) {
        sandbox.run(&format!("{verb} --help")).ok();
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
fn options_of_other_programs_by_what_they_mean() {
    let sandbox = Sandbox::empty();
    let said = |line| tips(sandbox.run(line));
    let runs = "tip: write `--max-attempts 4`: it counts every run, the first included";
    assert_eq!(said("enqueue --retries 3 -- true"), runs);
    assert_eq!(said("enqueue report --max-retries=3"), runs);
    assert_eq!(said("enqueue x --delay 5m"), "tip: write `--in 5m`; `--at TIME` is for a time of the day");
    let cron = "tip: there are no schedules here: let cron run `runner enqueue`; the README shows the line";
    assert_eq!(said("enqueue x --cron 1"), cron);
    // What another system's key would be called in the job file, where that is an option too.
    assert_eq!(said("enqueue x --ttl=2h"), "tip: write `--expires-in 2h`");
    assert_eq!(said("enqueue x --retry-delay 5s"), "tip: write `--backoff 5s`");
    assert_eq!(said("enqueue --cmd 'echo x'"), "tip: write `-c 'LINE'`, or `-- CMD ARG...`");
    assert!(!said("enqueue x --description y").contains("write"));
    assert_eq!(said("work --concurrency 3"), "tip: write `-j 3`");
}

#[test]
fn the_name_of_a_job_where_its_id_is_wanted() {
    let sandbox = Sandbox::empty();
    for name in ["report", "report", "other", "logs", "a.b"] {
        sandbox.run(&format!("enqueue --name {name} -- true")).ok();
    }
    let said = |line| tips(sandbox.run(line));
    insta::assert_snapshot!(
        ["logs report", "logs report -n 20", "logs report.1", "wait other", "cancel 5 report", "retry report --force",
         "explain report", "inspect report", "inspect report.2", "inspect a.b", "logs logs"]
            .map(said).join("\n"),
        @"
    tip: the newest job named report is 2: `runner logs 2`
    tip: the newest job named report is 2: `runner logs 2 -n 20`
    tip: the newest job named report is 2: `runner logs 2.1`
    tip: the newest job named other is 3: `runner wait 3`
    tip: the newest job named report is 2: `runner cancel 5 2`
    tip: the newest job named report is 2: `runner retry 2 --force`
    hint: the newest job named report is 2: `runner explain 2`
    hint: the newest job named report is 2: `runner inspect 2`
    hint: the newest job named report is 2: `runner inspect 2.2`
    hint: the newest job named a.b is 5: `runner inspect 5`
    tip: the newest job named logs is 4: `runner logs 4`
    "
    );
    assert_eq!(said("cancel nobody"), "");
    // The database that is named is the one that is looked into.
    let db = sandbox.db().display().to_string();
    for line in [format!("logs other --db {db}"), format!("--db={db} logs other")] {
        let ran = sandbox.call(&line).env("RUNNER_DB", sandbox.path("none.db")).run();
        assert!(tips(ran).contains("is 3"), "{line}");
    }
    assert!(!sandbox.path("none.db").exists());
}

#[test]
fn without_a_database_a_name_is_no_more_than_no_id() {
    let sandbox = Sandbox::empty();
    assert_eq!(tips(sandbox.run("logs report")), "");
    assert!(!sandbox.db().exists());
}
