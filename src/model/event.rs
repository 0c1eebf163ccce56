//! The events of a worker: what its logs tell, and what the store returns of each change it has committed.
//!
//! In JSON an event is an object with its name under `event`: a line of `runner work --log json`.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Attempt, CANCELLED, DeadReason, EXPIRED, JobLabel, JobState, WORKER_CRASHED};
use crate::text::{Timestamp, rfc3339};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    WorkerStarted {
        worker_id: String,
        slots: usize,
        /// None: every queue.
        queues: Option<Vec<String>>,
        db: String,
    },
    JobStarted {
        job_id: i64,
        name: String,
        #[serde(flatten)]
        label: JobLabel,
        attempt: u32,
        max_attempts: u32,
        pid: i32,
        #[serde(skip)]
        attempt_in_budget: u32,
    },
    /// The worker of an attempt died, or the attempt's end came too late to count.
    AttemptLost(UnseenEnd),
    /// A pending job expired.
    #[serde(rename = "job_dead")]
    JobExpired(UnseenEnd),
    /// A job was cancelled between its claim and its start.
    JobCancelled(UnseenEnd),
    ScheduleFired {
        job_id: i64,
        name: String,
        #[serde(serialize_with = "as_rfc3339")]
        scheduled_for: Timestamp,
    },
    /// No job was enqueued for this time.
    ScheduleSkipped {
        /// Always null in JSON.
        job_id: (),
        name: String,
        /// The latest of several times.
        #[serde(serialize_with = "as_rfc3339")]
        scheduled_for: Timestamp,
        reason: SkipReason,
        /// The number of times.
        count: usize,
    },
    WorkerStopping {
        message: String,
        /// The number of attempts that still run.
        running: usize,
    },
    WorkerStopped {
        attempts: u64,
        succeeded: u64,
        dead: u64,
    },
    /// A message for people about the worker itself. The JSON log leaves it out.
    #[serde(skip)]
    Notice(String),
    /// Comes once a second while the worker lives. The JSON log leaves it out.
    #[serde(skip)]
    Heartbeat {
        /// The number of attempts that run in this worker.
        running: usize,
        /// The number of pending and running jobs; none if they could not be counted.
        unfinished: Option<u64>,
    },
    /// An attempt is on record. Its JSON is named after the new state of the job.
    #[serde(untagged)]
    AttemptEnded(Box<RecordedAttempt>),
}

impl Event {
    /// Whether other workers must be woken after a turn with these events: only if it created work that another worker may
    /// have an idle slot for, or ended the last job, which others may wait for so that they can end. If a turn that did
    /// neither woke them, two idle workers would wake each other for ever.
    pub fn wakes_others(events: &[Self], released: bool, capacity_freed: bool, is_idle: bool) -> bool {
        let created_work = released || capacity_freed || events.iter().any(Self::may_create_work);
        created_work || is_idle && events.iter().any(Self::ends_attempt)
    }

    fn may_create_work(&self) -> bool {
        match self {
            // The job is retried, its alert was enqueued (also of a warning), or a dependent has no unmet dependency left.
            Self::AttemptEnded(ended) => {
                let attempt = &ended.attempt;
                ended.unblocks
                    || attempt.warning.is_some()
                    || matches!(attempt.next_state, JobState::Pending | JobState::Dead)
            }
            // The job may have an alert, or a dependent that any end lets go on.
            Self::JobExpired(_) | Self::JobCancelled(_) | Self::ScheduleFired { .. } => true,
            Self::WorkerStarted { .. }
            | Self::JobStarted { .. }
            | Self::AttemptLost(_)
            | Self::ScheduleSkipped { .. }
            | Self::WorkerStopping { .. }
            | Self::WorkerStopped { .. }
            | Self::Notice(_)
            | Self::Heartbeat { .. } => false,
        }
    }

    const fn ends_attempt(&self) -> bool {
        matches!(self, Self::AttemptEnded(_) | Self::AttemptLost(_))
    }
}

/// Why a time of a schedule has no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// An unfinished job has the unique key of the schedule's job.
    KeyHeld,
    /// It was seen later than [`crate::model::ScheduleText::missed_within`].
    TooLate,
}

/// An attempt as the history has it, and the facts about its job that a reader of the log wants beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAttempt {
    pub attempt: Attempt,
    pub name: String,
    pub label: JobLabel,
    pub queue: String,
    pub max_attempts: u32,
    /// The last line that the attempt wrote, if the job is dead now, or has succeeded with a warning.
    pub last_output: Option<String>,
    /// Because of this success or cancel, a dependent has no unmet dependency left. A death wakes others in any case.
    pub unblocks: bool,
}

#[cfg(test)]
impl RecordedAttempt {
    /// Attempt 4 of job 7 failed, and the job is in this state now.
    pub fn example(next_state: JobState) -> Self {
        use super::{ErrorCode, Outcome};
        use crate::text::Millis;
        let is_retried = next_state == JobState::Pending;
        let attempt = Attempt {
            job_id: 7,
            number: 4,
            outcome: Outcome::Failed,
            error_code: ErrorCode::parse("EXIT_3").ok(),
            warning: None,
            status: None,
            message: Some("no space".to_owned()),
            worker_id: Some("w".to_owned()),
            started_at: Some(Timestamp(0)),
            finished_at: Timestamp(1_000),
            duration: Some(Millis(1_000)),
            attempt_in_budget: 3,
            next_state,
            dead_reason: (next_state == JobState::Dead).then_some(DeadReason::AttemptsExhausted),
            nominal_delay: None,
            delay: is_retried.then_some(Millis(500)),
            usage: None,
            output_held_open: false,
            spawn_failure: None,
        };
        let (name, queue) = ("nightly".to_owned(), "default".to_owned());
        let label = JobLabel::default();
        Self { attempt, name, label, queue, max_attempts: 3, last_output: None, unblocks: false }
    }
}

impl Serialize for RecordedAttempt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attempt = &self.attempt;
        let event = match attempt.next_state {
            JobState::Succeeded => "job_succeeded",
            JobState::Dead => "job_dead",
            JobState::Cancelled => "job_cancelled",
            JobState::Pending | JobState::Running => "retry_scheduled",
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("event", event)?;
        map.serialize_entry("job_id", &attempt.job_id)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("label", &self.label.label)?;
        map.serialize_entry("attempt", &attempt.number)?;
        map.serialize_entry("max_attempts", &self.max_attempts)?;
        map.serialize_entry("outcome", &attempt.outcome)?;
        map.serialize_entry("duration_ms", &attempt.duration)?;
        map.serialize_entry("error_code", &attempt.error_code)?;
        map.serialize_entry("message", &attempt.message)?;
        if attempt.next_state == JobState::Succeeded {
            map.serialize_entry("warning", &attempt.warning)?;
        }
        if attempt.dead_reason.is_some() || attempt.warning.is_some() {
            map.serialize_entry("last_output", &self.last_output)?;
        }
        if let Some(reason) = attempt.dead_reason {
            map.serialize_entry("dead_reason", &reason)?;
        }
        if let Some(delay) = attempt.delay {
            map.serialize_entry("delay_ms", &delay)?;
            map.serialize_entry("next_retry_at", &attempt.next_retry_at().map(rfc3339))?;
        }
        map.end()
    }
}

/// The end of an attempt that nobody saw, or of a job without a further attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnseenEnd {
    pub job_id: i64,
    /// None where the job may be gone.
    pub name: Option<String>,
    #[serde(flatten)]
    pub label: JobLabel,
    /// The number of the job's last attempt, if it had any.
    pub attempt: Option<u32>,
    /// Always null in JSON: each end has this key, and nobody measured this one.
    duration_ms: (),
    error_code: &'static str,
    pub message: Option<String>,
    #[serde(flatten)]
    death: Option<UnseenDeath>,
    #[serde(skip)]
    pub queue: Option<String>,
}

/// The keys that each death has in JSON. No attempt ended with this one, so its last line is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct UnseenDeath {
    last_output: (),
    dead_reason: DeadReason,
}

impl UnseenEnd {
    fn new(job_id: i64, error_code: &'static str) -> Self {
        Self {
            job_id,
            name: None,
            label: JobLabel::default(),
            attempt: None,
            duration_ms: (),
            error_code,
            message: None,
            death: None,
            queue: None,
        }
    }

    /// The job ended while it was pending.
    fn pending(job: PendingJob, error_code: &'static str) -> Self {
        let PendingJob { id, name, label, queue, attempts } = job;
        let attempt = (attempts > 0).then_some(attempts);
        Self { name: Some(name), label, queue: Some(queue), attempt, ..Self::new(id, error_code) }
    }
}

/// A job that ended while it was pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingJob {
    pub id: i64,
    pub name: String,
    pub label: JobLabel,
    pub queue: String,
    /// The number of its attempts so far.
    pub attempts: u32,
}

impl Event {
    /// A pending job expired.
    pub fn expired(job: PendingJob) -> Self {
        let end = UnseenEnd::pending(job, EXPIRED);
        let death = UnseenDeath { last_output: (), dead_reason: DeadReason::Expired };
        Self::JobExpired(UnseenEnd { death: Some(death), ..end })
    }

    /// A job was cancelled between its claim and its start.
    pub fn cancelled(job: PendingJob) -> Self {
        Self::JobCancelled(UnseenEnd::pending(job, CANCELLED))
    }

    /// The worker of this attempt died. What was decided about the job is an event of its own.
    pub fn lost(recorded: &RecordedAttempt) -> Self {
        let RecordedAttempt { attempt, name, label, queue, .. } = recorded;
        Self::AttemptLost(UnseenEnd {
            name: Some(name.clone()),
            label: label.clone(),
            attempt: Some(attempt.number),
            message: Some(attempt.message.clone().unwrap_or_default()),
            queue: Some(queue.clone()),
            ..UnseenEnd::new(attempt.job_id, WORKER_CRASHED)
        })
    }

    /// An attempt ended after the job was taken from its worker.
    pub fn late(job_id: i64, attempt: u32) -> Self {
        let message = "its end came too late: another worker had dealt with it".to_owned();
        Self::AttemptLost(UnseenEnd {
            attempt: Some(attempt),
            message: Some(message),
            ..UnseenEnd::new(job_id, WORKER_CRASHED)
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn as_rfc3339<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time))
}

#[cfg(test)]
mod tests {
    use super::super::ErrorCode;
    use super::*;

    #[test]
    fn only_a_turn_that_others_may_wait_for_wakes_them() {
        let ended = |next_state| Event::AttemptEnded(RecordedAttempt::example(next_state).into());
        let mut warned = RecordedAttempt::example(JobState::Succeeded);
        warned.attempt.warning = ErrorCode::parse("EXIT_24").ok();
        let unblocking = RecordedAttempt { unblocks: true, ..RecordedAttempt::example(JobState::Succeeded) };
        let name = || "a".to_owned();
        let pending =
            || PendingJob { id: 1, name: name(), label: JobLabel::default(), queue: name(), attempts: 0 };
        let fired = Event::ScheduleFired { job_id: 1, name: name(), scheduled_for: Timestamp(0) };
        let (reason, count) = (SkipReason::KeyHeld, 1);
        let skipped =
            Event::ScheduleSkipped { job_id: (), name: name(), scheduled_for: Timestamp(0), reason, count };
        // Each event, and whether others are woken by a worker that still runs something, and by an idle one.
        let table = [
            ("a success", ended(JobState::Succeeded), [false, true]),
            ("a cancel", ended(JobState::Cancelled), [false, true]),
            ("a warning, whose alert may be pending now", Event::AttemptEnded(warned.into()), [true, true]),
            ("an end that came too late", Event::late(1, 1), [false, true]),
            ("a retry", ended(JobState::Pending), [true, true]),
            ("a death, whose alert may be pending now", ended(JobState::Dead), [true, true]),
            ("a success that a dependent waited for", Event::AttemptEnded(unblocking.into()), [true, true]),
            ("an expiry, whose alert may be pending now", Event::expired(pending()), [true, true]),
            ("a schedule fired", fired, [true, true]),
            ("a schedule skipped a time", skipped, [false, false]),
            ("a cancel that a dependent may have waited for", Event::cancelled(pending()), [true, true]),
        ];
        for (what, event, expected) in table {
            let events = [event];
            let woken = [false, true].map(|is_idle| Event::wakes_others(&events, false, false, is_idle));
            assert_eq!(woken, expected, "{what}");
        }
        assert!(
            !Event::wakes_others(&[], false, false, true),
            "two idle workers would wake each other for ever"
        );
        assert!(Event::wakes_others(&[], true, false, false), "a released job is pending again");
        assert!(Event::wakes_others(&[], false, true, false), "a full queue has capacity again");
    }
}
