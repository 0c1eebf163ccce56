//! What gives files a name, and what takes it away.

use std::ffi::CStr;

use libc::{c_char, c_int, c_long, mode_t};

use crate::config::{Config, config};
use crate::{faults, kernel};

/// A path as the kernel takes it, from the root on.
///
/// # Safety
/// The path is closed by a NUL.
unsafe fn absolute(dir: c_int, path: *const c_char) -> Vec<u8> {
    // SAFETY: as the caller says.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.starts_with(b"/") {
        return path.to_vec();
    }
    let dir = if dir == libc::AT_FDCWD { kernel::link(c"/proc/self/cwd") } else { kernel::path_of(dir) };
    [dir.unwrap_or_default(), b"/".to_vec(), path.to_vec()].concat()
}

/// Makes a call that names or unnames something, and records it where it did.
fn naming(act: u8, kind: &str, path: &[u8], other: &[u8], call: impl FnOnce() -> c_long) -> c_int {
    let config = config();
    let done = faults::under(kind, || {
        let watched = config.is_watched(path) || config.is_watched(other);
        let Some(journal) = config.recording().filter(|_| watched) else { return call() };
        let turn = journal.turn();
        let done = call();
        if done == 0 {
            turn.record(act, 0, 0, path, other);
        }
        done
    });
    done.try_into().unwrap_or(-1)
}

/// Opens a file, and records that it was created or emptied.
///
/// # Safety
/// The path is closed by a NUL.
unsafe fn opening(config: &Config, dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_long {
    // SAFETY: as the caller says.
    let call = || unsafe { libc::syscall(libc::SYS_openat, dir, path, flags, mode) };
    let changes = flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
    let Some(journal) = config.recording().filter(|_| changes) else { return call() };
    let turn = journal.turn();
    // SAFETY: as the caller says.
    let existed = unsafe { kernel::exists(dir, path) };
    let fd = call();
    let Ok(file) = c_int::try_from(fd) else { return fd };
    if let Some(path) = config.watched(file).filter(|_| file >= 0) {
        let inode = kernel::status(file).map_or(0, |found| found.st_ino);
        if !existed {
            turn.record(b'C', inode, 0, &path, b"");
        } else if flags & libc::O_TRUNC != 0 {
            turn.record(b'T', inode, 0, &path, b"");
        }
    }
    fd
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat64(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's path.
    let of_process = unsafe { CStr::from_ptr(path) }.to_bytes().starts_with(b"/proc/");
    let kind = if of_process { "proc-open" } else { "open" };
    // SAFETY: the caller's path. The mode is an argument that not all callers give: then it is not looked at.
    let fd = faults::under(kind, || unsafe { opening(config(), dir, path, flags, mode) });
    fd.try_into().unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat(dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the same function where files may be large.
    unsafe { openat64(dir, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the same function, from the current directory.
    unsafe { openat64(libc::AT_FDCWD, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the same function where files may be large.
    unsafe { openat64(libc::AT_FDCWD, path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's path.
    let name = unsafe { absolute(libc::AT_FDCWD, path) };
    // SAFETY: the caller's path.
    naming(b'M', "mkdir", &name, b"", || unsafe {
        libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path, mode)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let here = libc::AT_FDCWD;
    // SAFETY: the caller's paths.
    let (old, new) = unsafe { (absolute(here, from), absolute(here, to)) };
    // SAFETY: the caller's paths.
    naming(b'R', "rename", &old, &new, || unsafe {
        libc::syscall(libc::SYS_renameat2, here, from, here, to, 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn linkat(
    from_dir: c_int,
    from: *const c_char,
    to_dir: c_int,
    to: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's paths.
    let (old, new) = unsafe { (absolute(from_dir, from), absolute(to_dir, to)) };
    // SAFETY: the caller's paths.
    naming(b'L', "link", &old, &new, || unsafe {
        libc::syscall(libc::SYS_linkat, from_dir, from, to_dir, to, flags)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlinkat(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's path.
    let name = unsafe { absolute(dir, path) };
    let act = if flags & libc::AT_REMOVEDIR == 0 { b'U' } else { b'D' };
    // SAFETY: the caller's path.
    naming(act, "unlink", &name, b"", || unsafe { libc::syscall(libc::SYS_unlinkat, dir, path, flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller's path.
    unsafe { unlinkat(libc::AT_FDCWD, path, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: the caller's path.
    unsafe { unlinkat(libc::AT_FDCWD, path, libc::AT_REMOVEDIR) }
}
