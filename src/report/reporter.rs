//! What all reporters have in common.

use crate::model::Event;
use crate::text::Timestamp;

/// Receives the events of a worker in their order. A change is on disk before its event is reported.
pub trait Reporter {
    fn report(&mut self, time: Timestamp, event: &Event);

    /// Whether this reporter uses heartbeats. For each, the worker counts the unfinished jobs.
    fn wants_heartbeats(&self) -> bool {
        false
    }
}
