//! What a call costs, as far as it can be counted: so that the next careless line is seen at once.

use std::sync::{Arc, Mutex};

use rusqlite::trace::{TraceEvent, TraceEventCodes};

use super::fixture::{Scene, definition, exited, new_job};
use crate::model::{AttemptOutput, Event};
use crate::store::EndedAttempt;
use crate::text::Timestamp;

/// The first attempt of this job has succeeded, and has written nothing.
fn succeeded(job: i64, at: i64) -> EndedAttempt {
    let mut ended = exited(job, 1, Timestamp(at));
    ended.end.output = Some(AttemptOutput::default());
    ended
}

#[test]
fn a_turn_that_ends_one_job_and_claims_the_next_runs_few_statements() {
    let mut scene = Scene::new();
    for at in 0..4 {
        scene.add(new_job(definition("a")), at);
    }
    let mut id = scene.turn(&[], 1, 10).claims[0].job_id;
    // The first turn reads the definition, which the worker knows from then on.
    id = scene.turn(&[succeeded(id, 11)], 1, 12).claims[0].job_id;
    let ran: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&ran);
    let hear = move |event: TraceEvent<'_>| {
        if let TraceEvent::Profile(statement, _) = event {
            heard.lock().unwrap().push(statement.sql().into_owned());
        }
    };
    scene.store.connection.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(hear)).unwrap();
    let turn = scene.turn(&[succeeded(id, 13)], 1, 14);
    assert!(matches!(turn.events.as_slice(), [Event::AttemptEnded(_)]), "{:?}", turn.events);
    assert_eq!(turn.claims.len(), 1);
    let ran = ran.lock().unwrap();
    assert!(ran.len() <= 21, "{} statements:\n{}", ran.len(), ran.join("\n"));
}
