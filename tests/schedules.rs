//! Schedules: `runner apply`, the times that fire, and the times that were missed.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Sandbox, Signal, Value, json, wait_until};

const FILE: &str = r#"
[jobs.hourly]
command = "echo $RUNNER_JOB_ID $RUNNER_SCHEDULED_FOR >> log"
schedule = "every 1h"

[jobs.nightly]
command = "true"
schedule = "0 2 * * *"
timezone = "Europe/Berlin"

[jobs.plain]
command = "true"
"#;

/// A sandbox with the applied schedule `hourly`, which came `ms` ago for the first time.
fn due(ms: i64, keys: &str) -> Sandbox {
    let sandbox = Sandbox::new(&format!(
        "[jobs.hourly]\nschedule = 'every 1h'\ncommand = 'echo $RUNNER_SCHEDULED_FOR >> log'\n{keys}\n"
    ));
    sandbox.run("apply").ok();
    sandbox.make_due(ms);
    sandbox
}

fn names(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.run("inspect schedules --json").ok().each("name")
}

#[test]
fn apply_says_what_changes_and_changes_that() {
    let sandbox = Sandbox::new(FILE);
    sandbox.run("apply --dry-run").ok().shows("+ schedule hourly would be added, next ");
    assert!(!sandbox.db().exists());
    sandbox.run("apply --file other.toml").exits(66);
    let lines = |line: &str| sandbox.run(line).ok().json_lines();
    let line = |name: &str, change: &str| json!({ "kind": "schedule", "name": name, "change": change });
    assert_eq!(lines("apply --json"), [line("hourly", "added"), line("nightly", "added")]);
    assert_eq!(lines("apply --json"), [line("hourly", "unchanged"), line("nightly", "unchanged")]);
    let next = |name: &str| {
        sandbox.run(&format!("inspect schedules --json --name {name}")).ok().json()["next_at"].clone()
    };
    let (hourly, nightly) = (next("hourly"), next("nightly"));

    // A new definition keeps the phase; a new pace does not.
    sandbox.write("jobs.toml", FILE.replace("command", "timeout = '1m'\ncommand").replace("0 2", "0 3"));
    sandbox.run("inspect schedules").ok().shows("has changed since").shows(" next at ").shows(" last at ");
    assert_eq!(lines("apply --json --dry-run"), [line("hourly", "changed"), line("nightly", "changed")]);
    assert_eq!(lines("apply --json"), [line("hourly", "changed"), line("nightly", "changed")]);
    assert_eq!(next("hourly"), hourly);
    assert_ne!(next("nightly"), nightly);
    // Also of one that is listed alone, which has not changed because the others are left out.
    for line in ["inspect schedules", "inspect schedules --name hourly"] {
        assert!(!sandbox.run(line).ok().stdout.contains("changed since"), "{line}");
    }

    sandbox.write("jobs.toml", "[jobs.plain]\ncommand = 'true'\n");
    sandbox.run("apply").ok().shows("- schedule hourly removed").quietly();
    assert_eq!(names(&sandbox), [""; 0]);
}

#[test]
fn a_name_that_no_schedule_has_is_told() {
    let sandbox = Sandbox::new(FILE);
    sandbox.run("apply").ok();
    let ran = sandbox
        .run("inspect schedules --name hourli")
        .says("runner: no schedule has the name hourli; did you mean hourly?")
        .ok()
        .shows("no schedules\n");
    ran.says("no schedule has the name hourli; did you mean hourly?");
    sandbox
        .run("inspect schedules --name hourly --next 1s")
        .ok()
        .prints("no schedule fires in that time\n")
        .quietly();
    sandbox.run("inspect schedules --name other --json --fail-if-any").prints("").says("the name other").ok();
    sandbox.run("inspect schedules --name other -q").ok().quietly();
    sandbox.run("inspect stats --name hourli").says("no job has the name hourli; did you mean hourly?").ok();
}

#[test]
fn files_share_a_database_but_not_a_name() {
    let sandbox = Sandbox::new(FILE);
    sandbox.write("sub/jobs.toml", "[jobs.other]\ncommand = 'true'\nschedule = '@daily'\n");
    sandbox.write("sub/clash.toml", "[jobs.mine]\ncommand = 'true'\nschedule = '@daily'\n[jobs.hourly]\ncommand = 'true'\nschedule = '@daily'\n");
    sandbox.run("apply").ok();
    sandbox.run("apply sub/jobs.toml").ok();
    assert_eq!(names(&sandbox), ["hourly", "nightly", "other"]);
    sandbox
        .run("apply --file sub/clash.toml")
        .exits(65)
        .says("has applied a schedule of the name \"hourly\"");
    assert_eq!(names(&sandbox), ["hourly", "nightly", "other"]);
    // The same file by another path.
    std::os::unix::fs::symlink("jobs.toml", sandbox.path("link.toml")).unwrap();
    sandbox.run("apply --file link.toml").ok().shows("nothing changes");
}

#[test]
fn a_time_fires_once_whoever_looks() {
    let sandbox = due(20_000, "");
    let workers: Vec<_> = (0..4).map(|_| sandbox.worker("-j2")).collect();
    sandbox.until_logged(1);
    drop(workers);
    let jobs = sandbox.run("inspect jobs --json").ok().json_lines();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0]["run_at"], jobs[0]["scheduled_for"]);
    let schedule = sandbox.run("inspect schedules --json").ok().json();
    assert_eq!(
        (&schedule["last_job_id"], &schedule["last_fired_at"]),
        (&json!(1), &jobs[0]["scheduled_for"])
    );
    sandbox.run("doctor").ok();
}

#[test]
fn missed_times_run_as_the_job_says() {
    // Ten hours and a half: eleven times, of which the last is half an hour old.
    for (missed, jobs) in [("once", 1), ("all", 11), ("skip", 0)] {
        let sandbox = due(10 * 3_600_000 + 1_800_000, &format!("missed = '{missed}'"));
        sandbox.run("work -j1 --drain").ok();
        let log = sandbox.log();
        assert_eq!(log.len(), jobs, "{missed}: {log:?}");
        assert!(log.is_sorted(), "the oldest first: {log:?}");
        let again = sandbox.run("work --drain").ok();
        assert_eq!(sandbox.log(), log, "{again}");
    }
    // A minute late is in time, whatever came before it.
    let sandbox = due(10 * 3_600_000 + 50_000, "missed = 'skip'");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.log().len(), 1);
}

#[test]
fn a_time_is_skipped_while_the_unique_key_is_held() {
    let sandbox = due(3_600_000, "unique_key = 'k'\nmissed = 'all'");
    let told = sandbox.run("work --drain --log json").ok().json_lines();
    let events: Vec<_> = told
        .iter()
        .filter_map(|event| event["event"].as_str())
        .filter(|event| event.starts_with("schedule"))
        .collect();
    assert_eq!(events, ["schedule_fired", "schedule_skipped"]);
    let schedule = sandbox.run("inspect schedules --json").ok().json();
    assert_eq!((&schedule["skipped"], &schedule["last_job_id"]), (&json!(1), &json!(1)));
}

#[test]
fn a_queue_that_no_job_has_may_be_meant_as_a_schedule() {
    let sandbox = Sandbox::new(&format!("{FILE}[jobs.fetch]\ncommand = 'true'\nqueue = 'net'\n"));
    sandbox.run("apply").ok();
    for (line, said) in [
        ("resume nosuch", "no job is in queue nosuch\n"),
        ("pause nett", "no job is in queue nett; did you mean net?"),
    ] {
        sandbox.run(line).says(said).ok();
    }
    sandbox.run("pause net").ok().quietly();
    sandbox.run("pause other -q").ok().quietly();
    sandbox.run("pause --schedule nightly").ok().quietly();
    for verb in ["pause", "resume"] {
        let hint = format!("which is a schedule\nhint: runner {verb} --schedule hourly\n");
        sandbox.run(&format!("{verb} hourly")).exits(66).prints("").says(&hint);
        sandbox.run(&format!("{verb} hourly -q")).exits(66);
        let hint = format!("hint: net is a queue: runner {verb} net\n");
        sandbox.run(&format!("{verb} --schedule net")).exits(66).says(&hint);
    }
    let queues = sandbox.run("inspect queues --json").ok().each("name");
    assert!(!queues.contains(&json!("hourly")), "{queues:?}");
    sandbox.run("pause --schedule nigthly").exits(66).says("did you mean nightly?");
}

#[test]
fn a_schedule_of_another_file_is_taken_over_when_asked_or_when_that_file_is_gone() {
    let sandbox = Sandbox::new(FILE);
    sandbox.run("apply").ok();
    sandbox.run("pause --schedule hourly").ok();
    let rows = || {
        let rows = sandbox.run("inspect schedules --json").ok().json_lines();
        rows.into_iter().map(|row| (row["name"].clone(), row["next_at"].clone(), row["paused"].clone()))
    };
    let file = |name: &str| {
        let row = sandbox.run(&format!("inspect schedules --json --name {name}")).ok().json();
        row["file"].as_str().expect("a path").to_owned()
    };
    let before: Vec<_> = rows().collect();
    sandbox.write("new.toml", FILE.replace("command", "timeout = '1m'\ncommand"));
    sandbox.run("apply new.toml").exits(65).says("jobs.toml has applied").says(&format!(
        "hint: runner apply --file {} --take-over takes it over",
        sandbox.path("new.toml").display()
    ));
    sandbox.run("apply new.toml --take-over --dry-run").ok().shows("hourly would be taken over from ");
    assert!(file("hourly").ends_with("/jobs.toml"));
    let taken = format!("~ schedule hourly taken over from {}, next ", sandbox.path("jobs.toml").display());
    let ran = sandbox.run("apply new.toml --take-over").ok().shows(&taken);
    assert!(!ran.stderr.contains("gone"), "{ran}");
    assert!(rows().eq(before.clone()), "phase and pause stay");
    assert!(file("nightly").ends_with("/new.toml"));

    // The file is moved.
    std::fs::rename(sandbox.path("new.toml"), sandbox.path("moved.toml")).expect("it moves");
    let line = json!({ "kind": "schedule", "name": "hourly", "change": "changed" });
    let ran = sandbox.run("apply moved.toml --json").says("new.toml, which is gone: it is taken over").ok();
    assert_eq!(ran.json_lines()[0], line);
    assert!(rows().eq(before));
    assert!(file("hourly").ends_with("/moved.toml"));
}

#[test]
fn what_a_file_had_applied_can_be_removed_without_it() {
    let sandbox = Sandbox::empty();
    sandbox.run("apply --none --file sub/jobs.toml").exits(66).says("no database");
    let limits = "[queues.net]\nmax_running = 4\n";
    sandbox.write("sub/jobs.toml", format!("{limits}{FILE}"));
    sandbox.write("jobs.toml", "[jobs.other]\ncommand = 'true'\nschedule = '@daily'\n");
    sandbox.run("apply").ok();
    sandbox.run("apply sub/jobs.toml").ok();
    std::fs::remove_dir_all(sandbox.path("sub")).expect("it goes");
    sandbox.run("apply --none --file sub/jobs.toml --dry-run").ok().shows("hourly would be removed");
    let ran = sandbox.run("apply --none --file sub/jobs.toml").ok();
    ran.prints("- schedule hourly removed\n- schedule nightly removed\n- queue net removed: max_running 4\n");
    assert_eq!(names(&sandbox), ["other"]);
    let nothing = sandbox
        .run("apply --none --file sub/jobs.toml")
        .says("runner: nothing is applied from")
        .ok()
        .prints("");
    nothing.says("nothing is applied from ").says("; something is applied from ");
    sandbox.run("apply --none --take-over").exits(2);
    sandbox.run("apply --none -q").ok().prints("").quietly();
    assert_eq!(names(&sandbox), [""; 0]);
}

#[test]
fn a_chain_that_no_schedule_reaches_is_noted() {
    let sandbox = Sandbox::new(
        "[jobs.backup]\ncommand = 'true'\nschedule = '@daily'\nfresh_within = '26h'\n\
         [jobs.verify]\ncommand = 'true'\nafter = ['backup']\n\
         [jobs.ping]\ncommand = 'true'\nafter = ['verify']\n\
         [jobs.tidy]\ncommand = 'true'\nafter = ['sort']\n\
         [jobs.sort]\ncommand = 'true'\n",
    );
    let note = "runner: no schedule reaches ping: put the schedule on the last job of the chain\n";
    for line in ["check", "apply --dry-run"] {
        assert_eq!(
            sandbox
                .run(line)
                .says("runner: no schedule reaches ping: put the schedule on the last job of the chain")
                .ok()
                .stderr,
            note,
            "{line}"
        );
    }
    sandbox.run("check --json").says("{\"note\":\"no schedule reaches ping: ").ok();
    sandbox.run("apply").says(note).ok();
    sandbox.run("check -q").ok().quietly();
    let file = sandbox.read("jobs.toml").replace("schedule = '@daily'\nfresh_within = '26h'\n", "");
    sandbox.write("jobs.toml", file.replace("after = ['verify']", "after = ['verify']\nschedule = '@daily'"));
    sandbox.run("check").ok().quietly();
}

#[test]
fn times_that_pass_during_a_pause_are_gone() {
    let sandbox = due(10_000, "");
    sandbox.run("pause --schedule hourly").ok().prints("schedule hourly is paused\n");
    sandbox.run("work --until-idle").ok();
    sandbox
        .run("resume --schedule hourly --json")
        .ok()
        .prints("{\"schedule\":\"hourly\",\"paused\":false}\n");
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log(), [""; 0]);
    let next = sandbox.sql().number("SELECT next_at > 1000 * unixepoch() FROM schedules");
    assert_eq!(next, 1);
    sandbox.run("pause --schedule nothing").exits(66).says("no schedule nothing");
    sandbox.run("pause").exits(2);
}

/// Two times an hour apart, the later one and a half hours ago, and one that comes in as long: as `02:10` in UTC, and the hour.
struct TimesOfDay {
    minute: i64,
    hours: [i64; 3],
    /// The first, in ms.
    first: i64,
}

impl TimesOfDay {
    fn now(sandbox: &Sandbox) -> Self {
        let now = sandbox.sql().number("SELECT unixepoch() / 60");
        let hours = [now - 150, now - 90, now + 90].map(|time| time / 60 % 24);
        Self { minute: (now + 30) % 60, hours, first: (now - 150) * 60_000 }
    }

    /// The line of cron for those of the three that are asked for.
    fn line(&self, which: &[usize]) -> String {
        let hours: Vec<_> = which.iter().map(|one| self.hours[*one].to_string()).collect();
        format!("{} {} * * *", self.minute, hours.join(","))
    }

    fn clock(&self, which: usize) -> String {
        format!("{:02}:{:02}", self.hours[which], self.minute)
    }
}

const HOUR: i64 = 3_600_000;

#[test]
fn an_edit_of_the_times_keeps_a_missed_time_or_says_which_it_drops() {
    for (missed, kept, dropped, next, runs) in [
        ("once", &[2][..], &[1][..], None, 0),
        ("all", &[2], &[0, 1], None, 0),
        ("skip", &[2], &[], None, 0),
        ("once", &[1, 2], &[], Some(HOUR), 1),
        ("once", &[0, 2], &[1], Some(0), 1),
        ("all", &[1], &[0], Some(HOUR), 1),
        ("all", &[0, 1, 2], &[], Some(0), 2),
    ] {
        let sandbox = Sandbox::empty();
        let times = TimesOfDay::now(&sandbox);
        let file = |which: &[usize]| {
            let line = times.line(which);
            let text =
                format!("[jobs.nightly]\nschedule = '{line}'\ncommand = 'true'\nmissed = '{missed}'\n");
            sandbox.write("jobs.toml", text);
        };
        file(&[0, 1]);
        sandbox.run("apply").ok();
        sandbox.sql().run(&format!("UPDATE schedules SET next_at = {}", times.first));
        file(kept);
        let case = format!("{missed} {kept:?}");
        let said = |ran: &crate::support::Finished| {
            let clocks: Vec<_> = (0..2).filter(|which| ran.stderr.contains(&times.clock(*which))).collect();
            assert_eq!(clocks, dropped, "{case}: {ran}");
            assert_eq!(ran.stderr.contains("nightly: the run"), !dropped.is_empty(), "{case}: {ran}");
            let end = match dropped {
                [] => String::new(),
                [one] => format!("{} that was missed is dropped\n", times.clock(*one)),
                [.., last] => format!("{} that were missed are dropped\n", times.clock(*last)),
            };
            assert!(ran.stderr.contains(&end), "{case}: {ran}");
        };
        said(&sandbox.run("apply --dry-run").exits(0));
        sandbox.run("apply --dry-run -q").ok().quietly();
        let next_at = || sandbox.sql().number("SELECT next_at FROM schedules") - times.first;
        assert_eq!(next_at(), 0, "{case}");
        said(&sandbox.run("apply").exits(0));
        assert!(next.map_or(next_at() > 3 * HOUR, |next| next_at() == next), "{case}: {}", next_at());
        let again = sandbox.run("apply").ok().shows("nothing changes");
        assert!(!again.stderr.contains("missed"), "{case}: {again}");
        sandbox.run("work --until-idle").ok();
        assert_eq!(sandbox.count_jobs(), runs, "{case}");
        assert!(next_at() > 3 * HOUR, "{case}");
    }
}

#[test]
fn a_schedule_that_goes_with_runs_it_missed_says_so() {
    let late = 10 * HOUR + 1_800_000;
    let note = "{\"note\":\"hourly: the runs of ";
    let file = |name: &str, times: &str| format!("[jobs.{name}]\ncommand = 'true'\nschedule = '{times}'\n");
    for edit in
        [file("hourly", "every 2h"), file("hourly", "@reboot"), file("each", "every 1h"), String::new()]
    {
        let sandbox = due(late, "missed = 'all'");
        sandbox.write("jobs.toml", edit);
        let ran = sandbox.run("apply --json").says(note).ok();
        ran.says(" and 9 more that were missed are dropped\"}\n");
    }
    let sandbox = due(late, "");
    sandbox.run("apply --none --dry-run").says("hourly: the run of ").ok();
    sandbox.write("other.toml", file("hourly", "@weekly"));
    sandbox.run("apply other.toml --take-over --dry-run").says("hourly: the run of ").ok();
    // Under a pause of everything they are missed, too; those that pass under one of its own are gone.
    sandbox.run("pause --all").ok();
    sandbox.run("apply --none --dry-run").says("hourly: the run of ").ok();
    sandbox.run("pause --schedule hourly").ok();
    sandbox.make_due(late);
    let ran = sandbox.run("apply --none").ok().prints("- schedule hourly removed\n");
    assert!(!ran.stderr.contains("missed"), "{ran}");
}

#[test]
fn a_schedule_that_lost_its_next_time_gets_one_from_apply() {
    let sandbox = due(0, "");
    sandbox.sql().run("UPDATE schedules SET next_at = NULL");
    sandbox.run("doctor").exits(1).shows("a schedule is past its last time, and has a next one");
    sandbox.run("apply").ok().shows("~ schedule hourly changed, next ");
    sandbox.run("doctor").ok();
}

#[test]
fn a_worker_sleeps_until_the_next_time_and_hears_of_new_ones() {
    let sandbox =
        Sandbox::new("[jobs.often]\ncommand = 'echo $RUNNER_JOB_ID >> log'\nschedule = 'every 1s'\n");
    sandbox.add("often");
    let mut worker = sandbox.worker("-j1 --queue elsewhere --queue default");
    sandbox.run("apply").ok();
    sandbox.until_logged(3);
    worker.ask_to_stop(Signal::TERM);
    worker.wait().ok();
    // The frozen definition goes on without the file.
    std::fs::remove_file(sandbox.path("jobs.toml")).unwrap();
    let before = sandbox.log().len();
    let _worker = sandbox.worker("-j1");
    wait_until("it fires again", || sandbox.log().len() > before);
    sandbox.run("inspect schedules").ok().shows("jobs.toml cannot be used now");
}

#[test]
fn an_edit_of_missed_says_which_times_it_drops() {
    for (before, after, dropped) in
        [("all", "skip", 2), ("once", "skip", 1), ("all", "once", 1), ("once", "all", 0), ("skip", "all", 0)]
    {
        let sandbox = Sandbox::empty();
        let times = TimesOfDay::now(&sandbox);
        let file = |missed: &str| {
            let line = times.line(&[0, 1]);
            let text =
                format!("[jobs.nightly]\nschedule = '{line}'\ncommand = 'true'\nmissed = '{missed}'\n");
            sandbox.write("jobs.toml", text);
        };
        file(before);
        sandbox.run("apply").ok();
        sandbox.sql().run(&format!("UPDATE schedules SET next_at = {}", times.first));
        file(after);
        let ran = sandbox.run("apply").exits(0);
        let clocks = (0..2).filter(|which| ran.stderr.contains(&times.clock(*which))).count();
        assert_eq!(clocks, dropped, "{before} {after}: {ran}");
        assert_eq!(ran.stderr.contains("missed"), dropped > 0, "{before} {after}: {ran}");
    }
}

#[test]
fn the_time_is_told_by_the_clocks_of_its_zone() {
    let sandbox = Sandbox::new(&FILE.replace("every 1h\"", "0 2 * * *\"\ntimezone = 'Asia/Kolkata'"));
    sandbox.run("apply").ok();
    sandbox.sql().run("DELETE FROM schedules WHERE name = 'nightly'");
    sandbox.sql().run("UPDATE schedules SET next_at = 1795293000000");
    sandbox.run("work --drain").ok();
    let log = sandbox.log();
    assert!(log[0].ends_with("T02:00:00+05:30"), "{log:?}");
}

#[test]
fn check_shows_the_next_times_and_what_is_not_applied() {
    let sandbox = Sandbox::new(FILE);
    sandbox.run("check").ok().shows("0 2 * * * Europe/Berlin, missed times run: once");
    assert!(!sandbox.db().exists());
    sandbox.run("apply").ok();
    assert!(!sandbox.run("check").ok().stdout.contains("changed since"));
    sandbox.write("jobs.toml", FILE.replace("every 1h", "every 2h"));
    sandbox.run("check").ok().shows("changed since it was applied: hourly; runner apply");
}

#[test]
fn a_day_that_begins_with_a_star_does_not_count_as_given() {
    let sandbox = Sandbox::new(
        "[jobs.first-sunday]\ncommand = 'true'\nschedule = '0 9 1-7 * */7'\ntimezone = 'UTC'\n\
         [jobs.both]\ncommand = 'true'\nschedule = '*,5 9 * * *'\n",
    );
    sandbox.run("apply").ok();
    let is_first_sunday = "strftime('%w %H:%M', next_at / 1000, 'unixepoch') = '0 09:00'
                           AND strftime('%d', next_at / 1000, 'unixepoch') <= '07'";
    let sql = format!("SELECT {is_first_sunday} FROM schedules WHERE name = 'first-sunday'");
    assert_eq!(sandbox.sql().number(&sql), 1);
}

#[test]
fn mistakes_in_a_schedule_are_told_with_their_line() {
    let sandbox = Sandbox::new(
        "[jobs.a]\ncommand = 'true'\nschedule = '0 0 30 2 *'\nmissed = 'twice'\n[jobs.b]\ncommand = 'true'\ntimezone = 'Europe/Berlyn'\n",
    );
    let told = sandbox.run("apply").exits(65).stderr;
    for mistake in [
        "\"0 0 30 2 *\" never comes",
        "jobs.toml:3:12",
        "`missed` must be one of once, all, skip, not \"twice\"",
        "\"Europe/Berlyn\" is not a time zone",
        "`timezone` has no effect without `schedule`",
        "4 mistakes",
    ] {
        assert!(told.contains(mistake), "{mistake}: {told}");
    }
    assert!(!sandbox.db().exists());
}

#[test]
fn a_schedule_that_has_not_fired_yet_says_when_and_a_late_one_is_overdue() {
    let sandbox = due(3_600_000, "");
    sandbox.run("inspect schedules").ok().shows("overdue 1h");
    let why = "there is no job named hourly yet: its schedule (every 1h) fires first at ";
    let late = sandbox.run("inspect hourly").exits(66).prints("").says(why);
    late.says("(overdue 1h")
        .says("hint: no worker is running; runner work starts one, runner service install one for good\n");
    sandbox.make_due(-7_210_000);
    sandbox.run("inspect hourly").exits(66).says("(in 2h");
    sandbox.run("pause --schedule hourly").ok();
    let paused = sandbox.run("inspect hourly").exits(66).says("its schedule (every 1h) is paused\n");
    paused.says("hint: runner resume --schedule hourly lets it go on\n");
    sandbox.run("inspect schedules").ok().shows("paused");
    sandbox.run("inspect other").exits(66);
    sandbox.add("hourly");
    sandbox.run("inspect hourly").ok().shows("job 1 hourly: ready");
}

#[test]
fn a_stopping_worker_leaves_the_times_that_come_to_others() {
    for (options, stops) in [("-j2", true), ("-j2 --max-jobs 1", false)] {
        let sandbox = Sandbox::new(
            "[jobs.hourly]\nschedule = 'every 1h'\ncommand = 'echo hourly >> log'\nmissed = 'skip'\n\
             [jobs.gated]\ncommand = 'echo start >> log; until [ -e go ] || [ ! -e jobs.toml ]; do sleep 0.02; done'\n",
        );
        sandbox.run("apply").ok();
        sandbox.add("gated");
        let mut worker = sandbox.worker(options);
        sandbox.until_logged(1);
        if stops {
            worker.ask_to_stop(Signal::TERM);
        }
        sandbox.make_due(1_000);
        // The turn that records the end of the job would fire what is due, too.
        sandbox.write("go", "");
        worker.wait().ok();
        assert_eq!((sandbox.count_jobs(), sandbox.log().len()), (1, 1), "{options}");
        sandbox.run("work --until-idle").ok();
        assert_eq!(sandbox.log(), ["start", "hourly"], "the next worker is not too late");
    }
}

#[test]
fn a_schedule_that_holds_the_job_of_another_name_is_damage() {
    let sandbox = due(1_000, "");
    sandbox.sql().run("UPDATE schedules SET name = 'other'");
    let said = "the schedule other holds the job";
    for line in ["work --until-idle", "inspect schedules", "apply", "pause --schedule other"] {
        sandbox.run(line).exits(74).says(said);
    }
    assert_eq!(sandbox.count_jobs(), 0, "it fires nothing, and does so once");
    let ran = sandbox.run("doctor");
    assert!(!ran.ended_well() && format!("{ran}").contains(said), "{ran}");
    sandbox.run("--db new.db restore runner.db").exits(74).says(said);
    sandbox.sql().run("UPDATE schedules SET name = 'hourly'");
    sandbox.run("work --until-idle").ok();
    sandbox.run("doctor").ok();
}

#[test]
fn a_next_time_that_a_wrong_clock_set_is_brought_nearer_and_told() {
    let sandbox = Sandbox::new(
        "[jobs.nightly]\nschedule = '10 2 * * *'\ncommand = 'true'\nfresh_within = '26h'\n\
         [jobs.hourly]\nschedule = 'every 1h'\ncommand = 'true'\n[jobs.yearly]\nschedule = '@yearly'\ncommand = 'true'\n",
    );
    sandbox.run("apply").ok();
    let times = || {
        let sql = "SELECT name || ' ' || next_at FROM schedules ORDER BY name";
        sandbox.sql().all(sql, |row| row.get::<_, String>(0))
    };
    let before = times();
    // They fired once ten years ahead, within a minute in which the clock was wrong. Ten years are a whole number of hours.
    sandbox.sql().run(
        "UPDATE schedules SET next_at = next_at + 315576000000, last_fired_at = next_at + 315576000000 - 3600000,
                              last_job_id = 1, last_success_at = next_at + 315576000000, applied_at = applied_at - 864000000
         WHERE name <> 'yearly'",
    );
    sandbox.run("inspect").ok().shows(", by a clock that was ahead, and should at least");
    sandbox.run("doctor").ok();
    let worker = sandbox.worker("-j1");
    worker.until_it_says("schedule hourly comes next at ");
    worker.until_it_says("schedule nightly comes next at ");
    assert!(!worker.stderr().contains("yearly"), "{}", worker.stderr());
    drop(worker);
    assert_eq!(times(), before);
    sandbox.run("doctor").ok();
    let said = sandbox.run("work --until-idle").ok().stderr;
    assert!(!said.contains("comes next at"), "{said}");

    // A small step back changes nothing: the time that has been must not come again.
    sandbox.sql().run(
        "UPDATE schedules SET next_at = next_at + 86400000, last_fired_at = next_at, last_job_id = 1 WHERE name = 'nightly'",
    );
    let before = times();
    sandbox.run("work --until-idle").ok();
    assert_eq!(times(), before);
}

#[test]
fn defaults_hold_the_zone_and_what_becomes_of_missed_times() {
    let sandbox = Sandbox::new(
        "[defaults]\ntimezone = 'Asia/Tokyo'\nmissed = 'all'\n
         [jobs.a]\ncommand = 'true'\nschedule = '0 2 * * *'\n
         [jobs.b]\ncommand = 'true'\nschedule = '0 2 * * *'\ntimezone = 'UTC'\nmissed = 'skip'\n
         [jobs.c]\ncommand = 'true'\nschedule = '@reboot'\n
         [jobs.d]\ncommand = 'true'\n",
    );
    sandbox.run("check").ok().quietly();
    sandbox.run("apply").ok();
    let found = sandbox.run("inspect schedules --json").ok().stdout;
    let found = found.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let found: Vec<_> =
        found.map(|row| format!("{} {} {}", row["name"], row["timezone"], row["missed"])).collect();
    assert_eq!(found, [r#""a" "Asia/Tokyo" "all""#, r#""b" "UTC" "skip""#, r#""c" null "once""#],);
    sandbox.write("jobs.toml", "[defaults]\ntimezone = 'Mars/Phobos'\n[jobs.d]\ncommand = 'true'\n");
    sandbox.run("check").exits(65).says("Mars/Phobos").says("jobs.toml:2:12");
}

#[test]
fn the_times_to_come_are_listed_in_their_order() {
    let sandbox = Sandbox::new(
        "[jobs.often]\ncommand = 'true'\nschedule = 'every 10m'\n
         [jobs.nightly]\ncommand = 'true'\nschedule = '0 2 * * *'\ntimezone = 'UTC'\n
         [jobs.held]\ncommand = 'true'\nschedule = 'every 5m'\n
         [jobs.boot]\ncommand = 'true'\nschedule = '@reboot'\n",
    );
    sandbox.run("apply").ok();
    sandbox.run("pause --schedule held").ok();
    let listed = |call: &str| {
        let listed = sandbox.run(&format!("inspect schedules --json --next {call}")).ok().stdout;
        let rows = listed.lines().map(|line| serde_json::from_str(line).unwrap());
        rows.collect::<Vec<serde_json::Value>>()
    };
    let hour = listed("1h --name often");
    assert!((5..=6).contains(&hour.len()), "{hour:?}");
    let day = listed("24h");
    let nightly: Vec<_> = day.iter().filter(|row| row["name"] == "nightly").collect();
    assert_eq!(nightly.len(), 1, "{day:?}");
    assert!(nightly[0]["at"].as_str().unwrap().ends_with("T02:00:00.000Z"), "{nightly:?}");
    assert!(day.iter().all(|row| row["name"] == "nightly" || row["name"] == "often"));
    let times: Vec<_> = day.iter().map(|row| row["at"].as_str().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let screen = sandbox.run("inspect schedules --next 2d --limit 3").ok();
    screen.shows("often").shows("the next 3; --limit 0 shows all");
    sandbox.run("inspect schedules --next 1s").ok().prints("no schedule fires in that time\n");
    sandbox.run("inspect jobs --next 1h").exits(2);
}

#[test]
fn a_link_that_was_turned_to_the_next_release_makes_no_change_of_the_former_one() {
    let sandbox = Sandbox::empty();
    for release in ["1", "2"] {
        fs::create_dir(sandbox.path(release)).expect("a folder");
        sandbox
            .write(&format!("{release}/jobs.toml"), "[jobs.a]\ncommand = 'true'\nschedule = '0 2 * * *'\n");
    }
    symlink("1", sandbox.path("current")).expect("a link");
    sandbox.run("apply --file current/jobs.toml").exits(0);
    fs::remove_file(sandbox.path("current")).expect("it is there");
    symlink("2", sandbox.path("current")).expect("a link");
    assert_eq!(sandbox.run("inspect --json").ok().json()["attention"], json!([]));
}

#[test]
fn a_file_behind_a_link_is_the_same_file_until_it_is_edited() {
    let sandbox = Sandbox::empty();
    let text = "[jobs.backup]\ncommand = 'pwd; exit 1'\nschedule = '0 2 * * *'\nenv_file = '-own.env'\nmax_attempts = 1\n\
                [jobs.below]\ncommand = 'true'\ncwd = 'sub'\nschedule = '0 3 * * *'\n";
    sandbox.write("dotfiles/tasks.toml", text);
    for folder in ["config", "real/sub"] {
        fs::create_dir_all(sandbox.path(folder)).expect("a folder");
    }
    symlink("../dotfiles/tasks.toml", sandbox.path("config/jobs.toml")).expect("a link");
    symlink("real", sandbox.path("linked")).expect("a link");
    for (file, folder) in [("config/jobs.toml", "config"), ("linked/jobs.toml", "linked")] {
        sandbox.write("real/jobs.toml", text);
        sandbox.run(&format!("apply --take-over --file {file}")).exits(0);
        assert_eq!(sandbox.run("inspect --json").ok().json()["attention"], json!([]), "{file}");
        sandbox.run("inspect schedules").ok().quietly();
        // The command that is proposed after an edit leaves the jobs where they are.
        let path = sandbox.path(file).to_string_lossy().into_owned();
        fs::write(&path, text.replace("0 2", "0 4")).expect("a job file");
        let told = sandbox.run("inspect --json").ok().json()["attention"][0]["command"].clone();
        assert!(
            told.as_str().is_some_and(|command| command.ends_with(&format!("apply --file {path}"))),
            "{told}"
        );
        sandbox.run(&format!("apply --file {path}")).exits(0);
        assert_eq!(sandbox.run("inspect --json").ok().json()["attention"], json!([]), "{file}");

        let ran = sandbox.run(&format!("run --file {file} --json backup")).exits(1);
        let replaced = sandbox.run(&format!("retry {} --redefine", ran.json()["id"])).exits(0).ids()[0];
        assert_eq!(sandbox.job(replaced)["cwd"], sandbox.path(folder).to_string_lossy().as_ref());
        sandbox.run(&format!("cancel {replaced}")).exits(0);
    }
}
