//! The tools of every group: a folder with a database, programs by the clock, rounds, rows.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tempfile::TempDir;

/// The options of the command line.
pub struct Bench {
    pub is_long: bool,
    pub runner: PathBuf,
    /// Parent of all temporary folders.
    pub dir: PathBuf,
}

impl Bench {
    pub fn size<T>(&self, short: T, long: T) -> T {
        if self.is_long { long } else { short }
    }

    /// The first line that a program prints about its version. `None` where it is not installed.
    pub fn version(&self, name: &str) -> Option<String> {
        let (program, args): (_, &[&str]) = match name {
            "tsp" => ("tsp", &["-V"]),
            "nq" => ("dpkg-query", &["-Wf", "${Version}", "nq"]),
            "huey" => ("python3", &["-c", "import huey; print(huey.__version__)"]),
            _ => (name, &["--version"]),
        };
        let output =
            self.program(program).args(args).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
    }

    /// Prints the machine and the versions of everything that is compared.
    pub fn describe(&self) -> anyhow::Result<()> {
        let cpus = fs::read_to_string("/proc/cpuinfo")?;
        let model = cpus.lines().find(|line| line.starts_with("model name")).unwrap_or("?");
        println!("{} CPUs, {model}", thread::available_parallelism()?);
        println!("Linux {}", fs::read_to_string("/proc/sys/kernel/osrelease")?.trim());
        println!("load {}", fs::read_to_string("/proc/loadavg")?.trim());
        println!("files in {}", self.dir.display());
        for program in
            [&*self.runner.to_string_lossy(), "xargs", "sqlite3", "parallel", "pueue", "nq", "tsp", "huey"]
        {
            println!("{program}: {}", self.version(program).as_deref().unwrap_or("not installed"));
        }
        Ok(())
    }

    /// A program with nothing but `PATH` and `LANG` in its environment. A login session sets a locale, and programs that
    /// read it start more slowly.
    ///
    /// The file is looked up here: `Command` forks for a bare name when it also sets `PATH`, which is slower.
    pub fn program(&self, name: &str) -> Command {
        let path = env::var_os("PATH").unwrap_or_default();
        let file = env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
        let mut command = Command::new(file.unwrap_or_else(|| name.into()));
        command
            .env_clear()
            .env("PATH", path)
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null())
            .current_dir(&self.dir);
        command
    }

    pub fn sandbox(&self) -> anyhow::Result<Sandbox<'_>> {
        Ok(Sandbox { bench: self, dir: tempfile::tempdir_in(&self.dir)? })
    }
}

/// A temporary folder with a database.
pub struct Sandbox<'a> {
    bench: &'a Bench,
    dir: TempDir,
}

impl Sandbox<'_> {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn read(&self, name: &str) -> anyhow::Result<String> {
        Ok(fs::read_to_string(self.path(name))?)
    }

    pub fn program(&self, name: &str) -> Command {
        let mut command = self.bench.program(name);
        command.env("HOME", self.dir.path()).current_dir(self.dir.path());
        command
    }

    /// A call of runner, its arguments split at blanks.
    pub fn runner(&self, args: &str) -> Command {
        let mut command = self.program(&self.bench.runner.to_string_lossy());
        command.args(args.split_whitespace()).env("RUNNER_DB", self.path("runner.db"));
        command
    }

    /// Enqueues `jobs` copies of this line of JSON.
    pub fn fill(&self, jobs: usize, line: &str) -> anyhow::Result<()> {
        fs::write(self.path("batch"), format!("{line}\n").repeat(jobs))?;
        run(&mut self.runner("enqueue --quiet --batch batch"))
    }

    /// The number of jobs in this state.
    pub fn count(&self, state: &str) -> anyhow::Result<usize> {
        let overview: Value = serde_json::from_slice(&self.runner("inspect --json").output()?.stdout)?;
        let count = overview["counts"][state].as_u64().context("no such count")?;
        Ok(usize::try_from(count)?)
    }

    /// A worker in the background, once it has said that it has started.
    pub fn worker(&self, args: &str) -> anyhow::Result<Worker> {
        let log = self.path("worker.log");
        let mut command = self.runner(&format!("work {args}"));
        let child = command.stdout(Stdio::null()).stderr(File::create(&log)?).spawn()?;
        let worker = Worker(child);
        wait_until("the worker has started", || Ok(fs::metadata(&log)?.len() > 0))?;
        Ok(worker)
    }
}

/// A worker that is stopped when this value is dropped.
pub struct Worker(Child);

impl Worker {
    pub fn proc_file(&self, name: &str) -> anyhow::Result<String> {
        Ok(fs::read_to_string(format!("/proc/{}/{name}", self.0.id()))?)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

pub fn wait_until(what: &str, mut is_true: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let began = Instant::now();
    while !is_true()? {
        ensure!(began.elapsed() < Duration::from_mins(10), "gave up waiting until {what}");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Runs a program whose time does not count.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.with_context(|| format!("could not start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// Runs a program and gives its seconds from start to end. Shows the command line the first time.
pub fn seconds(command: &mut Command) -> anyhow::Result<f64> {
    static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    let line = format!("  $ {} {}", name.display(), words.collect::<Vec<_>>().join(" "));
    if SHOWN.lock().is_ok_and(|mut shown| shown.insert(line.clone())) {
        println!("{line}");
    }
    let began = Instant::now();
    run(command)?;
    Ok(began.elapsed().as_secs_f64())
}

/// The contenders take turns, another one first in each round. Returns the measures of each.
pub fn rounds<const N: usize>(
    rounds: usize,
    mut measure: impl FnMut(usize) -> anyhow::Result<f64>,
) -> anyhow::Result<[Vec<f64>; N]> {
    let mut measured = [const { Vec::new() }; N];
    for round in 0..rounds {
        for turn in 0..N {
            let contender = (turn + round) % N;
            measured[contender].push(measure(contender)?);
        }
    }
    Ok(measured)
}

/// Each round's ratio.
pub fn ratios(above: &[f64], below: &[f64]) -> Vec<f64> {
    above.iter().zip(below).map(|(above, below)| above / below).collect()
}

pub fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * percent / 100]
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^52")]
pub fn float(count: usize) -> f64 {
    count as f64
}

/// Prints a measure: the median, the range, the target, and absolute figures of this run.
pub fn row(measure: &str, values: &[f64], unit: &str, target: &str, beside: &str) {
    let (least, most) = (percentile(values, 0), percentile(values, 100));
    let range = if values.len() > 1 { format!(" ({least:.2} to {most:.2})") } else { String::new() };
    println!("  {measure}: {:.2}{unit}{range}, target {target}  {beside}", median(values));
}
