//! The one reading of deaths: which jobs are dead, what they need, who has done their work since, and what they hold back.
//! The rule of the same work is in `write/same_work.rs`, and the words are in `view/advice/`.

pub mod dead_job;
pub mod entries;
pub mod groups;
pub mod list;
pub mod obstacle;
