//! The dispatcher: takes all messages, runs one transaction, then acts and reports.
//!
//! Ends that arrive during a commit share the next commit; there is no other batching. A claim is on disk before its slot
//! gets the assignment. A slot is idle only once the end of its last attempt is on disk.

mod for_run;
mod messages;
mod opening;
mod serve;
mod state;
mod ticks;
mod turns;

pub(super) use self::serve::run;
