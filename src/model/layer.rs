//! What the values of a layer mean together: the contradictions within it, and the definition that all layers make.

use super::{JobDefinition, JobLayer, RetryPolicy, Strategy};

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
    #[error("exit status {status} is in `success_exit_codes` and in `warning_exit_codes`")]
    SuccessAndWarning { status: u8 },
}

impl JobLayer {
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
        if let (Some(success), Some(warning)) = (&self.success_exit_codes, &self.warning_exit_codes) {
            let in_both = warning.iter().filter(|status| success.contains(status));
            found.extend(in_both.map(|status| Contradiction::SuccessAndWarning { status: *status }));
        }
        found
    }

    /// Whether exit status 0 is a warning only because nobody has taken it out of `success_exit_codes`. The innermost layer comes
    /// first. A layer that has 0 in both lists is a contradiction of its own.
    pub fn warn_of_zero(layers: &[&Self]) -> bool {
        let at = layers.iter().position(|layer| layer.warning_exit_codes.is_some());
        let Some(at) = at else { return false };
        let warns = layers[at].warning_exit_codes.as_ref().is_some_and(|list| list.contains(&0));
        // A nearer list of successes either has 0 or leaves it out.
        let is_nearer = layers[..at].iter().any(|layer| layer.success_exit_codes.is_some());
        let success = layers[at..].iter().enumerate().find_map(|(after, layer)| {
            layer.success_exit_codes.as_ref().map(|list| (after, list.contains(&0)))
        });
        warns && !is_nearer && success.is_none_or(|(after, has_zero)| has_zero && after > 0)
    }

    /// The number of attempts that this layer's list of delays is long enough for; none if the list repeats its last delay.
    pub fn list_attempts(&self) -> Option<u32> {
        match &self.backoff.as_ref()?.strategy {
            Strategy::List { delays, repeat_last } if *repeat_last || delays.is_empty() => None,
            strategy => strategy.fixed_attempts(),
        }
    }

    /// The layer of an option that asks for retries, which wins over `retryable = false` in the file. Within the file
    /// `retryable` is independent of the other keys.
    #[must_use]
    pub fn insisting_on_retries(mut self) -> Self {
        let attempts = self.max_attempts.or(self.fixed_attempts());
        if self.retryable.is_none()
            && (attempts.is_some_and(|attempts| attempts > 1) || self.auto_retry_for.is_some())
        {
            self.retryable = Some(true);
        }
        self
    }

    /// Whether a value is given that has an effect only on a job that is retried.
    pub fn speaks_of_retries(&self) -> bool {
        self.max_attempts.is_some()
            || self.retryable == Some(true)
            || self.backoff.is_some()
            || self.jitter.is_some()
            || self.auto_retry_for.is_some()
            || self.never_retry_for.is_some()
    }

    /// The retry policy of these values, which are those of all layers.
    fn policy(&self) -> RetryPolicy {
        let default = RetryPolicy::default();
        let mut backoff = self.backoff.clone().unwrap_or(default.backoff);
        backoff.jitter = self.jitter.unwrap_or(backoff.jitter);
        RetryPolicy {
            retryable: self.retryable.unwrap_or(default.retryable),
            max_attempts: self.max_attempts.or(self.fixed_attempts()).unwrap_or(default.max_attempts),
            backoff,
            auto_retry_for: self.auto_retry_for.clone(),
            never_retry_for: self.never_retry_for.clone().unwrap_or_default(),
        }
    }
}

impl JobLayer {
    /// Lays these values, which are those of all layers, over a definition. Of its retry policy nothing is left. The alert
    /// is left, because only the job file knows the definition of a name.
    #[must_use]
    pub fn resolve(mut self, mut definition: JobDefinition) -> JobDefinition {
        self.replace_fields(&mut definition);
        definition.policy = self.policy();
        definition.env.extend(self.env.unwrap_or_default());
        definition.exit.success = self.success_exit_codes.unwrap_or(definition.exit.success);
        definition.exit.warning = self.warning_exit_codes.unwrap_or(definition.exit.warning);
        definition
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Backoff, CodePattern, Jitter};
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

    fn layer(max_attempts: Option<u32>, backoff: Option<Backoff>) -> JobLayer {
        JobLayer { max_attempts, backoff, ..JobLayer::default() }
    }

    fn attempts(innermost_first: &[&JobLayer]) -> u32 {
        let merged = innermost_first.iter().fold(JobLayer::default(), |inner, outer| inner.over(outer));
        merged.policy().max_attempts()
    }

    #[test]
    fn the_innermost_layer_that_gives_it_fixes_the_number_of_attempts() {
        let nothing = JobLayer::default();
        let three = layer(None, Some(list(&[1, 2, 3])));
        let one = layer(None, Some(list(&[1])));
        let same = layer(None, Some(constant()));
        let nine = layer(Some(9), None);
        assert_eq!(attempts(&[&nothing, &nothing]), 3);
        assert_eq!(attempts(&[&nothing, &three]), 4);
        assert_eq!(attempts(&[&layer(Some(2), None), &three]), 2);
        assert_eq!(attempts(&[&one, &nine]), 2);
        assert_eq!(attempts(&[&same, &three]), 3);
        assert_eq!(attempts(&[&same, &nine]), 9);
        assert_eq!(attempts(&[&same, &three, &nine]), 9);
        assert_eq!(attempts(&[&nothing, &one, &three]), 2);
        assert_eq!(attempts(&[&one, &nothing, &nine]), 2);
    }

    #[test]
    fn an_option_that_asks_for_retries_wins_over_the_file() {
        let no = JobLayer { retryable: Some(false), ..JobLayer::default() };
        let with = |options: JobLayer| attempts(&[&options.insisting_on_retries(), &no]);
        assert_eq!(with(layer(Some(5), None)), 5);
        assert_eq!(with(layer(None, Some(list(&[1, 2])))), 3);
        assert_eq!(with(layer(Some(1), None)), 1);
        assert_eq!(with(layer(None, Some(constant()))), 1);
        let codes = Some(vec![CodePattern::Any]);
        assert_eq!(with(JobLayer { auto_retry_for: codes, ..JobLayer::default() }), 3);
    }

    fn statuses(success: Option<&[u8]>, warning: Option<&[u8]>) -> JobLayer {
        JobLayer {
            success_exit_codes: success.map(<[u8]>::to_vec),
            warning_exit_codes: warning.map(<[u8]>::to_vec),
            ..JobLayer::default()
        }
    }

    /// A list of successes and one of warnings.
    type Lists<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

    #[test]
    fn of_two_lists_of_statuses_the_nearer_one_has_a_status() {
        let table: &[([Lists<'_>; 3], Lists<'_>)] = &[
            ([(None, None), (None, None), (None, None)], (None, None)),
            ([(None, Some(&[24])), (Some(&[0, 24]), None), (None, Some(&[3]))], (Some(&[0]), Some(&[24]))),
            ([(None, None), (Some(&[0, 24]), None), (None, Some(&[24, 3]))], (Some(&[0, 24]), Some(&[3]))),
            ([(Some(&[0, 3]), None), (None, Some(&[3, 4])), (None, None)], (Some(&[0, 3]), Some(&[4]))),
            ([(None, Some(&[24])), (None, None), (Some(&[0, 24]), None)], (Some(&[0]), Some(&[24]))),
            ([(None, Some(&[])), (None, Some(&[24])), (Some(&[0]), None)], (Some(&[0]), Some(&[]))),
            ([(None, None), (None, Some(&[])), (None, Some(&[24]))], (None, Some(&[]))),
        ];
        for (layers, expected) in table {
            let [inner, middle, outer] = layers.map(|(success, warning)| statuses(success, warning));
            let merged = inner.over(&middle).over(&outer);
            let found = (merged.success_exit_codes.as_deref(), merged.warning_exit_codes.as_deref());
            assert_eq!(found, *expected, "{layers:?}");
        }
    }

    #[test]
    fn zero_is_a_warning_only_where_it_was_taken_out_of_the_successes() {
        let table: &[([Lists<'_>; 2], bool)] = &[
            ([(None, Some(&[24])), (None, None)], false),
            ([(None, Some(&[0])), (None, None)], true),
            ([(None, Some(&[0])), (Some(&[0, 3]), None)], true),
            ([(None, Some(&[0])), (Some(&[3]), None)], false),
            ([(Some(&[3]), Some(&[0])), (Some(&[0]), None)], false),
            ([(Some(&[3]), None), (None, Some(&[0]))], false),
            ([(Some(&[0]), None), (None, Some(&[0]))], false),
            ([(None, None), (None, Some(&[0]))], true),
            ([(None, Some(&[])), (None, Some(&[0]))], false),
        ];
        for (layers, expected) in table {
            let [inner, outer] = layers.map(|(success, warning)| statuses(success, warning));
            assert_eq!(JobLayer::warn_of_zero(&[&inner, &outer]), *expected, "{layers:?}");
        }
        let both = statuses(Some(&[0, 3]), Some(&[24, 3]));
        assert_eq!(both.contradictions(), [Contradiction::SuccessAndWarning { status: 3 }]);
    }

    #[test]
    fn in_the_file_retryable_stands_for_itself() {
        let no = JobLayer { retryable: Some(false), ..JobLayer::default() };
        let yes = JobLayer { retryable: Some(true), ..JobLayer::default() };
        let five = layer(Some(5), None);
        assert_eq!(attempts(&[&five, &no]), 1);
        assert_eq!(attempts(&[&no, &five]), 1);
        assert_eq!(attempts(&[&yes, &no]), 3);
    }

    #[test]
    fn a_jitter_changes_the_backoff_of_any_layer() {
        let options = JobLayer { jitter: Some(Jitter::Fraction(0.5)), ..JobLayer::default() };
        let policy = options.over(&layer(None, Some(constant()))).policy();
        assert_eq!(policy.backoff, Backoff { jitter: Jitter::Fraction(0.5), ..constant() });
    }
}
