//! The retry policy as one level says it, and what contradicts itself in it.

use super::backoff;
use super::mistake::{Found, Span};
use super::value::{Entry, Value, distinct};
use crate::model::{Backoff, CodePattern, PolicyLayer, RetryPolicy, Strategy};

/// What a list of codes holds, and where.
pub(super) type Listed = Vec<(CodePattern, Span)>;

/// The keys of the retry policy at one level, each with the place of its value.
#[derive(Default)]
pub(super) struct Retries {
    retryable: Option<(bool, Span)>,
    max_attempts: Option<(u32, Span)>,
    backoff: Option<(Backoff, Span)>,
    /// `backoff` is given, readable or not: then that of a farther level counts for nothing.
    has_backoff: bool,
    auto_retry_for: Option<(Listed, Span)>,
    never_retry_for: Option<Listed>,
}

impl Retries {
    /// Reads `entry`, if it belongs to the retry policy.
    pub(super) fn take(&mut self, entry: &Entry<'_>, found: &mut Found) -> bool {
        let value = entry.value;
        match entry.key {
            "retryable" => self.retryable = value.boolean(found).map(|it| (it, value.at())),
            "max_attempts" => self.max_attempts = runs(value, found).map(|it| (it, value.at())),
            "backoff" => {
                self.backoff = backoff::read(value, found).map(|it| (it, value.at()));
                self.has_backoff = true;
            }
            "auto_retry_for" => {
                self.auto_retry_for = Some((patterns(value, found), value.at()));
                if matches!(&value.data().as_array(), Some(list) if list.is_empty()) {
                    value
                        .refused(found, "an empty list would retry nothing")
                        .hint("leave it out to retry every failure, or write `retryable = false`");
                }
            }
            "never_retry_for" => self.never_retry_for = Some(patterns(value, found)),
            _ => return false,
        }
        true
    }

    /// As the rules take it.
    pub(super) fn layer(&self) -> PolicyLayer {
        let codes = |listed: &Listed| listed.iter().map(|(code, _)| code.clone()).collect();
        PolicyLayer {
            retryable: self.retryable.as_ref().map(|(it, _)| *it),
            max_attempts: self.max_attempts.as_ref().map(|(it, _)| *it),
            backoff: self.backoff.as_ref().map(|(it, _)| it.clone()),
            auto_retry_for: self.auto_retry_for.as_ref().map(|(listed, _)| codes(listed)),
            never_retry_for: self.never_retry_for.as_ref().map(codes),
        }
    }

    /// `auto_retry_for` and `never_retry_for`, where this level gives them.
    pub(super) fn lists(&self) -> [Option<&Listed>; 2] {
        let auto = self.auto_retry_for.as_ref().map(|(listed, _)| listed);
        [auto, self.never_retry_for.as_ref()]
    }

    /// Does this level give one of the two?
    pub(super) fn has_lists(&self) -> bool {
        self.lists().iter().any(Option::is_some)
    }

    /// Records what contradicts itself at this level.
    pub(super) fn check(&self, found: &mut Found) {
        self.check_not_retryable(found);
        let (Some((runs, at)), Some((backoff, backoff_at))) = (&self.max_attempts, &self.backoff) else {
            return;
        };
        if let Some(fixed) = fixed_runs(backoff)
            && fixed != *runs
        {
            let or_repeat = if *runs > fixed { ", or set `repeat_last = true`" } else { "" };
            found
                .add(at, format!("`max_attempts = {runs}`, but the delays of `backoff` ask for {fixed} runs"))
                .hint(format!("leave it out, or write `max_attempts = {fixed}`{or_repeat}"))
                .see("the delays begin", backoff_at);
        }
    }

    fn check_not_retryable(&self, found: &mut Found) {
        let Some((false, no)) = &self.retryable else {
            return;
        };
        if let Some((runs, at)) = &self.max_attempts
            && *runs > 1
        {
            found
                .add(
                    at,
                    format!(
                        "`max_attempts = {runs}` contradicts `retryable = false`, which means exactly one run"
                    ),
                )
                .hint("drop one of the two")
                .see("`retryable = false` stands", no);
        }
        if let Some((_, at)) = &self.auto_retry_for {
            found
                .add(at, "`auto_retry_for` contradicts `retryable = false`, under which nothing is retried")
                .hint("drop one of the two")
                .see("`retryable = false` stands", no);
        }
    }

    /// Records what this level asks of a list of delays that it takes over from `farther`, but cannot have.
    pub(super) fn check_against(&self, farther: &Self, found: &mut Found) {
        let (Some((runs, at)), false, Some((backoff, backoff_at))) =
            (&self.max_attempts, self.has_backoff, &farther.backoff)
        else {
            return;
        };
        if let Some((false, _)) = self.retryable {
            return; // a contradiction in itself, which is said already
        }
        if let Some(fixed) = fixed_runs(backoff)
            && *runs > fixed
        {
            found
                .add(
                    at,
                    format!(
                        "`max_attempts = {runs}`, but the delays in [defaults] are enough for {fixed} runs"
                    ),
                )
                .hint(
                    "list more delays, or set `repeat_last = true` there, or give this job its own `backoff`",
                )
                .see("the delays begin", backoff_at);
        }
    }
}

/// The number of runs that a list of delays fixes, if nothing else may be asked of it.
fn fixed_runs(backoff: &Backoff) -> Option<u32> {
    match &backoff.strategy {
        Strategy::List { delays, repeat_last: false } if !delays.is_empty() => backoff.strategy.fixed_runs(),
        _ => None,
    }
}

fn runs(value: Value<'_>, found: &mut Found) -> Option<u32> {
    if value.as_integer() == Some(0) {
        value
            .refused(found, "0 makes a job that can never run")
            .hint("it counts every run, the first included: 1 means no retry");
        return None;
    }
    value.integer(1..=RetryPolicy::MOST_ATTEMPTS, found)
}

/// The entries of a list of codes, of which those that cannot be read are left out: the list counts as given.
fn patterns(value: Value<'_>, found: &mut Found) -> Listed {
    let list = value.list("an array of error codes, such as [\"TIMEOUT\"]", found).unwrap_or_default();
    let pattern = |entry: Value<'_>, found: &mut Found| {
        let text = entry.code(found)?;
        entry.taken(CodePattern::parse(text), found)
    };
    distinct(&list, found, pattern)
}
