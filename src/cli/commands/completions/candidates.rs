//! Words that only the job file and the database know, and a few that are no more than words.

use std::collections::BTreeSet;

use clap_complete::CompletionCandidate;

use super::source::Source;
use crate::clock;
use crate::model::{JobState, signal};
use crate::store::{JobFilter, Overview, StateFilter, Store};
use crate::text::safe_line;

/// The most ids that are offered, the newest: nobody picks from more.
const MOST_IDS: usize = 100;

/// What a word may be.
pub(super) type Candidates = fn(&Source) -> Vec<CompletionCandidate>;

/// Verb, argument, and what its words may be.
pub(super) const KNOWN: [(&str, &str, Candidates); 22] = [
    ("enqueue", "names", declared),
    ("enqueue", "queue", queues),
    ("enqueue", "on_conflict", |_| words(["skip", "replace", "error"])),
    ("work", "queue", queues),
    ("inspect", "what", |source| both(words(LISTS), ids(source, &[]))),
    ("inspect", "state", |_| words(StateFilter::words())),
    ("inspect", "name", declared),
    ("inspect", "queue", queues),
    ("inspect", "error_code", dead_codes),
    ("logs", "which", |source| ids(source, &[])),
    ("wait", "ids", |source| ids(source, &UNFINISHED)),
    ("cancel", "ids", |source| ids(source, &UNFINISHED)),
    ("retry", "ids", |source| ids(source, if source.says("--now") { &WAITING } else { &FINAL })),
    ("retry", "name", declared),
    ("retry", "error_code", dead_codes),
    ("explain", "what", |source| both(declared(source), ids(source, &[]))),
    ("explain", "signal", |_| words((1..=31).map(signal::name))),
    ("pause", "queue", |source| some_queues(source, false)),
    ("prune", "state", |_| words(["succeeded", "cancelled", "dead"])),
    ("prune", "name", declared),
    ("prune", "queue", queues),
    ("resume", "queue", |source| some_queues(source, true)),
];

/// What `inspect` lists.
const LISTS: [&str; 6] = ["jobs", "attempts", "dead", "workers", "queues", "stats"];

const WAITING: [StateFilter; 1] = [StateFilter::State(JobState::Pending)];
const UNFINISHED: [StateFilter; 2] =
    [StateFilter::State(JobState::Pending), StateFilter::State(JobState::Running)];
/// What `retry` puts back.
const FINAL: [StateFilter; 2] = [StateFilter::State(JobState::Dead), StateFilter::State(JobState::Cancelled)];

fn words<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Vec<CompletionCandidate> {
    words.into_iter().map(|word| CompletionCandidate::new(word.into())).collect()
}

fn word(word: &str, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(word).help(Some(safe_line(help).into()))
}

/// The jobs of the job file.
fn declared(source: &Source) -> Vec<CompletionCandidate> {
    let jobs = source.job_file().map(|file| file.jobs).unwrap_or_default();
    jobs.iter().map(|job| word(&job.spec.name, job.description.as_deref().unwrap_or("a job"))).collect()
}

/// The queues of the job file, and those that wait or are paused.
fn queues(source: &Source) -> Vec<CompletionCandidate> {
    let jobs = source.job_file().map(|file| file.jobs).unwrap_or_default();
    let mut names: BTreeSet<String> = jobs.into_iter().map(|job| job.spec.queue).collect();
    names.extend(overview(source).queues.into_iter().map(|queue| queue.name));
    words(names)
}

/// The queues that are paused, or that could be.
fn some_queues(source: &Source, paused: bool) -> Vec<CompletionCandidate> {
    let stopped: BTreeSet<String> =
        overview(source).queues.into_iter().filter(|queue| queue.paused).map(|queue| queue.name).collect();
    if paused {
        return words(stopped);
    }
    let mut open = queues(source);
    open.retain(|queue| !stopped.contains(queue.get_value().to_string_lossy().as_ref()));
    open
}

/// The codes that jobs have died with.
fn dead_codes(source: &Source) -> Vec<CompletionCandidate> {
    words(overview(source).dead_by_error_code.into_keys())
}

fn overview(source: &Source) -> Overview {
    let read = |mut store: Store| store.overview(clock::now()).ok();
    source.store().and_then(read).unwrap_or_default()
}

/// The ids of jobs in these states, or in any, the newest first.
fn ids(source: &Source, states: &[StateFilter]) -> Vec<CompletionCandidate> {
    let filter = JobFilter { states: states.to_vec(), ..JobFilter::default() };
    let read = |mut store: Store| store.jobs_page(&filter, None, MOST_IDS, clock::now()).ok();
    let (jobs, _) = source.store().and_then(read).unwrap_or_default();
    jobs.iter()
        .map(|job| word(&job.id.to_string(), &format!("{}, {}", job.spec.name, job.status())))
        .collect()
}

fn both(mut first: Vec<CompletionCandidate>, then: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    first.extend(then);
    first
}
