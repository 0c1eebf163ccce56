//! What is to be started, and how.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::model::{self, Bytes, JobSpec};

use super::Mark;

/// What is to be started.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The command, its directory and variables, and the limits it runs under.
    pub spec: &'a JobSpec,
    /// Appended to the command: as further elements, or as `$1`, `$2` … of a shell line.
    pub args: &'a [Bytes],
    /// What the command reads on its standard input, from the file's present offset on; none: nothing.
    pub stdin: Option<&'a File>,
    /// `RUNNER_*`: laid over `spec.env`, which is laid over the worker's own environment.
    pub vars: Vec<(OsString, OsString)>,
    /// What strays are recognised by. Its variables are set whatever `vars` says.
    pub mark: Mark,
    /// `$RUNNER_REPORT`, which is set likewise: read at the end, and removed.
    pub report: &'a Path,
    /// Earlier attempts of this job: what they left in the background is ended before the start.
    pub predecessors: &'a [Mark],
}

impl Launch<'_> {
    /// Starts the command in a group of its own, its output in pipes.
    ///
    /// Nothing here may force the slow path of `Command`, a fork: no closure before exec, and the environment is
    /// added to, not replaced. A `PATH` of the job's own does force it for a program without a slash, and must:
    /// only after a fork is the program looked for in the new `PATH`.
    pub(super) fn spawn(&self) -> io::Result<Child> {
        let env = self.spec.env.iter();
        // A file, not a pipe: nobody has to stand by and fill it.
        let stdin = match self.stdin {
            Some(file) => file.try_clone()?.into(),
            None => Stdio::null(),
        };
        self.command()?
            .current_dir(self.spec.cwd.as_os_str())
            .envs(env.map(|(name, value)| (name.as_os_str(), value.as_os_str())))
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .envs(self.mark.variables())
            .env("RUNNER_REPORT", self.report)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
    }

    fn command(&self) -> io::Result<Command> {
        let mut command = match &self.spec.command {
            model::Command::Shell(line) => {
                let mut shell = Command::new("/bin/sh");
                // What follows the line is $0, then $1 and so on.
                shell.arg("-c").arg(line.as_os_str()).arg("sh");
                shell
            }
            model::Command::Argv(argv) => {
                let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
                let mut command = Command::new(program.as_os_str());
                command.args(arguments.iter().map(Bytes::as_os_str));
                command
            }
        };
        command.args(self.args.iter().map(Bytes::as_os_str));
        Ok(command)
    }

    /// The program as it is written: what an error message names.
    pub(super) fn program(&self) -> &OsStr {
        match &self.spec.command {
            model::Command::Shell(_) => OsStr::new("/bin/sh"),
            model::Command::Argv(argv) => argv.first().map_or(OsStr::new(""), Bytes::as_os_str),
        }
    }

    /// The `PATH` in which a program without a slash is looked for.
    pub(super) fn path(&self) -> Option<OsString> {
        let own = self.spec.env.get(&Bytes::from("PATH"));
        own.map(|path| path.as_os_str().to_owned()).or_else(|| std::env::var_os("PATH"))
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
