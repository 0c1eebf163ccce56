//! What all advice is made with.

use std::fmt::Display;

use crate::place::Place;
use crate::store::problem::Count;
use crate::text::{Timestamp, clock_time, counted};

/// A sentence, and the command that settles what it is about.
pub(super) type Words = (String, Option<String>);

pub(super) struct Advice<'a> {
    pub place: &'a Place,
    pub now: Timestamp,
}

impl Advice<'_> {
    pub(super) fn runner(&self, verb: &str, arguments: impl Display) -> String {
        self.place.runner(verb, arguments)
    }

    pub(super) fn when(&self, at: Timestamp) -> String {
        clock_time(at, self.now)
    }
}

pub(super) fn jobs_text(count: Count) -> String {
    match count {
        Count { counted, is_more: true } => format!("more than {counted} jobs"),
        Count { counted: jobs, .. } => counted(jobs, "job"),
    }
}

/// The ids as a command takes them, in their order.
pub(super) fn ids(jobs: &[i64]) -> String {
    let mut jobs = jobs.to_vec();
    jobs.sort_unstable();
    jobs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
