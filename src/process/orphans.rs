//! As process 1, in a container, a worker inherits every orphan of its jobs and has to reap it.

use std::collections::BTreeSet;
use std::io;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::scan::pids;
use super::spawn::Spawned;
use super::stat::Stat;

/// The children that slots reap themselves. Held while one is born, so that none is taken for an orphan.
static OWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

static INHERITS_ORPHANS: LazyLock<bool> = LazyLock::new(|| std::process::id() == 1);

fn inherits_orphans() -> bool {
    *INHERITS_ORPHANS
}

/// Starts a child that is not to be taken for an orphan.
pub(super) fn start_own(start: impl FnOnce() -> io::Result<Spawned>) -> io::Result<Spawned> {
    if !inherits_orphans() {
        return start();
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let child = start()?;
    own.insert(child.pid.as_raw_nonzero().get());
    Ok(child)
}

/// A child is about to be reaped, and its number may become another's. Its ending has been seen: nothing is lost if it is
/// taken for an orphan now.
pub(super) fn give_up_own(pid: i32) {
    if inherits_orphans() {
        OWN.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
    }
}

/// Reaps what has ended and was nobody else's. To be called now and then; does nothing but as process 1.
pub fn reap_orphans() {
    if !inherits_orphans() {
        return;
    }
    let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let orphans = pids().filter(|(pid, _)| !own.contains(pid)).filter_map(|(pid, _)| Stat::of(pid));
    for orphan in orphans.filter(|process| process.gone && process.parent == 1) {
        if let Some(pid) = Pid::from_raw(orphan.pid) {
            // Another look comes if it is not to be had yet.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}
