//! The whole file: `[defaults]`, the jobs, the queues, and the keys for all of them.

use std::collections::BTreeMap;
use std::path::{self, Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::chains;
use super::checks;
use super::codes::Codes;
use super::diagnostics::{InvalidFile, JobFileError, Mistakes};
use super::job::{Declared, Job};
use super::keys::{Section, unknown};
use super::queues;
use super::read::{Entry, entries, text_of};
use super::shared_keys::Level;
use super::suggest::near_names;
use super::syntax;
use crate::model::{Chain, Limits, Link};

/// A job file without a mistake.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// Absolute.
    pub path: PathBuf,
    /// In the order of the file.
    pub jobs: Vec<Declared>,
    /// The limits of queues by name.
    pub queues: BTreeMap<String, Limits>,
}

impl JobFile {
    pub fn read(path: &Path) -> Result<Self, JobFileError> {
        let path = path::absolute(path)
            .map_err(|error| JobFileError::Unreadable { path: path.to_owned(), error })?;
        let text = text_of(&path)?;
        Ok(Self::parse(&path, &text)?)
    }

    /// Resolves `text` as if it had been read at `path`, which is absolute: paths in it are relative to its directory.
    pub fn parse(path: &Path, text: &str) -> Result<Self, InvalidFile> {
        let mut mistakes = Mistakes::default();
        let (table, errors) = DeTable::parse_recoverable(text);
        let (mut jobs, mut queues) = (Vec::new(), BTreeMap::new());
        if errors.is_empty() {
            (jobs, queues) = read_tables(table.get_ref(), path.parent().unwrap_or(path), &mut mistakes);
        } else {
            syntax::record(&errors, text, &mut mistakes);
        }
        if mistakes.is_empty() {
            Ok(Self { path: path.to_owned(), jobs, queues })
        } else {
            Err(InvalidFile::new(path, text, mistakes))
        }
    }

    pub fn job(&self, name: &str) -> Option<&Declared> {
        self.jobs.iter().find(|job| job.spec.name == name)
    }

    /// This job and all jobs that must succeed before: dependencies first, each once.
    pub fn in_order<'f>(&'f self, job: &'f Declared) -> Vec<&'f Declared> {
        fn add<'f>(file: &'f JobFile, job: &'f Declared, jobs: &mut Vec<&'f Declared>) {
            if jobs.iter().all(|known| known.spec.name != job.spec.name) {
                job.after.iter().filter_map(|name| file.job(name)).for_each(|before| add(file, before, jobs));
                jobs.push(job);
            }
        }
        let mut jobs = Vec::new();
        add(self, job, &mut jobs);
        jobs
    }

    /// This job with what it is after.
    pub fn chain(&self, job: &Declared) -> Chain {
        let jobs = self.in_order(job);
        let index = |name: &String| jobs.iter().position(|job| job.spec.name == *name);
        let link = |job: &Declared| Link {
            spec: job.spec.clone(),
            after: job.after.iter().filter_map(index).collect(),
        };
        let before = jobs.iter().take(jobs.len() - 1).map(|job| link(job)).collect();
        Chain { before, last: link(job) }
    }

    /// The names near a misspelt one, the nearest first, at most three.
    pub fn near(&self, name: &str) -> Vec<&str> {
        near_names(name, self.jobs.iter().map(|job| job.spec.name.as_str()))
    }
}

/// Reads everything, and records every mistake. `dir` holds the file.
fn read_tables<'t>(
    table: &'t DeTable<'t>,
    dir: &Path,
    mistakes: &mut Mistakes,
) -> (Vec<Declared>, BTreeMap<String, Limits>) {
    let mut codes = Codes::default();
    let mut defaults = Level::built_in(dir);
    let mut headers: Vec<Entry<'t>> = Vec::new();
    let mut queues = BTreeMap::new();
    for entry in entries(table) {
        match entry.key {
            "exit_codes" | "default_error_code" => codes.take(&entry, mistakes),
            "defaults" => {
                for entry in entry.value.table("a table", mistakes).unwrap_or_default() {
                    if Section::Defaults.has(entry.key) {
                        defaults.take(&entry, dir, mistakes);
                    } else {
                        unknown(Section::Defaults, &entry, mistakes);
                    }
                }
            }
            "queues" => queues = queues::read(&entry, mistakes),
            "jobs" => headers = job_headers(&entry, mistakes),
            _ => codes.may_mean(unknown(Section::File, &entry, mistakes)),
        }
    }
    let jobs: Vec<Job> =
        headers.iter().filter_map(|header| Job::read(header, &defaults, dir, mistakes)).collect();
    checks::check(&jobs, &defaults, &codes, mistakes);
    let names: Vec<&str> = headers.iter().map(|header| header.key).collect();
    chains::check(&jobs, &defaults, &names, mistakes);
    let alerts = chains::alerts(&jobs, &defaults);
    let mut declared: Vec<Declared> = jobs.into_iter().map(|job| job.declare(&defaults, &codes)).collect();
    chains::freeze_alerts(&mut declared, &alerts);
    (declared, queues)
}

fn job_headers<'t>(entry: &Entry<'t>, mistakes: &mut Mistakes) -> Vec<Entry<'t>> {
    if let DeValue::Array(_) = entry.value.data() {
        entry.value.wrong(mistakes, "a table of jobs").hint("name each job in its header: [jobs.NAME]");
        return Vec::new();
    }
    entry.value.table("a table of jobs: [jobs.NAME]", mistakes).unwrap_or_default()
}
