//! Parses the values of options and of batch lines. The errors list the allowed values.

use std::env;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStringExt;

use crate::call_target::to_type;
use crate::model::{
    self, Backoff, Bytes, DeadReason, Jitter, JobDefinition, JobState, Limits, RetryPolicy, Strategy,
    WholeNumber,
};
use crate::store::OnConflict;
use crate::text::{Millis, did_you_mean, is_word};

/// The name of a job or queue.
pub fn name(text: &str) -> Result<String, String> {
    model::check_name(text).map(|()| text.to_owned())
}

/// A note: any text that is not blank.
pub fn nonempty(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it must not be empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// A unique or idempotency key.
pub fn key(text: &str) -> Result<String, String> {
    model::check_key(text).map(|()| text.to_owned())
}

/// A label.
pub fn label(text: &str) -> Result<String, String> {
    model::check_label(text).map(|()| text.to_owned())
}

/// A label to look for, or nothing for jobs without one.
pub fn selected_label(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Ok(String::new())
    } else {
        model::check_stored_label(text).map(|()| text.to_owned())
    }
}

pub fn dead_reason(text: &str) -> Result<DeadReason, String> {
    DeadReason::parse(text).ok_or_else(|| {
        let all: Vec<_> = DeadReason::ALL.iter().map(|reason| reason.as_str()).collect();
        let near = did_you_mean(text, all.iter().copied());
        format!("a job is dead for one of these reasons: {}{near}", all.join(", "))
    })
}

pub fn priority(text: &str) -> Result<i32, String> {
    whole_number("priority", &(-JobDefinition::MAX_PRIORITY..=JobDefinition::MAX_PRIORITY), text)
}

/// A number in this range; `what` is its name in the error.
pub fn whole_number<N: WholeNumber>(what: &str, range: &RangeInclusive<N>, text: &str) -> Result<N, String> {
    let number = text.parse().ok().and_then(|number: i64| N::try_from(number).ok());
    let taken = number.filter(|number| range.contains(number));
    taken.ok_or_else(|| format!("a {what} is a whole number from {} to {}", range.start(), range.end()))
}

pub fn max_attempts(text: &str) -> Result<u32, String> {
    let max = RetryPolicy::MAX_ATTEMPTS;
    match text.parse() {
        Ok(0) => {
            Err("0 would be a job that can never run; the first attempt counts, so 1 means no retry"
                .to_owned())
        }
        Ok(attempts) if attempts <= max => Ok(attempts),
        _ => Err(format!("it is the number of attempts, a whole number from 1 to {max}")),
    }
}

pub fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it is a whole number, 0 or more".to_owned())
}

pub fn slots(text: &str) -> Result<usize, String> {
    let fits = |slots: &usize| (1..=4_096).contains(slots);
    text.parse().ok().filter(fits).ok_or_else(|| "it is a whole number from 1 to 4096".to_owned())
}

/// The number of attempts of a queue at once.
pub fn max_running(text: &str) -> Result<u32, String> {
    let max = Limits::MAX_RUNNING;
    match text.parse() {
        Ok(0) => {
            Err(format!("0 would be a queue that never starts a job; {} holds one", to_type("pause", "")))
        }
        Ok(most) if most <= max => Ok(most),
        _ => Err(format!("it is the number of attempts at once, a whole number from 1 to {max}")),
    }
}

/// An exit status.
pub fn exit_status(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "an exit status is a whole number from 0 to 255".to_owned())
}

/// The exit statuses that are a success: `0,24`.
pub fn successes(text: &str) -> Result<Vec<u8>, String> {
    let list = warnings(text)?;
    if list.is_empty() { Err("with an empty list no attempt could succeed".to_owned()) } else { Ok(list) }
}

/// The exit statuses that are a success with a warning; an empty text stands for none.
pub fn warnings(text: &str) -> Result<Vec<u8>, String> {
    let mut list = Vec::new();
    for word in text.split(',').filter(|_| !text.is_empty()) {
        let status = exit_status(word.trim())?;
        if list.contains(&status) {
            return Err(format!("{status} is given twice"));
        }
        list.push(status);
    }
    Ok(list)
}

/// How long ago a job finished. The hint for a bare number offers days first, because most people mean days.
pub fn age(text: &str) -> Result<Millis, String> {
    if is_digits(text) {
        return Err(format!("{text:?} has no unit; write \"{text}d\" for days or \"{text}h\" for hours"));
    }
    Millis::parse(text)
}

/// A duration that must not be zero.
pub fn above_zero(text: &str) -> Result<Millis, String> {
    match Millis::parse(if text.trim() == "0" { "0s" } else { text })? {
        Millis(0) => Err("it must be longer than zero".to_owned()),
        span => Ok(span),
    }
}

/// The id of a job.
pub fn id(text: &str) -> Result<i64, String> {
    text.parse()
        .ok()
        .filter(|id| *id > 0)
        .ok_or_else(|| "an id is a whole number, 1 or more, as enqueue and inspect jobs print it".to_owned())
}

/// A signal that can end a process, by name or number.
pub fn fatal_signal(text: &str) -> Result<i32, String> {
    let upper = text.to_ascii_uppercase();
    let number = model::signal::number(&upper)
        .or_else(|| text.parse().ok().filter(|number| (1..=64).contains(number)))
        .ok_or_else(|| "a signal is a name such as SIGKILL, or a number from 1 to 64".to_owned())?;
    if !model::signal::is_fatal(number) {
        return Err(format!(
            "{} ends no process: it stops or resumes one, or is ignored",
            model::signal::name(number)
        ));
    }
    Ok(number)
}

/// A final state.
pub fn finished_state(text: &str) -> Result<JobState, String> {
    match JobState::parse(text) {
        Some(state) if state.is_final() => Ok(state),
        _ => Err("it is succeeded, cancelled or dead".to_owned()),
    }
}

/// `skip`, `replace` or `error`.
pub fn on_conflict(text: &str) -> Result<OnConflict, String> {
    match text {
        "skip" => Ok(OnConflict::Skip),
        "replace" => Ok(OnConflict::Replace),
        "error" => Ok(OnConflict::Error),
        _ => {
            let near = did_you_mean(text, ["skip", "replace", "error"]);
            Err(format!("it is skip, replace or error{near}"))
        }
    }
}

/// `true`, `false`, a fraction, or a duration.
pub fn jitter(text: &str) -> Result<Jitter, String> {
    match text {
        "true" => return Ok(Jitter::DEFAULT),
        "false" => return Ok(Jitter::NONE),
        _ => {}
    }
    match text.parse::<f64>() {
        Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok(Jitter::Fraction(fraction)),
        Ok(_) => Err("a jitter without a unit is a fraction of the delay, from 0 to 1".to_owned()),
        Err(_) if is_word(text) => {
            let near = did_you_mean(text, ["true", "false"]);
            Err(format!(
                "{text:?} is neither true, false, a fraction of the delay from 0 to 1 nor a duration such as 100ms{near}"
            ))
        }
        Err(_) => Millis::parse(text).map(Jitter::Absolute),
    }
}

/// `30s`, `5s,1m,10m`, `exponential`, `linear`, `constant`, `exponential:INITIAL[:MULTIPLIER[:MAX]]` or `linear:DELAY[:MAX]`.
pub fn backoff(text: &str) -> Result<Backoff, String> {
    let mut parts = text.split(':');
    let strategy = match (parts.next(), parts.next()) {
        (Some("exponential"), Some(initial)) => Strategy::Exponential {
            initial: Millis::parse(initial)?,
            multiplier: parts.next().map_or(Ok(Strategy::EXPONENTIAL_MULTIPLIER), multiplier)?,
            max: parts.next().map_or(Ok(Strategy::MAX), Millis::parse)?,
        },
        (Some("linear"), Some(delay)) => Strategy::Linear {
            delay: Millis::parse(delay)?,
            max: parts.next().map_or(Ok(Strategy::MAX), Millis::parse)?,
        },
        (Some("fixed"), delay) | (Some("constant"), delay @ Some(_)) => {
            let delay = delay.filter(|delay| Millis::parse(delay).is_ok()).unwrap_or("30s");
            return Err(format!(
                "{text:?} is not a strategy; write {delay} for the same delay each time, or 5s,1m,10m for given delays"
            ));
        }
        (Some(other), Some(_)) => return Err(no_strategy(other)),
        _ if text.contains(',') => list(text.split(','))?,
        (Some(word), None) if let Some(strategy) = Strategy::named(word) => strategy,
        (Some(word), None) if is_word(word) => return Err(no_strategy(word)),
        _ => Strategy::Constant { delay: Millis::parse(text)? },
    };
    if let Some(beyond) = parts.next() {
        return Err(format!("there is nothing that {beyond:?} could stand for"));
    }
    if let Some((first, max)) = strategy.first_above_max() {
        return Err(format!(
            "the longest delay ({max}) is below the first ({first}); give MAX as the last part"
        ));
    }
    Ok(Backoff { strategy, jitter: Jitter::DEFAULT })
}

fn no_strategy(word: &str) -> String {
    let near = did_you_mean(word, Strategy::NAMES);
    let names = Strategy::NAMES.join(", ");
    format!(
        "{word:?} is neither a strategy nor a delay; write {names}, 30s, 5s,1m,10m, exponential:INITIAL[:MULTIPLIER[:MAX]] or linear:DELAY[:MAX]{near}"
    )
}

fn multiplier(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| Strategy::MULTIPLIERS.contains(factor));
    factor.ok_or_else(|| format!("the multiplier {text:?} is not a number from 1 to 1000"))
}

/// The directory of a job.
pub fn folder(path: Bytes) -> Result<Bytes, String> {
    if path.0.is_empty() { Err("it is empty; . is the current directory".to_owned()) } else { Ok(path) }
}

/// A list of delays, each used once.
pub fn delays<'a>(delays: impl Iterator<Item = &'a str>) -> Result<Backoff, String> {
    Ok(Backoff { strategy: list(delays)?, jitter: Jitter::DEFAULT })
}

fn list<'a>(delays: impl Iterator<Item = &'a str>) -> Result<Strategy, String> {
    let delays = delays.map(Millis::parse).collect::<Result<Vec<_>, _>>()?;
    if delays.is_empty() {
        return Err("a list of delays is not empty".to_owned());
    }
    Ok(Strategy::List { delays, repeat_last: false })
}

/// A variable for the environment of a job, as `K=V`, or as `K` with the value that it has in the environment of this call.
pub fn variable(entry: OsString) -> Result<(Bytes, Bytes), String> {
    let bytes = entry.into_vec();
    let Some(at) = bytes.iter().position(|byte| *byte == b'=') else {
        let name = variable_name(bytes)?;
        let value = env::var_os(name.as_os_str());
        let value = value.ok_or("it has no value here, where it is not set; write K=VALUE")?;
        return Ok((name, Bytes(value.into_vec())));
    };
    Ok((variable_name(bytes[..at].to_vec())?, Bytes(bytes[at + 1..].to_vec())))
}

/// The name of a variable that a job can be given.
pub fn variable_name(name: Vec<u8>) -> Result<Bytes, String> {
    // Definitions are stored as JSON, whose keys must be text.
    let text = String::from_utf8(name).map_err(|_| "the name of a variable is not UTF-8".to_owned())?;
    model::check_variable(&text).map(|()| Bytes(text.into_bytes()))
}

/// A job as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRef {
    Id(i64),
    /// One of the jobs of this name.
    Name(String),
}

impl JobRef {
    /// Reads an id or a name: digits alone are an id.
    pub fn parse(text: &str) -> Result<Self, String> {
        if is_digits(text) { id(text).map(Self::Id) } else { name(text).map(Self::Name) }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A job, or one of its attempts, as a person names it. `NAME.N` is read as the name of a job, because names may
/// contain dots; `find_job` tries it as attempt N of job NAME if no job has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOrAttempt {
    pub job: JobRef,
    pub attempt: Option<u32>,
}

impl JobOrAttempt {
    /// Reads `ID`, `ID.N` or a name.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('.') {
            Some((job, number)) if is_digits(job) && is_digits(number) => {
                let attempt = attempt_number(number)
                    .ok_or_else(|| format!("{number:?} is not the number of an attempt"))?;
                Ok(Self { job: JobRef::parse(job)?, attempt: Some(attempt) })
            }
            _ => Ok(Self { job: JobRef::parse(text)?, attempt: None }),
        }
    }

    /// The same text read as `NAME.N`.
    pub fn as_attempt_of_name(&self) -> Option<Self> {
        let (JobRef::Name(text), None) = (&self.job, self.attempt) else { return None };
        let (job, number) = text.rsplit_once('.')?;
        Some(Self { job: JobRef::parse(job).ok()?, attempt: Some(attempt_number(number)?) })
    }
}

fn attempt_number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::*;
    use crate::cli::typed_time::{At, PastTime};
    use crate::text::{Timestamp, mutated};

    #[test]
    fn backoffs_as_they_are_typed() {
        let parsed = |text| backoff(text).map(|backoff| backoff.strategy);
        let secs = Millis::from_secs;
        assert_eq!(parsed("30s"), Ok(Strategy::Constant { delay: secs(30) }));
        let delays = vec![secs(5), secs(60), secs(600)];
        assert_eq!(parsed("5s,1m,10m"), Ok(Strategy::List { delays, repeat_last: false }));
        let exponential = |multiplier, max| Strategy::Exponential { initial: secs(2), multiplier, max };
        assert_eq!(parsed("exponential:2s"), Ok(exponential(2.0, secs(3_600))));
        assert_eq!(parsed("exponential:2s:3:5m"), Ok(exponential(3.0, secs(300))));
        for (word, full) in
            [("exponential", "exponential:1s:2:1h"), ("linear", "linear:1m:1h"), ("constant", "30s")]
        {
            assert_eq!(parsed(word), parsed(full));
        }
        assert_eq!(parsed("linear:10s:1m"), Ok(Strategy::Linear { delay: secs(10), max: secs(60) }));
        for bad in [
            "",
            "30",
            "fixed:3s",
            "exponential:",
            "exponential:2s:0.5",
            "linear:5m:1m",
            "linear:1s:2s:3s",
            "5s,",
        ] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn jitter_is_a_switch_a_fraction_or_a_duration() {
        assert_eq!(jitter("true"), Ok(Jitter::Fraction(0.25)));
        assert_eq!(jitter("0.5"), Ok(Jitter::Fraction(0.5)));
        assert_eq!(jitter("100ms"), Ok(Jitter::Absolute(Millis(100))));
        for bad in ["1.5", "-0.1", "NaN", "some"] {
            assert!(jitter(bad).is_err(), "{bad}");
        }
    }

    const TYPED: [&str; 34] = [
        "30s",
        "5s,1m,10m",
        "exponential:2s:3:5m",
        "exponential:1ms:1000:10y",
        "linear:10s:1m",
        "linear:10y:10y",
        "true",
        "0.25",
        "100ms",
        "1e-300",
        "7",
        "7.2",
        "9223372036854775807.4294967295",
        "-1000",
        "1000000",
        "SIGKILL",
        "sigrtmin+1",
        "64",
        "skip",
        "a.b-c_D",
        "K=V",
        "inf",
        "1h 30m",
        "yesterday",
        "2026-11-20",
        "4:5",
        "23:59:60",
        "2026-11-21 14:30",
        "2026-02-29T00:00",
        "2026-11-21T14:30:00.5+23:59",
        "9999-12-31 23:59:59",
        "-9999-01-01T00:00:00Z",
        "-9999-01-01",
        "0000-00-00 24:00",
    ];

    proptest! {
        #[test]
        fn no_value_panics(
            text in mutated(&TYPED),
            n in any::<u32>(),
            jitter_sample in 0.0..1.0_f64,
            now in any::<i64>(),
            soon in 0..4_102_444_800_000_i64,
        ) {
            let _ = (priority(&text), max_attempts(&text), slots(&text), fatal_signal(&text), id(&text), nonempty(&text));
            let _ = (name(&text), on_conflict(&text), JobOrAttempt::parse(&text), variable(text.clone().into()));
            let jitter = jitter(&text).unwrap_or(Jitter::DEFAULT);
            if let Ok(Backoff { strategy, .. }) = backoff(&text) {
                let backoff = Backoff { strategy, jitter };
                let nominal = backoff.strategy.nominal(n);
                let (low, high) = backoff.window(nominal);
                let drawn = backoff.draw(nominal, jitter_sample);
                prop_assert!(low <= nominal && nominal <= high && low <= drawn && drawn <= high);
            }
            for now in [now, soon].map(Timestamp) {
                if let Ok(at) = At::parse(&text) {
                    prop_assert!(at.resolve(now) <= Timestamp::MAX.max(now));
                }
                if let Ok(past) = PastTime::parse(&text) {
                    prop_assert!(past.resolve(now) <= Timestamp::MAX.max(now));
                }
            }
        }
    }
}
