//! What must be so after a fault: at once, and after a worker has gone on without any.

use std::collections::HashMap;
use std::path::Path;

use runner::store::Store;

use super::play::Played;
use super::scenes::{Place, Scene, input};
use crate::power::promises::start_of;
use crate::power::rows::Rows;
use crate::power::scenario::runs_once;
use crate::support::{Finished, Sql};
use crate::tools::audit;

/// The documented exit statuses.
const STATUSES: [i32; 11] = [0, 1, 2, 65, 66, 70, 73, 74, 75, 76, 77];

/// The exit status of a worker that was asked to stop before it was done.
const CUT_SHORT: i32 = 128 + 15;

/// What is wrong.
pub fn judge(place: &Place, scene: &Scene, fault: &str, played: &Played, jobs_before: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let ran = &played.ran;
    if played.hung {
        wrong.push(format!("it hung: {ran}"));
    } else {
        ended_as_it_may(ran, played.stopped, &mut wrong);
    }
    if played.stopped && ran.stderr.is_empty() {
        wrong.push(format!("it did not go on, and did not say why: {ran}"));
    }
    let rows = match look(&place.db()) {
        Ok(rows) => rows,
        Err(why) => return [wrong, vec![why]].concat(),
    };
    answer_is_true(scene, ran, &rows, jobs_before, &mut wrong);
    if scene.name == "backup" && ran.ended_well() {
        match look(&place.path("copy.db")) {
            Ok(copy) if copy.jobs.len() == rows.jobs.len() => {}
            Ok(_) => wrong.push("the copy is not whole".to_owned()),
            Err(why) => wrong.push(format!("the copy: {why}")),
        }
    }
    let ran = place.call("work -j4 --drain -q").run();
    if !ran.stderr.is_empty() || !matches!(ran.status(), Some(0 | 1)) {
        wrong.push(format!("the worker after it complained: {ran}"));
    }
    match look(&place.db()) {
        Ok(later) => {
            wrong.extend(rows.not_in(&later));
            wrong.extend(history_is_true(place, &later));
            if !is_a_reason_to_fail(fault) {
                wrong.extend(nobody_failed_for_it(&later));
            }
        }
        Err(why) => wrong.push(why),
    }
    wrong
}

fn ended_as_it_may(ran: &Finished, stopped: bool, wrong: &mut Vec<String>) {
    if ran.stderr.contains("panicked at") {
        wrong.push(format!("it panicked: {ran}"));
    } else if !(ran.status().is_some_and(|status| STATUSES.contains(&status))
        || stopped && ran.status() == Some(CUT_SHORT))
    {
        wrong.push(format!("it ended with no documented status: {ran}"));
    } else if !matches!(ran.status(), Some(0 | 1)) && ran.stderr.trim().is_empty() {
        wrong.push(format!("it does not say why: {ran}"));
    }
}

fn look(db: &Path) -> Result<Rows, String> {
    audit(db, Store::open_or_create)?;
    Rows::read(db).map_err(|error| format!("it cannot be read: {error}"))
}

/// What was printed is so; who is told that nothing happened is told the truth.
fn answer_is_true(scene: &Scene, ran: &Finished, rows: &Rows, before: usize, wrong: &mut Vec<String>) {
    let added = rows.jobs.len() - before;
    if scene.line.starts_with("enqueue") {
        // What was printed in part is no id.
        let whole = ran.stdout.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let printed: Vec<u64> = whole.lines().map(|line| line.parse().expect("an id")).collect();
        for id in printed.iter().filter(|id| !rows.jobs.contains_key(id)) {
            wrong.push(format!("job {id} was printed and is not there: {ran}"));
        }
        if ran.ended_well() && printed.len() != scene.adds {
            wrong.push(format!("it ended well and printed {} ids: {ran}", printed.len()));
        }
        if added != 0 && added != scene.adds {
            wrong.push(format!("{added} of {} jobs were added: {ran}", scene.adds));
        }
        if added != 0
            && !ran.ended_well()
            && !["is on disk", "are on disk"].iter().any(|w| ran.stderr.contains(w))
        {
            wrong.push(format!("jobs were added, and nobody is told: {ran}"));
        }
    } else if added > scene.adds {
        wrong.push(format!("{added} jobs came out of nowhere: {ran}"));
    }
    if !ran.ended_well() {
        return;
    }
    let kept = match scene.name {
        "cancel" => rows.jobs[&1].state == "cancelled",
        "retry" => rows.jobs[&2].state == "pending",
        "fire" => added == 1,
        "pause" => rows.paused.iter().any(|queue| queue == "later"),
        _ => true,
    };
    if !kept {
        wrong.push(format!("it ended well and did not do it: {ran}"));
    }
}

/// A job may not be started, or what it needs cannot be opened, and that will not pass.
fn is_a_reason_to_fail(fault: &str) -> bool {
    let errno = fault.split(':').nth(3).and_then(|errno| errno.parse().ok());
    match fault.split(':').next() {
        Some("open") => [Some(libc::EACCES), Some(libc::EIO)].contains(&errno),
        Some("spawn") => errno == Some(libc::EPERM),
        _ => false,
    }
}

/// That something was lacking, or that a worker ended over it, is no reason for a job to fail for good.
fn nobody_failed_for_it(rows: &Rows) -> Vec<String> {
    let well = |name: &str| ["good", "reader", "held"].contains(&name);
    let failed = rows.jobs.iter().filter(|(_, job)| well(&job.name) && job.state == "dead");
    failed.map(|(id, job)| format!("job {id} failed for it: {job:?}")).collect()
}

/// Every job has come to an end, and what the jobs themselves have noted agrees with the history.
fn history_is_true(place: &Place, rows: &Rows) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, job) in &rows.jobs {
        if !["succeeded", "dead", "cancelled"].contains(&job.state.as_str()) {
            wrong.push(format!("job {id} is not finished: {job:?}"));
        }
    }
    let mut starts: HashMap<u64, Vec<u32>> = HashMap::new();
    for (id, number) in place.side().lines().map(start_of) {
        starts.entry(id).or_default().push(number);
    }
    for (id, numbers) in &mut starts {
        let Some(job) = rows.jobs.get(id) else {
            wrong.push(format!("job {id} ran and is not there"));
            continue;
        };
        if runs_once(&job.name) && numbers.len() > 1 {
            wrong.push(format!("job {id} may run once, and began as attempts {numbers:?}"));
        }
        let times = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() != times {
            wrong.push(format!("an attempt of job {id} began twice: {numbers:?}"));
        }
        for number in numbers.iter().filter(|number| !rows.attempts.contains_key(&(*id, **number))) {
            wrong.push(format!("attempt {number} of job {id} began and is not recorded"));
        }
    }
    let sql = Sql::open(&place.db());
    let succeeded = sql.all(
        "SELECT a.job_id, a.number, j.name, CAST(o.stdout AS TEXT) FROM attempts AS a JOIN jobs AS j ON j.id = a.job_id
         LEFT JOIN outputs AS o ON o.job_id = a.job_id AND o.number = a.number WHERE outcome = 'succeeded'",
        |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?, row.get::<_, Option<String>>(3)?)),
    );
    for (id, number, name, output) in succeeded {
        if !starts.get(&id).is_some_and(|numbers| numbers.contains(&number)) {
            wrong.push(format!("attempt {number} of job {id} succeeded and never began"));
        }
        let expected = match name.as_str() {
            "good" => "fine\n".to_owned(),
            "reader" => format!("{}\n", input().len()),
            _ => continue,
        };
        if output.as_ref() != Some(&expected) {
            wrong.push(format!("attempt {number} of job {id} ({name}) wrote {expected:?}, not {output:?}"));
        }
    }
    wrong
}
