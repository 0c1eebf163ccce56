//! The lock that proves a worker alive. The slot table lies in the same file.
//!
//! The kernel releases the lock when the process dies, at once and however it dies, so there is no lease to wait for and
//! no false alarm after a suspend. Jobs do not inherit it: the file is closed on exec.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::slot_table::{self, SlotRecord};
use crate::process::{self, Identity};
use crate::store::{HeldClaim, WorkerRow};
use crate::text::Timestamp;

/// The path of a worker's lock file.
pub(super) fn lock_path(run_dir: &Path, worker: &str) -> PathBuf {
    run_dir.join(format!("{worker}.lock"))
}

/// Creates the lock file of this process's worker, locked from the moment that it has its name, with room for so many
/// records of what it starts.
pub(super) fn create(run_dir: &Path, worker: &str, records: usize) -> io::Result<File> {
    let draft = run_dir.join(format!("{worker}.lock.new"));
    let file = File::options().create_new(true).read(true).write(true).mode(0o600).open(&draft)?;
    file.lock()?;
    slot_table::write_empty(&file, records)?;
    fs::rename(&draft, lock_path(run_dir, worker))?;
    Ok(file)
}

/// A dead worker. While this is held nobody else takes it for theirs to deal with.
#[derive(Debug)]
pub(super) struct Corpse {
    _lock: Option<File>,
    /// What it had begun.
    pub records: Vec<SlotRecord>,
    /// The slot table is whole and of this boot: what it does not name had not begun.
    pub has_table: bool,
}

impl Corpse {
    /// Was that certainly not begun? Only a whole slot table of this boot can tell.
    pub(super) fn never_started(&self, orphan: &HeldClaim) -> bool {
        self.has_table && !slot_table::names(&self.records, orphan)
    }
}

/// Takes the lock of a worker if that worker is dead.
pub(super) fn take_dead(run_dir: &Path, worker: &WorkerRow, boot_id: &str) -> Option<Corpse> {
    match File::options().read(true).write(true).open(lock_path(run_dir, &worker.name)) {
        Ok(file) => {
            file.try_lock().ok()?;
            let table = if worker.boot_id == boot_id { slot_table::read(&file) } else { None };
            let has_table = table.is_some();
            Some(Corpse { _lock: Some(file), records: table.unwrap_or_default(), has_table })
        }
        // A file that is gone proves nothing: somebody may have tidied up.
        Err(error) if error.kind() == ErrorKind::NotFound && !is_process_alive(worker, boot_id) => {
            Some(Corpse { _lock: None, records: Vec::new(), has_table: false })
        }
        Err(_) => None,
    }
}

fn is_process_alive(worker: &WorkerRow, boot_id: &str) -> bool {
    let process = Identity { pid: worker.pid, start_ticks: worker.start_ticks };
    worker.boot_id == boot_id && process.is_alive()
}

/// Whether a worker lives, as far as an onlooker can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It holds its lock.
    Alive,
    /// It holds its lock and is stopped by a signal: its jobs go on, timeouts and cancels wait for it.
    Suspended,
    /// It is gone, and its attempts are not dealt with yet.
    Dead,
}

/// Looks whether a worker lives, without disturbing it or those who deal with its death.
pub fn liveness(run_dir: &Path, worker: &WorkerRow) -> Liveness {
    let locked = match File::open(lock_path(run_dir, &worker.name)) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => is_process_alive(worker, &process::boot_id()),
    };
    match (locked, is_stopped(worker.pid)) {
        (false, _) => Liveness::Dead,
        (true, true) => Liveness::Suspended,
        (true, false) => Liveness::Alive,
    }
}

/// When this attempt was started, as the slot table of its worker tells while it runs.
pub fn started_at(run_dir: &Path, worker: &str, job_id: i64, number: u32) -> Option<Timestamp> {
    let file = File::open(lock_path(run_dir, worker)).ok()?;
    let is_it = |record: &SlotRecord| (record.job_id, record.number) == (job_id, number);
    slot_table::read(&file)?.into_iter().filter(is_it).find_map(|record| record.started).map(|(_, at)| at)
}

/// State `T` in `/proc/PID/stat`, the first field after the parenthesised name.
fn is_stopped(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('T')))
        .unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::super::slot_table::{SlotTable, Tickets};
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
        let corpse = take_dead(dir.path(), &row, "boot").unwrap();
        assert!(take_dead(dir.path(), &row, "boot").is_none(), "one deals with it at a time");
        drop(corpse);
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
    fn the_table_in_it_tells_what_was_begun_unless_the_machine_was_restarted() {
        let dir = tempfile::tempdir().unwrap();
        let table = SlotTable::new(create(dir.path(), "w", 4).unwrap());
        let ticket = Tickets::new(4).take().unwrap();
        table.started(ticket, 1, 2, Identity { pid: 77, start_ticks: 88 }, Timestamp(99)).unwrap();
        assert_eq!(started_at(dir.path(), "w", 1, 2), Some(Timestamp(99)));
        assert_eq!(started_at(dir.path(), "w", 1, 1), None);
        drop(table);
        let corpse = take_dead(dir.path(), &worker(1, "b"), "b").unwrap();
        assert_eq!((corpse.has_table, corpse.records.len()), (true, 1));
        drop(corpse);
        let rebooted = take_dead(dir.path(), &worker(1, "b"), "c").unwrap();
        assert_eq!((rebooted.has_table, rebooted.records.len()), (false, 0));
    }
}
