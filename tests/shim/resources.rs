//! Calls on what else a machine has: processes, threads, pipes, sockets, locks, and the wall clock.

use std::ffi::OsStr;
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use libc::{c_char, c_int, c_long, c_void, pid_t, sockaddr, socklen_t};

use crate::config::variable;
use crate::{faults, kernel};

type Spawn = unsafe extern "C" fn(
    *mut pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    *const *mut c_char,
    *const *mut c_char,
) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    pid: *mut pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the C library's function of this name has this signature, and gets the caller's arguments.
    faults::under_coded("spawn", || unsafe {
        let real: Spawn = transmute(kernel::hidden(c"posix_spawnp"));
        real(pid, file, actions, attributes, arguments, environment)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> pid_t {
    // SAFETY: the C library's function of this name has this signature.
    let done = faults::under("fork", || unsafe {
        let real: unsafe extern "C" fn() -> pid_t = transmute(kernel::hidden(c"fork"));
        c_long::from(real())
    });
    done.try_into().unwrap_or(-1)
}

type Body = extern "C" fn(*mut c_void) -> *mut c_void;

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the C library's function of this name has this signature, and gets the caller's arguments.
    faults::under_coded("thread", || unsafe {
        let real: unsafe extern "C" fn(
            *mut libc::pthread_t,
            *const libc::pthread_attr_t,
            Body,
            *mut c_void,
        ) -> c_int = transmute(kernel::hidden(c"pthread_create"));
        real(thread, attributes, body, argument)
    })
}

fn number(done: c_long) -> c_int {
    done.try_into().unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's room for two descriptors.
    number(faults::under("pipe", || unsafe { libc::syscall(libc::SYS_pipe2, ends, flags) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: the call takes numbers only.
    number(faults::under("socket", || unsafe { libc::syscall(libc::SYS_socket, domain, kind, protocol) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int {
    // SAFETY: the caller's room for two descriptors.
    number(faults::under("pair", || unsafe {
        libc::syscall(libc::SYS_socketpair, domain, kind, protocol, ends)
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bind(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller's address.
    number(faults::under("bind", || unsafe { libc::syscall(libc::SYS_bind, socket, address, length) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    // SAFETY: the call takes numbers only.
    let call = || unsafe { libc::syscall(libc::SYS_flock, fd, operation) };
    number(if operation & libc::LOCK_UN == 0 { faults::under("lock", call) } else { call() })
}

/// Only taking a lock may fail. Everything else that `fcntl` does passes.
unsafe fn controlling(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the caller's argument: an address or a number, as the command has it.
    let call = || unsafe { libc::syscall(libc::SYS_fcntl, fd, command, argument) };
    let locks = [libc::F_SETLK, libc::F_SETLKW].contains(&command)
        // SAFETY: for these commands the argument is the address of a lock.
        && c_int::from(unsafe { (*argument.cast::<libc::flock>()).l_type }) != libc::F_UNLCK;
    number(if locks { faults::under("lock", call) } else { call() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: not all commands have an argument: then the kernel does not look at it.
    unsafe { controlling(fd, command, argument) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe { controlling(fd, command, argument) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: the call takes numbers only.
    number(faults::under("poller", || unsafe { libc::syscall(libc::SYS_epoll_create1, flags) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn eventfd(start: libc::c_uint, flags: c_int) -> c_int {
    // SAFETY: the call takes numbers only.
    number(faults::under("poller", || unsafe { libc::syscall(libc::SYS_eventfd2, start, flags) }))
}

/// The milliseconds in the file `CLOCK_OFFSET`; 0 without such a file.
fn clock_offset() -> i64 {
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
        let offset = clock_offset();
        let nanoseconds = at.tv_nsec + offset % 1_000 * 1_000_000;
        at.tv_sec += offset / 1_000 + nanoseconds.div_euclid(1_000_000_000);
        at.tv_nsec = nanoseconds.rem_euclid(1_000_000_000);
    }
    if done == 0 { 0 } else { -1 }
}
