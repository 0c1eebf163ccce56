//! The journal that the shim writes, and notes of the suite's own in it. `tests/shim/journal.rs` says how it is laid out.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One act.
#[derive(Clone, Debug)]
pub struct Record {
    pub pid: u32,
    pub inode: u64,
    pub act: Act,
}

/// What was done. Paths are relative to the folder that is recorded.
#[derive(Clone, Debug)]
pub enum Act {
    /// A process of the program is there, with these arguments.
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
    /// It adds to what is not certain, and neither makes anything certain nor promises anything.
    pub fn only_adds(&self) -> bool {
        !matches!(
            self.act,
            Act::Began(_) | Act::Said(_) | Act::Side(_) | Act::Done(_) | Act::Sync(_) | Act::Unseen(..)
        )
    }
}

/// Adds a note to the journal, in its turn.
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
