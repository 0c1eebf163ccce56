//! `runner wait`, and the waiting of `enqueue --wait`.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::cli::args::{Global, Ids};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::{JobJson, Output, Written, warn};
use crate::cli::poll::Poller;
use crate::cli::worker_status::worker_statuses;
use crate::clock;
use crate::model::{Attempt, DeadReason, JobState, Outcome, SpawnFailure, Status};
use crate::store::{JobRow, Store, StoreError};
use crate::text::Millis;

/// How often the workers are looked at while a job waits for one.
const LOOK_AT_WORKERS: Duration = Duration::from_secs(1);

/// Unfinished jobs that are named when the waiting ends without them.
const MOST_NAMED: usize = 5;

/// Waits for jobs and prints each when it has ended.
pub fn run(global: &Global, asked: &Ids) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let mut exit = ExitStatus::SUCCESS;
    for id in &asked.ids {
        if store.job(*id, clock::now())?.is_none() {
            warn(&format!("there is no job {id}"));
            exit = ExitStatus::NOT_FOUND;
        }
    }
    if exit != ExitStatus::SUCCESS {
        return Ok(exit);
    }
    let mut out = Output::new(global);
    let waiting = Waiting { timeout: None, quiet: out.quiet };
    waiting.wait_for(&mut store, &asked.ids, &mut |_, job, _| {
        if out.quiet && job.state == JobState::Succeeded {
            return Ok(());
        }
        if out.json {
            out.object(&JobJson::new(job))?;
        } else {
            out.line(words(job))?;
        }
        out.flush()
    })
}

/// How a job ended, on a line.
pub fn words(job: &JobRow) -> String {
    let JobRow { id, state, .. } = job;
    let name = &job.spec.name;
    match (&job.error_code, job.dead_reason) {
        (Some(code), Some(reason)) => format!("job {id} {name}: {state}, {code}: {}", reason.because()),
        _ => format!("job {id} {name}: {state}"),
    }
}

/// How to wait.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// How long at most; none: as long as it takes.
    pub timeout: Option<Millis>,
    /// Nothing is said of what the jobs wait for.
    pub quiet: bool,
}

/// Takes a job that has ended, with its last attempt.
pub type Tell<'a> = dyn FnMut(&mut Store, &JobRow, Option<&Attempt>) -> Written + 'a;

impl Waiting {
    /// Waits until all of these jobs are final, and tells of each in their order. Gives the exit status.
    pub fn wait_for(self, store: &mut Store, ids: &[i64], tell: &mut Tell<'_>) -> Result<ExitStatus> {
        let mut vigil = Vigil {
            poller: Poller::start()?,
            deadline: self.timeout.and_then(|timeout| Instant::now().checked_add(timeout.into())),
            quiet: self.quiet,
            told: HashSet::new(),
            looked_at_workers: None,
        };
        let mut exit = ExitStatus::SUCCESS;
        let mut known = HashSet::new();
        let single = ids.iter().all(|id| Some(id) == ids.first());
        for (index, id) in ids.iter().enumerate().filter(|(_, id)| known.insert(**id)) {
            let job = match vigil.until_final(store, *id)? {
                Came::Final(job) => *job,
                Came::Time => {
                    bail!(left(store, &ids[index..], ExitStatus::LATER, "the time to wait is over")?);
                }
                Came::Stop(status) => bail!(left(store, &ids[index..], status, "no longer waiting")?),
            };
            let last = store.attempt(*id, job.attempts)?;
            let own = exit_status(&job, last.as_ref());
            exit = if single { own } else { exit.max(own.min(ExitStatus::NO)) };
            tell(store, &job, last.as_ref())?;
        }
        Ok(exit)
    }
}

/// Somebody who waits.
struct Vigil {
    poller: Poller,
    deadline: Option<Instant>,
    quiet: bool,
    /// Queues that were said to have no worker.
    told: HashSet<String>,
    looked_at_workers: Option<Instant>,
}

/// What came first.
enum Came {
    Final(Box<JobRow>),
    Time,
    Stop(ExitStatus),
}

impl Vigil {
    fn until_final(&mut self, store: &mut Store, id: i64) -> Result<Came> {
        loop {
            let now = clock::now();
            let job = store.job(id, now)?.ok_or_else(|| {
                CliError::new(ExitStatus::NOT_FOUND, format!("job {id} was removed while it was waited for"))
            })?;
            if job.state.is_final() {
                record_expiry(store, &job)?;
                return Ok(Came::Final(Box::new(job)));
            }
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(Came::Time);
            }
            self.tell_of_missing_worker(store, &job)?;
            let expiry = job.expires_at.filter(|_| job.state == JobState::Pending);
            let expiry = expiry.and_then(|at| Instant::now().checked_add(at.since(now).into()));
            let until = self.deadline.into_iter().chain(expiry).min();
            if let Some(status) = self.poller.wait(store, until)? {
                return Ok(Came::Stop(status));
            }
        }
    }

    /// Without a worker the job may wait for ever: whoever waits for it should know. Said once.
    fn tell_of_missing_worker(&mut self, store: &Store, job: &JobRow) -> Result<()> {
        let queue = &job.spec.queue;
        let looked = self.looked_at_workers.is_some_and(|at| at.elapsed() < LOOK_AT_WORKERS);
        if self.quiet || looked || self.told.contains(queue) {
            return Ok(());
        }
        self.looked_at_workers = Some(Instant::now());
        if worker_statuses(store)?.iter().any(|worker| worker.takes_from(queue)) {
            return Ok(());
        }
        let id = job.id;
        warn(&format!(
            "waiting for job {id}, but no worker is running for queue {queue}; runner work starts one"
        ));
        self.told.insert(queue.clone());
        Ok(())
    }
}

/// Puts an expiry on record that nobody has noticed before. It is shown all the same if that cannot be done now.
fn record_expiry(store: &mut Store, job: &JobRow) -> Result<()> {
    if job.dead_reason != Some(DeadReason::Expired) {
        return Ok(());
    }
    match store.record_expiry(job.id, &clock::now) {
        Err(error) if !StoreError::is_passing(&error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// The waiting ends, and these jobs go on: in words, with this exit status.
fn left(store: &Store, ids: &[i64], status: ExitStatus, why: &str) -> Result<CliError> {
    let mut open = Vec::new();
    let mut known = HashSet::new();
    for id in ids.iter().filter(|id| known.insert(**id)) {
        let job = store.job(*id, clock::now())?;
        if job.is_some_and(|job| !job.state.is_final()) {
            open.push(id.to_string());
        }
        if open.len() > MOST_NAMED {
            break;
        }
    }
    let named = open.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(" ");
    let (which, all) = match open.len() {
        0 | 1 => (format!("job {named} goes on"), "it"),
        2..=MOST_NAMED => (format!("jobs {named} go on"), "them"),
        _ => (format!("jobs {named} and others go on"), "these"),
    };
    Ok(CliError::new(status, format!("{why}: {which}; runner cancel {named} calls {all} off")))
}

/// The exit status that stands for a job: its command's own, as `timeout` and a shell would give it.
fn exit_status(job: &JobRow, last: Option<&Attempt>) -> ExitStatus {
    if job.state == JobState::Succeeded {
        return ExitStatus::SUCCESS;
    }
    // A job that was called off did not end by its last attempt.
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
