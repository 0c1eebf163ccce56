//! The dead jobs, as SQL: which these are, when they died, who has done their work since, who waits for them, and what they said
//! last.

use rusqlite::{Connection, Row};

use crate::store::file::error::Result;
use crate::store::write::conditions::has_expired;
use crate::store::write::outputs;
use crate::store::write::same_work::later_success;
use crate::text::{last_said, safe_line};

/// When the job `j` died that is recorded as dead, and when one that [`has_expired`].
pub const DIED_AT: &str = "j.changed_at";
pub const EXPIRED_AT: &str = "max(j.expires_at, j.changed_at)";

/// A query of the dead jobs, the last death first: gives `time` and `id`, and what `columns` makes of the time of the death, of
/// `jobs AS j` and these joins. `?1` is now.
pub fn select(columns: impl Fn(&str) -> String, joins: &str, wanted: &str) -> String {
    let select = |index: &str, is_dead: &str, time: &str, died_at: &str| {
        format!(
            "SELECT {time} AS time, j.id AS id {} FROM jobs AS j INDEXED BY {index} {joins} WHERE {is_dead} AND {wanted}",
            columns(died_at)
        )
    };
    let recorded = select("jobs_finished", "j.state = 'dead'", DIED_AT, DIED_AT);
    // Its index is in this order.
    let unrecorded = select("jobs_expiring", &has_expired("j", "?1"), "j.expires_at", EXPIRED_AT);
    format!("{recorded} UNION ALL {unrecorded} ORDER BY time DESC, id DESC")
}

/// Whether a later run of the job `j`, which died at this time, succeeded.
pub fn has_recovered(died_at: &str) -> String {
    format!("{} IS NOT NULL", later_success(died_at))
}

/// Whether jobs wait for the success of the job `j`.
pub const IS_WAITED_FOR: &str =
    "EXISTS (SELECT 1 FROM dependencies AS x JOIN jobs AS w ON w.id = x.job_id AND w.state = 'pending'
             WHERE x.dependency_id = j.id AND x.kind = 'success' AND NOT x.met)";

/// The columns that [`last_words`] takes of [`LAST_RUN`]: a stream alone, where that does for most outputs, because SQLite reads
/// the length of a stream without the stream.
pub const LAST_WORDS: &str = "a.message, o.job_id AS output_job, o.number AS output_number,
                              CASE WHEN a.message IS NOT NULL THEN NULL
                                   WHEN length(o.stderr) > 0 AND o.stderr_omitted = 0 THEN o.stderr
                                   WHEN o.stderr_omitted + o.stdout_omitted = 0 THEN o.stdout END AS stream";

/// The same for callers that want the message alone.
pub const MESSAGE_ALONE: &str = "a.message, NULL AS output_job, NULL AS output_number, NULL AS stream";

/// The last attempt of a job `j` that has ended, and its output.
pub const LAST_RUN: &str = "LEFT JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts
                            LEFT JOIN outputs AS o ON o.job_id = j.id AND o.number = j.attempts";

/// The message of the last attempt, else the last line that it wrote, made safe.
pub fn last_words(tx: &Connection, row: &Row<'_>) -> Result<String> {
    if let Some(message) = row.get_ref("message")?.as_str_or_null()? {
        return Ok(safe_line(message));
    }
    let of_stream = row.get_ref("stream")?.as_blob_or_null()?.and_then(last_said);
    let last_line = match (of_stream, row.get("output_job")?) {
        (None, Some(job)) => outputs::of(tx, job, row.get("output_number")?)?.last_line(),
        (of_stream, _) => of_stream,
    };
    Ok(last_line.as_deref().map(safe_line).unwrap_or_default())
}
