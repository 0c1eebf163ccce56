//! Shared by the tests: an attempt of a small job in a folder of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::model::{Bytes, Command, Exit, JobSpec, SelfReport};
use crate::text::{Millis, Timestamp};

use super::{Control, Identity, Kept, Launch, Mark, Progress, Ran, run};

/// A job in a folder of its own, which is also its directory.
pub struct Bed {
    pub folder: TempDir,
    pub spec: JobSpec,
    pub args: Vec<Bytes>,
    pub stdin: Option<File>,
    pub mark: Mark,
    pub predecessors: Vec<Mark>,
    pub remnants: Vec<Identity>,
    pub not_from: Option<Timestamp>,
}

/// What `Ran::Ended` says.
#[derive(Debug)]
pub struct Over {
    pub ending: Exit,
    pub started_at: Option<Timestamp>,
    pub finished_at: Timestamp,
    pub duration: Millis,
    pub stdout: Kept,
    pub stderr: Kept,
    pub leaked: bool,
    pub report: SelfReport,
    pub message: Option<String>,
}

impl Bed {
    pub fn shell(line: &str) -> Self {
        Self::of(Command::Shell(Bytes::from(line)))
    }

    pub fn argv(argv: &[&str]) -> Self {
        Self::of(Command::Argv(argv.iter().map(|each| Bytes::from(*each)).collect()))
    }

    fn of(command: Command) -> Self {
        static WORKERS: AtomicU32 = AtomicU32::new(1);
        let folder = TempDir::new().unwrap();
        let cwd = Bytes::from(folder.path().as_os_str());
        let worker = WORKERS.fetch_add(1, Ordering::Relaxed);
        Self {
            folder,
            spec: JobSpec::new("test", command, cwd),
            args: Vec::new(),
            stdin: None,
            mark: Mark { worker_id: format!("test-{}-{worker}", std::process::id()), job_id: 1, attempt: 1 },
            predecessors: Vec::new(),
            remnants: Vec::new(),
            not_from: None,
        }
    }

    pub fn timeout(mut self, millis: u64) -> Self {
        self.spec.timeout = Some(Millis(millis));
        self
    }

    pub fn grace(mut self, millis: u64) -> Self {
        self.spec.grace_period = Millis(millis);
        self
    }

    pub fn output_limit(mut self, bytes: u64) -> Self {
        self.spec.output_limit = bytes;
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.spec.env.insert(Bytes::from(name), Bytes::from(value));
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn report(&self) -> PathBuf {
        self.path("report")
    }

    /// Lets `act` have what is to be started.
    pub fn launch<T>(&self, act: impl FnOnce(&Launch<'_>) -> T) -> T {
        act(&Launch {
            spec: &self.spec,
            args: &self.args,
            stdin: self.stdin.as_ref(),
            // What the mark says counts.
            vars: vec![("RUNNER_JOB_NAME".into(), "test".into()), ("RUNNER_JOB_ID".into(), "77".into())],
            mark: self.mark.clone(),
            report: &self.report(),
            not_from: self.not_from,
            predecessors: &self.predecessors,
            remnants: &self.remnants,
        })
    }

    /// Runs it, and hands on what is told.
    pub fn run_with(&self, control: &Control, tell: &mut dyn FnMut(Progress<'_>)) -> Ran {
        self.launch(|launch| run(launch, control, tell))
    }

    pub fn run(&self) -> Over {
        over(self.run_with(&Control::default(), &mut |_| {}))
    }

    /// Runs it; `act` gets the control as soon as the job has made the file `ready`.
    pub fn run_and(&self, act: impl FnOnce(&Control) + Send) -> Over {
        let control = Control::default();
        let ready = self.path("ready");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                until("the job to be ready", || ready.exists());
                act(&control);
            });
            over(self.run_with(&control, &mut |_| {}))
        })
    }

    /// The process whose number the job wrote to this file.
    pub fn process(&self, name: &str) -> Identity {
        process(&self.path(name)).unwrap_or_else(|| panic!("{name} names no living process"))
    }
}

/// The process whose number stands in this file, if it lives.
pub fn process(path: &Path) -> Option<Identity> {
    let pid = std::fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Identity::of(pid)
}

pub fn over(ran: Ran) -> Over {
    match ran {
        Ran::Ended { ending, started_at, finished_at, duration, stdout, stderr, leaked, report, message } => {
            Over { ending, started_at, finished_at, duration, stdout, stderr, leaked, report, message }
        }
        Ran::NotStarted { why } => panic!("not started: {why}"),
    }
}

/// Waits until something is so; the limit only catches what would hang.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
