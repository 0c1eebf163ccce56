//! The judge of a year: what came of the times since the last look, what the jobs have written, and what is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use jiff::Timestamp;

use super::times::{DAY, Look};
use super::{Said, Since, Year, jobs};
use crate::evidence::{Promises, Rows};
use crate::judge::{Moment, judge};
use crate::support::background::soon;
use crate::support::wait_until;

impl Year {
    /// Waits until everything has come of the clock that can, and judges what came of the times since the last look.
    pub(super) fn look(&mut self) {
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
    pub(super) fn check_attention(&mut self) {
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
    pub(super) fn check_rows(&mut self, moment: Moment) {
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
}

/// Adds the times that the log of a worker says to be gone.
pub(super) fn add_told(told: &mut BTreeMap<String, i64>, log: &str) {
    let events = log.lines().filter(|line| line.contains("schedule_skipped"));
    // Its last line may not be whole yet.
    for event in events.filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
        let name = event["name"].as_str().unwrap_or_default().to_owned();
        *told.entry(name).or_default() += event["count"].as_i64().unwrap_or(1);
    }
}
