//! The kinds of damage to the bytes of a file.

use rand::RngExt;
use rand::rngs::StdRng;

/// The length of the header of an SQLite file.
pub const HEADER: usize = 100;

/// The page size of a database that runner creates: SQLite's default.
pub const PAGE: usize = 4_096;

/// One way to harm a file.
#[derive(Clone, Copy, Debug)]
pub enum Harm {
    /// So many bits are turned, anywhere.
    Bits { count: usize },
    /// So many bits are turned within one page.
    BitsOfPage { page: usize, count: usize },
    /// One byte is another.
    Byte { at: usize },
    /// A run of bytes is random.
    Garbage { at: usize, length: usize },
    /// A page is nothing but zeros.
    ZeroPage { page: usize },
    /// Two pages stand in each other's place.
    SwapPages { one: usize, other: usize },
    /// A page stands in two places.
    CopyPage { from: usize, to: usize },
    /// The file ends early.
    Cut { length: usize },
    /// The header is garbage behind the first so many bytes.
    Header { keep: usize },
    /// Something follows the end.
    Tail { length: usize },
}

impl Harm {
    /// Any harm to these bytes.
    pub fn throw(dice: &mut StdRng, bytes: &[u8]) -> Self {
        let length = bytes.len();
        let pages = (length / PAGE).max(1);
        let mut page = || dice.random_range(0..pages);
        let (one, other) = (page(), page());
        match dice.random_range(0..100) {
            0..15 => Self::Bits { count: dice.random_range(1..200) },
            15..45 => Self::BitsOfPage { page: one, count: dice.random_range(1..40) },
            45..55 => Self::Garbage { at: dice.random_range(0..length), length: dice.random_range(1..300) },
            55..65 => Self::ZeroPage { page: one },
            65..80 => Self::SwapPages { one, other },
            80..90 => Self::CopyPage { from: one, to: other },
            90..93 => Self::Cut { length: dice.random_range(0..length) },
            93..97 => Self::Header { keep: [0, 16, 24, 72, 92][dice.random_range(0..5)] },
            _ => Self::Tail { length: dice.random_range(1..2 * PAGE) },
        }
    }

    pub fn apply(self, dice: &mut StdRng, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        let start = |page: usize| page * PAGE;
        let end = |page: usize| ((page + 1) * PAGE).min(length);
        match self {
            Self::Bits { count } => turn_bits(dice, bytes, count),
            Self::BitsOfPage { page, count } => turn_bits(dice, &mut bytes[start(page)..end(page)], count),
            Self::Byte { at } => bytes[at] = bytes[at].wrapping_add(dice.random_range(1..=255)),
            Self::Garbage { at, length: run } => fill(dice, &mut bytes[at..(at + run).min(length)]),
            Self::ZeroPage { page } => bytes[start(page)..end(page)].fill(0),
            Self::SwapPages { one, other } => {
                let first = bytes[start(one)..end(one)].to_vec();
                bytes.copy_within(start(other)..end(other), start(one));
                bytes[start(other)..end(other)].copy_from_slice(&first);
            }
            Self::CopyPage { from, to } => bytes.copy_within(start(from)..end(from), start(to)),
            Self::Cut { length } => bytes.truncate(length),
            Self::Header { keep } => fill(dice, &mut bytes[keep..HEADER.min(length)]),
            Self::Tail { length } => {
                bytes.resize(bytes.len() + length, 0);
                let from = bytes.len() - length;
                fill(dice, &mut bytes[from..]);
            }
        }
    }
}

fn turn_bits(dice: &mut StdRng, bytes: &mut [u8], count: usize) {
    for _ in 0..count {
        let at = dice.random_range(0..bytes.len());
        bytes[at] ^= 1 << dice.random_range(0..8);
    }
}

fn fill(dice: &mut StdRng, bytes: &mut [u8]) {
    bytes.fill_with(|| dice.random());
}

/// Lengths at which something begins or ends, and those next to them.
pub fn interesting_lengths(length: usize) -> Vec<usize> {
    let pages = length / PAGE;
    let ends =
        [0, 16, 24, 28, 64, 72, HEADER, 512, PAGE, 2 * PAGE, pages / 2 * PAGE, (pages - 1) * PAGE, length];
    let mut lengths: Vec<_> = ends.iter().flat_map(|end| [end.saturating_sub(1), *end, end + 1]).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths.retain(|cut| *cut < length);
    lengths
}
