//! A worker in the background, which ends with its test.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use super::{Call, Finished, Sandbox, eventually};

/// Tells the output files of several workers apart.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A running `runner work`.
pub struct Worker {
    child: Child,
    ended: Option<ExitStatus>,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Worker {
    /// Starts `call` with these further options, and waits until the worker says that it is there.
    #[track_caller]
    pub fn start(sandbox: &Sandbox, call: Call, options: &str) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let stdout = sandbox.path(&format!("worker-{number}.out"));
        let stderr = sandbox.path(&format!("worker-{number}.err"));
        let file = |path| File::create(path).expect("a file for its output");
        let call = options.split_whitespace().fold(call, Call::arg);
        let child = call.spawn(file(&stdout), file(&stderr));
        let worker = Self { child, ended: None, stdout, stderr };
        eventually("the worker has started", || {
            let said = worker.stderr() + &worker.stdout();
            (said.contains(" started: ") || said.contains("worker_started")).then_some(())
        });
        worker
    }

    pub fn pid(&self) -> i32 {
        Pid::from_child(&self.child).as_raw_nonzero().get()
    }

    /// What it has said so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// What it has printed so far.
    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    /// Sends a signal to the worker alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the worker is there");
    }

    /// Asks it to stop, and waits until it has noticed.
    #[track_caller]
    pub fn ask_to_stop(&self, signal: Signal) {
        let before = self.notices();
        self.signal(signal);
        eventually("the worker takes the signal", || (self.notices() > before).then_some(()));
    }

    fn notices(&self) -> usize {
        self.stderr().matches("stopping: ").count()
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(&mut self) -> Finished {
        let status = eventually("the worker ends", || self.child.try_wait().expect("a child"));
        self.ended = Some(status);
        let output = Output {
            status,
            stdout: fs::read(&self.stdout).unwrap_or_default(),
            stderr: fs::read(&self.stderr).unwrap_or_default(),
        };
        Finished::new("runner work".to_owned(), output)
    }

    /// Kills it as the kernel would when memory is short, and waits for its end.
    #[track_caller]
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        let status = eventually("the worker is gone", || self.child.try_wait().expect("a child"));
        assert_eq!(status.signal(), Some(9));
        self.ended = Some(status);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.ended.is_some() || self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        // A worker that is told to stop again and again takes its jobs with it.
        for _ in 0..300 {
            let _ = kill_process(Pid::from_child(&self.child), Signal::CONT);
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            if super::poll::soon(|| self.child.try_wait().ok().flatten()).is_some() {
                return;
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
