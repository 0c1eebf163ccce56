//! What must be true of every job's history, by the database and by the side log.

use std::collections::HashMap;

use super::books::Books;
use super::evidence::{Evidence, Job};

/// Checks every job.
pub fn check(books: &Books, evidence: &Evidence) {
    let replays = books.open().replays.clone();
    for (id, job) in &evidence.jobs {
        let id = *id;
        let replays = replays.get(&id).copied().unwrap_or_default();
        let wrong = [
            attempts_are_dense(job),
            a_success_is_the_last(job),
            the_budget_is_kept(job, replays),
            a_job_that_is_not_retryable_runs_once(id, job, replays, evidence),
            the_log_and_the_rows_agree(id, job, evidence),
            attempts_do_not_overlap(id, evidence),
        ];
        for what in wrong.into_iter().flatten() {
            books.expect(false, || format!("{what}: {}", evidence.tell(id)));
        }
    }
    for id in evidence.lines.keys().filter(|id| !evidence.jobs.contains_key(id)) {
        books.expect(false, || format!("job {id} ran and is not there: {}", evidence.tell(*id)));
    }
}

fn attempts_are_dense(job: &Job) -> Option<String> {
    let dense = (1..).zip(&job.attempts).all(|(number, attempt)| attempt.number == number);
    (!dense).then(|| "its attempts are not numbered from 1 without gaps".to_owned())
}

fn a_success_is_the_last(job: &Job) -> Option<String> {
    let before_the_last = job.attempts.iter().rev().skip(1);
    if before_the_last.into_iter().any(|attempt| attempt.outcome == "succeeded") {
        return Some("it went on after its success".to_owned());
    }
    let last = job.attempts.last().is_some_and(|attempt| attempt.outcome == "succeeded");
    (last != (job.state == "succeeded")).then(|| "its state is not that of its last attempt".to_owned())
}

/// Each attempt takes the next place in the budget; only a replay begins a new one, and what was interrupted gives its
/// place to the next.
fn the_budget_is_kept(job: &Job, replays: u32) -> Option<String> {
    let (mut next, mut fresh) = (1, 0);
    for attempt in &job.attempts {
        if attempt.budget_number > job.runs {
            return Some(format!("attempt {} is beyond the budget of {}", attempt.number, job.runs));
        }
        match attempt.budget_number {
            place if place == next => {}
            1 => fresh += 1,
            place => return Some(format!("attempt {} took place {place}, not {next}", attempt.number)),
        }
        next = attempt.budget_number + u32::from(attempt.outcome != "interrupted");
    }
    (fresh > replays).then(|| format!("it began {fresh} new budgets, and was put back {replays} times"))
}

fn a_job_that_is_not_retryable_runs_once(
    id: u64,
    job: &Job,
    replays: u32,
    evidence: &Evidence,
) -> Option<String> {
    let starts = evidence.lines_of(id).iter().filter(|line| line.what == "start").count();
    (!job.retryable && starts > 1 + replays as usize)
        .then(|| format!("it is not retryable, started {starts} times and was put back {replays} times"))
}

fn the_log_and_the_rows_agree(id: u64, job: &Job, evidence: &Evidence) -> Option<String> {
    let mut started: HashMap<u32, usize> = HashMap::new();
    for line in evidence.lines_of(id) {
        let Some(attempt) = job.attempts.iter().find(|attempt| attempt.number == line.attempt) else {
            return Some(format!("attempt {} ran and is not recorded", line.attempt));
        };
        if attempt.worker != line.worker {
            return Some(format!("attempt {} was run by {} as well", line.attempt, line.worker));
        }
        if attempt.outcome == "spawn_failed" {
            return Some(format!("attempt {} ran, though it could not be started", line.attempt));
        }
        if line.what == "start" {
            *started.entry(line.attempt).or_default() += 1;
        }
    }
    if let Some((attempt, times)) = started.iter().find(|(_, times)| **times > 1) {
        return Some(format!("attempt {attempt} was started {times} times"));
    }
    for attempt in &job.attempts {
        let number = attempt.number;
        if attempt.exit_code.is_some() && !started.contains_key(&number) {
            return Some(format!("attempt {number} has an exit status and never started"));
        }
        if attempt.outcome == "succeeded" && evidence.count(id, number, "end") != 1 {
            return Some(format!("attempt {number} succeeded and never came to its end"));
        }
    }
    None
}

/// Once an attempt has started nothing is heard of an earlier one, nor of what it left in the background.
fn attempts_do_not_overlap(id: u64, evidence: &Evidence) -> Option<String> {
    let mut newest = 0;
    for line in evidence.lines_of(id) {
        if line.attempt < newest {
            return Some(format!(
                "attempt {} wrote {:?} after the start of {newest}",
                line.attempt, line.what
            ));
        }
        newest = line.attempt;
    }
    None
}
