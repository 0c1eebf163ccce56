//! From what is to be started to a process: by the fast way where there is one.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::Pid;

use super::{Launch, portable};

/// A process that was just started: the leader of a group of its own, and our child.
#[derive(Debug)]
pub(super) struct Spawned {
    pub pid: Pid,
    /// Becomes readable when it ends. None where there are no such handles.
    pub handle: Option<OwnedFd>,
    /// What it writes to its standard output.
    pub stdout: OwnedFd,
    /// What it writes to its standard error.
    pub stderr: OwnedFd,
}

#[cfg(not(target_os = "linux"))]
pub(super) fn spawn(launch: &Launch<'_>) -> io::Result<Spawned> {
    portable::spawn(launch)
}

/// Starts the command in a group of its own, its output in pipes.
#[cfg(target_os = "linux")]
pub(super) fn spawn(launch: &Launch<'_>) -> io::Result<Spawned> {
    use std::os::fd::AsFd;

    use rustix::process::{PidfdFlags, pidfd_open};

    use super::{image, vfork};

    // A file, not a pipe: nobody has to stand by and fill it.
    let stdin = match launch.stdin {
        Some(file) => file.as_fd(),
        None => nothing()?,
    };
    let (stdout, stdout_of_job) = io::pipe()?;
    let (stderr, stderr_of_job) = io::pipe()?;
    let streams = [stdin, stdout_of_job.as_fd(), stderr_of_job.as_fd()];
    match image::with_image(launch, |image| vfork::spawn(image, streams))? {
        Some(vfork::Born { pid, handle }) => {
            let handle = handle.or_else(|| pidfd_open(pid, PidfdFlags::empty()).ok());
            Ok(Spawned { pid, handle, stdout: stdout.into(), stderr: stderr.into() })
        }
        None => portable::spawn(launch),
    }
}

/// `/dev/null`, opened once for all.
#[cfg(target_os = "linux")]
fn nothing() -> io::Result<std::os::fd::BorrowedFd<'static>> {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::sync::OnceLock;

    static NOTHING: OnceLock<File> = OnceLock::new();
    if let Some(file) = NOTHING.get() {
        return Ok(file.as_fd());
    }
    let file = File::open("/dev/null")?;
    Ok(NOTHING.get_or_init(|| file).as_fd())
}
