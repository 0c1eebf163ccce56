//! What a job's command finds in its environment.

use std::ffi::OsString;
use std::path::Path;

use crate::model::ErrorCode;
use crate::store::Claim;

/// The variables of the contract, section 5.
pub(super) fn variables(
    claim: &Claim,
    worker_id: &str,
    db: &Path,
    report: &Path,
) -> Vec<(OsString, OsString)> {
    let runs = claim.spec.policy.runs();
    let last = claim.last_error_code.as_ref().map_or("", ErrorCode::as_str);
    let text = |name: &str, value: String| (OsString::from(name), OsString::from(value));
    vec![
        text("RUNNER_JOB_ID", claim.job_id.to_string()),
        text("RUNNER_JOB_NAME", claim.spec.name.clone()),
        text("RUNNER_ATTEMPT", claim.number.to_string()),
        text("RUNNER_MAX_ATTEMPTS", runs.to_string()),
        text("RUNNER_ATTEMPTS_LEFT", runs.saturating_sub(claim.budget_number).to_string()),
        text("RUNNER_LAST_ERROR_CODE", last.to_owned()),
        text("RUNNER_QUEUE", claim.queue.clone()),
        text("RUNNER_WORKER_ID", worker_id.to_owned()),
        (OsString::from("RUNNER_DB"), db.as_os_str().to_owned()),
        (OsString::from("RUNNER_REPORT"), report.as_os_str().to_owned()),
    ]
}
