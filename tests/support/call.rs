//! One call of the program, and what came of it.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;

use super::terminal::Terminal;

/// A call that takes longer hangs, and is ended.
const HANGS: Duration = Duration::from_mins(1);

/// A call that is being put together.
pub struct Call {
    command: Command,
    stdin: Option<Vec<u8>>,
}

impl Call {
    pub fn new(command: Command) -> Self {
        Self { command, stdin: None }
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// For shell lines that say `runner`: the tested program stands in front on `PATH`.
    pub fn with_runner_on_path(self) -> Self {
        let mut path =
            Path::new(env!("CARGO_BIN_EXE_runner")).parent().expect("a folder").as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        self.env("PATH", path)
    }

    pub fn env_remove(mut self, key: &str) -> Self {
        self.command.env_remove(key);
        self
    }

    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// As this user, in the group of the same number and in no other, which only root can do.
    pub fn run_by(mut self, uid: u32) -> Self {
        self.command.uid(uid).gid(uid);
        self
    }

    /// As a shell with job control starts it.
    pub fn in_own_process_group(mut self) -> Self {
        self.command.process_group(0);
        self
    }

    /// Bytes on its standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Starts it and leaves it running; the output goes where it is said.
    pub fn spawn(mut self, stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> Child {
        self.command.stdout(stdout).stderr(stderr);
        self.spawn_with_input()
    }

    /// Starts it and leaves it running, with this as its input and its output.
    pub fn spawn_between(mut self, stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
        self.command.stdin(stdin).stdout(stdout);
        self.command.spawn().expect("the program starts")
    }

    fn spawn_with_input(&mut self) -> Child {
        self.command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = self.command.spawn().expect("the program starts");
        if let Some(bytes) = &self.stdin {
            // It may end without reading them.
            let _ = child.stdin.take().expect("a pipe").write_all(bytes);
        }
        child
    }

    /// Starts it at a terminal and leaves it running.
    pub fn spawn_at(mut self, screen: &File) -> Child {
        let screen = || screen.try_clone().expect("a screen");
        self.command.stdin(screen()).stdout(screen()).stderr(screen());
        self.command.spawn().expect("the program starts")
    }

    /// Runs it with standard output going to `file`.
    pub fn run_into(mut self, file: File) -> Finished {
        self.command.stdout(file);
        self.finish()
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Finished {
        self.command.stdout(Stdio::piped());
        self.finish()
    }

    /// Runs it to its end at a terminal of so many columns, which both its outputs go to: all of it is in `stdout`.
    pub fn at_terminal(mut self, columns: u16) -> Finished {
        let line = format!("{:?}", self.command);
        let (mut terminal, screen) = Terminal::open(columns);
        let other = screen.try_clone().expect("a screen");
        self.command.stdin(Stdio::null()).stdout(screen).stderr(other);
        let mut child = self.command.spawn().expect("the program starts");
        // The program alone has the screen from now on: what can be read ends when it does.
        drop(self.command);
        let guard = Guard::over(&child);
        let stdout = terminal.read();
        let status = child.wait().expect("the program can be waited for");
        drop(guard);
        Finished::new(line, Output { status, stdout, stderr: Vec::new() })
    }

    fn finish(mut self) -> Finished {
        let line = format!("{:?}", self.command);
        self.command.stderr(Stdio::piped());
        let child = self.spawn_with_input();
        let guard = Guard::over(&child);
        let output = child.wait_with_output().expect("the program can be waited for");
        drop(guard);
        Finished::new(line, output)
    }
}

/// Ends a call that hangs.
struct Guard {
    done: Option<mpsc::Sender<()>>,
}

impl Guard {
    fn over(child: &Child) -> Self {
        let pid = Pid::from_child(child);
        let process = pidfd_open(pid, PidfdFlags::empty()).expect("a child that is not waited for yet");
        let (done, wait) = mpsc::channel::<()>();
        thread::spawn(move || {
            if wait.recv_timeout(HANGS) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
        });
        Self { done: Some(done) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.done.take();
    }
}

/// What a call says in most tests, because it is the first one or nothing runs beside it.
const NEWS: [&str; 2] = ["created the database ", "no worker is running, so nothing fires"];

/// Whether this is a line of the log of a worker, or of the output that stands in it: `2026-11-28 05:43:24 job 1 …`.
fn is_logged(line: &str) -> bool {
    let shape = line.bytes().take(20).map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(*b"0000-00-00 00:00:00 ")
}

/// The result of a call.
pub struct Finished {
    line: String,
    status: ExitStatus,
    pub raw: Vec<u8>,
    pub stdout: String,
    pub stderr: String,
    /// The test has looked at what it said on standard error.
    has_been_read: bool,
}

impl Finished {
    pub fn new(line: String, output: Output) -> Self {
        Self {
            line,
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            raw: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            has_been_read: false,
        }
    }

    /// Its exit status; none where a signal ended it.
    pub fn status(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn ended_well(&self) -> bool {
        self.status.success()
    }

    /// It ended with this exit status.
    #[track_caller]
    pub fn exits(self, status: i32) -> Self {
        assert_eq!(self.status.code(), Some(status), "{self}");
        self
    }

    /// It ended well, and said nothing on standard error that no [`Finished::says`] before this expects, but for the log of a
    /// worker and [`NEWS`]. The suites in `chaos`, which do not know what is said when, look at the status alone.
    #[track_caller]
    pub fn ok(self) -> Self {
        let is_news = |line: &str| NEWS.iter().any(|news| line.contains(news));
        let is_expected = |line: &str| is_logged(line) || is_news(line);
        let unexpected = self.stderr.lines().find(|line| !self.has_been_read && !is_expected(line));
        assert!(unexpected.is_none(), "nobody expects {unexpected:?}: {self}");
        self.exits(0)
    }

    /// It said this on standard error.
    #[track_caller]
    pub fn says(mut self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "{text:?} is not said: {self}");
        self.has_been_read = true;
        self
    }

    /// It printed this among other things.
    #[track_caller]
    pub fn shows(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "{text:?} is not shown: {self}");
        self
    }

    /// It printed exactly this.
    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert_eq!(self.stdout, text, "{self}");
        self
    }

    /// It said nothing on standard error.
    #[track_caller]
    pub fn quietly(self) -> Self {
        assert_eq!(self.stderr, "", "{self}");
        self
    }

    /// The ids it printed, one a line.
    #[track_caller]
    pub fn ids(&self) -> Vec<u64> {
        self.stdout.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("no id: {self}"))).collect()
    }

    /// The one id it printed.
    #[track_caller]
    pub fn id(&self) -> u64 {
        let ids = self.ids();
        assert_eq!(ids.len(), 1, "{self}");
        ids[0]
    }

    /// The JSON it printed, an object a line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {self}"));
        self.stdout.lines().map(parse).collect()
    }

    /// What each JSON object it printed has under this key.
    #[track_caller]
    pub fn each(&self, key: &str) -> Vec<Value> {
        self.json_lines().into_iter().map(|mut object| object[key].take()).collect()
    }

    /// The one JSON object it printed.
    #[track_caller]
    pub fn json(&self) -> Value {
        let mut objects = self.json_lines();
        assert_eq!(objects.len(), 1, "{self}");
        objects.remove(0)
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, signal) => format!("signal {signal:?}"),
        };
        let Self { line, stdout, stderr, .. } = self;
        write!(f, "\n$ {line}\n--- {ended}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n---")
    }
}
