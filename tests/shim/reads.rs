//! What reads files. Nothing of it is recorded.

use libc::{c_int, c_void, off64_t, size_t, ssize_t};

use crate::config::config;
use crate::{faults, kernel};

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, into: *mut c_void, count: size_t) -> ssize_t {
    // SAFETY: the caller's buffer, or less of it.
    let call = |count: usize| unsafe { libc::syscall(libc::SYS_read, fd, into, count) };
    let done = if config().fault.is_some() && kernel::is_regular(fd) {
        let of_process = kernel::path_of(fd).is_some_and(|path| path.starts_with(b"/proc/"));
        faults::under_partial(if of_process { "proc-read" } else { "read" }, count, call)
    } else {
        call(count)
    };
    done.try_into().unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(fd: c_int, into: *mut c_void, count: size_t, at: off64_t) -> ssize_t {
    // SAFETY: the caller's buffer, or less of it.
    let call = |count: usize| unsafe { libc::syscall(libc::SYS_pread64, fd, into, count, at) };
    faults::under_partial("pread", count, call).try_into().unwrap_or(-1)
}
