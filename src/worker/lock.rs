//! The lock that proves a worker alive. The start log lies in the same file.
//!
//! The kernel releases the lock when the process dies, at once and however it dies, so there is no lease to wait for and
//! no false alarm after a suspend. Jobs do not inherit it: the file is closed on exec.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::start_log::{self, StartRecord};
use crate::process::{self, Identity};
use crate::store::{HeldClaim, StoreFile, WorkerRow};
use crate::text::Timestamp;

/// The path of a worker's lock file.
pub(super) fn lock_path(run_dir: &Path, worker: &str) -> PathBuf {
    run_dir.join(format!("{worker}.lock"))
}

/// Creates the lock file of this process's worker with a record for each slot. It is locked before it gets its name.
pub(super) fn create(run_dir: &Path, worker: &str, slots: usize) -> io::Result<File> {
    let draft = run_dir.join(format!("{worker}.lock.new"));
    let file = File::options().create_new(true).read(true).write(true).mode(0o600).open(&draft)?;
    file.lock()?;
    start_log::allocate(&file, slots)?;
    fs::rename(&draft, lock_path(run_dir, worker))?;
    Ok(file)
}

/// A dead worker, locked so that no other worker recovers it meanwhile.
#[derive(Debug)]
pub(super) struct DeadWorker {
    _lock: Option<File>,
    pub origin: Origin,
    /// The start log; none if the log is not whole or not from this boot.
    started: Option<Vec<StartRecord>>,
}

/// Where the processes of a dead worker are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// They may still be there.
    ThisBoot,
    /// They are gone.
    EarlierBoot,
    /// They belong to the database of which this one is a copy.
    Original,
}

/// How far a dead worker had come with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimFate {
    NeverStarted,
    /// The start was under way, or there is no start log.
    MayHaveStarted {
        is_logged: bool,
    },
    Started(Identity, Timestamp),
}

impl DeadWorker {
    pub(super) fn fate(&self, claim: &HeldClaim) -> ClaimFate {
        let Some(records) = &self.started else {
            return ClaimFate::MayHaveStarted { is_logged: false };
        };
        let of_claim = |record: &&StartRecord| (record.job_id, record.number) == (claim.job_id, claim.number);
        // A claim that went back and was claimed again may stand in two records.
        let record = records.iter().filter(of_claim).max_by_key(|record| record.started.is_some());
        match record.map(|record| record.started) {
            None => ClaimFate::NeverStarted,
            Some(None) => ClaimFate::MayHaveStarted { is_logged: true },
            Some(Some((process, at))) => ClaimFate::Started(process, at),
        }
    }
}

/// Takes the lock of a worker if that worker is dead.
pub(super) fn take_dead(db: &StoreFile, worker: &WorkerRow, boot_id: &str) -> Option<DeadWorker> {
    let origin = if is_of_original(db, worker) {
        Origin::Original
    } else if worker.boot_id == boot_id {
        Origin::ThisBoot
    } else {
        Origin::EarlierBoot
    };
    match File::options().read(true).write(true).open(lock_path(&db.run_dir(), &worker.name)) {
        Ok(file) => {
            file.try_lock().ok()?;
            let started = if origin == Origin::ThisBoot { start_log::read(&file) } else { None };
            Some(DeadWorker { _lock: Some(file), origin, started })
        }
        // A missing file proves nothing: a cleaner of old files may have removed it.
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && (origin != Origin::ThisBoot || !is_process_alive(worker, boot_id)) =>
        {
            Some(DeadWorker { _lock: None, origin, started: None })
        }
        Err(_) => None,
    }
}

/// Did the worker register in a database of which this one is a copy? If its path leads nowhere, this database was moved
/// from there; if its path leads to this very file, a file system is mounted twice. Then the worker is its own.
fn is_of_original(db: &StoreFile, worker: &WorkerRow) -> bool {
    if worker.db == db.path() {
        return false;
    }
    let file = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    match (file(&worker.db), file(db.path())) {
        (Err(error), _) if error.kind() == ErrorKind::NotFound => false,
        (Ok(theirs), Ok(ours)) => theirs != ours,
        _ => true,
    }
}

fn is_process_alive(worker: &WorkerRow, boot_id: &str) -> bool {
    let process = Identity { pid: worker.pid, start_ticks: worker.start_ticks };
    worker.boot_id == boot_id && process.is_alive()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    /// Alive but stopped by a signal: jobs go on, timeouts and cancels wait.
    Suspended,
    /// Not recovered yet.
    Dead,
    /// The worker of a database of which this one is a copy: here it is dead, whatever it does there.
    OfOriginal,
}

/// Looks whether a worker lives. A shared lock, so that neither the worker nor its recovery is disturbed.
pub fn liveness(db: &StoreFile, worker: &WorkerRow) -> Liveness {
    let is_of_original = is_of_original(db, worker);
    let is_alive = match File::open(lock_path(&db.run_dir(), &worker.name)) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => !is_of_original && is_process_alive(worker, &process::boot_id()),
    };
    match is_alive {
        true if process::is_stopped(worker.pid) => Liveness::Suspended,
        true => Liveness::Alive,
        false if is_of_original => Liveness::OfOriginal,
        false => Liveness::Dead,
    }
}

/// Is a worker of this database alive? Looks at the locks alone: the database may be damaged.
pub fn is_any_alive(db: &StoreFile) -> bool {
    let Ok(entries) = fs::read_dir(db.run_dir()) else { return false };
    let is_worker = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "lock")
            && path.file_stem().is_some_and(|stem| stem != "create")
    };
    let is_held = |path: PathBuf| {
        File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    entries.flatten().map(|entry| entry.path()).filter(is_worker).any(is_held)
}

/// The start time of a running attempt, from the start log of its worker.
pub fn started_at(run_dir: &Path, worker: &str, job_id: i64, number: u32) -> Option<Timestamp> {
    let file = File::open(lock_path(run_dir, worker)).ok()?;
    let is_attempt = |record: &StartRecord| (record.job_id, record.number) == (job_id, number);
    start_log::read(&file)?.into_iter().filter(is_attempt).find_map(|record| record.started).map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::super::start_log::StartLog;
    use super::*;

    /// The run directory of a new database.
    fn run_dir() -> (tempfile::TempDir, StoreFile, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let db = StoreFile::new(&dir.path().join("runner.db")).unwrap();
        let run_dir = db.make_run_dir().unwrap();
        (dir, db, run_dir)
    }

    fn worker(db: &StoreFile, pid: i32, boot_id: &str) -> WorkerRow {
        WorkerRow {
            id: 1,
            name: "w".into(),
            db: db.path().into(),
            pid,
            boot_id: boot_id.into(),
            start_ticks: 0,
            started_at: Timestamp(0),
            slots: 1,
            queues: None,
            is_stopping: false,
        }
    }

    #[test]
    fn a_held_lock_is_life_and_a_free_one_is_death() {
        let (_dir, db, run_dir) = run_dir();
        let row = worker(&db, i32::MAX, "boot");
        let file = create(&run_dir, "w", 4).unwrap();
        assert!(take_dead(&db, &row, "boot").is_none());
        assert_eq!(liveness(&db, &row), Liveness::Alive);
        drop(file);
        let dead = take_dead(&db, &row, "boot").unwrap();
        assert!(take_dead(&db, &row, "boot").is_none(), "one deals with it at a time");
        drop(dead);
        assert_eq!(liveness(&db, &row), Liveness::Dead);
    }

    #[test]
    fn without_a_lock_file_the_process_decides() {
        let (_dir, db, _) = run_dir();
        let me = Identity::of(std::process::id().cast_signed()).unwrap();
        let boot = process::boot_id();
        let alive = WorkerRow { start_ticks: me.start_ticks, ..worker(&db, me.pid, &boot) };
        assert!(take_dead(&db, &alive, &boot).is_none());
        assert!(take_dead(&db, &alive, "another boot").is_some());
        let other = WorkerRow { start_ticks: me.start_ticks + 1, ..worker(&db, me.pid, &boot) };
        assert!(take_dead(&db, &other, &boot).is_some(), "the pid was given to another process");
    }

    #[test]
    fn a_worker_of_the_original_is_dead_in_a_copy_and_not_where_the_original_was_moved() {
        let (dir, db, run_dir) = run_dir();
        let me = Identity::of(std::process::id().cast_signed()).unwrap();
        let boot = process::boot_id();
        let original = StoreFile::new(&dir.path().join("original.db")).unwrap();
        let row = WorkerRow { start_ticks: me.start_ticks, ..worker(&original, me.pid, &boot) };
        assert_eq!(liveness(&db, &row), Liveness::Alive, "the original was moved here");
        fs::write(original.path(), "").unwrap();
        assert_eq!(liveness(&db, &row), Liveness::OfOriginal);
        let origin = || take_dead(&db, &row, &boot).map(|dead| (dead.origin, dead.started));
        assert_eq!(origin(), Some((Origin::Original, None)));
        // The same database under another path, as with a bind mount.
        let lock = create(&run_dir, "w", 1).unwrap();
        assert_eq!((liveness(&db, &row), origin()), (Liveness::Alive, None));
        drop(lock);
        assert_eq!(origin(), Some((Origin::Original, None)), "a copied start log is none");
        fs::hard_link(original.path(), db.path()).unwrap();
        assert_eq!(liveness(&db, &row), Liveness::Dead, "the same file under another path");
    }

    #[test]
    fn the_start_log_tells_the_fate_of_a_claim_unless_the_machine_was_restarted() {
        let (_dir, db, run_dir) = run_dir();
        let log = StartLog::new(create(&run_dir, "w", 4).unwrap());
        let process = Identity { pid: 77, start_ticks: 88 };
        log.starting(0, 1, 2).unwrap();
        log.started(1, 1, 2, process, Timestamp(99)).unwrap();
        log.starting(2, 2, 1).unwrap();
        assert_eq!(started_at(&run_dir, "w", 1, 2), Some(Timestamp(99)));
        assert_eq!(started_at(&run_dir, "w", 1, 1), None);
        drop(log);
        let fates = |boot_id: &str| {
            let dead = take_dead(&db, &worker(&db, 1, "b"), boot_id).unwrap();
            let claim = |job_id, number| HeldClaim { job_id, number, claimed_at: Timestamp(0) };
            [(1, 2), (2, 1), (1, 1)].map(|(job_id, number)| dead.fate(&claim(job_id, number)))
        };
        let unknown = |is_logged| ClaimFate::MayHaveStarted { is_logged };
        assert_eq!(
            fates("b"),
            [ClaimFate::Started(process, Timestamp(99)), unknown(true), ClaimFate::NeverStarted]
        );
        assert_eq!(fates("c"), [unknown(false); 3]);
    }
}
