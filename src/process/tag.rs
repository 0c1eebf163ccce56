//! The tag that all processes of an attempt carry in their environment.

use std::fmt;
use std::str::FromStr;

const WORKER: &str = "RUNNER_WORKER_ID";
const JOB: &str = "RUNNER_JOB_ID";
const ATTEMPT: &str = "RUNNER_ATTEMPT";

/// Three variables that every process of an attempt inherits.
///
/// The worker's id is random and never reused, so job 1 of another database is never taken for ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AttemptTag {
    pub worker_id: String,
    pub job_id: i64,
    pub attempt: u32,
}

impl AttemptTag {
    pub(super) fn variables(&self) -> [(&'static str, String); 3] {
        [
            (WORKER, self.worker_id.clone()),
            (JOB, self.job_id.to_string()),
            (ATTEMPT, self.attempt.to_string()),
        ]
    }

    /// The tag in an environment block with NUL-terminated entries; none unless all three variables are set.
    pub(super) fn find(environ: &[u8]) -> Option<Self> {
        let (mut worker_id, mut job_id, mut attempt) = (None, None, None);
        for entry in environ.split(|byte| *byte == 0) {
            // The first of two entries counts, as for getenv(3).
            if !entry.starts_with(b"RUNNER_") {
                continue;
            }
            if let Some(value) = value_of(entry, WORKER) {
                worker_id = worker_id.or(Some(value));
            } else if let Some(value) = value_of(entry, JOB) {
                job_id = job_id.or(Some(value));
            } else if let Some(value) = value_of(entry, ATTEMPT) {
                attempt = attempt.or(Some(value));
            }
        }
        Some(Self {
            worker_id: std::str::from_utf8(worker_id?).ok()?.to_owned(),
            job_id: exactly(job_id?)?,
            attempt: exactly(attempt?)?,
        })
    }
}

fn value_of<'a>(entry: &'a [u8], name: &str) -> Option<&'a [u8]> {
    entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// A number exactly as runner writes it: not `007`, not `+7`.
fn exactly<T: FromStr + fmt::Display>(value: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(value).ok()?;
    let number: T = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag() -> AttemptTag {
        AttemptTag { worker_id: "w-1".into(), job_id: 7, attempt: 2 }
    }

    #[test]
    fn it_reads_back_as_it_was_set() {
        let mut environ = b"HOME=/\0RUNNER_JOB_NAME=x\0".to_vec();
        for (name, value) in tag().variables() {
            environ.extend_from_slice(format!("{name}={value}\0").as_bytes());
        }
        assert_eq!(AttemptTag::find(&environ), Some(tag()));
        environ.extend_from_slice(b"RUNNER_ATTEMPT=9\0");
        assert_eq!(AttemptTag::find(&environ), Some(tag()), "the first counts");
    }

    #[test]
    fn all_three_must_be_there_and_exact() {
        for environ in [
            &b""[..],
            b"RUNNER_WORKER_ID=w-1\0RUNNER_JOB_ID=7\0",
            b"RUNNER_WORKER_ID=w-1\0RUNNER_JOB_ID=07\0RUNNER_ATTEMPT=2\0",
            b"RUNNER_WORKER_ID=w-1\0RUNNER_JOB_ID=+7\0RUNNER_ATTEMPT=2\0",
            b"RUNNER_WORKER_ID=w-1\0RUNNER_JOB_ID=7\0RUNNER_ATTEMPT=\0",
            b"XRUNNER_WORKER_ID=w-1\0RUNNER_JOB_ID=7\0RUNNER_ATTEMPT=2\0",
        ] {
            assert_eq!(AttemptTag::find(environ), None);
        }
    }
}
