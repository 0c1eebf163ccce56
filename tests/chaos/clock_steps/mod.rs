//! The wall clock is set, by a second or by ten years, forwards or back, under running workers and between commands.
//! No job is run twice, none is stuck, no backoff is stretched, and what is measured by the monotonic clock goes on.

mod backups;
mod crontab;
mod zones;

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use rand::RngExt;
use rand::rngs::StdRng;

use crate::evidence::{Promises, Rows};
use crate::judge::{Moment, judge, leftover_processes};
use crate::support::{Background, Call, Finished, Sandbox, Signal, json, wait_until};
use crate::tools::{Plan, pause, shimmed};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const YEAR: i64 = 8_766 * HOUR;

/// How far the clock is set, either way.
const STEPS: [i64; 7] = [SECOND, MINUTE, HOUR, 24 * HOUR, 30 * 24 * HOUR, YEAR, 10 * YEAR];

const JOBS: &str = r#"
[defaults]
backoff = { strategy = "constant", delay = "100ms", jitter = 0.5 }

[queues.paced]
rate = "20/s"

[jobs.quick]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log"
queue = "paced"

[jobs.flaky]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log; [ $RUNNER_ATTEMPT -gt 3 ]"
max_attempts = 4

[jobs.slow]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log; sleep 0.3"
timeout = "20s"

[jobs.late]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log; exec sleep 60"
timeout = "700ms"
max_attempts = 1

[jobs.gated]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log; until [ -e go ] || [ ! -e jobs.toml ]; do echo still; sleep 0.02; done"
timeout = "30s"

[jobs.tick]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log"
schedule = "every 1h"

[jobs.daily]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log"
schedule = "30 2 * * *"
timezone = "Europe/Berlin"
missed = "skip"

[jobs.local]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log"
schedule = "10 16 * * *"

[jobs.lines]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log"
schedule = ["30 8 * * 1-5", "0 10 * * 6,0", "15 18 LW * *"]
timezone = "America/New_York"

[jobs.brief]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log"
schedule = ["0 */4 * * *", "0 1-23/4 * * *"]
missed_within = "90m"
timezone = "UTC"
"#;

/// `missed_within` of the job `brief`.
const BRIEF: i64 = 90 * MINUTE;

/// Zones whose clocks never agree.
const ZONES: [&str; 3] = ["America/New_York", "UTC", "Asia/Tokyo"];

/// A sandbox whose wall clock can be set.
pub struct Clock {
    sandbox: Sandbox,
}

impl Clock {
    pub fn new(jobs: &str) -> Self {
        let clock = Self { sandbox: Sandbox::new(jobs) };
        clock.set(0);
        clock
    }

    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Sets it this many milliseconds off the machine's, for every process that looks from now on.
    fn set(&self, offset: i64) {
        self.sandbox.write("offset.new", offset.to_string());
        std::fs::rename(self.sandbox.path("offset.new"), self.sandbox.path("offset"))
            .expect("the same folder");
    }

    /// Sets it to this time, in milliseconds since the epoch.
    pub fn set_to(&self, at: i64) {
        let machine = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis();
        self.set(at - i64::try_from(machine).expect("a time"));
    }

    /// The time that it shows, in milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        let machine = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis();
        let offset: i64 = self.sandbox.read("offset").trim().parse().expect("a number");
        i64::try_from(machine).expect("a time") + offset
    }

    /// The same in seconds.
    fn now(&self) -> i64 {
        self.now_ms().div_euclid(1_000)
    }

    fn call(&self, line: &str) -> Call {
        self.shows_to(self.sandbox.call(line))
    }

    /// The call, which goes by this clock.
    pub fn shows_to(&self, call: Call) -> Call {
        shimmed(call).env("CLOCK_OFFSET", self.sandbox.path("offset"))
    }

    fn run(&self, line: &str) -> Finished {
        self.call(line).run()
    }

    #[track_caller]
    fn add(&self, line: &str) -> u64 {
        self.run(&format!("enqueue {line}")).exits(0).id()
    }

    #[track_caller]
    fn worker(&self, options: &str) -> Background {
        Background::worker(&self.sandbox, self.call(&format!("work {options}")))
    }
}

/// The hour and minute that the clocks of this zone show at this time, in milliseconds since 1970.
fn clock_in(zone: &str, at: i64) -> String {
    let zone = TimeZone::get(zone).expect("a zone");
    zone.to_datetime(jiff::Timestamp::from_millisecond(at).expect("a time")).strftime("%H:%M").to_string()
}

/// Every promise holds, each job took the attempts that it needs, and every job has ended well but the late ones.
///
/// A clock that was set back by more than a day had been wrong, so that a time of then comes again if the clock is wrong again:
/// once for each such step.
#[track_caller]
fn all_is_well(clock: &Clock, corrections: usize) {
    let rows = Rows::read(&clock.sandbox().db()).expect("the database can be read");
    let promises = Promises::of([], Some(&clock.sandbox().read("log")));
    let wrong = [judge(&rows, &promises, Moment::Drained), leftover_processes(&rows)].concat();
    let (again, wrong): (Vec<_>, Vec<_>) = wrong.into_iter().partition(|what| what.contains(" are both "));
    let mut schedules: Vec<_> = again.iter().map(|what| what.split(" are both ").nth(1)).collect();
    schedules.sort_unstable();
    assert!(
        schedules.chunk_by(|one, other| one == other).all(|of_one| of_one.len() <= corrections),
        "{again:#?}"
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    for job in rows.jobs.values() {
        let (state, attempts) = match job.name.as_str() {
            "late" => ("dead", 1),
            "flaky" => ("succeeded", 4),
            _ => ("succeeded", 1),
        };
        assert_eq!((job.state.as_str(), job.attempts), (state, attempts), "{job:?}");
    }
    let dead = rows.attempts.values().filter(|attempt| attempt.end.dead_reason.is_some());
    assert!(dead.into_iter().all(|attempt| attempt.end.error_code.as_deref() == Some("TIMEOUT")));
    for attempt in clock.run("inspect attempts --json").exits(0).json_lines() {
        assert!(attempt["duration_ms"].as_i64().is_some_and(|ms| (0..MINUTE).contains(&ms)), "{attempt}");
    }
    for line in ["inspect", "inspect jobs", "inspect 1", "inspect 1.1"] {
        clock.run(line).exits(0);
    }
    clock.run("doctor").exits(0);
}

#[test]
fn steps_under_running_workers_run_nothing_twice_and_leave_nothing_stuck() {
    let plan = Plan::of("clock_steps", "STEPS", 40);
    let (steps, mut dice) = (plan.length, plan.dice(0));
    let clock = Clock::new(JOBS);
    clock.add("quick");
    let zone = |dice: &mut StdRng| ZONES[dice.random_range(0..ZONES.len())];
    clock.call("apply").env("TZ", zone(&mut dice)).run().exits(0);
    let worker = |zone| Background::worker(clock.sandbox(), clock.call("work -j3").env("TZ", zone));
    let mut workers = [worker(ZONES[0]), worker(ZONES[2])];
    let (mut offset, mut corrections) = (0, 0);
    for _ in 0..steps {
        let step = STEPS[dice.random_range(0..STEPS.len())] * if dice.random() { 1 } else { -1 };
        // The steps may add up to forty years, no more: the year 1970 is no time for a machine.
        if (offset + step).abs() <= 40 * YEAR {
            offset += step;
            corrections += usize::from(step < -24 * HOUR);
        }
        clock.set(offset);
        if dice.random_bool(0.2) {
            clock.call("apply").env("TZ", zone(&mut dice)).run().exits(0);
        }
        for _ in 0..dice.random_range(0..3) {
            clock.add(["quick", "flaky", "slow", "late", "flaky --priority 3"][dice.random_range(0..5)]);
        }
        pause(&mut dice, 0..=150);
    }
    wait_until("every job ends though the clock stays where it was set last", || {
        let counts = clock.run("inspect --json").exits(0).json()["counts"].clone();
        ["ready", "scheduled", "retrying", "blocked", "running"].iter().all(|state| counts[state] == 0)
    });
    println!("{steps} steps, {} jobs", clock.run("inspect jobs --json").exits(0).json_lines().len());
    for worker in &mut workers {
        worker.signal(Signal::TERM);
        worker.wait().exits(0);
    }
    all_is_well(&clock, corrections);
    let rows = Rows::read(&clock.sandbox().db()).expect("the database can be read");
    for at in rows.named("local").filter_map(|job| job.scheduled_for) {
        assert!(ZONES.iter().any(|zone| clock_in(zone, at) == "16:10"), "it came at {at}");
    }
    for at in rows.named("lines").filter_map(|job| job.scheduled_for) {
        let shown = clock_in(ZONES[0], at);
        assert!(["08:30", "10:00", "18:15"].contains(&&*shown), "it came at {at}, {shown}");
    }
    let sql = "SELECT coalesce(max(enqueued_at - scheduled_for), 0) FROM jobs WHERE name = 'brief'";
    assert!(clock.sandbox().sql().number(sql) <= BRIEF, "a time was made up for too late");
}

#[test]
fn steps_between_commands_run_nothing_twice_and_leave_nothing_stuck() {
    for step in STEPS {
        for step in [step, -step] {
            let clock = Clock::new(JOBS);
            clock.run("enqueue quick flaky slow").exits(0);
            clock.run("apply").exits(0);
            clock.set(step);
            clock.run("work -j1 --max-jobs 2").exits(0);
            clock.set(-step);
            clock.run("enqueue quick flaky").exits(0);
            clock.run("work -j3 --drain").exits(0);
            all_is_well(&clock, 0);
        }
    }
}

#[test]
fn a_timeout_and_the_length_of_an_attempt_do_not_heed_the_wall_clock() {
    let clock = Clock::new(JOBS);
    clock.run("enqueue late gated").exits(0);
    let worker = clock.worker("-j2");
    clock.sandbox().until_logged(2);
    clock.set(-10 * YEAR);
    wait_until("the timeout comes as if nothing had been", || worker.stderr().contains("TIMEOUT"));
    clock.set(10 * YEAR);
    // The other, which is looked at whenever it writes, has twenty-nine of its seconds left; by the wall clock it is ten years over.
    clock.add("quick");
    clock.sandbox().until_logged(3);
    clock.sandbox().write("go", "");
    wait_until("the other ends well", || clock.sandbox().job(2)["state"] == "succeeded");
    drop(worker);
    all_is_well(&clock, 0);
}

#[test]
fn nobody_takes_over_from_a_worker_whose_clock_was_set() {
    let clock = Clock::new(JOBS);
    clock.add("gated");
    let _first = clock.worker("-j1");
    clock.sandbox().until_logged(1);
    for offset in [10 * YEAR, -10 * YEAR, 0] {
        clock.set(offset);
        let second = clock.worker("-j1");
        let id = clock.add("quick");
        wait_until("the second works", || {
            clock.run(&format!("inspect {id} --json")).exits(0).json()["state"] == "succeeded"
        });
        assert_eq!(clock.run("inspect 1 --json").exits(0).json()["state"], "running");
        assert_eq!(clock.run("inspect workers --json").exits(0).json_lines()[0]["alive"], true);
        drop(second);
    }
    clock.sandbox().write("go", "");
    wait_until("the first ends well", || clock.sandbox().job(1)["state"] == "succeeded");
    assert_eq!(clock.sandbox().attempts(1).len(), 1);
}

#[test]
fn an_expiry_and_a_given_time_are_those_of_the_wall_clock() {
    let clock = Clock::new(JOBS);
    let (expiring, kept) = (clock.add("quick --expires-in 1h"), clock.add("quick --expires-in 2d"));
    let time = |seconds: i64| {
        let at = time::OffsetDateTime::from_unix_timestamp(seconds).expect("a time");
        at.format(&time::format_description::well_known::Rfc3339).expect("a time")
    };
    let due = clock.add(&format!("quick --at {}", time(clock.now() + 3 * 3_600)));
    let later = clock.add(&format!("quick --at {}", time(clock.now() + 30 * 3_600)));
    let state = |id: u64| clock.run(&format!("inspect {id} --json")).exits(0).json()["state"].clone();
    // A step back lets nothing expire, and nothing that was given a time of its own run before it.
    clock.set(-20 * HOUR);
    assert_eq!(state(expiring), "pending");
    clock.run("work --until-idle").exits(0);
    let counts = clock.run("inspect --json").exits(0).json()["counts"].clone();
    assert_eq!((&counts["scheduled"], &counts["dead"]), (&json!(2), &json!(0)), "{counts}");
    assert_eq!((state(expiring), state(kept)), (json!("succeeded"), json!("succeeded")));
    let expiring = clock.add("quick --expires-in 1h");
    clock.set(4 * HOUR);
    assert_eq!(state(expiring), "dead");
    clock.run("work --until-idle").exits(1);
    assert_eq!((state(due), state(later)), (json!("succeeded"), json!("pending")));
    assert_eq!(clock.run(&format!("inspect {expiring} --json")).exits(0).json()["dead_reason"], "expired");
    assert_eq!(clock.sandbox().log().len(), 3);
    clock.run("doctor").exits(0);
}

#[test]
fn what_was_delayed_or_paused_while_the_clock_was_ahead_waits_no_longer_than_was_asked_for() {
    for is_worker_alive in [false, true] {
        let clock = Clock::new(JOBS);
        clock.run("apply").exits(0);
        let named = clock.add("quick --at 2099-01-01T00:00:00Z");
        let changed = clock.add("quick --in 730d");
        let worker = is_worker_alive.then(|| clock.worker("-j2"));
        clock.set(YEAR);
        // Long enough that none of it ends before the clock is set back, however slow the machine.
        let delayed = clock.add("quick --in 10m");
        clock.run(&format!("change {changed} --in 10m")).exits(0);
        for what in ["paced", "--schedule tick", "--all"] {
            clock.run(&format!("pause {what} --for 10m")).exits(0);
        }
        clock.set(0);
        let worker = worker.unwrap_or_else(|| clock.worker("-j2"));
        // A worker that saw the clock ahead may have fired a schedule first, whose job took the next id.
        for id in [changed, delayed] {
            worker.until_it_says(&format!("job {id} quick is due"));
        }
        for what in ["queue paced ends", "schedule tick ends", "everything ends"] {
            worker.until_it_says(what);
        }
        let state = |id: u64| clock.run(&format!("inspect {id} --json")).exits(0).json()["phase"].clone();
        // A worker that looks again leaves them where they are.
        clock.worker("-j1 --queue other").until_it_says("started");
        for id in [changed, delayed] {
            assert_eq!(state(id), "scheduled");
        }
        clock.set(11 * MINUTE);
        for id in [changed, delayed] {
            clock.sandbox().until_state(id, "succeeded");
        }
        assert_eq!(state(named), "scheduled");
        drop(worker);
        clock.run("doctor").exits(0);
    }
}
