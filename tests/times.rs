//! Several lines for one job, the last days of a month, and missed times that are seen too late.

use crate::support::{Sandbox, Value, json};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

const TWO_LINES: &str = r#"
[jobs.report]
command = "true"
schedule = ["30 8 * * 1-5", "0 10 * * 6,0"]
timezone = "UTC"
"#;

fn schedule(sandbox: &Sandbox) -> Value {
    sandbox.run("inspect schedules --json").ok().json()
}

/// The events about schedules of a worker that does what is due.
fn events_of_work(sandbox: &Sandbox) -> Vec<Value> {
    let told = sandbox.run("work -j1 --drain --log json").ok().json_lines();
    told.into_iter().filter(|it| it["event"].as_str().is_some_and(|it| it.starts_with("schedule"))).collect()
}

#[test]
fn a_job_with_several_lines_is_one_schedule_and_shows_all_of_them() {
    let sandbox = Sandbox::new(TWO_LINES);
    let both = "30 8 * * 1-5; 0 10 * * 6,0";
    sandbox.run("check").ok().shows(&format!("{both} UTC, missed times run: once\n"));
    let checked = sandbox.run("check --json").ok().json();
    assert_eq!(checked["schedules"], json!(["30 8 * * 1-5", "0 10 * * 6,0"]));
    let next = checked["next"].as_array().unwrap();
    let is_time = |at: &Value| {
        ["T08:30:00.000Z", "T10:00:00.000Z"].iter().any(|end| at.as_str().unwrap().ends_with(end))
    };
    assert!(next.len() == 3 && next.iter().all(is_time), "{next:?}");
    sandbox.run("apply").ok().shows("+ schedule report added");
    sandbox.run("apply").ok().shows("nothing changes");
    let row = schedule(&sandbox);
    assert_eq!(
        (&row["schedule"], &row["schedules"], &row["next_at"]),
        (&json!(both), &checked["schedules"], &next[0])
    );
    sandbox.run("inspect schedules").ok().shows(both);
    // A week has seven of them.
    let week = sandbox.run("inspect schedules --json --next 7d").ok().each("at");
    assert_eq!(week.len(), 7);
    assert_eq!(week.iter().filter(|at| is_time(at)).count(), 7, "{week:?}");
    sandbox.run("inspect --html").ok().shows("30 8 * * 1-5</code>").shows("0 10 * * 6,0</code>");
    sandbox.run("inspect report").exits(66).says(&format!("its schedule ({both} UTC) fires first at "));
    // An applied one that is checked again has its own next times.
    assert_eq!(sandbox.run("check --json").ok().json()["next"], checked["next"]);
    sandbox.write("jobs.toml", TWO_LINES.replace("\", \"", "\", \"@monthly\", \""));
    sandbox.run("check").ok().shows("changed since it was applied: report");
    sandbox.run("apply").ok().shows("~ schedule report changed");
    sandbox.run("doctor").ok();
}

#[test]
fn check_gives_the_lines_and_times_of_what_has_a_schedule() {
    let sandbox = Sandbox::new(
        "[jobs.boot]\ncommand = 'true'\nschedule = '@reboot'\n[jobs.plain]\ncommand = 'true'\n
         [jobs.one]\ncommand = 'true'\nschedule = ['0 2 29 2 *']\ntimezone = 'UTC'\n",
    );
    let rows = sandbox.run("check --json").ok().json_lines();
    let shown: Vec<_> = rows.iter().map(|row| json!([row["name"], row["schedules"], row["next"]])).collect();
    let leap_days = ["2028-02-29T02:00:00.000Z", "2032-02-29T02:00:00.000Z", "2036-02-29T02:00:00.000Z"];
    let expected = [
        json!(["boot", ["@reboot"], []]),
        json!(["plain", null, null]),
        json!(["one", ["0 2 29 2 *"], leap_days]),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn the_times_of_all_lines_fire_and_those_that_fall_together_once() {
    // Every minute, and twice at each even one.
    let sandbox = Sandbox::new(
        "[jobs.often]\ncommand = 'true'\nschedule = ['*/2 * * * *', '1-59/2 * * * *', '*/4 * * * *']\nmissed = 'all'\n",
    );
    sandbox.run("apply").ok();
    let now = sandbox.sql().number("SELECT next_at FROM schedules");
    sandbox.sql().run(&format!("UPDATE schedules SET next_at = {}", now - 10 * MINUTE));
    let fired = events_of_work(&sandbox).len();
    assert!((10..=12).contains(&fired), "{fired}");
    let times = "SELECT count(DISTINCT scheduled_for) FROM jobs WHERE scheduled_for % 60000 = 0";
    assert_eq!(usize::try_from(sandbox.sql().number(times)), Ok(fired));
}

#[test]
fn mistakes_in_a_list_of_lines_point_at_the_entry() {
    let sandbox = Sandbox::empty();
    for (lines, said) in [
        ("[]", "an empty array has no times"),
        ("['@daily', '0 0 * * *']", "\"0 0 * * *\" is entered twice"),
        ("['0 0 * * 7', '0 0 * * sun']", "is entered twice"),
        ("['@daily', '@reboot']", "\"@reboot\" stands alone"),
        ("['every 1h', '@daily']", "\"every 1h\" stands alone"),
        ("['@daily', '0 0 30 2 *']", "\"0 0 30 2 *\" never comes"),
        ("['@daily', '0 2 * * * *']", "write \"2 * * * *\" if seconds come first"),
        ("['@daily', 5]", "an entry of `schedule` must be a string, not 5"),
        ("5", "`schedule` must be a string or an array of lines of cron, not 5"),
    ] {
        sandbox.write("jobs.toml", format!("[jobs.a]\ncommand = 'true'\nschedule = {lines}\n"));
        sandbox.run("check").exits(65).says(said).says(": 1 mistake\n");
    }
}

#[test]
fn a_missed_time_that_is_seen_later_than_missed_within_is_gone() {
    // Three times are missed, of which the last was half an hour ago.
    for (missed, within, runs, skipped) in [
        ("once", "3h", 1, 0),
        ("once", "31m", 1, 0),
        ("once", "29m", 0, 1),
        ("all", "3h", 3, 0),
        ("all", "2h", 2, 1),
        ("all", "29m", 0, 3),
    ] {
        let case = format!("{missed} {within}");
        let sandbox = Sandbox::new(&format!(
            "[jobs.hourly]\ncommand = 'true'\nschedule = 'every 1h'\nmissed = '{missed}'\nmissed_within = '{within}'\n"
        ));
        sandbox.run("apply").ok();
        sandbox.make_due(2 * HOUR + 30 * MINUTE);
        let first = sandbox.sql().number("SELECT next_at FROM schedules");
        let told = events_of_work(&sandbox);
        let (gone, fired): (Vec<_>, Vec<_>) = told.iter().partition(|it| it["event"] == "schedule_skipped");
        assert_eq!(fired.len(), runs, "{case}: {told:?}");
        let counted: Vec<_> = gone.iter().map(|it| (it["reason"].as_str(), it["count"].as_u64())).collect();
        let expected = (skipped > 0).then_some((Some("too_late"), Some(skipped)));
        assert_eq!(counted, Vec::from_iter(expected), "{case}");
        let row = schedule(&sandbox);
        assert_eq!((&row["skipped"], &row["skipped_in_row"]), (&json!(skipped), &json!(0)), "{case}");
        assert_eq!(sandbox.sql().number("SELECT next_at FROM schedules"), first + 3 * HOUR, "{case}");
    }
}

#[test]
fn what_is_seen_too_late_is_said_to_people() {
    let file =
        "[jobs.hourly]\ncommand = 'true'\nschedule = 'every 1h'\nmissed = 'all'\nmissed_within = '29m'\n";
    let sandbox = Sandbox::new(file);
    sandbox.run("apply").ok();
    sandbox.make_due(30 * MINUTE);
    sandbox.run("work --drain").exits(0).says(" is skipped: it was seen later than missed_within");
    sandbox.make_due(90 * MINUTE);
    sandbox.run("work --drain").exits(0).says("schedule hourly: 2 times up to ").says(" are skipped: ");
    sandbox.run("check").ok().shows("missed times run: all, if seen within 29m");
    assert_eq!(schedule(&sandbox)["missed_within_ms"], 29 * MINUTE);
}

#[test]
fn missed_within_stands_where_something_is_made_up_for() {
    let sandbox = Sandbox::empty();
    let check = |text: &str| {
        sandbox.write("jobs.toml", text);
        sandbox.run("check")
    };
    for (keys, said) in [
        ("schedule = '@daily'\nmissed = 'skip'", "`missed_within` has no effect with missed = \"skip\""),
        ("schedule = '@reboot'", "`missed_within` has no effect with @reboot"),
        ("", "`missed_within` has no effect without `schedule`"),
    ] {
        let job = format!("[jobs.a]\ncommand = 'true'\nmissed_within = '3h'\n{keys}\n");
        check(&job).exits(65).says(said);
    }
    let defaults = "[defaults]\nmissed_within = '3h'\n";
    check(&format!("{defaults}missed = 'skip'\n")).exits(65).says("no effect with missed = \"skip\"");
    check(&format!(
        "{defaults}[jobs.a]\ncommand = 'true'\nschedule = '@daily'\nmissed = 'skip'\n
         [jobs.b]\ncommand = 'true'\nschedule = '@daily'\n[jobs.c]\ncommand = 'true'\nschedule = '@daily'\nmissed_within = '1h'\n
         [jobs.d]\ncommand = 'true'\nschedule = '@reboot'\n[jobs.e]\ncommand = 'true'\n"
    ))
    .ok();
    sandbox.run("apply").ok();
    let rows = sandbox.run("inspect schedules --json").ok().each("missed_within_ms");
    assert_eq!(rows, [json!(null), json!(3 * HOUR), json!(HOUR), json!(null)]);
}

#[test]
fn an_edit_that_makes_a_missed_time_too_late_says_that_it_is_dropped() {
    for (lines, before, after, dropped) in [
        ("'every 1h'", "", "missed_within = '29m'", true),
        ("'every 1h'", "", "missed_within = '31m'", false),
        // It was gone already.
        ("'every 1h'", "missed_within = '29m'", "missed_within = '28m'", false),
        ("'every 1h'", "missed_within = '31m'", "missed = 'all'", false),
    ] {
        let sandbox = Sandbox::empty();
        let file = |keys: &str| {
            let text = format!("[jobs.hourly]\ncommand = 'true'\nschedule = {lines}\n{keys}\n");
            sandbox.write("jobs.toml", text);
        };
        file(before);
        sandbox.run("apply").ok();
        sandbox.make_due(30 * MINUTE);
        file(after);
        for line in ["apply --dry-run", "apply"] {
            let ran = sandbox.run(line).exits(0);
            assert_eq!(ran.stderr.contains("that was missed is dropped"), dropped, "{before} {after}: {ran}");
        }
    }
}

#[test]
fn a_line_that_is_added_keeps_the_missed_time_and_one_that_is_taken_away_drops_it() {
    let sandbox = Sandbox::empty();
    let file = |lines: &str| {
        sandbox.write(
            "jobs.toml",
            format!("[jobs.a]\ncommand = 'true'\ntimezone = 'UTC'\nschedule = {lines}\n"),
        );
    };
    file("['0 2 * * *', '0 14 * * *']");
    sandbox.run("apply").ok();
    let two = "SELECT (unixepoch('now', '-1 day', 'start of day') + 2 * 3600) * 1000";
    let two = sandbox.sql().number(two);
    let set = |at: i64| sandbox.sql().run(&format!("UPDATE schedules SET next_at = {at}"));
    set(two);
    file("['0 2 * * *', '0 14 * * *', '30 3 1 1 *']");
    let ran = sandbox.run("apply").exits(0);
    assert!(!ran.stderr.contains("dropped"), "{ran}");
    assert_eq!(sandbox.sql().number("SELECT next_at FROM schedules"), two);
    file("['30 3 1 1 *']");
    sandbox.run("apply").exits(0).says(" that was missed is dropped");
    assert_eq!(schedule(&sandbox)["schedules"], json!(["30 3 1 1 *"]));
}

#[test]
fn older_programs_find_a_line_that_they_know_and_leave_the_schedule_alone() {
    let sandbox = Sandbox::new(
        "[jobs.days]\ncommand = 'true'\nschedule = '0 18 L-3 * *'\n[jobs.late]\ncommand = 'true'\nschedule = 'every 1h'\nmissed_within = '3h'\n
         [jobs.lines]\ncommand = 'true'\nschedule = ['30 8 * * 1-5', '0 10 * * 6,0']\n[jobs.old]\ncommand = 'true'\nschedule = ['0 2 * * *']\n",
    );
    sandbox.run("apply").ok();
    let stored = "SELECT group_concat(name || ' ' || needs_version || ' ' || schedule || ' ' || coalesce(schedule_lines, '-'), '|')
                  FROM (SELECT * FROM schedules ORDER BY name)";
    assert_eq!(
        sandbox.sql().text(stored),
        "days 1002 0 18 L * *  [\"0 18 L-3 * *\"]|late 1002 every 1h  [\"every 1h\"]|\
         lines 1002 30 8 * * 1-5  [\"30 8 * * 1-5\",\"0 10 * * 6,0\"]|old 1000 0 2 * * * -"
    );
    sandbox.run("apply").ok().shows("nothing changes");
    sandbox.run("doctor").ok();
    // An older program that takes the schedules anew knows nothing of the newer columns.
    sandbox.sql().run("UPDATE schedules SET schedule = '0 5 * * *', needs_version = 1001");
    let rows = sandbox.run("inspect schedules --json").ok().json_lines();
    let is_taken =
        |row: &Value| row["schedules"] == json!(["0 5 * * *"]) && row["missed_within_ms"].is_null();
    assert!(rows.iter().all(is_taken), "{rows:?}");
    sandbox.run("doctor").ok();
    sandbox.run("apply").ok().shows("~ schedule days changed");
    sandbox.sql().run("UPDATE schedules SET schedule_lines = '[\"61 * * * *\"]' WHERE name = 'lines'");
    sandbox.run("doctor").exits(1).shows("its times are \"61 * * * *\"");
}
