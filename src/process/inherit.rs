//! Cleans what jobs would inherit from the worker.
//!
//! Unsafe code, because neither the standard library nor rustix reaches these settings.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

/// The last signal of Linux; where there are fewer, the rest is refused.
const LAST_SIGNAL: libc::c_int = 64;

/// What the worker found when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// SIGHUP was ignored, as under `nohup`: it is not to stop the worker.
    pub sighup_ignored: bool,
}

/// Cleans what jobs would inherit: to be called once, before there are other threads.
///
/// The signal mask is emptied, but for SIGTSTP: that waits until the worker is [`suspendable`]. A signal that is ignored gets a handler that does nothing: that protects the worker
/// just as well, and exec resets it to the default, while jobs would go on ignoring an ignored one. All
/// descriptors but the first three are closed on exec. What a service manager said to the worker is forgotten.
pub fn cleanse() -> Inherited {
    let mut inherited = Inherited { sighup_ignored: false };
    for signal in 1..=LAST_SIGNAL {
        if handle_if_ignored(signal) && signal == libc::SIGHUP {
            inherited.sighup_ignored = true;
        }
    }
    mask(libc::SIG_SETMASK);
    close_on_exec();
    forget_the_manager();
    inherited
}

/// Variables that a service manager means for the worker alone: a job that spoke in its name would be believed.
const OF_THE_MANAGER: [&str; 7] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "JOURNAL_STREAM",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
];

fn forget_the_manager() {
    for name in OF_THE_MANAGER.iter().filter(|name| std::env::var_os(name).is_some()) {
        // SAFETY: there are no other threads yet that could read the environment.
        unsafe { std::env::remove_var(name) };
    }
}

extern "C" fn do_nothing(_signal: libc::c_int) {}

/// Puts a handler in the place of "ignore"; says whether that stood there.
fn handle_if_ignored(signal: libc::c_int) -> bool {
    let mut found = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no new action is given, and `found` has room for the present one.
    if unsafe { libc::sigaction(signal, ptr::null(), found.as_mut_ptr()) } != 0 {
        // A signal of the C library's own.
        return false;
    }
    // SAFETY: the call succeeded, so it has filled `found`.
    let mut action = unsafe { found.assume_init() };
    if action.sa_sigaction != libc::SIG_IGN {
        return false;
    }
    action.sa_sigaction = do_nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is a copy of a valid action; its handler takes one argument, as the flags without
    // SA_SIGINFO ask, and does nothing, which is safe whatever it interrupts.
    unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    true
}

/// Waits, and may be suspended from the terminal (Ctrl-Z) meanwhile. To be used by the thread that was the first.
///
/// At any other time it might be in the midst of a transaction, and nobody else could write until it goes on.
pub async fn suspendable<T>(wait: impl Future<Output = T>) -> T {
    mask(libc::SIG_UNBLOCK);
    let waited = wait.await;
    mask(libc::SIG_BLOCK);
    waited
}

/// Changes in this way how this thread, and those that it starts from now on, take SIGTSTP.
fn mask(how: libc::c_int) {
    let mut signals = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset fills `signals`, sigaddset changes it, and the last call then only reads it; the old mask is not
    // asked for.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGTSTP);
        libc::pthread_sigmask(how, signals.as_ptr(), ptr::null_mut());
    }
}

fn close_on_exec() {
    #[cfg(target_os = "linux")]
    {
        let last = libc::c_uint::MAX;
        // SAFETY: the call takes numbers only. Descriptors stay open; what changes is that exec closes them.
        let done = unsafe { libc::syscall(libc::SYS_close_range, 3, last, libc::CLOSE_RANGE_CLOEXEC) };
        if done == 0 {
            return;
        }
    }
    // Kernels before 5.11, and other systems.
    let open = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > 2).collect::<Vec<_>>() {
        // SAFETY: the call takes numbers only, and refuses one that is no longer open.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

#[cfg(test)]
#[path = "inherit_tests.rs"]
mod tests;
