//! `runner`: durable shell-command jobs with retries and an attempt history.

pub mod cli;
pub mod clock;
pub mod jobfile;
pub mod model;
pub mod process;
pub mod report;
pub mod store;
pub mod wake;
pub mod worker;
