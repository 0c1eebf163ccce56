//! What the views read, and writes nothing.

pub mod attempts;
pub mod attention_query;
pub mod deaths;
pub mod filter;
pub mod find_problems;
pub mod html_page;
pub mod interrupted;
pub mod jobs;
pub mod leftover;
pub mod metrics;
pub mod overview;
pub mod problem;
pub mod schedule_problems;
pub mod stats;
pub mod stuck_groups;
pub mod unfinished;
pub mod warned;
