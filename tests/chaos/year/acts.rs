//! What happens in the year besides the clock that goes on: nights without power, a disk without room, the acts of a person.

use libc::ENOSPC;
use rand::RngExt;
use rand::seq::IndexedRandom;

use super::times::{HOUR, MINUTE, Missed};
use super::{Known, Year, add_told, jobs, pause};
use crate::support::background::soon;
use crate::support::{Background, is_alive};
use jiff::Timestamp;

fn rfc_3339(at: i64) -> String {
    Timestamp::from_millisecond(at).expect("a time").to_string()
}

impl Year {
    /// The machine has no power for hours or days. The worker is killed, perhaps while it looks at what has come.
    pub(super) fn night(&mut self) {
        if self.dice.random() {
            let moment = self.next_moment();
            self.clock.set_to(moment);
            self.poke();
            pause(&mut self.dice, 0..=80);
            self.since.looked_between = true;
        }
        self.kill_worker();
        self.count("nights");
        for _ in 0..self.dice.random_range(1..=4) {
            let hours = *[1, 3, 9, 24, 40].choose(&mut self.dice).expect("hours");
            self.go_to(self.now() + hours * HOUR);
            if !self.is_older && self.dice.random_bool(0.3) {
                self.edit();
            }
            if self.dice.random_bool(0.2) {
                self.work_without_room();
            }
        }
        self.cron = self.now();
        self.start_worker();
        self.look();
    }

    /// Sets the clock somewhere into the minute of this time.
    fn go_to(&mut self, time: i64) {
        let time = time - time.rem_euclid(MINUTE) + self.dice.random_range(1_000..45_000);
        self.clock.set_to(time);
    }

    /// Nothing starts and nothing fires for hours or days, as if no worker were running.
    pub(super) fn pause_all(&mut self) {
        if self.is_older {
            return;
        }
        self.call("pause --all -q").run().exits(0);
        self.count("pauses of everything");
        for _ in 0..self.dice.random_range(1..=4) {
            let later = self.now() + self.dice.random_range(1..15) * HOUR;
            self.go_to(later);
            self.poke();
            pause(&mut self.dice, 0..=80);
        }
        self.cron = self.now();
        self.call("resume --all -q").run().exits(0);
        self.look();
    }

    /// The clock is set back over times that have come, and forward again: nothing comes twice. What was not run for a time of then,
    /// because the key was held, nobody had asked for it yet, or it was missed, may come when its time is there again.
    pub(super) fn set_back(&mut self) {
        let now = self.now();
        let back = self.dice.random_range(MINUTE..3 * HOUR);
        self.clock.set_to(now - back);
        // A delay that was drawn or asked for while the clock was ahead counts from the right time.
        self.since.right_from = now;
        for due in self.due.values_mut() {
            *due -= back;
        }
        self.poke();
        self.look();
        if self.dice.random() {
            self.restart();
            self.look();
        }
        self.clock.set_to(now + MINUTE);
        self.poke();
        for known in &mut self.known {
            known.was_changed = true;
        }
        self.look();
        self.count("clocks set back");
    }

    pub(super) fn full_disk(&mut self) {
        if self.is_older {
            return;
        }
        self.stop_worker();
        let moment = self.next_moment();
        self.clock.set_to(moment);
        if self.dice.random() {
            self.work_without_room();
        } else {
            self.without_room("run plain -q");
            self.count("runs without room");
        }
        self.start_worker();
        self.look();
    }

    /// From some write on, nothing has room.
    fn fault(&mut self) -> String {
        format!("pwrite:{}:ever:{ENOSPC}:fail", self.dice.random_range(1..60))
    }

    fn work_without_room(&mut self) {
        self.count("workers without room");
        self.without_room("work --until-idle --log json");
        self.since.looked_between = true;
        self.told = self.counts();
    }

    fn without_room(&mut self, line: &str) {
        let fault = self.fault();
        let call = self.call(line).env("SHIM_FAULT", fault);
        let mut worker = Background::start(self.clock.sandbox(), call);
        // It waits for room, and nobody makes any.
        let ended = (0..self.dice.random_range(10..60))
            .any(|_| soon(|| (!is_alive(worker.pid())).then_some(())).is_some());
        if ended {
            worker.wait();
        } else {
            worker.kill();
        }
    }

    /// Somebody does something.
    pub(super) fn person(&mut self) {
        match self.dice.random_range(0..if self.is_older { 5 } else { 10 }) {
            0 => self.toggle_broken(),
            1 => self.enqueue(),
            2 => self.toggle_queue(),
            3 => self.pause_or_resume(),
            4 => self.restart(),
            5 => {
                self.edit();
                self.look();
            }
            6 => {
                self.call("retry --dead -q").run();
                self.poke();
                self.look();
                self.count("retries");
            }
            7 => {
                self.call("resolve --dead -q").run();
                self.count("resolutions");
            }
            8 => {
                self.call("prune --older-than 10d -q").run().exits(0);
                self.count("prunes");
            }
            _ => {
                let ran = self.call("work --until-idle --log json").run();
                add_told(&mut self.told, &ran.stdout);
                self.count("second workers");
            }
        }
    }

    fn toggle_broken(&mut self) {
        let broken = self.clock.sandbox().path("broken");
        if broken.exists() {
            std::fs::remove_file(broken).expect("it is there");
        } else {
            self.clock.sandbox().write("broken", "");
        }
    }

    fn enqueue(&mut self) {
        let before = self.now();
        let wait = self.dice.random_range(1..40) * HOUR;
        let at = (before + wait).div_euclid(1_000) * 1_000;
        let when = if self.dice.random() {
            format!("--in {}h", wait / HOUR)
        } else {
            format!("--at {}", rfc_3339(at))
        };
        let id = self.call(&format!("enqueue plain {when}")).run().exits(0).id();
        self.due.insert(i64::try_from(id).expect("an id"), at);
        self.count("jobs enqueued for later");
    }

    fn toggle_queue(&mut self) {
        let verb = if self.is_queue_paused { "resume" } else { "pause" };
        self.call(&format!("{verb} {} -q", jobs::QUEUE)).run().exits(0);
        self.is_queue_paused ^= true;
        self.since.is_held = true;
        self.look();
        self.since.is_held = true;
        self.count("pauses and ends of pauses of a queue");
    }

    fn pause_or_resume(&mut self) {
        let paused = self.known.iter().position(|known| known.paused_until.is_some());
        let paused = paused.filter(|_| self.dice.random_bool(0.6));
        let at = paused.unwrap_or_else(|| self.dice.random_range(0..self.known.len()));
        let name = self.known[at].declared.name;
        self.known[at].was_changed = true;
        if self.known[at].paused_until.is_some() {
            self.call(&format!("resume --schedule {name}")).run().exits(0);
            self.known[at].from = self.now();
            self.known[at].paused_until = None;
            self.look();
            return;
        }
        let hours = self.dice.random_range(1..60);
        let option = match self.dice.random_range(0..if self.is_older { 1 } else { 3 }) {
            0 => String::new(),
            1 => format!(" --for {hours}h"),
            _ => format!(" --until {}", rfc_3339((self.now() / HOUR + hours) * HOUR)),
        };
        self.call(&format!("pause --schedule {name}{option}")).run().exits(0);
        let sql = format!("SELECT coalesce(paused_until, {}) FROM schedules WHERE name = '{name}'", i64::MAX);
        let until = self.clock.sandbox().sql().number(&sql);
        if !option.is_empty() && !(0..=HOUR).contains(&(self.now() + hours * HOUR - until)) {
            self.wrong(&format!("pause{option} ends at {until}"));
        }
        self.known[at].paused_until = Some(until);
        self.look();
        self.count("pauses of a schedule");
    }

    fn restart(&mut self) {
        self.stop_worker();
        self.start_worker();
        self.count("restarts");
    }

    /// Other times for a schedule. Those that were missed stay if the new ones have them too, and `apply` says which are dropped.
    fn edit(&mut self) {
        self.variant = (self.variant + self.dice.random_range(1..5)) % 5;
        let new = jobs::variants()[self.variant].clone();
        let at = self.known.iter().position(|it| it.declared.name == jobs::EDITED).expect("it is declared");
        let declared: Vec<_> = self
            .known
            .iter()
            .map(|it| if it.declared.name == jobs::EDITED { new.clone() } else { it.declared.clone() })
            .collect();
        self.clock.sandbox().write("jobs.toml", jobs::file(&declared));
        let ran = self.call("apply").run().exits(0);
        let now = self.now();
        let old = &self.known[at];
        let (kept, is_dropped) = kept(old, &new, self.since.mark, now);
        // With a worker, or one that was killed, it is not known what it had seen.
        if self.worker.is_none() && !self.since.looked_between && ran.stderr.contains("dropped") != is_dropped
        {
            self.wrong(&format!("missed times are dropped: {is_dropped}: {ran}"));
        }
        let is_known = self.worker.is_none() && !self.since.looked_between && !old.was_changed;
        let old = &mut self.known[at];
        old.times = new.times(0);
        old.was_changed = !is_known;
        (old.declared, old.kept, old.from) = (new, kept, now);
        self.count("edits");
    }

    /// From now on it is the program of today.
    pub(super) fn upgrade(&mut self) {
        if self.dice.random() {
            self.stop_worker();
        } else {
            self.kill_worker();
        }
        self.is_older = false;
        let declared = jobs::declared(false);
        self.clock.sandbox().write("jobs.toml", jobs::file(&declared));
        self.call("apply").run().exits(0);
        self.learn(declared);
        self.start_worker();
        self.look();
        self.count("upgrades");
    }
}

/// The times of before an edit that stay, and whether one is dropped that was to be made up for.
fn kept(old: &Known, new: &jobs::Declared, mark: i64, now: i64) -> (Vec<i64>, bool) {
    let come = old.promised(mark, now);
    let made_up = old.declared.policy.made_up(&come, now);
    let times = new.times(0);
    let has = |time: &i64| times.between(time - 1, *time) == [*time];
    let is_same = old.declared.lines.iter().map(|line| line.text).eq(new.lines.iter().map(|line| line.text));
    let first = come.iter().copied().find(has).filter(|_| is_same || !made_up.is_empty());
    let kept = first.map(|first| times.between(first - 1, now)).unwrap_or_default();
    let comes = new.policy.made_up(&kept, now);
    let left = match new.policy.missed {
        // One run stands for all, and so for one of them.
        Missed::Once => made_up.len() - usize::from(!comes.is_empty() && made_up.iter().any(has)),
        Missed::All | Missed::Skip => made_up.iter().filter(|time| !comes.contains(time)).count(),
    };
    (kept, left > 0)
}
