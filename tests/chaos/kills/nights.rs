//! The promises of `runner run`: its jobs are its own while it lives, and the next call of the same line finishes what a dead one
//! has left.

use super::jobs::{NIGHTLY, NIGHTS};
use super::traffic::Shared;
use crate::evidence::Rows;
use crate::support::Sandbox;

/// What no history of `run` and workers shows, each with a query that finds it.
const NEVER: [(&str, &str); 4] = [
    (
        "a job in the queue that no worker takes from was started by one",
        "SELECT a.job_id FROM attempts AS a JOIN jobs AS j ON j.id = a.job_id JOIN workers AS w ON w.id = a.worker_id
         WHERE j.queue = 'nights' AND w.queues IS NOT '[]'",
    ),
    (
        "a run started a job that it was not called for",
        "SELECT a.job_id FROM attempts AS a JOIN jobs AS j ON j.id = a.job_id JOIN workers AS w ON w.id = a.worker_id
         WHERE j.name NOT LIKE 'nightly%' AND w.queues IS '[]'",
    ),
    // A call that had begun before the job was there may have taken it on from the one that enqueued it.
    (
        "somebody else started a job while the run that had enqueued it was there",
        "SELECT a.job_id FROM attempts AS a JOIN jobs AS j ON j.id = a.job_id JOIN workers AS r ON r.id = j.run_worker_id
         WHERE a.worker_id <> r.id AND r.started_at <= j.enqueued_at
           AND a.started_at < coalesce(r.ended_at, a.started_at + 1)
           AND NOT EXISTS (SELECT 1 FROM workers AS o
                           WHERE o.run_job_id = j.id AND o.id <> r.id AND o.started_at <= j.enqueued_at)",
    ),
    (
        "a line enqueued a job while an earlier one of it had not ended",
        "SELECT later.id FROM jobs AS later JOIN jobs AS earlier ON earlier.name = later.name AND earlier.id < later.id
         WHERE later.queue = 'nights' AND earlier.changed_at > later.enqueued_at",
    ),
];

/// All calls and workers are dead. Calls each line once more, and looks for what that has left, before any worker can.
pub fn check_without_worker(sandbox: &Sandbox, shared: &Shared) {
    for name in NIGHTLY {
        let ran = sandbox.run(&format!("run {name} --json"));
        shared.expect(ran.ended_well(), || format!("the last call of a line failed: {ran}"));
        shared.note_night(&ran.stdout);
    }
    let sql = sandbox.sql();
    let left = sql.number(&format!(
        "SELECT count(*) FROM jobs WHERE queue = '{NIGHTS}' AND state IN ('pending', 'running')"
    ));
    shared.expect(left == 0, || format!("{left} jobs are left when each line was called once more"));
    for (what, query) in NEVER {
        let ids: Vec<u64> = sql.all(query, |row| row.get(0));
        shared.expect(ids.is_empty(), || format!("{what}: {ids:?}"));
    }
    // A run in which little happened would prove little.
    let gone_on = sql.number(&format!(
        "SELECT count(*) FROM jobs AS j WHERE queue = '{NIGHTS}' AND state = 'succeeded'
         AND (SELECT count(DISTINCT worker_id) FROM attempts WHERE job_id = j.id) > 1"
    ));
    shared.expect(gone_on > 0, || "no run went on with what a dead one had left".to_owned());
    println!("{gone_on} jobs were finished by a later run than the one that began them");
}

/// A job that a `run` has told to be over is as it was told.
pub fn check_ends(rows: &Rows, shared: &Shared) {
    for (id, state) in shared.nights().iter() {
        let job = rows.jobs.get(id);
        shared.expect(job.is_some_and(|job| job.state == *state), || {
            format!("job {id} was told to be {state} and is {job:?}")
        });
    }
}
