//! The text of the verbs: sentences, and what `inspect` shows on a screen.

pub mod attention;
pub mod dead;
pub mod definition;
pub mod job;
pub mod lists;
pub mod overview;
pub mod schedule;
pub mod status;
