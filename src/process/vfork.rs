//! Starts a program in a child that borrows the worker's memory until its exec.
//!
//! The standard library's way, `posix_spawn`, asks for the action of each signal in the child, takes and gives back a
//! stack for it, and leaves two signals ignored. This one makes the calls that a job needs and no other.
#![allow(unsafe_code)]
// With the child the parent's thread stands still, and no other: so the child may use this thread's memory and
// nothing that is shared between threads. It allocates nothing, takes no lock, and calls the C library only for
// functions that are one system call each. The C library's `errno` is this thread's, which is at rest and reads it only
// for a call of its own. No handler of the worker may run in the child, where what it writes is written for the worker:
// signals are blocked until each has its default action. `clone` gives the child a stack of its own, so that nothing
// returns twice.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::image::Image;

/// The last signal of Linux.
const LAST_SIGNAL: c_int = 64;
/// Two signals of the C library's own, which its functions refuse. Whoever started the worker may have left them ignored.
const REFUSED: [c_int; 2] = [32, 33];
/// The child's stack, a part of the parent's: a few calls deep, with room for a signal's frame.
const STACK: usize = 16 << 10;

/// A process that executes the program, or did.
#[derive(Debug)]
pub(super) struct Born {
    pub pid: Pid,
    /// None where the kernel has no such handles.
    pub handle: Option<OwnedFd>,
}

/// What parent and child share.
struct Shared {
    /// Each to be tried until one is executed.
    programs: Vec<*const c_char>,
    arguments: Vec<*const c_char>,
    variables: Vec<*const c_char>,
    directory: *const c_char,
    streams: [RawFd; 3],
    signals: *const [c_int],
    /// Why nothing was executed; 0 if something was.
    errno: c_int,
}

#[repr(align(16))]
struct Stack {
    _memory: MaybeUninit<[u8; STACK]>,
}

thread_local! {
    /// The signals that have a handler, or are ignored. A slot's thread begins when the worker has its handlers.
    static HANDLED: Vec<c_int> = handled();
}

/// Starts it in a group of its own, its standard streams being these. None where the system does not allow this way.
pub(super) fn spawn(image: &Image<'_>, streams: [BorrowedFd<'_>; 3]) -> io::Result<Option<Born>> {
    HANDLED.with(|signals| {
        let mut shared = Shared {
            programs: image.programs.iter().map(|each| each.as_ptr()).collect(),
            arguments: ended_by_null(image.arguments),
            variables: ended_by_null(image.variables),
            directory: image.directory.as_ptr(),
            streams: streams.map(|each| each.as_raw_fd()),
            signals: signals.as_slice(),
            errno: 0,
        };
        let born = match clone(&mut shared) {
            Ok(born) => born,
            Err(Errno::PERM | Errno::NOSYS | Errno::INVAL) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if shared.errno == 0 {
            return Ok(Some(born));
        }
        let _ = retry_on_intr(|| waitpid(Some(born.pid), WaitOptions::empty()));
        Err(io::Error::from_raw_os_error(shared.errno))
    })
}

fn ended_by_null(strings: &[&CStr]) -> Vec<*const c_char> {
    strings.iter().map(|each| each.as_ptr()).chain([ptr::null()]).collect()
}

fn handled() -> Vec<c_int> {
    let is_handled = |signal: &c_int| {
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: no new action is given; `action` is read only if the call has filled it.
        unsafe {
            libc::sigaction(*signal, ptr::null(), action.as_mut_ptr()) == 0
                && action.assume_init().sa_sigaction != libc::SIG_DFL
        }
    };
    (1..=LAST_SIGNAL).filter(is_handled).collect()
}

/// Returns when the child has executed a program or given up.
fn clone(shared: &mut Shared) -> Result<Born, Errno> {
    let mut stack = Stack { _memory: MaybeUninit::uninit() };
    let mut handle: c_int = -1;
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: sigfillset fills `all`, and the first pthread_sigmask fills `before`; they can fail only for arguments
    // other than these. The stack grows down from its end, which is aligned to 16, and lives in this frame, as `shared`
    // and `handle` do; this frame outlives the child's use of them, since CLONE_VFORK holds this thread until the child
    // has another memory or none. Strings and arrays in `shared` are borrowed or owned by the caller.
    let (pid, errno) = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let top = (&raw mut stack).add(1).cast();
        let pid = libc::clone(child, top, flags, ptr::from_mut(shared).cast(), &raw mut handle);
        let errno = last_errno();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        (pid, errno)
    };
    let pid = if pid > 0 { Pid::from_raw(pid) } else { None };
    let pid = pid.ok_or_else(|| Errno::from_raw_os_error(errno))?;
    // SAFETY: the kernel opened it for this call; one that knows no such handles left the -1.
    let handle = (handle >= 0).then(|| unsafe { OwnedFd::from_raw_fd(handle) });
    Ok(Born { pid, handle })
}

fn last_errno() -> c_int {
    // No allocation: this is a number.
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// What the child does: it never returns.
extern "C" fn child(shared: *mut c_void) -> c_int {
    let shared: *mut Shared = shared.cast();
    // SAFETY: `clone` passes its own `shared`, which nobody else uses as long as the child does.
    unsafe {
        (*shared).errno = execute(&*shared);
        libc::_exit(127)
    }
}

/// Returns why nothing was executed.
///
/// # Safety
/// Only in the child; what `shared` points to must be there.
unsafe fn execute(shared: &Shared) -> c_int {
    // SAFETY: each call takes numbers, a set that is there, or strings and arrays that end with a null.
    unsafe {
        if libc::setpgid(0, 0) != 0 {
            return last_errno();
        }
        default_actions(&*shared.signals);
        let mut sources = shared.streams;
        for source in sources.iter_mut().filter(|source| **source <= libc::STDERR_FILENO) {
            // Out of the way of those that come now.
            *source = libc::fcntl(*source, libc::F_DUPFD_CLOEXEC, libc::STDERR_FILENO + 1);
        }
        for (source, target) in sources.into_iter().zip(0..) {
            if libc::dup2(source, target) < 0 {
                return last_errno();
            }
        }
        if libc::chdir(shared.directory) != 0 {
            return last_errno();
        }
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
        // As execvp(3) does it, except that a text without a first line that names an interpreter is no program.
        let mut forbidden = false;
        let mut why = libc::ENOENT;
        for program in &shared.programs {
            libc::execve(*program, shared.arguments.as_ptr(), shared.variables.as_ptr());
            why = last_errno();
            match why {
                libc::EACCES => forbidden = true,
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                _ => return why,
            }
        }
        if forbidden { libc::EACCES } else { why }
    }
}

/// Gives every signal its default action. What is pending was sent to the worker's group before the job had one of
/// its own: Ctrl-C is for the worker to deal with.
///
/// # Safety
/// Only in the child, with all signals blocked.
unsafe fn default_actions(handled: &[c_int]) {
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigpending fills `pending` and cannot fail; both actions are whole, zero being no flags and no signals.
    unsafe {
        libc::sigpending(pending.as_mut_ptr());
        let mut action: libc::sigaction = std::mem::zeroed();
        for signal in 1..=LAST_SIGNAL {
            if libc::sigismember(pending.as_ptr(), signal) == 1 {
                // To ignore a pending signal is to drop it.
                action.sa_sigaction = libc::SIG_IGN;
                libc::sigaction(signal, &raw const action, ptr::null_mut());
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const action, ptr::null_mut());
            }
        }
        action.sa_sigaction = libc::SIG_DFL;
        for signal in handled {
            libc::sigaction(*signal, &raw const action, ptr::null_mut());
        }
        // Whatever the kernel's form of an action is: all zero is the default, and this is room enough.
        let default = [0_u64; 8];
        for signal in REFUSED {
            let size_of_mask = size_of::<u64>();
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                ptr::null_mut::<c_void>(),
                size_of_mask,
            );
        }
    }
}

#[cfg(test)]
#[path = "vfork_tests.rs"]
mod tests;
