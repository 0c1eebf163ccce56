//! The command line. Start with `main`, which shows a call from its arguments to its exit status. `args` and `options`
//! declare what can be typed, and `commands` has a file for each verb. Only `error` turns errors into messages and exit
//! statuses.

mod accounts;
mod args;
mod batch;
mod change_watch;
mod commands;
mod database;
mod definition_drift;
pub mod error;
mod find_job;
mod help;
mod inside;
mod job_file;
mod main;
mod named_file;
mod namesakes;
mod option_value;
mod options;
mod own_file;
mod plan;
mod raw_args;
mod scheduled_runs;
mod suggest;
mod typed_time;
mod usage;
mod values;
mod workers;

pub use main::main;
