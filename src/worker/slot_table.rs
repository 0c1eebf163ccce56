//! The slot table: what a worker has started and not yet recorded, for whoever finds it dead.
//!
//! Each claim gets a record of its own, which it keeps until its end is on disk: a slot may be some attempts ahead of
//! the database. The table lies in the worker's lock file, and is written without syncing: it has to outlive the process,
//! not the machine.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::process::Identity;
use crate::store::HeldClaim;
use crate::text::Timestamp;

/// The length of a record in the file.
const RECORD: usize = 128;

/// Writes what becomes of each claim.
#[derive(Clone, Debug)]
pub(super) struct SlotTable {
    file: Arc<File>,
}

/// The place of a claim in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(usize);

/// The places that are free.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    free: Vec<Ticket>,
}

/// What had begun, as its record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotRecord {
    pub job_id: i64,
    pub number: u32,
    /// None where it was about to be started: nobody knows whether it was.
    pub started: Option<(Identity, Timestamp)>,
}

impl Tickets {
    /// All places of a table with so many records.
    pub(super) fn new(records: usize) -> Self {
        Self { free: (0..records).rev().map(Ticket).collect() }
    }

    /// A free place.
    pub(super) fn take(&mut self) -> Option<Ticket> {
        self.free.pop()
    }

    /// What became of the claim is on disk: another may have its place.
    pub(super) fn put_back(&mut self, ticket: Ticket) {
        self.free.push(ticket);
    }
}

impl SlotTable {
    pub(super) fn new(file: File) -> Self {
        Self { file: Arc::new(file) }
    }

    /// To be called before the spawn.
    pub(super) fn starting(&self, ticket: Ticket, job_id: i64, number: u32) -> io::Result<()> {
        self.write(ticket, &SlotRecord { job_id, number, started: None })
    }

    /// To be called as soon as the process is known.
    pub(super) fn started(
        &self,
        ticket: Ticket,
        job_id: i64,
        number: u32,
        process: Identity,
        at: Timestamp,
    ) -> io::Result<()> {
        self.write(ticket, &SlotRecord { job_id, number, started: Some((process, at)) })
    }

    /// To be called where it was not started after all.
    pub(super) fn clear(&self, ticket: Ticket) -> io::Result<()> {
        self.file.write_all_at(&line(""), (ticket.0 * RECORD) as u64)
    }

    fn write(&self, ticket: Ticket, record: &SlotRecord) -> io::Result<()> {
        let SlotRecord { job_id, number, started } = record;
        let text = match started {
            None => format!("{job_id} {number}"),
            Some((process, at)) => {
                format!("{job_id} {number} {} {} {}", process.pid, process.start_ticks, at.0)
            }
        };
        self.file.write_all_at(&line(&text), (ticket.0 * RECORD) as u64)
    }
}

/// Writes an empty table, so that a full disk cannot keep a record from being written later.
pub(super) fn write_empty(file: &File, records: usize) -> io::Result<()> {
    file.write_all_at(&line("").repeat(records), 0)
}

/// A record: text, blanks, and a newline.
fn line(text: &str) -> [u8; RECORD] {
    let mut line = [b' '; RECORD];
    line[..text.len()].copy_from_slice(text.as_bytes());
    line[RECORD - 1] = b'\n';
    line
}

/// The records of a table; none where the table is not whole, so that what it does not name may have begun.
pub(super) fn read(file: &File) -> Option<Vec<SlotRecord>> {
    let mut text = vec![0; usize::try_from(file.metadata().ok()?.len()).ok()?];
    file.read_exact_at(&mut text, 0).ok()?;
    if text.is_empty() || !text.len().is_multiple_of(RECORD) {
        return None;
    }
    let text = String::from_utf8(text).ok()?;
    let written = text.lines().filter(|line| !line.trim().is_empty());
    written.map(parse).collect()
}

/// Is there a record of what this was claimed for?
pub(super) fn names(records: &[SlotRecord], held: &HeldClaim) -> bool {
    records.iter().any(|record| (record.job_id, record.number) == (held.job_id, held.number))
}

fn parse(line: &str) -> Option<SlotRecord> {
    let numbers: Vec<i64> = line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let (&job_id, rest) = numbers.split_first()?;
    let (&number, rest) = rest.split_first()?;
    let started = match *rest {
        [pid, ticks, at] => {
            Some((Identity { pid: pid.try_into().ok()?, start_ticks: ticks.try_into().ok()? }, Timestamp(at)))
        }
        _ => None,
    };
    Some(SlotRecord { job_id, number: number.try_into().ok()?, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(records: usize) -> SlotTable {
        let file = tempfile::tempfile().unwrap();
        write_empty(&file, records).unwrap();
        SlotTable::new(file)
    }

    #[test]
    fn it_tells_what_was_begun() {
        let table = table(4);
        let process = Identity { pid: i32::MAX, start_ticks: u64::from(u32::MAX) };
        table.starting(Ticket(2), i64::MAX, u32::MAX).unwrap();
        table.starting(Ticket(0), 1, 1).unwrap();
        table.started(Ticket(0), 1, 2, process, Timestamp(99)).unwrap();
        table.starting(Ticket(3), 5, 1).unwrap();
        table.clear(Ticket(3)).unwrap();
        let started = SlotRecord { job_id: 1, number: 2, started: Some((process, Timestamp(99))) };
        let starting = SlotRecord { job_id: i64::MAX, number: u32::MAX, started: None };
        assert_eq!(read(&table.file), Some(vec![started, starting]));
    }

    #[test]
    fn one_that_is_not_whole_tells_nothing() {
        for damaged in [&b""[..], b"1 1\n", &[b' '; RECORD * 2], &[0xff; RECORD]] {
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(damaged, 0).unwrap();
            assert_eq!(read(&file), (damaged.len() == RECORD * 2).then(Vec::new));
        }
    }

    #[test]
    fn each_place_is_given_to_one_claim_at_a_time() {
        let mut tickets = Tickets::new(2);
        let (a, b) = (tickets.take().unwrap(), tickets.take().unwrap());
        assert_ne!(a, b);
        assert_eq!(tickets.take(), None);
        tickets.put_back(a);
        assert_eq!(tickets.take(), Some(a));
    }
}
