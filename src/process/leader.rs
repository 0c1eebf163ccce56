//! The first process of an attempt: the leader of its group, and our child.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use crate::model::Status;

use super::{Identity, orphans, remnants};

/// A child that is reaped only when nothing of its group is to be signalled any more: while it is a zombie, its
/// number and that of its group cannot become another's.
#[derive(Debug)]
pub(super) struct Leader {
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
    pub fn new(pid: Pid, handle: Option<OwnedFd>, identity: Identity) -> Self {
        Self { pid, identity, handle }
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

    /// Reaps it; waits for it, if it has not ended. Gives who is left in its group.
    pub fn reap(self) -> Vec<Identity> {
        orphans::give_up_own(self.identity.pid);
        let reaped = retry_on_intr(|| waitpid(Some(self.pid), WaitOptions::empty()));
        // Where somebody else reaped it, its number may have been another's for long.
        reaped.map_or_else(|_| Vec::new(), |_| remnants::of_group(self.identity))
    }
}
