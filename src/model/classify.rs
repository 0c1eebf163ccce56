//! From the end of an attempt to one error code: the first rule that matches wins.

use serde::{Deserialize, Serialize};

use super::{
    CANCELLED, ErrorCode, Exit, ExitCodes, INTERRUPTED, Outcome, SPAWN_FAILED, Status, StopReason, TIMEOUT,
    WORKER_CRASHED,
};

/// How a job judges and names exit statuses and signals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRules {
    /// The exit statuses that are a success.
    pub success: Vec<u8>,
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
        Self { success: vec![0], job: ExitCodes::default(), file: ExitCodes::default(), default: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub outcome: Outcome,
    /// None exactly for a success.
    pub code: Option<ErrorCode>,
}

impl ExitRules {
    pub fn is_success(&self, exit: i32) -> bool {
        self.success.iter().any(|status| i32::from(*status) == exit)
    }

    /// The code of a failed run that reported none.
    pub fn code_of(&self, status: Status) -> ErrorCode {
        let mapped = |codes: &ExitCodes| {
            match status {
                Status::Exited(exit) => codes.for_exit(exit),
                Status::Signaled(number) => codes.for_signal(number),
            }
            .cloned()
        };
        mapped(&self.job).or_else(|| mapped(&self.file)).or_else(|| self.default.clone()).unwrap_or_else(
            || match status {
                Status::Exited(exit) => ErrorCode::exit(exit),
                Status::Signaled(number) => ErrorCode::signal(number),
            },
        )
    }
}

/// Judges the end of an attempt. `reported` is the job's own code: it names a failure, and never makes one.
pub fn classify(rules: &ExitRules, exit: Exit, reported: Option<&ErrorCode>) -> Verdict {
    let (outcome, code) = match exit {
        Exit { stop_reason: Some(reason), .. } => {
            let (outcome, code) = match reason {
                StopReason::Cancelled => (Outcome::Cancelled, CANCELLED),
                StopReason::Interrupted => (Outcome::Interrupted, INTERRUPTED),
                StopReason::WorkerCrashed => (Outcome::WorkerCrashed, WORKER_CRASHED),
                StopReason::TimedOut => (Outcome::TimedOut, TIMEOUT),
                StopReason::SpawnFailed => (Outcome::SpawnFailed, SPAWN_FAILED),
            };
            (outcome, Some(ErrorCode::built_in(code)))
        }
        Exit { status: Some(Status::Exited(status)), .. } if rules.is_success(status) => {
            (Outcome::Succeeded, None)
        }
        Exit { status: Some(status), .. } => {
            (Outcome::Failed, Some(reported.cloned().unwrap_or_else(|| rules.code_of(status))))
        }
        // A lost worker leaves neither.
        Exit { stop_reason: None, status: None } => {
            (Outcome::WorkerCrashed, Some(ErrorCode::built_in(WORKER_CRASHED)))
        }
    };
    Verdict { outcome, code }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ExitEntry, ExitKey};

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
            job: codes(&[("22", "JOB_EXACT"), ("20-29", "JOB_RANGE"), ("SIGKILL", "JOB_SIGNAL")]),
            file: codes(&[("22", "FILE_EXACT"), ("75", "FILE"), ("SIGTERM", "FILE_SIGNAL")]),
            default: None,
        }
    }

    fn code(rules: &ExitRules, status: Status) -> String {
        let verdict = classify(rules, Exit::by_itself(status), None);
        assert_eq!(verdict.outcome, Outcome::Failed);
        verdict.code.unwrap().to_string()
    }

    #[test]
    fn the_first_rule_that_matches_wins() {
        let mut rules = rules();
        assert_eq!(code(&rules, Status::Exited(22)), "JOB_EXACT");
        assert_eq!(code(&rules, Status::Exited(23)), "JOB_RANGE");
        assert_eq!(code(&rules, Status::Exited(75)), "FILE");
        assert_eq!(code(&rules, Status::Exited(1)), "EXIT_1");
        assert_eq!(code(&rules, Status::Exited(137)), "EXIT_137");
        assert_eq!(code(&rules, Status::Signaled(9)), "JOB_SIGNAL");
        assert_eq!(code(&rules, Status::Signaled(15)), "FILE_SIGNAL");
        assert_eq!(code(&rules, Status::Signaled(11)), "SIGNAL_SEGV");
        assert_eq!(code(&rules, Status::Signaled(34)), "SIGNAL_34");
        rules.default = Some(ErrorCode::parse("FALLBACK").unwrap());
        assert_eq!(code(&rules, Status::Exited(1)), "FALLBACK");
        assert_eq!(code(&rules, Status::Signaled(11)), "FALLBACK");
        assert_eq!(code(&rules, Status::Exited(75)), "FILE");
    }

    #[test]
    fn success_is_a_matter_of_the_exit_status_alone() {
        let reported = ErrorCode::parse("RATE_LIMITED").unwrap();
        for status in [0, 3] {
            let exit = Exit::by_itself(Status::Exited(status));
            let verdict = classify(&rules(), exit, Some(&reported));
            assert_eq!(verdict, Verdict { outcome: Outcome::Succeeded, code: None });
        }
        let exit = Exit::by_itself(Status::Exited(22));
        assert_eq!(classify(&rules(), exit, Some(&reported)).code, Some(reported));
    }

    #[test]
    fn what_runner_began_names_the_ending_whatever_the_process_did() {
        for (reason, code) in [
            (StopReason::Cancelled, "CANCELLED"),
            (StopReason::Interrupted, "INTERRUPTED"),
            (StopReason::WorkerCrashed, "WORKER_CRASHED"),
            (StopReason::TimedOut, "TIMEOUT"),
            (StopReason::SpawnFailed, "SPAWN_FAILED"),
        ] {
            let exit = Exit { stop_reason: Some(reason), status: Some(Status::Exited(0)) };
            let reported = ErrorCode::parse("OTHER").unwrap();
            let verdict = classify(&rules(), exit, Some(&reported));
            assert_eq!(verdict.code.unwrap().as_str(), code);
        }
    }
}
