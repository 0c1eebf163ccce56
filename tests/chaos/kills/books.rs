//! What the suite was told and has to hold the program to.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard};

use crate::tools::Violations;

/// An id that was printed.
pub struct Acknowledged {
    pub id: u64,
    pub name: String,
    pub unique_key: Option<String>,
    pub idempotency_key: Option<String>,
}

#[derive(Default)]
pub struct Entries {
    pub acknowledged: Vec<Acknowledged>,
    /// Calls by number, and how many jobs each enqueued: all of them are there, or none.
    pub lots: Vec<(u64, usize)>,
    /// How often a job was put back.
    pub replays: HashMap<u64, u32>,
    /// Jobs that were not finished when their cancel was taken, and were not put back since.
    pub cancelled: HashSet<u64>,
    /// The first id that was printed for an idempotency key.
    first_of_key: HashMap<String, u64>,
}

/// The books that all keep together.
#[derive(Default)]
pub struct Books {
    entries: Mutex<Entries>,
    pub violations: Violations,
    /// How many jobs are not finished, as far as the watcher knows.
    pub backlog: AtomicUsize,
}

impl Books {
    pub fn open(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().expect("no one panicked with the books open")
    }

    /// Notes a violation unless it is so.
    pub fn expect(&self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.violations.add(what());
        }
    }

    /// Notes an id that was printed.
    pub fn acknowledge(&self, acknowledged: Acknowledged) {
        let id = acknowledged.id;
        let key = acknowledged.idempotency_key.clone();
        let first = {
            let mut entries = self.open();
            entries.acknowledged.push(acknowledged);
            key.clone().map_or(id, |key| *entries.first_of_key.entry(key).or_insert(id))
        };
        self.expect(first == id, || format!("idempotency key {key:?} gave job {first}, and later job {id}"));
    }
}
