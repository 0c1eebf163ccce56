//! Resets what jobs would inherit from the worker: ignored signals, the signal mask, open descriptors, and variables of a
//! service manager. Also notices a standard output that was closed.
//!
//! The code is unsafe because neither the standard library nor rustix reaches these settings.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::model::signal;

/// The ignored signals that the worker itself had inherited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inherited {
    ignored: Vec<libc::c_int>,
}

impl Inherited {
    /// Whether this signal was ignored, as SIGHUP is under `nohup`.
    pub fn ignored(&self, signal: i32) -> bool {
        self.ignored.contains(&signal)
    }
}

/// Resets what jobs would inherit. Call it once, before there are other threads.
///
/// An ignored signal gets a handler that does nothing. That protects the worker just as well, and exec resets it to the
/// default, while jobs would inherit "ignored".
pub fn reset_inherited_state() -> Inherited {
    let ignored = (1..=signal::MAX).filter(|signal| handle_if_ignored(*signal)).collect();
    empty_signal_mask();
    close_on_exec();
    remove_manager_variables();
    Inherited { ignored }
}

/// Whether standard output was closed when the program started.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Looks at standard output before `main`, because the standard library opens `/dev/null` in the place of what is closed,
/// so that later nothing tells `>&-` from `>/dev/null`.
#[used]
// SAFETY: the linker puts function pointers of this form into this section, and nothing else.
#[unsafe(link_section = ".init_array")]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;

extern "C" fn look_at_stdout() {
    // SAFETY: the call takes numbers only.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether standard output was closed when the program started. Output since then goes to `/dev/null`.
pub fn is_stdout_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// Variables that a service manager sets for the worker alone. With them a job could speak in the worker's name.
const MANAGER_VARIABLES: [&str; 7] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "JOURNAL_STREAM",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
];

fn remove_manager_variables() {
    for name in MANAGER_VARIABLES.iter().filter(|name| std::env::var_os(name).is_some()) {
        // SAFETY: there are no other threads yet that could read the environment.
        unsafe { std::env::remove_var(name) };
    }
}

extern "C" fn do_nothing(_signal: libc::c_int) {}

/// Replaces "ignore" by a handler. True if the signal was ignored.
fn handle_if_ignored(signal: libc::c_int) -> bool {
    let mut found = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no new action is given, and `found` has room for the present one.
    if unsafe { libc::sigaction(signal, ptr::null(), found.as_mut_ptr()) } != 0 {
        // The C library keeps this signal to itself.
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

fn empty_signal_mask() {
    let mut signals = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset fills `signals`, and pthread_sigmask only reads it; the old mask is not asked for.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, signals.as_ptr(), ptr::null_mut());
    }
}

fn close_on_exec() {
    // SAFETY: the call takes numbers only. Descriptors stay open; exec closes them.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 {
        return;
    }
    // Kernels before 5.11 refuse the call.
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > 2).collect::<Vec<_>>() {
        // SAFETY: the call takes numbers only, and refuses a descriptor that is not open.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
