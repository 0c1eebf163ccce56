//! Trying every verb on a database, and judging each call.

use std::fs;

use rand::RngExt;
use rand::rngs::StdRng;
use rusqlite::Connection;

use super::population::Files;
use crate::support::{Finished, Sandbox};
use crate::tools::Violations;

/// Verbs that only look.
const LOOKS: [&str; 18] = [
    "inspect",
    "inspect --json",
    "inspect jobs --limit 0",
    "inspect jobs --json",
    "inspect jobs --json --state ready,retrying,dead --queue net --since 1h",
    "inspect attempts --limit 0",
    "inspect attempts --json --error-code HTTP_ERROR",
    "inspect dead",
    "inspect dead --json",
    "inspect workers",
    "inspect workers --json",
    "inspect queues",
    "inspect queues --json",
    "inspect 3",
    "inspect 11 --json",
    "logs 5",
    "logs 5.1 --json",
    "backup copy.db",
];

/// Verbs that change something. The last one empties the queues.
const CHANGES: [&str; 12] = [
    "enqueue good",
    "enqueue good bad chatty --priority 7",
    "enqueue good --unique-key one",
    "enqueue good --idempotency-key two --json",
    "enqueue --wait --wait-timeout 20ms -q good",
    "pause other",
    "resume other",
    "cancel 12 13",
    "retry 2 --json",
    "change 3 --now",
    "retry --dead",
    "work -j2 --until-idle",
];

/// Documented exit statuses that may come of a damaged file: done, no, a key that belongs to other work (the damage has changed
/// the arguments of its job), no such thing, I/O, later, newer.
const STATUSES: [i32; 7] = [0, 1, 65, 66, 74, 75, 76];

/// One damaged database.
pub struct Trial {
    sandbox: Sandbox,
    what: String,
    refused: bool,
    violations: Vec<String>,
}

impl Trial {
    pub fn new(files: &Files, what: String) -> Self {
        Self::of(files.settle(), what)
    }

    /// The database of this sandbox.
    pub fn of(sandbox: Sandbox, what: String) -> Self {
        Self { sandbox, what, refused: false, violations: Vec::new() }
    }

    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Whether a verb has refused the file.
    pub fn was_refused(&self) -> bool {
        self.refused
    }

    /// Every verb, those that change something last.
    pub fn every_verb(&mut self, dice: &mut StdRng) {
        self.doctor();
        for line in LOOKS {
            self.call(line);
        }
        for _ in 0..4 {
            let (id, json) = (dice.random_range(1..16), if dice.random() { " --json" } else { "" });
            self.call(&format!("inspect {id}{json}"));
            self.call(&format!("inspect {id}.1{json}"));
        }
        for line in CHANGES {
            self.call(line);
        }
        self.doctor();
    }

    /// One verb of each kind.
    pub fn some_verbs(&mut self) {
        self.doctor();
        for line in ["inspect --json", "inspect jobs", "inspect 5.1", "enqueue good", "work -j2 --until-idle"]
        {
            self.call(line);
        }
        self.doctor();
    }

    /// Calls a verb and judges what came of it.
    pub fn call(&mut self, line: &str) -> Finished {
        let before = fs::read(self.sandbox.db()).unwrap_or_default();
        let ran = self.sandbox.run(line);
        let status = ran.status();
        if ran.stderr.contains("panicked at") || !status.is_some_and(|status| STATUSES.contains(&status)) {
            self.violation(&format!("no documented answer: {ran}"));
        }
        // The log of a job is written as it was, unless a person looks.
        let stdout = if line.starts_with("logs") { "" } else { &ran.stdout };
        let printed = format!("{stdout}{}", ran.stderr);
        // A tab of what a job wrote is shown as it is: it moves the cursor and does no more.
        let is_dangerous =
            |c: char| c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{202a}'..='\u{202e}');
        if printed.contains(is_dangerous) {
            self.violation(&format!("what stands in the file reaches the terminal: {ran}"));
        }
        if matches!(status, Some(74 | 76)) {
            self.refused = true;
            let after = fs::read(self.sandbox.db()).unwrap_or_default();
            // A worker leaves the jobs alone that it cannot read, and runs the others.
            if before != after && !ran.stderr.contains("cannot be read and is left alone") {
                let len = (before.len(), after.len());
                self.violation(&format!("the refused file was changed, of lengths {len:?}: {ran}"));
            }
            if !ran.stderr.contains("hint: ") && !ran.stderr.contains("\"hint\":\"") {
                self.violation(&format!("it does not say what to do next: {ran}"));
            }
        }
        ran
    }

    /// The doctor finds something where SQLite's own check does.
    pub fn doctor(&mut self) {
        let sound = self.is_sound();
        let ran = self.call("doctor --json");
        if !sound && ran.ended_well() {
            self.violation(&format!("the doctor does not find what SQLite finds: {ran}"));
        }
    }

    /// Whether SQLite finds a copy sound.
    fn is_sound(&self) -> bool {
        for suffix in ["", "-wal"] {
            let copy = self.sandbox.path(&format!("check.db{suffix}"));
            let _ = fs::remove_file(&copy);
            let _ = fs::copy(self.sandbox.path(&format!("runner.db{suffix}")), copy);
        }
        let check = || -> rusqlite::Result<bool> {
            let connection = Connection::open(self.sandbox.path("check.db"))?;
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            let rows = statement.query_map((), |row| row.get::<_, String>(0))?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()? == ["ok"])
        };
        check().unwrap_or(false)
    }

    /// Hands over what was wrong.
    pub fn tell(self, violations: &Violations) {
        self.violations.into_iter().for_each(|what| violations.add(what));
    }

    pub fn violation(&mut self, what: &str) {
        self.violations.push(format!("{}: {what}", self.what));
    }
}
