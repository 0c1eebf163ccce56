//! `runner wait`, and the waiting of `runner enqueue --wait`: until jobs are final, with their exit status.

use std::collections::HashSet;
use std::slice;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::call_target::to_type;
use crate::cli::args::{Global, WaitArgs};
use crate::cli::change_watch::ChangeWatch;
use crate::cli::commands::ended_jobs::{exit_status_of_job, final_line, status_of_waited};
use crate::cli::error::{CliError, ExitStatus, print_error};
use crate::cli::find_job::{self, Candidates};
use crate::cli::inside::{self, InsideWait};
use crate::cli::namesakes::say_which;
use crate::cli::workers::worker_statuses;
use crate::cli::{database, suggest};
use crate::clock;
use crate::model::{Attempt, DeadReason, JobState};
use crate::store::{self, Filter, JobRow, Store, StoreError};
use crate::text::{Millis, counted};
use crate::view::json::job_json;
use crate::view::terminal::{Output, warn};
use crate::view::text::status::{dependency_text, long_wait_text, unfinished_text};

/// Waits for jobs and prints each when it has ended.
pub fn run(global: &Global, args: &WaitArgs, out: &mut Output) -> Result<ExitStatus> {
    let mut store = database::open_to_write(global)?;
    inside::recognize(&mut store)?;
    let (ids, mut exit) = if args.jobs.is_empty() {
        (selected(global, &store, args)?, ExitStatus::SUCCESS)
    } else {
        find_job::job_ids(&store, &args.jobs, Candidates::Any, clock::now(), out.quiet)?
    };
    for id in &ids {
        if store.job(*id, clock::now())?.is_none() {
            exit = ExitStatus::NOT_FOUND;
            print_error(&CliError::no_job(id, None));
        }
    }
    if exit != ExitStatus::SUCCESS {
        return Ok(exit);
    }
    let ids = without_own(&store, args, ids, out.quiet)?;
    let waited = Waiter::new(args.timeout, out.quiet)?.wait_for(&mut store, &ids, &mut |_, job, _| {
        if out.quiet && job.state == JobState::Succeeded && job.warning.is_none() {
            return Ok(());
        }
        if out.json {
            out.object(&job_json(job));
        } else {
            out.line(final_line(job, &out.paint_status(&job.shown_status())));
        }
        out.send();
        Ok(())
    });
    Ok(status_of_waited(out, waited?))
}

/// Leaves out the jobs that wait for this call, which would wait for them for ever. An error if they are all that was named.
fn without_own(store: &Store, args: &WaitArgs, mut ids: Vec<i64>, quiet: bool) -> Result<Vec<i64>> {
    let part_of = store.part_of()?;
    let own: Vec<i64> = ids.extract_if(.., |id| part_of.contains(id)).collect();
    let Some(first) = own.first() else { return Ok(ids) };
    let what = if store.calling_job() == Some(*first) {
        format!("this call is part of job {first}")
    } else {
        format!("job {first} cannot end before this call does")
    };
    if ids.is_empty() && !args.jobs.is_empty() {
        bail!(CliError::usage(format!("{what}, so it would wait for itself")).hint(
            "name the jobs that are to end before it; --name and --label leave out the job that the call is part of"
        ));
    }
    if !quiet {
        let others = if own.len() == 1 { "" } else { ", nor for what waits for it" };
        warn(&format!("{what}, and so does not wait for that{others}"));
    }
    Ok(ids)
}

/// The jobs that the options select. Those that have ended are among them, because one may have died before the wait began; but
/// a death that was dealt with does not make the wait fail. An error if there is no job at all, because the caller would go on as
/// if it had succeeded.
fn selected(global: &Global, store: &Store, args: &WaitArgs) -> Result<Vec<i64>> {
    let all = Filter { name: args.name.clone(), label: args.label.clone(), ..Filter::default() };
    let filter = Filter { resolved: Some(false), ..all.clone() };
    let ids = store.ids(&filter, clock::now())?;
    if ids.is_empty() {
        if store.ids(&all, clock::now())?.is_empty() {
            bail!(suggest::no_job_selected(global, store, &all)?);
        }
        if !global.quiet {
            warn(&format!("{} that was not resolved", suggest::nothing_text("job", &filter)));
        }
    }
    if let Some(name) = args.name.as_ref().filter(|_| !global.quiet) {
        say_which(store, name, &ids)?;
    }
    Ok(ids)
}

/// Waits for jobs, and warns when they might wait for ever. A job that only a person can get going is not waited for.
pub struct Waiter {
    changes: ChangeWatch,
    timeout: Option<Millis>,
    deadline: Option<Instant>,
    quiet: bool,
    /// The queues that it has warned of, because they have no worker, or are paused (true).
    warned: HashSet<(String, bool)>,
    /// The facts that a wait from inside a job has found out.
    inside_wait: InsideWait,
}

/// Takes a job that has ended, with its last attempt.
pub type OnFinal<'a> = dyn FnMut(&Store, &JobRow, Option<&Attempt>) -> Result<()> + 'a;

impl Waiter {
    /// The timeout counts from now.
    pub fn new(timeout: Option<Millis>, quiet: bool) -> Result<Self> {
        Ok(Self {
            changes: ChangeWatch::start()?,
            timeout,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout.into())),
            quiet,
            warned: HashSet::new(),
            inside_wait: InsideWait::default(),
        })
    }

    /// A wait for new jobs.
    #[must_use]
    pub fn for_new_jobs(self) -> Self {
        Self { inside_wait: InsideWait::for_worker(), ..self }
    }

    /// Waits until all of these jobs are final, and calls `on_final` with each, in their order. Returns the exit
    /// status, which for a single job is that of its command.
    pub fn wait_for(
        mut self,
        store: &mut Store,
        ids: &[i64],
        on_final: &mut OnFinal<'_>,
    ) -> Result<ExitStatus> {
        let mut seen = HashSet::new();
        let ids: Vec<i64> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
        // Only others need this record, and a dead call leaves it, too. So the wait goes on without it.
        unless_it_passes(store.record_waits(&ids))?;
        let waited = self.wait_for_each(store, &ids, on_final);
        // A dead call leaves the record, too, so what came of the wait counts alone.
        let _ = store.forget_waits();
        waited
    }

    fn wait_for_each(
        &mut self,
        store: &mut Store,
        ids: &[i64],
        on_final: &mut OnFinal<'_>,
    ) -> Result<ExitStatus> {
        let mut exit = ExitStatus::SUCCESS;
        for (index, id) in ids.iter().enumerate() {
            let job = self.until_final(store, *id, ids.len() - index - 1)?;
            let last = store.attempt(job.id, job.attempts)?;
            let own = exit_status_of_job(&job, last.as_ref());
            exit = if ids.len() == 1 { own } else { exit.max(own.min(ExitStatus::FAILED)) };
            on_final(store, &job, last.as_ref())?;
        }
        Ok(exit)
    }

    /// Waits for one job, until it is final or stuck. `others` counts the jobs after it, for the message of a wait that ends early.
    fn until_final(&mut self, store: &mut Store, mut id: i64, others: usize) -> Result<JobRow> {
        loop {
            let now = clock::now();
            let Some(job) = store.job(id, now)? else {
                bail!(CliError::removed(id, "waited for"));
            };
            let changed_to = store.changed_to(id)?;
            if changed_to != id {
                if !self.quiet {
                    warn(&format!(
                        "job {id} {} was replaced by job {changed_to}, which is waited for",
                        job.title()
                    ));
                }
                id = changed_to;
                continue;
            }
            if job.state.is_final() {
                record_expiry(store, &job)?;
                return Ok(job);
            }
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                let what = format!("gave up waiting after {}", self.timeout.unwrap_or_default());
                bail!(unfinished(store, &job, others, ExitStatus::LATER, &what)?);
            }
            if job.is_stuck() {
                warn(&format!("job {id} {}", dependency_text(&job)));
                return Ok(job);
            }
            if let Some(error) = self.inside_wait.error(store, slice::from_ref(&job))? {
                bail!(error);
            }
            // The reason why a wait from inside a job is about to end says more.
            if self.inside_wait.next_look().is_none() {
                self.warn_of_long_wait(store, &job)?;
            }
            let expiry = job.expires_at.filter(|_| job.state == JobState::Pending);
            let expiry = expiry.and_then(|at| Instant::now().checked_add(at.since(now).into()));
            let until = self.deadline.into_iter().chain(expiry).chain(self.inside_wait.next_look()).min();
            if let Some(status) = self.changes.wait(store, until)? {
                bail!(unfinished(store, &job, others, status, "stopped waiting")?);
            }
        }
    }

    /// Warns once for each queue that is paused, or that no worker serves, because its jobs may wait for ever.
    fn warn_of_long_wait(&mut self, store: &Store, job: &JobRow) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        if let Some((about, why)) = long_wait_text(job, &worker_statuses(store)?, clock::now())
            && self.warned.insert(about)
        {
            warn(&format!("waiting for job {}, but {why}", job.id));
        }
        Ok(())
    }
}

/// Records that a job has expired. A read shows such a job as dead from its time on, and here that is made permanent. A
/// busy or full database is no reason to fail, because a worker will record it later.
fn record_expiry(store: &mut Store, job: &JobRow) -> Result<()> {
    if job.dead_reason != Some(DeadReason::Expired) {
        return Ok(());
    }
    unless_it_passes(store.record_expiry(job.id))
}

/// The error of a write that is no reason to end a wait if the database is busy, full or not ours to write.
fn unless_it_passes<T>(written: store::Result<T>) -> Result<()> {
    match written {
        Err(error) if !error.is_passing() && !matches!(error, StoreError::NotWritable(_)) => {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// The error for a wait that ends before this job, and some others, are final.
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
        .hint(format!("the waiting has ended, not the work; {} ends the job", to_type("cancel", job.id))))
}
