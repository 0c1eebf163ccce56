//! Values of options: from what was typed to what it means. The errors say what may stand there.

#[cfg(test)]
mod no_panics;
mod times;
mod waits;

use crate::model::{self, JobSpec, JobState, Phase, RetryPolicy};
use crate::store::OnConflict;
use crate::text::Millis;

pub use times::{At, Since};
pub use waits::{backoff, jitter, list};

/// The name of a job or queue.
pub fn name(text: &str) -> Result<String, String> {
    model::check_name(text).map(|()| text.to_owned())
}

/// A key: any text but none.
pub fn key(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("a key is not empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// A priority.
pub fn priority(text: &str) -> Result<i32, String> {
    let most = JobSpec::MOST_PRIORITY;
    text.parse()
        .ok()
        .filter(|priority| (-most..=most).contains(priority))
        .ok_or_else(|| format!("a priority is a whole number from {} to {most}", -most))
}

/// The number of runs.
pub fn max_attempts(text: &str) -> Result<u32, String> {
    let most = RetryPolicy::MOST_ATTEMPTS;
    match text.parse() {
        Ok(0) => {
            Err("0 would be a job that can never run; the first run counts, so 1 means no retry".to_owned())
        }
        Ok(runs) if runs <= most => Ok(runs),
        _ => Err(format!("it is the number of runs, a whole number from 1 to {most}")),
    }
}

/// A number of slots.
pub fn slots(text: &str) -> Result<usize, String> {
    let fits = |slots: &usize| (1..=4_096).contains(slots);
    text.parse().ok().filter(fits).ok_or_else(|| "it is a whole number from 1 to 4096".to_owned())
}

/// A duration that must not be zero.
pub fn above_zero(text: &str) -> Result<Millis, String> {
    match Millis::parse(text)? {
        Millis(0) => Err("it must be longer than zero".to_owned()),
        span => Ok(span),
    }
}

/// The id of a job.
pub fn id(text: &str) -> Result<i64, String> {
    text.parse().ok().filter(|id| *id > 0).ok_or_else(|| "an id is a whole number, 1 or more".to_owned())
}

/// A signal by name or number.
pub fn signal(text: &str) -> Result<i32, String> {
    let upper = text.to_ascii_uppercase();
    model::signal::number(&upper)
        .or_else(|| text.parse().ok().filter(|number| (1..=64).contains(number)))
        .ok_or_else(|| "a signal is a name such as SIGKILL, or a number from 1 to 64".to_owned())
}

/// A state that a job does not leave by itself.
pub fn finished_state(text: &str) -> Result<JobState, String> {
    match JobState::parse(text) {
        Some(state) if state.is_final() => Ok(state),
        None if Phase::parse(text).is_none() => Err("it is succeeded, cancelled or dead".to_owned()),
        _ => Err(format!(
            "a {text} job is not finished, and no job is forgotten: runner cancel calls it off, then it can go"
        )),
    }
}

/// `skip`, `replace` or `error`.
pub fn on_conflict(text: &str) -> Result<OnConflict, String> {
    match text {
        "skip" => Ok(OnConflict::Skip),
        "replace" => Ok(OnConflict::Replace),
        "error" => Ok(OnConflict::Error),
        _ => Err("it is skip, replace or error".to_owned()),
    }
}

/// `7` or `7.2`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobOrAttempt {
    /// The id of the job.
    pub job: i64,
    /// The number of the attempt, if one is named.
    pub attempt: Option<u32>,
}

impl JobOrAttempt {
    /// Reads `ID` or `ID.N`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (job, attempt) = match text.split_once('.') {
            Some((job, attempt)) => {
                let number = attempt.parse().ok().filter(|number| *number > 0);
                (job, Some(number.ok_or_else(|| format!("{attempt:?} is not the number of an attempt"))?))
            }
            None => (text, None),
        };
        Ok(Self { job: id(job)?, attempt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_bounded() {
        assert!(priority("1001").is_err() && priority("-1000").is_ok());
        assert!(max_attempts("0").unwrap_err().contains("never run"));
        assert!(max_attempts("1000001").is_err() && max_attempts("1000000").is_ok());
        assert_eq!(JobOrAttempt::parse("7.2"), Ok(JobOrAttempt { job: 7, attempt: Some(2) }));
        for bad in ["0", "-1", "7.0", "7.", ".2", "x"] {
            assert!(JobOrAttempt::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(signal("kill"), Ok(9));
        assert_eq!(signal("15"), Ok(15));
    }
}
