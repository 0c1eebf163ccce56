//! Resets what jobs and other programs would inherit from this one: open descriptors, ignored signals, the signal mask,
//! variables of a service manager, and the terminal. Also notices a standard output that was closed, and suspends the process.
//!
//! The code is unsafe because neither the standard library nor rustix reaches these settings.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, open};

use super::ids::session_of;
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

/// The signals that mean nothing to a worker, and would end it: they are for programs that give them a meaning, and an alarm
/// outlives the exec of whoever has set it.
const MEANINGLESS: [libc::c_int; 3] = [libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// Resets what jobs would inherit, and ignores the signals that mean nothing here. Call it once, before there are other threads.
///
/// An ignored signal gets a handler that does nothing. That protects the worker just as well, and exec resets it to the
/// default, while jobs would inherit "ignored".
pub fn reset_inherited_state() -> Inherited {
    let ignored = (1..=signal::MAX).filter(|signal| handle_if(*signal, libc::SIG_IGN)).collect();
    for signal in MEANINGLESS {
        handle_if(signal, libc::SIG_DFL);
    }
    empty_signal_mask();
    remove_manager_variables();
    give_up_terminal();
    Inherited { ignored }
}

/// The controlling terminal, if this process could not give it up for all its children.
static KEPT_TERMINAL: OnceLock<OwnedFd> = OnceLock::new();

/// Gives up the controlling terminal, because a job that runs as another user could type commands into the shell behind
/// it. The log still goes there, and the keys still send their signals, since they go to the group in the foreground.
///
/// A process that leads its session, as in `docker run -it` or `ssh -t`, would end the whole session by that. It keeps
/// its terminal, and each child gives it up instead: see [`leave_terminal`].
fn give_up_terminal() {
    let how = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // Without a terminal this cannot be opened.
    let Ok(terminal) = open("/dev/tty", how, Mode::empty()) else { return };
    // It is 0, which rustix does not expect, where the session is that of another pid namespace.
    let leads_session = session_of(0) == Some(std::process::id().cast_signed());
    if leads_session || leave(terminal.as_raw_fd()).is_err() {
        // It is set once, at the start.
        let _ = KEPT_TERMINAL.set(terminal);
    }
}

fn leave(terminal: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes numbers only, and allocates nothing, so it may also stand between fork and exec.
    match unsafe { libc::ioctl(terminal, libc::TIOCNOTTY) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the command give up the terminal that this process has kept. If there is none, which is the common case, the
/// command is left as it is, because a closure before exec forces a fork, which is half as fast.
pub(super) fn leave_terminal(command: &mut Command) {
    let Some(terminal) = KEPT_TERMINAL.get().map(AsRawFd::as_raw_fd) else { return };
    let leave = move || match leave(terminal) {
        // The terminal was closed, so the command does not have it either.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EIO)) => Ok(()),
        other => other,
    };
    // SAFETY: the closure makes one system call and reads errno, both of which are safe between fork and exec.
    unsafe { command.pre_exec(leave) };
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

/// Stops this process until it is resumed, as Ctrl-Z at a terminal stops others. The kernel refuses that where no shell
/// could resume it, as in `ssh -t host runner work`.
pub fn suspend() {
    let mut handler = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: zeros are the default action without flags and with an empty mask.
    let default = unsafe { std::mem::zeroed::<libc::sigaction>() };
    // SAFETY: `default` is an action, `handler` has room for the present one, and is filled if the call succeeds. The
    // signal reaches the calling thread before `raise` returns.
    unsafe {
        if libc::sigaction(libc::SIGTSTP, &raw const default, handler.as_mut_ptr()) == 0 {
            libc::raise(libc::SIGTSTP);
            libc::sigaction(libc::SIGTSTP, handler.as_ptr(), ptr::null_mut());
        }
    }
}

extern "C" fn do_nothing(_signal: libc::c_int) {}

/// Replaces this disposition, "ignore" or the default, by a handler that does nothing. True if the signal had it.
fn handle_if(signal: libc::c_int, disposition: libc::sighandler_t) -> bool {
    let mut found = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no new action is given, and `found` has room for the present one.
    if unsafe { libc::sigaction(signal, ptr::null(), found.as_mut_ptr()) } != 0 {
        // The C library keeps this signal to itself.
        return false;
    }
    // SAFETY: the call succeeded, so it has filled `found`.
    let mut action = unsafe { found.assume_init() };
    if action.sa_sigaction != disposition {
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

/// Keeps the descriptors that the caller has opened from the programs that this one starts, which may belong to another user.
/// Call it before this process opens any of its own.
pub fn close_on_exec() {
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
