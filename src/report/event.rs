//! The events of a worker.

use crate::model::{Attempt, JobState};
use crate::text::Timestamp;

/// Takes the events of a worker in order. Each change is on disk before its event.
pub trait Reporter {
    fn report(&mut self, event: &Event);

    /// Does this reporter use heartbeats? Each costs a count of the unfinished jobs.
    fn wants_heartbeats(&self) -> bool {
        false
    }
}

#[derive(Clone, Debug)]
pub struct Event {
    pub time: Timestamp,
    pub kind: EventKind,
}

#[derive(Clone, Debug)]
pub enum EventKind {
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
        attempt: u32,
        /// The number of runs in the budget.
        runs: u32,
        /// Which of them this is, from 1.
        budget_number: u32,
        pid: i32,
    },
    /// An attempt was recorded; its next state is the new state of the job.
    AttemptEnded {
        attempt: Box<Attempt>,
        name: String,
        /// The number of runs in the budget.
        runs: u32,
    },
    /// The worker of an attempt died, or the attempt's end came too late to count.
    AttemptLost {
        job_id: i64,
        name: Option<String>,
        attempt: u32,
        message: String,
    },
    /// A job expired before a worker started it.
    JobExpired {
        job_id: i64,
        name: String,
        attempts: u32,
    },
    /// A job was cancelled between its claim and its start.
    JobCancelled {
        job_id: i64,
        name: String,
        attempts: u32,
    },
    /// A schedule's time came.
    ScheduleFired {
        name: String,
        scheduled_for: Timestamp,
        /// None: the unique key was held, and the time was skipped.
        job_id: Option<i64>,
    },
    WorkerStopping {
        reason: String,
        /// Attempts that still run.
        running: usize,
    },
    WorkerStopped {
        attempts: u64,
        succeeded: u64,
        dead: u64,
    },
    /// A message for people about the worker itself.
    Notice(String),
    /// About once a second while the worker lives.
    Heartbeat {
        /// Jobs that wait or run; none where they could not be counted.
        unfinished: Option<u64>,
    },
}

impl EventKind {
    /// The event's name in the JSON log; none for what is not logged there.
    pub fn name(&self) -> Option<&'static str> {
        Some(match self {
            Self::WorkerStarted { .. } => "worker_started",
            Self::JobStarted { .. } => "job_started",
            Self::AttemptEnded { attempt, .. } => match attempt.next_state {
                JobState::Succeeded => "job_succeeded",
                JobState::Dead => "job_dead",
                JobState::Cancelled => "job_cancelled",
                JobState::Pending | JobState::Running => "retry_scheduled",
            },
            Self::AttemptLost { .. } => "attempt_lost",
            Self::JobExpired { .. } => "job_dead",
            Self::JobCancelled { .. } => "job_cancelled",
            Self::ScheduleFired { job_id: Some(_), .. } => "schedule_fired",
            Self::ScheduleFired { job_id: None, .. } => "schedule_skipped",
            Self::WorkerStopping { .. } => "worker_stopping",
            Self::WorkerStopped { .. } => "worker_stopped",
            Self::Notice(_) | Self::Heartbeat { .. } => return None,
        })
    }
}
