//! The traces of a worker on disk, by which other processes find it: its row, its lock file, its socket and its reports
//! folder.
//!
//! The lock proves the worker alive. The kernel releases it when the process dies, at once and however it dies, so there
//! is no lease to wait for and no false alarm after a suspend. Jobs do not inherit the lock, because its file is closed on
//! exec.
//!
//! The lock file also holds the start log, see `start_log`.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Options;
use super::start_log::{StartLog, StartRecord, allocate_log, read_log};
use crate::clock;
use crate::process::{self, AttemptTag, Identity, Leader};
use crate::store::{
    Liveness, OrphanedClaim, Store, StoreError, StoreFile, Version, Worker, is_lock_held, lock_path,
    make_private_dir, open_lock, open_regular, schema,
};
use crate::text::Timestamp;
use crate::wake;

#[derive(Debug)]
pub(super) struct Registration {
    pub row: Worker,
    pub start_log: StartLog,
    pub reports: PathBuf,
    run_dir: PathBuf,
}

impl Registration {
    /// Takes the lock, before there is a row: a row always has a lock. None if this was to be the only worker and another one is
    /// alive.
    pub(super) fn new(store: &Store, options: &Options) -> Result<Option<(Self, UnixDatagram)>> {
        let run_dir = store.file().make_run_dir()?;
        let failed = |error| StoreError::Io(format!("set up the run directory {}", run_dir.display()), error);
        let pid = std::process::id().cast_signed();
        let row = Worker {
            id: 0,
            name: format!("{:016x}", rand::random::<u64>()),
            mark: format!("{:032x}", rand::random::<u128>()),
            db: store.file().path().to_owned(),
            db_file: device_and_inode(store.file().path()).ok(),
            pid,
            boot_id: process::boot_id(),
            start_ticks: Identity::of(pid).map_or(0, |process| process.start_ticks),
            started_at: clock::now(),
            slots: options.slots,
            queues: options.queues.clone(),
            version: schema::known().version(),
            leftover_since: None,
            run_job_id: None,
            is_stopping: false,
            running: 0,
        };
        let file = {
            let _alone = options.single.then(|| lock_single(&run_dir)).transpose().map_err(failed)?;
            if options.single && is_another_worker_alive(store)? {
                return Ok(None);
            }
            create_lock(&run_dir, &row.name, options.slots).map_err(failed)?
        };
        let reports = reports_dir(&run_dir, &row.name);
        let bound = make_private_dir(&reports).and_then(|()| wake::bind(&run_dir, &row.name));
        let bound = bound.map_err(failed);
        let registration = Self { row, start_log: StartLog::new(file), reports, run_dir };
        match bound {
            Ok(socket) => Ok(Some((registration, socket))),
            Err(error) => {
                registration.give_up();
                Err(error.into())
            }
        }
    }

    /// Adds the row.
    pub(super) fn add_row(&mut self, store: &mut Store) -> crate::store::Result<()> {
        self.row.id = store.register_worker(&self.row)?;
        Ok(())
    }

    /// Removes the files of a worker whose row was not added: no recovery would ever remove them.
    pub(super) fn give_up(self) {
        remove_files(&self.run_dir, &self.row.name);
    }

    /// Closes the row and removes the files.
    pub(super) fn end(self, store: &mut Store) -> crate::store::Result<()> {
        store.worker_ended(self.row.id)?;
        remove_files(&self.run_dir, &self.row.name);
        Ok(())
    }
}

/// Removes the files of a worker that has stopped or was recovered.
pub(super) fn remove_files(run_dir: &Path, worker: &str) {
    // A file that stays does no harm.
    let _ = fs::remove_dir_all(reports_dir(run_dir, worker));
    let _ = fs::remove_file(wake::socket_path(run_dir, worker));
    let _ = fs::remove_file(lock_path(run_dir, worker));
    let _ = fs::remove_file(recovery_path(run_dir, worker));
}

/// Whether this worker is alive, or about to register. Looks at its lock alone.
pub(super) fn holds_lock(run_dir: &Path, worker: &str) -> bool {
    is_lock_held(&lock_path(run_dir, worker))
}

fn reports_dir(run_dir: &Path, worker: &str) -> PathBuf {
    run_dir.join(format!("{worker}.reports"))
}

/// The file whose lock the recoverer of a dead worker holds, so that others leave that worker alone.
fn recovery_path(run_dir: &Path, worker: &str) -> PathBuf {
    run_dir.join(format!("{worker}.recovery"))
}

/// Creates the lock file of this process's worker, with a record for each slot. The file is locked before it gets its name,
/// so that no other process takes this worker for dead.
fn create_lock(run_dir: &Path, worker: &str, slots: usize) -> io::Result<File> {
    let draft = run_dir.join(format!("{worker}.lock.new"));
    let file = File::options().create_new(true).read(true).write(true).mode(0o600).open(&draft)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.lock()?;
    allocate_log(&file, slots)?;
    fs::rename(&draft, lock_path(run_dir, worker))?;
    Ok(file)
}

/// The name of the lock that workers with `single` hold while they look for others and take their own lock, so that of
/// several only one finds none. The kernel releases it, so that one that dies meanwhile stops nobody.
const SINGLE: &str = "single";

fn lock_single(run_dir: &Path) -> io::Result<File> {
    let file = open_lock(&lock_path(run_dir, SINGLE))?;
    file.lock()?;
    Ok(file)
}

/// Whether a worker that is no `run` is alive: one with an open row, even if a cleaner of old files has removed its lock file, or
/// one that has its lock and is about to add its row.
fn is_another_worker_alive(store: &Store) -> Result<bool> {
    let locks = held_locks(store.file());
    let open = store.open_workers()?;
    let is_run = |name: &String| open.iter().any(|row| row.name == *name && row.is_foreground());
    let is_alive =
        |row: &&Worker| matches!(liveness(store.file(), row), Liveness::Alive | Liveness::Suspended);
    Ok(locks.iter().any(|name| !is_run(name))
        || open.iter().filter(|row| !row.is_foreground()).any(|row| is_alive(&row)))
}

/// A dead worker. While this lives, no other worker recovers it at the same time.
#[derive(Debug)]
pub(super) struct DeadWorker {
    /// The lock of the worker, shared, and that of its recovery.
    _lock: Option<File>,
    _recovery: Option<File>,
    pub origin: Origin,
    /// The worker registered in a database that this one has replaced, by a restore to the same path. It may not have died.
    pub is_of_replaced: bool,
    /// The start log; none if the log is not whole or not from this boot.
    started: Option<Vec<StartRecord>>,
}

/// The origin of a dead worker, which decides what has become of its processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Its processes may still be there.
    ThisBoot,
    /// Its processes are gone.
    EarlierBoot,
    /// The worker belongs to the database of which this one is a copy, and so do its processes.
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
    Started(Leader, Timestamp),
}

impl DeadWorker {
    pub(super) fn fate(&self, claim: &OrphanedClaim) -> ClaimFate {
        let Some(records) = &self.started else {
            return ClaimFate::MayHaveStarted { is_logged: false };
        };
        let of_claim = |record: &&StartRecord| (record.job_id, record.number) == (claim.job_id, claim.number);
        // Two slots may have a record of one claim, if it was released and claimed again.
        let record = records.iter().filter(of_claim).max_by_key(|record| record.started.is_some());
        match record.map(|record| record.started) {
            None => ClaimFate::NeverStarted,
            Some(None) => ClaimFate::MayHaveStarted { is_logged: true },
            Some(Some((leader, at))) => ClaimFate::Started(leader, at),
        }
    }
}

/// The tag of an attempt of the worker with this secret, whose program knew this version.
pub(super) fn tag_of(mark: &str, version: Version, job_id: i64, number: u32) -> AttemptTag {
    if version == Version::FIRST {
        AttemptTag::of_version_1_0(mark, job_id, number)
    } else {
        AttemptTag::new(mark, job_id, number)
    }
}

/// Takes a worker for its recovery, if that worker is dead and nobody else recovers it.
///
/// The caller takes a shared lock of the worker's lock file. It gets that only if the worker is dead, because a living worker holds
/// the lock alone; others who look meanwhile find it dead, too.
pub(super) fn take_dead(db: &StoreFile, worker: &Worker, boot_id: &str) -> Option<DeadWorker> {
    let dead = look_at_dead(db, worker, boot_id)?;
    // On a full disk there may be no such file; then two may recover the worker, which does no harm.
    let recovery = open_lock(&recovery_path(&db.run_dir(), &worker.name)).ok();
    if recovery.as_ref().is_some_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))) {
        return None;
    }
    Some(DeadWorker { _recovery: recovery, ..dead })
}

/// What is known of a worker, if that worker is dead.
pub(super) fn look_at_dead(db: &StoreFile, worker: &Worker, boot_id: &str) -> Option<DeadWorker> {
    let origin = if is_of_original(db, worker) {
        Origin::Original
    } else if worker.boot_id == boot_id {
        Origin::ThisBoot
    } else {
        Origin::EarlierBoot
    };
    // The inode alone: a file system may have another device number after it is mounted again.
    let inode = device_and_inode(db.path()).map(|(_, inode)| inode);
    let is_of_replaced = worker.db == db.path()
        && worker.db_file.is_some_and(|(_, theirs)| inode.is_ok_and(|ours| ours != theirs));
    let lock = lock_path(&db.run_dir(), &worker.name);
    match open_regular(&lock, File::options().read(true)) {
        Ok(file) => {
            file.try_lock_shared().ok()?;
            let started = if origin == Origin::ThisBoot { read_log(&file) } else { None };
            Some(DeadWorker { _lock: Some(file), _recovery: None, origin, is_of_replaced, started })
        }
        // A file that is missing, or is no file, proves nothing: a cleaner of old files may have removed it.
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput)
                && (origin != Origin::ThisBoot || !is_process_alive(worker, boot_id)) =>
        {
            Some(DeadWorker { _lock: None, _recovery: None, origin, is_of_replaced, started: None })
        }
        Err(_) => None,
    }
}

/// Device and inode of a file.
fn device_and_inode(path: &Path) -> io::Result<(i64, i64)> {
    fs::metadata(path).map(|found| (found.dev().cast_signed(), found.ino().cast_signed()))
}

/// Whether the worker registered in a database of which this one is a copy.
///
/// The worker is this database's own if it registered this very file, maybe by another path, because a file system may be mounted
/// twice, and each mount namespace has paths of its own. So it is if the path that it registered leads nowhere, because the
/// database was moved from there.
fn is_of_original(db: &StoreFile, worker: &Worker) -> bool {
    let ours = device_and_inode(db.path());
    if worker.db == db.path() || worker.db_file.is_some_and(|theirs| ours.as_ref().ok() == Some(&theirs)) {
        return false;
    }
    match (device_and_inode(&worker.db), ours) {
        (Err(error), _) if error.kind() == ErrorKind::NotFound => false,
        (Ok(theirs), Ok(ours)) => theirs != ours,
        _ => true,
    }
}

fn is_process_alive(worker: &Worker, boot_id: &str) -> bool {
    let process = Identity { pid: worker.pid, start_ticks: worker.start_ticks };
    worker.boot_id == boot_id && process.is_alive()
}

/// Looks whether a worker lives. Tries a shared lock, so that neither the worker nor its recovery is disturbed.
pub fn liveness(db: &StoreFile, worker: &Worker) -> Liveness {
    let is_of_original = is_of_original(db, worker);
    let is_alive = match open_regular(&lock_path(&db.run_dir(), &worker.name), File::options().read(true)) {
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

/// Whether a worker of this database is alive. Looks at the locks alone, because the database may be damaged.
pub fn is_any_alive(db: &StoreFile) -> bool {
    !held_locks(db).is_empty()
}

/// The names of the workers whose lock is held.
fn held_locks(db: &StoreFile) -> Vec<String> {
    let Ok(entries) = fs::read_dir(db.run_dir()) else { return Vec::new() };
    let worker_of = |path: &PathBuf| {
        let name = path.file_stem().filter(|_| path.extension().is_some_and(|end| end == "lock"))?;
        Some(name.to_string_lossy().into_owned()).filter(|name| name != "create" && name != SINGLE)
    };
    let held = entries.flatten().map(|entry| entry.path()).filter_map(|path| Some((worker_of(&path)?, path)));
    held.filter(|(_, path)| is_lock_held(path)).map(|(name, _)| name).collect()
}

/// The start time of a running attempt, from the start log of its worker.
pub fn started_at(run_dir: &Path, worker: &str, job_id: i64, number: u32) -> Option<Timestamp> {
    let file = open_regular(&lock_path(run_dir, worker), File::options().read(true)).ok()?;
    let is_attempt = |record: &StartRecord| (record.job_id, record.number) == (job_id, number);
    read_log(&file)?.into_iter().filter(is_attempt).find_map(|record| record.started).map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The run directory of a new database.
    fn run_dir() -> (tempfile::TempDir, StoreFile, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let db = StoreFile::new(&dir.path().join("runner.db")).unwrap();
        let run_dir = db.make_run_dir().unwrap();
        (dir, db, run_dir)
    }

    fn worker(db: &StoreFile, pid: i32, boot_id: &str) -> Worker {
        Worker {
            id: 1,
            name: "w".into(),
            mark: "m".into(),
            db: db.path().into(),
            db_file: None,
            pid,
            boot_id: boot_id.into(),
            start_ticks: 0,
            started_at: Timestamp(0),
            slots: 1,
            queues: None,
            version: schema::known().version(),
            leftover_since: None,
            run_job_id: None,
            is_stopping: false,
            running: 0,
        }
    }

    #[test]
    fn a_held_lock_is_life_and_a_free_one_is_death() {
        let (_dir, db, run_dir) = run_dir();
        let row = worker(&db, i32::MAX, "boot");
        let file = create_lock(&run_dir, "w", 4).unwrap();
        assert!(take_dead(&db, &row, "boot").is_none());
        assert_eq!(liveness(&db, &row), Liveness::Alive);
        drop(file);
        let dead = take_dead(&db, &row, "boot").unwrap();
        assert!(take_dead(&db, &row, "boot").is_none(), "one deals with it at a time");
        assert_eq!(liveness(&db, &row), Liveness::Dead, "also while somebody recovers it");
        assert!(!is_any_alive(&db));
        drop(dead);
        assert_eq!(liveness(&db, &row), Liveness::Dead);
    }

    #[test]
    fn without_a_lock_file_the_process_decides() {
        let (_dir, db, _) = run_dir();
        let me = Identity::of(std::process::id().cast_signed()).unwrap();
        let boot = process::boot_id();
        let alive = Worker { start_ticks: me.start_ticks, ..worker(&db, me.pid, &boot) };
        assert!(take_dead(&db, &alive, &boot).is_none());
        assert!(take_dead(&db, &alive, "another boot").is_some());
        let other = Worker { start_ticks: me.start_ticks + 1, ..worker(&db, me.pid, &boot) };
        assert!(take_dead(&db, &other, &boot).is_some(), "the pid was given to another process");
    }

    #[test]
    fn a_worker_of_the_original_is_dead_in_a_copy_and_not_where_the_original_was_moved() {
        let (dir, db, run_dir) = run_dir();
        let me = Identity::of(std::process::id().cast_signed()).unwrap();
        let boot = process::boot_id();
        let original = StoreFile::new(&dir.path().join("original.db")).unwrap();
        let row = Worker { start_ticks: me.start_ticks, ..worker(&original, me.pid, &boot) };
        assert_eq!(liveness(&db, &row), Liveness::Alive, "the original was moved here");
        fs::write(original.path(), "").unwrap();
        assert_eq!(liveness(&db, &row), Liveness::OfOriginal);
        let origin = || take_dead(&db, &row, &boot).map(|dead| (dead.origin, dead.started));
        assert_eq!(origin(), Some((Origin::Original, None)));
        // The same database under another path, as with a bind mount.
        let lock = create_lock(&run_dir, "w", 1).unwrap();
        assert_eq!((liveness(&db, &row), origin()), (Liveness::Alive, None));
        drop(lock);
        assert_eq!(origin(), Some((Origin::Original, None)), "a copied start log is none");
        fs::hard_link(original.path(), db.path()).unwrap();
        assert_eq!(liveness(&db, &row), Liveness::Dead, "the same file under another path");
    }

    #[test]
    fn another_file_in_its_place_replaces_a_database_and_another_device_number_does_not() {
        let (_dir, db, _run_dir) = run_dir();
        fs::write(db.path(), "").unwrap();
        let (device, inode) = device_and_inode(db.path()).unwrap();
        let is_replaced = |db_file| {
            let row = Worker { db_file: Some(db_file), ..worker(&db, i32::MAX, "boot") };
            take_dead(&db, &row, "boot").unwrap().is_of_replaced
        };
        assert!(!is_replaced((device, inode)));
        assert!(!is_replaced((device + 1, inode)), "mounted again, or after a restart");
        assert!(is_replaced((device, inode + 1)));
    }

    #[test]
    fn the_start_log_tells_the_fate_of_a_claim_unless_the_machine_was_restarted() {
        let (_dir, db, run_dir) = run_dir();
        let log = StartLog::new(create_lock(&run_dir, "w", 4).unwrap());
        let process = Identity { pid: 77, start_ticks: 88 };
        let leader = Leader { process, session: Some(66) };
        log.starting(0, 1, 2).unwrap();
        log.started(1, 1, 2, leader, Timestamp(99)).unwrap();
        log.starting(2, 2, 1).unwrap();
        assert_eq!(started_at(&run_dir, "w", 1, 2), Some(Timestamp(99)));
        assert_eq!(started_at(&run_dir, "w", 1, 1), None);
        drop(log);
        let fates = |boot_id: &str| {
            let dead = take_dead(&db, &worker(&db, 1, "b"), boot_id).unwrap();
            let claim = |job_id, number| OrphanedClaim {
                job_id,
                number,
                claimed_at: Timestamp(0),
                has_started: false,
                started_at: None,
            };
            [(1, 2), (2, 1), (1, 1)].map(|(job_id, number)| dead.fate(&claim(job_id, number)))
        };
        let unknown = |is_logged| ClaimFate::MayHaveStarted { is_logged };
        assert_eq!(
            fates("b"),
            [ClaimFate::Started(leader, Timestamp(99)), unknown(true), ClaimFate::NeverStarted]
        );
        assert_eq!(fates("c"), [unknown(false); 3]);
    }
}
