//! The command line: one file a verb. Errors become words, a hint and an exit status in `error` alone.

mod args;
mod batch;
mod commands;
mod definition_text;
pub mod error;
mod examples;
mod help;
mod locate;
mod main;
mod options;
mod output;
mod plan;
mod poll;
mod stale_definition;
mod status_text;
mod values;
mod waiter;
mod worker_status;

pub use main::main;
