//! The first process of an attempt: the leader of its group, and our child.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::model::Status;

use super::{Identity, orphans};

/// A child that is reaped only when nothing of its group is to be signalled any more: while it is a zombie, its
/// number and that of its group cannot become another's.
#[derive(Debug)]
pub(super) struct Leader {
    child: Child,
    pid: Pid,
    identity: Identity,
    /// Becomes readable when it ends. None where there are no such handles, or none left.
    handle: Option<OwnedFd>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Seen(Status),
    /// Somebody else reaped it: its number is free.
    Unseen,
}

impl Leader {
    pub fn new(child: Child) -> Self {
        let pid = Pid::from_child(&child);
        let number = pid.as_raw_nonzero().get();
        Self {
            child,
            pid,
            identity: Identity::of(number).unwrap_or(Identity { pid: number, start_ticks: 0 }),
            handle: open(pid),
        }
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// To wait for its end.
    pub fn handle(&self) -> Option<BorrowedFd<'_>> {
        self.handle.as_ref().map(AsFd::as_fd)
    }

    /// How it ended, if it has; it stays a zombie.
    pub fn end(&self) -> Option<End> {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid), how) {
            Ok(ended) => {
                let ended = ended?;
                let exited = ended.exit_status().map(Status::Exited);
                let status = exited.or_else(|| ended.terminating_signal().map(Status::Signaled));
                status.map(End::Seen)
            }
            Err(Errno::CHILD) => Some(End::Unseen),
            Err(_) => None,
        }
    }

    /// Reaps it; waits for it, if it has not ended.
    pub fn reap(mut self) -> io::Result<()> {
        orphans::give_up_own(self.identity.pid);
        self.child.wait().map(drop)
    }
}

#[cfg(target_os = "linux")]
fn open(pid: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open(_pid: Pid) -> Option<OwnedFd> {
    None
}
