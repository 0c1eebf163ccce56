//! The scenes in which a system call fails, and the ways in which it fails.

use std::fs;
use std::path::{Path, PathBuf};

use libc::{EACCES, EAGAIN, EDQUOT, EFBIG, EIO, EMFILE, ENOLCK, ENOMEM, ENOSPC, EPERM, EPIPE, EROFS};
use tempfile::TempDir;

use crate::evidence::Rows;
use crate::power::scenario::JOBS;
use crate::support::{Background, Call, Sandbox, Sql, wait_until};
use crate::tools::own_workers;

/// A call of the program, and the database with which it starts.
pub struct Scene {
    pub name: &'static str,
    /// The call, its arguments split at blanks.
    pub line: &'static str,
    /// Its standard input.
    pub stdin: Option<String>,
    /// How many jobs it adds at most, where it ends well.
    pub adds: usize,
    /// It is a worker, which may be told to stop.
    pub works: bool,
    /// Every point of it is looked at in the short run too.
    pub in_full: bool,
    start: &'static str,
}

impl Scene {
    pub fn is_run(&self) -> bool {
        self.line.starts_with("run ")
    }
}

/// Folders as they may be before a scene: nothing; a few jobs that wait; jobs of all kinds that wait; what a killed worker
/// has left; what a killed `run` has left; jobs that have finished, and one that waits; a schedule with one time that was missed.
const NOTHING: &str = "nothing";
const WAITING: &str = "waiting";
const WORK: &str = "work";
const KILLED: &str = "killed";
const CUT_OFF: &str = "cut off";
const FINISHED: &str = "finished";
const SCHEDULED: &str = "scheduled";

const fn scene(name: &'static str, line: &'static str, start: &'static str) -> Scene {
    Scene { name, line, stdin: None, adds: 0, works: false, in_full: false, start }
}

pub fn scenes() -> Vec<Scene> {
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
        Scene { adds: 1, ..work("run", "run good", NOTHING) },
        Scene { adds: 2, ..work("run of a chain", "run after -q", WAITING) },
        work("run that goes on", "run held --json", CUT_OFF),
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

/// The standard input of the jobs called `reader`, whose bytes they count.
pub fn input() -> String {
    "input ".repeat(3000)
}

/// Folders as they are before a scene; each run gets a copy.
pub struct Starts {
    sandbox: Sandbox,
}

impl Starts {
    pub fn new() -> Self {
        let starts = Self { sandbox: Sandbox::new(JOBS) };
        fs::create_dir(starts.folder(NOTHING)).expect("a folder");
        starts.run(WAITING, "enqueue good once");
        starts.run(WORK, "enqueue good flaky once once-bad bad good after");
        starts.call(WORK, "enqueue reader --stdin").stdin(input()).run().exits(0);
        starts.run(FINISHED, "enqueue good bad");
        starts.call(FINISHED, "work -j1 --drain -q").run().exits(1);
        starts.run(FINISHED, "enqueue once");
        starts.run(SCHEDULED, "apply");
        let sql = Sql::open(&starts.folder(SCHEDULED).join("runner.db"));
        sql.run("UPDATE schedules SET schedule = 'every 1y', next_at = 1");
        drop(sql);
        starts.is_killed();
        starts.is_cut_off();
        starts
    }

    /// A `run` dies over its job, which then goes away too; the files stay as they were.
    fn is_cut_off(&self) {
        fs::create_dir_all(self.folder(CUT_OFF)).expect("a folder");
        let hold = self.folder(CUT_OFF).join("hold");
        fs::write(&hold, "").expect("a file");
        let run = Background::start(&self.sandbox, self.call(CUT_OFF, "run held"));
        let side = self.folder(CUT_OFF).join("side");
        wait_until("its job has begun", || {
            fs::read_to_string(&side).unwrap_or_default().lines().count() == 1
        });
        run.kill();
        fs::remove_file(hold).expect("it is there");
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
        self.call(start, line).run().exits(0);
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

    /// How many jobs there are.
    pub fn count_jobs(&self) -> usize {
        if self.db().exists() { Rows::read(&self.db()).expect("a database").jobs.len() } else { 0 }
    }

    /// The side log.
    pub fn side(&self) -> String {
        fs::read_to_string(self.path("side")).unwrap_or_default()
    }
}

/// How a call fails.
#[derive(Clone, Copy)]
enum Mode {
    /// This call alone.
    Once(i32),
    /// All calls from this one on.
    Ever(i32),
    /// The call does its work and reports a failure.
    After(i32),
    /// The call does half of its work and says so.
    Short,
}

use Mode::{After, Ever, Once, Short};

/// The kinds of calls, by the shim's names, and the ways in which each fails.
///
/// Calls that read `/proc` have kinds of their own: how often they are made depends on how many processes there are.
const KINDS: [(&str, &[Mode]); 25] = [
    ("pwrite", &[Once(ENOSPC), Once(EIO), Ever(ENOSPC), Ever(EIO), After(EIO), Short]),
    ("pwrite", &[Once(EDQUOT), Once(EROFS), Ever(EDQUOT), Ever(EFBIG), Ever(EROFS)]),
    ("write", &[Once(ENOSPC), Once(EIO), Ever(ENOSPC), Ever(EDQUOT), Ever(EFBIG), Short]),
    ("stdout", &[Once(ENOSPC), Once(EIO), Ever(ENOSPC), Once(EPIPE), Short]),
    ("fsync", &[Once(EIO), Once(ENOSPC), Once(EDQUOT), Ever(EIO), Ever(EROFS), After(EIO), After(EDQUOT)]),
    ("open", &[Once(EMFILE), Once(EACCES), Once(EIO), Ever(EMFILE), Ever(ENOSPC), Ever(EDQUOT), Ever(EROFS)]),
    ("truncate", &[Once(EIO), Ever(ENOSPC), Ever(EFBIG), Ever(EROFS)]),
    ("mkdir", &[Once(ENOSPC), Once(EDQUOT), Once(EROFS), Once(EACCES), After(EIO)]),
    ("rename", &[Once(EIO), Once(ENOSPC), After(EIO)]),
    ("link", &[Once(EIO), Once(EPERM), After(EIO)]),
    ("unlink", &[Once(EIO), Once(EACCES), Ever(EIO)]),
    ("spawn", &[Once(EAGAIN), Once(ENOMEM), Ever(EAGAIN), Once(EPERM)]),
    ("fork", &[Once(EAGAIN), Ever(ENOMEM)]),
    ("thread", &[Once(EAGAIN), Ever(EAGAIN)]),
    ("mmap", &[Once(ENOMEM), Ever(ENOMEM)]),
    ("pipe", &[Once(EMFILE), Ever(EMFILE)]),
    ("socket", &[Once(EMFILE), Ever(EMFILE)]),
    ("pair", &[Once(EMFILE), Ever(EMFILE)]),
    ("bind", &[Once(EACCES), Once(ENOSPC)]),
    ("lock", &[Once(ENOLCK), Ever(EIO)]),
    ("poller", &[Once(EMFILE), Ever(EMFILE)]),
    ("read", &[Once(EIO), Ever(EIO), Short]),
    ("pread", &[Once(EIO), Ever(EIO), Short]),
    ("proc-open", &[Once(EMFILE), Ever(EMFILE)]),
    ("proc-read", &[Once(EIO), Ever(EIO)]),
];

/// All faults of a scene, in the shim's words, by how many calls of each kind it makes: the n-th call of a kind fails.
pub fn points(count: impl Fn(&str) -> usize) -> Vec<String> {
    let mut faults = Vec::new();
    for (kind, modes) in KINDS {
        // Only some of the calls that are alike, and of the locks, because a lock that cannot be had is waited for.
        let some = kind.starts_with("proc-") || kind == "lock";
        let every = if some { count(kind).div_ceil(16).max(1) } else { 1 };
        // A worker tries first whether it can have a pair of sockets, because the runtime panics where there is none.
        let last = if kind == "pair" { count(kind).min(1) } else { count(kind) };
        for number in (1..=last).step_by(every) {
            faults.extend(modes.iter().map(|mode| match mode {
                Once(errno) => format!("{kind}:{number}:once:{errno}:fail"),
                Ever(errno) => format!("{kind}:{number}:ever:{errno}:fail"),
                After(errno) => format!("{kind}:{number}:once:{errno}:after"),
                Short => format!("{kind}:{number}:once:0:short"),
            }));
        }
    }
    faults
}
