//! The group and the session of a process, as the kernel tells them.
//!
//! The code is unsafe because rustix does not know that either may be 0: those of another pid namespace are.
#![allow(unsafe_code)]

/// The process group of a process; 0: one of another pid namespace.
pub(super) fn group_of(pid: i32) -> Option<i32> {
    // SAFETY: the call takes and gives a number.
    Some(unsafe { libc::getpgid(pid) }).filter(|group| *group >= 0)
}

/// The session of a process; 0: one of another pid namespace.
pub(super) fn session_of(pid: i32) -> Option<i32> {
    // SAFETY: the call takes and gives a number.
    Some(unsafe { libc::getsid(pid) }).filter(|session| *session >= 0)
}
