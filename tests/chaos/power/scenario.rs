//! A day in the life of a database, recorded: its creation, enqueues, workers, one that is killed, a recovery, replays, a
//! copy, and outputs that are large enough to turn the write-ahead log over.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::journal::{self, Act, Record};
use crate::evidence::Rows;
use crate::support::versions::{columns, next_version, rows};
use crate::support::{Background, Call, Finished, Sandbox, Sql, wait_until};
use crate::tools::{shimmed, shimmed_program};

/// The jobs. Each begins with a line in the side log.
pub const JOBS: &str = r#"
[defaults]
max_attempts = 3
backoff = "1ms"
output_limit = "1MiB"

[jobs.good]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; echo fine'
[jobs.plain]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"'
[jobs.reader]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; wc -c'
[jobs.flaky]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; echo no >&2; [ $RUNNER_ATTEMPT -ge 3 ]'
[jobs.bad]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; exit 9'
max_attempts = 2
[jobs.once]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; echo result=done > "$RUNNER_REPORT"'
retryable = false
[jobs.once-bad]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; exit 4'
retryable = false
[jobs.once-held]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; while [ -e "$HOLD" ]; do sleep 0.01; done'
retryable = false
[jobs.held]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; while [ -e "$HOLD" ]; do sleep 0.01; done'
[jobs.keyed]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; while [ -e "$HOLD" ]; do sleep 0.01; done'
unique_key = "keyed"
[jobs.loud]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"; yes loud | head -c 550000'
[jobs.before]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"'
[jobs.after]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"'
after = ["before"]
[jobs.finally]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"'
after_any = ["after"]
[jobs.tick]
command = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> "$SIDE"'
schedule = "every 1s"
"#;

/// The jobs that are enqueued by one call: the variable `BATCH` of their environment, and how many they are.
pub const BATCH: (&str, usize) = ("five", 5);

/// The queue that is paused for a while.
pub const PAUSED: &str = "later";

/// The database, below the folder that is recorded. The folders in between do not exist at first.
pub const DB: &str = "deep/er/runner.db";

pub struct Recording {
    pub sandbox: Sandbox,
    pub records: Vec<Record>,
    /// The rows at the end.
    pub last: Rows,
    /// States before this record are not looked at.
    pub first: usize,
    /// The program that goes on after the power cut is that of the next version.
    pub by_next_version: bool,
    /// The names that `runner run` is called for, each no more than once at a time, and by no worker.
    pub nightly: &'static [&'static str],
    /// What the day begins with, where that is the database of an earlier version.
    pub origin: Option<Origin>,
}

/// What a database of an earlier version holds before any other program has opened it.
pub struct Origin {
    pub rows: Rows,
    columns: Vec<(String, String)>,
    /// The rows that the day does not change.
    kept: Vec<String>,
}

impl Origin {
    fn of(db: &Path) -> Self {
        let rows_at_first = Rows::read(db).expect("the database");
        let sql = Sql::open(db);
        let columns: Vec<_> = columns(&sql).into_iter().filter(|(table, _)| is_kept(table)).collect();
        let kept = rows(&sql, &columns);
        Self { rows: rows_at_first, columns, kept }
    }

    /// Lists what of it is gone or different in the same database.
    pub fn changed_in(&self, db: &Path, later: &Rows) -> Vec<String> {
        let now: HashSet<String> = rows(&Sql::open(db), &self.columns).into_iter().collect();
        let gone = self.kept.iter().filter(|row| !now.contains(*row));
        let mut wrong = self.rows.changed_in(later);
        wrong.extend(gone.map(|row| format!("this is gone or different: {row}")));
        let edges = self.rows.dependencies.iter().filter(|edge| !later.dependencies.contains(edge));
        wrong.extend(edges.map(|edge| format!("this dependency is gone: {edge:?}")));
        wrong
    }
}

/// Whether the rows of a table stay as they are. The schedules are paused.
fn is_kept(table: &str) -> bool {
    matches!(table, "job_definitions" | "attempts" | "outputs" | "inputs" | "schedules")
}

impl Recording {
    /// A call of the program that goes on after the power cut.
    pub fn call(&self, line: &str) -> Call {
        if self.by_next_version { self.sandbox.call_next(line) } else { self.sandbox.call(line) }
    }
}

struct Day {
    sandbox: Sandbox,
    /// How what was there at first came onto the disk.
    before: Vec<Record>,
}

/// Lives through it once.
pub fn record() -> Recording {
    let day = Day::begins();
    day.enqueues();
    day.changes();
    day.works();
    day.loses_a_worker();
    day.is_drained();
    day.replays();
    day.is_copied();
    day.is_loud();
    day.is_scheduled();
    day.ends()
}

/// Lives through the day on which the next version of the program comes: it meets the jobs of this one, of which a dead worker
/// still holds two.
pub fn record_upgrade() -> Recording {
    let day = Day::begins();
    day.enqueues();
    day.works();
    day.loses_a_worker();
    let first = day.records().len();
    day.next("inspect").exits(0);
    assert_eq!(day.next("enqueue good").exits(0).ids().len(), 1);
    day.add("good");
    day.next("work -j2 --drain --log json").exits(1);
    day.add("plain");
    day.run("work -j1 --drain --log json").exits(0);
    Recording { first, by_next_version: true, ..day.ends() }
}

/// Lives through the day on which the program of today comes to the database of an earlier version, of which a dead worker still
/// holds a job.
pub fn record_older(sql: &str) -> Recording {
    let day = Day::begins_with(sql);
    let origin = Some(Origin::of(&day.sandbox.path("disk").join(DB)));
    let first = day.before.len();
    day.run("inspect").exits(0);
    day.enqueues();
    day.works();
    day.loses_a_worker();
    day.run("work -j2 --until-idle --log json").exits(1);
    Recording { first, origin, ..day.ends() }
}

/// Lives through a day whose workers remove what ended well.
pub fn record_keep() -> Recording {
    let day = Day::begins();
    day.enqueues();
    day.does(&format!("resume {PAUSED}"));
    let left = |states: &str| {
        let sql = Sql::open(&day.sandbox.path("disk").join(DB));
        sql.number(&format!("SELECT count(*) FROM jobs WHERE state IN ({states})"))
    };
    for _ in 0..2 {
        day.run("work -j2 --drain --log json");
        let worker = Background::worker(&day.sandbox, day.call("work -j2 --keep 1ms --log json"));
        wait_until("what ended well is gone", || left("'succeeded', 'cancelled'") == 0);
        day.kill(worker);
        day.add("good");
        day.add("flaky");
    }
    assert!(left("'dead'") > 0, "what died is there");
    let mut recording = day.ends();
    recording.last.prunes = true;
    recording
}

/// The jobs that nobody enqueues: a line of a crontab runs each, and there is no worker.
const NIGHTLY: &[&str] = &["held", "keyed", "once-held", "flaky", "finally"];

/// Lives through nights on which the lines of a crontab call `runner run`, which is killed over its jobs.
pub fn record_nights() -> Recording {
    let day = Day::begins();
    day.sandbox.write("side", "");
    for name in NIGHTLY {
        day.runs(name);
        day.loses_a_run(name);
        day.runs(name);
    }
    Recording { nightly: NIGHTLY, ..day.ends() }
}

impl Day {
    fn begins() -> Self {
        let day = Self { sandbox: Sandbox::new(JOBS), before: Vec::new() };
        std::fs::create_dir(day.sandbox.path("disk")).expect("a folder");
        day
    }

    /// A day that begins with the database of this SQL.
    fn begins_with(sql: &str) -> Self {
        let mut day = Self::begins();
        day.sandbox.make_database(&format!("disk/{DB}"), sql);
        let db = day.sandbox.path("disk").join(DB);
        // Their times come with the years.
        Sql::open(&db).run("UPDATE schedules SET paused = 1");
        let inode = std::fs::metadata(&db).expect("the database").ino();
        let bytes = std::fs::read(&db).expect("the database").into();
        let path = PathBuf::from(DB);
        let mut acts: Vec<Act> = Vec::new();
        let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
        folders.reverse();
        for pair in folders.windows(2) {
            acts.extend([Act::Mkdir(pair[1].to_owned()), Act::Sync(pair[0].to_owned())]);
        }
        let folder = folders.last().map(|folder| Act::Sync((*folder).to_owned()));
        acts.extend([Act::Create(path.clone()), Act::Write { path: path.clone(), at: 0, bytes }]);
        acts.push(Act::Sync(path.clone()));
        acts.extend(folder);
        day.before = acts.into_iter().map(|act| Record { pid: 0, inode, act }).collect();
        day
    }

    fn ends(self) -> Recording {
        let records = self.records();
        let last = Rows::read(&self.sandbox.path("disk").join(DB)).expect("the database");
        let Self { sandbox, .. } = self;
        Recording { sandbox, records, last, first: 0, by_next_version: false, nightly: &[], origin: None }
    }

    fn records(&self) -> Vec<Record> {
        let told = journal::read(&self.sandbox.path("journal"), &self.sandbox.path("disk"));
        self.before.iter().cloned().chain(told).collect()
    }

    /// Runs the program of the next version.
    fn next(&self, line: &str) -> Finished {
        self.recorded(shimmed_program(self.sandbox.call_next(line), next_version())).run()
    }

    fn call(&self, line: &str) -> Call {
        self.recorded(shimmed(self.sandbox.call(line)))
    }

    fn recorded(&self, call: Call) -> Call {
        call.env("RUNNER_DB", self.sandbox.path("disk").join(DB))
            .env("SHIM_ROOT", self.sandbox.path("disk"))
            .env("SHIM_JOURNAL", self.sandbox.path("journal"))
            .env("SHIM_SIDE", self.sandbox.path("side"))
            .env("SIDE", self.sandbox.path("side"))
            .env("HOLD", self.sandbox.path("hold"))
    }

    fn run(&self, line: &str) -> Finished {
        self.call(line).run()
    }

    fn add(&self, line: &str) -> u64 {
        self.run(&format!("enqueue {line}")).exits(0).id()
    }

    /// A call that promises something by ending well.
    fn does(&self, line: &str) {
        self.run(line).exits(0);
        self.notes(line);
    }

    fn notes(&self, line: &str) {
        journal::note(&self.sandbox.path("journal"), line);
    }

    fn enqueues(&self) {
        self.add("good");
        self.call("enqueue reader --stdin").stdin("input ".repeat(3000)).run().exits(0);
        let (batch, size) = BATCH;
        let lines = format!("{{\"name\":\"plain\",\"env\":{{\"BATCH\":\"{batch}\"}}}}\n").repeat(size);
        assert_eq!(self.call("enqueue --batch -").stdin(lines).run().exits(0).ids().len(), size);
        self.run("enqueue flaky bad once once-bad").exits(0);
        self.add("good --unique-key u --idempotency-key i");
        let cancelled = self.add("good");
        self.does(&format!("cancel {cancelled}"));
        self.add(&format!("once --queue {PAUSED}"));
        self.does(&format!("pause {PAUSED}"));
    }

    /// What waits is changed, and everything is paused for a while.
    fn changes(&self) {
        let job = self.add("good --in 500ms --idempotency-key moved");
        self.run(&format!("change {job} --priority 4")).exits(0);
        self.notes(&format!("prioritize {job}=4"));
        let other = self.run(&format!("change {job} --redefine")).exits(0).id();
        self.notes(&format!("cancel {job}"));
        self.notes(&format!("prioritize {other}=4"));
        self.run(&format!("change {other} --now")).exits(0);
        self.does("pause --all");
        self.run("work -j2 --until-idle --log json").exits(0);
        self.run(&format!("pause {PAUSED} --for 1h")).exits(0);
        self.does("resume --all");
        self.does(&format!("pause {PAUSED}"));
    }

    fn works(&self) {
        self.run("work -j2 --until-idle --log json").exits(1);
        self.does(&format!("resume {PAUSED}"));
        self.run("work -j1 --until-idle --log json").exits(0);
    }

    fn loses_a_worker(&self) {
        self.sandbox.write("hold", "");
        let before = self.lines();
        assert_eq!(self.run("enqueue once-held held").exits(0).ids().len(), 2);
        let worker = Background::worker(&self.sandbox, self.call("work -j3 --log json"));
        wait_until("both have begun", || self.lines() == before + 2);
        self.add("good");
        self.add("flaky");
        self.run("inspect").exits(0);
        wait_until("the others are through", || self.lines() == before + 6);
        self.kill(worker);
        std::fs::remove_file(self.sandbox.path("hold")).expect("it was there");
        self.add("good");
    }

    /// How many lines there are in the side log.
    fn lines(&self) -> usize {
        self.sandbox.read("side").lines().count()
    }

    fn kill(&self, program: Background) {
        // A process holds the journal's lock while it acts: so the program dies between two acts, and leaves no half record.
        let journal = std::fs::File::open(self.sandbox.path("journal")).expect("the journal");
        journal.lock().expect("its lock");
        program.kill();
    }

    fn runs(&self, name: &str) {
        self.run(&format!("run {name} --json")).exits(0);
    }

    /// A `run` is killed once its first job has begun, wherever it is by then.
    fn loses_a_run(&self, name: &str) {
        self.sandbox.write("hold", "");
        let before = self.lines();
        let run = Background::start(&self.sandbox, self.call(&format!("run {name} --json")));
        wait_until("its job has begun", || self.lines() > before);
        self.kill(run);
        std::fs::remove_file(self.sandbox.path("hold")).expect("it was there");
    }

    fn is_drained(&self) {
        self.run("work -j2 --drain --log json").exits(1);
        let sql = Sql::open(&self.sandbox.path("disk").join(DB));
        assert_eq!(sql.text("SELECT dead_reason FROM jobs WHERE name = 'once-held'"), "not_retryable");
    }

    fn replays(&self) {
        let bad = self.add("bad");
        self.run("work -j1 --drain --log json").exits(1);
        self.does(&format!("retry {bad}"));
        self.run("work -j1 --drain --log json").exits(1);
    }

    fn is_copied(&self) {
        let copy = self.sandbox.path("disk").join(DB).with_file_name("copy.db");
        let call = self.call("backup copy.db").dir(copy.parent().expect("a folder"));
        call.run().exits(0);
        self.notes("backup copy.db");
        self.add("good");
    }

    fn is_scheduled(&self) {
        self.run("apply").exits(0);
        let applied = Instant::now();
        assert_eq!(self.run("enqueue finally").exits(0).ids().len(), 3);
        wait_until("the schedule is due", || applied.elapsed() > Duration::from_millis(1_100));
        self.run("work -j1 --drain --log json").exits(0).shows("schedule_fired");
        self.run("pause --schedule tick").exits(0);
    }

    fn is_loud(&self) {
        for _ in 0..8 {
            self.add("loud");
        }
        // They have the same priority and run after the others, when the log has begun anew over what it held before.
        self.run("enqueue flaky good").exits(0);
        self.run("work -j1 --drain --log json").exits(0);
    }
}
