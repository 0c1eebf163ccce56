//! Waiting until jobs are final: for `wait` and `enqueue --wait`.

use std::collections::HashSet;
use std::time::Instant;

use anyhow::{Result, bail};

use super::error::{CliError, ExitStatus};
use super::output::{Written, warn};
use super::poll::Poller;
use super::status_text::{awaited_text, no_worker, unfinished_text};
use super::worker_status::worker_statuses;
use crate::clock;
use crate::model::{Attempt, DeadReason, JobState, Outcome, SpawnFailure, Status};
use crate::store::{JobRow, Store, StoreError};
use crate::text::{Millis, counted};
use crate::wake;

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
    /// Jobs that were warned of as they wait for others without end.
    stuck: HashSet<i64>,
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
            stuck: HashSet::new(),
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
        let mut seen = HashSet::new();
        let ids: Vec<i64> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
        for (index, id) in ids.iter().enumerate() {
            let job = self.until_final(store, *id, ids.len() - index - 1)?;
            let last = store.attempt(*id, job.attempts)?;
            let own = exit_status(&job, last.as_ref());
            exit = if ids.len() == 1 { own } else { exit.max(own.min(ExitStatus::NO)) };
            on_final(store, &job, last.as_ref())?;
        }
        Ok(exit)
    }

    /// Waits for one job, with so many to be waited for after it.
    fn until_final(&mut self, store: &mut Store, id: i64, others: usize) -> Result<JobRow> {
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
                bail!(unfinished(store, &job, others, ExitStatus::LATER, &what)?);
            }
            self.warn_of_endless_wait(&job);
            self.warn_of_missing_worker(store, &job)?;
            let expiry = job.expires_at.filter(|_| job.state == JobState::Pending);
            let expiry = expiry.and_then(|at| Instant::now().checked_add(at.since(now).into()));
            let until = self.deadline.into_iter().chain(expiry).min();
            if let Some(status) = self.poller.wait(store, until)? {
                bail!(unfinished(store, &job, others, status, "stopped waiting")?);
            }
        }
    }

    /// Warns once for each job that waits for others that will not succeed by themselves.
    fn warn_of_endless_wait(&mut self, job: &JobRow) {
        let endless = job.awaited.as_ref().is_some_and(|awaited| !awaited.may_succeed());
        if endless && !self.quiet && self.stuck.insert(job.id) {
            warn(&format!("job {} {}", job.id, awaited_text(job)));
        }
    }

    /// Warns once for each queue: without a worker the job may wait for ever.
    fn warn_of_missing_worker(&mut self, store: &Store, job: &JobRow) -> Result<()> {
        let queue = &job.spec.queue;
        if self.quiet || self.warned.contains(queue) {
            return Ok(());
        }
        if let Some(why) = no_worker(queue, &worker_statuses(store)?) {
            warn(&format!("waiting for job {}, but {why}", job.id));
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
    let recorded = store.record_expiry(job.id, &clock::now);
    // Its alert may be due.
    wake::wake_workers(&store.file().run_dir());
    match recorded {
        Err(error) if !StoreError::is_passing(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// The waiting ends before this job and some others do.
fn unfinished(
    store: &Store,
    job: &JobRow,
    others: usize,
    status: ExitStatus,
    what: &str,
) -> Result<CliError> {
    let why = unfinished_text(job, &worker_statuses(store)?, clock::now());
    let others = if others == 0 {
        String::new()
    } else {
        format!("; {} not waited for", counted(others, "further job"))
    };
    Ok(CliError::new(status, format!("{what}; {why}{others}"))
        .hint("the waiting has ended, not the work; runner cancel ID ends a job"))
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
