//! Conditions on a job that many statements have, as SQL. `job` is the name that a statement gives to the row of the job, `now` the
//! parameter with the time.

use crate::store::file::schema;

/// Whether this program knows all that the row of `jobs` or `schedules` needs. Else it leaves the row to newer programs.
pub fn is_known(row: &str) -> String {
    format!("{row}.needs_version <= {}", schema::known().version().0)
}

/// Whether the pending job has expired by now. Such a job is dead, even if nobody has recorded that yet.
pub fn has_expired(job: &str, now: &str) -> String {
    // The first two are the condition of the index `jobs_expiring`.
    format!("{job}.state = 'pending' AND {job}.expires_at IS NOT NULL AND {job}.expires_at <= {now}")
}

/// When the job died that has expired: not before its last change.
pub fn expired_at(job: &str) -> String {
    format!("max({job}.expires_at, {job}.changed_at)")
}

/// Whether the job is pending and has not expired by now. Where `now` is null, an expiry counts once it is recorded.
pub fn is_pending(job: &str, now: &str) -> String {
    format!("{job}.state = 'pending' AND coalesce({job}.expires_at > {now}, 1)")
}

/// Whether the pending job waits for no other one. This is the condition of the index `jobs_claimable`.
pub fn is_unblocked(job: &str) -> String {
    format!("{job}.state = 'pending' AND {job}.unmet_dependencies = 0")
}

/// Whether the pending job waits for others. This is the condition of the index `jobs_blocked`.
pub fn is_blocked(job: &str) -> String {
    format!("{job}.state = 'pending' AND {job}.unmet_dependencies > 0")
}

/// Whether the job is due, waits for no other one, and has not expired. Its queue, a pause, a living `run` that it belongs to, or a
/// program that is too old may still keep it from starting.
pub fn is_ready(job: &str, now: &str) -> String {
    format!("{} AND {job}.unmet_dependencies = 0 AND {job}.run_at <= {now}", is_pending(job, now))
}

/// Whether the job waits for no other one, and is due later.
pub fn is_due_later(job: &str, now: &str) -> String {
    format!("{} AND {job}.unmet_dependencies = 0 AND {job}.run_at > {now}", is_pending(job, now))
}

pub fn is_running(job: &str) -> String {
    format!("{job}.state = 'running'")
}

/// Whether the job is running, or pending and has not expired by now.
pub fn is_unfinished_at(job: &str, now: &str) -> String {
    format!("({} OR {})", is_running(job), is_pending(job, now))
}

/// Whether the job is pending or running, as it is recorded. This is a condition of the index `jobs_unique_key`.
pub fn is_unfinished(job: &str) -> String {
    format!("{job}.state IN ('pending', 'running')")
}

/// The unfinished job `h` that holds the unique key of the job `j`, which is another one.
pub const KEY_HOLDER: &str = "jobs AS h WHERE h.unique_key = j.unique_key AND h.unique_key IS NOT NULL
    AND h.state IN ('pending', 'running') AND h.id <> j.id";
