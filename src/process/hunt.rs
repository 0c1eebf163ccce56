//! Ends processes: SIGTERM, patience, SIGKILL, until a look through all processes finds none.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Identity;
use super::scan::{Group, Sought, Traced, scan};

/// How often it is looked for processes that were born while the others got SIGTERM.
const ROUNDS: usize = 3;
/// The pause between two looks grows from this …
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
/// … to this.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// How long a process may seem to be just being executed.
const DOUBT: Duration = Duration::from_millis(100);
/// What is still there so long after SIGKILL is stuck.
const STUCK: Duration = Duration::from_secs(5);

/// All processes of some attempts, being ended.
///
/// SIGTERM goes to those that are there when it begins. What they start while they clean up is only waited for;
/// what is left when the patience is over is killed.
#[derive(Debug)]
pub(super) struct Hunt {
    sought: Vec<Sought>,
    patience: Duration,
    /// All that were ever traced, and whose they are.
    known: HashMap<Identity, usize>,
    /// Those that were there at the last look.
    left: Vec<Traced>,
    /// The last look failed: somebody may be left whom it did not see.
    failed: bool,
    failing_since: Option<Instant>,
    /// Somebody else may be left, who shows no environment; and since when nobody but such are.
    doubtful: bool,
    doubtful_since: Option<Instant>,
    kill_at: Option<Instant>,
    killing_since: Option<Instant>,
    look_at: Option<Instant>,
    pause: Duration,
    told_stuck: bool,
}

impl Hunt {
    /// Traces them, and does nothing to them yet.
    ///
    /// That comes first: once a process has ended, its children are nobody's descendants any more.
    pub fn prepare(sought: Vec<Sought>, patience: Duration) -> Self {
        Self::prepare_knowing(sought, &[], patience)
    }

    /// The same, where some processes of the last of them are known beforehand.
    pub fn prepare_knowing(sought: Vec<Sought>, known: &[Identity], patience: Duration) -> Self {
        let last = sought.len().saturating_sub(1);
        let mut hunt = Self {
            sought,
            patience,
            known: known.iter().map(|each| (*each, last)).collect(),
            left: Vec::new(),
            failed: false,
            failing_since: None,
            doubtful: false,
            doubtful_since: None,
            kill_at: None,
            killing_since: None,
            look_at: None,
            pause: SHORTEST_PAUSE,
            told_stuck: false,
        };
        hunt.look();
        hunt
    }

    /// Sends SIGTERM and SIGCONT; without patience, SIGKILL.
    pub fn begin(&mut self, now: Instant) {
        // Beyond what the clock counts is never.
        self.kill_at = now.checked_add(self.patience);
        self.look_at = Some(now);
        if self.patience.is_zero() {
            return self.signal_all(Signal::KILL);
        }
        self.signal_all(Signal::TERM);
        self.signal_all(Signal::CONT);
        for _ in 0..ROUNDS {
            let born_meanwhile = self.look();
            if born_meanwhile.is_empty() {
                break;
            }
            signal(&born_meanwhile, Signal::TERM);
            signal(&born_meanwhile, Signal::CONT);
        }
    }

    /// When the next [`step`](Self::step) is due; none if nothing is due ever.
    pub fn look_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// No look is needed before the patience is over, unless [`look_now`](Self::look_now) says so.
    pub fn rest(&mut self) {
        self.look_at = self.kill_at;
    }

    /// Something ended: the next step is due at once.
    pub fn look_now(&mut self, now: Instant) {
        self.look_at = Some(now);
        self.pause = SHORTEST_PAUSE;
    }

    /// The patience is over.
    pub fn kill_now(&mut self, now: Instant) {
        if self.kill_at.is_none_or(|at| at > now) {
            self.kill_at = Some(now);
            self.look_now(now);
        }
    }

    /// Looks, and kills if it is time; true when nothing is left.
    pub fn step(&mut self, now: Instant) -> bool {
        self.look();
        if self.kill_at.is_some_and(|at| at <= now) {
            if self.killing_since.is_none() {
                self.killing_since = Some(now);
                self.pause = SHORTEST_PAUSE;
            }
            self.signal_all(Signal::KILL);
        }
        self.look_at = self.next_look(now);
        if !self.left.is_empty() || self.failed {
            self.doubtful_since = None;
            return false;
        }
        self.killing_since = None;
        let since = *self.doubtful_since.get_or_insert(now);
        !self.doubtful || now.saturating_duration_since(since) >= DOUBT
    }

    /// After the pause, which grows; but not later than the patience ends.
    fn next_look(&mut self, now: Instant) -> Option<Instant> {
        let next = now.checked_add(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        let kill_at = self.kill_at.filter(|at| *at > now);
        next.into_iter().chain(kill_at).min()
    }

    /// Those that were there at the last look.
    pub fn left(&self) -> &[Traced] {
        &self.left
    }

    /// Did the last look fail, so that there may be others?
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// For how long it has been killing.
    pub fn killing_for(&self, now: Instant) -> Duration {
        self.killing_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Says once that something does not end, though it was killed a while ago, or that it cannot be looked for.
    pub fn news_of_stuck(&mut self, now: Instant) -> Option<String> {
        let failing_since = *self.failing_since.get_or_insert(now);
        if !self.failed {
            self.failing_since = None;
        }
        let unseen = self.failed && now.saturating_duration_since(failing_since) >= STUCK;
        let stuck = !self.left.is_empty() && self.killing_for(now) >= STUCK;
        if self.told_stuck || !(unseen || stuck) {
            return None;
        }
        self.told_stuck = true;
        if !stuck {
            let words =
                "its processes cannot be looked for: this worker has no descriptors or no memory left";
            return Some(words.to_owned());
        }
        let pids: Vec<String> = self.left.iter().map(|each| each.identity.pid.to_string()).collect();
        let noun = if pids.len() == 1 { "process" } else { "processes" };
        Some(format!(
            "{noun} {} cannot be ended: SIGKILL was sent {} s ago",
            pids.join(", "),
            self.killing_for(now).as_secs(),
        ))
    }

    /// Sees who is left; returns those never seen before.
    fn look(&mut self) -> Vec<Traced> {
        let found = scan(&self.sought, &self.known);
        self.left = found.traced;
        self.failed = found.failed;
        self.doubtful = found.doubtful;
        let is_new = |each: &&Traced| self.known.insert(each.identity, each.of).is_none();
        self.left.iter().filter(is_new).copied().collect()
    }

    fn signal_all(&self, to_send: Signal) {
        for each in &self.sought {
            // The kernel signals a whole group at once, also what is born in this moment.
            if let Group::Pinned(leader) = each.group
                && let Some(group) = Pid::from_raw(leader.pid)
            {
                // It can fail only where nobody is left who may be signalled; the next look tells.
                let _ = kill_process_group(group, to_send);
            }
        }
        signal(&self.left, to_send);
    }
}

/// Signals each process that no signal to a group reaches. Who cannot be signalled is found again.
fn signal(processes: &[Traced], signal: Signal) {
    for each in processes.iter().filter(|each| !each.in_pinned_group) {
        let _ = each.identity.signal(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Mark;

    fn hunt(patience: Duration, now: Instant) -> Hunt {
        let mark = Mark { worker_id: format!("test-hunt-{}", std::process::id()), job_id: 1, attempt: 1 };
        let group = Group::Unknown;
        let mut hunt = Hunt::prepare(vec![Sought { mark, group }], patience);
        hunt.begin(now);
        hunt
    }

    #[test]
    fn that_something_is_stuck_is_said_once() {
        let now = Instant::now();
        let mut hunt = hunt(Duration::ZERO, now);
        let left = |pid| Traced { identity: Identity { pid, start_ticks: 1 }, of: 0, in_pinned_group: false };
        hunt.left = vec![left(100_001), left(100_002)];
        hunt.killing_since = Some(now);
        assert_eq!(hunt.news_of_stuck(now + STUCK / 2), None);
        assert_eq!(
            hunt.news_of_stuck(now + STUCK).as_deref(),
            Some("processes 100001, 100002 cannot be ended: SIGKILL was sent 5 s ago")
        );
        assert_eq!(hunt.news_of_stuck(now + STUCK * 2), None);
    }

    #[test]
    fn it_is_said_once_that_nobody_can_look() {
        let now = Instant::now();
        let mut hunt = hunt(Duration::ZERO, now);
        hunt.left.clear();
        hunt.failed = true;
        assert_eq!(hunt.news_of_stuck(now), None);
        hunt.failed = false;
        assert_eq!(hunt.news_of_stuck(now + STUCK), None);
        hunt.failed = true;
        assert_eq!(hunt.news_of_stuck(now + STUCK), None);
        assert!(hunt.news_of_stuck(now + STUCK * 2).unwrap().contains("cannot be looked for"));
        assert_eq!(hunt.news_of_stuck(now + STUCK * 3), None);
    }

    #[test]
    fn the_pauses_grow_but_do_not_outlast_the_patience() {
        let now = Instant::now();
        let patience = Duration::from_secs(10);
        let mut hunt = hunt(patience, now);
        let mut at = now;
        let mut pauses = Vec::new();
        while at < now + patience {
            let next = hunt.next_look(at).unwrap();
            pauses.push(next - at);
            at = next;
        }
        assert_eq!(at, now + patience);
        assert_eq!(pauses[0], SHORTEST_PAUSE);
        assert!(pauses.iter().all(|pause| *pause <= LONGEST_PAUSE));
        hunt.rest();
        assert_eq!(hunt.look_at(), Some(now + patience));
        hunt.kill_now(at);
        assert_eq!(hunt.look_at(), Some(now + patience), "it is too late");
    }
}
