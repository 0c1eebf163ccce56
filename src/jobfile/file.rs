//! Reads a whole job file: `[defaults]`, the jobs, the queues, and the codes for all jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{self, Path, PathBuf};
use std::{fs, io};

use toml::de::{DeTable, DeValue, Error};

use super::checks;
use super::codes::Codes;
use super::diagnostics::{InvalidFile, JobFileError, Mistakes, Span};
use super::job::{ConfigLayer, Declared, Job};
use super::keys::{Section, unknown};
use super::read::{Entry, Value, entries};
use crate::model::{Chain, Limits, Link, Rate, check_name};

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
        let text = read_text(&path)?;
        Ok(Self::parse(&path, &text)?)
    }

    /// Parses `text` as the file at `path`, which is absolute. Relative paths in it start from the directory of the
    /// file.
    pub fn parse(path: &Path, text: &str) -> Result<Self, InvalidFile> {
        let mut mistakes = Mistakes::default();
        let (table, errors) = DeTable::parse_recoverable(text);
        let (mut jobs, mut queues) = (Vec::new(), BTreeMap::new());
        if errors.is_empty() {
            (jobs, queues) = read_tables(table.get_ref(), path.parent().unwrap_or(path), &mut mistakes);
        } else {
            record_syntax_errors(&errors, text, &mut mistakes);
        }
        if mistakes.is_empty() {
            Ok(Self { path: path.to_owned(), jobs, queues })
        } else {
            Err(InvalidFile::new(path, text, mistakes))
        }
    }

    pub fn job(&self, name: &str) -> Option<&Declared> {
        self.jobs.iter().find(|job| job.definition.name == name)
    }

    /// Every job but the alerts: an alert speaks of a job that died, and is enqueued when one does.
    pub fn all_but_alerts(&self) -> impl Iterator<Item = &Declared> {
        let alerts = self.jobs.iter().filter_map(|job| job.definition.on_dead.as_deref());
        let alerts: BTreeSet<&str> = alerts.map(|alert| alert.name.as_str()).collect();
        self.jobs.iter().filter(move |job| !alerts.contains(job.definition.name.as_str()))
    }

    /// This job and all its dependencies, each once and after its own dependencies.
    pub fn with_dependencies<'f>(&'f self, job: &'f Declared) -> Vec<&'f Declared> {
        fn add<'f>(file: &'f JobFile, job: &'f Declared, jobs: &mut Vec<&'f Declared>) {
            if jobs.iter().all(|known| known.definition.name != job.definition.name) {
                let dependencies = job.dependencies().filter_map(|(name, _)| file.job(name));
                dependencies.for_each(|dependency| add(file, dependency, jobs));
                jobs.push(job);
            }
        }
        let mut jobs = Vec::new();
        add(self, job, &mut jobs);
        jobs
    }

    /// The last jobs of the chains that begin with a scheduled job and that no schedule starts.
    pub fn unreached_by_schedules(&self) -> Vec<&str> {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        for job in self.jobs.iter().filter(|job| job.schedule.is_some()) {
            if !reached.contains(job.definition.name.as_str()) {
                let chain = self.with_dependencies(job).into_iter();
                reached.extend(chain.map(|job| job.definition.name.as_str()));
            }
        }
        let is_left = |job: &&Declared| {
            job.dependencies().next().is_some()
                && !reached.contains(job.definition.name.as_str())
                && self.with_dependencies(job).iter().any(|dependency| dependency.schedule.is_some())
        };
        let left: Vec<&Declared> = self.jobs.iter().filter(is_left).collect();
        let goes_on =
            |name: &String| left.iter().any(|next| next.dependencies().any(|(before, _)| before == name));
        let names = left.iter().map(|job| &job.definition.name);
        names.filter(|name| !goes_on(name)).map(String::as_str).collect()
    }

    /// This job with its dependencies, for a schedule.
    pub fn chain(&self, job: &Declared) -> Chain {
        let jobs = self.with_dependencies(job);
        let index = |name: &String| jobs.iter().position(|job| job.definition.name == *name);
        let link = |job: &Declared| Link {
            definition: job.definition.clone(),
            after: job.after.iter().filter_map(index).collect(),
            after_any: job.after_any.iter().filter_map(index).collect(),
        };
        let dependencies = jobs.iter().take(jobs.len() - 1).map(|job| link(job)).collect();
        Chain { dependencies, root: link(job) }
    }
}

/// Reads the file at `path`, which is absolute.
fn read_text(path: &Path) -> Result<String, JobFileError> {
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => JobFileError::NotFound { path: path.to_owned() },
        _ => JobFileError::Unreadable { path: path.to_owned(), error },
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let start = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        let mut mistakes = Mistakes::default();
        mistakes
            .add(&(start..start + '\u{fffd}'.len_utf8()), "the file is not UTF-8 text")
            .hint("save it as UTF-8");
        InvalidFile::new(path, &text, mistakes).into()
    })
}

/// Records the errors of the TOML parser, at most one for each line, because a second one in the same line usually
/// follows from the first.
fn record_syntax_errors(errors: &[Error], text: &str, mistakes: &mut Mistakes) {
    let place = |error: &Error| {
        let at = error.span().unwrap_or(text.len()..text.len());
        text.floor_char_boundary(at.start)..text.ceil_char_boundary(at.end)
    };
    let mut errors: Vec<(Span, &str)> = errors.iter().map(|error| (place(error), error.message())).collect();
    errors.sort_by_key(|(at, _)| at.start);
    errors.dedup_by(|(later, _), (earlier, _)| !text[earlier.start..later.start].contains('\n'));
    for (at, message) in errors {
        let is_missing = text[at.clone()].is_empty() && text[..at.start].trim_end_matches(' ').ends_with('=');
        let message = if is_missing { "a value is missing" } else { message };
        mistakes.add(&at, format!("this is not TOML: {message}"));
    }
}

/// Reads all tables. `dir` is the directory of the file.
fn read_tables<'t>(
    table: &'t DeTable<'t>,
    dir: &Path,
    mistakes: &mut Mistakes,
) -> (Vec<Declared>, BTreeMap<String, Limits>) {
    let mut codes = Codes::default();
    let mut defaults = ConfigLayer::built_in(dir);
    let mut headers: Vec<Entry<'t>> = Vec::new();
    let mut queues = BTreeMap::new();
    for entry in entries(table) {
        match entry.key {
            "exit_codes" | "default_error_code" => codes.read_key(&entry, mistakes),
            "defaults" => {
                for entry in entry.value.table("a table", mistakes).unwrap_or_default() {
                    if Section::Defaults.has(entry.key) {
                        defaults.read_key(&entry, dir, mistakes);
                    } else {
                        unknown(Section::Defaults, &entry, mistakes);
                    }
                }
            }
            "queues" => queues = read_queues(&entry, mistakes),
            "jobs" => headers = job_headers(&entry, mistakes),
            _ => codes.note_misspelt(unknown(Section::File, &entry, mistakes)),
        }
    }
    let jobs: Vec<Job> =
        headers.iter().filter_map(|header| Job::read(header, &defaults, dir, mistakes)).collect();
    checks::check_retries(&jobs, &defaults, mistakes);
    checks::check_successes(&jobs, &defaults, &codes, mistakes);
    checks::check_code_lists(&jobs, &defaults, &codes, mistakes);
    let names: Vec<&str> = headers.iter().map(|header| header.key).collect();
    checks::check_names(&jobs, &defaults, &names, mistakes);
    checks::check_circles(&jobs, mistakes);
    (declare(jobs, &defaults, &codes), queues)
}

/// The jobs as they are enqueued, each with the definition of its alert.
fn declare(jobs: Vec<Job>, defaults: &ConfigLayer, codes: &Codes) -> Vec<Declared> {
    // A job that [defaults] names as the alert of all jobs gets no alert itself.
    let alert = |job: &Job| job.layer.on_dead.clone().or_else(|| defaults.on_dead.clone());
    let alerts: Vec<_> = jobs.iter().map(alert).collect();
    let mut declared: Vec<_> = jobs.into_iter().map(|job| job.declare(defaults, codes)).collect();
    let definitions: BTreeMap<_, _> =
        declared.iter().map(|job| (job.definition.name.clone(), job.definition.clone())).collect();
    for (job, alert) in declared.iter_mut().zip(alerts) {
        let alert = alert.filter(|name| *name != job.definition.name);
        job.definition.on_dead = alert.and_then(|name| definitions.get(&name).cloned()).map(Box::new);
    }
    declared
}

fn job_headers<'t>(entry: &Entry<'t>, mistakes: &mut Mistakes) -> Vec<Entry<'t>> {
    if let DeValue::Array(_) = entry.value.data() {
        entry.value.wrong(mistakes, "a table of jobs").hint("name each job in its header: [jobs.NAME]");
        return Vec::new();
    }
    entry.value.table("a table of jobs: [jobs.NAME]", mistakes).unwrap_or_default()
}

/// Reads the tables of all queues.
fn read_queues(entry: &Entry<'_>, mistakes: &mut Mistakes) -> BTreeMap<String, Limits> {
    let tables = entry.value.table("a table of queues: [queues.NAME]", mistakes).unwrap_or_default();
    tables.iter().map(|queue| (queue.key.to_owned(), limits(queue, mistakes))).collect()
}

fn limits(queue: &Entry<'_>, mistakes: &mut Mistakes) -> Limits {
    if let Err(why) = check_name(queue.key) {
        mistakes.add(&queue.at, why);
    }
    let mut limits = Limits::default();
    let Some(entries) = queue.value.table("a table with max_running, rate or both", mistakes) else {
        return limits;
    };
    if entries.is_empty() {
        mistakes
            .add(&queue.at, format!("the queue `{}` has no limit", queue.key))
            .hint("write max_running = 4, rate = \"10/s\" or both");
    }
    for entry in &entries {
        match entry.key {
            "max_running" => limits.max_running = entry.value.integer(1..=Limits::MAX_RUNNING, mistakes),
            "rate" => limits.rate = rate(entry.value, mistakes),
            _ => {
                unknown(Section::Queue, entry, mistakes);
            }
        }
    }
    limits
}

fn rate(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Rate> {
    let DeValue::String(text) = value.data() else {
        let mistake = value.wrong(mistakes, "a rate, such as \"10/s\"");
        if let Some(number) = value.as_integer() {
            mistake.hint(format!("write \"{number}/s\", \"{number}/m\" or \"{number}/h\""));
        }
        return None;
    };
    value.ok_or_refuse(Rate::parse(text), mistakes)
}
