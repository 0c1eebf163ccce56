//! Finds the processes of attempts.
//!
//! A process belongs to an attempt by its process group, by descent, or by the [`AttemptTag`] in its environment. How the
//! processes of an attempt are ended is in `terminate`, and what the kernel tells of those that `/proc` hides in `hidden`.

use std::collections::HashMap;

use super::environ;
use super::hidden;
use super::procfs::{Identity, Leader, Stat, is_of_us_or_root, is_read_shortage, is_readable, is_self, pids};
use super::tag::{AttemptTag, Marks};

/// An attempt whose processes are to be found.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub tag: AttemptTag,
    pub group: ProcessGroup,
}

/// An attempt's process group, as far as runner can be sure of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProcessGroup {
    /// The leader is our unreaped child: the group id cannot be reused.
    Pinned(Leader),
    /// The leader is on record. It may be gone, and its pid reused.
    Recorded(Leader),
    Unknown,
}

/// A process that belongs to a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traced {
    pub identity: Identity,
    /// An index into the targets.
    pub target: usize,
    /// A signal to the pinned group reaches it.
    pub in_pinned_group: bool,
    pub evidence: Evidence,
}

/// What a process was traced by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// It is one of the attempt's.
    Certain,
    /// It is in the pinned group, and that is all: a process of another user, without a mark. Any process of the worker's
    /// session may have joined the group.
    GroupAlone,
    /// It is in the group, and `/proc` hides it.
    Hidden,
}

#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The living processes of the targets.
    pub traced: Vec<Traced>,
    /// A process showed no environment, as it does for a moment during exec: the next scan may know it.
    pub uncertain: bool,
    /// Descriptors or memory were short while `/proc` was read, so that there may be more processes.
    pub failed: bool,
}

impl Scan {
    pub fn found_none(&self) -> bool {
        self.traced.is_empty() && !self.failed
    }

    /// No process of the targets lives, for certain.
    pub fn is_clean(&self) -> bool {
        self.found_none() && !self.uncertain
    }
}

/// Finds the living processes of the targets: by group, by descent, and by the mark in their environment.
///
/// `known` are the processes that earlier scans traced, because a process may have lost its parent since, and show no mark.
pub(super) fn scan(targets: &[Target], known: &HashMap<Identity, usize>) -> Scan {
    let mut scan = Scan { failed: !is_readable(), ..Scan::default() };
    let processes: Vec<Stat> =
        pids().filter_map(Stat::of).filter(|process| !process.is_kernel_thread).collect();
    let by_pid: HashMap<i32, usize> = processes.iter().map(|each| each.pid).zip(0..).collect();
    let identity_of = |pid| by_pid.get(&pid).map(|index| processes[*index].identity());
    // No process of a target is older than the oldest leader.
    let since = targets.iter().map(|each| each.group.since()).min();
    let mut owners: Vec<Option<usize>> = vec![None; processes.len()];
    let mut environs = environ::Reader::new();
    for (process, owner) in processes.iter().zip(&mut owners) {
        if process.gone || Some(process.start_ticks) < since || is_self(process.pid) {
            continue;
        }
        *owner = known.get(&process.identity()).copied();
        if owner.is_some() {
            continue;
        }
        let environ = environs.read(process.identity());
        scan.failed |= environ.as_ref().is_err_and(is_read_shortage);
        let marks = environ.as_deref().map(Marks::find).unwrap_or_default();
        *owner = targets
            .iter()
            .position(|each| marks.hold(&each.tag) || each.group.holds(process, marks, identity_of));
        // A child of this worker that is in its exec belongs to another slot. A worker that is process 1 cannot tell, because
        // it inherits children.
        let is_another_slots = is_self(process.parent) && process.parent != 1;
        scan.uncertain |= owner.is_none() && !is_another_slots && environ.is_ok_and(|bytes| bytes.is_empty());
    }
    add_descendants(&processes, &by_pid, &mut owners);
    // Looks a second time, so that a shortage that came or went during the scan is seen.
    scan.failed |= !is_readable();
    for (process, owner) in processes.iter().zip(owners) {
        let is_in_pinned_group = |target: &usize| targets[*target].group.is_pinned_to(process.group);
        let may_be_of = |target: &usize| {
            is_in_pinned_group(target) && process.start_ticks >= targets[*target].group.since()
        };
        let joined = || (0..targets.len()).find(may_be_of).filter(|_| !process.gone && !is_self(process.pid));
        let evidence = if owner.is_some() { Evidence::Certain } else { Evidence::GroupAlone };
        if let Some(target) = owner.or_else(joined) {
            let (identity, in_pinned_group) = (process.identity(), is_in_pinned_group(&target));
            scan.traced.push(Traced { identity, target, in_pinned_group, evidence });
        }
    }
    for (target, each) in targets.iter().enumerate() {
        // As long as `/proc` shows a process, the hidden ones do not matter.
        if scan.traced.iter().all(|traced| traced.target != target) {
            scan.traced.extend(hidden_members(each.group, target));
        }
    }
    scan
}

/// The living members of a group that `/proc` hides.
fn hidden_members(group: ProcessGroup, target: usize) -> Vec<Traced> {
    let (ProcessGroup::Pinned(leader) | ProcessGroup::Recorded(leader)) = group else { return Vec::new() };
    let in_pinned_group = matches!(group, ProcessGroup::Pinned(_));
    let traced = |pid| Traced {
        identity: Identity { pid, start_ticks: 0 },
        target,
        in_pinned_group,
        evidence: Evidence::Hidden,
    };
    hidden::members_of(&leader).into_iter().map(traced).collect()
}

/// Gives the descendants of each owned process to its owner. Who is older than the process with its parent's pid is no child of
/// that: the pid was reused.
fn add_descendants(processes: &[Stat], by_pid: &HashMap<i32, usize>, owners: &mut [Option<usize>]) {
    let mut changed = true;
    while changed {
        changed = false;
        for (index, process) in processes.iter().enumerate() {
            if owners[index].is_some() || process.gone || is_self(process.pid) {
                continue;
            }
            let is_younger = |parent: &&usize| processes[**parent].start_ticks <= process.start_ticks;
            let parent = by_pid.get(&process.parent).filter(is_younger);
            owners[index] = parent.and_then(|parent| owners[*parent]);
            changed |= owners[index].is_some();
        }
    }
}

impl ProcessGroup {
    /// No process of the attempt started before this.
    fn since(self) -> u64 {
        match self {
            Self::Pinned(leader) | Self::Recorded(leader) => leader.process.start_ticks,
            Self::Unknown => 0,
        }
    }

    fn is_pinned_to(self, group: i32) -> bool {
        matches!(self, Self::Pinned(leader) if leader.process.pid == group)
    }

    /// Whether a process is certainly of this group's attempt: it is the leader, or a member of the group that nobody else can
    /// have put there.
    fn holds(self, process: &Stat, marks: Marks<'_>, identity_of: impl Fn(i32) -> Option<Identity>) -> bool {
        match self {
            // Every process of the session may join the group, also one of a job that runs as another user.
            Self::Pinned(leader) => {
                process.group == leader.process.pid
                    && (process.pid == leader.process.pid || is_of_us_or_root(process.pid))
            }
            // The id of a group is reused only after all its members have ended. That has happened if a member is older
            // than the leader, in another session, or has the mark of another attempt, or if another process has the leader's
            // pid now. Another user may do that on purpose.
            Self::Recorded(leader) => {
                let is_leader = |now| now == leader.process || leader.process.start_ticks == 0;
                process.identity() == leader.process
                    || process.group == leader.process.pid
                        && process.start_ticks >= leader.process.start_ticks
                        && leader.may_be_in(process.session)
                        && identity_of(leader.process.pid).is_none_or(is_leader)
                        && !marks.is_any()
                        && is_of_us_or_root(process.pid)
            }
            Self::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, start_ticks: u64) -> Stat {
        let (gone, stopped, is_kernel_thread) = (false, false, false);
        Stat { pid, parent, group: 10, session: 5, gone, stopped, is_kernel_thread, start_ticks }
    }

    #[test]
    fn a_recorded_group_is_trusted_only_while_its_id_cannot_be_reused() {
        let leader = Leader { process: Identity { pid: 10, start_ticks: 100 }, session: Some(5) };
        let group = ProcessGroup::Recorded(leader);
        // The user counts, so the processes are those of this test.
        let me = std::process::id().cast_signed();
        let (none, nobody) = (Marks::default(), |_| None);
        assert!(group.holds(&process(me, 1, 100), none, nobody));
        assert!(group.holds(&process(me, 1, 150), none, |_| Some(leader.process)));
        assert!(group.holds(&process(10, 1, 100), none, nobody), "the leader itself, whoever owns it");

        let other = |_| Some(Identity { pid: 10, start_ticks: 120 });
        assert!(!group.holds(&process(me, 1, 150), none, other));
        assert!(!group.holds(&process(me, 1, 99), none, nobody), "older");
        assert!(!group.holds(&process(me, 1, 150), Marks::find(b"RUNNER_ATTEMPT_MARK=x"), nobody));
        assert!(!group.holds(&Stat { group: 12, ..process(me, 1, 150) }, none, nobody));
        assert!(!group.holds(&Stat { session: 6, ..process(me, 1, 150) }, none, nobody));
        assert!(!group.holds(&process(i32::MAX, 1, 150), none, nobody), "nobody knows whose it is");

        let of_version_1_0 = ProcessGroup::Recorded(Leader { session: None, ..leader });
        assert!(of_version_1_0.holds(&process(me, 1, 150), none, nobody));
        let daemon = Stat { session: 10, ..process(me, 1, 150) };
        assert!(!of_version_1_0.holds(&daemon, none, nobody), "a leader of a group leads no session");
    }

    #[test]
    fn descendants_are_found_in_whatever_order_they_are_listed() {
        let processes =
            [process(5, 6, 3), process(6, 7, 2), process(7, 1, 1), process(8, 9, 1), process(9, 1, 1)];
        assert_eq!(owners_of(&processes, 2), [Some(4), Some(4), Some(4), None, None]);
    }

    #[test]
    fn a_process_that_is_older_than_the_one_with_its_parents_pid_is_no_child_of_that() {
        let processes = [process(7, 1, 5), process(8, 7, 4), process(9, 7, 5)];
        assert_eq!(owners_of(&processes, 0), [Some(4), None, Some(4)]);
    }

    /// The owners of these processes, one of which is owned by the target 4.
    fn owners_of(processes: &[Stat], owned: usize) -> Vec<Option<usize>> {
        let by_pid = processes.iter().map(|each| each.pid).zip(0..).collect();
        let mut owners = vec![None; processes.len()];
        owners[owned] = Some(4);
        add_descendants(processes, &by_pid, &mut owners);
        owners
    }
}
