//! Ends all processes of attempts: SIGTERM and SIGCONT, the grace period, then SIGKILL until a scan finds none.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Control;
use super::hidden;
use super::procfs::{Identity, Leader};
use super::scan::{Evidence, ProcessGroup, Scan, Target, Traced, scan};
use super::tag::AttemptTag;

/// How often runner scans after SIGTERM for processes that were born while the others got the signal.
const SCANS_AT_SIGTERM: usize = 3;
/// The pause between two scans grows from this …
const MIN_SCAN_PAUSE: Duration = Duration::from_millis(2);
/// … to this.
const MAX_SCAN_PAUSE: Duration = Duration::from_millis(250);
/// How long a process may show no environment because of its exec.
const EXEC_TIME: Duration = Duration::from_millis(100);
/// A process that is still there this long after SIGKILL is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);
/// How long after SIGKILL to wait for a process that is known by its group alone.
const JOINED_WAIT: Duration = Duration::from_secs(1);
/// A recovery gives up this long after SIGKILL; the next poll tries again.
const RECOVERY_KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// The termination of all processes of some attempts.
///
/// SIGTERM goes to the processes that exist at the beginning. Processes that those start later, to clean up, get the
/// rest of the grace period, then SIGKILL.
#[derive(Debug)]
pub(super) struct Termination {
    targets: Vec<Target>,
    /// All processes that were ever traced, with the index of their target.
    known: HashMap<Identity, usize>,
    last_scan: Scan,
    phase: TerminationPhase,
    /// When the next scan is due; none: not before [`scan_now`](Self::scan_now).
    scan_at: Option<Instant>,
    pause: Duration,
    /// Since when no scan has found a process. A process that showed no environment may still be one of the attempts'.
    found_none_since: Option<Instant>,
    failing_since: Option<Instant>,
    noticed: bool,
    outlived_grace: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TerminationPhase {
    /// None: the grace period has no end.
    Grace { until: Option<Instant> },
    /// SIGKILL after each scan, from `start` on. `since`: when a scan last found no process; until then `start`. `after_grace` is
    /// false if there was no grace period, or it was cut short.
    Killing { start: Instant, since: Instant, after_grace: bool },
}

impl TerminationPhase {
    fn killing(after_grace: bool) -> Self {
        let now = Instant::now();
        Self::Killing { start: now, since: now, after_grace }
    }
}

impl Termination {
    /// Traces the processes without a signal yet.
    ///
    /// The first scan must come before any signal: once a process has ended, its children are no longer its descendants.
    pub fn prepare(targets: Vec<Target>) -> Self {
        let mut termination = Self {
            targets,
            known: HashMap::new(),
            last_scan: Scan::default(),
            phase: TerminationPhase::Grace { until: None },
            scan_at: None,
            pause: MIN_SCAN_PAUSE,
            found_none_since: None,
            failing_since: None,
            noticed: false,
            outlived_grace: false,
        };
        termination.scan();
        termination
    }

    /// Sends SIGTERM and SIGCONT; SIGKILL if there is no grace period.
    pub fn begin(&mut self, grace: Duration) {
        let now = Instant::now();
        self.scan_at = Some(now);
        if grace.is_zero() {
            self.phase = TerminationPhase::killing(false);
            return self.signal_all(Signal::KILL);
        }
        // A grace period too long for the clock has no end.
        self.phase = TerminationPhase::Grace { until: now.checked_add(grace) };
        self.signal_all(Signal::TERM);
        self.signal_all(Signal::CONT);
        for _ in 0..SCANS_AT_SIGTERM {
            let born_meanwhile = self.scan();
            if born_meanwhile.is_empty() {
                break;
            }
            self.signal(&born_meanwhile, Signal::TERM);
            self.signal(&born_meanwhile, Signal::CONT);
        }
    }

    /// When the next [`step`](Self::step) is due.
    pub fn scan_at(&self) -> Option<Instant> {
        self.scan_at
    }

    pub fn is_due(&self) -> bool {
        self.scan_at.is_some_and(|at| at <= Instant::now())
    }

    /// Scans no more before the grace period is over, unless [`scan_now`](Self::scan_now) asks for it.
    pub fn wait_out_grace(&mut self) {
        if let TerminationPhase::Grace { until } = self.phase {
            self.scan_at = until;
        }
    }

    /// Makes a scan due, because a process has ended.
    pub fn scan_now(&mut self) {
        self.scan_at = Some(Instant::now());
        self.pause = MIN_SCAN_PAUSE;
    }

    /// Ends the grace period.
    pub fn kill_now(&mut self) {
        if matches!(self.phase, TerminationPhase::Grace { .. }) {
            self.phase = TerminationPhase::killing(false);
            self.scan_now();
        }
    }

    /// Scans, and kills after the grace period. True when no process is left.
    pub fn step(&mut self) -> bool {
        self.scan();
        let now = Instant::now();
        if let TerminationPhase::Grace { until: Some(until) } = self.phase
            && until <= now
        {
            self.phase = TerminationPhase::killing(true);
            self.pause = MIN_SCAN_PAUSE;
        }
        let found_none = self.has_found_none();
        let next_scan = now + self.pause;
        self.pause = (self.pause * 2).min(MAX_SCAN_PAUSE);
        match &mut self.phase {
            TerminationPhase::Grace { until } => {
                self.scan_at = Some(until.map_or(next_scan, |until| until.min(next_scan)));
            }
            TerminationPhase::Killing { since, after_grace, .. } => {
                if found_none {
                    *since = now;
                }
                let is_own = |each: &Traced| each.evidence != Evidence::GroupAlone;
                self.outlived_grace |= *after_grace && self.last_scan.traced.iter().any(is_own);
                self.scan_at = Some(next_scan);
                self.signal_all(Signal::KILL);
            }
        }
        let continues = |is_so: bool, since: Option<Instant>| is_so.then(|| since.unwrap_or(now));
        self.failing_since = continues(self.last_scan.failed, self.failing_since);
        self.found_none_since = continues(found_none, self.found_none_since);
        self.found_none_since.is_some_and(|since| !self.last_scan.uncertain || now - since >= EXEC_TIME)
    }

    /// Whether a process got SIGKILL because it was still there at the end of the grace period.
    pub fn has_outlived_grace(&self) -> bool {
        self.outlived_grace
    }

    /// Returns, once, the notice that a killed process does not end, or that scans keep failing.
    pub fn notice(&mut self) -> Option<String> {
        let left = &self.last_scan.traced;
        let words = if !left.is_empty() && self.is_killing_for(STUCK_AFTER) {
            let pids: Vec<String> = left.iter().map(|each| each.identity.pid.to_string()).collect();
            let noun = if pids.len() == 1 { "process" } else { "processes" };
            let ago = STUCK_AFTER.as_secs();
            format!("{noun} {} cannot be ended: SIGKILL was sent {ago} s ago", pids.join(", "))
        } else if self.failing_since.is_some_and(|since| since.elapsed() >= STUCK_AFTER) {
            "its processes cannot be looked for: this worker has no descriptors or no memory left".to_owned()
        } else {
            return None;
        };
        (!std::mem::replace(&mut self.noticed, true)).then_some(words)
    }

    fn is_killing_for(&self, span: Duration) -> bool {
        matches!(self.phase, TerminationPhase::Killing { since, .. } if since.elapsed() >= span)
    }

    /// Whether the last scan found no process that has to end. A process of another user that has joined
    /// the group, and cannot be ended, holds the job up only for [`JOINED_WAIT`].
    fn has_found_none(&self) -> bool {
        let wait_is_over =
            matches!(self.phase, TerminationPhase::Killing { start, .. } if start.elapsed() >= JOINED_WAIT);
        let has_to_end = |each: &Traced| each.evidence != Evidence::GroupAlone || !wait_is_over;
        !self.last_scan.failed && !self.last_scan.traced.iter().any(has_to_end)
    }

    /// Finds the living processes; returns the new ones.
    fn scan(&mut self) -> Vec<Traced> {
        self.last_scan = scan(&self.targets, &self.known);
        let certain = self.last_scan.traced.iter().filter(|each| each.evidence == Evidence::Certain);
        let is_new = |each: &&Traced| self.known.insert(each.identity, each.target).is_none();
        certain.filter(is_new).copied().collect()
    }

    fn signal_all(&self, to_send: Signal) {
        for target in &self.targets {
            // The kernel signals a whole group at once, including processes that are born at this moment.
            if let ProcessGroup::Pinned(leader) = target.group
                && let Some(group) = Pid::from_raw(leader.process.pid)
            {
                // Fails only if no process is left that may be signalled; the next scan shows.
                let _ = kill_process_group(group, to_send);
            }
        }
        self.signal(&self.last_scan.traced, to_send);
    }

    /// Signals each process that no signal to a group reaches.
    fn signal(&self, processes: &[Traced], signal: Signal) {
        for each in processes.iter().filter(|each| !each.in_pinned_group) {
            if let (Evidence::Hidden, ProcessGroup::Recorded(leader)) =
                (each.evidence, self.targets[each.target].group)
            {
                hidden::signal_member(each.identity.pid, &leader, signal);
            } else {
                // One that could not be signalled is found by the next scan.
                let _ = each.identity.signal(signal);
            }
        }
    }

    fn time_to_scan(&self) -> Duration {
        self.scan_at.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Names the processes that are left.
    fn leftover_processes(&self) -> String {
        let words =
            |tag: &AttemptTag, what: &str| format!("{what} of job {}, attempt {}", tag.job_id, tag.attempt);
        let leftovers: Vec<String> = if self.last_scan.failed {
            self.targets.iter().map(|target| words(&target.tag, "the unknown processes")).collect()
        } else {
            let what = |each: &Traced| format!("process {}", each.identity.pid);
            let left = self.last_scan.traced.iter();
            left.map(|each| words(&self.targets[each.target].tag, &what(each))).collect()
        };
        leftovers.join(", ")
    }
}

/// Ends the leftover processes of a dead worker's attempts. Each attempt comes with the leader of its group, if that is
/// on record.
///
/// Scans for at least `min_scan_time`, because between fork and exec a child shows its worker's environment, and during
/// exec none. Gives up a second after SIGKILL, so that one stuck process does not hold up the rest; the error names the
/// processes that are left.
pub fn end_attempts(
    attempts: &[(AttemptTag, Option<Leader>)],
    grace: Duration,
    min_scan_time: Duration,
) -> Result<(), String> {
    if attempts.is_empty() {
        return Ok(());
    }
    let targets = attempts.iter().map(|(tag, leader)| Target {
        tag: tag.clone(),
        group: leader.map_or(ProcessGroup::Unknown, ProcessGroup::Recorded),
    });
    let start = Instant::now();
    let mut termination = Termination::prepare(targets.collect());
    termination.begin(grace);
    loop {
        let is_none_left = termination.step();
        if is_none_left && start.elapsed() >= min_scan_time {
            return Ok(());
        }
        if termination.is_killing_for(RECOVERY_KILL_TIMEOUT) {
            return Err(termination.leftover_processes());
        }
        let pause = if is_none_left { MIN_SCAN_PAUSE * 5 } else { termination.time_to_scan() };
        thread::sleep(pause);
    }
}

/// Ends what an attempt, which has ended just now, has left in the background. An order to stop or to kill kills it. Gives up a
/// second after SIGKILL: the next attempt waits for what is left.
pub fn end_own_background(
    tag: AttemptTag,
    leader: Leader,
    grace: Duration,
    control: &Control,
    on_notice: &mut dyn FnMut(String),
) {
    let mut termination = Termination::prepare(vec![Target { tag, group: ProcessGroup::Recorded(leader) }]);
    if termination.last_scan.is_clean() {
        return;
    }
    termination.begin(grace);
    loop {
        let orders = control.take_orders();
        if orders.stop.is_some() || orders.kill {
            termination.kill_now();
        }
        if termination.is_due() && termination.step() || termination.is_killing_for(RECOVERY_KILL_TIMEOUT) {
            return;
        }
        if let Some(notice) = termination.notice() {
            on_notice(notice);
        }
        control.sleep(termination.time_to_scan());
    }
}

/// Ends the background processes of a job's previous attempt, because two attempts of one job must never overlap.
///
/// True when none is left. False as soon as the next attempt is asked to stop or may no longer start.
pub fn end_previous_attempt(
    previous: Option<AttemptTag>,
    grace: Duration,
    start_before: Option<Instant>,
    control: &Control,
    on_notice: &mut dyn FnMut(String),
) -> bool {
    let mut termination = previous
        .map(|tag| Termination::prepare(vec![Target { tag, group: ProcessGroup::Unknown }]))
        .filter(|termination| !termination.last_scan.is_clean());
    if let Some(termination) = &mut termination {
        termination.begin(grace);
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
        let tag = AttemptTag::new(&format!("test-{}", std::process::id()), 1, 1);
        let mut termination = Termination::prepare(vec![Target { tag, group: ProcessGroup::Unknown }]);
        termination.begin(grace);
        termination
    }

    fn long_ago() -> Instant {
        Instant::now().checked_sub(STUCK_AFTER).unwrap()
    }

    #[test]
    fn a_stuck_process_is_noticed_once() {
        let mut stuck = termination(Duration::ZERO);
        let left = |pid| Traced {
            identity: Identity { pid, start_ticks: 1 },
            target: 0,
            in_pinned_group: false,
            evidence: Evidence::Certain,
        };
        stuck.last_scan.traced = vec![left(100_001), left(100_002)];
        assert_eq!(stuck.notice(), None);
        stuck.phase = TerminationPhase::Killing { start: long_ago(), since: long_ago(), after_grace: false };
        let words = "processes 100001, 100002 cannot be ended: SIGKILL was sent 5 s ago";
        assert_eq!(stuck.notice().as_deref(), Some(words));
        assert_eq!(stuck.notice(), None);
    }

    #[test]
    fn scans_that_fail_for_long_are_noticed_once() {
        let mut failing = termination(Duration::ZERO);
        failing.failing_since = Some(Instant::now());
        assert_eq!(failing.notice(), None);
        failing.failing_since = Some(long_ago());
        assert!(failing.notice().unwrap().contains("cannot be looked for"));
        assert_eq!(failing.notice(), None);
        failing.step();
        assert_eq!(failing.failing_since, None, "a scan that succeeds ends it");
    }

    #[test]
    fn time_without_a_process_does_not_count_as_killing() {
        let mut killing = termination(Duration::ZERO);
        killing.phase =
            TerminationPhase::Killing { start: long_ago(), since: long_ago(), after_grace: false };
        killing.step();
        assert!(!killing.is_killing_for(STUCK_AFTER));
    }

    #[test]
    fn the_next_scan_is_not_later_than_the_end_of_the_grace_period() {
        let mut resting = termination(Duration::from_secs(10));
        resting.pause = Duration::from_secs(100);
        resting.step();
        assert_eq!(TerminationPhase::Grace { until: resting.scan_at() }, resting.phase);
        assert_eq!(resting.pause, MAX_SCAN_PAUSE);
        resting.kill_now();
        assert!(resting.is_due());
    }
}
