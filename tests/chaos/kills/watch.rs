//! Looks while it all happens: what was once seen of the history must stay so, and what has ended must be gone.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use rand::rngs::StdRng;

use super::books::Books;
use super::jobs::MAX_RUNNING;
use super::survivors;
use crate::support::{Sandbox, Sql};
use crate::tools::pause;

/// An attempt's row, every column of it.
const ROWS: &str = "SELECT job_id, number, json_array(budget_number, outcome, error_code, exit_code, signal, spawn_failure, message,
    worker_id, started_at, finished_at, duration_ms, leaked, next_state, dead_reason, nominal_delay_ms, delay_ms)
    FROM attempts";

/// What was seen so far.
#[derive(Default)]
pub struct Seen {
    attempts: HashMap<(u64, u32), String>,
    succeeded: HashSet<u64>,
}

impl Seen {
    /// Looks once more, and compares with what was seen before.
    pub fn look(&mut self, sql: &Sql, books: &Books) {
        survivors::check(sql, books);
        let rows: HashMap<_, _> =
            sql.all(ROWS, |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?))).into_iter().collect();
        for (which, before) in &self.attempts {
            books.expect(rows.get(which) == Some(before), || {
                format!("attempt {which:?} was {before} and is {:?}", rows.get(which))
            });
        }
        self.attempts = rows;

        let succeeded: HashSet<u64> =
            sql.all("SELECT id FROM jobs WHERE state = 'succeeded'", |row| row.get(0)).into_iter().collect();
        for id in self.succeeded.difference(&succeeded) {
            books.expect(false, || format!("job {id} had succeeded, and is not any more"));
        }
        self.succeeded = succeeded;

        let running = sql
            .all("SELECT id FROM jobs WHERE state = 'running' AND queue = 'few'", |row| row.get::<_, u64>(0))
            .len();
        books.expect(running <= MAX_RUNNING, || format!("{running} jobs of the limited queue run"));

        let shared =
            "SELECT unique_key FROM jobs WHERE unique_key IS NOT NULL AND state IN ('pending', 'running')
                      GROUP BY unique_key HAVING count(*) > 1";
        for key in sql.all(shared, |row| row.get::<_, String>(0)) {
            books.expect(false, || format!("two unfinished jobs hold the key {key}"));
        }
    }
}

/// Looks again and again until it is over.
pub fn watch(sandbox: &Sandbox, books: &Books, mut dice: StdRng, over: &AtomicBool) -> Seen {
    let sql = sandbox.sql();
    let mut seen = Seen::default();
    while !over.load(Ordering::Relaxed) {
        pause(&mut dice, 30..=200);
        seen.look(&sql, books);
        let unfinished = sql.number("SELECT count(*) FROM jobs WHERE state IN ('pending', 'running')");
        books.backlog.store(usize::try_from(unfinished).expect("a count"), Ordering::Relaxed);
    }
    seen
}
