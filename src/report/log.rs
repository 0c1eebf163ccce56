//! Events as lines: in words for people, or as JSON.

use std::io::Write;

use serde::Serialize;

use super::reporter::Reporter;
use crate::model::{
    Attempt, DeadReason, Event, JobState, Outcome, RecordedAttempt, SkipReason, UnseenEnd, decision_text,
    job_title,
};
use crate::text::{
    Timestamp, counted, human_duration, local_time, note_line, rfc3339, safe_json, safe_line, shown_line,
};

/// Writes a line of words for each event.
#[derive(Debug)]
pub struct HumanLog<W> {
    out: W,
    style: LineStyle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineStyle {
    /// Each line begins with the local time.
    Timed,
    /// Each line begins with a priority: the journal adds the time itself.
    Journal,
    /// Only deaths and trouble are written.
    Quiet,
    /// The same, each as a JSON object.
    QuietJson,
}

impl<W: Write> HumanLog<W> {
    pub const fn new(out: W) -> Self {
        Self { out, style: LineStyle::Timed }
    }

    pub const fn for_journal(out: W) -> Self {
        Self { out, style: LineStyle::Journal }
    }

    /// Writes deaths and trouble alone.
    pub const fn quiet(out: W) -> Self {
        Self { out, style: LineStyle::Quiet }
    }

    /// Writes deaths and trouble alone, as JSON.
    pub const fn quiet_as_json(out: W) -> Self {
        Self { out, style: LineStyle::QuietJson }
    }
}

impl<W: Write> Reporter for HumanLog<W> {
    fn report(&mut self, time: Timestamp, event: &Event) {
        let Some(words) = words(event) else { return };
        let is_trouble = matches!(priority(event), "<3>" | "<4>");
        let line = match self.style {
            LineStyle::Timed => format!("{}{words}\n", prefix(time)),
            LineStyle::Journal => format!("{}{words}\n", priority(event)),
            LineStyle::Quiet if is_trouble => format!("runner: {words}\n"),
            LineStyle::QuietJson if is_trouble => note_line(&words),
            LineStyle::Quiet | LineStyle::QuietJson => return,
        };
        // One write a line, so that the lines of several workers do not mix. A closed log must not stop the work.
        let _ = self.out.write_all(line.as_bytes());
    }
}

/// The local time of an event, and a blank.
pub(super) fn prefix(time: Timestamp) -> String {
    local_time(time) + " "
}

/// An event in words that are safe on a terminal; none for a heartbeat.
pub fn words(event: &Event) -> Option<String> {
    let words = match event {
        Event::WorkerStarted { worker_id, slots, queues, db } => {
            let queues = queues.as_ref().map_or_else(|| "every queue".to_owned(), |names| names.join(", "));
            format!("worker {worker_id} started: {}, {queues}, {}", counted(*slots, "slot"), safe_line(db))
        }
        Event::JobStarted { job_id, name, label, attempt, max_attempts, attempt_in_budget, pid } => {
            let title = job_title(name, label.shown.as_deref());
            let number =
                if attempt == attempt_in_budget { String::new() } else { format!(" (number {attempt})") };
            format!(
                "job {job_id} {title}: attempt {attempt_in_budget} of {max_attempts}{number} started, pid {pid}"
            )
        }
        Event::AttemptEnded(ended) => ended_words(ended),
        Event::AttemptLost(end) => {
            let title = if end.name.is_some() { format!(" {}", title_of(end)) } else { String::new() };
            let (attempt, message) =
                (end.attempt.unwrap_or_default(), end.message.as_deref().unwrap_or_default());
            format!("job {}{title}: attempt {attempt} lost: {message}", end.job_id)
        }
        Event::JobExpired(end) => {
            format!("job {} {}: dead, {}", end.job_id, title_of(end), DeadReason::Expired.because())
        }
        Event::JobCancelled(end) => {
            format!("job {} {}: cancelled before it started", end.job_id, title_of(end))
        }
        Event::ScheduleFired { job_id, name, scheduled_for } => {
            format!("job {job_id} {name}: enqueued by its schedule for {}", local_time(*scheduled_for))
        }
        Event::ScheduleSkipped { name, scheduled_for, reason, count, .. } => {
            let time = local_time(*scheduled_for);
            match (reason, count) {
                (SkipReason::KeyHeld, _) => {
                    format!("schedule {name}: {time} is skipped: an unfinished job holds the unique key")
                }
                (SkipReason::TooLate, 1) => {
                    format!("schedule {name}: {time} is skipped: it was seen later than missed_within")
                }
                (SkipReason::TooLate, count) => format!(
                    "schedule {name}: {count} times up to {time} are skipped: they were seen later than missed_within"
                ),
            }
        }
        Event::WorkerStopping { message, running } => format!("stopping: {message}; {running} running"),
        Event::WorkerStopped { attempts, succeeded, dead } => {
            let attempts = counted(*attempts, "attempt");
            format!("worker stopped: {attempts} recorded, {succeeded} succeeded, {dead} dead")
        }
        Event::Notice(text) => text.clone(),
        Event::Heartbeat { .. } => return None,
    };
    Some(safe_line(&words))
}

/// How the words of an event about the end of an attempt or a job begin, before the outcome; and what the job is now.
pub(super) fn title_and_status(event: &Event) -> Option<(String, &'static str)> {
    let (id, title, status) = match event {
        Event::AttemptEnded(ended) => {
            let status = match ended.attempt.next_state {
                JobState::Pending => "retrying",
                JobState::Succeeded if ended.attempt.warning.is_some() => "succeeded, warned",
                state => state.as_str(),
            };
            (ended.attempt.job_id, job_title(&ended.name, ended.label.shown.as_deref()), status)
        }
        Event::JobExpired(end) => (end.job_id, title_of(end), "dead"),
        Event::JobCancelled(end) => (end.job_id, title_of(end), "cancelled"),
        _ => return None,
    };
    Some((safe_line(&format!("job {id} {title}: ")), status))
}

fn title_of(end: &UnseenEnd) -> String {
    job_title(end.name.as_deref().unwrap_or_default(), end.label.shown.as_deref())
}

fn ended_words(ended: &RecordedAttempt) -> String {
    let RecordedAttempt { attempt, name, label, max_attempts, .. } = ended;
    let title = job_title(name, label.shown.as_deref());
    let Attempt { job_id, outcome: ended_as, duration, message, next_state, .. } = attempt;
    let after = duration.map(|span| format!(" after {}", human_duration(span))).unwrap_or_default();
    // After a crash the line just above, about the lost attempt, has the message.
    let message = message.as_ref().filter(|_| *ended_as != Outcome::WorkerCrashed);
    let message = message.map(|text| format!(" ({})", shown_line(text))).unwrap_or_default();
    let decision = decision_text(attempt, *max_attempts);
    let outcome = match next_state {
        JobState::Succeeded if attempt.warning.is_some() => format!("{}{after}", attempt.shown_outcome()),
        JobState::Succeeded => format!("succeeded{after}"),
        JobState::Dead => format!("dead{after}: {decision}"),
        JobState::Cancelled => format!("cancelled{after}"),
        JobState::Pending | JobState::Running => decision,
    };
    format!("job {job_id} {title}: {outcome}{message}")
}

/// The prefix of a line for the journal, `sd-daemon(3)`: 3 error, 4 warning, 5 notice, 6 information.
fn priority(event: &Event) -> &'static str {
    match event {
        Event::AttemptEnded(ended) => match ended.attempt.next_state {
            JobState::Dead => "<3>",
            JobState::Succeeded if ended.attempt.warning.is_some() => "<4>",
            JobState::Pending | JobState::Running => "<5>",
            JobState::Succeeded | JobState::Cancelled => "<6>",
        },
        Event::JobExpired(_) => "<3>",
        Event::AttemptLost(_) | Event::Notice(_) => "<4>",
        Event::WorkerStopping { .. } => "<5>",
        Event::WorkerStarted { .. }
        | Event::JobStarted { .. }
        | Event::JobCancelled(_)
        | Event::ScheduleFired { .. }
        | Event::ScheduleSkipped { .. }
        | Event::WorkerStopped { .. }
        | Event::Heartbeat { .. } => "<6>",
    }
}

/// Writes an object a line for each event.
#[derive(Debug)]
pub struct JsonLog<W, N> {
    events: W,
    notices: N,
    has_json_notices: bool,
}

impl<W: Write, N: Write> JsonLog<W, N> {
    /// Notices are no events: they go to a stream of their own, as text or as JSON.
    pub const fn new(events: W, notices: N, has_json_notices: bool) -> Self {
        Self { events, notices, has_json_notices }
    }
}

impl<W: Write, N: Write> Reporter for JsonLog<W, N> {
    fn report(&mut self, time: Timestamp, event: &Event) {
        #[derive(Serialize)]
        struct LogLine<'a> {
            time: String,
            #[serde(flatten)]
            event: &'a Event,
        }
        // A closed log must not stop the work.
        let _ = match event {
            Event::Notice(text) if self.has_json_notices => {
                self.notices.write_all(note_line(text).as_bytes())
            }
            Event::Notice(text) => {
                self.notices.write_all(format!("runner: {}\n", safe_line(text)).as_bytes())
            }
            Event::Heartbeat { .. } => Ok(()),
            _ => serde_json::to_string(&LogLine { time: rfc3339(time), event })
                .map_err(Into::into)
                .and_then(|line| self.events.write_all((safe_json(line) + "\n").as_bytes())),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::model::{ErrorCode, JobLabel, PendingJob};

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
        log.report(Timestamp(0), &Event::Notice("the disk is full".to_owned()));
        log.report(Timestamp(0), &Event::Heartbeat { running: 0, unfinished: None });
        let [line] = log.out.0.as_slice() else { panic!("{:?}", log.out.0) };
        assert!(line.ends_with("the disk is full\n"), "{line}");
    }

    /// Programs read these lines: neither a key nor the order of the keys may change by accident.
    #[test]
    fn events_as_json() {
        let name = || "nightly".to_owned();
        let ended = |next_state| Event::AttemptEnded(RecordedAttempt::example(next_state).into());
        let mut warned = RecordedAttempt::example(JobState::Succeeded);
        warned.last_output = Some("a file vanished".to_owned());
        warned.attempt.outcome = Outcome::Succeeded;
        (warned.attempt.error_code, warned.attempt.warning) = (None, ErrorCode::parse("EXIT_24").ok());
        let queue = "default".to_owned();
        let pending = |attempts| PendingJob {
            id: 7,
            name: name(),
            label: JobLabel::default(),
            queue: queue.clone(),
            attempts,
        };
        let told = [
            (
                Event::WorkerStarted {
                    worker_id: "w".to_owned(),
                    slots: 2,
                    queues: None,
                    db: "a.db".to_owned(),
                },
                r#""worker_started","worker_id":"w","slots":2,"queues":null,"db":"a.db""#,
            ),
            (
                Event::JobStarted {
                    job_id: 7,
                    name: name(),
                    attempt: 4,
                    max_attempts: 3,
                    pid: 9,
                    attempt_in_budget: 1,
                    label: JobLabel { label: Some("eu".to_owned()), shown: Some("eu".to_owned()) },
                },
                r#""job_started","job_id":7,"name":"nightly","label":"eu","attempt":4,"max_attempts":3,"pid":9"#,
            ),
            (
                ended(JobState::Dead),
                r#""job_dead","job_id":7,"name":"nightly","label":null,"attempt":4,"max_attempts":3,"outcome":"failed","duration_ms":1000,"error_code":"EXIT_3","message":"no space","last_output":null,"dead_reason":"attempts_exhausted""#,
            ),
            (
                ended(JobState::Pending),
                r#""retry_scheduled","job_id":7,"name":"nightly","label":null,"attempt":4,"max_attempts":3,"outcome":"failed","duration_ms":1000,"error_code":"EXIT_3","message":"no space","delay_ms":500,"next_retry_at":"1970-01-01T00:00:01.500Z""#,
            ),
            (
                Event::AttemptEnded(warned.into()),
                r#""job_succeeded","job_id":7,"name":"nightly","label":null,"attempt":4,"max_attempts":3,"outcome":"succeeded","duration_ms":1000,"error_code":null,"message":"no space","warning":"EXIT_24","last_output":"a file vanished""#,
            ),
            (
                Event::late(7, 4),
                r#""attempt_lost","job_id":7,"name":null,"label":null,"attempt":4,"duration_ms":null,"error_code":"WORKER_CRASHED","message":"its end came too late: another worker had dealt with it""#,
            ),
            (
                Event::expired(pending(0)),
                r#""job_dead","job_id":7,"name":"nightly","label":null,"attempt":null,"duration_ms":null,"error_code":"EXPIRED","message":null,"last_output":null,"dead_reason":"expired""#,
            ),
            (
                Event::cancelled(pending(2)),
                r#""job_cancelled","job_id":7,"name":"nightly","label":null,"attempt":2,"duration_ms":null,"error_code":"CANCELLED","message":null"#,
            ),
            (
                Event::ScheduleFired { job_id: 7, name: name(), scheduled_for: Timestamp(0) },
                r#""schedule_fired","job_id":7,"name":"nightly","scheduled_for":"1970-01-01T00:00:00.000Z""#,
            ),
            (
                Event::ScheduleSkipped {
                    job_id: (),
                    name: name(),
                    scheduled_for: Timestamp(0),
                    reason: SkipReason::TooLate,
                    count: 3,
                },
                r#""schedule_skipped","job_id":null,"name":"nightly","scheduled_for":"1970-01-01T00:00:00.000Z","reason":"too_late","count":3"#,
            ),
            (
                Event::WorkerStopping { message: "SIGTERM".to_owned(), running: 1 },
                r#""worker_stopping","message":"SIGTERM","running":1"#,
            ),
            (
                Event::WorkerStopped { attempts: 3, succeeded: 2, dead: 1 },
                r#""worker_stopped","attempts":3,"succeeded":2,"dead":1"#,
            ),
        ];
        for (event, expected) in told {
            let mut log = JsonLog::new(Writes::default(), Writes::default(), false);
            log.report(Timestamp(0), &event);
            let expected = format!("{{\"time\":\"1970-01-01T00:00:00.000Z\",\"event\":{expected}}}\n");
            assert_eq!(log.events.0, [expected], "{event:?}");
        }
    }
}
