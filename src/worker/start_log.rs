//! The start log, in the lock file of a worker: one record a slot, of the attempt that the slot has started. From it a recovery
//! concludes how far a dead worker had come: before [`StartLog::starting`] a claim was never started, after it the claim
//! may have started, after [`StartLog::started`] its process is known. A slot gets no new assignment before the end of its
//! last is committed, so a record stays as long as a recovery needs it. Records are not synced, because they have to
//! outlive the process and not the machine.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::process::{Identity, Leader};
use crate::text::Timestamp;

const RECORD_BYTES: usize = 128;

/// Stands before the session in a record.
const SESSION: &str = " session ";

#[derive(Clone, Debug)]
pub(super) struct StartLog {
    file: Arc<File>,
}

/// A record of an attempt that was started, or was about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StartRecord {
    pub job_id: i64,
    pub number: u32,
    /// None while the start is under way, so that nobody knows whether there is a process.
    pub started: Option<(Leader, Timestamp)>,
}

impl StartLog {
    pub(super) fn new(file: File) -> Self {
        Self { file: Arc::new(file) }
    }

    /// Records that the start begins. Call it before the spawn.
    pub(super) fn starting(&self, slot: usize, job_id: i64, number: u32) -> io::Result<()> {
        self.write(slot, &StartRecord { job_id, number, started: None })
    }

    /// Records the process. Call it as soon as the process is known.
    pub(super) fn started(
        &self,
        slot: usize,
        job_id: i64,
        number: u32,
        leader: Leader,
        at: Timestamp,
    ) -> io::Result<()> {
        self.write(slot, &StartRecord { job_id, number, started: Some((leader, at)) })
    }

    /// Removes the record. Call it if the attempt was not started after all.
    pub(super) fn clear(&self, slot: usize) -> io::Result<()> {
        self.file.write_all_at(&line(""), (slot * RECORD_BYTES) as u64)
    }

    fn write(&self, slot: usize, record: &StartRecord) -> io::Result<()> {
        let StartRecord { job_id, number, started } = record;
        let text = match started {
            None => format!("{job_id} {number}"),
            Some((Leader { process, session }, at)) => {
                // Version 1.0 reads the numbers before the first word.
                let session = session.map(|session| format!("{SESSION}{session}")).unwrap_or_default();
                format!("{job_id} {number} {} {} {}{session}", process.pid, process.start_ticks, at.0)
            }
        };
        self.file.write_all_at(&line(&text), (slot * RECORD_BYTES) as u64)
    }
}

/// Allocates a record for each slot, so that a full disk cannot refuse one later.
pub(super) fn allocate_log(file: &File, slots: usize) -> io::Result<()> {
    file.write_all_at(&line("").repeat(slots), 0)
}

/// Makes a record: text, blanks, and a newline.
fn line(text: &str) -> [u8; RECORD_BYTES] {
    let mut line = [b' '; RECORD_BYTES];
    line[..text.len()].copy_from_slice(text.as_bytes());
    line[RECORD_BYTES - 1] = b'\n';
    line
}

/// Reads all records; none if the log is not whole, so that anything may have been started.
pub(super) fn read_log(file: &File) -> Option<Vec<StartRecord>> {
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
            let process = Identity { pid: pid.try_into().ok()?, start_ticks: ticks.try_into().ok()? };
            let session = line.split_once(SESSION).and_then(|(_, session)| session.trim().parse().ok());
            Some((Leader { process, session }, Timestamp(at)))
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
        allocate_log(&file, 4).unwrap();
        let log = StartLog::new(file);
        let process = Identity { pid: i32::MAX, start_ticks: u64::MAX >> 1 };
        let leader = Leader { process, session: Some(i32::MAX) };
        log.starting(2, i64::MAX, u32::MAX).unwrap();
        log.starting(0, 1, 1).unwrap();
        log.started(0, i64::MAX, u32::MAX, leader, Timestamp(i64::MAX)).unwrap();
        log.starting(3, 5, 1).unwrap();
        log.clear(3).unwrap();
        let at = Timestamp(i64::MAX);
        let started = StartRecord { job_id: i64::MAX, number: u32::MAX, started: Some((leader, at)) };
        let starting = StartRecord { job_id: i64::MAX, number: u32::MAX, started: None };
        assert_eq!(read_log(&log.file), Some(vec![started, starting]));
        let of_version_1_0 = parse("1 2 77 88 99 ").unwrap();
        let leader = Leader { process: Identity { pid: 77, start_ticks: 88 }, session: None };
        assert_eq!(
            of_version_1_0,
            StartRecord { job_id: 1, number: 2, started: Some((leader, Timestamp(99))) }
        );
    }

    #[test]
    fn a_log_that_is_not_whole_is_refused() {
        for damaged in [&b""[..], b"1 1\n", &[b' '; RECORD_BYTES * 2], &[0xff; RECORD_BYTES]] {
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(damaged, 0).unwrap();
            assert_eq!(read_log(&file), (damaged.len() == RECORD_BYTES * 2).then(Vec::new));
        }
    }
}
