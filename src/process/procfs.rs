//! Finds processes in `/proc`, and tells which attempt each belongs to and whether it lives.
//!
//! A process belongs to an attempt by its process group, by descent, or by the [`AttemptTag`] in its environment. How the
//! processes of an attempt are ended is in `terminate`.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::str::FromStr;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

/// A process, told apart from all others of this boot. A pid alone would not do, because it may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    pub pid: i32,
    /// When it started, in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
}

impl Identity {
    /// The process that has this pid now.
    pub fn of(pid: i32) -> Option<Self> {
        Stat::of(pid).map(|stat| stat.identity())
    }

    /// Whether the process lives. A zombie does not.
    pub fn is_alive(&self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.identity() == *self && !stat.gone)
    }

    /// Signals this process and no other. It is no error if the process is gone.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.pid > 1) else {
            return Ok(());
        };
        // The check comes after the pidfd is opened: if the pid was reused before, the check shows another start time.
        let sent = pidfd_open(pid, PidfdFlags::empty()).and_then(|pidfd| {
            if Self::of(self.pid) == Some(*self) { pidfd_send_signal(pidfd, signal) } else { Ok(()) }
        });
        match sent {
            Err(Errno::SRCH) => Ok(()),
            other => other.map_err(io::Error::from),
        }
    }
}

/// Whether the process that has this pid now is stopped by a signal.
pub fn is_stopped(pid: i32) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.stopped)
}

/// The id of this boot, because identities of another boot mean nothing. Empty if `/proc` cannot be read.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// The fields of `/proc/PID/stat` that runner needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// It runs no code any more, and is at most a zombie.
    pub gone: bool,
    /// It is stopped by a signal, and not by a debugger.
    pub stopped: bool,
    pub is_kernel_thread: bool,
    pub start_ticks: u64,
}

/// `PF_KTHREAD` among the flags of a process.
const PF_KTHREAD: u64 = 0x0020_0000;

impl Stat {
    pub fn of(pid: i32) -> Option<Self> {
        // The fields up to the start time take less than half of this.
        let mut line = [0; 1024];
        let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
        Self::parse(&line[..length])
    }

    fn parse(line: &[u8]) -> Option<Self> {
        // The name is in parentheses and may hold anything, also spaces and parentheses.
        let open = line.iter().position(|byte| *byte == b'(')?;
        let close = line.iter().rposition(|byte| *byte == b')')?;
        let pid = std::str::from_utf8(&line[..open]).ok()?.trim();
        let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().take(20).collect();
        // The numbers are those of proc(5), where the state is field 3.
        let field = |number: usize| fields.get(number - 3).copied();
        let threads: u64 = field(20)?.parse().ok()?;
        Some(Self {
            pid: pid.parse().ok()?,
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            // A main thread that ended before the others looks like a zombie, but the process lives.
            gone: matches!(field(3)?, "Z" | "X" | "x") && threads <= 1,
            stopped: field(3)? == "T",
            is_kernel_thread: field(9)?.parse::<u64>().ok()? & PF_KTHREAD != 0,
            start_ticks: field(22)?.parse().ok()?,
        })
    }

    pub fn identity(&self) -> Identity {
        Identity { pid: self.pid, start_ticks: self.start_ticks }
    }
}

const MARK: &str = "RUNNER_MARK";
const JOB: &str = "RUNNER_JOB_ID";
const ATTEMPT: &str = "RUNNER_ATTEMPT";

/// Three variables in the environment that every process of an attempt inherits.
///
/// The mark is random and never reused, so that job 1 of another database is never taken for this one's. It is secret: the
/// worker's id would not do, because every user of the machine sees it in the names of sockets, and could pass processes off
/// as those of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AttemptTag {
    /// The mark of the worker that runs the attempt.
    pub mark: String,
    pub job_id: i64,
    pub attempt: u32,
}

impl AttemptTag {
    pub(super) fn variables(&self) -> [(&'static str, String); 3] {
        [(MARK, self.mark.clone()), (JOB, self.job_id.to_string()), (ATTEMPT, self.attempt.to_string())]
    }

    /// The tag in an environment block with NUL-terminated entries; none unless all three variables are set.
    pub(super) fn find(environ: &[u8]) -> Option<Self> {
        let (mut mark, mut job_id, mut attempt) = (None, None, None);
        for entry in environ.split(|byte| *byte == 0) {
            // The first of two entries counts, as for getenv(3).
            if !entry.starts_with(b"RUNNER_") {
                continue;
            }
            if let Some(value) = value_of(entry, MARK) {
                mark = mark.or(Some(value));
            } else if let Some(value) = value_of(entry, JOB) {
                job_id = job_id.or(Some(value));
            } else if let Some(value) = value_of(entry, ATTEMPT) {
                attempt = attempt.or(Some(value));
            }
        }
        Some(Self {
            mark: std::str::from_utf8(mark?).ok()?.to_owned(),
            job_id: exactly(job_id?)?,
            attempt: exactly(attempt?)?,
        })
    }
}

fn value_of<'a>(entry: &'a [u8], name: &str) -> Option<&'a [u8]> {
    entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// A number exactly as runner writes it: not `007`, not `+7`.
fn exactly<T: FromStr + fmt::Display>(value: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(value).ok()?;
    let number: T = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

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
    Pinned(Identity),
    /// The leader is on record. It may be gone, and its pid reused.
    Recorded(Identity),
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

/// Finds the living processes of the targets: by group, by descent, and by the tag in their environment.
///
/// `known` are the processes that earlier scans traced, because a process may have lost its parent since, and show no tag.
pub(super) fn scan(targets: &[Target], known: &HashMap<Identity, usize>) -> Scan {
    let mut scan = Scan { failed: !is_readable(), ..Scan::default() };
    let processes: Vec<Stat> =
        pids().filter_map(Stat::of).filter(|process| !process.is_kernel_thread).collect();
    let by_pid: HashMap<i32, usize> = processes.iter().map(|each| each.pid).zip(0..).collect();
    let identity_of = |pid| by_pid.get(&pid).map(|index| processes[*index].identity());
    // No process of a target is older than the oldest leader.
    let since = targets.iter().map(|each| each.group.since()).min();
    let mut owners: Vec<Option<usize>> = vec![None; processes.len()];
    for (process, owner) in processes.iter().zip(&mut owners) {
        if process.gone || Some(process.start_ticks) < since || is_self(process.pid) {
            continue;
        }
        *owner = known.get(&process.identity()).copied();
        if owner.is_some() {
            continue;
        }
        let environ = read_environ(process.pid);
        scan.failed |= environ.as_ref().is_err_and(is_read_shortage);
        let tag = environ.as_deref().ok().and_then(AttemptTag::find);
        *owner = targets.iter().position(|each| {
            tag.as_ref() == Some(&each.tag) || each.group.holds(process, tag.as_ref(), identity_of)
        });
        // A child of this worker that is in its exec belongs to another slot. A worker that is process 1 cannot tell, because
        // it inherits children.
        let is_another_slots = is_self(process.parent) && process.parent != 1;
        scan.uncertain |= owner.is_none() && !is_another_slots && environ.is_ok_and(|bytes| bytes.is_empty());
    }
    add_descendants(&processes, &by_pid, &mut owners);
    // Looks a second time, so that a shortage that came or went during the scan is seen.
    scan.failed |= !is_readable();
    let traced = processes.iter().zip(owners).filter_map(|(process, owner)| {
        let target = owner?;
        let pinned =
            matches!(targets[target].group, ProcessGroup::Pinned(leader) if leader.pid == process.group);
        Some(Traced { identity: process.identity(), target, in_pinned_group: pinned })
    });
    scan.traced.extend(traced);
    scan
}

/// Checks that `/proc` can be read now, by opening as much as a scan does: the directory and one file.
fn is_readable() -> bool {
    let read = fs::read_dir("/proc").and_then(|_open| File::open("/proc/self/stat").map(drop));
    !read.is_err_and(|error| is_read_shortage(&error))
}

/// Whether this error is about descriptors or memory, and not about the file.
fn is_read_shortage(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

/// Gives the descendants of each owned process to its owner.
fn add_descendants(processes: &[Stat], by_pid: &HashMap<i32, usize>, owners: &mut [Option<usize>]) {
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

impl ProcessGroup {
    /// No process of the attempt started before this.
    fn since(self) -> u64 {
        match self {
            Self::Pinned(leader) | Self::Recorded(leader) => leader.start_ticks,
            Self::Unknown => 0,
        }
    }

    fn holds(
        self,
        process: &Stat,
        tag: Option<&AttemptTag>,
        identity_of: impl Fn(i32) -> Option<Identity>,
    ) -> bool {
        match self {
            Self::Pinned(leader) => process.group == leader.pid,
            // The id of a group is reused only after all its members have ended. That has happened if a member is older
            // than the leader, if another process has the leader's pid now, or if a member has the tag of another attempt.
            // Otherwise the members belong to this attempt.
            Self::Recorded(leader) => {
                process.group == leader.pid
                    && process.start_ticks >= leader.start_ticks
                    && identity_of(leader.pid).is_none_or(|now| now == leader)
                    && tag.is_none()
            }
            Self::Unknown => false,
        }
    }
}

/// The worker itself is never part of an attempt, even if a job started it.
fn is_self(pid: i32) -> bool {
    u32::try_from(pid) == Ok(std::process::id())
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Reads the environment that a process was started with. It is empty for a moment during exec.
fn read_environ(pid: i32) -> io::Result<Vec<u8>> {
    let first = fs::read(format!("/proc/{pid}/environ"));
    let has_none = match &first {
        Ok(bytes) => bytes.is_empty(),
        Err(error) => error.raw_os_error() == Some(Errno::SRCH.raw_os_error()),
    };
    if !has_none {
        return first;
    }
    // If the first thread has ended, the others still show the environment.
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_thread = threads.filter_map(|thread| fs::read(thread.path().join("environ")).ok());
    of_thread.into_iter().find(|bytes| !bytes.is_empty()).map_or(first, Ok)
}

/// The pids of the children of this process that have ended.
pub(super) fn zombie_children() -> impl Iterator<Item = i32> {
    let own = std::process::id().cast_signed();
    pids().filter_map(Stat::of).filter(move |each| each.gone && each.parent == own).map(|each| each.pid)
}

/// Reaps inherited children that have ended. Only process 1 has any: in a container a worker may be process 1, and then
/// every orphan of a job becomes its child.
#[derive(Debug, Default)]
pub struct ZombieReaper {
    seen: BTreeSet<i32>,
}

impl ZombieReaper {
    /// Reaps zombies that are not `own`, because slots reap their own children. A zombie is reaped by the second call that
    /// finds it, because a slot may have just started it, and `own` may not know it yet. Call it about once a second.
    pub fn reap(&mut self, own: impl Fn(i32) -> bool) {
        if std::process::id() != 1 {
            return;
        }
        let zombies: BTreeSet<i32> = zombie_children().filter(|pid| !own(*pid)).collect();
        for pid in zombies.intersection(&self.seen).filter_map(|pid| Pid::from_raw(*pid)) {
            // After an error the next call tries again.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
        self.seen = zombies;
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::super::testing::until;
    use super::*;

    #[test]
    fn the_stat_line_is_read_whatever_the_name() {
        let line = b"4711 (a) Z (b c) S 12 34 34 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987 0 0";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.pid, stat.parent, stat.group), (4711, 12, 34));
        assert_eq!((stat.gone, stat.is_kernel_thread, stat.start_ticks), (false, false, 987));
        assert_eq!(Stat::parse(b"1 (x"), None);
        assert_eq!(Stat::parse(b"1 (x) S 1 2"), None);
        // A zombie with living threads is not gone.
        let line = |threads| format!("1 (x) Z 2 3 3 0 -1 0 1 0 0 0 0 0 0 0 20 0 {threads} 0 9 0");
        assert!(Stat::parse(line(1).as_bytes()).unwrap().gone);
        assert!(!Stat::parse(line(2).as_bytes()).unwrap().gone);
    }

    #[test]
    fn a_process_is_alive_until_it_is_a_zombie() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id().cast_signed();
        let identity = Identity::of(pid).unwrap();
        assert!(identity.is_alive());

        let other = Identity { start_ticks: identity.start_ticks + 1, ..identity };
        assert!(!other.is_alive());
        other.signal(Signal::KILL).unwrap();
        assert!(identity.is_alive(), "another process got the signal");

        identity.signal(Signal::KILL).unwrap();
        until("the process to end", || !identity.is_alive());
        assert!(Identity::of(pid).is_some(), "it is a zombie, not yet reaped");
        assert!(zombie_children().any(|zombie| zombie == pid));
        child.wait().unwrap();
        assert_eq!(Identity::of(pid), None);
        identity.signal(Signal::KILL).unwrap();
    }

    fn process(pid: i32, parent: i32, start_ticks: u64) -> Stat {
        Stat { pid, parent, group: 10, gone: false, stopped: false, is_kernel_thread: false, start_ticks }
    }

    #[test]
    fn a_recorded_group_is_trusted_only_while_its_id_cannot_be_reused() {
        let leader = Identity { pid: 10, start_ticks: 100 };
        let group = ProcessGroup::Recorded(leader);
        let nobody = |_| None;
        assert!(group.holds(&process(11, 1, 100), None, nobody));
        assert!(group.holds(&process(11, 1, 150), None, |_| Some(leader)));

        let other = |_| Some(Identity { pid: 10, start_ticks: 120 });
        assert!(!group.holds(&process(11, 1, 150), None, other));
        assert!(!group.holds(&process(11, 1, 99), None, nobody), "older");
        let tag = AttemptTag { mark: "another".into(), job_id: 1, attempt: 1 };
        assert!(!group.holds(&process(11, 1, 150), Some(&tag), nobody));
        assert!(!group.holds(&Stat { group: 12, ..process(11, 1, 150) }, None, nobody));
    }

    #[test]
    fn descendants_are_found_in_whatever_order_they_are_listed() {
        let processes =
            [process(5, 6, 3), process(6, 7, 2), process(7, 1, 1), process(8, 9, 1), process(9, 1, 1)];
        let by_pid = processes.iter().map(|each| each.pid).zip(0..).collect();
        let mut owners = [None, None, Some(4), None, None];
        add_descendants(&processes, &by_pid, &mut owners);
        assert_eq!(owners, [Some(4), Some(4), Some(4), None, None]);
    }

    fn tag() -> AttemptTag {
        AttemptTag { mark: "w-1".into(), job_id: 7, attempt: 2 }
    }

    #[test]
    fn it_reads_back_as_it_was_set() {
        let mut environ = b"HOME=/\0RUNNER_JOB_NAME=x\0".to_vec();
        for (name, value) in tag().variables() {
            environ.extend_from_slice(format!("{name}={value}\0").as_bytes());
        }
        assert_eq!(AttemptTag::find(&environ), Some(tag()));
        environ.extend_from_slice(b"RUNNER_ATTEMPT=9\0");
        assert_eq!(AttemptTag::find(&environ), Some(tag()), "the first counts");
    }

    #[test]
    fn all_three_must_be_there_and_exact() {
        for environ in [
            &b""[..],
            b"RUNNER_MARK=w-1\0RUNNER_JOB_ID=7\0",
            b"RUNNER_MARK=w-1\0RUNNER_JOB_ID=07\0RUNNER_ATTEMPT=2\0",
            b"RUNNER_MARK=w-1\0RUNNER_JOB_ID=+7\0RUNNER_ATTEMPT=2\0",
            b"RUNNER_MARK=w-1\0RUNNER_JOB_ID=7\0RUNNER_ATTEMPT=\0",
            b"XRUNNER_MARK=w-1\0RUNNER_JOB_ID=7\0RUNNER_ATTEMPT=2\0",
        ] {
            assert_eq!(AttemptTag::find(environ), None);
        }
    }
}
