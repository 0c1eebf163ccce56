//! The retry policy of a job.

use serde::{Deserialize, Serialize};

use super::{Backoff, CodePattern, Jitter, Strategy};

/// Whether, how often and when a failed job is retried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// `false` means exactly one attempt; it never affects the first attempt.
    pub retryable: bool,
    /// The number of attempts in a budget, the first included, if the job is retryable.
    pub max_attempts: u32,
    pub backoff: Backoff,
    /// If given, no other codes are retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_retry_for: Option<Vec<CodePattern>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never_retry_for: Vec<CodePattern>,
}

impl RetryPolicy {
    pub const DEFAULT_ATTEMPTS: u32 = 3;
    pub const MAX_ATTEMPTS: u32 = 1_000_000;

    /// The number of attempts in a budget, the first included: 1 if the job is not retryable.
    pub fn max_attempts(&self) -> u32 {
        if self.retryable { self.max_attempts } else { 1 }
    }
}

/// The keys of the retry policy that one layer gives: the options of `enqueue`, a job, or `[defaults]`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PolicyLayer {
    pub retryable: Option<bool>,
    pub max_attempts: Option<u32>,
    pub backoff: Option<Backoff>,
    pub auto_retry_for: Option<Vec<CodePattern>>,
    pub never_retry_for: Option<Vec<CodePattern>>,
}

/// Two keys of one layer that cannot both hold, or a key that can have no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    #[error(
        "`max_attempts = {max_attempts}` contradicts `retryable = false`, which means exactly one attempt"
    )]
    AttemptsWithoutRetry { max_attempts: u32 },
    #[error("`auto_retry_for` contradicts `retryable = false`, under which nothing is retried")]
    CodesWithoutRetry,
    #[error("`max_attempts = {max_attempts}`, but the delays of `backoff` ask for {list_attempts} attempts")]
    ListLength { max_attempts: u32, list_attempts: u32 },
    #[error("`auto_retry_for` is empty, so nothing would be retried")]
    NoCodes,
}

impl PolicyLayer {
    /// The contradictions within this layer, which the job file and the options of `enqueue` refuse.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        if self.retryable == Some(false) {
            if let Some(max_attempts) = self.max_attempts.filter(|attempts| *attempts > 1) {
                found.push(Contradiction::AttemptsWithoutRetry { max_attempts });
            }
            if self.auto_retry_for.is_some() {
                found.push(Contradiction::CodesWithoutRetry);
            }
        }
        if let (Some(max_attempts), Some(list_attempts)) = (self.max_attempts, self.list_attempts())
            && max_attempts != list_attempts
        {
            found.push(Contradiction::ListLength { max_attempts, list_attempts });
        }
        if self.auto_retry_for.as_ref().is_some_and(Vec::is_empty) {
            found.push(Contradiction::NoCodes);
        }
        found
    }

    /// The number of attempts that this layer's list of delays is long enough for; none if the list repeats its last delay.
    pub fn list_attempts(&self) -> Option<u32> {
        match &self.backoff.as_ref()?.strategy {
            Strategy::List { delays, repeat_last } if *repeat_last || delays.is_empty() => None,
            strategy => strategy.fixed_attempts(),
        }
    }

    fn asks_for_retries(&self) -> bool {
        self.max_attempts.or(self.fixed_attempts()).is_some_and(|attempts| attempts > 1)
            || self.auto_retry_for.is_some()
    }

    fn fixed_attempts(&self) -> Option<u32> {
        self.backoff.as_ref()?.strategy.fixed_attempts()
    }
}

impl RetryPolicy {
    /// Lays the options of `enqueue` over the layers of the file, each the innermost first; `fallback` fills the gaps.
    ///
    /// A list of delays sets the number of attempts, unless its own layer or an inner one gives `max_attempts`, or an inner
    /// `backoff` replaces the list. An option that asks for retries wins over `retryable = false` in the file. Within the
    /// file `retryable` is independent of the other keys.
    pub fn resolve(options: &[&PolicyLayer], file: &[&PolicyLayer], fallback: &Self) -> Self {
        let innermost_first = || options.iter().chain(file).copied();
        let asked = options.iter().find(|layer| layer.retryable.is_some() || layer.asks_for_retries());
        let declared = || file.iter().find_map(|layer| layer.retryable).unwrap_or(fallback.retryable);
        let with_backoff = innermost_first().position(|layer| layer.backoff.is_some());
        let attempts = innermost_first().enumerate().find_map(|(index, layer)| {
            let list = || layer.fixed_attempts().filter(|_| with_backoff == Some(index));
            layer.max_attempts.or_else(list)
        });
        let first = |get: fn(&PolicyLayer) -> &Option<Vec<CodePattern>>| {
            innermost_first().find_map(|layer| get(layer).clone())
        };
        Self {
            retryable: asked.map_or_else(declared, |layer| layer.retryable.unwrap_or(true)),
            max_attempts: attempts.unwrap_or(fallback.max_attempts),
            backoff: innermost_first()
                .find_map(|layer| layer.backoff.clone())
                .unwrap_or_else(|| fallback.backoff.clone()),
            auto_retry_for: first(|layer| &layer.auto_retry_for).or_else(|| fallback.auto_retry_for.clone()),
            never_retry_for: first(|layer| &layer.never_retry_for)
                .unwrap_or_else(|| fallback.never_retry_for.clone()),
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retryable: true,
            max_attempts: Self::DEFAULT_ATTEMPTS,
            backoff: Backoff { strategy: Strategy::exponential(), jitter: Jitter::DEFAULT },
            auto_retry_for: None,
            never_retry_for: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Millis;

    fn list(delays: &[u64]) -> Backoff {
        let delays = delays.iter().copied().map(Millis).collect();
        let strategy = Strategy::List { delays, repeat_last: false };
        Backoff { strategy, jitter: Jitter::NONE }
    }

    fn constant() -> Backoff {
        Backoff { strategy: Strategy::Constant { delay: Millis(1) }, jitter: Jitter::NONE }
    }

    fn layer(max_attempts: Option<u32>, backoff: Option<Backoff>) -> PolicyLayer {
        PolicyLayer { max_attempts, backoff, ..PolicyLayer::default() }
    }

    fn attempts(inner: &PolicyLayer, outer: &PolicyLayer) -> u32 {
        RetryPolicy::resolve(&[], &[inner, outer], &RetryPolicy::default()).max_attempts()
    }

    #[test]
    fn the_innermost_layer_that_gives_it_fixes_the_number_of_attempts() {
        let nothing = PolicyLayer::default();
        let three = layer(None, Some(list(&[1, 2, 3])));
        let nine = layer(Some(9), None);
        assert_eq!(attempts(&nothing, &nothing), 3);
        assert_eq!(attempts(&nothing, &three), 4);
        assert_eq!(attempts(&layer(Some(2), None), &three), 2);
        assert_eq!(attempts(&layer(None, Some(list(&[1]))), &nine), 2);
        assert_eq!(attempts(&layer(None, Some(constant())), &three), 3);
        assert_eq!(attempts(&layer(None, Some(constant())), &nine), 9);
    }

    #[test]
    fn an_option_that_asks_for_retries_wins_over_the_file() {
        let no = PolicyLayer { retryable: Some(false), ..PolicyLayer::default() };
        let with = |options: &PolicyLayer| {
            RetryPolicy::resolve(&[options], &[&no], &RetryPolicy::default()).max_attempts()
        };
        assert_eq!(with(&layer(Some(5), None)), 5);
        assert_eq!(with(&layer(None, Some(list(&[1, 2])))), 3);
        assert_eq!(with(&layer(Some(1), None)), 1);
        assert_eq!(with(&layer(None, Some(constant()))), 1);
        let codes = Some(vec![CodePattern::Any]);
        assert_eq!(with(&PolicyLayer { auto_retry_for: codes, ..PolicyLayer::default() }), 3);
    }

    #[test]
    fn in_the_file_retryable_stands_for_itself() {
        let no = PolicyLayer { retryable: Some(false), ..PolicyLayer::default() };
        let yes = PolicyLayer { retryable: Some(true), ..PolicyLayer::default() };
        let five = layer(Some(5), None);
        assert_eq!(attempts(&five, &no), 1);
        assert_eq!(attempts(&no, &five), 1);
        assert_eq!(attempts(&yes, &no), 3);
    }
}
