//! Conditions on a job that many statements have, as SQL. `job` is the name that a statement gives to the row of the job, `now` the
//! parameter with the time.

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
