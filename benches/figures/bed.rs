//! A folder with a database of its own.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::args::Args;
use crate::timed::program;

/// A database, and the program that is measured.
pub struct Bed {
    folder: TempDir,
    sockets: TempDir,
    runner: PathBuf,
}

impl Bed {
    pub fn new(args: &Args) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(&args.dir)?;
        Ok(Self { folder, sockets: tempfile::tempdir()?, runner: args.runner.clone() })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The path of a socket, which must be short.
    pub fn socket(&self, name: &str) -> PathBuf {
        self.sockets.path().join(name)
    }

    pub fn db(&self) -> PathBuf {
        self.path("runner.db")
    }

    /// A call of runner, in this folder and with this database.
    pub fn runner(&self, words: &[&str]) -> Command {
        let mut command = program(&self.runner);
        command.args(words).current_dir(self.folder.path());
        command.env("HOME", self.folder.path()).env("RUNNER_DB", self.db());
        command
    }

    /// Enqueues lines of JSON.
    pub fn batch(&self, lines: &str) -> anyhow::Result<()> {
        let mut call = self.runner(&["enqueue", "--quiet", "--batch", "-"]);
        let mut child = call.stdin(Stdio::piped()).spawn()?;
        child.stdin.take().context("a pipe")?.write_all(lines.as_bytes())?;
        ensure!(child.wait()?.success(), "the jobs could not be enqueued");
        Ok(())
    }

    /// How many jobs are in this state.
    pub fn count(&self, state: &str) -> anyhow::Result<usize> {
        let connection = Connection::open(self.db())?;
        let sql = "SELECT count(*) FROM jobs WHERE state = ?1";
        Ok(connection.query_row(sql, [state], |row| row.get(0))?)
    }

    /// Fails unless exactly so many jobs have succeeded and none is left.
    pub fn check_succeeded(&self, expected: usize) -> anyhow::Result<()> {
        for (state, expected) in [("succeeded", expected), ("pending", 0), ("running", 0), ("dead", 0)] {
            let found = self.count(state)?;
            ensure!(found == expected, "{found} jobs are {state}, and {expected} should be");
        }
        Ok(())
    }

    /// Fails unless the history has exactly so many attempts.
    pub fn check_attempts(&self, expected: usize) -> anyhow::Result<()> {
        let connection = Connection::open(self.db())?;
        let found: usize = connection.query_row("SELECT count(*) FROM attempts", [], |row| row.get(0))?;
        ensure!(found == expected, "{found} attempts were recorded, and {expected} should be");
        Ok(())
    }

    /// A worker in the background, once it can be woken.
    pub fn worker(&self, words: &[&str]) -> anyhow::Result<Worker> {
        let mut call = self.runner(&["work"]);
        let child = call.args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let worker = Worker { child };
        let run_dir = self.path("runner.db.run");
        let is_up = || {
            let entries = fs::read_dir(&run_dir).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|end| end == "sock"))
        };
        wait_until("the worker is up", is_up)?;
        Ok(worker)
    }
}

/// A worker that is stopped when this is dropped.
pub struct Worker {
    pub child: Child,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").arg(pid).status();
        let _ = self.child.wait();
    }
}

/// Waits for something that is not timed.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> anyhow::Result<()> {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > Duration::from_mins(10) {
            bail!("gave up waiting until {what}");
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
