//! The place of one round: a folder for the files of the program, a folder beside it that no power cut reaches, and the
//! processes, which are known by a mark in their environment.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::League;
use crate::disk::Disk;
use crate::job;

/// The variable that marks the processes of a round.
const MARK: &str = "LEAGUE_ROUND";

pub struct Place {
    /// Where the program keeps its files.
    pub files: PathBuf,
    /// The log of the jobs, their locks, sockets, what the programs say. In a short path, as sockets need it.
    pub side: PathBuf,
    /// While it is set, everybody waits for the program to be started again.
    pub is_down: AtomicBool,
    /// The file system of `files`, if it can be cut off.
    pub disk: Option<Disk>,
    path: std::ffi::OsString,
    mark: String,
    _folders: [TempDir; 2],
}

impl Place {
    pub fn new(league: &League, on_own_disk: bool) -> anyhow::Result<Self> {
        let (files, side) = (tempfile::tempdir_in(&league.dir)?, tempfile::tempdir()?);
        fs::create_dir(side.path().join("locks"))?;
        fs::create_dir(side.path().join("run"))?;
        File::create(side.path().join("log"))?;
        let disk = if on_own_disk { Some(Disk::make(files.path())?) } else { None };
        let own = ["bin", "root/usr/bin", "venv/bin"].map(|dir| league.installed.join(dir));
        let others = env::var_os("PATH").unwrap_or_default();
        Ok(Self {
            files: disk.as_ref().map_or(files.path(), Disk::path).to_owned(),
            side: side.path().to_owned(),
            is_down: AtomicBool::new(false),
            disk,
            path: env::join_paths(own.into_iter().chain(env::split_paths(&others)))?,
            mark: side.path().display().to_string(),
            _folders: [files, side],
        })
    }

    /// A program with a small environment, whose words go to a file.
    pub fn program(&self, name: impl AsRef<OsStr>) -> Command {
        let name = Path::new(name.as_ref());
        let file = env::split_paths(&self.path).map(|dir| dir.join(name)).find(|file| file.is_file());
        let mut command = Command::new(file.as_deref().unwrap_or(name));
        let said = File::options().create(true).append(true).open(self.side.join("said"));
        command
            .env_clear()
            .env("PATH", &self.path)
            .env("LANG", "C.UTF-8")
            .env("HOME", &self.files)
            .env("TMPDIR", self.side.join("run"))
            .env(MARK, &self.mark)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said.map_or_else(|_| Stdio::null(), Stdio::from))
            .current_dir(&self.files);
        command
    }

    /// The command that a program is to run, but for its last two arguments.
    pub fn job(&self) -> anyhow::Result<Vec<String>> {
        let own = env::current_exe()?;
        Ok(vec![own.display().to_string(), job::FLAG.to_owned(), self.side.display().to_string()])
    }

    pub fn is_down(&self) -> bool {
        self.is_down.load(Ordering::SeqCst)
    }

    /// The processes of the program, or the commands that it has started.
    fn processes(&self, jobs: bool) -> anyhow::Result<Vec<Pid>> {
        let (own, mark) = (env::current_exe()?, format!("{MARK}={}", self.mark));
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_ours = environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
            // Some programs put a shell around a command.
            let is_shell = |exe: &Path| ["sh", "dash", "bash"].iter().any(|shell| exe.ends_with(shell));
            let exe = fs::read_link(entry.path().join("exe"));
            let is_job = exe.is_ok_and(|exe| exe == own || is_shell(&exe));
            if is_ours && is_job == jobs {
                found.extend(Pid::from_raw(pid));
            }
        }
        found.sort_by_key(|pid| pid.as_raw_nonzero());
        Ok(found)
    }

    /// Kills every process of the program, and not the commands that it has started.
    pub fn kill_program(&self) -> anyhow::Result<()> {
        self.kill(false)?;
        for pid in self.processes(true)? {
            let _ = kill_process(pid, Signal::CONT); // it may have become a command while it was being stopped
        }
        Ok(())
    }

    /// Kills everything.
    pub fn kill_all(&self) -> anyhow::Result<()> {
        self.kill(false)?;
        self.kill(true)
    }

    fn kill(&self, jobs: bool) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let left = self.processes(jobs)?;
            if left.is_empty() {
                return Ok(());
            }
            ensure!(began.elapsed() < Duration::from_secs(30), "{left:?} cannot be killed");
            // They are stopped first, so that none of them sees another die.
            let send = |signal| {
                for pid in &left {
                    let _ = kill_process(*pid, signal); // it may have ended by itself
                }
            };
            send(Signal::STOP);
            if self.processes(jobs)? == left {
                send(Signal::KILL);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn has_jobs(&self) -> anyhow::Result<bool> {
        Ok(!self.processes(true)?.is_empty())
    }

    /// The power goes, and comes back: what ran is gone, and so is what lay in memory.
    pub fn cut(&self) -> anyhow::Result<()> {
        let disk = self.disk.as_ref().context("a disk")?;
        disk.cut()?;
        self.kill_all()?;
        disk.mount_anew()?;
        fs::remove_dir_all(self.side.join("run"))?;
        fs::create_dir(self.side.join("run"))?;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.is_down.store(true, Ordering::SeqCst);
        if let Err(error) = self.kill_all() {
            eprintln!("{error}");
        }
    }
}

/// Waits until a call of a program ends well: a daemon is up.
pub fn until_it_answers(mut call: impl FnMut() -> Command) -> anyhow::Result<()> {
    let began = Instant::now();
    while !call().status()?.success() {
        ensure!(began.elapsed() < Duration::from_secs(20), "{:?} never ends well", call());
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
