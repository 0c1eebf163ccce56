//! Which jobs do the same work, and which success makes a death good. Whatever lets one job stand for another asks here.
//!
//! Two jobs do the same if they have the same name, label, arguments and job file. A job whose file is unknown, because a program
//! older than 1.2 enqueued it, does the same as any with its name, label and arguments. Some jobs are one of a kind: ad hoc jobs,
//! jobs with arguments and no label, and alerts, each of which tells of its own death.

/// The hash of name, label and arguments of the job with this alias, as SQL; null if it is one of a kind.
pub fn task(job: &str) -> String {
    format!("iif({}, NULL, {job}.task_hash)", is_alert(job))
}

/// Whether a death enqueued the job with this alias, as SQL. Programs older than 1.2 gave alerts a hash like others.
fn is_alert(job: &str) -> String {
    format!(
        "coalesce((SELECT instr(definition, '\"RUNNER_DEAD_JOB_ID\":') FROM job_definitions
                   WHERE id = {job}.definition_id), 0)"
    )
}

/// Whether the files of two jobs are no reason to tell their work apart, as SQL.
fn is_same_file(one: &str, other: &str) -> String {
    format!("coalesce({one}.job_file = {other}.job_file, 1)")
}

/// The id of the newest success that makes the job `j` good, as SQL; null if there is none. `ended_at` is the time at which `j`
/// ended, for one that never started.
///
/// The job that succeeded was enqueued after `j`, and its success came after the first start of `j`. So neither an earlier job that
/// ended or was retried late hides a death, nor one of an evening hides that of a job that is due at night; and a clock that was
/// wrong can only leave a death under needs attention that could go.
pub fn later_success(ended_at: &str) -> String {
    format!(
        "(SELECT s.id FROM jobs AS s INDEXED BY jobs_succeeded WHERE s.state = 'succeeded' AND s.task_hash IS NOT NULL
            AND s.task_hash = {} AND s.changed_at > coalesce(j.started_at, {ended_at}) AND s.id > j.id AND {} AND NOT {}
          ORDER BY s.changed_at DESC LIMIT 1)",
        task("j"),
        is_same_file("s", "j"),
        is_alert("s")
    )
}

/// The unresolved deaths, as SQL: a table `jobs AS j` and its conditions.
pub const UNRESOLVED: &str =
    "jobs AS j INDEXED BY jobs_unresolved WHERE j.state = 'dead' AND j.resolved_at IS NULL";

/// Whether a removal has to leave the succeeded job `jobs`, as SQL: one of these deaths of its work may be good only because of it.
/// A success that is newer in both senses of [`later_success`] would do as well.
pub fn may_make_good(deaths: &[String]) -> String {
    let of_work = |deaths: &String| {
        format!(
            "EXISTS (SELECT 1 FROM {deaths} AND j.name = jobs.name AND j.label IS jobs.label
                                            AND j.task_hash = jobs.task_hash)"
        )
    };
    format!(
        "(jobs.state = 'succeeded' AND jobs.task_hash IS NOT NULL AND ({})
          AND NOT EXISTS (SELECT 1 FROM jobs AS s INDEXED BY jobs_succeeded
                          WHERE s.state = 'succeeded' AND s.task_hash IS NOT NULL AND s.task_hash = jobs.task_hash
                            AND s.changed_at >= jobs.changed_at AND s.id > jobs.id AND s.job_file IS jobs.job_file))",
        deaths.iter().map(of_work).collect::<Vec<_>>().join(" OR ")
    )
}
