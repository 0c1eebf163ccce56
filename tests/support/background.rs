//! Calls in the background, signals to processes, and waiting for what they do. This is the only place of the suites that
//! sleeps.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Call, Finished, Sandbox};

/// Tells the output files of several calls apart.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A running program: mostly `runner work`.
pub struct Background {
    child: Child,
    ended: Option<ExitStatus>,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Background {
    pub fn start(sandbox: &Sandbox, call: Call) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let path = |end: &str| sandbox.path(&format!("background-{number}.{end}"));
        let (stdout, stderr) = (path("out"), path("err"));
        let file = |path| File::create(path).expect("a file for its output");
        let child = call.spawn(file(&stdout), file(&stderr));
        Self { child, ended: None, stdout, stderr }
    }

    /// Starts a worker, and waits until it says that it has started.
    #[track_caller]
    pub fn worker(sandbox: &Sandbox, call: Call) -> Self {
        let worker = Self::start(sandbox, call);
        wait_until("the worker has started", || {
            worker.stderr().contains(" started: ") || worker.stdout().contains("worker_started")
        });
        worker
    }

    pub fn pid(&self) -> i32 {
        Pid::from_child(&self.child).as_raw_nonzero().get()
    }

    /// Standard error so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// Standard output so far.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    #[track_caller]
    pub fn until_it_says(&self, text: &str) {
        wait_until(text, || self.stderr().contains(text));
    }

    #[track_caller]
    pub fn until_printed(&self, text: &str) {
        wait_until(text, || self.stdout() == text);
    }

    /// Sends a signal to the program alone, not to its children.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the program is there");
    }

    /// Asks a worker to stop, and waits until it has noticed.
    #[track_caller]
    pub fn ask_to_stop(&self, signal: Signal) {
        let notices = || self.stderr().matches("stopping: ").count();
        let before = notices();
        self.signal(signal);
        wait_until("the worker takes the signal", || notices() > before);
    }

    /// Waits for the end.
    #[track_caller]
    pub fn wait(&mut self) -> Finished {
        let status = eventually("the program ends", || self.child.try_wait().expect("a child"));
        self.ended = Some(status);
        let read = |path| fs::read(path).unwrap_or_default();
        let output = Output { status, stdout: read(&self.stdout), stderr: read(&self.stderr) };
        Finished::new("the program in the background".to_owned(), output)
    }

    /// Kills the program as the kernel does when memory is short, and waits for the end.
    #[track_caller]
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        let status = eventually("the program is gone", || self.child.try_wait().expect("a child"));
        assert_eq!(status.signal(), Some(9));
        self.ended = Some(status);
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if self.ended.is_some() || self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        // A worker that is told to stop again and again takes its jobs with it.
        for _ in 0..300 {
            let _ = kill_process(Pid::from_child(&self.child), Signal::CONT);
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            if soon(|| self.child.try_wait().ok().flatten()).is_some() {
                return;
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether this process runs. A zombie does not.
pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Sends a signal to a process that a test has started.
pub fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// How long something may take before it counts as not happening. It catches hangs and measures nothing.
const DEADLINE: Duration = Duration::from_mins(1);

/// Asks again and again until there is an answer.
#[track_caller]
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "this did not happen: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Asks again and again until the answer is yes.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, || is_so().then_some(()));
}

/// Asks now and once more a moment later.
pub fn soon<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    ask().or_else(|| {
        thread::sleep(Duration::from_millis(10));
        ask()
    })
}
