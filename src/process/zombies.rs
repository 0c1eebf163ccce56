//! In a container a worker may be process 1: then every orphan of a job becomes its child and has to be reaped.

use std::collections::BTreeSet;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::procfs::zombie_children;

/// Reaps inherited children that have ended. Does nothing unless this is process 1.
#[derive(Debug, Default)]
pub struct ZombieReaper {
    seen: BTreeSet<i32>,
}

impl ZombieReaper {
    /// Reaps the zombies that the last call also found, and that are not `own`: slots reap their own children. A child
    /// that was just started is known to be the worker's own by the next call. Call it about once a second.
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
