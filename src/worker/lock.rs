//! The lock that proves a worker alive. The start log lies in the same file.
//!
//! The kernel releases the lock when the process dies, at once and however it dies, so there is no lease to wait for and
//! no false alarm after a suspend. Jobs do not inherit it: the file is closed on exec.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::start_log::{self, StartRecord};
use crate::process::{self, Identity};
use crate::store::{HeldClaim, WorkerRow};
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
    /// The start log; none if the log is not whole or is from another boot.
    started: Option<Vec<StartRecord>>,
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
pub(super) fn take_dead(run_dir: &Path, worker: &WorkerRow, boot_id: &str) -> Option<DeadWorker> {
    match File::options().read(true).write(true).open(lock_path(run_dir, &worker.name)) {
        Ok(file) => {
            file.try_lock().ok()?;
            let started = if worker.boot_id == boot_id { start_log::read(&file) } else { None };
            Some(DeadWorker { _lock: Some(file), started })
        }
        // A missing file proves nothing: a cleaner of old files may have removed it.
        Err(error) if error.kind() == ErrorKind::NotFound && !is_process_alive(worker, boot_id) => {
            Some(DeadWorker { _lock: None, started: None })
        }
        Err(_) => None,
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
}

/// Looks whether a worker lives. A shared lock, so that neither the worker nor its recovery is disturbed.
pub fn liveness(run_dir: &Path, worker: &WorkerRow) -> Liveness {
    let locked = match File::open(lock_path(run_dir, &worker.name)) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => is_process_alive(worker, &process::boot_id()),
    };
    match (locked, process::is_stopped(worker.pid)) {
        (false, _) => Liveness::Dead,
        (true, true) => Liveness::Suspended,
        (true, false) => Liveness::Alive,
    }
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

    fn worker(pid: i32, boot_id: &str) -> WorkerRow {
        WorkerRow {
            id: 1,
            name: "w".into(),
            pid,
            boot_id: boot_id.into(),
            start_ticks: 0,
            started_at: Timestamp(0),
            slots: 1,
            queues: None,
        }
    }

    #[test]
    fn a_held_lock_is_life_and_a_free_one_is_death() {
        let dir = tempfile::tempdir().unwrap();
        let row = worker(i32::MAX, "boot");
        let file = create(dir.path(), "w", 4).unwrap();
        assert!(take_dead(dir.path(), &row, "boot").is_none());
        assert_eq!(liveness(dir.path(), &row), Liveness::Alive);
        drop(file);
        let dead = take_dead(dir.path(), &row, "boot").unwrap();
        assert!(take_dead(dir.path(), &row, "boot").is_none(), "one deals with it at a time");
        drop(dead);
        assert_eq!(liveness(dir.path(), &row), Liveness::Dead);
    }

    #[test]
    fn without_a_lock_file_the_process_decides() {
        let dir = tempfile::tempdir().unwrap();
        let me = Identity::of(std::process::id().cast_signed()).unwrap();
        let boot = process::boot_id();
        let alive = WorkerRow { start_ticks: me.start_ticks, ..worker(me.pid, &boot) };
        assert!(take_dead(dir.path(), &alive, &boot).is_none());
        assert!(take_dead(dir.path(), &alive, "another boot").is_some());
        let other = WorkerRow { start_ticks: me.start_ticks + 1, ..worker(me.pid, &boot) };
        assert!(take_dead(dir.path(), &other, &boot).is_some(), "the pid was given to another process");
    }

    #[test]
    fn the_start_log_tells_the_fate_of_a_claim_unless_the_machine_was_restarted() {
        let dir = tempfile::tempdir().unwrap();
        let log = StartLog::new(create(dir.path(), "w", 4).unwrap());
        let process = Identity { pid: 77, start_ticks: 88 };
        log.starting(0, 1, 2).unwrap();
        log.started(1, 1, 2, process, Timestamp(99)).unwrap();
        log.starting(2, 2, 1).unwrap();
        assert_eq!(started_at(dir.path(), "w", 1, 2), Some(Timestamp(99)));
        assert_eq!(started_at(dir.path(), "w", 1, 1), None);
        drop(log);
        let fates = |boot_id: &str| {
            let dead = take_dead(dir.path(), &worker(1, "b"), boot_id).unwrap();
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
