//! How durations are spread: percentiles of any number of them in little memory.

use std::collections::BTreeMap;

use crate::text::Millis;

/// Durations below this many milliseconds are counted one by one, longer ones in steps of at most a 64th of their length.
const EXACT: u64 = 128;

/// Many durations, as a histogram whose steps grow with the duration: percentiles are right to one part in 128.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    steps: BTreeMap<u32, u64>,
    number: u64,
    least: u64,
    most: u64,
}

impl Spread {
    /// Counts one more.
    pub fn add(&mut self, span: Millis) {
        *self.steps.entry(step(span.0)).or_default() += 1;
        self.least = if self.number == 0 { span.0 } else { self.least.min(span.0) };
        self.most = self.most.max(span.0);
        self.number += 1;
    }

    /// The longest; none where there is nothing.
    pub fn max(&self) -> Option<Millis> {
        (self.number > 0).then_some(Millis(self.most))
    }

    /// The shortest duration that is no shorter than `percent` of 100 of them; none where there is nothing.
    pub fn percentile(&self, percent: u64) -> Option<Millis> {
        let rank = u128::from(self.number) * u128::from(percent);
        let rank = u64::try_from(rank.div_ceil(100)).unwrap_or(u64::MAX).max(1);
        let mut passed = 0;
        let (found, _) = self.steps.iter().find(|(_, number)| {
            passed += **number;
            passed >= rank
        })?;
        Some(Millis(middle(*found).clamp(self.least, self.most)))
    }
}

/// The number of the step that a duration falls in.
fn step(ms: u64) -> u32 {
    if ms < EXACT {
        return u32::try_from(ms).unwrap_or(0);
    }
    let power = ms.ilog2();
    let within = u32::try_from(ms >> (power - 6) & 63).unwrap_or(0);
    128 + (power - 7) * 64 + within
}

/// The duration in the middle of a step.
fn middle(step: u32) -> u64 {
    let Some(above) = step.checked_sub(128) else { return u64::from(step) };
    let (power, within) = (above / 64 + 7, u64::from(above % 64));
    let width = 1 << (power - 6);
    (64 + within) * width + width / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(spans: &[u64]) -> Spread {
        let mut spread = Spread::default();
        for span in spans {
            spread.add(Millis(*span));
        }
        spread
    }

    #[test]
    fn few_durations() {
        assert_eq!((of(&[]).percentile(50), of(&[]).max()), (None, None));
        assert_eq!(of(&[70_000]).percentile(50), Some(Millis(70_000)));
        let some = of(&[5, 1, 3, 2, 4]);
        let found: Vec<_> = [0, 1, 20, 21, 50, 95, 100].map(|p| some.percentile(p).unwrap().0).into();
        assert_eq!(found, [1, 1, 1, 2, 3, 5, 5]);
        assert_eq!(some.max(), Some(Millis(5)));
    }

    proptest! {
        #[test]
        fn percentiles_are_nearly_right(mut spans in prop::collection::vec(0..=u64::MAX >> 1, 1..200), percent in 0..=100_u64) {
            let found = of(&spans).percentile(percent).unwrap().0;
            spans.sort_unstable();
            let rank = (spans.len() * usize::try_from(percent).unwrap()).div_ceil(100).max(1);
            let right = spans[rank - 1];
            prop_assert!(found.abs_diff(right) <= right / 128 + 1, "{found} for {right}");
        }

        #[test]
        fn steps_follow_each_other(ms in 0..u64::MAX) {
            prop_assert!(step(ms) == step(ms + 1) || step(ms) + 1 == step(ms + 1));
            prop_assert_eq!(step(middle(step(ms))), step(ms));
        }
    }
}
