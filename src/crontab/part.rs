//! The parts of the job file that a crontab becomes.

use std::collections::{BTreeMap, BTreeSet};

/// A job as it will be written.
#[derive(Debug, Default)]
pub(super) struct CrontabJob {
    pub name: String,
    pub description: Option<String>,
    /// Comments on the job, without their signs.
    pub notes: Vec<String>,
    pub schedule: String,
    pub missed: MissedTimes,
    pub launcher: Vec<String>,
    /// Another shell than `/bin/sh`.
    pub shell: Option<String>,
    pub command: String,
    pub stdin: Option<String>,
    pub cwd: String,
    pub env: BTreeMap<String, String>,
    /// The address for mail about its deaths.
    pub mail_to: Option<String>,
}

/// What becomes of the times at which cron could not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MissedTimes {
    /// There are no times.
    #[default]
    AtBoot,
    /// They are made up for if they are seen within three hours, as Debian's cron does for times of day after a sleep.
    WithinHours,
    /// They are lost.
    Lost,
    /// The crontab says that they are made up for.
    Persistent,
}

impl MissedTimes {
    /// The keys that say so.
    pub(super) fn lines(self) -> &'static [&'static str] {
        match self {
            Self::AtBoot => &[],
            Self::WithinHours => &[
                "missed = \"once\"    # as Debian's cron does after a sleep of less than 3 hours",
                "missed_within = \"3h\"",
            ],
            Self::Lost => &["missed = \"skip\"    # \"once\" makes up for a missed time; cron does not"],
            Self::Persistent => &["missed = \"once\"    # as PERSISTENT of this crontab says"],
        }
    }
}

/// A part of the job file, in the order of the crontab.
#[derive(Debug)]
pub(super) enum Part {
    Blank,
    /// Without its sign.
    Comment(String),
    CrontabJob(Box<CrontabJob>),
}

impl Part {
    pub(super) fn job(&self) -> Option<&CrontabJob> {
        match self {
            Self::CrontabJob(job) => Some(job),
            _ => None,
        }
    }
}

/// Numbers the names that come more than once: `backup`, `backup-2`.
pub(super) fn name_jobs(parts: &mut [Part]) {
    let mut taken = BTreeSet::new();
    for part in parts {
        if let Part::CrontabJob(job) = part {
            job.name = free_name(&job.name, &taken);
            taken.insert(job.name.clone());
        }
    }
}

pub(super) fn free_name(name: &str, taken: &BTreeSet<String>) -> String {
    let mut free = name.to_owned();
    let mut number = 1;
    while taken.contains(&free) {
        number += 1;
        free = format!("{name}-{number}");
    }
    free
}
