//! The start log: the attempt that each slot of a worker has started, for the recovery of a dead worker.
//!
//! One record a slot, in the worker's lock file. A record is written before the spawn, so a claim without a record was
//! never started. A slot gets no new assignment before the end of the last is committed, so a record stays as long as a
//! recovery needs the record. Records are not synced: they have to outlive the process, not the machine.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::process::Identity;
use crate::text::Timestamp;

const RECORD_BYTES: usize = 128;

#[derive(Clone, Debug)]
pub(super) struct StartLog {
    file: Arc<File>,
}

/// An attempt that was started, or about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StartRecord {
    pub job_id: i64,
    pub number: u32,
    /// None while the start is under way: whether there is a process is unknown.
    pub started: Option<(Identity, Timestamp)>,
}

impl StartLog {
    pub(super) fn new(file: File) -> Self {
        Self { file: Arc::new(file) }
    }

    /// Call it before the spawn.
    pub(super) fn starting(&self, slot: usize, job_id: i64, number: u32) -> io::Result<()> {
        self.write(slot, &StartRecord { job_id, number, started: None })
    }

    /// Call it as soon as the process is known.
    pub(super) fn started(
        &self,
        slot: usize,
        job_id: i64,
        number: u32,
        process: Identity,
        at: Timestamp,
    ) -> io::Result<()> {
        self.write(slot, &StartRecord { job_id, number, started: Some((process, at)) })
    }

    /// Call it if the attempt was not started after all.
    pub(super) fn clear(&self, slot: usize) -> io::Result<()> {
        self.file.write_all_at(&line(""), (slot * RECORD_BYTES) as u64)
    }

    fn write(&self, slot: usize, record: &StartRecord) -> io::Result<()> {
        let StartRecord { job_id, number, started } = record;
        let text = match started {
            None => format!("{job_id} {number}"),
            Some((process, at)) => {
                format!("{job_id} {number} {} {} {}", process.pid, process.start_ticks, at.0)
            }
        };
        self.file.write_all_at(&line(&text), (slot * RECORD_BYTES) as u64)
    }
}

/// Allocates a record for each slot, so that a full disk cannot refuse one later.
pub(super) fn allocate(file: &File, slots: usize) -> io::Result<()> {
    file.write_all_at(&line("").repeat(slots), 0)
}

/// A record: text, blanks, and a newline.
fn line(text: &str) -> [u8; RECORD_BYTES] {
    let mut line = [b' '; RECORD_BYTES];
    line[..text.len()].copy_from_slice(text.as_bytes());
    line[RECORD_BYTES - 1] = b'\n';
    line
}

/// All records; none if the log is not whole, so that anything may have been started.
pub(super) fn read(file: &File) -> Option<Vec<StartRecord>> {
    let mut text = vec![0; usize::try_from(file.metadata().ok()?.len()).ok()?];
    file.read_exact_at(&mut text, 0).ok()?;
    if text.is_empty() || !text.len().is_multiple_of(RECORD_BYTES) {
        return None;
    }
    let text = String::from_utf8(text).ok()?;
    let written = text.lines().filter(|line| !line.trim().is_empty());
    written.map(parse).collect()
}

fn parse(line: &str) -> Option<StartRecord> {
    let numbers: Vec<i64> = line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let (&job_id, rest) = numbers.split_first()?;
    let (&number, rest) = rest.split_first()?;
    let started = match *rest {
        [pid, ticks, at] => {
            Some((Identity { pid: pid.try_into().ok()?, start_ticks: ticks.try_into().ok()? }, Timestamp(at)))
        }
        _ => None,
    };
    Some(StartRecord { job_id, number: number.try_into().ok()?, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back() {
        let file = tempfile::tempfile().unwrap();
        allocate(&file, 4).unwrap();
        let log = StartLog::new(file);
        let process = Identity { pid: i32::MAX, start_ticks: u64::from(u32::MAX) };
        log.starting(2, i64::MAX, u32::MAX).unwrap();
        log.starting(0, 1, 1).unwrap();
        log.started(0, 1, 2, process, Timestamp(99)).unwrap();
        log.starting(3, 5, 1).unwrap();
        log.clear(3).unwrap();
        let started = StartRecord { job_id: 1, number: 2, started: Some((process, Timestamp(99))) };
        let starting = StartRecord { job_id: i64::MAX, number: u32::MAX, started: None };
        assert_eq!(read(&log.file), Some(vec![started, starting]));
    }

    #[test]
    fn a_log_that_is_not_whole_is_refused() {
        for damaged in [&b""[..], b"1 1\n", &[b' '; RECORD_BYTES * 2], &[0xff; RECORD_BYTES]] {
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(damaged, 0).unwrap();
            assert_eq!(read(&file), (damaged.len() == RECORD_BYTES * 2).then(Vec::new));
        }
    }
}
