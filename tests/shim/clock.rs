//! A wall clock that can be set.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use crate::config::variable;

/// The milliseconds in the file `CLOCK_OFFSET`; 0 without such a file.
fn offset() -> i64 {
    static PATH: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let path = PATH.get_or_init(|| variable(c"CLOCK_OFFSET"));
    let text = path.as_ref().and_then(|path| std::fs::read_to_string(OsStr::from_bytes(path)).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, at: *mut libc::timespec) -> libc::c_int {
    // SAFETY: the kernel checks the pointer that the caller vouches for, and writes all of it or fails.
    let done = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, at) };
    if done == 0 && clock == libc::CLOCK_REALTIME {
        // SAFETY: the kernel has just written there.
        let at = unsafe { &mut *at };
        let offset = offset();
        let nanoseconds = at.tv_nsec + offset % 1_000 * 1_000_000;
        at.tv_sec += offset / 1_000 + nanoseconds.div_euclid(1_000_000_000);
        at.tv_nsec = nanoseconds.rem_euclid(1_000_000_000);
    }
    if done == 0 { 0 } else { -1 }
}
