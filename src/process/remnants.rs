//! What an attempt that ended by itself leaves in its process group: remembered for the next attempt of its job.
//!
//! A process that clears its environment loses its mark, and with the leader its descent. Who it was can only be seen
//! while the group is still known to be the attempt's: right after the leader was reaped.

use rustix::process::{Pid, test_kill_process_group};

use super::Identity;
use super::scan::pids;
use super::stat::Stat;

/// The members of a group whose leader was reaped a moment ago; mostly none, which one call to the kernel tells.
///
/// As long as one is left, the number of the group is no process's. So if a process has it, the group had died out, and
/// whoever is in it now belongs to somebody else.
pub(super) fn of_group(leader: Identity) -> Vec<Identity> {
    let Some(group) = Pid::from_raw(leader.pid) else {
        return Vec::new();
    };
    // Asks whether anybody is in it, and signals nobody. One that may not be signalled is somebody, too.
    if matches!(test_kill_process_group(group), Err(rustix::io::Errno::SRCH)) {
        return Vec::new();
    }
    let members = pids().filter_map(|(pid, _)| Stat::of(pid)).filter(|each| each.group == leader.pid);
    let members: Vec<Stat> = members.filter(|each| !each.gone).collect();
    if members.iter().any(|each| each.pid == leader.pid) || Stat::of(leader.pid).is_some() {
        return Vec::new();
    }
    members.iter().map(Stat::identity).collect()
}
