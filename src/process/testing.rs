//! Helpers that the tests share: an attempt of a small job in a folder of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::model::{AttemptEnd, Bytes, Command, JobDefinition};
use crate::text::Millis;

use super::{AttemptTag, Control, Identity, Launch, run};

/// A job in a folder of its own, which is also its directory.
pub struct Sandbox {
    pub folder: TempDir,
    pub definition: JobDefinition,
    pub args: Vec<Bytes>,
    pub tag: AttemptTag,
}

impl Sandbox {
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
            definition: JobDefinition::new("test", command, cwd),
            args: Vec::new(),
            tag: AttemptTag::new(&format!("test-{}-{worker}", std::process::id()), 1, 1),
        }
    }

    pub fn timeout(mut self, millis: u64) -> Self {
        self.definition.timeout = Some(Millis(millis));
        self
    }

    pub fn grace(mut self, millis: u64) -> Self {
        self.definition.grace_period = Millis(millis);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.definition.env.insert(Bytes::from(name), Bytes::from(value));
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs it to its end.
    pub fn run(&self) -> AttemptEnd {
        self.run_with(&Control::new().unwrap(), |_| {})
    }

    pub fn run_with(&self, control: &Control, on_start: impl FnOnce(Identity)) -> AttemptEnd {
        let launch = Launch {
            definition: &self.definition,
            args: &self.args,
            stdin: None,
            // The tag overrides these.
            vars: vec![("RUNNER_JOB_NAME".into(), "test".into()), ("RUNNER_JOB_ID".into(), "77".into())],
            tag: self.tag.clone(),
            report: &self.path("report"),
            pass_on: None,
        };
        run(launch, control, |leader, _| on_start(leader.process), &mut |_| {}).unwrap()
    }

    /// Runs it; `act` gets the control as soon as the job has made the file `ready`.
    pub fn run_and(&self, act: impl FnOnce(&Control) + Send) -> AttemptEnd {
        let control = Control::new().unwrap();
        let ready = self.path("ready");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                until("the job to be ready", || ready.exists());
                act(&control);
            });
            self.run_with(&control, |_| {})
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

/// Waits until something is so; the limit only catches what would hang.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
