//! Waiting until jobs are final: for `wait` and `enqueue --wait`.

use std::collections::HashSet;
use std::time::Instant;

use anyhow::{Result, bail};

use super::error::{CliError, ExitStatus};
use super::output::{Written, warn};
use super::poll::Poller;
use super::status_text::{no_worker, unfinished_text};
use super::worker_status::worker_statuses;
use crate::clock;
use crate::model::{Attempt, DeadReason, JobState, Outcome, SpawnFailure, Status};
use crate::store::{JobRow, Store, StoreError};
use crate::text::Millis;

/// Unfinished jobs that are named when the waiting ends without them.
const MAX_NAMED: usize = 5;

/// How a job ended, on a line.
pub fn final_text(job: &JobRow) -> String {
    let JobRow { id, state, .. } = job;
    let name = &job.spec.name;
    match (&job.error_code, job.dead_reason) {
        (Some(code), Some(reason)) => format!("job {id} {name}: {state}, {code}: {}", reason.because()),
        _ => format!("job {id} {name}: {state}"),
    }
}

pub struct Waiter {
    poller: Poller,
    timeout: Option<Millis>,
    /// The end of the timeout.
    deadline: Option<Instant>,
    quiet: bool,
    /// Queues without a worker that were warned of.
    warned: HashSet<String>,
}

/// Takes a job that has ended, with its last attempt.
pub type OnFinal<'a> = dyn FnMut(&Store, &JobRow, Option<&Attempt>) -> Written + 'a;

impl Waiter {
    /// Waits at most so long from now on. Unless quiet, the waiter warns if no worker would start a job.
    pub fn new(timeout: Option<Millis>, quiet: bool) -> Result<Self> {
        Ok(Self {
            poller: Poller::start()?,
            timeout,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout.into())),
            quiet,
            warned: HashSet::new(),
        })
    }

    /// Waits until all of these jobs are final, and hands each on, in their order. Gives the exit status: of a single job
    /// its command's own.
    pub fn wait_for(
        mut self,
        store: &mut Store,
        ids: &[i64],
        on_final: &mut OnFinal<'_>,
    ) -> Result<ExitStatus> {
        let mut exit = ExitStatus::SUCCESS;
        let mut done = HashSet::new();
        let single = ids.iter().all(|id| Some(id) == ids.first());
        for (index, id) in ids.iter().enumerate().filter(|(_, id)| done.insert(**id)) {
            let job = self.until_final(store, *id, &ids[index..])?;
            let last = store.attempt(*id, job.attempts)?;
            let own = exit_status(&job, last.as_ref());
            exit = if single { own } else { exit.max(own.min(ExitStatus::NO)) };
            on_final(store, &job, last.as_ref())?;
        }
        Ok(exit)
    }

    /// Waits for one job. The error of a wait that ends early names the jobs that are left.
    fn until_final(&mut self, store: &mut Store, id: i64, left: &[i64]) -> Result<JobRow> {
        loop {
            let now = clock::now();
            let Some(job) = store.job(id, now)? else {
                let what = format!("job {id} was removed while it was waited for");
                bail!(CliError::new(ExitStatus::NOT_FOUND, what));
            };
            if job.state.is_final() {
                record_expiry(store, &job)?;
                return Ok(job);
            }
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                let what = format!("gave up waiting after {}", self.timeout.unwrap_or_default());
                bail!(unfinished(store, left, ExitStatus::LATER, &what)?);
            }
            self.warn_of_missing_worker(store, &job)?;
            let expiry = job.expires_at.filter(|_| job.state == JobState::Pending);
            let expiry = expiry.and_then(|at| Instant::now().checked_add(at.since(now).into()));
            let until = self.deadline.into_iter().chain(expiry).min();
            if let Some(status) = self.poller.wait(store, until)? {
                bail!(unfinished(store, left, status, "stopped waiting")?);
            }
        }
    }

    /// Warns once for each queue: without a worker the job may wait for ever.
    fn warn_of_missing_worker(&mut self, store: &Store, job: &JobRow) -> Result<()> {
        let queue = &job.spec.queue;
        if self.quiet || self.warned.contains(queue) {
            return Ok(());
        }
        if !worker_statuses(store)?.iter().any(|worker| worker.takes_from(queue)) {
            warn(&format!("waiting for job {}, but {}", job.id, no_worker(queue)));
            self.warned.insert(queue.clone());
        }
        Ok(())
    }
}

/// Records an expiry that is not recorded yet. If that is impossible now, the job is shown as expired all the same.
fn record_expiry(store: &mut Store, job: &JobRow) -> Result<()> {
    if job.dead_reason != Some(DeadReason::Expired) {
        return Ok(());
    }
    match store.record_expiry(job.id, &clock::now) {
        Err(error) if !StoreError::is_passing(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// The waiting ends before these jobs do.
fn unfinished(store: &Store, ids: &[i64], status: ExitStatus, what: &str) -> Result<CliError> {
    let now = clock::now();
    let mut jobs = Vec::new();
    let mut seen = HashSet::new();
    for id in ids.iter().filter(|id| seen.insert(**id)) {
        jobs.extend(store.job(*id, now)?.filter(|job| !job.state.is_final()));
        if jobs.len() > MAX_NAMED {
            break;
        }
    }
    let named: Vec<_> = jobs.iter().take(MAX_NAMED).map(|job| job.id.to_string()).collect();
    let named = named.join(" ");
    // Of several the first that has not started: mostly all of them have the same reason.
    let first = jobs.iter().find(|job| job.state == JobState::Pending).or(jobs.first());
    let workers = worker_statuses(store)?;
    let why = first.map(|job| unfinished_text(job, &workers, now)).unwrap_or_default();
    let (which, pronoun) = match jobs.as_slice() {
        [] | [_] => (why, "it"),
        [..] if jobs.len() > MAX_NAMED => {
            (format!("jobs {named} and others have not finished: {why}"), "these")
        }
        [..] => (format!("jobs {named} have not finished: {why}"), "them"),
    };
    Ok(CliError::new(status, format!("{what}; {which}"))
        .hint(format!("the waiting has ended, not the work; runner cancel {named} cancels {pronoun}")))
}

/// The exit status that stands for a job: its command's own, as `timeout` and a shell would give it.
fn exit_status(job: &JobRow, last: Option<&Attempt>) -> ExitStatus {
    if job.state == JobState::Succeeded {
        return ExitStatus::SUCCESS;
    }
    // A cancelled job did not end by its last attempt.
    let own =
        last.filter(|_| job.state == JobState::Dead).and_then(|last| match (last.outcome, last.status) {
            (Outcome::TimedOut, _) => Some(124),
            (Outcome::SpawnFailed, _) => match last.spawn_failure {
                Some(SpawnFailure::NotFound) => Some(127),
                Some(SpawnFailure::NotExecutable) | None => Some(126),
            },
            (_, Some(Status::Exited(code))) => u8::try_from(code).ok(),
            (_, Some(Status::Signaled(number))) => u8::try_from(number.saturating_add(128)).ok(),
            (_, None) => None,
        });
    own.filter(|code| *code != 0).map_or(ExitStatus::NO, ExitStatus)
}
