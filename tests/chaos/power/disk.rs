//! The content that is on the disk for certain, and the changes since, which may be there or not.
//!
//! The model is that of POSIX, and no kinder: what was written to a file is certain after an fsync of that file, and that
//! it has a name after an fsync of the folder. Until then each act may have reached the disk or not, whatever became of the
//! others, and of a write each sector for itself. A rename never takes the old name without giving the new one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::journal::{Act, Record};

/// The unit that reaches a disk whole.
pub const SECTOR: usize = 512;

/// The thing that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    File(usize),
    Folder,
}

/// A change that is not certain.
#[derive(Clone, Debug)]
pub enum Change {
    Bytes { file: usize, at: usize, bytes: Arc<[u8]> },
    Length { file: usize, length: usize },
    Enter { path: PathBuf, node: Node },
    Leave { path: PathBuf },
    Move { from: PathBuf, to: PathBuf, node: Node },
}

/// A change with its place in the journal.
#[derive(Clone, Debug)]
pub struct Pending {
    pub record: usize,
    pub change: Change,
}

/// How much of a change has reached the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Nothing,
    Whole,
    /// These sectors of a write, a bit each; or the new name of a rename, whose old name is still there.
    Some(u64),
}

/// Files and names.
#[derive(Clone, Debug, Default)]
pub struct Image {
    pub files: HashMap<usize, Arc<Vec<u8>>>,
    pub names: BTreeMap<PathBuf, Node>,
}

impl Image {
    pub fn apply(&mut self, change: &Change, part: Part) {
        let sectors = match part {
            Part::Nothing => return,
            Part::Whole => u64::MAX,
            Part::Some(sectors) => sectors,
        };
        match change {
            Change::Bytes { file, at, bytes } => self.write(*file, *at, bytes, sectors),
            Change::Length { file, length } => self.file(*file).resize(*length, 0),
            Change::Enter { path, node } => {
                self.names.insert(path.clone(), *node);
            }
            Change::Leave { path } => {
                self.names.remove(path);
            }
            Change::Move { from, to, node } => {
                self.names.insert(to.clone(), *node);
                if part == Part::Whole {
                    self.names.remove(from);
                }
            }
        }
    }

    fn file(&mut self, file: usize) -> &mut Vec<u8> {
        Arc::make_mut(self.files.entry(file).or_default())
    }

    fn write(&mut self, file: usize, at: usize, bytes: &[u8], sectors: u64) {
        let content = self.file(file);
        for (number, (start, end)) in pieces(at, bytes.len()).enumerate() {
            if sectors >> number.min(63) & 1 == 1 {
                content.resize(content.len().max(end), 0);
                content[start..end].copy_from_slice(&bytes[start - at..end - at]);
            }
        }
    }
}

/// The sectors that a write touches: where in the file the part of it in each begins and ends.
pub fn pieces(at: usize, length: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = at + length;
    (at / SECTOR..end.div_ceil(SECTOR))
        .map(move |sector| ((sector * SECTOR).max(at), ((sector + 1) * SECTOR).min(end)))
}

/// The disk as the journal is played.
#[derive(Default)]
pub struct Disk {
    /// The content that a crash cannot undo.
    pub certain: Image,
    /// The later changes, in order.
    pub pending: Vec<Pending>,
    /// Grows whenever something becomes certain.
    pub version: usize,
    /// Files that need not survive: worker locks, as they were written.
    pub fleeting: BTreeMap<PathBuf, Vec<u8>>,
    names: HashMap<PathBuf, Node>,
    inodes: HashMap<u64, usize>,
    files: usize,
}

/// Whether this is a file that workers keep beside the database while they live, or the index of the write-ahead log.
fn is_fleeting(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let endings = [".lock", ".lock.new", ".sock", ".sock.new", ".reports", "-shm"];
    text.contains(".reports/")
        || (endings.iter().any(|end| text.ends_with(end)) && !text.ends_with("create.lock"))
}

impl Disk {
    /// Plays one record.
    pub fn play(&mut self, number: usize, record: &Record) {
        let fresh = match &record.act {
            Act::Create(path)
            | Act::Write { path, .. }
            | Act::Truncate { path, .. }
            | Act::Mkdir(path)
            | Act::Rename(path, _)
            | Act::Unlink(path)
            | Act::Rmdir(path)
                if is_fleeting(path) =>
            {
                return self.play_fleeting(&record.act);
            }
            Act::Create(path) => {
                let node = Node::File(self.files);
                self.inodes.insert(record.inode, self.files);
                self.files += 1;
                self.enter(path, node)
            }
            Act::Mkdir(path) => self.enter(path, Node::Folder),
            Act::Link(from, to) => {
                let node = self.names[from];
                self.enter(to, node)
            }
            Act::Write { at, bytes, .. } => {
                let (file, at) = (self.inodes[&record.inode], usize::try_from(*at).expect("64 bits"));
                Change::Bytes { file, at, bytes: Arc::clone(bytes) }
            }
            Act::Truncate { length, .. } => {
                let length = usize::try_from(*length).expect("64 bits");
                Change::Length { file: self.inodes[&record.inode], length }
            }
            Act::Rename(from, to) => {
                let node = self.names.remove(from).expect("it has a name");
                self.names.insert(to.clone(), node);
                Change::Move { from: from.clone(), to: to.clone(), node }
            }
            Act::Unlink(path) | Act::Rmdir(path) => {
                self.names.remove(path);
                Change::Leave { path: path.clone() }
            }
            Act::Sync(path) => return self.sync(record.inode, path),
            Act::Unseen(path, how) => panic!("{} was changed by {how}: record that", path.display()),
            Act::Began(_) | Act::Said(_) | Act::Side(_) | Act::Done(_) => return,
        };
        self.pending.push(Pending { record: number, change: fresh });
    }

    fn enter(&mut self, path: &Path, node: Node) -> Change {
        self.names.insert(path.to_owned(), node);
        Change::Enter { path: path.to_owned(), node }
    }

    fn play_fleeting(&mut self, act: &Act) {
        match act {
            Act::Write { path, at, bytes }
                if path.extension().is_some_and(|end| end == "lock" || end == "new") =>
            {
                let (file, at) =
                    (self.fleeting.entry(path.clone()).or_default(), usize::try_from(*at).expect("64 bits"));
                file.resize(file.len().max(at + bytes.len()), b' ');
                file[at..at + bytes.len()].copy_from_slice(bytes);
            }
            Act::Rename(from, to) => {
                let file = self.fleeting.remove(from).unwrap_or_default();
                self.fleeting.insert(to.clone(), file);
            }
            Act::Unlink(path) => {
                self.fleeting.remove(path);
            }
            _ => {}
        }
    }

    fn sync(&mut self, inode: u64, path: &Path) {
        if is_fleeting(path) {
            return;
        }
        let is_folder = path.as_os_str().is_empty() || self.names.get(path) == Some(&Node::Folder);
        let file = self.inodes.get(&inode).copied().filter(|_| !is_folder);
        self.version += 1;
        let mut left = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            let inside = |name: &PathBuf| name.parent() == Some(path);
            let certain = match &pending.change {
                Change::Bytes { file: other, .. } | Change::Length { file: other, .. } => {
                    file == Some(*other)
                }
                Change::Enter { path, .. } | Change::Leave { path } => is_folder && inside(path),
                // The new name is certain once its folder is; the old one is gone when that of the old one is.
                Change::Move { from, to, .. } => {
                    if is_folder && inside(to) && !inside(from) {
                        self.certain.apply(&pending.change, Part::Some(1));
                        let change = Change::Leave { path: from.clone() };
                        left.push(Pending { record: pending.record, change });
                        continue;
                    }
                    is_folder && (inside(to) || inside(from))
                }
            };
            if certain {
                self.certain.apply(&pending.change, Part::Whole);
            } else {
                left.push(pending);
            }
        }
        self.pending = left;
        if is_folder {
            self.forget_what_has_no_name();
        }
    }

    /// Forgets changes to files that no crash can bring back, because they do not matter.
    fn forget_what_has_no_name(&mut self) {
        let named = self.certain.names.values().chain(self.names.values()).copied();
        let entering = self.pending.iter().filter_map(|pending| match pending.change {
            Change::Enter { node, .. } | Change::Move { node, .. } => Some(node),
            _ => None,
        });
        let reachable: HashSet<usize> = named
            .chain(entering)
            .filter_map(|node| if let Node::File(file) = node { Some(file) } else { None })
            .collect();
        self.pending.retain(|pending| match pending.change {
            Change::Bytes { file, .. } | Change::Length { file, .. } => reachable.contains(&file),
            _ => true,
        });
        self.certain.files.retain(|file, _| reachable.contains(file));
    }

    /// The disk after a crash in which of each pending change this part was there.
    pub fn after(&self, parts: &[Part]) -> Image {
        let mut image = self.certain.clone();
        for (pending, part) in self.pending.iter().zip(parts) {
            image.apply(&pending.change, *part);
        }
        image
    }
}

/// The last part of a path, for people.
pub fn name(path: &Path) -> String {
    path.file_name().map(OsString::from).unwrap_or_default().to_string_lossy().into_owned()
}
