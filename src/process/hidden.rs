//! Processes that `/proc` does not show: a file system that is mounted with `hidepid`, as `ProtectProc` of systemd does it, hides
//! those of other users, so also what a job runs with the rights of another user. The kernel still tells whether they are there.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process_group};

use super::control::wait_readable;
use super::ids::{group_of, session_of};
use super::procfs::{Leader, Stat};

/// The highest pid there can be (`PID_MAX_LIMIT`), where the kernel's own limit cannot be read.
const MAX_PID: i32 = 4 << 20;

/// The pids of the living processes of a leader's group that `/proc` does not show. To find none is cheap where the group is
/// gone or `/proc` shows everything; else every pid is asked for, which takes up to half a second.
pub(super) fn members_of(leader: &Leader) -> Vec<i32> {
    if !exists(leader.process.pid) || !hides_processes() {
        return Vec::new();
    }
    let limit = fs::read_to_string("/proc/sys/kernel/pid_max").ok().and_then(|text| text.trim().parse().ok());
    let pids = 2..=limit.unwrap_or(MAX_PID);
    pids.filter(|pid| is_member(*pid, leader)).collect()
}

/// Signals a hidden member of a leader's group.
pub(super) fn signal_member(pid: i32, leader: &Leader, signal: Signal) {
    if let Some(pidfd) = open_member(pid, leader) {
        // A refusal does not matter, because the next look shows what is left.
        let _ = pidfd_send_signal(pidfd, signal);
    }
}

/// Whether the leader of an attempt lives. A zombie does not.
pub fn is_leader_alive(leader: &Leader) -> bool {
    leader.process.is_alive() || is_member(leader.process.pid, leader)
}

/// Whether this process is a hidden, living member of a leader's group.
fn is_member(pid: i32, leader: &Leader) -> bool {
    open_member(pid, leader).is_some()
}

/// Opens this process if it is a hidden, living member of the group.
fn open_member(pid: i32, leader: &Leader) -> Option<OwnedFd> {
    let process = Pid::from_raw(pid)?;
    let is_member = || {
        group_of(pid) == Some(leader.process.pid)
            && session_of(pid).is_some_and(|session| leader.may_be_in(session))
    };
    if !is_member() || Stat::of(pid).is_some() {
        return None;
    }
    let pidfd = pidfd_open(process, PidfdFlags::empty()).ok()?;
    // The pid may have been reused before it was opened. A process that has ended makes its descriptor readable.
    let [has_ended] = wait_readable([Some(pidfd.as_fd())], Some(Duration::ZERO));
    (!has_ended && is_member()).then_some(pidfd)
}

/// Whether the kernel knows of a process in this group, be it a zombie.
fn exists(group: i32) -> bool {
    Pid::from_raw(group).is_some_and(|group| test_kill_process_group(group) != Err(Errno::SRCH))
}

/// Whether `/proc` is mounted so that it may hide processes, or cannot be read.
fn hides_processes() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo");
    mounts.map_or(true, |mounts| hides(&mounts))
}

/// Whether the options of `/proc` in this list hide processes; proc(5) has the list's form. The last mount of a path counts.
fn hides(mounts: &str) -> bool {
    let of_proc = mounts.lines().rfind(|line| line.split(' ').nth(4) == Some("/proc"));
    let options = of_proc.and_then(|line| line.rsplit(' ').next()).unwrap_or_default();
    options
        .split(',')
        .filter_map(|option| option.strip_prefix("hidepid="))
        .any(|how| how != "0" && how != "off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_proc_tell_whether_it_hides_processes() {
        let line = |options: &str| format!("22 30 0:21 / /proc rw,nosuid shared:14 - proc proc {options}\n");
        for shown in ["rw", "rw,hidepid=0", "rw,hidepid=off"] {
            assert!(!hides(&line(shown)), "{shown}");
        }
        for hidden in
            ["rw,hidepid=2", "rw,gid=4,hidepid=invisible", "rw,hidepid=ptraceable", "rw,hidepid=noaccess"]
        {
            assert!(hides(&line(hidden)), "{hidden}");
            assert!(!hides(&(line(hidden) + &line("rw"))), "the last mount covers the first");
        }
        assert!(!hides("23 30 0:22 / /sys rw - sysfs sysfs rw,hidepid=2\n"));
    }
}
