//! Ends all processes of attempts: SIGTERM and SIGCONT, the grace period, SIGKILL, until a scan finds none.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::procfs::{Group, Target, Traced, scan};
use super::{AttemptTag, Control, Identity};

/// Scans at SIGTERM, for processes that were born while the others got the signal.
const SCANS_AT_SIGTERM: usize = 3;
/// The pause between two scans grows from this …
const MIN_SCAN_PAUSE: Duration = Duration::from_millis(2);
/// … to this.
const MAX_SCAN_PAUSE: Duration = Duration::from_millis(250);
/// How long a process may show no environment because of its exec.
const EXEC_TIME: Duration = Duration::from_millis(100);
/// A process that is still there this long after SIGKILL is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);
/// A recovery gives up this long after SIGKILL; the next poll tries again.
const RECOVERY_KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// The termination of all processes of some attempts.
///
/// SIGTERM goes to the processes that exist at the beginning. Processes that those start later, to clean up, get the
/// rest of the grace period, then SIGKILL.
#[derive(Debug)]
pub(super) struct Termination {
    targets: Vec<Target>,
    grace: Duration,
    /// All processes that were ever traced, with the index of their target.
    known: HashMap<Identity, usize>,
    /// The living processes of the last scan.
    left: Vec<Traced>,
    /// The last scan failed and may have missed processes.
    failed: bool,
    failing_since: Option<Instant>,
    /// The last scan saw a process without an environment, which may belong to a target.
    uncertain: bool,
    /// Since when no other processes are left.
    uncertain_since: Option<Instant>,
    kill_at: Option<Instant>,
    killing_since: Option<Instant>,
    scan_at: Option<Instant>,
    pause: Duration,
    noticed: bool,
}

impl Termination {
    /// Traces the processes without a signal yet.
    ///
    /// The first scan must come before any signal: once a process has ended, its children are no longer its descendants.
    pub fn prepare(targets: Vec<Target>, grace: Duration) -> Self {
        let mut termination = Self {
            targets,
            grace,
            known: HashMap::new(),
            left: Vec::new(),
            failed: false,
            failing_since: None,
            uncertain: false,
            uncertain_since: None,
            kill_at: None,
            killing_since: None,
            scan_at: None,
            pause: MIN_SCAN_PAUSE,
            noticed: false,
        };
        termination.scan();
        termination
    }

    /// Sends SIGTERM and SIGCONT; SIGKILL if there is no grace period.
    pub fn begin(&mut self) {
        let now = Instant::now();
        // A time beyond the range of the clock is never.
        self.kill_at = now.checked_add(self.grace);
        self.scan_at = Some(now);
        if self.grace.is_zero() {
            return self.signal_all(Signal::KILL);
        }
        self.signal_all(Signal::TERM);
        self.signal_all(Signal::CONT);
        for _ in 0..SCANS_AT_SIGTERM {
            let born_meanwhile = self.scan();
            if born_meanwhile.is_empty() {
                break;
            }
            signal(&born_meanwhile, Signal::TERM);
            signal(&born_meanwhile, Signal::CONT);
        }
    }

    /// When the next [`step`](Self::step) is due; none: not before [`scan_now`](Self::scan_now).
    pub fn scan_at(&self) -> Option<Instant> {
        self.scan_at
    }

    pub fn is_due(&self) -> bool {
        self.scan_at.is_some_and(|at| at <= Instant::now())
    }

    /// No scan is needed before the grace period is over, unless [`scan_now`](Self::scan_now) asks for it.
    pub fn rest(&mut self) {
        self.scan_at = self.kill_at;
    }

    /// A process ended: scan at once.
    pub fn scan_now(&mut self) {
        self.scan_at = Some(Instant::now());
        self.pause = MIN_SCAN_PAUSE;
    }

    /// Ends the grace period.
    pub fn kill_now(&mut self) {
        let now = Instant::now();
        if self.kill_at.is_none_or(|at| at > now) {
            self.kill_at = Some(now);
            self.scan_now();
        }
    }

    /// Scans, and kills after the grace period. True when no process is left.
    pub fn step(&mut self) -> bool {
        self.scan();
        let now = Instant::now();
        if self.kill_at.is_some_and(|at| at <= now) {
            if self.killing_since.is_none() {
                self.killing_since = Some(now);
                self.pause = MIN_SCAN_PAUSE;
            }
            self.signal_all(Signal::KILL);
        }
        let end_of_grace = self.kill_at.filter(|at| *at > now);
        self.scan_at = Some(end_of_grace.map_or(now + self.pause, |at| at.min(now + self.pause)));
        self.pause = (self.pause * 2).min(MAX_SCAN_PAUSE);
        if !self.left.is_empty() || self.failed {
            self.uncertain_since = None;
            return false;
        }
        self.killing_since = None;
        let since = *self.uncertain_since.get_or_insert(now);
        !self.uncertain || now.saturating_duration_since(since) >= EXEC_TIME
    }

    /// Once, the notice that a killed process does not end, or that scans keep failing.
    pub fn notice(&mut self) -> Option<String> {
        let now = Instant::now();
        self.failing_since = self.failed.then(|| self.failing_since.unwrap_or(now));
        let is_stuck = |since: Option<Instant>| since.is_some_and(|since| now - since >= STUCK_AFTER);
        let words = if !self.left.is_empty() && is_stuck(self.killing_since) {
            let pids: Vec<String> = self.left.iter().map(|each| each.identity.pid.to_string()).collect();
            let noun = if pids.len() == 1 { "process" } else { "processes" };
            let ago = STUCK_AFTER.as_secs();
            format!("{noun} {} cannot be ended: SIGKILL was sent {ago} s ago", pids.join(", "))
        } else if is_stuck(self.failing_since) {
            "its processes cannot be looked for: this worker has no descriptors or no memory left".to_owned()
        } else {
            return None;
        };
        (!std::mem::replace(&mut self.noticed, true)).then_some(words)
    }

    /// Finds the living processes; returns the new ones.
    fn scan(&mut self) -> Vec<Traced> {
        let scan = scan(&self.targets, &self.known);
        self.left = scan.traced;
        self.failed = scan.failed;
        self.uncertain = scan.uncertain;
        let is_new = |each: &&Traced| self.known.insert(each.identity, each.target).is_none();
        self.left.iter().filter(is_new).copied().collect()
    }

    fn signal_all(&self, to_send: Signal) {
        for target in &self.targets {
            // The kernel signals a whole group at once, including processes that are born at this moment.
            if let Group::Pinned(leader) = target.group
                && let Some(group) = Pid::from_raw(leader.pid)
            {
                // Fails only if no process is left that may be signalled; the next scan shows.
                let _ = kill_process_group(group, to_send);
            }
        }
        signal(&self.left, to_send);
    }

    /// The last scan found no process, and none that may belong to a target.
    fn found_none(&self) -> bool {
        self.left.is_empty() && !self.failed && !self.uncertain
    }

    fn time_to_scan(&self) -> Duration {
        self.scan_at.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// The processes that are left, in words.
    fn survivors(&self) -> String {
        let words =
            |tag: &AttemptTag, what: &str| format!("{what} of job {}, attempt {}", tag.job_id, tag.attempt);
        let survivors: Vec<String> = if self.failed {
            self.targets.iter().map(|target| words(&target.tag, "the unknown processes")).collect()
        } else {
            let what = |each: &Traced| format!("process {}", each.identity.pid);
            self.left.iter().map(|each| words(&self.targets[each.target].tag, &what(each))).collect()
        };
        survivors.join(", ")
    }
}

/// Signals each process that no signal to a group reaches. Failures are retried after the next scan.
fn signal(processes: &[Traced], signal: Signal) {
    for each in processes.iter().filter(|each| !each.in_pinned_group) {
        let _ = each.identity.signal(signal);
    }
}

/// Ends every survivor of a dead worker's attempts. Each attempt comes with the leader of its group, if that is on record.
///
/// Scans for at least `min_scan_time`: between fork and exec a child shows its worker's environment, and during exec none.
/// The error names the processes that survive SIGKILL by a second, so that one stuck process does not hold up the rest.
pub fn end_attempts(
    attempts: &[(AttemptTag, Option<Identity>)],
    grace: Duration,
    min_scan_time: Duration,
) -> Result<(), String> {
    if attempts.is_empty() {
        return Ok(());
    }
    let targets = attempts.iter().map(|(tag, leader)| Target {
        tag: tag.clone(),
        group: leader.map_or(Group::Unknown, Group::Recorded),
    });
    let start = Instant::now();
    let mut termination = Termination::prepare(targets.collect(), grace);
    termination.begin();
    loop {
        let is_none_left = termination.step();
        if is_none_left && start.elapsed() >= min_scan_time {
            return Ok(());
        }
        if termination.killing_since.is_some_and(|since| since.elapsed() >= RECOVERY_KILL_TIMEOUT) {
            return Err(termination.survivors());
        }
        let pause = if is_none_left { MIN_SCAN_PAUSE * 5 } else { termination.time_to_scan() };
        thread::sleep(pause);
    }
}

/// Ends the background processes of a job's earlier attempts: two attempts of one job never overlap.
///
/// True when none is left. False as soon as the next attempt is asked to stop or may no longer start.
pub fn end_earlier_attempts(
    tags: &[AttemptTag],
    grace: Duration,
    start_before: Option<Instant>,
    control: &Control,
    on_notice: &mut dyn FnMut(String),
) -> bool {
    let target = |tag: &AttemptTag| Target { tag: tag.clone(), group: Group::Unknown };
    let mut termination = (!tags.is_empty())
        .then(|| Termination::prepare(tags.iter().map(target).collect(), grace))
        .filter(|termination| !termination.found_none());
    if let Some(termination) = &mut termination {
        termination.begin();
    }
    loop {
        let orders = control.take_orders();
        if orders.stop.is_some() || start_before.is_some_and(|at| at <= Instant::now()) {
            return false;
        }
        let Some(termination) = &mut termination else { return true };
        if orders.kill {
            termination.kill_now();
        }
        if termination.is_due() && termination.step() {
            return true;
        }
        if let Some(notice) = termination.notice() {
            on_notice(notice);
        }
        let to_scan = termination.time_to_scan();
        let left = start_before.map(|at| at.saturating_duration_since(Instant::now()));
        control.sleep(left.map_or(to_scan, |left| left.min(to_scan)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn termination(grace: Duration) -> Termination {
        let tag = AttemptTag { worker_id: format!("test-{}", std::process::id()), job_id: 1, attempt: 1 };
        let mut termination = Termination::prepare(vec![Target { tag, group: Group::Unknown }], grace);
        termination.begin();
        termination
    }

    fn long_ago() -> Option<Instant> {
        Instant::now().checked_sub(STUCK_AFTER)
    }

    #[test]
    fn a_stuck_process_is_noticed_once() {
        let mut stuck = termination(Duration::ZERO);
        let left =
            |pid| Traced { identity: Identity { pid, start_ticks: 1 }, target: 0, in_pinned_group: false };
        stuck.left = vec![left(100_001), left(100_002)];
        stuck.killing_since = Some(Instant::now());
        assert_eq!(stuck.notice(), None);
        stuck.killing_since = long_ago();
        let words = "processes 100001, 100002 cannot be ended: SIGKILL was sent 5 s ago";
        assert_eq!(stuck.notice().as_deref(), Some(words));
        assert_eq!(stuck.notice(), None);
    }

    #[test]
    fn scans_that_fail_for_long_are_noticed_once() {
        let mut failing = termination(Duration::ZERO);
        failing.left.clear();
        failing.failed = true;
        assert_eq!(failing.notice(), None);
        failing.failed = false;
        assert_eq!(failing.notice(), None);
        (failing.failed, failing.failing_since) = (true, long_ago());
        assert!(failing.notice().unwrap().contains("cannot be looked for"));
        assert_eq!(failing.notice(), None);
    }

    #[test]
    fn the_next_scan_is_not_later_than_the_end_of_the_grace_period() {
        let mut resting = termination(Duration::from_secs(10));
        resting.pause = Duration::from_secs(100);
        resting.step();
        assert_eq!(resting.scan_at(), resting.kill_at);
        assert_eq!(resting.pause, MAX_SCAN_PAUSE);
        resting.kill_now();
        assert!(resting.is_due());
    }
}
