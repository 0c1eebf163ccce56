//! Lets the real program go on after a crash: the doctor looks, and a worker brings everything to its end.

use std::fs;
use std::path::{Path, PathBuf};

use super::promises::{Promises, start_of};
use super::rows::Rows;
use super::scenario::{Recording, runs_once};
use crate::support::{Call, Sandbox, Sql};
use crate::tools::own_workers;

/// What is wrong with the life after this crash. The database lies in `folder`, which is used up.
pub fn revive(recording: &Recording, folder: &Path, db: &Path, promises: &Promises) -> Vec<String> {
    let life = Life { sandbox: &recording.sandbox, db: db.to_owned(), side: folder.join("side") };
    let mut wrong = Vec::new();
    if !db.exists() {
        life.enqueues_first();
    }
    // The machine was started anew: what ran before is gone, and so is whoever has its process ids now.
    Sql::open(db).run("UPDATE workers SET boot_id = 'before the power cut'");
    own_workers(db);
    let before = Rows::read(db).expect("it was read before");
    life.is_looked_at(&mut wrong);
    life.call(&format!("resume {}", super::scenario::PAUSED)).run().ok();
    let ran = life.call("work -j4 --drain -q").run();
    if !ran.stderr.is_empty() || !matches!(ran.status(), Some(0 | 1)) {
        wrong.push(format!("the worker complained: {ran}"));
    }
    let after = Rows::read(db).expect("it was read before");
    wrong.extend(before.not_in(&after));
    for (id, job) in &after.jobs {
        if !["succeeded", "dead", "cancelled"].contains(&job.state.as_str()) {
            wrong.push(format!("job {id} is not finished: {job:?}"));
        }
    }
    for id in promises.printed.iter().filter(|id| !after.jobs.contains_key(id)) {
        wrong.push(format!("job {id} was printed and is not there"));
    }
    let side = fs::read_to_string(&life.side).unwrap_or_default();
    let starts: Vec<_> = side.lines().map(start_of).collect();
    for (id, number) in &promises.started {
        let name = after.jobs.get(id).map_or("", |job| job.name.as_str());
        if starts.contains(&(*id, *number)) {
            wrong.push(format!("attempt {number} of job {id} was begun twice"));
        }
        if runs_once(name) && starts.iter().any(|(job, _)| job == id) {
            wrong.push(format!("job {id} ({name}) may run once and was begun again"));
        }
        if !after.attempts.contains_key(&(*id, *number)) {
            wrong.push(format!("attempt {number} of job {id} began and was never recorded"));
        }
    }
    let mut seen = starts.clone();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() != starts.len() {
        wrong.push(format!("an attempt was begun twice: {starts:?}"));
    }
    let ran = life.call("doctor").run();
    if !ran.ended_well() {
        wrong.push(format!("the doctor found something in the end: {ran}"));
    }
    wrong
}

struct Life<'a> {
    sandbox: &'a Sandbox,
    db: PathBuf,
    side: PathBuf,
}

impl Life<'_> {
    fn call(&self, line: &str) -> Call {
        let call = self.sandbox.call(line).env("RUNNER_DB", &self.db).env("SIDE", &self.side);
        call.env("HOLD", self.sandbox.path("hold"))
    }

    fn enqueues_first(&self) {
        self.call("enqueue good").run().ok().prints("1\n");
    }

    /// Nothing is wrong but that nobody has dealt with the dead worker yet.
    fn is_looked_at(&self, wrong: &mut Vec<String>) {
        let ran = self.call("doctor --json").run();
        let problems = ran.json()["problems"].as_array().cloned().unwrap_or_default();
        if problems.iter().any(|problem| problem["rule"] != "running jobs have a worker") {
            wrong.push(format!("the doctor found something: {ran}"));
        }
    }
}
