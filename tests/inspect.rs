//! `runner inspect`: lists, filters and limits.

use crate::support::{Sandbox, Value, assert_screen, json};

const JOBS: &str = r#"
[jobs.good]
command = "true"
[jobs.bad]
command = "exit 3"
max_attempts = 1
queue = "net"
[jobs.again]
command = "exit 4"
backoff = "1h"
"#;

/// Jobs 1 good, 2 bad, 3 again and 4 good scheduled, 5 good cancelled, all but 4 worked on.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue good bad again").ok();
    sandbox.add("good --in 1h");
    sandbox.add("good");
    sandbox.run("cancel 5").ok();
    sandbox.run("work -j1 --until-idle").exits(1);
    sandbox
}

#[track_caller]
fn ids(sandbox: &Sandbox, line: &str) -> Vec<Value> {
    sandbox.run(&format!("inspect {line} --json")).exits(0).each("id")
}

#[test]
fn jobs_and_dead_letters_by_each_filter_newest_first() {
    let sandbox = sandbox();
    for (filter, expected) in [
        ("jobs", [5, 4, 3, 2, 1].as_slice()),
        ("jobs --state pending", &[4, 3]),
        ("jobs --state scheduled", &[4]),
        ("jobs --state retrying", &[3]),
        ("jobs --state ready", &[]),
        ("jobs --state running", &[]),
        ("jobs --state succeeded", &[1]),
        ("jobs --state dead", &[2]),
        ("jobs --state cancelled", &[5]),
        ("jobs --state dead --state cancelled", &[5, 2]),
        ("jobs --name good", &[5, 4, 1]),
        ("jobs --queue net", &[2]),
        ("jobs --error-code EXIT_3", &[2]),
        ("jobs --name good --state succeeded", &[1]),
        ("jobs --name nobody", &[]),
        ("jobs --since 1h", &[5, 4, 3, 2, 1]),
        ("jobs --since 2001-01-01T00:00:00Z", &[5, 4, 3, 2, 1]),
        ("jobs --since 2099-01-01T00:00:00Z", &[]),
        ("jobs --until 1h", &[]),
        ("jobs --until 2099-01-01T00:00:00Z", &[5, 4, 3, 2, 1]),
        ("jobs --since 1h --until 2099-01-01T00:00:00Z --state dead", &[2]),
        ("jobs --limit 2", &[5, 4]),
        ("jobs --limit 0", &[5, 4, 3, 2, 1]),
        ("dead", &[2]),
        ("dead --name good", &[]),
        ("dead --until 1h", &[]),
        ("dead --until 2099-01-01T00:00:00Z", &[2]),
        ("dead --queue net --error-code EXIT_3", &[2]),
    ] {
        assert_eq!(ids(&sandbox, filter), expected, "{filter}");
    }
    sandbox.run("inspect jobs --state zombie").exits(2).says("scheduled");
    Sandbox::new("").run("inspect jobs --state zombie").exits(2).says("scheduled");
    sandbox.run("inspect jobs --since sometime").exits(2).says("today or yesterday");
    sandbox.run("inspect jobs --since 2026-02-30").exits(2);
    sandbox.run("inspect jobs --since 1h --until 2h").exits(2).says("nothing lies between");
}

#[test]
fn a_period_takes_the_moment_of_its_start_and_leaves_that_of_its_end() {
    let sandbox = sandbox();
    sandbox.sql().run(
        "DROP TRIGGER attempts_are_immutable;
         UPDATE jobs SET changed_at = 1000000 + id * 1000; UPDATE attempts SET finished_at = 1000000 + job_id * 1000",
    );
    let period = "--since 1970-01-01T00:16:41Z --until 1970-01-01T00:16:43Z";
    for (list, id, expected) in
        [("jobs", "id", [2, 1].as_slice()), ("dead", "id", &[2]), ("attempts", "job_id", &[2, 1])]
    {
        let ids = sandbox.run(&format!("inspect {list} {period} --json")).ok().each(id);
        assert_eq!(ids, expected, "{list}");
    }
    let mut names = sandbox.run(&format!("inspect stats {period} --json")).ok().each("name");
    names.sort_by_key(Value::to_string);
    assert_eq!(names, ["bad", "good"]);
}

#[test]
fn an_unknown_state_leads_to_near_ones() {
    let sandbox = sandbox();
    for (line, said) in [
        ("jobs --state done", "there is no state \"done\"; did you mean succeeded?\n"),
        ("jobs --state runing", "did you mean running or"),
        ("attempts --state faild", "attempts have no outcome \"faild\"; did you mean failed?"),
    ] {
        sandbox.run(&format!("inspect {line}")).exits(2).says(said);
    }
}

#[test]
fn since_takes_a_day_on_the_clock_of_the_place() {
    let sandbox = Sandbox::empty();
    sandbox.run("enqueue -- true").ok();
    // Hours from the start of today to the change, where it is 14 hours later than in UTC.
    let since = |hours: &str, when: &str| {
        let sql = format!(
            "DROP TRIGGER IF EXISTS jobs_keep_what_they_are; UPDATE jobs SET changed_at =
             ((strftime('%s', 'now') + 14 * 3600) / 86400 * 86400 - 14 * 3600 + {hours} * 3600) * 1000"
        );
        sandbox.sql().run(&sql);
        let call = sandbox.call("inspect jobs --json --since").arg(when).env("TZ", "XXX-14");
        call.run().ok().json_lines().len() == 1
    };
    let day = |days: &str| {
        let sql = format!("SELECT date('now', '+14 hours', '{days} days')");
        sandbox.sql().text(&sql)
    };
    for (when, first) in [("today", "0"), ("yesterday", "-24"), (&day("0"), "0"), (&day("-3"), "-72")] {
        assert!(since(&format!("({first} + 0.001)"), when), "{when}");
        assert!(!since(&format!("({first} - 0.001)"), when), "{when}");
    }
}

#[test]
fn a_screen_shows_the_newest_fifty_unless_it_is_asked_for_more() {
    let sandbox = Sandbox::empty();
    // Equal ones would share a row.
    let line = |at: usize| format!("{{\"command\":\"true\",\"label\":\"{at}\"}}\n");
    let batch = (0..60).map(line).collect::<Vec<_>>().concat();
    sandbox.call("enqueue -q --batch -").stdin(batch).run().ok();
    assert_eq!(ids(&sandbox, "jobs").len(), 60, "all as JSON");
    for (line, expected) in [("inspect jobs", 50), ("inspect jobs --limit 0", 60)] {
        let screen = sandbox.run(line).ok();
        assert_eq!(
            screen.stdout.lines().filter(|line| line.contains(" true ")).count(),
            expected,
            "{screen}"
        );
    }
}

#[test]
fn attempts_are_listed_newest_first_without_their_output() {
    let sandbox = sandbox();
    assert!(sandbox.run("inspect attempts --json").ok().each("stdout").iter().all(Value::is_null));
    let of = |filter: &str| sandbox.run(&format!("inspect attempts --json {filter}")).ok().each("job_id");
    assert_eq!(of(""), [3, 2, 1]);
    assert_eq!(of("--name bad"), [2]);
    assert_eq!(of("--error-code EXIT_4"), [3]);
    assert_eq!(of("--queue net"), [2]);
    assert_eq!(of("--limit 1"), [3]);
    assert_eq!(of("--state succeeded"), [1]);
}

#[test]
fn fail_if_any_is_for_monitoring() {
    let sandbox = sandbox();
    sandbox.run("inspect dead --fail-if-any").exits(1);
    sandbox
        .run("inspect dead --fail-if-any --error-code EXIT_9")
        .says("runner: nothing has ended with the code EXIT_")
        .ok();
    sandbox.run("inspect dead --fail-if-any --since 2099-01-01T00:00:00Z").ok();
    sandbox.run("inspect jobs --state running --fail-if-any --json").ok().prints("");
    sandbox.run("inspect jobs --state cancelled --fail-if-any").exits(1);
    sandbox.run("inspect attempts --fail-if-any --name bad").exits(1);
    sandbox.run("inspect workers --fail-if-any").ok();
    sandbox.run("inspect jobs --state running -q").ok().prints("");
    sandbox.run("inspect dead --error-code EXIT_9 --fail-if-any -q").ok().prints("");
    sandbox.run("inspect dead --fail-if-any -q").exits(1).shows("EXIT_");
}

#[test]
fn a_job_tells_its_history_oldest_first() {
    let sandbox = sandbox();
    assert_eq!(sandbox.attempts(3).len(), 1);
    assert_eq!(sandbox.run("inspect jobs --json --limit 1").ok().json()["history"], json!(null));
    let job = sandbox.job(1);
    assert_ne!(job["started_at"], json!(null));
    assert_ne!(job["finished_at"], json!(null));
    assert_eq!(sandbox.job(3)["finished_at"], json!(null));
}

#[test]
fn a_running_attempt_has_no_outcome_yet() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("", "echo start >> log; exec sleep 20");
    let _worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    let job = sandbox.job(1);
    assert_eq!((&job["state"], &job["attempts"]), (&json!("running"), &json!(0)));
    assert!(job["worker_id"].is_string(), "{job}");
    sandbox.run("inspect jobs").ok().shows("running   1/1");
    sandbox.run("inspect 1").ok().shows("attempt 1 of 1").shows("next  runner logs 1 -f   runner cancel 1\n");
    let attempt = sandbox.attempt(1, 1);
    assert_eq!((&attempt["outcome"], &attempt["worker_id"]), (&json!(null), &job["worker_id"]));
    let workers = sandbox.run("inspect workers --json").ok().json();
    assert_eq!(
        (&workers["running"], &workers["alive"], &workers["slots"]),
        (&json!(1), &json!(true), &json!(1))
    );
    let overview = sandbox.run("inspect --json").ok().json();
    assert_eq!(
        (&overview["counts"]["running"], &overview["workers"][0]["id"]),
        (&json!(1), &job["worker_id"])
    );
}

#[test]
fn the_overview_counts() {
    let overview = sandbox().run("inspect --json").ok().json();
    let expected = json!({"ready": 0, "scheduled": 1, "retrying": 1, "blocked": 0, "running": 0, "succeeded": 1, "dead": 1, "resolved": 0, "cancelled": 1});
    assert_eq!(overview["counts"], expected);
    assert_eq!(overview["dead_by_error_code"], json!({"EXIT_3": 1}));
    assert_ne!(overview["next_run_at"], json!(null));
    assert_eq!(overview["oldest_due_at"], json!(null));
}

#[test]
fn unknown_jobs_and_attempts_are_not_found() {
    let sandbox = sandbox();
    sandbox.run("inspect 9").exits(66).prints("").says("9");
    sandbox.run("inspect 1.2").exits(66);
    sandbox.run("inspect 4.1").exits(66);
    for line in [
        "no/thing",
        "0",
        "--state dead",
        "jobs --resolved",
        "1 --name x",
        "workers --queue net",
        "--limit 3",
        "--until 1h",
        "1 --until 1h",
        "queues --until 1h",
    ] {
        sandbox.run(&format!("inspect {line}")).exits(2);
    }
}

#[test]
fn without_a_database_nothing_is_there_and_none_is_made() {
    let sandbox = Sandbox::empty();
    sandbox.run("inspect").ok();
    let overview = sandbox.run("inspect --json").ok().json();
    assert_eq!((&overview["counts"]["ready"], &overview["queues"]), (&json!(0), &json!([])));
    sandbox.run("inspect jobs").ok();
    sandbox.run("inspect jobs --json").ok().prints("");
    sandbox.run("inspect 1").exits(66);
    sandbox.run("inspect 1.1").exits(66);
    sandbox.run("inspect dead --fail-if-any").exits(66);
    assert!(!sandbox.db().exists());
}

#[test]
fn a_filter_that_names_what_nobody_has_is_said_to() {
    let sandbox = sandbox();
    sandbox.write("jobs.toml", "[jobs.nightly]\ncommand = 'true'\nqueue = 'net'\n");
    for (line, said) in [
        ("dead --name nihgtly", "runner: no job has the name nihgtly; did you mean nightly?\n"),
        ("jobs --name nightly", "runner: no job has the name nightly\n"),
        ("jobs --queue defualt", "runner: no job is in the queue defualt; did you mean default?\n"),
        ("attempts --error-code EXIT_99", "runner: nothing has ended with the code EXIT_99"),
        ("jobs --queue default --state running", ""),
        (
            "jobs --queue defualt --json",
            "{\"note\":\"no job is in the queue defualt; did you mean default?\"}\n",
        ),
        ("jobs --queue defualt -q", ""),
    ] {
        let ran = sandbox.run(&format!("inspect {line}")).exits(0);
        assert!(ran.stderr.starts_with(said) && ran.stderr.is_empty() == said.is_empty(), "{ran}");
    }
    sandbox.run("inspect dead --name nihgtly --fail-if-any").says("nightly").ok();
}

/// Jobs 1 to 30 say the same and 31 to 33 something else, all with one code; 34 and 35 have another one. Each died a minute
/// after the one before.
fn many_dead() -> Sandbox {
    let sandbox = Sandbox::empty();
    let line = |name: &str, command: &str| format!("{{\"name\":\"{name}\",\"command\":\"{command}\"}}\n");
    let mut batch = line("nightly-backup", "echo no route to host >&2; exit 1").repeat(30);
    for n in 1..4 {
        batch += &line("report", &format!("echo row {n} is bad; exit 1"));
    }
    batch += &line("upload", "echo message=disk full >> $RUNNER_REPORT; echo no >&2; exit 2").repeat(2);
    sandbox.call("enqueue -q --batch -").stdin(batch).run().ok();
    sandbox.run("work -j2 --drain -q").exits(1);
    sandbox.sql().run("UPDATE jobs SET changed_at = 1000000000000 + id * 60000");
    sandbox
}

#[test]
fn dead_letters_are_counted_whole_and_folded_by_name_and_last_words() {
    let sandbox = many_dead();
    let seen = |options: &str| sandbox.run(&format!("inspect dead {options}")).ok().quietly().stdout;
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(seen(""), @"
        EXIT_1: 33 jobs, attempts_exhausted
          id  name  label  jobs  runs  first  last  what it said
          33  report  echo row 3 is bad; exit 1  1/1  2001-09-09 02:19  row 3 is bad
          32  report  echo row 2 is bad; exit 1  1/1  2001-09-09 02:18  row 2 is bad
          31  report  echo row 1 is bad; exit 1  1/1  2001-09-09 02:17  row 1 is bad
          30  nightly-backup  echo no route to host >&2; exit 1  ×30  1/1  2001-09-09 01:47  2001-09-09 02:16  no route to host
          look  runner logs 33
          replay  runner retry --dead --error-code EXIT_1

        EXIT_2: 2 jobs, attempts_exhausted
          id  name  label  jobs  runs  first  last  what it said
          35  upload  echo message=disk full >> $RUNNER_REPORT; echo no >&2; exit 2  ×2  1/1  2001-09-09 02:20  2001-09-09 02:21  disk full
          look  runner logs 35
          replay  runner retry --dead --error-code EXIT_2

        runner resolve ID takes off this list what was dealt with
        ");
        insta::assert_snapshot!(seen("--limit 2"), @"
        EXIT_1: 33 jobs, attempts_exhausted
          id  name  label  runs  died  what it said
          33  report  echo row 3 is bad; exit 1  1/1  [AGO]  row 3 is bad
          … 32 jobs in older rows
          look  runner logs 33
          replay  runner retry --dead --error-code EXIT_1

        EXIT_2: 2 jobs, attempts_exhausted
          id  name  label  jobs  runs  first  last  what it said
          35  upload  echo message=disk full >> $RUNNER_REPORT; echo no >&2; exit 2  ×2  1/1  2001-09-09 02:20  2001-09-09 02:21  disk full
          look  runner logs 35
          replay  runner retry --dead --error-code EXIT_2

        runner resolve ID takes off this list what was dealt with
        at most 1 row of each code; --limit 0 shows all
        ");
        insta::assert_snapshot!(seen("--error-code EXIT_1 --name report --since 2001-09-09"), @"
        EXIT_1: 3 jobs, attempts_exhausted
          id  name  label  runs  died  what it said
          33  report  echo row 3 is bad; exit 1  1/1  [AGO]  row 3 is bad
          32  report  echo row 2 is bad; exit 1  1/1  [AGO]  row 2 is bad
          31  report  echo row 1 is bad; exit 1  1/1  [AGO]  row 1 is bad
          look  runner logs 33
          replay  runner retry 31 32 33

        runner resolve ID takes off this list what was dealt with
        ");
    });
    assert_eq!(ids(&sandbox, "dead").len(), 35);
    assert_eq!(ids(&sandbox, "dead --limit 2"), [35, 34]);
    let screen = sandbox.call("inspect dead").env("LANG", "C").env("TERM", "xterm").at_terminal(140).ok();
    screen.shows("x30").shows("no route to host");
}

#[test]
fn a_code_with_many_different_words_leaves_rows_to_the_others() {
    let sandbox = Sandbox::empty();
    let job = |code: u8, n: u32| {
        let command = format!("echo row {n} is bad >&2; exit {code}");
        format!("{}\n", json!({ "name": "report", "command": command }))
    };
    let batch: String =
        [(4, 0), (4, 1)].into_iter().chain((0..9).map(|n| (3, n))).map(|(c, n)| job(c, n)).collect();
    sandbox.call("enqueue -q --batch -").stdin(batch).run().ok();
    sandbox.drain();
    let shown = |limit: u32| {
        let screen = sandbox.run(&format!("inspect dead --limit {limit}")).ok().stdout;
        let groups = ["EXIT_3: 9 jobs, attempts_exhausted", "EXIT_4: 2 jobs, attempts_exhausted"];
        assert!(groups.iter().all(|group| screen.contains(group)), "{screen}");
        (screen.matches(" is bad\n").count(), screen.lines().last().unwrap_or_default().to_owned())
    };
    let told = |rows: &str| format!("at most {rows} of each code; --limit 0 shows all");
    assert_eq!(shown(1), (2, told("1 row")));
    assert_eq!(shown(6), (6, told("4 rows")));
    assert_eq!(shown(0), (11, "runner resolve ID takes off this list what was dealt with".to_owned()));
}

#[test]
fn the_advice_fits_the_job() {
    let sandbox = Sandbox::new(
        "[jobs.lost]\ncommand = 'nosuchprogram'\nmax_attempts = 1\n[jobs.slow]\ncommand = 'sleep 60'\ntimeout = '10ms'\nmax_attempts = 1\n",
    );
    sandbox.run("enqueue lost slow").ok();
    sandbox.drain();
    let seen = || sandbox.run("inspect dead").ok().stdout;
    let dead = seen();
    assert!(dead.contains("fix     a command of lost was not found"), "{dead}");
    assert!(
        dead.contains("raise timeout (10ms) of slow in the job file") && dead.contains("add --redefine)"),
        "{dead}"
    );
    sandbox.write("jobs.toml", sandbox.read("jobs.toml").replace("10ms", "20ms"));
    assert!(
        seen().contains("runner retry 2 --redefine   with the definition of the job file, which differs"),
        "{}",
        seen()
    );
    sandbox.run("resolve 1 2").ok();
    sandbox.add("--timeout 10ms -- sleep 60");
    sandbox.add("--expires-in 1ms -- true");
    sandbox.add_line("--auto-retry-for TIMEOUT", "exit 3");
    sandbox.drain();
    let dead = seen();
    for advice in
        ["with a longer --timeout (10ms)", "with a longer --expires-in", "with --auto-retry-for EXIT_3 too"]
    {
        assert!(dead.contains(&format!("enqueue it anew {advice}")), "{advice}: {dead}");
    }
    assert!(!dead.contains("redefine") && !dead.contains("job file"), "{dead}");
}

#[test]
fn dead_jobs_are_selected_by_their_reason() {
    let sandbox = Sandbox::empty();
    sandbox.add("--name late --expires-in 1ms -- true");
    sandbox.add("--name bad -- false");
    sandbox.run("work --drain").exits(1);
    sandbox.add("--name unseen --expires-in 1ms -- true");
    let listed = |list: &str, reason: &str| {
        let mut names =
            sandbox.run(&format!("inspect {list} --dead-reason {reason} --json")).ok().each("name");
        names.sort_by_key(Value::to_string);
        names
    };
    for list in ["jobs", "dead"] {
        assert_eq!(listed(list, "expired"), ["late", "unseen"]);
        assert_eq!(listed(list, "attempts_exhausted"), ["bad"]);
    }
    sandbox.run("inspect dead --dead-reason expired").ok().shows("late");
    sandbox.run("inspect jobs --dead-reason gone").exits(2).says("expired");
    sandbox.run("inspect attempts --dead-reason expired").exits(2);
}

#[test]
fn equal_waiting_jobs_share_a_row_and_those_that_ended_do_not() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\n[jobs.b]\ncommand = 'true'\n");
    for name in ["a", "a", "b", "a", "a", "a"] {
        sandbox.run(&format!("enqueue -q {name} --at 2099-01-01T00:00:00Z")).ok();
    }
    sandbox.run("enqueue -q a --at 2099-01-01T00:00:00Z --label x").ok();
    for _ in 0..2 {
        sandbox.run("run -q b").ok();
    }
    sandbox.sql().run("UPDATE jobs SET changed_at = 1000000000000 WHERE state = 'succeeded'");
    let rows = |options: &str| -> Vec<String> {
        let ran = sandbox.run(&format!("inspect jobs {options}")).ok().quietly();
        let words = |line: &str| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        ran.stdout.lines().skip(1).map(words).collect()
    };
    assert_eq!(
        rows(""),
        [
            "9 b default succeeded",
            "8 b default succeeded",
            "7 a x default",
            "6 a ×3 default",
            "3 b default scheduled",
            "2 a ×2 default"
        ]
    );
    assert_eq!(rows("--json").len(), 8, "JSON has each job");
    // The limit counts jobs.
    assert_eq!(rows("--limit 5")[3..], ["6 a ×2 default", "the newest 5; --limit"]);
}

#[test]
fn deaths_that_one_run_does_for_are_replayed_by_the_newest() {
    let sandbox = Sandbox::new("[jobs.nightly]\ncommand = 'exit 3'\nmax_attempts = 1\n");
    for _ in 0..3 {
        sandbox.run("run -q nightly").exits(3);
    }
    let seen = sandbox.run("inspect dead").ok().quietly().stdout;
    let replay = "runner retry --dead --error-code EXIT_3 --latest";
    assert!(seen.contains(&format!("replay  {replay}\n")), "{seen}");
    sandbox.run(&replay["runner ".len()..]).ok();
    let resolved = sandbox.sql().number("SELECT count(*) FROM jobs WHERE resolved_at IS NOT NULL");
    assert_eq!((resolved, &*sandbox.job(3)["state"].to_string()), (2, "\"pending\""));
    sandbox.run("inspect dead").ok().shows("no dead letters; ").shows(" lists the 2 that were resolved\n");
}
