//! What all advice is made with.

use std::fmt::Display;

use crate::call_target::CallTarget;
use crate::model::Way;
use crate::store::problem::Count;
use crate::text::{Timestamp, clock_time, counted};

/// A sentence, what people can do, and the command that settles what it is about.
pub(super) struct Words {
    pub fact: String,
    pub ways: Vec<Way>,
    pub command: Option<String>,
}

impl From<(String, Option<String>)> for Words {
    fn from((fact, command): (String, Option<String>)) -> Self {
        Self { fact, ways: Vec::new(), command }
    }
}

impl Words {
    /// One sentence of all but the command that settles it.
    pub(super) fn sentence(&self) -> String {
        let ways = self.ways.iter().map(|way| &way.sentence);
        [&self.fact].into_iter().chain(ways).map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}

pub(super) struct Advice<'a> {
    pub place: &'a CallTarget,
    pub now: Timestamp,
    /// The database is a copy of one that is still there.
    pub is_copy: bool,
}

impl Advice<'_> {
    pub(super) fn to_type(&self, verb: &str, arguments: impl Display) -> String {
        self.place.to_type(verb, arguments)
    }

    pub(super) fn when(&self, at: Timestamp) -> String {
        clock_time(at, self.now)
    }
}

/// Says that a limit keeps this queue from starting jobs.
pub fn at_limit(queue: &str) -> String {
    format!("{queue} is at its limit")
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
