//! The promises, one function each.

use std::collections::BTreeMap;

use super::books::Books;
use super::evidence::Evidence;
use super::history;
use super::jobs::{LIMITED, MAX_RUNNING, SCHEDULES};
use super::watch::Seen;
use crate::support::Sandbox;

/// Checks every promise; what is broken is noted in the books.
pub fn everything(sandbox: &Sandbox, books: &Books, seen: &mut Seen, evidence: &Evidence) {
    seen.look(&sandbox.sql(), books);
    history::check(books, evidence);
    acknowledged_jobs_are_there_and_final(books, evidence);
    jobs_that_were_enqueued_together_are_there_together(books, evidence);
    no_queue_exceeds_its_limit(books, evidence);
    a_cancel_on_record_holds(books, evidence);
    each_time_of_a_schedule_made_one_job(sandbox, books);
    no_job_starts_before_what_it_is_after(sandbox, books);
    the_doctor_finds_nothing(sandbox, books);
}

fn acknowledged_jobs_are_there_and_final(books: &Books, evidence: &Evidence) {
    let acknowledged = std::mem::take(&mut books.open().acknowledged);
    for said in &acknowledged {
        let id = said.id;
        let Some(job) = evidence.jobs.get(&id) else {
            books.expect(false, || format!("job {id} was acknowledged and is not there"));
            continue;
        };
        books.expect(job.name == said.name, || format!("job {id} is {} and not {}", job.name, said.name));
        if said.unique_key.is_some() {
            books.expect(job.unique_key == said.unique_key, || {
                format!("job {id} was printed for {:?} and holds {:?}", said.unique_key, job.unique_key)
            });
        }
        if said.idempotency_key.is_some() {
            books.expect(job.idempotency_key == said.idempotency_key, || {
                format!(
                    "job {id} was printed for {:?} and has {:?}",
                    said.idempotency_key, job.idempotency_key
                )
            });
        }
    }
    // Also those whose id nobody got to see: none may be stuck.
    for (id, job) in &evidence.jobs {
        books.expect(matches!(job.state.as_str(), "succeeded" | "dead" | "cancelled"), || {
            format!("this is not final: {}", evidence.tell(*id))
        });
    }
    let jobs = evidence.jobs.len();
    books.expect(acknowledged.len() > jobs / 2, || "hardly any job was acknowledged".to_owned());
}

fn jobs_that_were_enqueued_together_are_there_together(books: &Books, evidence: &Evidence) {
    let lots = std::mem::take(&mut books.open().lots);
    for (number, size) in lots {
        let number = number.to_string();
        let there = evidence.jobs.values().filter(|job| job.lot.as_ref() == Some(&number)).count();
        books.expect(there == 0 || there == size, || {
            format!("of {size} jobs that were enqueued together {there} are there")
        });
    }
}

/// From the first job to the last time there is one job each second, or each minute; none waited for a worker so long that
/// its time was missed.
fn each_time_of_a_schedule_made_one_job(sandbox: &Sandbox, books: &Books) {
    let sql = sandbox.sql();
    for name in SCHEDULES {
        let times: Vec<i64> = sql.all(
            &format!("SELECT scheduled_for FROM jobs WHERE name = '{name}' ORDER BY scheduled_for"),
            |row| row.get(0),
        );
        let pace = if name == "tick-3" { 60_000 } else { 1_000 };
        let wrong = times.windows(2).find(|pair| pair[1] - pair[0] != pace);
        books.expect(wrong.is_none(), || format!("{name} fired for {wrong:?}, one after the other"));
        let last = sql.all(&format!("SELECT last_fired_at FROM schedules WHERE name = '{name}'"), |row| {
            row.get::<_, Option<i64>>(0)
        });
        books.expect(last == [times.last().copied()], || {
            format!("{name} fired last for {last:?}, of {times:?}")
        });
    }
}

/// By the jobs' own log: an attempt runs at least from its first line to its last one.
fn no_queue_exceeds_its_limit(books: &Books, evidence: &Evidence) {
    let mut spans: BTreeMap<(u64, u32), (usize, usize)> = BTreeMap::new();
    for (id, _) in evidence.jobs.iter().filter(|(_, job)| LIMITED.contains(&job.name.as_str())) {
        for line in evidence.lines_of(*id) {
            spans.entry((*id, line.attempt)).or_insert((line.at, line.at)).1 = line.at;
        }
    }
    for ((id, attempt), (first, _)) in &spans {
        let running = spans.values().filter(|(from, to)| from <= first && first <= to).count();
        books.expect(running <= MAX_RUNNING, || {
            format!("{running} attempts of the limited queue ran when attempt {attempt} of job {id} began")
        });
    }
    books.expect(spans.len() > MAX_RUNNING, || "hardly any attempt ran in the limited queue".to_owned());
}

fn no_job_starts_before_what_it_is_after(sandbox: &Sandbox, books: &Books) {
    let sql = sandbox.sql();
    let early = "SELECT a.job_id, a.number FROM dependencies AS d JOIN attempts AS a ON a.job_id = d.job_id
                 WHERE NOT EXISTS (SELECT 1 FROM attempts AS before WHERE before.job_id = d.after_id
                                   AND before.outcome = 'succeeded'
                                   AND before.finished_at <= coalesce(a.started_at, a.finished_at))";
    for (job, attempt) in sql.all(early, |row| Ok((row.get::<_, u64>(0)?, row.get::<_, u32>(1)?))) {
        books.expect(false, || {
            format!("attempt {attempt} of job {job} came before what it is after had succeeded")
        });
    }
    let chained =
        sql.number("SELECT count(*) FROM dependencies AS d JOIN attempts AS a ON a.job_id = d.job_id");
    books.expect(chained > 0, || "no chained job has run".to_owned());
}

fn a_cancel_on_record_holds(books: &Books, evidence: &Evidence) {
    let cancelled = std::mem::take(&mut books.open().cancelled);
    for id in cancelled {
        let state = evidence.jobs.get(&id).map(|job| job.state.as_str());
        books.expect(matches!(state, Some("cancelled" | "succeeded")), || {
            format!("its cancel was on record: {}", evidence.tell(id))
        });
    }
}

fn the_doctor_finds_nothing(sandbox: &Sandbox, books: &Books) {
    let ran = sandbox.run("doctor --json");
    books.expect(ran.ended_well(), || format!("the doctor found something: {ran}"));
    let report = ran.json();
    books.expect(report["workers_dead"] == 0, || format!("dead workers were not dealt with: {report}"));
}
