//! Starts a command by the standard library: where there is no faster way, or the system does not allow it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::Pid;

use crate::model::{self, Bytes};

use super::Launch;
use super::spawn::Spawned;

/// Starts the command in a group of its own, its output in pipes.
///
/// Nothing here may force the slow path of `Command`, a fork: no closure before exec, and the environment is
/// added to, not replaced. A `PATH` of the job's own does force it for a program without a slash, and must:
/// only after a fork is the program looked for in the new `PATH`.
pub(super) fn spawn(launch: &Launch<'_>) -> io::Result<Spawned> {
    let env = launch.spec.env.iter();
    let stdin = match launch.stdin {
        Some(file) => file.try_clone()?.into(),
        None => Stdio::null(),
    };
    let mut child = command(launch)?
        .current_dir(launch.spec.cwd.as_os_str())
        .envs(env.map(|(name, value)| (name.as_os_str(), value.as_os_str())))
        .envs(launch.vars.iter().map(|(name, value)| (name, value)))
        .envs(launch.mark.variables())
        .env("RUNNER_REPORT", launch.report)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let pid = Pid::from_child(&child);
    match (child.stdout.take(), child.stderr.take()) {
        (Some(stdout), Some(stderr)) => {
            Ok(Spawned { pid, handle: handle(pid), stdout: stdout.into(), stderr: stderr.into() })
        }
        _ => unreachable!("both were asked for"),
    }
}

fn command(launch: &Launch<'_>) -> io::Result<Command> {
    let mut command = match &launch.spec.command {
        model::Command::Shell(line) => {
            let mut shell = Command::new("/bin/sh");
            // What follows the line is $0, then $1 and so on.
            shell.arg("-c");
            if launch.looks_like_an_option() {
                shell.arg("--");
            }
            shell.arg(line.as_os_str()).arg("sh");
            shell
        }
        model::Command::Argv(argv) => {
            let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            let mut command = Command::new(program.as_os_str());
            command.args(arguments.iter().map(Bytes::as_os_str));
            command
        }
    };
    command.args(launch.args.iter().map(|argument| -> &OsStr { argument.as_os_str() }));
    Ok(command)
}

#[cfg(target_os = "linux")]
fn handle(pid: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn handle(_pid: Pid) -> Option<OwnedFd> {
    None
}
