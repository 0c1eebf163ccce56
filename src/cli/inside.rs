//! Calls from inside a job: which job that is, and why a job that such a call waits for cannot end before the call does.

use std::env;
use std::fmt::Display;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::error::{CliError, ExitStatus};
use super::workers::worker_statuses;
use crate::call_target::{CallTarget, to_type};
use crate::clock;
use crate::model::JobState;
use crate::process::{Identity, boot_id};
use crate::store::{
    Caller, Inside, JobRow, NoWorker, ProcessRow, RunningJob, Store, WorkerStatus, no_worker,
};
use crate::view::advice::{at_limit, nobody_text};

/// A reason that keeps a job for longer than this is told: before that a worker may be taking its place.
const PATIENCE: Duration = Duration::from_millis(500);

/// Tells the store from which job this call comes, if its environment is that of a running attempt of this database.
pub fn recognize(store: &mut Store) -> Result<()> {
    let is_own = |path: &Path| is_same_file(path, store.file().path());
    if !env::var_os("RUNNER_DB").is_some_and(|path| is_own(Path::new(&path))) {
        return Ok(());
    }
    let job = number("RUNNER_JOB_ID").ok().flatten();
    let (Some(job), Ok(attempt)) = (job, number("RUNNER_ATTEMPT")) else { return Ok(()) };
    let pid = std::process::id();
    let ticks = Identity::of(pid.cast_signed()).map_or(0, |process| process.start_ticks);
    let process = ProcessRow { pid: pid.into(), boot_id: boot_id(), start_ticks: ticks.cast_signed() };
    Ok(store.called_from(Caller { job, attempt, process, is_alive })?)
}

/// The number in a variable, as a worker writes it; none where the variable is not set. An error if it is no such number.
fn number<N: FromStr + Display>(name: &str) -> Result<Option<N>, ()> {
    let Some(value) = env::var_os(name) else { return Ok(None) };
    let text = value.to_str().ok_or(())?;
    let number: N = text.parse().map_err(drop)?;
    (number.to_string() == text).then_some(Some(number)).ok_or(())
}

/// Whether both paths lead to one file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino()));
    identity(one).is_ok_and(|one| identity(other).is_ok_and(|other| one == other))
}

/// Whether the process that wrote this row lives.
fn is_alive(row: &ProcessRow) -> bool {
    let (Ok(pid), Ok(start_ticks)) = (row.pid.try_into(), row.start_ticks.try_into()) else { return false };
    row.boot_id == boot_id() && Identity { pid, start_ticks }.is_alive()
}

/// A wait from inside a job, for one job after the other.
#[derive(Debug, Default)]
pub struct InsideWait {
    /// The job that cannot end before this call does, and since when that is so.
    since: Option<(i64, Instant)>,
    /// Nobody but a worker starts what is waited for.
    needs_worker: bool,
}

impl InsideWait {
    /// A wait for a new job, which a living worker has to start.
    pub fn for_worker() -> Self {
        Self { needs_worker: true, ..Self::default() }
    }

    /// The error that ends the wait for these unfinished jobs, once it has stayed so that none of them can end before this call
    /// does. None for a call from outside.
    pub fn error(&mut self, store: &Store, jobs: &[JobRow]) -> Result<Option<CliError>> {
        let (Some(own), Some(job)) = (store.calling_job(), jobs.first()) else { return Ok(None) };
        let workers = worker_statuses(store)?;
        let inside = store.inside(&workers)?;
        let scene = Scene { own, inside, workers };
        let is_held = |job: &JobRow| scene.inside.jobs.contains(&job.id) || self.is_left(&scene, job);
        if !jobs.iter().all(is_held) {
            self.since = None;
            return Ok(None);
        }
        let now = Instant::now();
        let (_, since) =
            *self.since.insert(self.since.filter(|(id, _)| *id == job.id).unwrap_or((job.id, now)));
        if now.duration_since(since) < PATIENCE {
            return Ok(None);
        }
        let (why, way) = scene.reason(store, job)?;
        let what = format!("job {} {} is left {}: {why}", job.id, job.title(), job.status());
        Ok(Some(CliError::new(ExitStatus::LATER, what).hint(way)))
    }

    /// When to look again.
    pub fn next_look(&self) -> Option<Instant> {
        self.since.map(|(_, since)| since + PATIENCE)
    }

    /// Whether only a worker would start this job, and none runs.
    fn is_left(&self, scene: &Scene, job: &JobRow) -> bool {
        let queue = Some(job.definition.queue.as_str());
        self.needs_worker
            && job.state == JobState::Pending
            && job.run_worker_id.is_none()
            && no_worker(queue, &scene.workers) == Some(NoWorker::NoneRuns)
    }
}

/// The facts that a wait from inside a job goes by.
struct Scene {
    /// The job whose command has made this call.
    own: i64,
    inside: Inside,
    workers: Vec<WorkerStatus>,
}

impl Scene {
    /// Why this job, which is held or left, cannot end before this call does, and what people can do.
    fn reason(&self, store: &Store, job: &JobRow) -> Result<(String, String)> {
        if !self.inside.jobs.contains(&job.id) {
            let nobody = nobody_text(job, &self.workers, CallTarget::of_this_call()).unwrap_or_default();
            return Ok((nobody, format!("{} needs no worker", to_type("run", ""))));
        }
        let before = job.waits_for.iter().find(|unmet| self.inside.jobs.contains(&unmet.id));
        let before = before.map(|unmet| store.job(unmet.id, clock::now())).transpose()?.flatten();
        let after = before.as_ref().map(|it| format!("it waits for job {} {}, and ", it.id, it.title()));
        let (root, after) = (before.as_ref().unwrap_or(job), after.unwrap_or_default());
        let queue = &root.definition.queue;
        let is_pending = root.state == JobState::Pending;
        if is_pending && self.inside.holds_limit_of(queue) {
            let holder = self.holder(|running| running.queue == *queue);
            let limit = to_type("limit", format_args!("{queue} --max-running N"));
            let why = format!("{after}{} until {holder} has ended", at_limit(&format!("queue {queue}")));
            return Ok((why, format!("another queue, or {limit}, lets it start before that")));
        }
        if is_pending && self.inside.holds_slots_of(queue) {
            let serves = |worker: &&WorkerStatus| worker.serves(queue);
            let takers: Vec<i64> = self.workers.iter().filter(serves).map(|worker| worker.row.id).collect();
            let holder = self.holder(|running| takers.contains(&running.worker));
            let why = format!("{after}no slot is free for queue {queue} until {holder} has ended");
            let (work, run) = (to_type("work", "-j N"), to_type("run", ""));
            return Ok((why, format!("{work} has more slots, and {run} needs none")));
        }
        let why = match before {
            Some(before) => format!("it is after job {}, {}", before.id, self.part(before.id)),
            None if job.id == self.own => "this call is part of it".to_owned(),
            None => "it cannot end before this call does".to_owned(),
        };
        Ok((why, "without the wait this call can end, and what waits for it goes on".to_owned()))
    }

    /// Names a running job that holds a place: the calling one, if that does.
    fn holder(&self, holds: impl Fn(&RunningJob) -> bool) -> String {
        let holders = self.inside.running.iter().filter(|running| holds(running)).map(|running| running.id);
        let id = holders.min_by_key(|id| (*id != self.own, *id)).unwrap_or(self.own);
        format!("job {id}, {},", self.part(id))
    }

    fn part(&self, id: i64) -> &'static str {
        if id == self.own { "which this call is part of" } else { "which cannot end before this call does" }
    }
}
