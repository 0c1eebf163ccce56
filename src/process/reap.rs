//! Reaps the process of an attempt, and reads what the kernel says of its CPU time and memory.
//!
//! The code is unsafe because neither the standard library nor rustix has wait4(2).
#![allow(unsafe_code)]

use std::fs;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Pid;

use crate::model::{MemoryPeak, ResourceUsage};
use crate::text::Millis;

/// Reaps a child, and waits for its end if need be. None if another part of the program has reaped it.
pub(super) fn reap(child: Pid) -> Option<ResourceUsage> {
    let mut found = MaybeUninit::<libc::rusage>::uninit();
    loop {
        // SAFETY: the status is not asked for, and `found` has room for the account.
        let reaped =
            unsafe { libc::wait4(child.as_raw_nonzero().get(), ptr::null_mut(), 0, found.as_mut_ptr()) };
        if reaped > 0 {
            break;
        }
        if io::Error::last_os_error().kind() != ErrorKind::Interrupted {
            return None;
        }
    }
    // SAFETY: the call succeeded, so it has filled `found`.
    let found = unsafe { found.assume_init() };
    let cpu = millis(found.ru_utime) + millis(found.ru_stime);
    let bytes = u64::try_from(found.ru_maxrss).unwrap_or_default() * 1_024;
    Some(ResourceUsage { cpu: Millis(cpu), memory: MemoryPeak { bytes, is_bound: may_be_ours(bytes) } })
}

fn millis(time: libc::timeval) -> u64 {
    let millis = time.tv_sec * 1_000 + time.tv_usec / 1_000;
    u64::try_from(millis).unwrap_or_default()
}

/// The kernel counts pages on each CPU and adds them up now and then, so two readings of one peak differ by less than this.
const COUNTING_ERROR: u64 = 1 << 20;

/// Whether a peak of this many bytes may be that of this program, with which each of its children begins.
fn may_be_ours(bytes: u64) -> bool {
    /// Our peak when it was last read. It never falls.
    static OURS: AtomicU64 = AtomicU64::new(0);
    let reaches = |peak: u64| bytes <= peak.saturating_add(COUNTING_ERROR);
    if !reaches(OURS.load(Ordering::Relaxed)) {
        OURS.store(own_peak(), Ordering::Relaxed);
    }
    reaches(OURS.load(Ordering::Relaxed))
}

/// The most memory that this program has held, in bytes; without /proc the greatest number.
fn own_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    found.and_then(|kib| kib.parse::<u64>().ok()).map_or(u64::MAX, |kib| kib * 1_024)
}
