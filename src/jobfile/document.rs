//! The whole file: `[defaults]`, the jobs, and what is said for all of them.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::Declared;
use super::exits::Exits;
use super::job::Job;
use super::keys::{Place, unknown};
use super::level::Level;
use super::lists;
use super::mistake::Found;
use super::value::{Entry, entries};
use crate::model::ExitRules;

/// What the file says, before the levels are laid over each other.
#[derive(Default)]
pub(super) struct Document<'t> {
    exits: Exits,
    defaults: Level<'t>,
    jobs: Vec<Job<'t>>,
}

impl<'t> Document<'t> {
    /// Reads everything, and records every mistake.
    pub(super) fn read(table: &'t DeTable<'t>, found: &mut Found) -> Self {
        let mut document = Self::default();
        for entry in entries(table) {
            document.take(&entry, found);
        }
        document.check(found);
        document
    }

    /// The jobs as they are enqueued. `dir` holds the file.
    pub(super) fn declare(&self, dir: &Path) -> Vec<Declared> {
        self.jobs.iter().filter_map(|job| job.declare(&self.defaults, &self.exits, dir)).collect()
    }

    fn take(&mut self, entry: &Entry<'t>, found: &mut Found) {
        if self.exits.take(entry, found) {
            return;
        }
        match entry.key {
            "defaults" => {
                for entry in entry.value.table("a table", found).unwrap_or_default() {
                    if !self.defaults.take(&entry, found) {
                        unknown(Place::Defaults, &entry, found);
                    }
                }
            }
            "jobs" => self.take_jobs(entry, found),
            _ => {
                let meant = unknown(Place::File, entry, found);
                self.exits.doubt(meant);
            }
        }
    }

    fn take_jobs(&mut self, entry: &Entry<'t>, found: &mut Found) {
        if let DeValue::Array(_) = entry.value.data() {
            entry.value.wrong(found, "a table of jobs").hint("name each job in its header: [jobs.NAME]");
            return;
        }
        let headers = entry.value.table("a table of jobs: [jobs.NAME]", found);
        let jobs = headers.unwrap_or_default();
        self.jobs = jobs.iter().filter_map(|header| Job::read(header, found)).collect();
    }

    /// What only shows when the levels are seen together.
    fn check(&self, found: &mut Found) {
        let built_in = ExitRules::default().success;
        let usual = self.defaults.success.as_ref();
        self.defaults.retries.check(found);
        for job in &self.jobs {
            job.level.retries.check_against(&self.defaults.retries, found);
            let own = job.level.success.as_ref();
            if job.level.success_in_doubt {
                continue;
            }
            // What [defaults] says is another level, whose successes a job may inherit without a contradiction.
            let same_level =
                own.or((usual.is_none() && !self.defaults.success_in_doubt).then_some(&built_in));
            job.exits.check_successes(|status| same_level.is_some_and(|list| list.contains(&status)), found);
        }
        let for_all = usual.unwrap_or(&built_in);
        let everywhere = |status: u8| {
            let mut own = self.jobs.iter().filter_map(|job| job.level.success.as_ref());
            for_all.contains(&status) && own.all(|list| list.contains(&status))
        };
        if !self.defaults.success_in_doubt && self.jobs.iter().all(|job| !job.level.success_in_doubt) {
            self.exits.check_successes(everywhere, found);
        }
        lists::check(&self.jobs, &self.defaults, &self.exits, found);
    }
}
