//! A whole crontab as one job file, over nights that pass in seconds: the clock steps, workers are killed, there is a night
//! without a worker, and a backup dies.

use std::collections::BTreeMap;

use super::Clock;
use crate::support::{Background, Value, json, wait_until};

const DAY: i64 = 24 * 3_600;

const CRONTAB: &str = r#"
[defaults]
on_dead = "alert"
max_attempts = 2
backoff = "10ms"

[jobs.backup]
command = "echo backup start >> log; [ ! -e broken ] || exit 3; while [ -e held ]; do sleep 0.02; done; echo backup end >> log"
unique_key = "backup"

[jobs.sync]
command = "echo sync start >> log; sleep 0.1; echo sync end >> log"
schedule = "*/15 * * * *"
unique_key = "sync"
missed = "skip"

[jobs.report]
command = "echo report $RUNNER_SCHEDULED_FOR >> log"
schedule = "0 2 * * *"
timezone = "UTC"
after = ["backup", "sync"]

[jobs.prune]
command = '"$RUNNER" prune --older-than 30d -q; echo prune >> log'
schedule = "@weekly"
timezone = "UTC"

[jobs.alert]
command = "echo alert $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_ERROR_CODE >> log"
"#;

/// Nights from the midnight before the test began.
struct Nights {
    clock: Clock,
    /// By the clock of the machine, in seconds.
    midnight: i64,
}

impl Nights {
    fn new() -> Self {
        let clock = Clock::new(CRONTAB);
        let now = clock.now();
        Self { clock, midnight: now - now.rem_euclid(DAY) }
    }

    /// Two o'clock of this night, in seconds.
    fn two(&self, night: i64) -> i64 {
        self.midnight + night * DAY + 2 * 3_600
    }

    /// Sets the clock so many seconds after two o'clock of this night.
    fn set(&self, night: i64, seconds: i64) {
        self.clock.set(0);
        self.clock.set((self.two(night) + seconds - self.clock.now()) * 1_000);
    }

    /// Whether the report of this night has succeeded.
    fn is_reported(&self, night: i64) -> bool {
        let at = time::OffsetDateTime::from_unix_timestamp(self.two(night)).expect("a time");
        let day = at.date().to_string();
        let is_of_night =
            |job: &&Value| job["scheduled_for"].as_str().is_some_and(|time| time.starts_with(&day));
        jobs(&self.clock, "report").iter().filter(is_of_night).any(|job| job["state"] == "succeeded")
    }
}

fn jobs(clock: &Clock, name: &str) -> Vec<Value> {
    clock.run(&format!("inspect jobs --name {name} --json")).exits(0).json_lines()
}

fn count(clock: &Clock, name: &str, state: &str) -> usize {
    jobs(clock, name).iter().filter(|job| job["state"] == state).count()
}

#[test]
fn a_crontab_runs_each_night_once_whatever_happens_to_clock_and_workers() {
    let nights = Nights::new();
    let clock = &nights.clock;
    let worker = || {
        let call = clock.call("work -j3").env("RUNNER", env!("CARGO_BIN_EXE_runner"));
        Background::worker(clock.sandbox(), call)
    };
    nights.set(2, -3_600);
    clock.run("apply").exits(0);
    // A quiet night, with two workers.
    let workers = [worker(), worker()];
    nights.set(2, -1);
    wait_until("the first report", || nights.is_reported(2));
    // The clock goes back over two o'clock and forward again: nothing comes twice.
    nights.set(2, -1_800);
    nights.set(2, 5);
    // The next night the workers are killed in the midst of the backup.
    clock.sandbox().write("held", "");
    nights.set(3, -1);
    wait_until("the second backup", || count(clock, "backup", "running") == 1);
    for killed in workers {
        killed.kill();
    }
    std::fs::remove_file(clock.sandbox().path("held")).expect("it was there");
    // After a night without a worker what was cut short is done again, and the later night is made up for.
    nights.set(5, 3_600);
    let last = worker();
    wait_until("both reports", || nights.is_reported(3) && nights.is_reported(5));
    // A night in which the backup dies: its report waits for the backup, and somebody is told.
    clock.sandbox().write("broken", "");
    nights.set(6, -1);
    wait_until("the alert", || count(clock, "alert", "succeeded") == 1);
    assert_eq!(count(clock, "report", "pending"), 1);
    std::fs::remove_file(clock.sandbox().path("broken")).expect("it was there");
    clock.run("retry backup").exits(0);
    wait_until("the report goes on", || nights.is_reported(6));
    // A week later the old is pruned. The night before is looked at first, because of two nights that are seen at once only
    // the later one has its report.
    nights.set(13, 3_600);
    wait_until("the report of the night before", || nights.is_reported(13));
    nights.set(14, -1);
    wait_until("the last report, and a prune", || {
        nights.is_reported(14) && count(clock, "prune", "succeeded") > 0
    });
    last.kill();
    clock.run("work --drain").exits(0);

    let mut reports: BTreeMap<String, usize> = BTreeMap::new();
    for report in jobs(clock, "report") {
        *reports.entry(report["scheduled_for"].as_str().expect("a time").to_owned()).or_default() += 1;
        assert_eq!(report["after"].as_array().map(Vec::len), Some(2), "{report}");
    }
    let days: Vec<_> = reports.keys().collect();
    assert!(reports.len() == 6 && reports.values().all(|times| *times == 1), "{days:?}");
    assert_eq!(jobs(clock, "alert").len(), 1);
    let log = clock.sandbox().log();
    assert!(log.contains(&"alert backup EXIT_3".to_owned()), "{log:?}");
    // No overlap: between the start and the end of a sync there is no other sync, but what was killed has no end.
    let syncs: Vec<&String> = log.iter().filter(|line| line.starts_with("sync")).collect();
    assert!(syncs.windows(2).all(|pair| pair[0] != pair[1] || pair[1] == "sync start"), "{syncs:?}");
    assert_eq!(clock.run("doctor --json").exits(0).json()["problems"], json!([]));
}

#[test]
fn a_line_that_init_took_over_is_made_up_for_as_cron_does() {
    let clock = Clock::new("");
    let sandbox = clock.sandbox();
    std::fs::remove_file(sandbox.path("jobs.toml")).expect("it was there");
    sandbox.write("crontab", "30 2 * * * echo nightly >> log\n*/10 * * * * echo often >> log\n");
    let run = |line: &str| clock.call(line).env("TZ", "UTC");
    run("init --from-crontab crontab").run().exits(0);
    let midnight = (clock.now().div_euclid(DAY) + 2) * DAY;
    let set = |day: i64, hours: i64| clock.set_to((midnight + day * DAY + hours * 3_600 + 60) * 1_000);
    let nightly = || {
        let times = jobs(&clock, "echo").into_iter().map(|job| job["scheduled_for"].clone());
        times.filter(|time| *time != Value::Null).count()
    };
    set(0, 1);
    run("apply").run().exits(0);
    let worker = Background::worker(sandbox, run("work"));
    // Over 02:30, which is seen two and a half hours late.
    set(0, 5);
    wait_until("the time that was stepped over", || nightly() == 1);
    // Over the next one, which is seen four and a half hours late.
    set(1, 7);
    wait_until("the time that is gone is counted", || {
        let schedules = run("inspect schedules --json").run().exits(0).json_lines();
        schedules.iter().any(|schedule| schedule["name"] == "echo" && schedule["skipped"] == 1)
    });
    set(2, 3);
    wait_until("the last time", || nightly() == 2);
    worker.kill();
}
