//! The keys of the retry policy at one level, and their contradictions.

use super::backoff;
use super::diagnostics::{Mistakes, Span};
use super::read::{Entry, Value, distinct};
use crate::model::{Backoff, CodePattern, Contradiction, PolicyLayer, RetryPolicy};

/// The entries of a list of codes, each with its place.
pub(super) type CodeList = Vec<(CodePattern, Span)>;

/// The retry policy as one level states it, with the place of each value.
#[derive(Default)]
pub(super) struct RetryKeys {
    retryable: Option<(bool, Span)>,
    max_attempts: Option<(u32, Span)>,
    backoff: Option<(Backoff, Span)>,
    auto_retry_for: Option<(CodeList, Span)>,
    never_retry_for: Option<CodeList>,
}

impl RetryKeys {
    /// Reads one of the five keys.
    pub(super) fn take(&mut self, entry: &Entry<'_>, mistakes: &mut Mistakes) {
        let value = entry.value;
        match entry.key {
            "retryable" => self.retryable = value.boolean(mistakes).map(|it| (it, value.at())),
            "max_attempts" => self.max_attempts = max_attempts(value, mistakes).map(|it| (it, value.at())),
            "backoff" => {
                // An unreadable one counts as given, so the list of a farther level is not compared.
                let backoff = backoff::read(value, mistakes).unwrap_or(RetryPolicy::default().backoff);
                self.backoff = Some((backoff, value.at()));
            }
            "auto_retry_for" => {
                let is_empty = value.data().as_array().is_some_and(|list| list.is_empty());
                let codes = code_list(value, mistakes);
                // A list whose codes are all unreadable is not empty.
                if is_empty || !codes.is_empty() {
                    self.auto_retry_for = Some((codes, value.at()));
                }
            }
            "never_retry_for" => self.never_retry_for = Some(code_list(value, mistakes)),
            _ => {}
        }
    }

    pub(super) fn layer(&self) -> PolicyLayer {
        let codes = |list: &CodeList| list.iter().map(|(code, _)| code.clone()).collect();
        PolicyLayer {
            retryable: self.retryable.as_ref().map(|(it, _)| *it),
            max_attempts: self.max_attempts.as_ref().map(|(it, _)| *it),
            backoff: self.backoff.as_ref().map(|(it, _)| it.clone()),
            auto_retry_for: self.auto_retry_for.as_ref().map(|(list, _)| codes(list)),
            never_retry_for: self.never_retry_for.as_ref().map(codes),
        }
    }

    /// `auto_retry_for` and `never_retry_for`, where this level gives them.
    pub(super) fn code_lists(&self) -> [Option<&CodeList>; 2] {
        [self.auto_retry_for.as_ref().map(|(list, _)| list), self.never_retry_for.as_ref()]
    }

    pub(super) fn has_code_lists(&self) -> bool {
        self.code_lists().iter().any(Option::is_some)
    }

    /// Records the contradictions within this level.
    pub(super) fn check(&self, mistakes: &mut Mistakes) {
        let retryable = self.retryable.as_ref().map(|(_, at)| at);
        let max_attempts = self.max_attempts.as_ref().map(|(_, at)| at);
        let backoff = self.backoff.as_ref().map(|(_, at)| at);
        let codes = self.auto_retry_for.as_ref().map(|(_, at)| at);
        for contradiction in self.layer().contradictions() {
            let drop_one = || "drop one of the two".to_owned();
            let not_retryable = ("forbids retries", retryable);
            let (at, hint, other) = match contradiction {
                Contradiction::AttemptsWithoutRetry { .. } => (max_attempts, drop_one(), Some(not_retryable)),
                Contradiction::CodesWithoutRetry => (codes, drop_one(), Some(not_retryable)),
                Contradiction::ListLength { max_attempts: runs, list_runs } => {
                    let or_repeat = if runs > list_runs { ", or set `repeat_last = true`" } else { "" };
                    let hint = format!("leave it out, or write `max_attempts = {list_runs}`{or_repeat}");
                    (max_attempts, hint, Some(("the delays", backoff)))
                }
                Contradiction::NoCodes => {
                    let hint = "leave it out to retry every failure, or write `retryable = false`";
                    (codes, hint.to_owned(), None)
                }
            };
            let Some(at) = at else { continue };
            let mistake = mistakes.add(at, contradiction.to_string()).hint(hint);
            if let Some((what, Some(other))) = other {
                mistake.see(what, other);
            }
        }
    }

    /// Records a `max_attempts` that asks for more runs than the list of delays in `defaults` is long enough for.
    pub(super) fn check_against(&self, defaults: &Self, mistakes: &mut Mistakes) {
        let (Some((runs, at)), None, Some((_, delays))) =
            (&self.max_attempts, &self.backoff, &defaults.backoff)
        else {
            return;
        };
        let own_contradiction = matches!(self.retryable, Some((false, _)));
        if let Some(most) = defaults.layer().list_runs()
            && *runs > most
            && !own_contradiction
        {
            mistakes
                .add(
                    at,
                    format!(
                        "`max_attempts = {runs}`, but the delays in [defaults] are enough for {most} attempts"
                    ),
                )
                .hint(
                    "list more delays, or set `repeat_last = true` there, or give this job its own `backoff`",
                )
                .see("the delays", delays);
        }
    }
}

fn max_attempts(value: Value<'_>, mistakes: &mut Mistakes) -> Option<u32> {
    if value.as_integer() == Some(0) {
        value
            .refused(mistakes, "0 makes a job that can never run")
            .hint("it counts every attempt, the first included: 1 means no retry");
        return None;
    }
    value.integer(1..=RetryPolicy::MAX_ATTEMPTS, mistakes)
}

fn code_list(value: Value<'_>, mistakes: &mut Mistakes) -> CodeList {
    let list = value.list("an array of error codes, such as [\"TIMEOUT\"]", mistakes).unwrap_or_default();
    distinct(&list, mistakes, |entry, mistakes| {
        if let Some(status) = entry.as_integer() {
            entry
                .wrong(mistakes, "a string")
                .hint(format!("write \"EXIT_{status}\", or the name that `exit_codes` gives it"));
            return None;
        }
        let text = entry.string(mistakes)?;
        entry.taken(CodePattern::parse(text), mistakes)
    })
}
