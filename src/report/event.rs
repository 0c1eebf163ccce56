//! The events of a worker.

use crate::model::{Attempt, JobState};
use crate::text::Timestamp;

/// Something that a worker did or saw.
#[derive(Clone, Debug)]
pub struct Event {
    /// When.
    pub time: Timestamp,
    /// What.
    pub what: EventKind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The worker is ready to take jobs.
    WorkerStarted {
        /// Its random name.
        worker_id: String,
        /// How many attempts it runs at once.
        slots: usize,
        /// The queues it looks at; none: all.
        queues: Option<Vec<String>>,
        /// The database.
        db: String,
    },
    /// A command was started.
    JobStarted {
        /// The job.
        job_id: i64,
        /// Its name.
        name: String,
        /// The number of the attempt.
        attempt: u32,
        /// The number of runs in the budget.
        runs: u32,
        /// Which of them this is.
        budget_number: u32,
        /// The process that leads its group.
        pid: i32,
    },
    /// An attempt ended and was recorded; its next state says what became of the job.
    AttemptEnded {
        /// As the history has it.
        attempt: Box<Attempt>,
        /// The name of its job.
        name: String,
        /// The number of runs in the budget.
        runs: u32,
    },
    /// An attempt was lost: its worker died, or its end came too late to count.
    AttemptLost {
        /// The job.
        job_id: i64,
        /// Its name, where it is known.
        name: Option<String>,
        /// The number of the attempt.
        attempt: u32,
        /// What happened to it.
        message: String,
    },
    /// A job died waiting.
    JobExpired {
        /// The job.
        job_id: i64,
        /// Its name.
        name: String,
        /// Its attempts.
        attempts: u32,
    },
    /// A job was cancelled while this worker held it and had not started it.
    JobCancelled {
        /// The job.
        job_id: i64,
        /// Its name.
        name: String,
        /// Its attempts.
        attempts: u32,
    },
    /// The worker takes no more jobs.
    WorkerStopping {
        /// Why.
        reason: String,
        /// Attempts still running.
        running: usize,
    },
    /// The worker is done.
    WorkerStopped {
        /// Attempts that it recorded.
        attempts: u64,
        /// Jobs among them that ended well.
        succeeded: u64,
        /// Jobs that it recorded as dead.
        dead: u64,
    },
    /// Something a person should know that is not about one job.
    Notice(String),
}

impl EventKind {
    /// The word for it in the log, where it has one.
    pub fn word(&self) -> Option<&'static str> {
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
            Self::WorkerStopping { .. } => "worker_stopping",
            Self::WorkerStopped { .. } => "worker_stopped",
            Self::Notice(_) => return None,
        })
    }
}
