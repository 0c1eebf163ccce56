//! Percentiles of durations.

use crate::text::Millis;

/// Durations in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    sorted: Vec<Millis>,
}

impl Percentiles {
    pub fn of(mut durations: Vec<Millis>) -> Self {
        durations.sort_unstable();
        Self { sorted: durations }
    }

    /// The longest; none of no durations.
    pub fn max(&self) -> Option<Millis> {
        self.sorted.last().copied()
    }

    /// The nearest rank: the shortest duration that is no shorter than `percent` of 100 of them; none of no durations.
    pub fn percentile(&self, percent: usize) -> Option<Millis> {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1);
        self.sorted.get(rank - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rank() {
        let of = |spans: &[u64]| Percentiles::of(spans.iter().map(|span| Millis(*span)).collect());
        assert_eq!((of(&[]).percentile(50), of(&[]).max()), (None, None));
        assert_eq!(of(&[70_000]).percentile(50), Some(Millis(70_000)));
        let some = of(&[5, 1, 3, 2, 4]);
        let found: Vec<_> = [0, 1, 20, 21, 50, 95, 100].map(|p| some.percentile(p).unwrap().0).into();
        assert_eq!(found, [1, 1, 1, 2, 3, 5, 5]);
        assert_eq!(some.max(), Some(Millis(5)));
    }
}
