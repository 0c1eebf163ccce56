//! What ended attempts left in their process groups, for the next attempts of their jobs, in whichever worker.
//!
//! Most processes that an attempt leaves in the background still carry its variables and are found by them. Of one that
//! does not, only the group told whose it was, and the group is gone with the attempt: so who was in it is noted, one file
//! for each attempt that left somebody. A file is named by worker, job and attempt, like the variables: job 1 of another
//! database never finds it.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::process::{self, Identity, Mark};

/// Notes between two looks for those of whom nobody is left: most jobs have no further attempt to look for them.
const TIDY_AFTER: usize = 256;

/// The notes of all workers of a database.
#[derive(Debug)]
pub(super) struct Remnants {
    folder: PathBuf,
    boot_id: String,
    kept: AtomicUsize,
}

impl Remnants {
    pub(super) fn new(run_dir: &Path) -> Self {
        let folder = run_dir.join("left");
        let remnants = Self { folder, boot_id: process::boot_id(), kept: AtomicUsize::new(0) };
        remnants.tidy();
        remnants
    }

    /// Notes whom an attempt left. Where that is not possible, only those who carry its variables will be found.
    pub(super) fn keep(&self, mark: &Mark, processes: &[Identity]) {
        let _ = self.write(&self.path(mark), processes);
        if self.kept.fetch_add(1, Ordering::Relaxed) % TIDY_AFTER == TIDY_AFTER - 1 {
            self.tidy();
        }
    }

    /// Whom an attempt left, for the next one, which ends them.
    pub(super) fn of(&self, mark: &Mark) -> Vec<Identity> {
        self.read(&self.path(mark)).unwrap_or_default()
    }

    fn path(&self, mark: &Mark) -> PathBuf {
        self.folder.join(format!("{}.{}.{}", mark.worker_id, mark.job_id, mark.attempt))
    }

    /// Under its name it is whole.
    fn write(&self, path: &Path, processes: &[Identity]) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let lines = processes.iter().map(|process| format!("{} {}\n", process.pid, process.start_ticks));
        let text: String = std::iter::once(format!("{}\n", self.boot_id)).chain(lines).collect();
        let draft = path.with_added_extension("new");
        fs::write(&draft, text)?;
        fs::rename(draft, path)
    }

    /// None after a restart of the machine.
    fn read(&self, path: &Path) -> Option<Vec<Identity>> {
        let text = fs::read_to_string(path).ok()?;
        let lines = text.strip_prefix(&self.boot_id)?.lines().filter(|line| !line.is_empty());
        let process = |line: &str| {
            let (pid, start_ticks) = line.split_once(' ')?;
            Some(Identity { pid: pid.parse().ok()?, start_ticks: start_ticks.parse().ok()? })
        };
        lines.map(process).collect()
    }

    /// Removes the notes of whom nobody is left.
    fn tidy(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let is_draft = path.extension().is_some_and(|extension| extension == "new");
            let is_left = || self.read(&path).is_some_and(|all| all.iter().any(Identity::is_alive));
            if !is_draft && !is_left() {
                let _ = fs::remove_file(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(job_id: i64) -> Mark {
        Mark { worker_id: "w".to_owned(), job_id, attempt: 2 }
    }

    fn notes(dir: &Path) -> usize {
        fs::read_dir(dir.join("left")).map_or(0, Iterator::count)
    }

    #[test]
    fn whom_an_attempt_left_another_worker_knows_until_they_are_gone() {
        let dir = tempfile::tempdir().unwrap();
        let me = Identity::of(std::process::id().cast_signed()).unwrap();
        let gone = Identity { start_ticks: me.start_ticks + 1, ..me };
        let one = Remnants::new(dir.path());
        one.keep(&mark(1), &[gone, me]);
        one.keep(&mark(2), &[gone]);
        assert_eq!(notes(dir.path()), 2);
        let other = Remnants::new(dir.path());
        assert_eq!(other.of(&mark(1)), [gone, me]);
        assert_eq!(other.of(&Mark { attempt: 1, ..mark(1) }), []);
        assert_eq!((other.of(&mark(2)), notes(dir.path())), (Vec::new(), 1));
        let rebooted = Remnants { boot_id: "another".to_owned(), ..other };
        assert_eq!(rebooted.of(&mark(1)), []);
        rebooted.tidy();
        assert_eq!(notes(dir.path()), 0);
    }

    #[test]
    fn a_worker_that_goes_on_and_on_tidies_up() {
        let dir = tempfile::tempdir().unwrap();
        let gone = Identity { pid: std::process::id().cast_signed(), start_ticks: 0 };
        let remnants = Remnants::new(dir.path());
        (1..=TIDY_AFTER).for_each(|job| remnants.keep(&mark(i64::try_from(job).unwrap()), &[gone]));
        assert_eq!(notes(dir.path()), 0);
    }
}
