//! Events as JSON, one object a line.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::{Event, EventKind, Reporter};
use crate::model::{Attempt, CANCELLED, DeadReason, EXPIRED, WORKER_CRASHED};
use crate::text::rfc3339;

#[derive(Debug)]
pub struct JsonLog<W, N> {
    events: W,
    notices: N,
}

impl<W: Write, N: Write> JsonLog<W, N> {
    /// Notices are for people: they go to a stream of their own, as text.
    pub const fn new(events: W, notices: N) -> Self {
        Self { events, notices }
    }
}

impl<W: Write, N: Write> Reporter for JsonLog<W, N> {
    fn report(&mut self, event: &Event) {
        // A closed log must not stop the work.
        let _ = match &event.kind {
            EventKind::Notice(text) => self.notices.write_all(format!("runner: {text}\n").as_bytes()),
            EventKind::Heartbeat { .. } => Ok(()),
            _ => self.events.write_all(format!("{}\n", object(event)).as_bytes()),
        };
    }
}

fn object(event: &Event) -> Value {
    let mut object = Map::new();
    object.insert("time".to_owned(), rfc3339(event.time).into());
    object.insert("event".to_owned(), event.kind.name().into());
    if let Value::Object(fields) = fields(&event.kind) {
        object.extend(fields);
    }
    Value::Object(object)
}

fn fields(kind: &EventKind) -> Value {
    match kind {
        EventKind::WorkerStarted { worker_id, slots, queues, db } => {
            json!({ "worker_id": worker_id, "slots": slots, "queues": queues, "db": db })
        }
        EventKind::JobStarted { job_id, name, attempt, runs, pid, .. } => {
            json!({ "job_id": job_id, "name": name, "attempt": attempt, "max_attempts": runs, "pid": pid })
        }
        EventKind::AttemptEnded { attempt, name, runs } => ended(attempt, name, *runs),
        EventKind::AttemptLost { job_id, name, attempt, message } => json!({
            "job_id": job_id, "name": name, "attempt": attempt,
            "duration_ms": null, "error_code": WORKER_CRASHED, "message": message,
        }),
        EventKind::JobExpired { job_id, name, attempts } => {
            let mut fields = ended_waiting(*job_id, name, *attempts, EXPIRED);
            fields["dead_reason"] = json!(DeadReason::Expired);
            fields
        }
        EventKind::JobCancelled { job_id, name, attempts } => {
            ended_waiting(*job_id, name, *attempts, CANCELLED)
        }
        EventKind::ScheduleFired { name, scheduled_for, job_id } => {
            json!({ "job_id": job_id, "name": name, "scheduled_for": rfc3339(*scheduled_for) })
        }
        EventKind::WorkerStopping { reason, running } => json!({ "message": reason, "running": running }),
        EventKind::WorkerStopped { attempts, succeeded, dead } => {
            json!({ "attempts": attempts, "succeeded": succeeded, "dead": dead })
        }
        EventKind::Notice(_) | EventKind::Heartbeat { .. } => Value::Null,
    }
}

/// A job that ended without a further attempt.
fn ended_waiting(job_id: i64, name: &str, attempts: u32, code: &str) -> Value {
    json!({
        "job_id": job_id, "name": name, "attempt": (attempts > 0).then_some(attempts),
        "duration_ms": null, "error_code": code, "message": null,
    })
}

fn ended(attempt: &Attempt, name: &str, runs: u32) -> Value {
    let mut fields = json!({
        "job_id": attempt.job_id, "name": name, "attempt": attempt.number, "max_attempts": runs,
        "outcome": attempt.outcome, "duration_ms": attempt.duration,
        "error_code": attempt.error_code, "message": attempt.message,
    });
    if let Some(reason) = attempt.dead_reason {
        fields["dead_reason"] = json!(reason);
    }
    if let Some(delay) = attempt.delay {
        fields["delay_ms"] = json!(delay);
        fields["next_retry_at"] = json!(attempt.next_retry_at().map(rfc3339));
    }
    fields
}
