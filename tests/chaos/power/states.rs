//! The states of the disk that are looked at, and what came of it.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;

use super::choices::{Choice, choices, fingerprint, tell};
use super::disk::{Disk, Node, Part};
use super::journal::Record;
use super::judge::judge;
use super::promises::Promises;
use super::revive::revive;
use super::scenario::{DB, Recording};
use crate::tools::{Plan, Violations};

/// As many states are looked at side by side.
const THREADS: usize = 2;

/// A state: after this record, this choice.
type State = (usize, Choice);

/// Looks at as many states as are asked for, each once; says how many there were.
pub fn check(recording: &Recording, plan: Plan, violations: &Violations) -> usize {
    let states = chosen(recording, plan);
    let moments = states.iter().map(|(at, _)| at).collect::<HashSet<_>>().len();
    // So many of them are handed to the real program.
    let every = states.len().div_ceil(24.max(states.len() / 500));
    let revived = states.len().div_ceil(every);
    println!(
        "{} states at {moments} moments, {revived} of them brought to their end by the program",
        states.len()
    );
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let own = states.iter().enumerate().filter(move |(number, _)| number % THREADS == thread);
            scope.spawn(move || walk(recording, own.collect(), every, violations));
        }
    });
    states.len()
}

/// Which states there are; where there are more than are asked for, which of them are looked at.
///
/// A state that the disk can be in at several moments is looked at at the last of them, when most had been promised.
fn chosen(recording: &Recording, plan: Plan) -> Vec<State> {
    let most = usize::try_from(plan.length).expect("64 bits");
    let mut found: HashMap<u64, State> = HashMap::new();
    let (mut random, mut before) = (0, 0);
    while found.len() < most && random < 10_000 {
        let mut disk = Disk::default();
        for (number, record) in recording.records.iter().enumerate() {
            disk.play(number, record);
            if recording.records.get(number + 1).is_some_and(Record::only_adds) {
                continue; // what may be on the disk now may be there then too
            }
            let seed = plan.seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for choice in choices(&disk.pending, random, seed) {
                let print = fingerprint(&disk, &choice.parts(&disk.pending));
                found.insert(print, (number, choice));
            }
        }
        assert!(found.len() > before, "there are no more states than {before}");
        before = found.len();
        random = 2 * random + 4;
    }
    let mut states: Vec<_> = found.into_iter().collect();
    // By fingerprint: as good as dice, and the same for the same recording.
    states.sort_unstable_by_key(|(print, _)| print ^ plan.seed);
    states.truncate(most);
    let mut states: Vec<State> = states.into_iter().map(|(_, state)| state).collect();
    states.sort_by_key(|(at, _)| *at);
    states
}

/// Plays the journal, and looks at these states on the way.
fn walk(recording: &Recording, states: Vec<(usize, &State)>, every: usize, violations: &Violations) {
    let (mut disk, mut promises) = (Disk::default(), Promises::default());
    let mut states = states.into_iter().peekable();
    for (number, record) in recording.records.iter().enumerate() {
        disk.play(number, record);
        promises.take(record);
        while let Some((index, (_, choice))) = states.next_if(|(_, (at, _))| *at == number) {
            let parts = choice.parts(&disk.pending);
            let folder = folder();
            build(&disk, &parts, folder.path(), index % 2 == 0);
            let db = folder.path().join(DB);
            let mut wrong = judge(&db, &promises, &recording.last);
            if index % every == 0 && wrong.is_empty() {
                build(&disk, &parts, folder.path(), index % 2 == 0);
                wrong = revive(recording, folder.path(), &db, &promises);
            }
            if !wrong.is_empty() {
                let last = recording.records[..=number].iter().rev().take(4).rev();
                let acts: Vec<_> =
                    last.map(|record| format!("    {}", short(&format!("{:?}", record.act)))).collect();
                violations.add(format!(
                    "after record {number}, {choice:?}: {}\n  the last acts:\n{}\n  not certain, and what was there:\n{}",
                    wrong.join("\n  and "),
                    acts.join("\n"),
                    tell(&disk, &parts),
                ));
            }
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(160).collect()
}

/// A folder in memory, where there is one: syncing takes no time there.
fn folder() -> TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    folder.expect("a temporary folder")
}

/// Puts the disk as the crash has left it into an empty folder.
fn build(disk: &Disk, parts: &[Part], folder: &Path, with_fleeting: bool) {
    let image = disk.after(parts);
    for entry in fs::read_dir(folder).expect("the folder").flatten() {
        fs::remove_dir_all(entry.path()).expect("it is a folder");
    }
    let mut lost: Vec<&PathBuf> = Vec::new();
    for (path, node) in &image.names {
        // Names come after those of the folders that they are in. A folder that was lost takes along what was in it.
        let parent = path.parent().unwrap_or(Path::new(""));
        if !folder.join(parent).is_dir() || lost.iter().any(|lost| path.starts_with(lost)) {
            lost.push(path);
            continue;
        }
        match node {
            Node::Folder => DirBuilder::new().mode(0o700).create(folder.join(path)).expect("a folder"),
            Node::File(file) => {
                let content = image.files.get(file).map_or(&[][..], |content| content.as_slice());
                put(&folder.join(path), content);
            }
        }
    }
    if with_fleeting {
        leave_traces(disk, folder);
    }
}

/// What need not survive and may: locks of workers, and an index of the write-ahead log that means nothing any more.
fn leave_traces(disk: &Disk, folder: &Path) {
    for (path, content) in &disk.fleeting {
        if folder.join(path).parent().is_some_and(Path::is_dir) {
            put(&folder.join(path), content);
        }
    }
    let db = folder.join(DB);
    if db.with_extension("db-wal").exists() {
        put(&db.with_extension("db-shm"), &vec![0x5a; 32768]);
    }
}

fn put(path: &Path, content: &[u8]) {
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content)).expect("a file");
}
