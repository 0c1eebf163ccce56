//! Opens what a crash has left, with the real store, and holds it to what was promised.

use std::path::Path;

use runner::store::{Result, Store, StoreFile};
use rusqlite::types::Value;

use super::promises::{End, Promises, Start};
use super::rows::{Job, Rows};
use crate::tools::audit;

/// What is wrong with the database that lies here.
pub fn judge(db: &Path, promises: &Promises, later: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    // As `enqueue` opens it: what was lost altogether is created anew.
    match look(db, Store::open_or_create) {
        Err(why) => wrong.push(why),
        Ok(rows) => {
            wrong.extend(rows.not_in(later));
            wrong.extend(broken(promises, &rows));
        }
    }
    for (name, printed) in &promises.copies {
        let copy = db.with_file_name(name);
        match look(&copy, Store::open) {
            Err(why) => wrong.push(format!("the copy {name}: {why}")),
            Ok(rows) => {
                wrong.extend(rows.not_in(later));
                let missing = printed.iter().filter(|id| !rows.jobs.contains_key(id));
                wrong.extend(missing.map(|id| format!("the copy {name} has no job {id}")));
            }
        }
    }
    wrong
}

fn look(db: &Path, open: fn(StoreFile) -> Result<Store>) -> std::result::Result<Rows, String> {
    audit(db, open)?;
    Rows::read(db).map_err(|error| format!("it cannot be read: {error}"))
}

fn broken(promises: &Promises, rows: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    for id in promises.printed.iter().filter(|id| !rows.jobs.contains_key(id)) {
        wrong.push(format!("job {id} was printed and is not there"));
    }
    for (start, end) in &promises.ended {
        wrong.extend(not_as_told(rows, *start, end));
    }
    for start in promises.lost.iter().filter(|start| !rows.attempts.contains_key(start)) {
        wrong.push(format!("attempt {start:?} was told to be lost and is not recorded"));
    }
    for start in &promises.started {
        wrong.extend(forgotten(rows, *start));
    }
    for id in &promises.cancelled {
        wrong.extend(unless(rows, *id, "was cancelled", |job| job.state == "cancelled"));
    }
    for id in &promises.replayed {
        wrong.extend(unless(rows, *id, "was put back", |job| job.attempts > 1 || job.state == "pending"));
    }
    for queue in promises.paused.iter().filter(|queue| !rows.paused.contains(queue)) {
        wrong.push(format!("queue {queue} was paused and is not"));
    }
    for queue in promises.resumed.iter().filter(|queue| rows.paused.contains(queue)) {
        wrong.push(format!("queue {queue} was resumed and is paused"));
    }
    let lot = rows.jobs.values().filter(|job| job.name == super::scenario::LOT).count();
    if lot != 0 && lot != super::scenario::LOT_SIZE {
        wrong.push(format!("of the jobs that were enqueued together {lot} are there"));
    }
    wrong
}

/// A reported end is there, and is the one that was reported.
fn not_as_told(rows: &Rows, start: Start, end: &End) -> Option<String> {
    let Some(cells) = rows.attempts.get(&start) else {
        return Some(format!("the end of attempt {start:?} was told and is not recorded"));
    };
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
    let told = [
        Value::Text(end.outcome.clone()),
        text(&end.error_code),
        text(&end.dead_reason),
        end.delay.map_or(Value::Null, Value::Integer),
    ];
    let missing: Vec<_> = told.iter().filter(|value| !cells.contains(value)).collect();
    (!missing.is_empty()).then(|| format!("attempt {start:?} was told to be {end:?} and is {cells:?}"))
}

/// A command that has begun has its claim on disk: a recovery counts it, and nobody takes the job for one that waits.
fn forgotten(rows: &Rows, (id, number): Start) -> Option<String> {
    let Some(job) = rows.jobs.get(&id) else { return Some(format!("job {id} began and is not there")) };
    let recorded = job.attempts >= number;
    let claimed = job.attempts + 1 == number && job.state == "running";
    if !recorded && !claimed {
        return Some(format!("attempt {number} of job {id} began and is forgotten: {job:?}"));
    }
    let once = super::scenario::runs_once(&job.name) && job.state == "pending";
    once.then(|| format!("job {id} may run once, began, and waits again: {job:?}"))
}

fn unless(rows: &Rows, id: u64, what: &str, is_so: impl Fn(&Job) -> bool) -> Option<String> {
    let job = rows.jobs.get(&id);
    (!job.is_some_and(is_so)).then(|| format!("job {id} {what} and is {job:?}"))
}
