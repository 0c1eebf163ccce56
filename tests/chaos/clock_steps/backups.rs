//! A week of a backup that cannot read one file, and says so by its exit status: somebody learns of it each night, once.

use super::Clock;
use crate::support::{Background, Value, wait_until};

const DAY: i64 = 24 * 3_600;

const JOBS: &str = r#"
[jobs.backup]
command = "echo 'open x: permission denied' >&2; exit $(cat status)"
warning_exit_codes = [3]
schedule = "0 2 * * *"
timezone = "UTC"
on_warning = "mail"

[jobs.mail]
command = "echo mail $RUNNER_DEAD_JOB_NAME $RUNNER_DEAD_REASON $RUNNER_DEAD_ERROR_CODE: $RUNNER_DEAD_MESSAGE >> log"
"#;

/// Sets the clock to a time of two o'clock, so many days after the first one, with this offset in seconds.
struct Week {
    clock: Clock,
    first: i64,
}

impl Week {
    /// The backup fails to read a file.
    fn new() -> Self {
        let clock = Clock::new(JOBS);
        clock.sandbox().write("status", "3");
        let now = clock.now();
        Self { clock, first: now - now.rem_euclid(DAY) + 2 * DAY + 2 * 3_600 }
    }

    fn set(&self, night: i64, seconds: i64) {
        self.clock.set(0);
        self.clock.set((self.first + night * DAY + seconds - self.clock.now()) * 1_000);
    }

    fn ended(&self, name: &str) -> usize {
        let jobs = self.clock.run(&format!("inspect jobs --name {name} --json")).exits(0).json_lines();
        jobs.iter().filter(|job| job["state"] == "succeeded").count()
    }

    /// The entries about warnings: the ids of each.
    fn notes(&self) -> Vec<Value> {
        let overview = self.clock.run("inspect --json").exits(0).json();
        let attention = overview["attention"].as_array().cloned().expect("a list");
        let warned = attention.into_iter().filter(|entry| entry["kind"] == "warned");
        warned.map(|entry| entry["jobs"].clone()).collect()
    }
}

#[test]
fn under_a_worker_each_night_calls_the_alert_once() {
    let week = Week::new();
    week.set(0, -3_600);
    week.clock.run("apply").exits(0);
    let worker = Background::worker(week.clock.sandbox(), week.clock.call("work -j2"));
    for night in 0..7 {
        week.set(night, -1);
        let nights = usize::try_from(night).expect("a night") + 1;
        wait_until("the mail of this night", || week.ended("mail") == nights);
        assert_eq!(week.ended("backup"), nights);
    }
    let log = week.clock.sandbox().log();
    assert_eq!(log, vec!["mail backup warning EXIT_3: open x: permission denied"; 7]);
    let [note] = week.notes().try_into().expect("one note");
    assert_eq!(note.as_array().map(Vec::len), Some(7));
    // The file can be read again.
    week.clock.sandbox().write("status", "0");
    week.set(7, -1);
    wait_until("a backup without a warning", || week.ended("backup") == 8);
    assert_eq!((week.notes().len(), week.ended("mail")), (0, 7));
    worker.kill();
}

#[test]
fn under_run_each_night_says_so() {
    let week = Week::new();
    for night in 0..7 {
        week.set(night, 0);
        let ran = week.clock.run("run backup -q").exits(0);
        assert_eq!(ran.stderr.matches("permission denied").count(), 1, "{ran}");
        assert!(ran.stderr.contains("backup: succeeded, exit 3"), "{ran}");
        assert_eq!(week.ended("mail"), usize::try_from(night).expect("a night") + 1);
    }
    week.clock.sandbox().write("status", "0");
    week.set(7, 0);
    let ran = week.clock.run("run backup -q").exits(0);
    assert!(ran.stderr.is_empty() && week.notes().is_empty(), "{ran}");
}
