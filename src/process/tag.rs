//! The tag by which the processes of an attempt are found: variables in the environment that each of them inherits.

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The variable that holds the mark of the attempt. It is not called [`WORKER_MARK`], because a worker of
/// version 1.0 would then read it as the mark of another worker, and leave the process alone. So it finds the process by its
/// group.
const ATTEMPT_MARK: &str = "RUNNER_ATTEMPT_MARK";
/// The variable in which version 1.0 gave every job its worker's own secret.
pub(super) const WORKER_MARK: &str = "RUNNER_MARK";
const JOB: &str = "RUNNER_JOB_ID";
const ATTEMPT: &str = "RUNNER_ATTEMPT";

/// The bytes of a mark: more than anybody can guess.
const MARK_BYTES: usize = 16;

/// What tells that a process belongs to an attempt.
///
/// It holds a secret. The worker's id would not do, because every user of the machine sees it in the names of sockets, and could
/// pass processes off as those of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptTag {
    pub job_id: i64,
    pub attempt: u32,
    secret: Secret,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Secret {
    /// A mark of this attempt alone: a job that runs as another user learns nothing about other attempts from its own.
    OfAttempt(String),
    /// The mark of the worker, which counts only beside the numbers of job and attempt.
    OfWorker(String),
}

impl AttemptTag {
    /// The tag of an attempt whose worker has this secret. The mark is the first half of HMAC-SHA256 (RFC 2104), with the
    /// secret as its key, over the numbers of job and attempt.
    pub fn new(worker_secret: &str, job_id: i64, attempt: u32) -> Self {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(worker_secret.as_bytes()) else {
            unreachable!("HMAC takes a key of any length")
        };
        mac.update(format!("attempt {job_id} {attempt}").as_bytes());
        let bytes = mac.finalize().into_bytes();
        let half = bytes.iter().take(MARK_BYTES).fold(0_u128, |half, byte| half << 8 | u128::from(*byte));
        let mark = format!("{half:032x}");
        Self { job_id, attempt, secret: Secret::OfAttempt(mark) }
    }

    /// The tag of an attempt of a worker of version 1.0.
    pub fn of_version_1_0(worker_mark: &str, job_id: i64, attempt: u32) -> Self {
        Self { job_id, attempt, secret: Secret::OfWorker(worker_mark.to_owned()) }
    }

    /// The variables that the processes of the attempt get.
    pub(super) fn variables(&self) -> [(&'static str, String); 3] {
        let mark = match &self.secret {
            Secret::OfAttempt(mark) => (ATTEMPT_MARK, mark.clone()),
            Secret::OfWorker(mark) => (WORKER_MARK, mark.clone()),
        };
        [mark, (JOB, self.job_id.to_string()), (ATTEMPT, self.attempt.to_string())]
    }
}

/// The marks in the environment of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks<'a> {
    of_attempt: Option<&'a [u8]>,
    /// The worker's mark with the numbers of job and attempt, if all three are there.
    of_worker: Option<(&'a [u8], i64, u32)>,
}

impl<'a> Marks<'a> {
    /// The marks in an environment block with NUL-terminated entries.
    pub fn find(environ: &'a [u8]) -> Self {
        let (mut of_attempt, mut of_worker, mut job_id, mut attempt) = (None, None, None, None);
        for entry in environ.split(|byte| *byte == 0) {
            // The first of two entries counts, as for getenv(3).
            if !entry.starts_with(b"RUNNER_") {
                continue;
            }
            if let Some(value) = value_of(entry, ATTEMPT_MARK) {
                of_attempt = of_attempt.or(Some(value));
            } else if let Some(value) = value_of(entry, WORKER_MARK) {
                of_worker = of_worker.or(Some(value));
            } else if let Some(value) = value_of(entry, JOB) {
                job_id = job_id.or(Some(value));
            } else if let Some(value) = value_of(entry, ATTEMPT) {
                attempt = attempt.or(Some(value));
            }
        }
        let numbered = |mark| Some((mark, exactly(job_id?)?, exactly(attempt?)?));
        Self { of_attempt, of_worker: of_worker.and_then(numbered) }
    }

    /// Whether the process carries the mark of any attempt.
    pub fn is_any(&self) -> bool {
        self.of_attempt.is_some() || self.of_worker.is_some()
    }

    /// Whether the process carries this tag.
    pub fn hold(&self, tag: &AttemptTag) -> bool {
        match &tag.secret {
            Secret::OfAttempt(mark) => self.of_attempt == Some(mark.as_bytes()),
            Secret::OfWorker(mark) => self.of_worker == Some((mark.as_bytes(), tag.job_id, tag.attempt)),
        }
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

    fn environ(tag: &AttemptTag) -> Vec<u8> {
        let mut environ = b"HOME=/\0RUNNER_JOB_NAME=x\0".to_vec();
        for (name, value) in tag.variables() {
            environ.extend_from_slice(format!("{name}={value}\0").as_bytes());
        }
        environ
    }

    #[test]
    fn a_tag_is_found_where_it_was_set() {
        for tag in [AttemptTag::new("secret", 7, 2), AttemptTag::of_version_1_0("w-1", 7, 2)] {
            let mut environ = environ(&tag);
            assert!(Marks::find(&environ).hold(&tag));
            environ.extend_from_slice(b"RUNNER_ATTEMPT=9\0RUNNER_ATTEMPT_MARK=9\0RUNNER_MARK=9\0");
            assert!(Marks::find(&environ).hold(&tag), "the first counts");
        }
    }

    #[test]
    fn a_mark_says_nothing_about_another_attempt_or_its_worker() {
        let tag = AttemptTag::new("secret", 7, 2);
        // printf 'attempt 7 2' | openssl mac -digest SHA256 -macopt key:secret HMAC
        assert_eq!(tag.variables()[0].1, "48df9a8cb92b0ffe8ecaaaf8241c09cd");
        for other in [
            AttemptTag::new("secret", 7, 3),
            AttemptTag::new("secret", 72, 2),
            AttemptTag::new("secreT", 7, 2),
            AttemptTag::of_version_1_0("secret", 7, 2),
        ] {
            assert!(!Marks::find(&environ(&tag)).hold(&other), "{other:?}");
        }
        // Whoever knows one mark cannot pass a process off with the numbers of another attempt.
        let forged =
            String::from_utf8(environ(&tag)).unwrap().replace("RUNNER_ATTEMPT=2", "RUNNER_ATTEMPT=3");
        assert!(!Marks::find(forged.as_bytes()).hold(&AttemptTag::new("secret", 7, 3)));
    }

    #[test]
    fn of_version_1_0_all_three_must_be_there_and_exact() {
        for environ in [
            &b""[..],
            b"RUNNER_MARK=w-1\0RUNNER_JOB_ID=7\0",
            b"RUNNER_MARK=w-1\0RUNNER_JOB_ID=07\0RUNNER_ATTEMPT=2\0",
            b"RUNNER_MARK=w-1\0RUNNER_JOB_ID=+7\0RUNNER_ATTEMPT=2\0",
            b"RUNNER_MARK=w-1\0RUNNER_JOB_ID=7\0RUNNER_ATTEMPT=\0",
            b"XRUNNER_MARK=w-1\0RUNNER_JOB_ID=7\0RUNNER_ATTEMPT=2\0",
        ] {
            assert!(!Marks::find(environ).is_any());
        }
    }
}
