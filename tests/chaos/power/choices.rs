//! Which of the changes that are not certain have reached the disk when the power goes.

use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::disk::{Change, Disk, Part, Pending, name, pieces};

/// One way in which a crash may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    Nothing,
    Everything,
    /// The first so many.
    First(usize),
    /// All but this one.
    Without(usize),
    /// The first so many, and these sectors of the next.
    Torn(usize, u64),
    /// All, but of this one only these sectors.
    Ragged(usize, u64),
    /// Each as the dice fall.
    Random(u64),
}

/// If a family has more members than this, some are drawn.
const MOST: usize = 48;

/// Likewise where very much is written at once: more of the same.
const MOST_OF_MANY: usize = 6;

/// All choices that there are between these changes, with so many random ones; drawn by `seed` where there are too many.
pub fn choices(pending: &[Pending], random: u64, seed: u64) -> Vec<Choice> {
    let mut dice = StdRng::seed_from_u64(seed);
    let count = pending.len();
    let mut all = vec![Choice::Nothing, Choice::Everything];
    let mut some = |mut family: Vec<Choice>| {
        let most = if count > 2 * MOST { MOST_OF_MANY } else { MOST };
        family.shuffle(&mut dice);
        all.extend(family.into_iter().take(most));
    };
    some((1..count).map(Choice::First).collect());
    some((0..count).map(Choice::Without).collect());
    let torn = |make: fn(usize, u64) -> Choice| {
        let each = pending.iter().enumerate();
        each.flat_map(|(at, pending)| tears(&pending.change).map(move |sectors| make(at, sectors))).collect()
    };
    some(torn(Choice::Torn));
    some(torn(Choice::Ragged));
    if count > 1 {
        all.extend((0..random).map(|number| Choice::Random(seed.wrapping_mul(31).wrapping_add(number))));
    }
    all
}

/// Ways in which a change can be there in part.
fn tears(change: &Change) -> impl Iterator<Item = u64> + use<> {
    let sectors = match change {
        Change::Bytes { at, bytes, .. } => pieces(*at, bytes.len()).count().min(64),
        Change::Move { .. } => 2,
        _ => 1,
    };
    let last = 1_u64 << (sectors - 1);
    let first_half = last.isqrt().max(2) - 1;
    let mut masks = vec![1, first_half, last - 1, last, last | 1];
    masks.sort_unstable();
    masks.dedup();
    masks.retain(|mask| sectors > 1 && *mask > 0 && *mask < (last << 1).wrapping_sub(1));
    masks.into_iter()
}

impl Choice {
    /// The part of each change that is on the disk.
    pub fn parts(&self, pending: &[Pending]) -> Vec<Part> {
        let mut dice = StdRng::seed_from_u64(if let Self::Random(seed) = self { *seed } else { 0 });
        let part = |(at, pending): (usize, &Pending)| match self {
            Self::Nothing => Part::Nothing,
            Self::First(count) => whole_if(at < *count),
            Self::Without(gap) => whole_if(at != *gap),
            Self::Torn(place, sectors) if at == *place => Part::Some(*sectors),
            Self::Torn(place, _) => whole_if(at < *place),
            Self::Ragged(place, sectors) if at == *place => Part::Some(*sectors),
            Self::Everything | Self::Ragged(..) => Part::Whole,
            Self::Random(_) => match dice.random_range(0..8) {
                0..=2 => Part::Nothing,
                3..=5 => Part::Whole,
                _ => match pending.change {
                    Change::Bytes { .. } | Change::Move { .. } => Part::Some(dice.random()),
                    _ => whole_if(dice.random()),
                },
            },
        };
        pending.iter().enumerate().map(part).collect()
    }
}

fn whole_if(there: bool) -> Part {
    if there { Part::Whole } else { Part::Nothing }
}

/// Tells states apart: equal ones have equal fingerprints.
pub fn fingerprint(disk: &Disk, parts: &[Part]) -> u64 {
    let mut hasher = DefaultHasher::new();
    disk.version.hash(&mut hasher);
    for (pending, part) in disk.pending.iter().zip(parts).filter(|(_, part)| **part != Part::Nothing) {
        (pending.record, part).hash(&mut hasher);
    }
    hasher.finish()
}

/// The changes and what is there of each, for one who has to find out what went wrong.
pub fn tell(disk: &Disk, parts: &[Part]) -> String {
    let mut told = String::new();
    let lost_from_here_on = parts.iter().rposition(|part| *part != Part::Nothing).map_or(0, |last| last + 1);
    for (pending, part) in disk.pending.iter().zip(parts).take(lost_from_here_on + 1) {
        let _ = writeln!(
            told,
            "    {:>5} {} {pending}",
            pending.record,
            match part {
                Part::Nothing => "lost    ".to_owned(),
                Part::Whole => "there   ".to_owned(),
                Part::Some(sectors) => format!("in part {sectors:b}"),
            }
        );
    }
    told
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.change {
            Change::Bytes { file, at, bytes } => write!(f, "file {file}: {} bytes at {at}", bytes.len()),
            Change::Length { file, length } => write!(f, "file {file}: cut to {length}"),
            Change::Enter { path, node } => write!(f, "{} is {node:?}", name(path)),
            Change::Leave { path } => write!(f, "{} is gone", name(path)),
            Change::Move { from, to, node } => write!(f, "{} becomes {} ({node:?})", name(from), name(to)),
        }
    }
}
