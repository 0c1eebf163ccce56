//! The promises, one function each, for every suite: what must be true of a database whatever was done to its processes,
//! its disk or its clock.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::fs;

use runner::model::Missed;

use crate::evidence::{Attempt, AttemptId, Job, Line, Promises, Rows};

/// How far the work has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Workers may be running, or may have died.
    Any,
    /// A worker has brought every job to its end.
    Drained,
}

/// Lists what is wrong by the audit of the program, and by rules over the rows that it does not check.
pub fn inconsistent(rows: &Rows) -> Vec<String> {
    let mut wrong = rows.findings.clone();
    let budgets =
        rows.jobs.iter().filter_map(|(id, job)| Some((id, job, the_budget_is_kept(rows, *id, job, None)?)));
    wrong.extend(budgets.map(|(id, job, what)| format!("job {id} ({job:?}): {what}")));
    wrong.extend(no_queue_runs_more_than_its_limit(rows));
    wrong.extend(no_attempt_starts_before_its_dependencies_succeed(rows));
    wrong.extend(each_time_of_a_schedule_fires_once(rows));
    wrong
}

/// Lists what is wrong by the rows, by the words of runner and by the side log of its jobs.
pub fn judge(rows: &Rows, promises: &Promises, moment: Moment) -> Vec<String> {
    let mut wrong = inconsistent(rows);
    wrong.extend(no_attempt_starts_before_its_dependencies_end(rows, promises));
    let mut lines: HashMap<u64, Vec<&Line>> = HashMap::new();
    for line in promises.side.iter().flatten() {
        lines.entry(line.attempt.0).or_default().push(line);
    }
    for (id, job) in &rows.jobs {
        let lines = lines.get(id).map_or(&[][..], Vec::as_slice);
        let started = started(*id, lines, promises);
        let retries = promises.retries.get(id).copied().unwrap_or_default();
        let found = [
            (moment == Moment::Drained && !job.is_finished() && !is_stuck(rows, *id))
                .then(|| "it is not finished".to_owned()),
            the_budget_is_kept(rows, *id, job, Some(retries)),
            what_began_is_not_forgotten(rows, *id, job, &started),
            a_job_that_is_not_retryable_starts_once(job, &started, retries),
            the_side_log_and_the_rows_agree(rows, *id, lines, promises),
            attempts_do_not_overlap(lines),
            a_cancel_holds(*id, job, promises, moment),
            a_retry_holds(*id, job, promises),
        ];
        wrong.extend(
            found.into_iter().flatten().map(|what| format!("{what}: {}", describe(rows, *id, lines))),
        );
    }
    let known = lines.keys().chain(promises.started.iter().map(|(id, _)| id));
    let unknown: HashSet<_> =
        known.filter(|id| !rows.jobs.contains_key(id) && !promises.may_be_gone(**id)).collect();
    wrong.extend(unknown.into_iter().map(|id| format!("job {id} began and is not there")));
    wrong.extend(acknowledged_jobs_are_there(rows, promises));
    wrong.extend(batches_are_whole(rows, promises));
    wrong.extend(ends_are_as_told(rows, promises));
    wrong.extend(queues_are_paused_as_told(rows, promises));
    wrong.extend(priorities_are_as_told(rows, promises));
    wrong.extend(the_side_log_keeps_the_limits(rows, promises.side.as_deref().unwrap_or_default()));
    wrong
}

/// Whether a job whose success this one needs has died, was cancelled, or can itself never run.
fn is_stuck(rows: &Rows, id: u64) -> bool {
    let needed = rows.dependencies.iter().filter(|(job, _, any)| *job == id && !any);
    needed.filter_map(|(_, dependency, _)| Some((dependency, rows.jobs.get(dependency)?))).any(
        |(dependency, job)| match job.state.as_str() {
            "dead" | "cancelled" => true,
            "pending" => is_stuck(rows, *dependency),
            _ => false,
        },
    )
}

/// Each attempt takes the next place in the budget. Only a retry by hand begins a new budget, and an interrupted attempt
/// leaves its place to the next one.
fn the_budget_is_kept(rows: &Rows, id: u64, job: &Job, retries: Option<u32>) -> Option<String> {
    let (mut next, mut fresh) = (1, 0);
    for (number, attempt) in rows.attempts_of(id) {
        let place = attempt.place_in_budget;
        if place > job.max_attempts {
            return Some(format!("attempt {number} is beyond the budget of {}", job.max_attempts));
        }
        match place {
            _ if place == next => {}
            1 => fresh += 1,
            _ => return Some(format!("attempt {number} took place {place} of its budget, not {next}")),
        }
        next = place + u32::from(attempt.end.outcome != "interrupted");
    }
    let most = retries.unwrap_or(u32::MAX);
    (fresh > most).then(|| format!("it began {fresh} new budgets, and was put back {most} times"))
}

fn no_queue_runs_more_than_its_limit(rows: &Rows) -> Vec<String> {
    let running = |queue: &String| {
        rows.jobs.values().filter(|job| job.state == "running" && job.queue == *queue).count()
    };
    let over = rows.limits.iter().filter(|(queue, limit)| running(queue) > **limit);
    over.map(|(queue, _)| format!("{} jobs of the limited queue {queue} run", running(queue))).collect()
}

fn no_attempt_starts_before_its_dependencies_succeed(rows: &Rows) -> Vec<String> {
    too_early(rows, false, |dependency, began| {
        rows.attempts_of(dependency).any(|(_, it)| it.succeeded() && it.finished_at <= began)
    })
}

fn no_attempt_starts_before_its_dependencies_end(rows: &Rows, promises: &Promises) -> Vec<String> {
    too_early(rows, true, |dependency, began| may_have_ended(rows, promises, dependency, began))
}

/// The attempts that began before a dependency of this kind had ended.
fn too_early(rows: &Rows, any: bool, had_ended: impl Fn(u64, i64) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, dependency, _) in rows.dependencies.iter().filter(|(.., of_any)| *of_any == any) {
        for (number, attempt) in rows.attempts_of(*id) {
            let began = attempt.started_at.unwrap_or(attempt.finished_at);
            if !had_ended(*dependency, began) {
                let end = if any { "ended" } else { "succeeded" };
                wrong.push(format!("attempt {number} of job {id} began before job {dependency} had {end}"));
            }
        }
    }
    wrong
}

/// Whether the job may have ended by then, or have waited for one that had. The history has the ends of attempts, but not when a
/// job was cancelled or expired without one. A job that was put back had ended before.
fn may_have_ended(rows: &Rows, promises: &Promises, id: u64, by: i64) -> bool {
    rows.attempts_of(id).any(|(_, attempt)| attempt.end.delay_ms.is_none() && attempt.finished_at <= by)
        || rows.jobs.get(&id).is_none_or(|job| matches!(job.state.as_str(), "cancelled" | "dead"))
        || promises.retries.contains_key(&id)
        || rows
            .dependencies
            .iter()
            .any(|(job, before, _)| *job == id && may_have_ended(rows, promises, *before, by))
}

fn each_time_of_a_schedule_fires_once(rows: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut fired: HashMap<(&str, i64), u64> = HashMap::new();
    for (id, job) in &rows.jobs {
        // Another job in its place is for the same time.
        let Some(at) = job.scheduled_for.filter(|_| job.replaced_by.is_none()) else { continue };
        if let Some(other) = fired.insert((&job.name, at), *id) {
            wrong.push(format!("jobs {other} and {id} are both {} of {at}", job.name));
        }
    }
    for (name, (at, id)) in &rows.last_firings {
        let is_another = |job: &Job| job.name != *name || job.scheduled_for != Some(*at);
        if rows.jobs.get(id).map_or(!rows.prunes, is_another) {
            wrong.push(format!("{name} fired last at {at}, which made job {id}: {:?}", rows.jobs.get(id)));
        }
    }
    wrong
}

/// The times of the jobs that a schedule has made are `pace` milliseconds apart from its first to its last. Unless it makes up
/// for all that it missed, it may have left some out.
pub fn a_schedule_keeps_its_pace(rows: &Rows, name: &str, pace: i64, missed: Missed) -> Vec<String> {
    let mut times: Vec<i64> = rows.named(name).filter_map(|job| job.scheduled_for).collect();
    times.sort_unstable();
    let is_wrong = |gap: i64| gap <= 0 || gap % pace != 0 || (missed == Missed::All && gap != pace);
    let gaps = times.windows(2).filter(|pair| is_wrong(pair[1] - pair[0]));
    let mut wrong: Vec<_> =
        gaps.map(|pair| format!("{name} fired for {pair:?}, one after the other")).collect();
    let last = rows.last_firings.get(name).map(|(at, _)| *at);
    if last != times.last().copied() {
        wrong.push(format!("{name} fired last for {last:?}, of {times:?}"));
    }
    wrong
}

/// The attempts of a job whose command has begun.
fn started(id: u64, lines: &[&Line], promises: &Promises) -> HashSet<u32> {
    let told = promises.started.range((id, 0)..=(id, u32::MAX)).map(|(_, number)| *number);
    told.chain(lines.iter().map(|line| line.attempt.1)).collect()
}

/// The claim of an attempt is on disk before its command begins, so a recovery counts it.
fn what_began_is_not_forgotten(rows: &Rows, id: u64, job: &Job, started: &HashSet<u32>) -> Option<String> {
    let is_known = |number: u32| {
        rows.attempts.contains_key(&(id, number)) || (job.state == "running" && number == job.attempts + 1)
    };
    let forgotten = started.iter().find(|number| !is_known(**number))?;
    Some(format!("attempt {forgotten} began and is not recorded"))
}

fn a_job_that_is_not_retryable_starts_once(
    job: &Job,
    started: &HashSet<u32>,
    retries: u32,
) -> Option<String> {
    let most = 1 + retries as usize;
    let starts = started.len() + usize::from(job.state == "pending" && !started.is_empty());
    (!job.retryable && starts > most).then(|| {
        format!(
            "it is not retryable, has or will have started {starts} times and was put back {retries} times"
        )
    })
}

fn the_side_log_and_the_rows_agree(
    rows: &Rows,
    id: u64,
    lines: &[&Line],
    promises: &Promises,
) -> Option<String> {
    let side = promises.side.as_ref().filter(|_| id > promises.silent)?;
    let count = |number: u32, event: &str| {
        lines.iter().filter(|line| line.attempt.1 == number && line.event == event).count()
    };
    let numbers: HashSet<u32> = lines.iter().map(|line| line.attempt.1).collect();
    if let Some(number) = numbers.into_iter().find(|number| count(*number, "start") != 1) {
        return Some(format!("attempt {number} was started {} times", count(number, "start")));
    }
    for line in lines {
        let number = line.attempt.1;
        let Some(attempt) = rows.attempts.get(&line.attempt) else { continue };
        if line.worker.is_some() && line.worker != attempt.worker {
            return Some(format!("attempt {number} was run by {:?} as well", line.worker));
        }
        if attempt.end.outcome == "spawn_failed" {
            return Some(format!("attempt {number} ran, though it could not be started"));
        }
    }
    let ends_are_written = side.iter().any(|line| line.event == "end");
    for (number, attempt) in rows.attempts_of(id) {
        if attempt.exit_code.is_some() && count(number, "start") == 0 {
            return Some(format!("attempt {number} has an exit status and never started"));
        }
        if ends_are_written && attempt.succeeded() && count(number, "end") != 1 {
            return Some(format!("attempt {number} succeeded and never came to its end"));
        }
    }
    None
}

/// Once an attempt has started, nothing is heard of an earlier one or of what that left in the background.
fn attempts_do_not_overlap(lines: &[&Line]) -> Option<String> {
    let pair = lines.windows(2).find(|pair| pair[1].attempt < pair[0].attempt)?;
    Some(format!(
        "attempt {} wrote {:?} after the start of {}",
        pair[1].attempt.1, pair[1].event, pair[0].attempt.1
    ))
}

fn a_cancel_holds(id: u64, job: &Job, promises: &Promises, moment: Moment) -> Option<String> {
    let state = job.state.as_str();
    let may_still_run = moment == Moment::Any && state == "running";
    let held = (!promises.cancelled.contains(&id) || state == "cancelled")
        && (!promises.cancel_requested.contains(&id)
            || matches!(state, "cancelled" | "succeeded")
            || may_still_run);
    (!held).then(|| "its cancel was on record".to_owned())
}

fn a_retry_holds(id: u64, job: &Job, promises: &Promises) -> Option<String> {
    let attempts = *promises.retried.get(&id)?;
    let held = job.attempts > attempts || !job.is_finished();
    (!held).then(|| format!("it was put back after {attempts} attempts"))
}

fn acknowledged_jobs_are_there(rows: &Rows, promises: &Promises) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut by_key: HashMap<&str, u64> = HashMap::new();
    for (id, told) in &promises.acknowledged {
        let Some(job) = rows.jobs.get(id) else {
            if !promises.may_be_gone(*id) {
                wrong.push(format!("job {id} was printed and is not there"));
            }
            continue;
        };
        let keys_differ = (told.unique_key.is_some() && told.unique_key != job.unique_key)
            || (told.idempotency_key.is_some() && told.idempotency_key != job.idempotency_key);
        // Another job in its place has its keys.
        let is_replaced = job.replaced_by.is_some();
        if told.name.as_ref().is_some_and(|name| *name != job.name) || keys_differ && !is_replaced {
            let keys = (&job.unique_key, &job.idempotency_key);
            wrong.push(format!("job {id} was printed for {told:?} and is {job:?}, with the keys {keys:?}"));
        }
        let key = told.idempotency_key.as_deref().filter(|_| !is_replaced);
        let other = key.and_then(|key| by_key.insert(key, *id));
        if let Some(other) = other {
            wrong.push(format!("jobs {other} and {id} were both printed for one key: {told:?}"));
        }
    }
    wrong
}

fn batches_are_whole(rows: &Rows, promises: &Promises) -> Vec<String> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for batch in rows.jobs.values().filter_map(|job| job.batch.as_deref()) {
        *sizes.entry(batch).or_default() += 1;
    }
    let there = |batch: &String| sizes.get(batch.as_str()).copied().unwrap_or_default();
    let batches = promises.batches.iter().filter(|_| !promises.prunes);
    let parts = batches.filter(|(batch, size)| ![0, **size].contains(&there(batch)));
    parts
        .map(|(batch, size)| format!("of {size} jobs that were enqueued together {} are there", there(batch)))
        .collect()
}

/// A reported end is recorded, and is the one that was reported.
fn ends_are_as_told(rows: &Rows, promises: &Promises) -> Vec<String> {
    let recorded = |id: &AttemptId| rows.attempts.get(id).map(|attempt| &attempt.end);
    let is_gone = |id: u64| !rows.jobs.contains_key(&id) && promises.may_be_gone(id);
    let ended = promises.ended.iter().filter(|(id, end)| recorded(id) != Some(end) && !is_gone(id.0));
    let lost = promises.lost.iter().filter(|id| recorded(id).is_none() && !is_gone(id.0));
    ended
        .map(|(id, end)| format!("attempt {id:?} was told to be {end:?} and is {:?}", recorded(id)))
        .chain(lost.map(|id| format!("attempt {id:?} was told to be lost and is not recorded")))
        .collect()
}

fn queues_are_paused_as_told(rows: &Rows, promises: &Promises) -> Vec<String> {
    let open = promises.paused.difference(&rows.paused_queues);
    let shut = promises.resumed.intersection(&rows.paused_queues);
    open.map(|queue| format!("queue {queue} was paused and is not"))
        .chain(shut.map(|queue| format!("queue {queue} was resumed and is paused")))
        .collect()
}

fn priorities_are_as_told(rows: &Rows, promises: &Promises) -> Vec<String> {
    let others = promises.priorities.iter().filter_map(|(id, told)| {
        let job = rows.jobs.get(id).filter(|job| job.priority != *told)?;
        Some(format!("job {id} was given priority {told} and has {}", job.priority))
    });
    others.collect()
}

/// By the jobs' own log an attempt runs at least from its first line to its last one.
fn the_side_log_keeps_the_limits(rows: &Rows, side: &[Line]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (queue, limit) in &rows.limits {
        let mut spans: BTreeMap<AttemptId, (usize, usize)> = BTreeMap::new();
        for (at, line) in side.iter().enumerate() {
            // A process that was left in the background is not part of its attempt any more.
            if line.event != "stray" && rows.jobs.get(&line.attempt.0).is_some_and(|job| job.queue == *queue)
            {
                spans.entry(line.attempt).or_insert((at, at)).1 = at;
            }
        }
        for (attempt, (first, _)) in &spans {
            let running = spans.values().filter(|(from, to)| from <= first && first <= to).count();
            if running > *limit {
                wrong.push(format!("{running} attempts of queue {queue} ran when {attempt:?} began"));
            }
        }
    }
    wrong
}

/// All that is known of a job, for the person who has to find out what went wrong.
fn describe(rows: &Rows, id: u64, lines: &[&Line]) -> String {
    let mut told = format!("\n  job {id}, {:?}", rows.jobs.get(&id));
    for (number, Attempt { place_in_budget, end, exit_code, worker, .. }) in rows.attempts_of(id) {
        let _ = write!(
            told,
            "\n    attempt {number}, {place_in_budget} of its budget, {} ({exit_code:?}) by {worker:?}",
            end.outcome
        );
    }
    for Line { event, attempt: (_, number), worker } in lines {
        let _ = write!(told, "\n    log: {event} of attempt {number} by {worker:?}");
    }
    told
}

/// Processes that should have gone. `rows` must have been read before this is called.
///
/// Nothing may be left of an attempt that runner ended, or whose worker died. What an attempt that ended by itself has left
/// in the background may be there until the next attempt starts.
pub fn leftover_processes(rows: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    for Marked { pid, worker, attempt: (id, number) } in marked() {
        let Some(own) = rows.attempts.get(&(id, number)).filter(|own| own.worker.as_ref() == Some(&worker))
        else {
            continue; // it runs, or nobody has dealt with its worker's death yet, or it is of another database
        };
        if !matches!(own.end.outcome.as_str(), "succeeded" | "failed") {
            wrong.push(format!("process {pid} of attempt {number} of job {id} is there after its end"));
        }
        // An attempt begins when all that earlier ones have left is gone.
        let began = |attempt: &Attempt| attempt.started_at.is_some() || attempt.end.outcome == "spawn_failed";
        if rows.attempts_of(id).any(|(later, attempt)| later > number && began(attempt)) {
            wrong
                .push(format!("process {pid} of attempt {number} of job {id} is there after the next began"));
        }
    }
    wrong
}

/// A process that carries the marks of an attempt.
struct Marked {
    pid: i32,
    worker: String,
    attempt: AttemptId,
}

/// Every such process. A zombie shows no environment.
fn marked() -> impl Iterator<Item = Marked> {
    fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let environ = fs::read(entry.path().join("environ")).ok()?;
        let environ = String::from_utf8_lossy(&environ);
        let value = |name: &str| environ.split('\0').find_map(|entry| entry.strip_prefix(name));
        Some(Marked {
            pid,
            worker: value("RUNNER_WORKER_ID=")?.to_owned(),
            attempt: (value("RUNNER_JOB_ID=")?.parse().ok()?, value("RUNNER_ATTEMPT=")?.parse().ok()?),
        })
    })
}
