//! The writing statements, one file for each act, and what they decide by.

pub mod act;
pub mod apply;
pub mod backlog;
pub mod claim;
pub mod definition;
pub mod dependencies;
pub mod enqueue;
pub mod expire;
pub mod far_times;
pub mod finish;
pub mod fire;
pub mod insert;
pub mod job_files;
pub mod kept_by_run;
pub mod latest;
pub mod limits;
pub mod outputs;
pub mod prune;
pub mod recover;
pub mod runs;
pub mod same_work;
pub mod scheduled_run;
pub mod schedules;
pub mod stuck;
pub mod turn;
pub mod workers;
