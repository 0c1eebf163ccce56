//! The journal that the shim writes, with notes of the suite in it, and what it tells of the program's promises.
//! `tests/shim/config.rs` says how it is laid out.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::evidence::{End, Line, Promises};
use crate::support::Value;

/// One act.
#[derive(Clone, Debug)]
pub struct Record {
    pub pid: u32,
    pub inode: u64,
    pub act: Act,
}

/// A recorded act. Paths are relative to the folder that is recorded.
#[derive(Clone, Debug)]
pub enum Act {
    /// A process of the program has begun, with these arguments.
    Began(Vec<String>),
    /// It said this on standard output.
    Said(Vec<u8>),
    /// A job wrote this to the side log.
    Side(String),
    /// The suite has seen a call end well.
    Done(String),
    Create(PathBuf),
    Write {
        path: PathBuf,
        at: u64,
        bytes: Arc<[u8]>,
    },
    Truncate {
        path: PathBuf,
        length: u64,
    },
    Sync(PathBuf),
    Mkdir(PathBuf),
    Rename(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Unlink(PathBuf),
    Rmdir(PathBuf),
    /// It was written to in a way that the shim does not record.
    Unseen(PathBuf, String),
}

impl Record {
    /// It adds to what is not certain, but neither makes anything certain nor promises anything.
    pub fn only_adds(&self) -> bool {
        !matches!(
            self.act,
            Act::Began(_) | Act::Said(_) | Act::Side(_) | Act::Done(_) | Act::Sync(_) | Act::Unseen(..)
        )
    }
}

/// Adds a note to the journal: a call of the program has ended well.
pub fn note(journal: &Path, text: &str) {
    let mut record = vec![b'X'];
    record.extend([0; 20]);
    record.extend([0; 4]);
    record.extend(u32::try_from(text.len()).expect("a short note").to_le_bytes());
    record.extend(text.as_bytes());
    let mut whole = u32::try_from(record.len()).expect("a short note").to_le_bytes().to_vec();
    whole.append(&mut record);
    let mut file = File::options().append(true).open(journal).expect("the journal");
    file.lock().expect("its lock");
    file.write_all(&whole).expect("a note is taken");
}

/// Reads the journal of what was done below `root`.
pub fn read(journal: &Path, root: &Path) -> Vec<Record> {
    let bytes = fs::read(journal).expect("the journal");
    let mut rest = Rest(&bytes);
    let mut records = Vec::new();
    while !rest.0.is_empty() {
        let length = rest.number(4);
        records.push(parse(Rest(rest.take(length)), root));
    }
    records
}

fn parse(mut rest: Rest<'_>, root: &Path) -> Record {
    let act = rest.take(1)[0];
    let pid = u32::try_from(rest.number(4)).expect("four bytes");
    let inode = rest.number(8);
    let number = rest.number(8);
    let length = rest.number(4);
    let path = String::from_utf8_lossy(rest.take(length)).into_owned();
    let length = rest.number(4);
    let data = rest.take(length);
    let text = || String::from_utf8_lossy(data).into_owned();
    let below = |path: &str| Path::new(path).strip_prefix(root).unwrap_or(Path::new(path)).to_owned();
    let path = below(&path);
    let act = match act {
        b'B' => Act::Began(text().trim_end_matches('\0').split('\0').map(str::to_owned).collect()),
        b'O' => Act::Said(data.to_vec()),
        b'S' => Act::Side(text()),
        b'X' => Act::Done(text()),
        b'C' => Act::Create(path),
        b'W' => Act::Write { path, at: number, bytes: data.into() },
        b'T' => Act::Truncate { path, length: number },
        b'F' => Act::Sync(path),
        b'M' => Act::Mkdir(path),
        b'R' => Act::Rename(path, below(&text())),
        b'L' => Act::Link(path, below(&text())),
        b'U' => Act::Unlink(path),
        b'D' => Act::Rmdir(path),
        _ => Act::Unseen(path, text()),
    };
    Record { pid, inode, act }
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: u64) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(usize::try_from(length).expect("it is in memory"));
        self.0 = rest;
        taken
    }

    fn number(&mut self, length: u64) -> u64 {
        self.take(length).iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// The end of an attempt as this event or attempt tells it.
fn end(told: &Value, dead_reason: Option<&str>) -> End {
    let text = |key: &str| told[key].as_str().map(str::to_owned);
    End {
        outcome: text("outcome").expect("an outcome"),
        error_code: text("error_code"),
        dead_reason: dead_reason.map(str::to_owned),
        delay_ms: told["delay_ms"].as_i64(),
    }
}

/// Follows the journal, and collects what has been promised so far: a crash from now on may not take it back.
#[derive(Clone, Default)]
pub struct Story {
    pub promises: Promises,
    /// Finished copies of the database: what had been promised when each was begun.
    pub copies: BTreeMap<String, Promises>,
    begun_copies: BTreeMap<String, Promises>,
    callers: HashMap<u32, Caller>,
}

/// A process of the program: its verb, and the line that it is printing.
#[derive(Clone, Default)]
struct Caller {
    verb: String,
    line: Vec<u8>,
}

impl Story {
    /// Takes one record.
    pub fn take(&mut self, record: &Record) {
        match &record.act {
            Act::Began(words) => self.began(record.pid, words),
            Act::Said(bytes) => self.said(record.pid, bytes),
            Act::Side(line) => self.promises.side.get_or_insert_default().push(Line::parse(line)),
            Act::Done(call) => self.done(call),
            _ => {}
        }
    }

    fn began(&mut self, pid: u32, words: &[String]) {
        let verb = words.get(1).cloned().unwrap_or_default();
        let object = words.get(2).cloned().unwrap_or_default();
        match verb.as_str() {
            // From here on the queue may be either.
            "resume" => drop(self.promises.paused.remove(&object)),
            "pause" => drop(self.promises.resumed.remove(&object)),
            "retry" => *self.promises.retries.entry(object.parse().expect("an id")).or_default() += 1,
            "backup" => drop(self.begun_copies.insert(object, self.promises.clone())),
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
                "enqueue" => self.acknowledge(line.trim().parse().ok()),
                // It prints the id of a job only where that takes the place of another.
                "change" => line.trim().parse().ok().into_iter().for_each(|id| self.acknowledge(Some(id))),
                "work" => self.event(&serde_json::from_str(&line).expect("an event")),
                "run" => self.final_job(&serde_json::from_str(&line).expect("a job")),
                _ => {}
            }
        }
        self.callers.insert(pid, caller);
    }

    fn acknowledge(&mut self, id: Option<u64>) {
        self.promises.acknowledged.entry(id.expect("an id")).or_default();
    }

    /// What a `run` prints of its job in the end: after that the job is as it was told.
    fn final_job(&mut self, job: &Value) {
        let id = job["id"].as_u64().expect("an id");
        self.acknowledge(Some(id));
        let attempt = &job["attempt"];
        let number = attempt["number"].as_u64().expect("a number");
        let attempt_id = (id, u32::try_from(number).expect("the number of an attempt"));
        self.promises.ended.insert(attempt_id, end(attempt, job["dead_reason"].as_str()));
    }

    fn event(&mut self, event: &Value) {
        if event["event"] == "schedule_fired" {
            self.acknowledge(event["job_id"].as_u64());
        }
        let (Some(job), Some(number)) = (event["job_id"].as_u64(), event["attempt"].as_u64()) else { return };
        let attempt = (job, u32::try_from(number).expect("the number of an attempt"));
        match event["event"].as_str() {
            Some("job_started") => drop(self.promises.started.insert(attempt)),
            Some("attempt_lost") => drop(self.promises.lost.insert(attempt)),
            _ => {
                if event["outcome"].is_string() {
                    self.promises.ended.insert(attempt, end(event, event["dead_reason"].as_str()));
                }
            }
        }
    }

    fn done(&mut self, call: &str) {
        let (verb, object) = call.split_once(' ').expect("a verb and its object");
        let id = || object.parse::<u64>().expect("an id");
        let promises = &mut self.promises;
        match verb {
            "cancel" => drop(promises.cancelled.insert(id())),
            "retry" => {
                let ended = promises.ended.range((id(), 0)..=(id(), u32::MAX)).next_back();
                promises.retried.insert(id(), ended.expect("it has died").0.1);
            }
            "prioritize" => {
                let (id, priority) = object.split_once('=').expect("a job and its priority");
                let number = "a number";
                promises.priorities.insert(id.parse().expect(number), priority.parse().expect(number));
            }
            "pause" => drop(promises.paused.insert(object.to_owned())),
            "resume" => drop(promises.resumed.insert(object.to_owned())),
            "backup" => {
                let promises = self.begun_copies.remove(object).expect("it has begun");
                self.copies.insert(object.to_owned(), promises);
            }
            other => panic!("no promise is known of {other}"),
        }
    }

    /// The promises made before the power went, to be judged afterwards. An attempt that only a worker has reported has begun
    /// just as one that has written to the side log.
    pub fn after_crash(&self) -> Promises {
        let mut promises = self.promises.clone();
        let side = promises.side.get_or_insert_default();
        let told: Vec<_> =
            promises.started.iter().filter(|told| side.iter().all(|line| line.attempt != **told)).collect();
        let start = |attempt| Line { event: "start".to_owned(), attempt, worker: None };
        side.extend(told.into_iter().map(|attempt| start(*attempt)));
        promises
    }
}
