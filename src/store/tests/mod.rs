//! The store as a whole: its schema, plans, opening, crowds, and random histories against a plain model.

mod attention;
mod backup;
mod costs;
mod crontab;
mod crowd;
mod enqueue;
mod far_times;
mod fences;
mod fixture;
mod opening;
mod plans;
mod prune;
mod random;
mod runs;
mod scheduled_run;
mod schema;
mod stats;
mod stuck;
mod warnings;
