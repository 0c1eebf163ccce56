//! A file system of a few hundred KiB, mounted where only the processes of one test see it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::support::{Background, Call, Finished, Sandbox};

/// Keeps the namespace alive: it mounts, says so, and waits until its standard input ends.
const KEEPER: &str = "mount -t tmpfs -o size=$1,mode=700 none \"$0\" && echo mounted && read -r _";

/// The disk, the sandbox beside it, and the process that keeps it.
pub struct SmallDisk {
    sandbox: Sandbox,
    keeper: Child,
    _stdin: ChildStdin,
    own_user: bool,
}

impl SmallDisk {
    /// Mounts it. None, and loud words, where this machine lets nobody mount anything.
    pub fn mount(jobs: &str, size: &str) -> Option<Self> {
        let sandbox = Sandbox::new(jobs);
        fs::create_dir(sandbox.path("small")).expect("a folder");
        let own_user = !rustix::process::geteuid().is_root();
        let mut command = Command::new("unshare");
        if own_user {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "sh", "-c", KEEPER]).arg(sandbox.path("small")).arg(size);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut keeper = command.spawn().expect("unshare starts");
        let stdin = keeper.stdin.take().expect("a pipe");
        let mut said = String::new();
        let stdout = keeper.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut said).expect("a pipe");
        if said.trim() == "mounted" {
            return Some(Self { sandbox, keeper, _stdin: stdin, own_user });
        }
        drop(stdin);
        let why = keeper.wait_with_output().expect("a child").stderr;
        let why = String::from_utf8_lossy(&why).into_owned();
        // Past the capture of the output: what was not tested is to be seen.
        let _ = writeln!(std::io::stderr(), "NOT TESTED, for nothing can be mounted here: {why}");
        None
    }

    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The lines that jobs have appended to the file `log`, which lies on another disk.
    pub fn log(&self) -> Vec<String> {
        self.sandbox.log()
    }

    /// Runs a line for the shell that sees the disk.
    #[track_caller]
    pub fn shell(&self, line: &str) {
        self.inside().arg("sh").arg("-c").arg(line).run().ok();
    }

    /// A call of a program that sees the disk, in the folder of the sandbox.
    fn inside(&self) -> Call {
        let call = self.sandbox.program("nsenter").arg("-t").arg(self.keeper.id().to_string());
        let call = if self.own_user { call.arg("-U").arg("--preserve-credentials") } else { call };
        call.arg("-m").arg("sh").arg("-c").arg("cd \"$0\" && exec \"$@\"").arg(self.sandbox.dir())
    }

    /// A call of the program that sees the disk.
    pub fn call(&self, line: &str) -> Call {
        let call = self.inside().env("RUNNER_DB", self.sandbox.path("small/runner.db"));
        let call = call.arg(env!("CARGO_BIN_EXE_runner"));
        line.split_whitespace().fold(call, Call::arg)
    }

    pub fn run(&self, line: &str) -> Finished {
        self.call(line).run()
    }

    #[track_caller]
    pub fn worker(&self, options: &str) -> Background {
        Background::worker(&self.sandbox, self.call(&format!("work {options}")))
    }

    /// A path on the disk, as it is seen from outside.
    fn path(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        let inside = self.sandbox.path("small").join(name);
        root.join(inside.strip_prefix("/").expect("an absolute path"))
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Takes all the room there is.
    pub fn fill(&self) {
        self.fill_but(0);
    }

    /// Takes all the room but so many KiB.
    pub fn fill_but(&self, room: u64) {
        self.make_room();
        let mut ballast = fs::File::create(self.path("ballast")).expect("a file");
        while ballast.write_all(&[1; 4_096]).is_ok() {}
        let length = ballast.metadata().expect("a file").len();
        ballast.set_len(length.saturating_sub(room * 1_024)).expect("it can be cut");
    }

    /// Gives it back.
    pub fn make_room(&self) {
        let _ = fs::remove_file(self.path("ballast"));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
