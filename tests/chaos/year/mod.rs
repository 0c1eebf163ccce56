//! A year in minutes: a clock that goes from one moment to another takes a worker, a cron whose lines call `runner run`, and a person
//! through changes of the clocks in several zones, nights without power, pauses, edits, a disk without room, and an upgrade.
//!
//! Every promised time runs once, or is said to be gone; nothing runs twice or before its time; every death is shown.

mod acts;
mod jobs;
mod times;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::clock_steps::Clock;
use crate::evidence::{Promises, Rows};
use crate::judge::{Moment, judge};
use crate::support::background::soon;
use crate::support::{Background, Call, Signal, wait_until};
use crate::tools::{Plan, Violations, call_either, pause};
use jobs::Declared;
use times::{DAY, HOUR, Look, MINUTE, Times};

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

    /// Waits until everything has come of the clock that can, and judges what came of the times since the last look.
    fn look(&mut self) {
        let held =
            if self.is_queue_paused { format!("AND queue <> '{}'", jobs::QUEUE) } else { String::new() };
        let mut now = 0;
        wait_until("whatever has come is done", || {
            now = self.now();
            let sql = format!(
                "SELECT (SELECT count(*) FROM schedules WHERE iif(paused, paused_until, next_at) <= {now})
                      + (SELECT count(*) FROM jobs WHERE state = 'running' OR state = 'pending' AND run_at <= {now} {held})"
            );
            self.clock.sandbox().sql().number(&sql) == 0
        });
        let sql = format!(
            "SELECT id, name, scheduled_for, enqueued_at FROM jobs WHERE id > {} AND scheduled_for IS NOT NULL ORDER BY id",
            self.last_job
        );
        let sqlite = self.clock.sandbox().sql();
        let mut new = std::mem::take(&mut self.ahead);
        new.extend(sqlite.all(&sql, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))));
        self.last_job = new.iter().map(|(id, ..)| *id).max().unwrap_or(0).max(self.last_job);
        let (ahead, new) = new.into_iter().partition(|(_, _, time, seen)| *time > now && seen >= time);
        self.ahead = ahead;
        let sql = format!(
            "SELECT count(*) FROM jobs WHERE name = '{}' AND state IN ('pending', 'running')",
            jobs::HELD
        );
        let is_held_now = sqlite.number(&sql) > 0;
        self.since.is_held |= is_held_now || self.since.looked_between;
        self.judge_times(&new, now);
        self.read_log();
        let is_held = is_held_now || self.is_queue_paused;
        let Since { mark, right_from, .. } = self.since;
        self.since = Since { mark: mark.max(now), looked_between: false, is_held, right_from };
    }

    fn judge_times(&mut self, new: &[(i64, String, i64, i64)], now: i64) {
        for (id, name, time, _) in new {
            self.made.insert(*id, (name.clone(), *time));
            if let Some(other) = self.fired.insert((name.clone(), *time), *id) {
                self.wrong(&format!("jobs {other} and {id} are both {name} of {time}"));
            }
        }
        let counts = self.counts();
        let mut wrong = Vec::new();
        for known in &mut self.known {
            let name = known.declared.name;
            let count = counts.get(name).copied().unwrap_or_default();
            let fired: Vec<(i64, i64)> =
                new.iter().filter(|it| it.1 == name).map(|(_, _, time, seen)| (*time, *seen)).collect();
            let come = known.promised(self.since.mark, now);
            let look = Look {
                policy: known.declared.policy,
                come: &come,
                fired: &fired,
                gone: usize::try_from(count - known.gone).unwrap_or(usize::MAX),
                until: now,
                is_held: name == jobs::HELD && self.since.is_held,
                looked_between: self.since.looked_between,
            };
            if !known.was_changed {
                wrong.extend(look.wrong().into_iter().map(|what| {
                    format!("{name}: {what}; of {come:?} since {} came {fired:?}", self.since.mark)
                }));
            }
            *self.tally.entry("times").or_default() += come.len() as u64;
            *self.tally.entry("times that came").or_default() += fired.len() as u64;
            *self.tally.entry("times that were said to be gone").or_default() +=
                (count - known.gone).unsigned_abs();
            known.gone = count;
            known.was_changed = false;
            known.kept.clear();
            known.paused_until = known.paused_until.filter(|until| *until > now);
        }
        for what in wrong {
            self.wrong(&what);
        }
        let Some(worker) = &self.worker else { return };
        let is_told = || {
            let mut told = self.told.clone();
            add_told(&mut told, &worker.stdout());
            counts.iter().all(|(name, count)| told.get(name).copied().unwrap_or_default() == *count)
        };
        if (0..1_000).all(|_| soon(|| is_told().then_some(())).is_none()) {
            let mut told = self.told.clone();
            add_told(&mut told, &worker.stdout());
            self.wrong(&format!("the log says that {told:?} times are gone, of {counts:?}"));
        }
    }

    /// Reads what jobs have written since the last look.
    fn read_log(&mut self) {
        let log = self.clock.sandbox().read("log");
        let new: Vec<String> = log.lines().skip(self.read).map(str::to_owned).collect();
        self.read += new.len();
        for line in new {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<i64>().ok());
            let (Some(job), Some(attempt), Some(now)) = (number(1), number(2), number(5)) else {
                self.wrong(&format!("a line of the log: {line}"));
                continue;
            };
            let time = words[4].parse::<Timestamp>().ok().map(Timestamp::as_millisecond);
            let due = time.filter(|time| *time > self.since.right_from).max(self.due.get(&job).copied());
            if due.is_some_and(|due| now < due.div_euclid(1_000)) {
                self.wrong(&format!("it ran before its time: {line}"));
            }
            let (event, name) = (words[0].to_owned(), words[3].to_owned());
            // What the job is told has whole seconds.
            let is_its_own = |(name_of, time_of): &(String, i64)| {
                *name_of == name && time.map(|time| time.div_euclid(1_000)) == Some(time_of.div_euclid(1_000))
            };
            let is_ahead = self.ahead.iter().any(|(id, ..)| *id == job);
            if time.is_some() && !is_ahead && !self.made.get(&job).is_some_and(is_its_own) {
                self.wrong(&format!("it is not the job of its time: {line}"));
            }
            self.said.push(Said { event, job, attempt, of: number(6) });
        }
    }

    /// Every death is shown as long as it was not made good and nobody has dealt with it, and each has called the alert.
    fn check_attention(&mut self) {
        let sandbox = self.clock.sandbox();
        let sql = "SELECT id FROM jobs AS d WHERE state = 'dead' AND resolved_at IS NULL AND (name = 'alert' OR NOT EXISTS
                       (SELECT 1 FROM jobs AS s WHERE s.name = d.name AND s.id > d.id AND s.state = 'succeeded'
                                                  AND s.changed_at > coalesce(d.started_at, d.changed_at)))";
        let open: BTreeSet<u64> = sandbox.sql().all(sql, |row| row.get(0)).into_iter().collect();
        let overview = self.call("inspect --json").run().exits(0).json();
        let attention = overview["attention"].as_array().cloned().unwrap_or_default();
        let dead = attention.iter().filter(|entry| entry["kind"] == "dead");
        let told: BTreeSet<u64> = dead
            .flat_map(|entry| entry["jobs"].as_array().cloned().unwrap_or_default())
            .filter_map(|id| id.as_u64())
            .collect();
        // An entry lists no more than some.
        if !told.is_subset(&open) || told.len() < open.len().min(20) {
            self.wrong(&format!("{told:?} are shown as dead, of {open:?} that nobody made good"));
        }
        *self.tally.entry("looks at attention").or_default() += 1;
        *self.tally.entry("deaths shown in them").or_default() += told.len() as u64;
        let fails = self.said.iter().filter(|line| line.event == "fail");
        let mut deaths: BTreeMap<i64, usize> = BTreeMap::new();
        for line in fails {
            *deaths.entry(line.job).or_default() += 1;
        }
        let sql = sandbox.sql();
        for (job, fails) in deaths {
            let alerts: BTreeSet<i64> =
                self.said.iter().filter(|line| line.of == Some(job)).map(|line| line.job).collect();
            // An alert whose worker was killed is tried again later.
            let waiting = sql.number("SELECT count(*) FROM jobs WHERE name = 'alert' AND state = 'pending'");
            if alerts.len() < fails && waiting == 0 {
                self.wrong(&format!("job {job} failed {fails} times for good, and called {alerts:?}"));
            }
        }
        let doctor = self.call("doctor --json").run().json();
        if doctor["problems"].as_array().is_none_or(|problems| !problems.is_empty()) {
            self.wrong(&format!("the doctor found something: {doctor}"));
        }
    }

    /// Compares all rows with what the jobs have written.
    fn check_rows(&mut self, moment: Moment) {
        let mut rows = Rows::read(&self.clock.sandbox().db()).expect("the database can be read");
        rows.prunes = true;
        let is_there = |job: i64| u64::try_from(job).is_ok_and(|id| rows.jobs.contains_key(&id));
        let mut side = String::new();
        for line in self.said.iter().filter(|line| line.event == "start" && is_there(line.job)) {
            let _ = writeln!(side, "start {} {}", line.job, line.attempt);
        }
        let retries = rows.jobs.keys().map(|id| (*id, u32::MAX)).collect();
        let promises = Promises { retries, ..Promises::of([], Some(&side)) };
        for what in judge(&rows, &promises, moment) {
            self.wrong(&what);
        }
        // What was removed had run.
        let started: BTreeSet<i64> = self.said.iter().map(|line| line.job).collect();
        for ((name, time), job) in self.fired.iter().filter(|(_, job)| !started.contains(job)) {
            let state =
                u64::try_from(*job).ok().and_then(|id| rows.jobs.get(&id)).map(|job| job.state.as_str());
            if !matches!((state, moment), (Some("dead"), _) | (Some("pending" | "running"), Moment::Any)) {
                self.wrong(&format!("job {job}, {name} of {time}, never ran and is {state:?}"));
            }
        }
        for (job, due) in
            self.due.iter().filter(|(job, due)| !started.contains(job) && **due < self.since.mark - DAY)
        {
            self.wrong(&format!("job {job}, due at {due}, never ran"));
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

/// Adds the times that the log of a worker says to be gone.
fn add_told(told: &mut BTreeMap<String, i64>, log: &str) {
    let events = log.lines().filter(|line| line.contains("schedule_skipped"));
    // Its last line may not be whole yet.
    for event in events.filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
        let name = event["name"].as_str().unwrap_or_default().to_owned();
        *told.entry(name).or_default() += event["count"].as_i64().unwrap_or(1);
    }
}
