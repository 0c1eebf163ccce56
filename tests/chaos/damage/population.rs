//! A database in which everything occurs: all states, outputs, attempts, keys; with and without a log beside it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use crate::support::{Sandbox, Signal, signal};

/// The jobs. No command does harm, whichever of its bits is turned.
const JOBS: &str = r#"
[defaults]
backoff = "9d"

[jobs.good]
command = "echo fine; echo grumble >&2"
reports = ["RATE_LIMITED"]

[jobs.bad]
command = "echo no >&2; exit 3"
max_attempts = 1
exit_codes = { 3 = "HTTP_ERROR", "4-9" = "OTHER" }

[jobs.flaky]
command = "exit 4"
max_attempts = 3

[jobs.once]
command = "exit 1"
retryable = false

[jobs.chatty]
command = "seq 20000; seq 300 >&2"
output_limit = "24KiB"

[jobs.slow]
command = "exec sleep 20"
timeout = "40ms"
max_attempts = 1

[jobs.held]
command = "echo $$ > held; exec sleep 20"
queue = "held"

[jobs.missing]
command = ["./no-such-program", "--really"]
"#;

/// How many jobs were enqueued while the log grew.
pub const LATE: usize = 20;

/// The files of a database, and of the run directory beside it.
#[derive(Clone)]
pub struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// Everything that lies in the sandbox.
    fn of(sandbox: &Sandbox) -> Self {
        let mut files = BTreeMap::new();
        for folder in ["", "runner.db.run/"] {
            for entry in fs::read_dir(sandbox.path(folder)).expect("a folder") {
                let entry = entry.expect("an entry");
                let name = entry.file_name().to_string_lossy().into_owned();
                let wanted = name.starts_with("runner.db") || name == "jobs.toml" || !folder.is_empty();
                if wanted && entry.file_type().expect("a type").is_file() {
                    files.insert(format!("{folder}{name}"), fs::read(entry.path()).expect("a file"));
                }
            }
        }
        Self(files)
    }

    /// A folder of its own with a copy of them.
    pub fn settle(&self) -> Sandbox {
        let sandbox = Sandbox::empty();
        for (name, bytes) in &self.0 {
            sandbox.write(name, bytes);
            private(&sandbox.path(name), 0o600);
        }
        private(&sandbox.path("runner.db.run"), 0o700);
        sandbox
    }

    pub fn main(&self) -> &[u8] {
        &self.0["runner.db"]
    }

    pub fn main_mut(&mut self) -> &mut Vec<u8> {
        self.beside_mut("")
    }

    /// The file with the name of the database and this suffix.
    pub fn beside_mut(&mut self, suffix: &str) -> &mut Vec<u8> {
        self.0.entry(format!("runner.db{suffix}")).or_default()
    }

    pub fn remove(&mut self, suffix: &str) {
        self.0.remove(&format!("runner.db{suffix}"));
    }
}

fn private(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

/// The databases with which all trials start.
pub struct Population {
    closed: Files,
    with_log: Files,
    /// How many jobs are in the main file.
    pub settled: u64,
    /// How long the log was when the next job had been acknowledged, for each of the [`LATE`] ones.
    pub log_ends: Vec<usize>,
}

impl Population {
    /// Made once.
    pub fn get() -> &'static Self {
        static MADE: OnceLock<Population> = OnceLock::new();
        MADE.get_or_init(make)
    }

    /// The database with nothing beside it.
    pub fn closed(&self) -> Files {
        self.closed.clone()
    }

    /// The database whose newest part lies in a log beside it.
    pub fn with_log(&self) -> Files {
        self.with_log.clone()
    }
}

fn make() -> Population {
    let sandbox = Sandbox::empty();
    sandbox.write("jobs.toml", JOBS);
    for name in ["good", "bad", "flaky", "once", "chatty", "slow", "missing"] {
        sandbox.add(name);
    }
    sandbox.add("good --expires-in 1ms");
    sandbox.call("enqueue --stdin -- cat").stdin("x".repeat(9_000)).run().exits(0);
    sandbox.call("enqueue good --").arg("an argument").arg("y".repeat(5_000)).run().exits(0);
    sandbox.run("work -j4 --until-idle").exits(1);
    hold(&sandbox);
    sandbox.run("pause net").exits(0);
    sandbox.add("good --unique-key one --queue net");
    sandbox.add("good --idempotency-key two --in 9d");
    let called_off = sandbox.add("bad --in 9d");
    sandbox.run(&format!("cancel {called_off}")).exits(0);
    for priority in -20..20 {
        sandbox.add(&format!("good --queue net --priority {priority}"));
        sandbox.add(&format!("flaky --queue q{} --in 9d", priority + 20));
    }
    let settled = sandbox.add("good");
    let closed = Files::of(&sandbox);
    assert!(closed.0["runner.db-wal"].is_empty(), "the last to close leaves nothing in the log");

    // Whoever keeps it open keeps the log from being put away.
    let keeper = sandbox.sql();
    let jobs = u64::try_from(keeper.number("SELECT count(*) FROM jobs")).expect("a count");
    assert_eq!(jobs, settled);
    let mut log_ends = Vec::new();
    for _ in 0..LATE {
        sandbox.add("good --queue net");
        log_ends.push(
            fs::metadata(sandbox.path("runner.db-wal")).expect("a log").len().try_into().expect("a length"),
        );
    }
    Population { closed, with_log: Files::of(&sandbox), settled, log_ends }
}

/// Leaves a job with a dead worker, and no process behind.
fn hold(sandbox: &Sandbox) {
    sandbox.add("held");
    let worker = sandbox.worker("-j1 --queue held");
    let held = sandbox.pid_of("held");
    sandbox.until_state(11, "running");
    worker.kill();
    signal(held, Signal::KILL);
}
