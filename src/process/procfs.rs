//! What `/proc` tells of a process: which one it is, whether it lives, whose it is. Which attempt it belongs to is in `scan`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, geteuid, pidfd_open, pidfd_send_signal, waitid,
};

use super::ids::session_of;

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

/// The process that was started for an attempt. It leads a process group, in the session of its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    pub process: Identity,
    /// None in what version 1.0 has recorded.
    pub session: Option<i32>,
}

impl Leader {
    /// Our child that has this pid.
    pub(super) fn of_child(pid: Pid) -> Self {
        let raw = pid.as_raw_nonzero().get();
        // `/proc` may hide a child that runs with the rights of another user. Then nobody knows its start time.
        let process = Identity::of(raw).unwrap_or(Identity { pid: raw, start_ticks: 0 });
        Self { process, session: session_of(raw) }
    }

    /// Whether a member of the leader's group is in a session in which the group can be. A group never leaves its session.
    pub(super) fn may_be_in(&self, session: i32) -> bool {
        // The leader of a group cannot become the leader of a session, so this is no session of the attempt.
        self.session.map_or(session != self.process.pid, |recorded| session == recorded)
    }
}

/// Whether the process that has this pid now is stopped by a signal.
pub fn is_stopped(pid: i32) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.stopped)
}

/// Whether the file of this process's program has been replaced or removed since its start. False if that cannot be seen.
pub fn is_program_replaced(pid: i32) -> bool {
    // proc_pid_exe(5): " (deleted)" is appended to the path.
    fs::read_link(format!("/proc/{pid}/exe"))
        .is_ok_and(|path| path.as_os_str().as_encoded_bytes().ends_with(b" (deleted)"))
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
    pub session: i32,
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
            session: field(6)?.parse().ok()?,
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

/// Whether a process belongs to the user of this worker or to root. The real user counts, because everybody can start a program
/// that takes the rights of root.
pub(super) fn is_of_us_or_root(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    real_user(&status).is_some_and(|user| user == 0 || user == geteuid().as_raw())
}

/// The real user in the text of `/proc/PID/status`.
fn real_user(status: &str) -> Option<u32> {
    // The name of the program, in the first line, has its line breaks escaped.
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_ascii_whitespace().next()?.parse().ok()
}

/// Checks that `/proc` can be read now, by opening as much as a scan does: the directory and one file.
pub(super) fn is_readable() -> bool {
    let read = fs::read_dir("/proc").and_then(|_open| File::open("/proc/self/stat").map(drop));
    !read.is_err_and(|error| is_read_shortage(&error))
}

/// Whether this error is about descriptors, memory or threads, and not about the file.
pub(super) fn is_read_shortage(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

/// The worker itself is never part of an attempt, even if a job started it.
pub(super) fn is_self(pid: i32) -> bool {
    u32::try_from(pid) == Ok(std::process::id())
}

pub(super) fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
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

    #[test]
    fn the_real_user_counts() {
        assert_eq!(real_user("Name:\tx\nUid:\t1000\t0\t0\t0\nGid:\t1\t2\t3\t4\n"), Some(1000));
        assert_eq!(real_user("Name:\tUid:\n"), None);
        assert!(is_of_us_or_root(std::process::id().cast_signed()));
    }
}
