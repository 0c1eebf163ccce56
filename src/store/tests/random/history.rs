//! One random history: a file, the model of it, and the steps that both take.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;
use std::thread;

use rand::RngExt;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use super::plain::Plain;
use super::whole::Seen;
use super::{draw, whole};
use crate::model::{JobDefinition, JobState};
use crate::store::tests::fixture::{Place, unsynced, worker_row};
use crate::store::{DefinitionCache, EndedAttempt, JobFilePath, Store};
use crate::text::Timestamp;

/// Steps between two looks at the whole file.
const BETWEEN_LOOKS: usize = 100;

pub(super) struct History {
    seed: u64,
    /// A line for each step, the newest last.
    log: Vec<String>,
    pub rng: SmallRng,
    pub now: Timestamp,
    pub boot_id: String,
    pub place: Place,
    /// Two connections, with what each remembers of definitions; either may do the next step.
    pub stores: Vec<(Store, DefinitionCache)>,
    pub plain: Plain,
    pub definitions: Vec<JobDefinition>,
    pub alive: Vec<i64>,
    /// Workers that are dead and not yet recovered.
    pub dead: Vec<i64>,
    /// Attempts that began: job and number.
    pub started: HashSet<(i64, u32)>,
    /// Ends that were told before, and by whom.
    pub told: Vec<(i64, EndedAttempt)>,
    seen: Seen,
    /// No time passes before the next step.
    keep_clock: bool,
    /// The kinds of steps that were taken, and what became of the calls of `run`.
    pub kinds: BTreeSet<&'static str>,
}

impl History {
    pub fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let place = Place::empty();
        let mut stores: Vec<_> =
            (0..2).map(|_| (unsynced(place.open()), DefinitionCache::default())).collect();
        let files = ["/a/jobs.toml", "/b/jobs.toml"].map(str::to_owned);
        for path in &files {
            let file = JobFilePath { path: path.clone(), named: path.clone(), schedules: Vec::new() };
            stores[0].0.register_job_file(&file, &[]).unwrap();
        }
        Self {
            seed,
            log: Vec::new(),
            now: Timestamp(1_800_000_000_000),
            boot_id: "boot".to_owned(),
            stores,
            place,
            plain: Plain { files: files.to_vec(), ..Plain::default() },
            definitions: draw::definitions(&mut rng),
            alive: Vec::new(),
            dead: Vec::new(),
            started: HashSet::new(),
            told: Vec::new(),
            seen: Seen::default(),
            keep_clock: false,
            kinds: BTreeSet::new(),
            rng,
        }
    }

    /// Takes this many steps. Gives the kinds of steps that were among them.
    pub fn run(mut self, steps: usize) -> BTreeSet<&'static str> {
        for step in 1..=steps {
            if !std::mem::take(&mut self.keep_clock) {
                self.now.0 += self.rng.random_range(0..400);
            }
            self.step();
            if step % BETWEEN_LOOKS == 0 || step == steps {
                self.log("a look at the whole file");
                whole::look(&mut self.stores[0].0, &self.plain, &mut self.seen, self.now);
            }
        }
        std::mem::take(&mut self.kinds)
    }

    fn step(&mut self) {
        if self.alive.iter().filter(|worker| !self.plain.is_run(**worker)).count() < 3 {
            let queues = self.rng.random_bool(0.3).then(|| vec!["p".to_owned()]);
            self.register(queues);
        }
        let (kind, step): (&str, fn(&mut Self)) = match self.rng.random_range(0..100) {
            0..16 => ("enqueue", Self::enqueue),
            16..21 => ("run", Self::start_run),
            21..49 => ("turn", Self::turn),
            49..55 => ("stale", Self::stale),
            55..61 => ("cancel", Self::cancel),
            61..66 => ("retry", Self::retry),
            66 => ("pause of everything", Self::pause_all),
            67 => ("resolve", Self::resolve),
            68 => ("latest", Self::act_on_latest),
            69..71 => ("redefine", Self::replace_ended),
            71..73 => ("change", Self::change),
            73 => ("change the definition", Self::replace_pending),
            74 => ("pause", Self::pause),
            75 => ("pause a schedule", Self::pause_schedule),
            76 => ("apply", Self::apply),
            77..79 => ("die", Self::die),
            79..81 => ("recover", Self::recover),
            81 => ("leftover", Self::find_leftover),
            82..86 => ("live output", Self::save_live),
            86..88 => ("prune", Self::prune),
            88 => ("remove by hand", Self::remove_by_hand),
            89..91 => ("clock", Self::set_clock),
            91 => ("limit", Self::limit),
            92..94 => ("clock step", Self::rebase_after_clock_step),
            94..98 => ("one", Self::look_at_one),
            98 => ("boot", Self::boot),
            _ => ("reopen", Self::reopen),
        };
        self.kinds.insert(kind);
        step(self);
    }

    pub fn log(&mut self, line: impl Into<String>) {
        self.log.push(format!("{}: {}", self.now.0, line.into()));
    }

    /// The store's answer and the model's, which must be the same.
    pub fn agree(&mut self, store: &impl Debug, plain: &impl Debug) {
        let (store, plain) = (format!("{store:?}"), format!("{plain:?}"));
        self.log.push(format!("    {store}"));
        assert_eq!(store, plain, "left: the store, right: the model");
    }

    /// One of the connections.
    pub fn store(&mut self) -> &mut (Store, DefinitionCache) {
        let one = self.rng.random_range(0..2);
        &mut self.stores[one]
    }

    /// Up to three ids of jobs, now and then one that there is not, or one twice.
    pub fn some_ids(&mut self) -> Vec<i64> {
        let last = self.plain.last_id + 1;
        (0..self.rng.random_range(1..=3)).map(|_| self.rng.random_range(1..=last)).collect()
    }

    /// A worker starts; one that selects no queue at all is a `run`.
    pub fn register(&mut self, queues: Option<Vec<String>>) -> i64 {
        let mut row = worker_row(&format!("w{}", self.plain.workers.len()));
        row.queues = queues;
        row.id = self.store().0.register_worker(&row).unwrap();
        self.log(format!("worker {} starts", row.id));
        assert!(self.plain.workers.iter().all(|(earlier, _)| earlier.id < row.id));
        let id = row.id;
        self.alive.push(id);
        self.plain.workers.push((row, true));
        id
    }

    /// Sets the clock: by a step of any size, or to the very millisecond that something depends on, or one beside it.
    fn set_clock(&mut self) {
        let waiting: Vec<_> = self.plain.jobs.values().filter(|job| job.state == JobState::Pending).collect();
        if let Some(job) = waiting.choose(&mut self.rng)
            && self.rng.random_bool(0.6)
        {
            let moment = job.expires_at.filter(|_| self.rng.random_bool(0.5)).unwrap_or(job.run_at);
            // The next step reads the clock as it is.
            self.now.0 = moment.0 + self.rng.random_range(-1..=1);
            self.keep_clock = true;
            return self.log("the clock was set to a moment that matters");
        }
        let steps = [-200_000_000, -86_400_000, -3_000, -1, 1, 2_000, 10_000, 60_000, 3_600_000];
        self.now.0 += *steps.choose(&mut self.rng).unwrap();
        self.log("the clock was set");
    }

    fn reopen(&mut self) {
        self.log("both connections are closed, then opened");
        self.stores.clear();
        self.stores.extend(
            (0..2).map(|_| {
                (unsynced(Store::open(self.place.file.clone()).unwrap()), DefinitionCache::default())
            }),
        );
    }
}

impl Drop for History {
    fn drop(&mut self) {
        if thread::panicking() {
            let tail = self.log.len().saturating_sub(40);
            eprintln!("{}", self.log[tail..].join("\n"));
            eprintln!("to see this again: SEED={} TRANSITIONS={}", self.seed, super::A_HISTORY);
        }
    }
}
