//! Reads a whole job file: `[defaults]`, the jobs, the queues, and the codes for all jobs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{self, Path, PathBuf};

use toml::de::{DeTable, DeValue, Error};

use super::checks;
use super::codes::Codes;
use super::diagnostics::{InvalidFile, JobFileError, MAX_FILE_BYTES, Mistakes, Span, to_divide};
use super::job_table::{Declared, Job, check_missed_within, check_timezone};
use super::keys::Section;
use super::layer::PlacedLayer;
use super::newer_toml::{NewerToml, newer_toml};
use super::read::{Entry, Value, entries};
use super::unknown::unknown;
use crate::model::{Chain, JobLayer, Limits, Link, Rate, check_name};
use crate::paths;

/// A job file without a mistake.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// Where each job stands in `jobs`.
    index: HashMap<String, usize>,
    /// Absolute.
    pub path: PathBuf,
    /// In the order of the file.
    pub jobs: Vec<Declared>,
    /// The limits of queues by name.
    pub queues: BTreeMap<String, Limits>,
    /// The values of `[defaults]`, which those of each job come over.
    pub defaults: JobLayer,
    /// The places that readers of TOML 1.0 refuse.
    pub newer_toml: Vec<NewerToml>,
}

impl JobFile {
    pub fn read(path: &Path) -> Result<Self, JobFileError> {
        let path = path::absolute(path)
            .map_err(|error| JobFileError::Unreadable { path: path.to_owned(), error })?;
        if let Some(link) = paths::foreign_link(&path) {
            return Err(JobFileError::ForeignLink { path, link });
        }
        let text = read_text(&path)?;
        Ok(Self::parse(&path, &text)?)
    }

    /// Parses `text` as the file at `path`, which is absolute. Relative paths in it start from the directory of the
    /// file.
    pub fn parse(path: &Path, text: &str) -> Result<Self, InvalidFile> {
        let mut mistakes = Mistakes::default();
        // A carriage return before a line feed is part of no string, as for most other readers. Any other one is a mistake.
        let unix = text.replace("\r\n", "\n");
        let text = if unix.contains('\r') { text } else { &unix };
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut tables = Tables::default();
        if errors.is_empty() {
            tables = read_tables(table.get_ref(), path.parent().unwrap_or(path), &mut mistakes);
        } else {
            record_syntax_errors(&errors, text, &mut mistakes);
        }
        if mistakes.is_empty() {
            let name = |(at, job): (usize, &Declared)| (job.definition.name.clone(), at);
            let Tables { jobs, queues, defaults } = tables;
            let index = jobs.iter().enumerate().map(name).collect();
            let newer_toml = newer_toml(text);
            Ok(Self { index, path: path.to_owned(), jobs, queues, defaults, newer_toml })
        } else {
            Err(InvalidFile::new(path, text, mistakes))
        }
    }

    pub fn job(&self, name: &str) -> Option<&Declared> {
        self.index.get(name).map(|at| &self.jobs[*at])
    }

    /// Every job but the alerts: an alert speaks of a job that died or was warned, and is enqueued when one does.
    pub fn all_but_alerts(&self) -> impl Iterator<Item = &Declared> {
        let alerts = self.jobs.iter().flat_map(|job| job.definition.alerts());
        let alerts: BTreeSet<&str> = alerts.map(|(_, alert)| alert.name.as_str()).collect();
        self.jobs.iter().filter(move |job| !alerts.contains(job.definition.name.as_str()))
    }

    /// This job and all its dependencies, each once and after its own dependencies.
    pub fn with_dependencies<'f>(&'f self, job: &'f Declared) -> Vec<&'f Declared> {
        let mut jobs = Vec::new();
        self.add_with_dependencies(job, &mut HashSet::new(), &mut jobs);
        jobs
    }

    /// Chains are short enough for a recursion: see `checks::MAX_DEPTH`.
    fn add_with_dependencies<'f>(
        &'f self,
        job: &'f Declared,
        known: &mut HashSet<&'f str>,
        jobs: &mut Vec<&'f Declared>,
    ) {
        if known.insert(job.definition.name.as_str()) {
            for dependency in job.dependencies().filter_map(|(name, _)| self.job(name)) {
                self.add_with_dependencies(dependency, known, jobs);
            }
            jobs.push(job);
        }
    }

    /// Whether a schedule starts this job or one of its dependencies. `known` has the answers so far.
    fn begins_with_schedule<'f>(&'f self, job: &'f Declared, known: &mut HashMap<&'f str, bool>) -> bool {
        let name = job.definition.name.as_str();
        if let Some(answer) = known.get(name) {
            return *answer;
        }
        let mut dependencies = job.dependencies().filter_map(|(name, _)| self.job(name));
        let answer = job.schedule.is_some()
            || dependencies.any(|dependency| self.begins_with_schedule(dependency, known));
        known.insert(name, answer);
        answer
    }

    /// The last jobs of the chains that begin with a scheduled job and that no schedule starts.
    pub fn unreached_by_schedules(&self) -> Vec<&str> {
        let mut reached = HashSet::new();
        for job in self.jobs.iter().filter(|job| job.schedule.is_some()) {
            self.add_with_dependencies(job, &mut reached, &mut Vec::new());
        }
        let mut known = HashMap::new();
        let mut left: Vec<&Declared> = Vec::new();
        for job in &self.jobs {
            let has_any = job.dependencies().next().is_some();
            let is_reached = reached.contains(job.definition.name.as_str());
            if has_any && !is_reached && self.begins_with_schedule(job, &mut known) {
                left.push(job);
            }
        }
        let go_on: HashSet<&String> =
            left.iter().flat_map(|next| next.dependencies()).map(|(before, _)| before).collect();
        let names = left.iter().map(|job| &job.definition.name);
        names.filter(|name| !go_on.contains(name)).map(String::as_str).collect()
    }

    /// This job with its dependencies, for a schedule.
    pub fn chain(&self, job: &Declared) -> Chain {
        let jobs = self.with_dependencies(job);
        let places: HashMap<&str, usize> =
            jobs.iter().enumerate().map(|(at, job)| (job.definition.name.as_str(), at)).collect();
        let index = |name: &String| places.get(name.as_str()).copied();
        let link = |job: &Declared| Link {
            after: job.after.iter().filter_map(index).collect(),
            after_any: job.after_any.iter().filter_map(index).collect(),
            ..Link::new(job.definition.clone())
        };
        let dependency = |job: &&Declared| Link { own_schedule: job.own_schedule(), ..link(job) };
        let dependencies = jobs.iter().take(jobs.len() - 1).map(dependency).collect();
        Chain { dependencies, root: link(job) }
    }
}

/// Reads the file at `path`, which is absolute.
fn read_text(path: &Path) -> Result<String, JobFileError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => JobFileError::NotFound { path: path.to_owned() },
        _ => JobFileError::Unreadable { path: path.to_owned(), error },
    })?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(JobFileError::TooLarge { path: path.to_owned() });
    }
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

/// The most syntax errors that are shown: most of many follow from the first ones.
const MAX_SYNTAX_ERRORS: usize = 20;

/// The most jobs of a file.
const MAX_JOBS: usize = 20_000;

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
    mistakes.leave_out(errors.len().saturating_sub(MAX_SYNTAX_ERRORS));
    for (at, message) in errors.into_iter().take(MAX_SYNTAX_ERRORS) {
        let is_missing = text[at.clone()].is_empty() && text[..at.start].trim_end_matches(' ').ends_with('=');
        let message = if is_missing { "a value is missing" } else { message };
        mistakes.add(&at, format!("this is not TOML: {message}"));
    }
}

/// What the tables of a file say.
#[derive(Default)]
struct Tables {
    jobs: Vec<Declared>,
    queues: BTreeMap<String, Limits>,
    defaults: JobLayer,
}

/// Reads all tables. `dir` is the directory of the file.
fn read_tables<'t>(table: &'t DeTable<'t>, dir: &Path, mistakes: &mut Mistakes) -> Tables {
    let mut codes = Codes::default();
    let mut defaults = PlacedLayer::default();
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
    if let Some(header) = headers.get(MAX_JOBS) {
        mistakes
            .add(&header.at, format!("this file has {} jobs; a file has at most {MAX_JOBS}", headers.len()))
            .hint(to_divide());
        return Tables { queues, ..Tables::default() };
    }
    let jobs: Vec<Job> = headers.iter().filter_map(|header| Job::read(header, dir, mistakes)).collect();
    check_timezone(&defaults, mistakes);
    check_missed_within(&defaults, mistakes);
    checks::check_retries(&jobs, &defaults, mistakes);
    checks::check_successes(&jobs, &defaults, &codes, mistakes);
    checks::check_warnings(&jobs, &defaults, mistakes);
    checks::check_code_lists(&jobs, &defaults, &codes, mistakes);
    let names: HashSet<&str> = headers.iter().map(|header| header.key).collect();
    checks::check_names(&jobs, &defaults, &names, mistakes);
    checks::check_chains(&jobs, mistakes);
    Tables { jobs: declare(jobs, &defaults, &codes, dir), queues, defaults: defaults.values }
}

/// The jobs as they are enqueued, each with the definitions of its alerts.
fn declare(jobs: Vec<Job>, defaults: &PlacedLayer, codes: &Codes, dir: &Path) -> Vec<Declared> {
    // A job that [defaults] names as the alert of all jobs gets no alert itself.
    let alerts = |job: &Job| {
        let (own, of_all) = (&job.layer.values, &defaults.values);
        [(&own.on_dead, &of_all.on_dead), (&own.on_warning, &of_all.on_warning)]
            .map(|(own, of_all)| own.as_ref().or(of_all.as_ref()).filter(|name| **name != job.name).cloned())
    };
    let alerts: Vec<_> = jobs.iter().map(alerts).collect();
    let mut declared: Vec<_> = jobs.into_iter().map(|job| job.declare(defaults, codes, dir)).collect();
    let definitions: BTreeMap<_, _> =
        declared.iter().map(|job| (job.definition.name.clone(), job.definition.clone())).collect();
    for (job, alerts) in declared.iter_mut().zip(alerts) {
        let defined = |name: Option<String>| definitions.get(&name?).cloned().map(Box::new);
        [job.definition.on_dead, job.definition.on_warning] = alerts.map(defined);
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
