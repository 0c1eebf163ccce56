//! Events as lines for people.

use std::io::Write;

use super::{Event, EventKind, Reporter};
use crate::model::{Attempt, DeadReason, JobState, decision_text};
use crate::text::{counted, human_duration, local_time, safe_line};

/// Writes one line an event.
#[derive(Debug)]
pub struct HumanLog<W> {
    out: W,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// With the local time in front.
    Timed,
    /// With a priority in front: the journal has its own times.
    Journal,
    /// Nothing about jobs.
    Quiet,
}

impl<W: Write> HumanLog<W> {
    pub const fn new(out: W) -> Self {
        Self { out, form: Form::Timed }
    }

    pub const fn for_journal(out: W) -> Self {
        Self { out, form: Form::Journal }
    }

    /// Writes notices alone.
    pub const fn quiet(out: W) -> Self {
        Self { out, form: Form::Quiet }
    }
}

impl<W: Write> Reporter for HumanLog<W> {
    fn report(&mut self, event: &Event) {
        let Some(words) = words(&event.kind) else { return };
        let prefix = match self.form {
            Form::Timed => prefix(event),
            Form::Journal => priority(&event.kind).to_owned(),
            Form::Quiet if matches!(event.kind, EventKind::Notice(_)) => "runner: ".to_owned(),
            Form::Quiet => return,
        };
        // One write a line, so that the lines of several workers do not mix. A closed log must not stop the work.
        let _ = self.out.write_all(format!("{prefix}{words}\n").as_bytes());
    }
}

/// The local time of an event, and a blank.
pub(super) fn prefix(event: &Event) -> String {
    local_time(event.time) + " "
}

/// An event in words; none for a heartbeat.
pub(super) fn words(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::WorkerStarted { worker_id, slots, queues, db } => {
            let queues = queues.as_ref().map_or_else(|| "every queue".to_owned(), |names| names.join(", "));
            format!("worker {worker_id} started: {}, {queues}, {}", counted(*slots, "slot"), safe_line(db))
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
        EventKind::ScheduleFired { name, scheduled_for, job_id } => {
            let time = local_time(*scheduled_for);
            match job_id {
                Some(id) => format!("job {id} {name}: enqueued by its schedule for {time}"),
                None => format!("schedule {name}: {time} is skipped: an unfinished job holds the unique key"),
            }
        }
        EventKind::WorkerStopping { reason, running } => format!("stopping: {reason}; {running} running"),
        EventKind::WorkerStopped { attempts, succeeded, dead } => {
            let attempts = counted(*attempts, "attempt");
            format!("worker stopped: {attempts} recorded, {succeeded} succeeded, {dead} dead")
        }
        EventKind::Notice(text) => text.clone(),
        EventKind::Heartbeat { .. } => return None,
    })
}

fn ended(attempt: &Attempt, name: &str, runs: u32) -> String {
    let after = attempt.duration.map(|span| format!(" after {}", human_duration(span))).unwrap_or_default();
    let message = attempt.message.as_ref().map(|text| format!(" ({})", safe_line(text))).unwrap_or_default();
    let outcome = match attempt.next_state {
        JobState::Succeeded => format!("succeeded{after}"),
        JobState::Dead => format!("dead{after}: {}", decision_text(attempt, runs)),
        JobState::Cancelled => format!("cancelled{after}"),
        JobState::Pending | JobState::Running => decision_text(attempt, runs),
    };
    format!("job {} {name}: {outcome}{message}", attempt.job_id)
}

/// The prefix of a line for the journal, `sd-daemon(3)`: 3 error, 4 warning, 5 notice, 6 information.
const fn priority(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::AttemptEnded { attempt, .. } => match attempt.next_state {
            JobState::Dead => "<3>",
            JobState::Pending | JobState::Running => "<5>",
            JobState::Succeeded | JobState::Cancelled => "<6>",
        },
        EventKind::JobExpired { .. } => "<3>",
        EventKind::AttemptLost { .. } | EventKind::Notice(_) => "<4>",
        EventKind::WorkerStopping { .. } => "<5>",
        _ => "<6>",
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::text::Timestamp;

    /// Keeps each write apart.
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
        let mut log = HumanLog::new(Writes::default());
        log.report(&Event { time: Timestamp(0), kind: EventKind::Notice("the disk is full".to_owned()) });
        log.report(&Event { time: Timestamp(0), kind: EventKind::Heartbeat { unfinished: None } });
        let [line] = log.out.0.as_slice() else { panic!("{:?}", log.out.0) };
        assert!(line.ends_with("the disk is full\n"), "{line}");
    }
}
