//! What the program is doing when a call fails.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::power::scenario::JOBS;
use crate::support::{Background, Call, Sandbox, Sql, wait_until};
use crate::tools::own_workers;

/// What a call is to do, and from where it starts.
pub struct Scene {
    pub name: &'static str,
    /// The call, its arguments split at blanks.
    pub line: &'static str,
    /// What it reads.
    pub stdin: Option<String>,
    /// How many jobs it adds where it ends well, at most.
    pub adds: usize,
    /// It is a worker: it may be told to stop.
    pub works: bool,
    /// Every point of it is looked at in the short run too.
    pub in_full: bool,
    start: &'static str,
}

/// Folders as they may be before a scene: nothing; a few jobs that wait; jobs of all kinds that wait; what a killed worker
/// has left; jobs that have finished, and one that waits; a schedule with one time that was missed.
const NOTHING: &str = "nothing";
const WAITING: &str = "waiting";
const WORK: &str = "work";
const KILLED: &str = "killed";
const FINISHED: &str = "finished";
const SCHEDULED: &str = "scheduled";

const fn scene(name: &'static str, line: &'static str, start: &'static str) -> Scene {
    Scene { name, line, stdin: None, adds: 0, works: false, in_full: false, start }
}

/// All scenes.
pub fn all() -> Vec<Scene> {
    let enqueue = |name, line, adds, start| Scene { adds, ..scene(name, line, start) };
    let work = |name, line, start| Scene { works: true, ..scene(name, line, start) };
    let lines = "{\"name\":\"good\"}\n{\"name\":\"once\"}\n{\"name\":\"good\",\"args\":[\"x\"]}\n";
    vec![
        enqueue("create", "enqueue good", 1, NOTHING),
        Scene { in_full: true, ..enqueue("enqueue", "enqueue good", 1, WAITING) },
        Scene { stdin: Some(lines.into()), ..enqueue("batch", "enqueue --batch -", 3, WAITING) },
        enqueue("chain", "enqueue after", 2, WAITING),
        Scene { stdin: Some(input()), ..enqueue("input", "enqueue reader --stdin", 1, WAITING) },
        work("work", "work -j1 --until-idle --log json --shutdown-timeout 2s", WORK),
        work("work of four", "work -j4 --drain --shutdown-timeout 2s", WAITING),
        Scene { adds: 1, ..work("fire", "work -j1 --until-idle --shutdown-timeout 2s", SCHEDULED) },
        work("recover", "work -j2 --drain --shutdown-timeout 2s", KILLED),
        scene("cancel", "cancel 1", WAITING),
        scene("retry", "retry 2", FINISHED),
        scene("pause", "pause later", WAITING),
        scene("apply", "apply", WAITING),
        scene("inspect", "inspect 2 --json", FINISHED),
        scene("overview", "inspect", KILLED),
        scene("logs", "logs 2", FINISHED),
        scene("wait", "wait 1", FINISHED),
        scene("doctor", "doctor", FINISHED),
        scene("backup", "backup copy.db", FINISHED),
    ]
}

/// What the jobs called `reader` count.
pub fn input() -> String {
    "input ".repeat(3000)
}

/// Folders as they are before a scene; each run gets a copy.
pub struct Starts {
    sandbox: Sandbox,
}

impl Starts {
    /// Lives through all of them.
    pub fn new() -> Self {
        let starts = Self { sandbox: Sandbox::new(JOBS) };
        fs::create_dir(starts.folder(NOTHING)).expect("a folder");
        starts.run(WAITING, "enqueue good once");
        starts.run(WORK, "enqueue good flaky once once-bad bad good after");
        starts.call(WORK, "enqueue reader --stdin").stdin(input()).run().ok();
        starts.run(FINISHED, "enqueue good bad");
        starts.call(FINISHED, "work -j1 --drain -q").run().exits(1);
        starts.run(FINISHED, "enqueue once");
        starts.run(SCHEDULED, "apply");
        let sql = Sql::open(&starts.folder(SCHEDULED).join("runner.db"));
        sql.run("UPDATE schedules SET schedule = 'every 1y', next_at = 1");
        drop(sql);
        starts.is_killed();
        starts
    }

    /// A worker dies over two jobs, which then go away too; the files stay as they were.
    fn is_killed(&self) {
        let start = KILLED;
        self.run(start, "enqueue good once-held held");
        let hold = self.folder(start).join("hold");
        fs::write(&hold, "").expect("a file");
        let worker = Background::worker(&self.sandbox, self.call(start, "work -j2"));
        let side = self.folder(start).join("side");
        wait_until("both have begun", || fs::read_to_string(&side).unwrap_or_default().lines().count() == 3);
        worker.kill();
        fs::remove_file(hold).expect("it is there");
    }

    fn folder(&self, start: &str) -> PathBuf {
        self.sandbox.path(start)
    }

    fn call(&self, start: &str, line: &str) -> Call {
        place(self.sandbox.call(line), &self.sandbox, &self.folder(start))
    }

    fn run(&self, start: &str, line: &str) {
        fs::create_dir_all(self.folder(start)).expect("a folder");
        self.call(start, line).run().ok();
    }

    /// A place of its own that is as it is before this scene.
    pub fn copy(&self, scene: &Scene) -> Place<'_> {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.expect("a temporary folder");
        copy(&self.folder(scene.start), folder.path());
        let db = folder.path().join("runner.db");
        if db.exists() {
            own_workers(&db);
        }
        Place { sandbox: &self.sandbox, folder }
    }
}

fn place(call: Call, sandbox: &Sandbox, folder: &Path) -> Call {
    let call = call.env("RUNNER_DB", folder.join("runner.db")).env("RUNNER_FILE", sandbox.path("jobs.toml"));
    call.env("SIDE", folder.join("side")).env("HOLD", folder.join("hold")).dir(folder)
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, kind) = (to.join(entry.file_name()), entry.file_type().expect("a kind"));
        if kind.is_dir() {
            fs::create_dir(&path).expect("a folder");
            let mode = fs::metadata(entry.path()).expect("it is there").permissions();
            fs::set_permissions(&path, mode).expect("it is ours");
            copy(&entry.path(), &path);
        } else if kind.is_file() {
            fs::copy(entry.path(), path).expect("a file");
        }
    }
}

/// Where a scene is played.
pub struct Place<'a> {
    sandbox: &'a Sandbox,
    folder: TempDir,
}

impl Place<'_> {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn db(&self) -> PathBuf {
        self.path("runner.db")
    }

    pub fn call(&self, line: &str) -> Call {
        place(self.sandbox.call(line), self.sandbox, self.folder.path())
    }

    /// The lines that jobs have written: `WHAT JOB ATTEMPT`.
    pub fn side(&self) -> String {
        fs::read_to_string(self.path("side")).unwrap_or_default()
    }
}
