//! For the suites: a wall clock that can be set. Loaded with `LD_PRELOAD` before the C library, it adds the number of
//! milliseconds that stands in the file `$CLOCK_OFFSET` to the wall clock, and leaves every other clock alone.
//!
//! The program itself knows nothing of it: what is tested is what is released.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "it takes the place of a function of the C library")]

use std::env;
use std::fs;

/// What the file says; 0 where it cannot be read.
fn offset() -> i64 {
    let path = env::var_os("CLOCK_OFFSET");
    let text = path.and_then(|path| fs::read_to_string(path).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// As `clock_gettime(2)`, with the wall clock set.
///
/// # Safety
///
/// As of the function whose place it takes: `at` points to a `timespec` that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, at: *mut libc::timespec) -> libc::c_int {
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
