//! The workers that are killed, each replaced as soon as it is gone.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};

use super::books::Books;
use crate::support::{Sandbox, Signal, signal};

/// How many workers there are.
pub const WORKERS: usize = 4;

/// A worker, and what was done to it.
struct Worker {
    child: Child,
    suspended: bool,
    asked: bool,
    killed: bool,
}

/// The workers.
pub struct Pool<'a> {
    sandbox: &'a Sandbox,
    books: &'a Books,
    workers: Vec<Worker>,
    pub started: u64,
}

impl<'a> Pool<'a> {
    pub fn new(sandbox: &'a Sandbox, books: &'a Books) -> Self {
        let workers = (0..WORKERS).map(|_| start(sandbox)).collect();
        Self { sandbox, books, workers, started: WORKERS as u64 }
    }

    /// Replaces those that are gone. None goes but as it was asked to.
    pub fn revive(&mut self) {
        for worker in &mut self.workers {
            if let Some(status) = worker.child.try_wait().expect("a child") {
                worker.check(status, self.sandbox, self.books);
                *worker = start(self.sandbox);
                self.started += 1;
            }
        }
    }

    pub fn is_suspended(&self, at: usize) -> bool {
        self.workers[at].suspended
    }

    pub fn kill(&mut self, at: usize) {
        self.workers[at].killed = true;
        self.send(at, Signal::KILL);
    }

    /// Kills it, waits until it is gone, and puts another in its place.
    pub fn kill_and_replace(&mut self, at: usize) {
        self.kill(at);
        let status = self.workers[at].child.wait().expect("a child");
        self.workers[at].check(status, self.sandbox, self.books);
        self.workers[at] = start(self.sandbox);
        self.started += 1;
    }

    pub fn suspend(&mut self, at: usize) {
        self.workers[at].suspended = true;
        self.send(at, Signal::STOP);
    }

    pub fn resume(&mut self, at: usize) {
        self.workers[at].suspended = false;
        self.send(at, Signal::CONT);
    }

    pub fn resume_all(&mut self) {
        (0..WORKERS).for_each(|at| self.resume(at));
    }

    pub fn ask_to_stop(&mut self, at: usize) {
        self.workers[at].asked = true;
        self.send(at, Signal::TERM);
    }

    fn send(&self, at: usize, which: Signal) {
        // It is not waited for yet, so the number is its own also when it has ended.
        signal(self.workers[at].child.id().cast_signed(), which);
    }
}

impl Worker {
    fn check(&self, status: ExitStatus, sandbox: &Sandbox, books: &Books) {
        let as_it_should = match (status.code(), status.signal()) {
            (Some(code), _) => code == 0 && self.asked,
            // A request that comes before it can listen ends it as any program.
            (None, ended_by) => (ended_by == Some(9) && self.killed) || (ended_by == Some(15) && self.asked),
        };
        books.expect(as_it_should, || {
            let said = sandbox.read("workers.err");
            let last: Vec<&str> = said.lines().rev().take(5).collect();
            format!("a worker ended with {status}; the last lines: {last:#?}")
        });
    }
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
    }
}

fn start(sandbox: &Sandbox) -> Worker {
    let said = File::options().create(true).append(true).open(sandbox.path("workers.err")).expect("a file");
    let child = sandbox.call("work -j4 --shutdown-timeout 150ms").spawn(Stdio::null(), said);
    Worker { child, suspended: false, asked: false, killed: false }
}
