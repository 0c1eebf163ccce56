//! Events as lines for people, also those who read them in the journal.

use std::io::Write;

use super::journal::priority;
use super::{Event, EventKind, Reporter};
use crate::model::{Attempt, DeadReason, JobState, sentence};
use crate::text::{human_duration, local_time, safe_line};

/// Writes events as lines with the local time in front.
#[derive(Debug)]
pub struct TextLog<W> {
    out: W,
    /// The journal reads it.
    journal: bool,
}

impl<W: Write> TextLog<W> {
    /// Writes to `out`.
    pub const fn new(out: W) -> Self {
        Self { out, journal: false }
    }

    /// Writes to `out`, which the journal reads: with priorities, and without times, which it has itself.
    pub const fn for_journal(out: W) -> Self {
        Self { out, journal: true }
    }
}

impl<W: Write> Reporter for TextLog<W> {
    fn tell(&mut self, event: &Event) {
        let before = if self.journal { priority(&event.what).to_owned() } else { prefix(event) };
        // In one write: standard error has no buffer, and a line is not to be torn by another worker's. A reader that
        // went away must not stop the work.
        let _ = self.out.write_all(format!("{before}{}\n", words(&event.what)).as_bytes());
    }
}

/// What stands before the words of an event.
pub(super) fn prefix(event: &Event) -> String {
    local_time(event.time) + " "
}

/// One event in words.
pub(super) fn words(what: &EventKind) -> String {
    match what {
        EventKind::WorkerStarted { worker_id, slots, queues, db } => {
            let queues = queues.as_ref().map_or_else(|| "every queue".to_owned(), |names| names.join(", "));
            let plural = if *slots == 1 { "" } else { "s" };
            format!("worker {worker_id} started: {slots} slot{plural}, {queues}, {}", safe_line(db))
        }
        EventKind::JobStarted { job_id, name, attempt, runs, budget_number, pid } => {
            let number =
                if attempt == budget_number { String::new() } else { format!(" (number {attempt})") };
            format!("job {job_id} {name}: attempt {budget_number} of {runs}{number} started, pid {pid}")
        }
        EventKind::AttemptEnded { attempt, name, runs } => ended(attempt, name, *runs),
        EventKind::AttemptLost { job_id, name, attempt, message } => {
            let name = name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
            format!("job {job_id}{name}: attempt {attempt} lost: {message}")
        }
        EventKind::JobExpired { job_id, name, .. } => {
            format!("job {job_id} {name}: dead, {}", DeadReason::Expired.because())
        }
        EventKind::JobCancelled { job_id, name, .. } => {
            format!("job {job_id} {name}: cancelled before it started")
        }
        EventKind::WorkerStopping { reason, running } => format!("stopping: {reason}; {running} running"),
        EventKind::WorkerStopped { attempts, succeeded, dead } => {
            let plural = if *attempts == 1 { "" } else { "s" };
            format!("worker stopped: {attempts} attempt{plural} recorded, {succeeded} succeeded, {dead} dead")
        }
        EventKind::Notice(text) => text.clone(),
    }
}

fn ended(attempt: &Attempt, name: &str, runs: u32) -> String {
    let after = attempt.duration.map(|span| format!(" after {}", human_duration(span))).unwrap_or_default();
    let message = attempt.message.as_ref().map(|text| format!(" ({})", safe_line(text))).unwrap_or_default();
    let head = format!("job {} {name}:", attempt.job_id);
    match attempt.next_state {
        JobState::Succeeded => format!("{head} succeeded{after}{message}"),
        JobState::Dead => format!("{head} dead{after}: {}{message}", sentence(attempt, runs)),
        JobState::Cancelled => format!("{head} cancelled{after}{message}"),
        JobState::Pending | JobState::Running => format!("{head} {}{message}", sentence(attempt, runs)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Timestamp;
    use std::io;

    /// Takes everything, and counts in how many writes it came.
    #[derive(Default)]
    struct Writes(Vec<String>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_one_write() {
        let mut log = TextLog::new(Writes::default());
        log.tell(&Event { time: Timestamp(0), what: EventKind::Notice("the disk is full".to_owned()) });
        let [line] = log.out.0.as_slice() else { panic!("{:?}", log.out.0) };
        assert!(line.ends_with("the disk is full\n"), "{line}");
    }
}
