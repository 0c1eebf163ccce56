//! The other programs. Each is used as its documentation says, which is named with it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::judge::End;
use crate::place::{Place, until_it_answers};
use crate::tools::{Item, Tool};

/// The command as words.
fn words(place: &Place, item: Item) -> anyhow::Result<Vec<String>> {
    let mut words = place.job()?;
    words.extend([item.milliseconds.to_string(), item.id.to_string()]);
    Ok(words)
}

fn stdout(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdout(Stdio::piped()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number of the command, which is its last word.
fn id_of(command: &str) -> Option<usize> {
    command.split_whitespace().next_back()?.trim_matches('\'').parse().ok()
}

fn is_done(status: bool) -> End {
    if status { End::Done } else { End::NotDone }
}

/// README.md: `pueued` is the daemon, `pueue add` adds a task. After a crash "all groups with queued tasks will be
/// automatically paused to prevent unwanted execution" (`restore_state` of its source), so `pueue start`. What ran then
/// counts as killed; `pueue restart --all-failed` is its help's way to run that again.
pub struct Pueue {
    place: Arc<Place>,
    daemon: Option<Child>,
    restarts: bool,
}

impl Pueue {
    pub fn make(place: &Arc<Place>, restarts: bool) -> anyhow::Result<Box<dyn Tool>> {
        let (files, run) = (place.files.display(), place.side.join("run"));
        let run = run.display();
        let config = format!(
            "shared:\n  pueue_directory: {files}\n  runtime_directory: {run}\n  unix_socket_path: {run}/pueue\n"
        );
        fs::write(place.side.join("pueue.yml"), config)?;
        Ok(Box::new(Self { place: Arc::clone(place), daemon: None, restarts }))
    }

    fn call(&self, words: &[&str]) -> Command {
        let mut command = self.place.program("pueue");
        command.arg("--config").arg(self.place.side.join("pueue.yml")).args(words);
        command
    }
}

impl Tool for Pueue {
    fn start(&mut self) -> anyhow::Result<()> {
        let is_first = self.daemon.is_none();
        if let Some(mut before) = self.daemon.take() {
            before.wait()?;
        }
        let mut daemon = self.place.program("pueued");
        self.daemon = Some(daemon.arg("--config").arg(self.place.side.join("pueue.yml")).spawn()?);
        until_it_answers(|| self.call(&["parallel", "4"]))?;
        if !is_first {
            self.call(&["start"]).status()?;
            if self.restarts {
                self.call(&["restart", "--in-place", "--all-failed"]).status()?;
            }
        }
        Ok(())
    }

    fn enqueue(&mut self, item: Item) -> anyhow::Result<bool> {
        let command = words(&self.place, item)?;
        Ok(self.call(&["add", "--"]).args(command).status()?.success())
    }

    fn ends(&mut self) -> anyhow::Result<HashMap<usize, End>> {
        let status: Value = serde_json::from_str(&stdout(&mut self.call(&["status", "--json"]))?)?;
        let tasks = status["tasks"].as_object().context("no tasks")?;
        let mut ends = HashMap::new();
        for task in tasks.values() {
            let id = task["command"].as_str().and_then(id_of).context("a command")?;
            let result = &task["status"]["Done"]["result"];
            if !result.is_null() {
                ends.insert(id, is_done(result == "Success"));
            }
        }
        Ok(ends)
    }
}

/// tsp(1): the first call starts the server. There is nothing to restart after a crash: the queue is written to a file only
/// on SIGTERM, and only for people to read (`TS_SAVELIST`).
pub struct TaskSpooler {
    place: Arc<Place>,
}

impl TaskSpooler {
    pub fn make(place: &Arc<Place>) -> Box<dyn Tool> {
        Box::new(Self { place: Arc::clone(place) })
    }

    fn call(&self) -> Command {
        let mut command = self.place.program("tsp");
        command.env("TS_SOCKET", self.place.side.join("run/tsp"));
        command.env("TS_SLOTS", "4").env("TS_MAXFINISHED", "2000").env("TMPDIR", &self.place.files);
        command
    }
}

impl Tool for TaskSpooler {
    fn start(&mut self) -> anyhow::Result<()> {
        until_it_answers(|| self.call())
    }

    fn enqueue(&mut self, item: Item) -> anyhow::Result<bool> {
        Ok(self.call().args(words(&self.place, item)?).status()?.success())
    }

    fn ends(&mut self) -> anyhow::Result<HashMap<usize, End>> {
        let list = stdout(&mut self.call())?;
        let ends = list.lines().filter_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            // ID, state, output, exit status, times, command.
            let is_finished = columns.get(1) == Some(&"finished");
            is_finished.then(|| Some((id_of(line)?, is_done(columns.get(3)? == &"0"))))?
        });
        Ok(ends.collect())
    }
}

/// nq(1), TRICKS: "you can resubmit a job by executing it as a shell command file, i.e. running `sh` job id". CAVEATS: "all
/// reliable queue status information is in main memory only, which makes restarting a job queue after a reboot difficult".
pub struct Nq {
    place: Arc<Place>,
}

impl Nq {
    pub fn make(place: &Arc<Place>) -> anyhow::Result<Box<dyn Tool>> {
        let nq = Self { place: Arc::clone(place) };
        fs::create_dir(nq.folder())?;
        Ok(Box::new(nq))
    }

    fn folder(&self) -> PathBuf {
        self.place.files.join("nq")
    }

    /// The files of jobs and their texts, by age.
    fn jobs(&self) -> anyhow::Result<Vec<(PathBuf, String)>> {
        let mut jobs = Vec::new();
        for entry in fs::read_dir(self.folder())? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b",")) {
                jobs.push((path.clone(), String::from_utf8_lossy(&fs::read(path)?).into_owned()));
            }
        }
        jobs.sort();
        Ok(jobs)
    }
}

/// What stands in the file of a job when it has ended.
const EXITED: &str = "[exited with status ";

impl Tool for Nq {
    fn start(&mut self) -> anyhow::Result<()> {
        for (path, text) in self.jobs()? {
            // A file that was cut off in its first line has no command any more.
            if !text.contains(EXITED) && text.lines().next().and_then(id_of).is_some() {
                let mut again = self.place.program("sh");
                if again.arg(&path).env("NQDIR", self.folder()).status()?.success() {
                    fs::remove_file(path)?;
                }
            }
        }
        Ok(())
    }

    fn enqueue(&mut self, item: Item) -> anyhow::Result<bool> {
        let mut call = self.place.program("nq");
        Ok(call.args(words(&self.place, item)?).env("NQDIR", self.folder()).status()?.success())
    }

    fn ends(&mut self) -> anyhow::Result<HashMap<usize, End>> {
        let mut ends = HashMap::new();
        for (_, text) in self.jobs()? {
            if let (Some(id), Some((_, status))) =
                (text.lines().next().and_then(id_of), text.split_once(EXITED))
            {
                ends.insert(id, is_done(status.starts_with("0.")));
            }
        }
        Ok(ends)
    }
}

/// parallel(1), `--resume`: "By reading --joblog or the --results dir GNU parallel will figure out the last unfinished job and
/// continue from there."
pub struct Parallel {
    place: Arc<Place>,
    running: Option<Child>,
}

impl Parallel {
    pub fn make(place: &Arc<Place>) -> anyhow::Result<Box<dyn Tool>> {
        // Its first run ever writes a file below the home folder, and an empty one keeps it from starting.
        until_it_answers(|| {
            let mut call = place.program("parallel");
            call.args(["true", ":::", "once"]).env("SHELL", "/bin/sh");
            call
        })?;
        Ok(Box::new(Self { place: Arc::clone(place), running: None }))
    }
}

impl Tool for Parallel {
    fn start(&mut self) -> anyhow::Result<()> {
        if let Some(mut before) = self.running.take() {
            before.wait()?;
        }
        let mut call = self.place.program("parallel");
        call.args(["-j4", "--joblog", "joblog", "--resume", "--colsep", " ", "-a", "list"]);
        call.args(self.place.job()?).args(["{1}", "{2}"]);
        self.running = Some(call.env("SHELL", "/bin/sh").spawn()?);
        Ok(())
    }

    fn take_list(&mut self, items: &[Item]) -> anyhow::Result<()> {
        let mut list = String::new();
        for item in items {
            writeln!(list, "{} {}", item.milliseconds, item.id)?;
        }
        Ok(fs::write(self.place.files.join("list"), list)?)
    }

    fn ends(&mut self) -> anyhow::Result<HashMap<usize, End>> {
        let joblog = fs::read(self.place.files.join("joblog")).unwrap_or_default();
        let joblog = String::from_utf8_lossy(&joblog).into_owned();
        let ends = joblog.lines().skip(1).filter_map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [.., exit, signal, command] = columns[..] else { return None };
            Some((id_of(command)?, is_done(exit == "0" && signal == "0")))
        });
        Ok(ends.collect())
    }
}

/// Huey's documentation, "Consuming Tasks", "Consumer Shutdown": it "does not guarantee at-least-once delivery", and what runs
/// when the consumer is terminated is lost. `SIGNAL_INTERRUPTED` does not come after `kill -9`.
pub struct Huey {
    place: Arc<Place>,
    consumer: Option<Child>,
    enqueuer: Option<(Child, ChildStdin, BufReader<ChildStdout>)>,
    tasks: HashMap<usize, String>,
}

impl Huey {
    pub fn make(place: &Arc<Place>) -> anyhow::Result<Box<dyn Tool>> {
        fs::write(place.side.join("huey_jobs.py"), include_str!("huey_jobs.py"))?;
        let (place, tasks) = (Arc::clone(place), HashMap::new());
        Ok(Box::new(Self { place, consumer: None, enqueuer: None, tasks }))
    }

    fn program(&self, name: &str) -> Command {
        let mut command = self.place.program(name);
        command.env("HUEY_FILE", self.place.files.join("huey.db")).current_dir(&self.place.side);
        command
    }

    /// A process of the application.
    fn python(&self, code: &str) -> anyhow::Result<(Child, ChildStdin, BufReader<ChildStdout>)> {
        let mut command = self.program("python3");
        command.args(["-c", code]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take().context("a pipe")?, child.stdout.take().context("a pipe")?);
        Ok((child, stdin, BufReader::new(stdout)))
    }
}

impl Tool for Huey {
    fn start(&mut self) -> anyhow::Result<()> {
        if let Some(mut before) = self.consumer.take() {
            before.wait()?;
        }
        self.consumer = Some(self.program("huey_consumer").args(["huey_jobs.huey", "-w", "4"]).spawn()?);
        if let Some((mut before, ..)) = self.enqueuer.take() {
            let _ = before.kill();
            before.wait()?;
        }
        self.enqueuer = Some(self.python("import huey_jobs; huey_jobs.enqueue()")?);
        Ok(())
    }

    fn enqueue(&mut self, item: Item) -> anyhow::Result<bool> {
        let line = words(&self.place, item)?.join(" ");
        let Some((_, stdin, stdout)) = &mut self.enqueuer else { return Ok(false) };
        let mut task = String::new();
        let is_told = writeln!(stdin, "{line}").is_ok() && stdout.read_line(&mut task).is_ok();
        if !is_told || !task.ends_with('\n') {
            return Ok(false);
        }
        self.tasks.insert(item.id, task.trim().to_owned());
        Ok(true)
    }

    fn ends(&mut self) -> anyhow::Result<HashMap<usize, End>> {
        let (mut child, mut stdin, mut stdout) = self.python("import huey_jobs; huey_jobs.results()")?;
        let mut ends = HashMap::new();
        for (id, task) in &self.tasks {
            writeln!(stdin, "{task}")?;
            let mut result = String::new();
            ensure!(stdout.read_line(&mut result)? > 0, "no result");
            if let Ok(status) = result.trim().parse::<i32>() {
                ends.insert(*id, is_done(status == 0));
            }
        }
        drop(stdin);
        child.wait()?;
        Ok(ends)
    }
}
