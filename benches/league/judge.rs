//! The judge: the log of the jobs, what was acknowledged, and what the program says of ends.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

/// What a program says in the end of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Done,
    /// It failed, was killed, or was lost.
    NotDone,
}

/// What the commands have logged.
#[derive(Default)]
pub struct Log {
    pub starts: Vec<(usize, u128)>,
    pub ends: Vec<(usize, u128)>,
    pub overlaps: HashSet<usize>,
}

impl Log {
    pub fn parse(text: &str) -> Self {
        let mut log = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [what, id, _pid, time] = words[..] else { continue };
            let (Ok(id), Ok(time)) = (id.parse(), time.parse()) else { continue };
            match what {
                "start" => log.starts.push((id, time)),
                "end" => log.ends.push((id, time)),
                _ => drop(log.overlaps.insert(id)),
            }
        }
        log
    }
}

/// What a crash has cost.
#[derive(Default)]
pub struct Verdict {
    pub faults: usize,
    acknowledged: usize,
    pub lost: usize,
    pub twice: usize,
    pub overlapping: usize,
    unknown: usize,
}

/// Judges a round. `dark`: between the cut of the disk and the death of the last process; what was done then may count as
/// done or not, whichever is kinder to the program.
pub fn judge(
    log: &Log,
    acknowledged: &HashSet<usize>,
    said: &HashMap<usize, End>,
    dark: &[Range<u128>],
) -> Verdict {
    let in_light = |time: u128| !dark.iter().any(|dark| dark.contains(&time));
    let mut starts: HashMap<usize, usize> = HashMap::new();
    for (id, time) in &log.starts {
        *starts.entry(*id).or_default() += usize::from(in_light(*time));
    }
    let ended = |id: usize, counts: &dyn Fn(u128) -> bool| {
        log.ends.iter().any(|(other, time)| *other == id && counts(*time))
    };
    let unknown = starts.keys().filter(|id| match said.get(id) {
        Some(End::Done) => !ended(**id, &|_| true),
        Some(End::NotDone) => ended(**id, &in_light),
        None => true,
    });
    let lost = acknowledged.iter().filter(|id| {
        // What never started and is told as failed is not lost.
        !starts.contains_key(id) && said.get(id) != Some(&End::NotDone)
    });
    Verdict {
        faults: 0,
        acknowledged: acknowledged.len(),
        lost: lost.count(),
        twice: starts.values().filter(|starts| **starts > 1).count(),
        overlapping: log.overlaps.len(),
        unknown: unknown.count(),
    }
}

impl Verdict {
    pub fn add(&mut self, other: &Self) {
        self.faults += other.faults;
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.twice += other.twice;
        self.overlapping += other.overlapping;
        self.unknown += other.unknown;
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { faults, acknowledged, lost, twice, overlapping, unknown } = self;
        write!(f, "{faults} | {acknowledged} | {lost} | {twice} | {overlapping} | {unknown}")
    }
}

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}
