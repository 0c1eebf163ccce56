//! What background processes write after the end of their attempt. A small process of ours reads and drops it, so that nothing
//! that they write ever ends them, neither by SIGPIPE nor by a full pipe, also after this process has gone.
//!
//! It is this program anew, with the reading ends of the pipes in place of its standard input and its standard output. It has
//! a session and a process group of its own, so that no key and no hangup of a terminal ends it, and it ends with the last writer.
//!
//! The code is unsafe because neither the standard library nor rustix has fork(2).
#![allow(unsafe_code)]

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::setsid;

use super::control::wait_readable;

/// The name by which the process knows what it is for, and `ps` shows it. It takes no arguments, so no call that people type is
/// taken for it.
const TITLE: &str = "runner: reads and drops what background processes write";

/// This program, also if its file has been replaced or removed.
#[cfg(not(test))]
const PROGRAM: &str = "/proc/self/exe";
/// The program of the unit tests would run them all anew.
#[cfg(test)]
const PROGRAM: &str = "/bin/false";

/// The size of one read, which is the capacity of an ordinary pipe.
const CHUNK_BYTES: usize = 64 << 10;

/// Starts a process that reads these pipes, one or two, until every process has closed the other ends. Returns once it
/// reads.
pub(super) fn leave_to_reader(pipes: &[OwnedFd]) -> io::Result<()> {
    let pipe = |index: usize| {
        let pipe = pipes.get(index).map(OwnedFd::try_clone).transpose()?;
        io::Result::Ok(pipe.map_or_else(Stdio::null, Stdio::from))
    };
    let mut command = Command::new(PROGRAM);
    command
        .arg0(TITLE)
        .env_clear()
        // A process without any variable looks as one that is in its exec, for which every search for leftovers waits.
        .env("PWD", "/")
        .current_dir("/")
        .stdin(pipe(0)?)
        .stdout(pipe(1)?)
        .stderr(Stdio::null())
        .process_group(0);
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended with {status}"))) }
}

/// Reads and drops the output of background processes, if this process was started for that; none if it was not.
///
/// Call it before anything else. The process that was started ends at once, and a child of it reads: whoever started it
/// learns that it reads, and has nothing to reap later.
pub fn read_held_output() -> Option<io::Result<()>> {
    if !env::args_os().eq([OsStr::new(TITLE)]) {
        return None;
    }
    // SAFETY: there is only this thread, so the child may do whatever a process may.
    Some(match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => setsid().map_err(io::Error::from).map(|_| read_to_the_end()),
        _ => Ok(()),
    })
}

/// Reads standard input and standard output until both have ended.
fn read_to_the_end() {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let mut pipes = [Some(stdin.as_fd()), Some(stdout.as_fd())];
    let mut chunk = vec![0; CHUNK_BYTES];
    while pipes.iter().any(Option::is_some) {
        let is_ready = wait_readable(pipes, None);
        for (pipe, _) in pipes.iter_mut().zip(is_ready).filter(|(_, is_ready)| *is_ready) {
            match pipe.map_or(Ok(0), |pipe| rustix::io::read(pipe, &mut chunk)) {
                Ok(1..) | Err(Errno::INTR | Errno::AGAIN) => {}
                Ok(0) | Err(_) => *pipe = None,
            }
        }
    }
}
