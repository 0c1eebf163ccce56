//! Who takes part, and what each of them has to be able to do.

use std::collections::HashMap;
use std::sync::Arc;

use crate::judge::{End, Verdict};
use crate::place::Place;
use crate::{peers, runner};

/// One command of a round.
#[derive(Clone, Copy)]
pub struct Item {
    pub id: usize,
    pub milliseconds: u32,
}

/// A program in a round.
pub trait Tool: Send {
    /// Starts it, also after it was killed or the power was gone.
    fn start(&mut self) -> anyhow::Result<()>;

    /// Hands a command over. Whether it was acknowledged.
    fn enqueue(&mut self, _item: Item) -> anyhow::Result<bool> {
        Ok(false)
    }

    /// Hands all commands over before it is started, where a list is what it takes.
    fn take_list(&mut self, _items: &[Item]) -> anyhow::Result<()> {
        Ok(())
    }

    /// What it says of the ends of the commands.
    fn ends(&mut self) -> anyhow::Result<HashMap<usize, End>>;
}

pub struct Contender {
    pub name: &'static str,
    /// How many commands it runs at once.
    pub slots: u32,
    /// What is unfair to it, or to the others.
    pub note: &'static str,
    /// Whether its times are measured: once for each way in which a program runs.
    pub is_timed: bool,
    pub takes_list: bool,
    pub make: fn(&Arc<Place>) -> anyhow::Result<Box<dyn Tool>>,
    /// Whether this breaks a promise of runner.
    pub is_broken: fn(&Verdict) -> bool,
}

/// A promise of none of the others.
const NOTHING: fn(&Verdict) -> bool = |_| false;

pub const CONTENDERS: [Contender; 9] = [
    Contender {
        name: "runner",
        slots: 4,
        note: "`enqueue` of a declared job, `work`; what a crash has cut off is tried again, three times in all",
        is_timed: true,
        takes_list: false,
        make: |place| runner::Queue::make(place, ""),
        is_broken: |verdict| verdict.lost + verdict.overlapping > 0,
    },
    Contender {
        name: "runner-once",
        slots: 4,
        note: "the same with `retryable = false`: what a crash has cut off is told, and not tried again",
        is_timed: false,
        takes_list: false,
        make: |place| runner::Queue::make(place, "retryable = false"),
        is_broken: |verdict| verdict.lost + verdict.overlapping + verdict.twice > 0,
    },
    Contender {
        name: "runner-run",
        slots: 4,
        note: "`run` from four loops; a call that did not end well is made again. The loops keep the list",
        is_timed: true,
        takes_list: true,
        make: runner::Calls::make,
        is_broken: |verdict| verdict.lost + verdict.overlapping > 0,
    },
    Contender {
        name: "pueue",
        slots: 4,
        note: "`pueued`, and `pueue start`, because it comes up paused",
        is_timed: true,
        takes_list: false,
        make: |place| peers::Pueue::make(place, false),
        is_broken: NOTHING,
    },
    Contender {
        name: "pueue-restart",
        slots: 4,
        note: "the same, then `pueue restart --in-place --all-failed` by hand",
        is_timed: false,
        takes_list: false,
        make: |place| peers::Pueue::make(place, true),
        is_broken: NOTHING,
    },
    Contender {
        name: "tsp",
        slots: 4,
        note: "unfair: it keeps its queue in memory by design",
        is_timed: true,
        takes_list: false,
        make: |place| Ok(peers::TaskSpooler::make(place)),
        is_broken: NOTHING,
    },
    Contender {
        name: "nq",
        slots: 1,
        note: "unfair: its queue is its processes; each file without an exit status is submitted again by hand, with `sh`",
        is_timed: true,
        takes_list: false,
        make: peers::Nq::make,
        is_broken: NOTHING,
    },
    Contender {
        name: "parallel",
        slots: 4,
        note: "unfair: it is no queue, its input keeps the list; `--joblog --resume`",
        is_timed: true,
        takes_list: true,
        make: peers::Parallel::make,
        is_broken: NOTHING,
    },
    Contender {
        name: "huey",
        slots: 4,
        note: "a library: one process of the application enqueues; SQLite, four threads",
        is_timed: true,
        takes_list: false,
        make: peers::Huey::make,
        is_broken: NOTHING,
    },
];
