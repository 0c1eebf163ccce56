//! Conditions that nobody can miss when they are gone, and why: something else makes sure of what they say.

use super::conditions::{Guard, spaced};

/// What a statement begins with; and the condition, with what stands before it where that tells it from another.
type Named = (&'static str, &'static str);

/// The oldest of the due jobs in one queue.
const FIRST_DUE: &str =
    "SELECT run_at FROM jobs WHERE state = 'pending' AND queue = ?1 AND priority = ?2 AND run_at <= ?3";

const IMPLIED: [(&str, &[Named]); 10] = [
    (
        "a CHECK: a job has a worker exactly while it runs",
        &[
            ("INSERT INTO live_outputs", "state = 'running'"),
            ("UPDATE jobs SET state = iif(", "state = 'running'"),
            ("UPDATE workers SET ended_at = ?2", "state = 'running'"),
            ("SELECT id FROM jobs WHERE state = 'running' AND worker_id = ?1", "state = 'running'"),
            ("SELECT id, attempts + 1, claimed_at FROM jobs", "state = 'running'"),
            ("SELECT j.definition_id, j.name, j.budget_used", "j.state = 'running'"),
        ],
    ),
    (
        "the same transaction has just seen that it is so; here it is said once more, next to what it protects",
        &[
            ("UPDATE jobs SET state = 'running'", "state = 'pending'"),
            ("UPDATE jobs SET state = ?4", "state = 'running'"),
            ("UPDATE jobs SET state = ?4", "worker_id = ?2"),
            ("UPDATE jobs SET state = ?4", "attempts = ?3 - 1"),
            ("UPDATE jobs SET state = 'cancelled'", "state = 'pending'"),
            ("UPDATE jobs SET cancel_requested_at", "state = 'running'"),
            ("UPDATE jobs SET state = 'pending', run_at = ?2", "state IN ('dead', 'cancelled')"),
            ("UPDATE jobs SET run_at = min(run_at, ?2)", "state = 'pending'"),
            ("UPDATE jobs SET state = 'dead'", "changed_at) WHERE state = 'pending'"),
        ],
    ),
    (
        "the statement that follows asks for it itself; this one finds out cheaply that there is nothing to do",
        &[
            ("SELECT EXISTS (SELECT 1 FROM attempts WHERE finished_at > ?1)", "finished_at > ?1"),
            ("SELECT EXISTS (SELECT 1 FROM attempts WHERE finished_at > ?1)", "enqueued_at > ?1"),
            ("SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1", "state = 'pending'"),
            ("SELECT priority FROM jobs", "state = 'pending'"),
            ("SELECT priority FROM jobs", "queue = ?1"),
            ("SELECT queue FROM jobs", "state = 'pending'"),
            ("SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'pending'", "state = 'pending'"),
            ("SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'pending'", "expires_at IS NOT NULL"),
            ("SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'pending'", "expires_at <= ?1"),
            ("SELECT changed_at, id FROM jobs", "WHERE state = 'cancelled'"),
            ("SELECT changed_at, id FROM jobs", "changed_at <= ?1"),
        ],
    ),
    (
        "what it leaves out, NULL or what is larger, changes no least value; an index needs it",
        &[
            ("SELECT min(expires_at) FROM jobs", "expires_at IS NOT NULL"),
            ("UPDATE jobs SET state = 'dead'", "expires_at IS NOT NULL"),
            ("SELECT run_at FROM jobs", "priority = ?2"),
            (FIRST_DUE, "queue = ?1"),
            ("SELECT count(*) FROM jobs WHERE state = 'pending'", "expires_at IS NOT NULL"),
            ("SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'pending' AND e", "expires_at IS NOT NULL"),
            ("SELECT name, max(expires_at, changed_at) FROM jobs", "expires_at IS NOT NULL"),
        ],
    ),
    (
        "another condition of the statement says more; an index needs this one, or the text that is put together",
        &[
            ("SELECT id FROM definitions", "hash = ?1"),
            ("SELECT a.finished_at, a.job_id, a.number FROM attempts", "a.finished_at <= ?2"),
            ("SELECT a.finished_at, a.job_id, a.number FROM attempts", "?1 IS NOT NULL"),
            ("SELECT a.finished_at, a.job_id, a.number, j.name", "WHERE a.finished_at >= ?1"),
            ("SELECT 0, j.id FROM jobs", "?1 IS NOT NULL"),
            ("SELECT changed_at, id, name, error_code FROM jobs", "changed_at >= ?1"),
        ],
    ),
    (
        "what was found before is removed by now: page follows page, and this spares the way to where it was",
        &[
            ("SELECT changed_at, id FROM jobs", "changed_at >= ?4"),
            ("SELECT changed_at, id FROM jobs", "(changed_at, id) > (?4, ?5)"),
        ],
    ),
    (
        "workers that have ended were looked for, and none begins again",
        &[("DELETE FROM workers", "ended_at IS NOT NULL")],
    ),
    (
        "an attempt that ended in the same millisecond as its job began before the job's last due time: it waited for less
         than nothing, and that is left out",
        &[("SELECT a.finished_at, a.job_id, a.number, j.name", "WHEN a.number = j.attempts")],
    ),
    (
        "it tells of a damaged file alone, and the suite of damage makes such files",
        &[
            ("SELECT EXISTS (SELECT 1 FROM workers", "state = 'running'"),
            ("SELECT EXISTS (SELECT 1 FROM workers", "worker_id = ?1"),
            ("SELECT j.queue, j.id, EXISTS", "id = j.worker_id"),
        ],
    ),
    (
        "an attempt's end removes what was saved while it ran, and nothing is saved for another than the running one",
        &[("INSERT INTO outputs SELECT * FROM live_outputs", "number = ?2")],
    ),
];

/// Every condition that is implied.
pub(super) fn all() -> impl Iterator<Item = &'static Named> {
    IMPLIED.iter().flat_map(|(_, named)| *named)
}

/// Is this the condition?
pub(super) fn is(named: &Named, guard: &Guard) -> bool {
    let (statement, condition) = *named;
    spaced(&guard.sql).starts_with(statement)
        && guard.up_to_it().ends_with(condition)
        && condition.ends_with(&guard.condition())
}
