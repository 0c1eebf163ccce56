//! Which processes belong to an attempt: by group, by descent, and by the mark in their environment.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};

use rustix::io::Errno;

use super::{Identity, Mark, stat::Stat};

/// An attempt whose processes are looked for.
#[derive(Clone, Debug)]
pub(super) struct Sought {
    pub mark: Mark,
    pub group: Group,
}

/// What is known of its process group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Group {
    /// The leader is our child and not reaped: the number cannot be another's.
    Pinned(Identity),
    /// From a record. The leader may be gone, and its number another's by now.
    Recorded(Identity),
    Unknown,
}

/// A process that belongs to an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traced {
    pub identity: Identity,
    /// Whose it is: an index into what was sought.
    pub of: usize,
    /// A signal to the pinned group reaches it.
    pub in_pinned_group: bool,
}

/// What a look through `/proc` found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those that still run: zombies are gone.
    pub traced: Vec<Traced>,
    /// A process showed no environment, as it does for a moment during exec: a second look may know it.
    pub doubtful: bool,
    /// The look itself failed, for want of descriptors or memory: nobody can say that none is left.
    pub failed: bool,
}

/// Looks once through all processes. `known` are those traced before: what lost its parent since, and shows no
/// mark, is still known by its identity.
pub(super) fn scan(sought: &[Sought], known: &HashMap<Identity, usize>) -> Found {
    let mut found = Found { failed: !can_look(), ..Found::default() };
    let processes: Vec<Stat> =
        pids().filter_map(|(pid, _)| Stat::of(pid)).filter(|process| !process.kernel).collect();
    let by_pid: HashMap<i32, usize> = processes.iter().map(|each| each.pid).zip(0..).collect();
    // What is older than all leaders is nobody's child.
    let since = sought.iter().map(|each| each.group.since()).min();
    let mut environ = Vec::new();

    let mut owners: Vec<Option<usize>> = Vec::with_capacity(processes.len());
    for process in &processes {
        let owner = if process.gone || Some(process.start_ticks) < since || is_self(process.pid) {
            None
        } else if let Some(owner) = known.get(&process.identity()) {
            Some(*owner)
        } else {
            let read = read_environ(process.pid, &mut environ);
            found.failed |= read.as_ref().is_err_and(lacks_something);
            let readable = read.is_ok();
            let mark = Mark::find(&environ);
            let owner = sought.iter().position(|each| {
                mark.as_ref() == Some(&each.mark)
                    || each.group.holds(process, mark.as_ref(), |pid| {
                        by_pid.get(&pid).map(|index| processes[*index].identity())
                    })
            });
            found.doubtful |= owner.is_none() && readable && environ.is_empty();
            owner
        };
        owners.push(owner);
    }
    inherit(&processes, &by_pid, &mut owners);
    // What was lacking for a moment may have been lacking in between.
    found.failed |= !can_look();

    let traced = processes.iter().zip(owners).filter_map(|(process, owner)| {
        let of = owner?;
        Some(Traced {
            identity: process.identity(),
            of,
            in_pinned_group: matches!(sought[of].group, Group::Pinned(leader) if leader.pid == process.group),
        })
    });
    found.traced.extend(traced);
    found
}

/// Are there descriptors to read a process with? The directory and a file in it are open at once.
pub(super) fn can_look() -> bool {
    let looked = std::fs::read_dir("/proc").and_then(|_open| File::open("/proc/self/stat").map(drop));
    !looked.is_err_and(|error| lacks_something(&error))
}

/// The process or the machine has no descriptors or memory left: that tells nothing of what was to be read.
fn lacks_something(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

/// Gives the children of each owned process to its owner, down to the last descendant.
fn inherit(processes: &[Stat], by_pid: &HashMap<i32, usize>, owners: &mut [Option<usize>]) {
    let mut changed = true;
    while changed {
        changed = false;
        for (index, process) in processes.iter().enumerate() {
            if owners[index].is_some() || process.gone || is_self(process.pid) {
                continue;
            }
            let parent = by_pid.get(&process.parent);
            owners[index] = parent.and_then(|parent| owners[*parent]);
            changed |= owners[index].is_some();
        }
    }
}

impl Group {
    /// No process of the attempt started before this.
    fn since(self) -> u64 {
        match self {
            Self::Pinned(leader) | Self::Recorded(leader) => leader.start_ticks,
            Self::Unknown => 0,
        }
    }

    fn holds(self, process: &Stat, mark: Option<&Mark>, now_at: impl Fn(i32) -> Option<Identity>) -> bool {
        match self {
            Self::Pinned(leader) => process.group == leader.pid,
            // The number of a group is not given out again while anyone is in the group. So members are the
            // leader's unless the group died out: then they are older than the leader, or the number is
            // another process's by now, or they are marked as another attempt's.
            Self::Recorded(leader) => {
                process.group == leader.pid
                    && process.start_ticks >= leader.start_ticks
                    && now_at(leader.pid).is_none_or(|now| now == leader)
                    && mark.is_none()
            }
            Self::Unknown => false,
        }
    }
}

/// The runner itself is never an attempt's, also where it was started by a job.
fn is_self(pid: i32) -> bool {
    u32::try_from(pid) == Ok(std::process::id())
}

/// All processes: their numbers, and the numbers of their directories under `/proc`. None without `/proc`.
pub(super) fn pids() -> impl Iterator<Item = (i32, u64)> {
    use std::os::unix::fs::DirEntryExt;
    std::fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
        let entry = entry.ok()?;
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, entry.ino()))
    })
}

/// Reads the environment of a process into `environ`, whose memory is used again and again.
pub(super) fn read_environ(pid: i32, environ: &mut Vec<u8>) -> io::Result<()> {
    environ.clear();
    let mut read = |path: String| File::open(path)?.read_to_end(environ);
    let of_first = read(format!("/proc/{pid}/environ"));
    let has_none = match &of_first {
        Ok(bytes) => *bytes == 0,
        Err(error) => error.raw_os_error() == Some(Errno::SRCH.raw_os_error()),
    };
    if !has_none {
        return of_first.map(drop);
    }
    // Where the first thread has ended, the others still show it.
    let is_shown = threads(pid)
        .any(|thread| read(format!("/proc/{pid}/task/{thread}/environ")).is_ok_and(|bytes| bytes > 0));
    if is_shown { Ok(()) } else { of_first.map(drop) }
}

fn threads(pid: i32) -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, start_ticks: u64) -> Stat {
        Stat { pid, parent, group: 10, gone: false, kernel: false, start_ticks }
    }

    fn identity(pid: i32, start_ticks: u64) -> Identity {
        Identity { pid, start_ticks }
    }

    #[test]
    fn a_recorded_group_is_held_only_while_its_number_can_be_no_others() {
        let group = Group::Recorded(identity(10, 100));
        let nobody = |_| None;
        assert!(group.holds(&process(11, 1, 100), None, nobody));
        let leader = |_| Some(identity(10, 100));
        assert!(group.holds(&process(11, 1, 150), None, leader));

        let other = |_| Some(identity(10, 120));
        assert!(!group.holds(&process(11, 1, 150), None, other));
        assert!(!group.holds(&process(11, 1, 99), None, nobody), "older");
        let mark = Mark { worker_id: "another".into(), job_id: 1, attempt: 1 };
        assert!(!group.holds(&process(11, 1, 150), Some(&mark), nobody));
        let elsewhere = Stat { group: 12, ..process(11, 1, 150) };
        assert!(!group.holds(&elsewhere, None, nobody));
    }

    #[test]
    fn descendants_are_owned_in_whatever_order_they_are_listed() {
        let processes =
            [process(5, 6, 3), process(6, 7, 2), process(7, 1, 1), process(8, 9, 1), process(9, 1, 1)];
        let by_pid = processes.iter().map(|each| each.pid).zip(0..).collect();
        let mut owners = [None, None, Some(4), None, None];
        inherit(&processes, &by_pid, &mut owners);
        assert_eq!(owners, [Some(4), Some(4), Some(4), None, None]);
    }
}
