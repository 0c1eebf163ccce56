//! What changes the content of files, and what brings it to disk.

use libc::{c_int, c_long, c_void, iovec, off64_t, size_t, ssize_t};

use crate::config::{Config, config};
use crate::{faults, kernel};

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
        // What is about to be said counts as said.
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
