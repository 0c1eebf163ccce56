//! Calls on files: those that read, those that change the content or bring it to disk, and those that give and take names.
//! Reads are not recorded.

use std::ffi::CStr;

use libc::{c_char, c_int, c_long, c_void, iovec, mode_t, off64_t, size_t, ssize_t};

use crate::config::{Config, config};
use crate::{faults, kernel};

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, into: *mut c_void, count: size_t) -> ssize_t {
    // SAFETY: the caller's buffer, or less of it.
    let call = |count: usize| unsafe { libc::syscall(libc::SYS_read, fd, into, count) };
    let done = if faults::is_any() && kernel::is_regular(fd) {
        let of_process = kernel::path_of(fd).is_some_and(|path| path.starts_with(b"/proc/"));
        faults::under_partial(if of_process { "proc-read" } else { "read" }, count, call)
    } else {
        call(count)
    };
    narrow(done)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(fd: c_int, into: *mut c_void, count: size_t, at: off64_t) -> ssize_t {
    // SAFETY: the caller's buffer, or less of it.
    let call = |count: usize| unsafe { libc::syscall(libc::SYS_pread64, fd, into, count, at) };
    faults::under_partial("pread", count, call).try_into().unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
    let config = config();
    let call = |count: usize| {
        // SAFETY: the caller's buffer, or less of it.
        unsafe { libc::syscall(libc::SYS_write, fd, bytes, count) }
    };
    if !config.acts {
        if config.is_side(fd) {
            tell(config, b'S', bytes, count);
        }
        return narrow(call(count));
    }
    if fd == 1 {
        // The journal comes before the call, so that output counts as printed even if the power goes in between.
        tell(config, b'O', bytes, count);
        return narrow(faults::under_partial("stdout", count, call));
    }
    if !kernel::is_regular(fd) {
        return narrow(call(count));
    }
    let call = |count| changing(config, fd, || kernel::position(fd), bytes, || call(count));
    narrow(if fd == 2 { call(count) } else { faults::under_partial("write", count, call) })
}

/// Records what a process says.
fn tell(config: &Config, act: u8, bytes: *const c_void, count: usize) {
    if let Some(journal) = &config.journal {
        // SAFETY: the caller's buffer.
        let said = unsafe { std::slice::from_raw_parts(bytes.cast(), count) };
        journal.turn().record(act, 0, 0, b"", said);
    }
}

/// Makes a call that writes, and records what it has written.
fn changing(
    config: &Config,
    fd: c_int,
    at: impl FnOnce() -> i64,
    bytes: *const c_void,
    call: impl FnOnce() -> c_long,
) -> c_long {
    let Some((journal, path)) = config.recording().zip(config.watched(fd)) else { return call() };
    let turn = journal.turn();
    let (at, inode) = (at(), kernel::status(fd).map_or(0, |found| found.st_ino));
    let done = call();
    if let Ok(done) = usize::try_from(done) {
        // SAFETY: the kernel has read as much of the caller's buffer.
        let written = unsafe { std::slice::from_raw_parts(bytes.cast(), done) };
        turn.record(b'W', inode, at.cast_unsigned(), &path, written);
    }
    done
}

fn narrow(done: c_long) -> ssize_t {
    done.try_into().unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(fd: c_int, bytes: *const c_void, count: size_t, at: off64_t) -> ssize_t {
    let call = |count: usize| {
        // SAFETY: the caller's buffer, or less of it.
        changing(
            config(),
            fd,
            || at,
            bytes,
            || unsafe { libc::syscall(libc::SYS_pwrite64, fd, bytes, count, at) },
        )
    };
    narrow(faults::under_partial("pwrite", count, call))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(fd: c_int, bytes: *const c_void, count: size_t, at: off64_t) -> ssize_t {
    // SAFETY: the same function where offsets have 64 bits.
    unsafe { pwrite64(fd, bytes, count, at) }
}

/// Records an act on an open file that needs no more than a number.
fn noting(act: u8, kind: &str, fd: c_int, number: u64, call: impl FnOnce() -> c_long) -> c_int {
    let config = config();
    let done = faults::under(kind, || {
        let Some((journal, path)) = config.recording().zip(config.watched(fd)) else { return call() };
        let turn = journal.turn();
        let inode = kernel::status(fd).map_or(0, |found| found.st_ino);
        let done = call();
        if done == 0 {
            turn.record(act, inode, number, &path, b"");
        }
        done
    });
    done.try_into().unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(fd: c_int, length: off64_t) -> c_int {
    // SAFETY: the call takes numbers only.
    noting(b'T', "truncate", fd, length.cast_unsigned(), || unsafe {
        libc::syscall(libc::SYS_ftruncate, fd, length)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(fd: c_int, length: off64_t) -> c_int {
    // SAFETY: the same function where offsets have 64 bits.
    unsafe { ftruncate64(fd, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: the call takes numbers only.
    noting(b'F', "fsync", fd, 0, || unsafe { libc::syscall(libc::SYS_fsync, fd) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: the call takes numbers only.
    noting(b'F', "fsync", fd, 0, || unsafe { libc::syscall(libc::SYS_fdatasync, fd) })
}

/// Writes in a way that is not recorded: none may do so below the folder.
fn unseen(fd: c_int, what: &[u8]) {
    let config = config();
    if let Some((journal, path)) = config.recording().zip(config.watched(fd)) {
        journal.turn().record(b'?', 0, 0, &path, what);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    unseen(fd, b"writev");
    // SAFETY: the caller's buffers.
    narrow(unsafe { libc::syscall(libc::SYS_writev, fd, parts, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwritev64(fd: c_int, parts: *const iovec, count: c_int, at: off64_t) -> ssize_t {
    unseen(fd, b"pwritev64");
    // SAFETY: the caller's buffers; the high half of the offset is in the first half on 64 bits.
    narrow(unsafe { libc::syscall(libc::SYS_pwritev, fd, parts, count, at, 0) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fallocate64(fd: c_int, mode: c_int, at: off64_t, length: off64_t) -> c_int {
    unseen(fd, b"fallocate64");
    // SAFETY: the call takes numbers only.
    let done = unsafe { libc::syscall(libc::SYS_fallocate, fd, mode, at, length) };
    done.try_into().unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn copy_file_range(
    from: c_int,
    from_at: *mut off64_t,
    to: c_int,
    to_at: *mut off64_t,
    count: size_t,
    flags: libc::c_uint,
) -> ssize_t {
    unseen(to, b"copy_file_range");
    // SAFETY: the caller's offsets.
    narrow(unsafe { libc::syscall(libc::SYS_copy_file_range, from, from_at, to, to_at, count, flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    at: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off64_t,
) -> *mut c_void {
    let shared = flags & libc::MAP_SHARED != 0 && protection & libc::PROT_WRITE != 0;
    // The index of the write-ahead log lies in shared memory; it is made anew when nobody has it open.
    if shared && config().watched(fd).is_some_and(|path| !path.ends_with(b"-shm")) {
        unseen(fd, b"mmap64");
    }
    // SAFETY: the caller's request as it is.
    let call = || unsafe { libc::syscall(libc::SYS_mmap, at, length, protection, flags, fd, offset) };
    // Memory without a file is the allocator's and the threads' affair.
    let done = if fd >= 0 { faults::under("mmap", call) } else { call() };
    std::ptr::with_exposed_provenance_mut(done.cast_unsigned().try_into().unwrap_or(usize::MAX))
}

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
