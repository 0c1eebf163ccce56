//! The dead letters of a name and a label, counted, with the newest of them.

use super::problem::Count;
use crate::model::Attention;
use crate::text::Timestamp;

/// The jobs that are not named are counted up to this number.
pub const MAX_BEYOND: u64 = if cfg!(test) { 5 } else { 10_000 };

/// A name and a label.
pub type Name = (String, Option<String>);

/// The dead letters of one kind, of one name and label.
#[derive(Debug, Default)]
pub struct DeadJobs {
    pub jobs: u64,
    /// There are more than were counted.
    pub is_more: bool,
    /// The deaths of the newest, the last first.
    pub newest: Vec<(Timestamp, i64)>,
}

impl DeadJobs {
    pub fn add(&mut self, jobs: u64, newest: impl IntoIterator<Item = (Timestamp, i64)>) {
        self.jobs += jobs;
        self.newest.extend(newest);
        self.newest.sort_unstable_by(|a, b| b.cmp(a));
        self.newest.truncate(Attention::MAX_JOBS);
    }

    /// A single job.
    pub fn of(died: (Timestamp, i64)) -> Self {
        Self { jobs: 1, is_more: false, newest: vec![died] }
    }

    pub fn take(&mut self, other: Self) {
        self.is_more |= other.is_more;
        self.add(other.jobs, other.newest);
    }

    /// Takes the jobs of groups that are not named.
    pub fn take_unnamed(&mut self, other: Self) {
        self.take(other);
        self.is_more |= self.jobs > MAX_BEYOND;
        self.jobs = self.jobs.min(MAX_BEYOND);
    }

    pub fn is_empty(&self) -> bool {
        self.jobs == 0 && !self.is_more
    }

    pub fn ids(&self) -> Vec<i64> {
        self.newest.iter().map(|(_, id)| *id).collect()
    }

    pub fn are_all_named(&self) -> bool {
        !self.is_more && self.jobs == self.newest.len() as u64
    }

    pub fn count(&self) -> Count {
        Count { counted: self.jobs, is_more: self.is_more }
    }
}

#[derive(Debug, Default)]
pub struct DeadOfName {
    pub dead: DeadJobs,
    pub recovered: DeadJobs,
}
