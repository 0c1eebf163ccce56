//! The evidence by which the suites judge: the rows of a database, and the words of runner and its jobs. `judge` compares the
//! two.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use runner::store::{self, Store, StoreFile};
use rusqlite::types::Value;
use rusqlite::{Connection, Row};

/// The id of a job, and the number of one of its attempts.
pub type AttemptId = (u64, u32);

/// A job as the database has it.
pub struct Job {
    pub name: String,
    pub queue: String,
    pub state: String,
    pub attempts: u32,
    pub unique_key: Option<String>,
    pub idempotency_key: Option<String>,
    pub scheduled_for: Option<i64>,
    pub retryable: bool,
    pub max_attempts: u32,
    pub priority: i64,
    /// The job that was enqueued in its place, with its keys.
    pub replaced_by: Option<u64>,
    /// The variable `BATCH` of its environment: the jobs of one call of `enqueue` share it.
    pub batch: Option<String>,
}

impl Job {
    pub fn is_finished(&self) -> bool {
        matches!(self.state.as_str(), "succeeded" | "dead" | "cancelled")
    }

    fn read(row: &Row) -> rusqlite::Result<Self> {
        let retryable = row.get("retryable")?;
        Ok(Self {
            name: row.get("name")?,
            queue: row.get("queue")?,
            state: row.get("state")?,
            attempts: row.get("attempts")?,
            unique_key: row.get("unique_key")?,
            idempotency_key: row.get("idempotency_key")?,
            scheduled_for: row.get("scheduled_for")?,
            retryable,
            max_attempts: if retryable { row.get("max_attempts")? } else { 1 },
            priority: row.get("priority")?,
            replaced_by: row.get("replaced_by")?,
            batch: row.get("batch")?,
        })
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {} attempts ({})", self.state, self.attempts, self.name)
    }
}

/// How an attempt ended, as a worker's event tells it and as its row has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub outcome: String,
    pub error_code: Option<String>,
    pub dead_reason: Option<String>,
    pub delay_ms: Option<i64>,
}

/// A recorded attempt.
#[derive(Debug)]
pub struct Attempt {
    pub place_in_budget: u32,
    pub end: End,
    pub exit_code: Option<i32>,
    pub started_at: Option<i64>,
    pub finished_at: i64,
    pub worker: Option<String>,
}

impl Attempt {
    pub fn succeeded(&self) -> bool {
        self.end.outcome == "succeeded"
    }

    fn read(row: &Row) -> rusqlite::Result<Self> {
        let end = End {
            outcome: row.get("outcome")?,
            error_code: row.get("error_code")?,
            dead_reason: row.get("dead_reason")?,
            delay_ms: row.get("delay_ms")?,
        };
        Ok(Self {
            place_in_budget: row.get("attempt_in_budget")?,
            end,
            exit_code: row.get("exit_code")?,
            started_at: row.get("started_at")?,
            finished_at: row.get("finished_at")?,
            worker: row.get("worker")?,
        })
    }
}

/// Everything in a database that the judge compares, read in one transaction, and what the audit of the program finds there.
pub struct Rows {
    /// The violations that the audit has found, each with its rule.
    pub findings: Vec<String>,
    pub jobs: BTreeMap<u64, Job>,
    pub attempts: BTreeMap<AttemptId, Attempt>,
    /// Which job waits for which, and whether any end of it will do.
    pub dependencies: Vec<(u64, u64, bool)>,
    /// The paused queues; `--all` for a pause of everything.
    pub paused_queues: BTreeSet<String>,
    /// How many jobs of a queue may run at once.
    pub limits: BTreeMap<String, usize>,
    /// The last firing of each schedule: its time, and the job that it made.
    pub last_firings: BTreeMap<String, (i64, u64)>,
    /// Whether workers remove what succeeded or was cancelled (`work --keep`).
    pub prunes: bool,
    /// The values that never change once they are written, by kind of row, job (or definition) and attempt (0 where there is none).
    immutable: BTreeMap<(&'static str, u64, u32), Vec<Value>>,
}

/// The rows and columns that never change.
const IMMUTABLE: [(&str, &str); 6] = [
    ("definition", "SELECT id, 0, definition FROM job_definitions"),
    (
        "job",
        "SELECT id, 0, definition_id, name, args_nul, enqueued_at, scheduled_for, scheduled_offset FROM jobs",
    ),
    // Another job in its place takes them over.
    ("keys", "SELECT id, 0, unique_key, idempotency_key FROM jobs WHERE replaced_by IS NULL"),
    ("input", "SELECT job_id, 0, stdin FROM inputs"),
    ("attempt", "SELECT job_id, number, * FROM attempts"),
    ("output", "SELECT job_id, number, * FROM outputs"),
];

impl Rows {
    /// Reads and audits the database at `path`, and leaves it at its version.
    pub fn read(path: &Path) -> Result<Self, String> {
        Self::opened(path, Store::open_as_it_is)
    }

    /// Opens a database as the program does, lets it look for whatever is wrong, and reads it.
    pub fn opened(path: &Path, open: fn(StoreFile) -> store::Result<Store>) -> Result<Self, String> {
        let file = StoreFile::new(path).map_err(|error| format!("it cannot be found: {error}"))?;
        let store = open(file).map_err(|error| format!("it cannot be opened: {error}"))?;
        let findings = store.audit().map_err(|error| format!("it cannot be audited: {error}"))?;
        drop(store);
        let rows = Self::of(path).map_err(|error| format!("it cannot be read: {error}"))?;
        let findings = findings.iter().map(|finding| format!("{}: {}", finding.rule, finding.what));
        Ok(Self { findings: findings.collect(), ..rows })
    }

    fn of(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        let snapshot = connection.unchecked_transaction()?;
        let mut immutable = BTreeMap::new();
        for (kind, sql) in IMMUTABLE {
            let rows = all(&snapshot, sql, |row| {
                let cells = (2..row.as_ref().column_count()).map(|column| row.get(column));
                Ok(((kind, row.get(0)?, row.get(1)?), cells.collect::<rusqlite::Result<_>>()?))
            })?;
            immutable.extend(rows);
        }
        let jobs = all(
            &snapshot,
            "SELECT j.*, d.definition ->> '$.policy.retryable' AS retryable,
                    d.definition ->> '$.policy.max_attempts' AS max_attempts, d.definition ->> '$.env.BATCH' AS batch
             FROM jobs AS j JOIN job_definitions AS d ON d.id = j.definition_id",
            |row| Ok((row.get("id")?, Job::read(row)?)),
        )?;
        let attempts = all(
            &snapshot,
            "SELECT a.*, w.name AS worker FROM attempts AS a LEFT JOIN workers AS w ON w.id = a.worker_id",
            |row| Ok(((row.get("job_id")?, row.get("number")?), Attempt::read(row)?)),
        )?;
        let edges = "SELECT job_id, dependency_id, kind = 'any' FROM dependencies";
        let edge = |row: &Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let firings = "SELECT name, last_fired_at, last_job_id FROM schedules WHERE last_job_id IS NOT NULL";
        Ok(Self {
            findings: Vec::new(),
            jobs: jobs.into_iter().collect(),
            attempts: attempts.into_iter().collect(),
            dependencies: all(&snapshot, edges, edge)?,
            paused_queues: paused_queues(&snapshot)?,
            limits: all(
                &snapshot,
                "SELECT name, max_running FROM queues WHERE max_running IS NOT NULL",
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?
            .into_iter()
            .collect(),
            last_firings: all(&snapshot, firings, |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
                .into_iter()
                .collect(),
            prunes: false,
            immutable,
        })
    }

    /// The attempts of a job, by number.
    pub fn attempts_of(&self, id: u64) -> impl DoubleEndedIterator<Item = (u32, &Attempt)> {
        self.attempts.range((id, 0)..=(id, u32::MAX)).map(|((_, number), attempt)| (*number, attempt))
    }

    /// The jobs of this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Job> {
        self.jobs.values().filter(move |job| job.name == name)
    }

    /// Lists the values that are gone or different in a later look at the same database.
    pub fn changed_in(&self, later: &Self) -> Vec<String> {
        let mut wrong = Vec::new();
        for ((kind, id, number), cells) in &self.immutable {
            let now = later.immutable.get(&(kind, *id, *number));
            let is_replaced = later.jobs.get(id).is_some_and(|job| job.replaced_by.is_some());
            let is_pruned = later.prunes && (*kind == "definition" || !later.jobs.contains_key(id));
            if now.is_none() && (is_pruned || *kind == "keys" && is_replaced) {
                continue;
            }
            // A later version of the schema may have added columns, at the end.
            if !now.is_some_and(|now| now.starts_with(cells)) {
                wrong.push(format!("the {kind} {id}.{number} was {cells:?} and is {now:?}"));
            }
        }
        for (id, _) in self.jobs.iter().filter(|(_, job)| job.state == "succeeded") {
            let now = later.jobs.get(id);
            if now.map_or(!later.prunes, |job| job.state != "succeeded") {
                wrong.push(format!("job {id} had succeeded and is {now:?}"));
            }
        }
        wrong
    }
}

fn paused_queues(snapshot: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut paused = all(snapshot, "SELECT name FROM queues WHERE paused", |row| row.get(0))?;
    // Version 1.0 cannot pause everything.
    if snapshot.table_exists(None, "pause_of_all")? {
        paused.extend(all(snapshot, "SELECT '--all' FROM pause_of_all", |row| row.get(0))?);
    }
    Ok(paused.into_iter().collect())
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    read: impl FnMut(&Row) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(sql)?.query_map((), read)?.collect()
}

/// A line that a command has appended to the side log: `EVENT JOB ATTEMPT`, and in some suites its worker.
///
/// `start` is the first thing that an attempt does. Where a suite's jobs write `end`, it is the last thing of one that
/// succeeds.
#[derive(Clone, Debug)]
pub struct Line {
    pub event: String,
    pub attempt: AttemptId,
    pub worker: Option<String>,
}

impl Line {
    pub fn parse(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let event = words.next().expect("an event").to_owned();
        let mut number = || words.next().and_then(|word| word.parse::<u32>().ok());
        let (job, attempt) =
            number().zip(number()).unwrap_or_else(|| panic!("a line of the side log: {line:?}"));
        Self { event, attempt: (u64::from(job), attempt), worker: words.next().map(str::to_owned) }
    }
}

/// All lines of a side log, in the order in which they were written.
pub fn side_log(text: &str) -> Vec<Line> {
    text.lines().map(Line::parse).collect()
}

/// The options of a job whose id was printed, where they are known.
#[derive(Clone, Debug, Default)]
pub struct Acknowledged {
    pub name: Option<String>,
    pub unique_key: Option<String>,
    pub idempotency_key: Option<String>,
}

/// The words of runner, on standard output or by an event, and those of its jobs. None of them may be taken back.
#[derive(Clone, Debug, Default)]
pub struct Promises {
    /// Jobs whose id was printed.
    pub acknowledged: BTreeMap<u64, Acknowledged>,
    /// How many jobs were enqueued under each value of `BATCH`: all of them are there, or none.
    pub batches: BTreeMap<String, usize>,
    /// Attempts whose command has begun, by a worker's word.
    pub started: BTreeSet<AttemptId>,
    pub ended: BTreeMap<AttemptId, End>,
    /// Attempts that a worker said were lost with another worker.
    pub lost: BTreeSet<AttemptId>,
    /// Jobs whose cancel ended them.
    pub cancelled: BTreeSet<u64>,
    /// Jobs that were running when their cancel was taken.
    pub cancel_requested: BTreeSet<u64>,
    /// How often each job may have been put back.
    pub retries: BTreeMap<u64, u32>,
    /// Jobs that were put back for certain, and how many attempts each had before.
    pub retried: BTreeMap<u64, u32>,
    pub paused: BTreeSet<String>,
    pub resumed: BTreeSet<String>,
    /// The priorities that jobs were given while they waited.
    pub priorities: BTreeMap<u64, i64>,
    /// Whether workers remove what succeeded or was cancelled (`work --keep`).
    pub prunes: bool,
    /// The side log; none where the jobs keep none.
    pub side: Option<Vec<Line>>,
    /// The jobs up to this id keep none in any case.
    pub silent: u64,
}

impl Promises {
    /// Nothing but these ids and this side log.
    pub fn of(printed: impl IntoIterator<Item = u64>, side: Option<&str>) -> Self {
        let acknowledged = printed.into_iter().map(|id| (id, Acknowledged::default())).collect();
        Self { acknowledged, side: side.map(side_log), ..Self::default() }
    }

    /// Whether the job may have been removed: it has begun or was cancelled, and nobody was told that it died.
    pub fn may_be_gone(&self, id: u64) -> bool {
        let attempts = (id, 0)..=(id, u32::MAX);
        let began = self.started.range(attempts.clone()).next().is_some()
            || self.side.iter().flatten().any(|line| line.attempt.0 == id);
        let died = self.ended.range(attempts).any(|(_, end)| end.dead_reason.is_some());
        self.prunes && (began || self.cancelled.contains(&id)) && !died
    }
}
