//! Names the end of an attempt: its outcome and its error code. Of several rules the first that matches wins.

use serde::{Deserialize, Serialize};

use super::{
    AttemptEnd, CANCELLED, EndCause, ErrorCode, ExitCodes, INTERRUPTED, Outcome, SPAWN_FAILED, Status,
    TIMEOUT, WORKER_CRASHED,
};

/// The rules by which a job judges and names exit statuses and signals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRules {
    /// The exit statuses that are a success.
    pub success: Vec<u8>,
    /// The statuses of a success with a warning. None is in both lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warning: Vec<u8>,
    /// The job's own `exit_codes`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub job: ExitCodes,
    /// The file's `exit_codes`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub file: ExitCodes,
    /// The job's `default_error_code`, else the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<ErrorCode>,
}

fn is_empty(codes: &ExitCodes) -> bool {
    codes.0.is_empty()
}

impl Default for ExitRules {
    fn default() -> Self {
        Self {
            success: vec![0],
            warning: Vec::new(),
            job: ExitCodes::default(),
            file: ExitCodes::default(),
            default: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub outcome: Outcome,
    /// None exactly for a success.
    pub code: Option<ErrorCode>,
    /// The name of the warning of a success.
    pub warning: Option<ErrorCode>,
}

impl ExitRules {
    pub fn is_success(&self, exit: i32) -> bool {
        self.success.iter().any(|status| i32::from(*status) == exit)
    }

    pub fn is_warning(&self, exit: i32) -> bool {
        self.warning.iter().any(|status| i32::from(*status) == exit)
    }

    /// The code of a failed attempt that reported none.
    pub fn code_of(&self, status: Status) -> ErrorCode {
        self.mapped(status).or(self.default.as_ref()).cloned().unwrap_or_else(|| match status {
            Status::Exited(exit) => ErrorCode::exit(exit),
            Status::Signaled(number) => ErrorCode::signal(number),
        })
    }

    /// The name of the warning that this exit status means; none if it means none.
    pub fn warning_of(&self, exit: i32) -> Option<ErrorCode> {
        let name = || self.mapped(Status::Exited(exit)).cloned().unwrap_or_else(|| ErrorCode::exit(exit));
        self.is_warning(exit).then(name)
    }

    /// The code that `exit_codes` gives, the job's before the file's.
    fn mapped(&self, status: Status) -> Option<&ErrorCode> {
        let [job, file] = [&self.job, &self.file].map(|codes| match status {
            Status::Exited(exit) => codes.for_exit(exit),
            Status::Signaled(number) => codes.for_signal(number),
        });
        job.or(file)
    }
}

/// Judges the end of an attempt. A code that the job reported only names a failure: a success with a code stays a success, and
/// a warning keeps its name.
pub fn classify(rules: &ExitRules, end: &AttemptEnd) -> Verdict {
    if let (None, Some(Status::Exited(status))) = (end.cause, end.status)
        && (rules.is_success(status) || rules.is_warning(status))
    {
        return Verdict { outcome: Outcome::Succeeded, code: None, warning: rules.warning_of(status) };
    }
    let runners = |outcome, code| (outcome, Some(ErrorCode::built_in(code)));
    let (outcome, code) = match (end.cause, end.status) {
        (Some(EndCause::Cancelled), _) => runners(Outcome::Cancelled, CANCELLED),
        (Some(EndCause::Interrupted), _) => runners(Outcome::Interrupted, INTERRUPTED),
        (Some(EndCause::TimedOut), _) => runners(Outcome::TimedOut, TIMEOUT),
        (Some(EndCause::SpawnFailed(_)), _) => runners(Outcome::SpawnFailed, SPAWN_FAILED),
        // Without cause and status: another process reaped the job, so nobody knows its end.
        (Some(EndCause::WorkerCrashed), _) | (None, None) => runners(Outcome::WorkerCrashed, WORKER_CRASHED),
        (None, Some(status)) => {
            let reported = end.report.error_code.clone();
            (Outcome::Failed, Some(reported.unwrap_or_else(|| rules.code_of(status))))
        }
    };
    Verdict { outcome, code, warning: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ExitEntry, ExitKey, SpawnFailure};
    use crate::text::Timestamp;

    fn codes(entries: &[(&str, &str)]) -> ExitCodes {
        let entry = |(key, code): &(&str, &str)| ExitEntry {
            key: ExitKey::parse(key).unwrap(),
            code: ErrorCode::parse(code).unwrap(),
        };
        ExitCodes(entries.iter().map(entry).collect())
    }

    fn rules() -> ExitRules {
        ExitRules {
            success: vec![0, 3],
            warning: vec![24, 26, 75, 137, 200],
            job: codes(&[("22", "JOB_EXACT"), ("20-29", "JOB_RANGE"), ("SIGKILL", "JOB_SIGNAL")]),
            file: codes(&[
                ("22", "FILE_EXACT"),
                ("75", "FILE_WARNING"),
                ("78", "FILE"),
                ("SIGTERM", "FILE_SIGNAL"),
            ]),
            default: None,
        }
    }

    fn code(rules: &ExitRules, status: Status) -> String {
        let verdict = classify(rules, &AttemptEnd::by_itself(status, Timestamp(0)));
        assert_eq!(verdict.outcome, Outcome::Failed);
        verdict.code.unwrap().to_string()
    }

    #[test]
    fn the_first_rule_that_matches_wins() {
        let mut rules = rules();
        assert_eq!(code(&rules, Status::Exited(22)), "JOB_EXACT");
        assert_eq!(code(&rules, Status::Exited(23)), "JOB_RANGE");
        assert_eq!(code(&rules, Status::Exited(78)), "FILE");
        assert_eq!(code(&rules, Status::Exited(1)), "EXIT_1");
        assert_eq!(code(&rules, Status::Exited(138)), "EXIT_138");
        assert_eq!(code(&rules, Status::Signaled(9)), "JOB_SIGNAL");
        assert_eq!(code(&rules, Status::Signaled(15)), "FILE_SIGNAL");
        assert_eq!(code(&rules, Status::Signaled(11)), "SIGNAL_SEGV");
        assert_eq!(code(&rules, Status::Signaled(34)), "SIGNAL_34");
        rules.default = Some(ErrorCode::parse("FALLBACK").unwrap());
        assert_eq!(code(&rules, Status::Exited(1)), "FALLBACK");
        assert_eq!(code(&rules, Status::Signaled(11)), "FALLBACK");
        assert_eq!(code(&rules, Status::Exited(78)), "FILE");
    }

    /// An end after which the job reported this code.
    fn reporting(code: &str, status: i32) -> AttemptEnd {
        let mut end = AttemptEnd::by_itself(Status::Exited(status), Timestamp(0));
        end.report.error_code = Some(ErrorCode::parse(code).unwrap());
        end
    }

    #[test]
    fn success_is_a_matter_of_the_exit_status_alone() {
        for status in [0, 3] {
            let verdict = classify(&rules(), &reporting("RATE_LIMITED", status));
            assert_eq!(verdict, Verdict { outcome: Outcome::Succeeded, code: None, warning: None });
        }
        let verdict = classify(&rules(), &reporting("RATE_LIMITED", 22));
        assert_eq!(verdict.code.unwrap().as_str(), "RATE_LIMITED");
    }

    #[test]
    fn a_warning_is_a_success_with_the_name_that_exit_codes_give_it() {
        let mut rules = rules();
        rules.default = Some(ErrorCode::parse("FALLBACK").unwrap());
        for (status, name) in
            [(24, "JOB_RANGE"), (26, "JOB_RANGE"), (75, "FILE_WARNING"), (137, "EXIT_137"), (200, "EXIT_200")]
        {
            let verdict = classify(&rules, &reporting("RATE_LIMITED", status));
            let warning = Some(ErrorCode::parse(name).unwrap());
            assert_eq!(verdict, Verdict { outcome: Outcome::Succeeded, code: None, warning });
        }
        let killed = classify(&rules, &AttemptEnd::by_itself(Status::Signaled(9), Timestamp(0)));
        assert_eq!((killed.outcome, killed.warning), (Outcome::Failed, None));
        let timed_out = AttemptEnd { cause: Some(EndCause::TimedOut), ..reporting("OTHER", 24) };
        assert_eq!(classify(&rules, &timed_out).warning, None);
    }

    #[test]
    fn what_runner_began_names_the_ending_whatever_the_process_did() {
        for (cause, code) in [
            (EndCause::Cancelled, "CANCELLED"),
            (EndCause::Interrupted, "INTERRUPTED"),
            (EndCause::WorkerCrashed, "WORKER_CRASHED"),
            (EndCause::TimedOut, "TIMEOUT"),
            (EndCause::SpawnFailed(Some(SpawnFailure::NotFound)), "SPAWN_FAILED"),
        ] {
            let end = AttemptEnd { cause: Some(cause), ..reporting("OTHER", 0) };
            assert_eq!(classify(&rules(), &end).code.unwrap().as_str(), code);
        }
    }
}
