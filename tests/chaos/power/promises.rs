//! What the program has promised so far, as the journal tells.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::journal::{Act, Record};

/// An attempt: the job, and its number.
pub type Start = (u64, u32);

/// What a worker said of an ended attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub outcome: String,
    pub error_code: Option<String>,
    pub dead_reason: Option<String>,
    pub delay: Option<i64>,
}

/// All that was said, and that a crash from now on may not take back.
#[derive(Clone, Debug, Default)]
pub struct Promises {
    /// Ids that `enqueue` has printed.
    pub printed: BTreeSet<u64>,
    /// Attempts whose command has begun: by its own side log, or by the worker's word.
    pub started: BTreeSet<Start>,
    pub ended: BTreeMap<Start, End>,
    /// Attempts that a worker said were lost.
    pub lost: BTreeSet<Start>,
    /// Jobs that were waiting, and whose `cancel` has ended well.
    pub cancelled: BTreeSet<u64>,
    /// Jobs that were dead, and whose `retry` has ended well.
    pub replayed: BTreeSet<u64>,
    pub paused: BTreeSet<String>,
    pub resumed: BTreeSet<String>,
    /// Copies that were finished: the ids that had been printed when each was begun.
    pub copies: BTreeMap<String, BTreeSet<u64>>,
    /// Jobs that a `prune` may have removed.
    pub pruned: bool,
    callers: HashMap<u32, Caller>,
    begun_copies: BTreeMap<String, BTreeSet<u64>>,
}

/// A process of the program.
#[derive(Clone, Debug, Default)]
struct Caller {
    verb: String,
    line: Vec<u8>,
}

impl Promises {
    /// Takes one record.
    pub fn take(&mut self, record: &Record) {
        match &record.act {
            Act::Began(words) => self.began(record.pid, words),
            Act::Said(bytes) => self.said(record.pid, bytes),
            Act::Side(line) => self.side(line),
            Act::Done(call) => self.done(call),
            _ => {}
        }
    }

    fn began(&mut self, pid: u32, words: &[String]) {
        let verb = words.get(1).cloned().unwrap_or_default();
        let object = words.get(2).cloned().unwrap_or_default();
        match verb.as_str() {
            // From here on it may be either.
            "resume" => drop(self.paused.remove(&object)),
            "pause" => drop(self.resumed.remove(&object)),
            "backup" => drop(self.begun_copies.insert(object, self.printed.clone())),
            "prune" => self.pruned = true,
            _ => {}
        }
        self.callers.insert(pid, Caller { verb, line: Vec::new() });
    }

    fn said(&mut self, pid: u32, bytes: &[u8]) {
        let mut caller = self.callers.remove(&pid).unwrap_or_default();
        caller.line.extend(bytes);
        while let Some(end) = caller.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = caller.line.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            match caller.verb.as_str() {
                "enqueue" => drop(self.printed.insert(line.trim().parse().expect("an id"))),
                "work" => self.event(&serde_json::from_str(&line).expect("an event")),
                _ => {}
            }
        }
        self.callers.insert(pid, caller);
    }

    fn event(&mut self, event: &Value) {
        if event["event"] == "schedule_fired" {
            self.printed.extend(event["job_id"].as_u64());
        }
        let (Some(job), Some(number)) = (event["job_id"].as_u64(), event["attempt"].as_u64()) else { return };
        let start = (job, u32::try_from(number).expect("a number of an attempt"));
        let text = |key: &str| event[key].as_str().map(str::to_owned);
        match event["event"].as_str() {
            Some("job_started") => drop(self.started.insert(start)),
            Some("attempt_lost") => drop(self.lost.insert(start)),
            _ => {
                if let Some(outcome) = text("outcome") {
                    let end = End {
                        outcome,
                        error_code: text("error_code"),
                        dead_reason: text("dead_reason"),
                        delay: event["delay_ms"].as_i64(),
                    };
                    self.ended.insert(start, end);
                }
            }
        }
    }

    /// A line of the side log: `WHAT JOB ATTEMPT`.
    fn side(&mut self, line: &str) {
        self.started.insert(start_of(line));
    }

    fn done(&mut self, call: &str) {
        let (verb, object) = call.split_once(' ').expect("a verb and its object");
        let id = || object.parse().expect("an id");
        match verb {
            "cancel" => drop(self.cancelled.insert(id())),
            "retry" => drop(self.replayed.insert(id())),
            "pause" => drop(self.paused.insert(object.to_owned())),
            "resume" => drop(self.resumed.insert(object.to_owned())),
            "backup" => {
                let printed = self.begun_copies.remove(object).expect("it has begun");
                self.copies.insert(object.to_owned(), printed);
            }
            other => panic!("no promise is known of {other}"),
        }
    }
}

/// The attempt that a line of the side log is of.
pub fn start_of(line: &str) -> Start {
    let mut words = line.split_whitespace().skip(1);
    let mut number = || words.next().and_then(|word| word.parse::<u32>().ok()).expect("a number");
    (u64::from(number()), number())
}
