//! A year in minutes: a clock that goes from one moment to another takes a worker, a cron whose lines call `runner run`, and a person
//! through changes of the clocks in several zones, nights without power, pauses, edits, a disk without room, and an upgrade.
//!
//! Every promised time runs once, or is said to be gone; nothing runs twice or before its time; every death is shown.

mod acts;
mod jobs;
mod look;
mod times;

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::clock_steps::Clock;
use crate::judge::Moment;
use crate::support::{Background, Call, Signal};
use crate::tools::{Plan, Violations, call_either, pause};
use jobs::Declared;
use look::add_told;
use times::{DAY, HOUR, MINUTE, Times};

/// Days of 2027 on which clocks change: St. John's, Berlin, Lord Howe; Lord Howe, Berlin, St. John's.
const CHANGES: [&str; 6] =
    ["2027-03-14", "2027-03-28", "2027-04-04", "2027-10-03", "2027-10-31", "2027-11-07"];

/// A schedule that was applied.
struct Known {
    declared: Declared,
    times: Times,
    /// It promises the times after this one …
    from: i64,
    /// … and these before, which an edit kept.
    kept: Vec<i64>,
    /// The end of its pause: `i64::MAX` of one that somebody has to end.
    paused_until: Option<i64>,
    /// How many of its times were said to be gone until the last look.
    gone: i64,
    /// A person did something to it since the last look: a time of just then may have come or not.
    was_changed: bool,
}

impl Known {
    /// The times up to `until` that it has promised since `after`.
    fn promised(&self, after: i64, until: i64) -> Vec<i64> {
        let times = self.times.between(after.max(self.from), until);
        let from = self.paused_until.unwrap_or(i64::MIN);
        self.kept.iter().copied().chain(times).filter(|time| *time >= from).collect()
    }
}

/// A line that a job has written.
struct Said {
    event: String,
    job: i64,
    attempt: i64,
    /// The job whose death an alert tells of.
    of: Option<i64>,
}

/// What is known of the time since the last look.
struct Since {
    /// All times up to this one have been looked at.
    mark: i64,
    /// A worker may have looked, and was killed or found no room.
    looked_between: bool,
    /// A job may have held the key, before or since.
    is_held: bool,
    /// Until this time the clock was ahead, and was set back.
    right_from: i64,
}

struct Year {
    plan: Plan,
    clock: Clock,
    dice: StdRng,
    violations: Violations,
    known: Vec<Known>,
    worker: Option<Background>,
    /// Whether the program is the one that `OLDER` names.
    is_older: bool,
    since: Since,
    is_queue_paused: bool,
    /// The last job that was looked at.
    last_job: i64,
    /// The jobs of times after the last look.
    ahead: Vec<(i64, String, i64, i64)>,
    /// The job of each time.
    fired: HashMap<(String, i64), i64>,
    /// The name and the time of each job.
    made: HashMap<i64, (String, i64)>,
    /// What the jobs have written so far.
    said: Vec<Said>,
    read: usize,
    /// When jobs are due that a person enqueued.
    due: BTreeMap<i64, i64>,
    /// How many times ended workers said to be gone.
    told: BTreeMap<String, i64>,
    /// Up to when cron has looked.
    cron: i64,
    variant: usize,
    pokes: u64,
    tally: BTreeMap<&'static str, u64>,
}

#[test]
fn a_year_runs_every_promised_time_once_or_says_that_it_is_gone() {
    let plan = Plan::of("year", "DAYS", 8);
    let mut dice = plan.dice(0);
    let days = i64::try_from(plan.length).expect("some days");
    let change: Timestamp =
        format!("{}T00:00:00Z", CHANGES.choose(&mut dice).expect("a day")).parse().expect("a time");
    let start = change.as_millisecond() - days.min(60) / 2 * DAY;
    let mut year = Year::begin(plan, dice, start);
    let upgrade = start + (days / 3).min(30) * DAY;
    let (mut day, mut last) = (0, year.since.mark);
    while year.since.mark < start + days * DAY {
        if year.is_older && year.since.mark > upgrade {
            year.upgrade();
        }
        year.go_on();
        if (year.since.mark - start) / DAY > day && !year.is_older {
            day = (year.since.mark - start) / DAY;
            year.check_attention();
        }
        if year.since.mark - last > 30 * DAY && !year.is_older {
            last = year.since.mark;
            year.check_rows(Moment::Any);
        }
    }
    year.end();
}

impl Year {
    fn begin(plan: Plan, dice: StdRng, start: i64) -> Self {
        let is_older = std::env::var_os("OLDER").is_some();
        let declared = jobs::declared(is_older);
        let clock = Clock::new(&jobs::file(&declared));
        clock.sandbox().write("say", jobs::SAY);
        clock.sandbox().write("log", "");
        clock.set_to(start);
        let mut year = Self {
            plan,
            clock,
            dice,
            violations: Violations::default(),
            known: Vec::new(),
            worker: None,
            is_older,
            since: Since { mark: start, looked_between: false, is_held: false, right_from: 0 },
            is_queue_paused: false,
            last_job: 0,
            ahead: Vec::new(),
            fired: HashMap::new(),
            made: HashMap::new(),
            said: Vec::new(),
            read: 0,
            due: BTreeMap::new(),
            told: BTreeMap::new(),
            cron: start,
            variant: 0,
            pokes: 0,
            tally: BTreeMap::new(),
        };
        year.call("apply").run().exits(0);
        year.learn(declared);
        year.start_worker();
        year.look();
        year
    }

    fn call(&self, line: &str) -> Call {
        self.clock.shows_to(call_either(self.clock.sandbox(), self.is_older, line))
    }

    /// Counts an act, and tells of it: a violation is understood by what came before.
    fn count(&mut self, what: &'static str) {
        println!("{}: {what}", jiff::Timestamp::from_millisecond(self.now()).expect("a time"));
        *self.tally.entry(what).or_default() += 1;
    }

    fn now(&self) -> i64 {
        self.clock.now_ms()
    }

    fn wrong(&self, what: &str) {
        let at = Timestamp::from_millisecond(self.now()).expect("a time");
        self.violations.add(format!("{at}: {what}"));
    }

    /// Takes these schedules, which were applied just now, for promised.
    fn learn(&mut self, declared: Vec<Declared>) {
        let sql = self.clock.sandbox().sql();
        let now = self.now();
        for declared in declared {
            if self.known.iter().any(|known| known.declared.name == declared.name) {
                continue;
            }
            let next = sql.number(&format!("SELECT next_at FROM schedules WHERE name = '{}'", declared.name));
            let times = declared.times(next);
            if declared.span > 0 && !(0..MINUTE).contains(&(now + declared.span - next)) {
                self.violations.add(format!("{} comes first at {next}, applied at {now}", declared.name));
            }
            let (kept, paused_until) = (Vec::new(), None);
            self.known.push(Known {
                declared,
                times,
                from: now,
                kept,
                paused_until,
                gone: 0,
                was_changed: true,
            });
        }
    }

    fn start_worker(&mut self) {
        let keep = if self.dice.random_bool(0.3) { " --keep 20d" } else { "" };
        let call = self.call(&format!("work -j3 --log json{keep}"));
        self.worker = Some(Background::worker(self.clock.sandbox(), call));
    }

    fn kill_worker(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.kill();
        }
        // Whatever it could not say any more is in the count alone.
        self.told = self.counts();
    }

    fn stop_worker(&mut self) {
        let Some(mut worker) = self.worker.take() else { return };
        worker.signal(Signal::TERM);
        let ended = worker.wait().exits(0);
        add_told(&mut self.told, &ended.stdout);
    }

    /// How many times of each schedule were said to be gone.
    fn counts(&self) -> BTreeMap<String, i64> {
        let sql = "SELECT name, skipped FROM schedules";
        self.clock.sandbox().sql().all(sql, |row| Ok((row.get(0)?, row.get(1)?))).into_iter().collect()
    }

    /// A time at which the clock goes on: just after a time of some schedule, or any.
    fn next_moment(&mut self) -> i64 {
        let now = self.now();
        let known = self.known.choose(&mut self.dice).expect("schedules");
        let time = known.times.between(now, now + 8 * HOUR).first().copied();
        let time = time.filter(|_| self.dice.random_bool(0.6)).unwrap_or_else(|| {
            let later = now + self.dice.random_range(5 * MINUTE..5 * HOUR);
            later - later.rem_euclid(MINUTE)
        });
        (time + self.dice.random_range(1_000..45_000)).max(now)
    }

    /// Lets a worker that sleeps look at the clock. Otherwise it does so once a second.
    fn poke(&mut self) {
        self.pokes += 1;
        let verb = if self.pokes.is_multiple_of(2) { "resume" } else { "pause" };
        self.call(&format!("{verb} poked -q")).run();
    }

    /// Goes on by one event.
    fn go_on(&mut self) {
        match self.dice.random_range(0..100) {
            0..3 => self.night(),
            3..5 => self.pause_all(),
            5..7 => self.full_disk(),
            7..9 => self.set_back(),
            9..27 => self.person(),
            _ => self.step(),
        }
    }

    fn step(&mut self) {
        let moment = self.next_moment();
        self.clock.set_to(moment);
        self.run_by_cron();
        if self.dice.random_bool(0.9) {
            self.poke();
        }
        self.look();
    }

    /// Cron starts its lines, each for a time that has come since it looked last.
    fn run_by_cron(&mut self) {
        let lines =
            Times::Clock(vec![times::FIVE, times::WORKDAYS], TimeZone::get("Europe/Berlin").expect("a zone"));
        let now = self.now();
        let come = lines.between(self.cron, now).len();
        self.cron = now;
        for _ in 0..come.min(2) {
            if self.is_older {
                break;
            }
            let before = self.clock.sandbox().read("log").matches(" dump ").count();
            let is_broken = self.clock.sandbox().path("broken").exists();
            let ran = self.call("run dump -q").run();
            let lines = self.clock.sandbox().read("log").matches(" dump ").count() - before;
            if ran.ended_well() == is_broken || lines != 1 + usize::from(is_broken) {
                self.wrong(&format!(
                    "cron ran the dump, broken {is_broken}, and it wrote {lines} lines: {ran}"
                ));
            }
            self.count("run by cron");
        }
    }

    /// Lets everything end, and judges the whole.
    fn end(mut self) {
        if self.is_queue_paused {
            self.call(&format!("resume {}", jobs::QUEUE)).run().exits(0);
            self.is_queue_paused = false;
        }
        for _ in 0..3 {
            self.clock.set_to(self.now() + 90 * MINUTE);
            self.poke();
            self.look();
        }
        self.check_attention();
        self.stop_worker();
        self.clock.set_to(self.now() + 30 * HOUR);
        let ran = self.call("work --drain --log json").run();
        add_told(&mut self.told, &ran.stdout);
        self.look();
        self.check_rows(Moment::Drained);
        println!("{:?}", self.tally);
        self.violations.check(self.plan);
    }
}
