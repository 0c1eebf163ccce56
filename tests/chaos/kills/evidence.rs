//! What there is to judge by when all is over: the jobs, their attempts, and the side log.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::support::Sandbox;

/// A job as the database has it.
pub struct Job {
    pub name: String,
    pub state: String,
    pub unique_key: Option<String>,
    pub idempotency_key: Option<String>,
    pub runs: u32,
    pub retryable: bool,
    pub lot: Option<String>,
    pub attempts: Vec<Attempt>,
}

/// An attempt as the database has it.
#[derive(Debug)]
pub struct Attempt {
    pub number: u32,
    pub budget_number: u32,
    pub outcome: String,
    pub exit_code: Option<i32>,
    pub worker: String,
}

/// A line of the side log.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its place in the log.
    pub at: usize,
    pub what: String,
    pub job: u64,
    pub attempt: u32,
    pub worker: String,
}

pub struct Evidence {
    pub jobs: BTreeMap<u64, Job>,
    /// The lines of each job, in the order in which they were written.
    pub lines: HashMap<u64, Vec<Line>>,
}

/// Reads it all.
pub fn gather(sandbox: &Sandbox) -> Evidence {
    let sql = sandbox.sql();
    let mut jobs: BTreeMap<u64, Job> = sql
        .all(
            "SELECT j.id, j.name, j.state, j.unique_key, j.idempotency_key, d.spec ->> '$.policy.max_attempts',
                    d.spec ->> '$.policy.retryable', d.spec ->> '$.env.LOT'
             FROM jobs AS j JOIN definitions AS d ON d.id = j.definition_id",
            |row| {
                let retryable = row.get(6)?;
                let job = Job {
                    name: row.get(1)?,
                    state: row.get(2)?,
                    unique_key: row.get(3)?,
                    idempotency_key: row.get(4)?,
                    runs: if retryable { row.get(5)? } else { 1 },
                    retryable,
                    lot: row.get(7)?,
                    attempts: Vec::new(),
                };
                Ok((row.get(0)?, job))
            },
        )
        .into_iter()
        .collect();
    let attempts = sql.all(
        "SELECT a.job_id, a.number, a.budget_number, a.outcome, a.exit_code, w.name
         FROM attempts AS a JOIN workers AS w ON w.id = a.worker_id ORDER BY a.job_id, a.number",
        |row| {
            let attempt = Attempt {
                number: row.get(1)?,
                budget_number: row.get(2)?,
                outcome: row.get(3)?,
                exit_code: row.get(4)?,
                worker: row.get(5)?,
            };
            Ok((row.get::<_, u64>(0)?, attempt))
        },
    );
    for (id, attempt) in attempts {
        jobs.get_mut(&id).expect("every attempt has a job").attempts.push(attempt);
    }
    let mut lines: HashMap<u64, Vec<Line>> = HashMap::new();
    for (at, line) in sandbox.log().iter().enumerate() {
        let line = Line::parse(at, line);
        lines.entry(line.job).or_default().push(line);
    }
    Evidence { jobs, lines }
}

impl Line {
    fn parse(at: usize, line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, job, attempt, worker] = words[..] else { panic!("a line of the side log: {line:?}") };
        Self {
            at,
            what: what.to_owned(),
            job: job.parse().expect("a job id"),
            attempt: attempt.parse().expect("a number"),
            worker: worker.to_owned(),
        }
    }
}

impl Evidence {
    /// The lines of a job.
    pub fn lines_of(&self, id: u64) -> &[Line] {
        self.lines.get(&id).map_or(&[], Vec::as_slice)
    }

    /// How often an attempt of a job said this.
    pub fn count(&self, id: u64, attempt: u32, what: &str) -> usize {
        self.lines_of(id).iter().filter(|line| line.attempt == attempt && line.what == what).count()
    }

    /// All that is known of a job, for one who has to find out what went wrong.
    pub fn tell(&self, id: u64) -> String {
        let mut told = format!("\n  job {id}");
        if let Some(job) = self.jobs.get(&id) {
            let _ = write!(told, " ({}) is {}", job.name, job.state);
            for Attempt { number, budget_number, outcome, exit_code, worker } in &job.attempts {
                let _ = write!(
                    told,
                    "\n    attempt {number}, {budget_number} of its budget, {outcome} ({exit_code:?}) by {worker}"
                );
            }
        }
        for Line { what, attempt, worker, .. } in self.lines_of(id) {
            let _ = write!(told, "\n    log: {what} of attempt {attempt} by {worker}");
        }
        told
    }
}
