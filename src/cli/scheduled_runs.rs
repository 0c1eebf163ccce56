//! What `enqueue`, `check` and `apply` say of dependencies that have a schedule of their own: whether the run that this brings is
//! waited for, or one runs with the job.

use std::collections::BTreeMap;

use anyhow::Result;

use super::find_job;
use crate::call_target::to_type;
use crate::clock;
use crate::jobfile::{Declared, JobFile};
use crate::model::{Chain, DependencyKind, JobState, Link};
use crate::store::{Dependency, Enqueued, JobRow, NewJob, ScheduledRun, Store};
use crate::text::{listed, local_time};
use crate::view::terminal::{Output, warn};

/// Notes name at most this many dependencies or dependents, and count the others.
const MAX_NAMED: usize = 10;

/// Tells of each dependency of a call that has a schedule of its own which job it is, or why a new one runs. After a rehearsal
/// nothing of the new ones is left but their names.
pub fn tell(store: &Store, jobs: &[NewJob], enqueued: &[Enqueued]) -> Result<()> {
    // Where a key led to an earlier job, that is told.
    let led_by_key = |it: &&Enqueued| !it.created && !it.is_scheduled_run();
    let found = enqueued.iter().filter(|it| it.scheduled_run.is_some() && !led_by_key(it));
    let found: Vec<&Enqueued> = found.collect();
    for it in found.iter().take(MAX_NAMED) {
        let wanted = &jobs[it.index];
        let name = &wanted.definition.name;
        match it.scheduled_run {
            Some(ScheduledRun::Counts(_)) => {
                if let Some(job) = find_job::job_if_there(store, it.id, clock::now())? {
                    warn(&standing_text(&job, needs_success(jobs, it.index)));
                }
            }
            Some(ScheduledRun::Missing) => warn(&format!("{name} runs with it: no run of it is recorded")),
            Some(ScheduledRun::Dead(id)) => {
                warn(&format!("{name} runs with it: its last run, job {id}, is dead"));
            }
            Some(ScheduledRun::TooOld(id)) => {
                let within = wanted.own_schedule.and_then(|schedule| schedule.fresh_within);
                let within = within.map(|within| format!(" (fresh_within = \"{within}\")"));
                let within = within.unwrap_or_default();
                warn(&format!("{name} runs with it: the success of job {id} is too old{within}"));
            }
            None => {}
        }
    }
    if found.len() > MAX_NAMED {
        let more = found.len() - MAX_NAMED;
        warn(&format!("and so on: {more} more dependencies have a schedule of their own"));
    }
    Ok(())
}

/// Whether one of the jobs needs the success of this dependency, and not just any end.
fn needs_success(jobs: &[NewJob], index: usize) -> bool {
    let edge = (Dependency::InCall(index), DependencyKind::Success);
    jobs.iter().any(|job| job.dependencies.contains(&edge))
}

/// Says what the newest run of a dependency is to the jobs that are after it.
fn standing_text(job: &JobRow, needs_success: bool) -> String {
    let (id, name, status, at) = (job.id, &job.definition.name, job.status(), local_time(job.changed_at));
    match job.state {
        JobState::Succeeded => format!("{name} is met by job {id}, which succeeded at {at}"),
        _ if !needs_success && (job.state.is_final() || job.is_stuck()) => {
            format!("{name} is met by job {id}, which is {status}")
        }
        JobState::Dead | JobState::Cancelled => {
            let is_forced = job.state == JobState::Dead && !job.definition.policy.retryable;
            let retry = to_type("retry", format!("{id}{}", if is_forced { " --force" } else { "" }));
            format!("waits for job {id} {name}, which is {status}: {retry} goes on")
        }
        _ => format!("waits for the scheduled run of {name}: job {id}, which is {status}"),
    }
}

/// The direct dependencies of a job, as `check` shows them: where one has a schedule, each with what becomes of it.
pub fn dependencies_text(file: &JobFile, names: &[String]) -> String {
    let declared = |name: &String| file.job(name).and_then(Declared::own_schedule);
    if !names.iter().any(|name| declared(name).is_some()) {
        return names.join(", ");
    }
    let text = |name: &String| match declared(name) {
        None => format!("{name} (runs with it)"),
        Some(schedule) => {
            let within = schedule.fresh_within.map(|within| format!(", of the last {within}"));
            format!("{name} (waits for its scheduled run{})", within.unwrap_or_default())
        }
    };
    names.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Says what becomes of the dependencies of a schedule's job; none if no dependency has a schedule of its own.
pub fn chain_text(chain: &Chain) -> Option<String> {
    let mut is_reached = vec![false; chain.dependencies.len()];
    let mut left: Vec<usize> = chain.root.dependencies().map(|(index, _)| index).collect();
    while let Some(index) = left.pop() {
        let link = chain.dependencies.get(index).filter(|_| !std::mem::replace(&mut is_reached[index], true));
        // What a scheduled run is after was brought by its own schedule.
        let next = link.filter(|link| link.own_schedule.is_none());
        left.extend(next.into_iter().flat_map(Link::dependencies).map(|(index, _)| index));
    }
    let reached =
        chain.dependencies.iter().zip(is_reached).filter_map(|(link, reached)| reached.then_some(link));
    let (waited, run): (Vec<_>, Vec<_>) = reached.partition(|link| link.own_schedule.is_some());
    let names = |links: &[&Link]| {
        links.iter().map(|link| link.definition.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let run = if run.is_empty() { String::new() } else { format!("; {} runs with it", names(&run)) };
    (!waited.is_empty()).then(|| format!("waits for the scheduled runs of {}{run}", names(&waited)))
}

/// Notes the dependencies that have a schedule, and nothing that says how old their success may be; those of one job, if only
/// that is meant.
pub fn note_unlimited_ages(file: &JobFile, only: Option<&str>, out: &Output) {
    if out.quiet {
        return;
    }
    let mut dependents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for job in file.jobs.iter().filter(|job| only.is_none_or(|only| only == job.definition.name)) {
        for (name, _) in job.dependencies() {
            let schedule = file.job(name).and_then(Declared::own_schedule);
            if schedule.is_some_and(|schedule| schedule.fresh_within.is_none()) {
                dependents.entry(name).or_default().push(&job.definition.name);
            }
        }
    }
    for (name, dependents) in dependents {
        warn(&format!(
            "{name} has a schedule and no fresh_within: a success of any age will do for {}, which waits for its scheduled run",
            listed(&dependents, MAX_NAMED)
        ));
    }
}
