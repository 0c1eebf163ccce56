//! Events as JSON, one object a line, on standard output.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::{Event, EventKind, Reporter};
use crate::model::{Attempt, ErrorCode};
use crate::text::rfc3339;

/// Writes events as JSON.
#[derive(Debug)]
pub struct JsonLog<W, N> {
    out: W,
    notices: N,
}

impl<W: Write, N: Write> JsonLog<W, N> {
    /// Writes to `out`, and what is no event to `notices`.
    pub const fn new(out: W, notices: N) -> Self {
        Self { out, notices }
    }
}

impl<W: Write, N: Write> Reporter for JsonLog<W, N> {
    fn tell(&mut self, event: &Event) {
        if let EventKind::Notice(text) = &event.what {
            // The words of the log are fixed by the contract; what is none of them is for people.
            let _ = self.notices.write_all(format!("runner: {text}\n").as_bytes());
            return;
        }
        // A reader that went away must not stop the work.
        let _ = self.out.write_all(format!("{}\n", Value::Object(object(event))).as_bytes());
    }
}

fn object(event: &Event) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        fields.insert(key.to_owned(), value);
    };
    put("time", rfc3339(event.time).into());
    put("event", event.what.word().into());
    match &event.what {
        EventKind::WorkerStarted { worker_id, slots, queues, db } => {
            put("worker_id", json!(worker_id));
            put("slots", json!(slots));
            put("queues", json!(queues));
            put("db", json!(db));
        }
        EventKind::JobStarted { job_id, name, attempt, runs, pid, .. } => {
            put("job_id", json!(job_id));
            put("name", json!(name));
            put("attempt", json!(attempt));
            put("max_attempts", json!(runs));
            put("pid", json!(pid));
        }
        EventKind::AttemptEnded { attempt, name, runs } => {
            put("job_id", json!(attempt.job_id));
            put("name", json!(name));
            put("attempt", json!(attempt.number));
            put("max_attempts", json!(runs));
            ended(attempt, &mut put);
        }
        EventKind::AttemptLost { job_id, name, attempt, message } => {
            put("job_id", json!(job_id));
            put("name", json!(name));
            put("attempt", json!(attempt));
            put("duration_ms", Value::Null);
            put("error_code", json!(crate::model::WORKER_CRASHED));
            put("message", json!(message));
        }
        EventKind::JobExpired { job_id, name, attempts } => {
            waited_in_vain(*job_id, name, *attempts, crate::model::EXPIRED, &mut put);
            put("dead_reason", json!("expired"));
        }
        EventKind::JobCancelled { job_id, name, attempts } => {
            waited_in_vain(*job_id, name, *attempts, crate::model::CANCELLED, &mut put);
        }
        EventKind::WorkerStopping { reason, running } => {
            put("message", json!(reason));
            put("running", json!(running));
        }
        EventKind::WorkerStopped { attempts, succeeded, dead } => {
            put("attempts", json!(attempts));
            put("succeeded", json!(succeeded));
            put("dead", json!(dead));
        }
        EventKind::Notice(_) => {}
    }
    fields
}

/// A job that ended without a further attempt.
fn waited_in_vain(job_id: i64, name: &str, attempts: u32, code: &str, put: &mut impl FnMut(&str, Value)) {
    put("job_id", json!(job_id));
    put("name", json!(name));
    put("attempt", json!((attempts > 0).then_some(attempts)));
    put("duration_ms", Value::Null);
    put("error_code", json!(code));
    put("message", Value::Null);
}

fn ended(attempt: &Attempt, put: &mut impl FnMut(&str, Value)) {
    put("outcome", json!(attempt.outcome));
    put("duration_ms", json!(attempt.duration));
    put("error_code", json!(attempt.error_code.as_ref().map(ErrorCode::as_str)));
    put("message", json!(attempt.message));
    if let Some(reason) = attempt.dead_reason {
        put("dead_reason", json!(reason));
    }
    if let Some(delay) = attempt.delay {
        put("delay_ms", json!(delay));
        put("next_retry_at", json!(attempt.next_retry_at().map(rfc3339)));
    }
}
