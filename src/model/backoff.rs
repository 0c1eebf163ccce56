//! How long to wait before the next attempt: strategy, cap, then symmetric jitter.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::text::Millis;

/// How the nominal delay grows with the attempts of a budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "strategy", rename_all = "snake_case", deny_unknown_fields)]
pub enum Strategy {
    /// `initial · multiplier^(n−1)`, at most `max`.
    Exponential {
        initial: Millis,
        /// 1 to 1000.
        multiplier: f64,
        max: Millis,
    },
    /// `delay · n`, at most `max`.
    Linear { delay: Millis, max: Millis },
    /// Always `delay`.
    Constant { delay: Millis },
    /// The n-th of `delays`.
    List {
        delays: Vec<Millis>,
        /// Use the last delay again after the end of the list.
        repeat_last: bool,
    },
}

/// How far a delay may lie from the nominal delay, to either side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// A fraction of the nominal delay, 0 to 1.
    Fraction(f64),
    /// An absolute distance.
    Absolute(Millis),
}

impl Jitter {
    /// `jitter = true`
    pub const DEFAULT: Self = Self::Fraction(0.25);
    /// `jitter = false`
    pub const NONE: Self = Self::Fraction(0.0);
}

/// A strategy with its jitter: the `backoff` of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    pub strategy: Strategy,
    pub jitter: Jitter,
}

impl Strategy {
    pub const EXPONENTIAL_INITIAL: Millis = Millis::from_secs(1);
    pub const EXPONENTIAL_MULTIPLIER: f64 = 2.0;
    pub const MULTIPLIERS: RangeInclusive<f64> = 1.0..=1_000.0;
    /// The default `max` of `exponential` and `linear`.
    pub const MAX: Millis = Millis::from_secs(3_600);
    pub const LINEAR_DELAY: Millis = Millis::from_secs(60);
    pub const CONSTANT_DELAY: Millis = Millis::from_secs(30);

    /// `exponential` with all its defaults.
    pub const fn exponential() -> Self {
        Self::Exponential {
            initial: Self::EXPONENTIAL_INITIAL,
            multiplier: Self::EXPONENTIAL_MULTIPLIER,
            max: Self::MAX,
        }
    }

    /// `linear` with all its defaults.
    pub const fn linear() -> Self {
        Self::Linear { delay: Self::LINEAR_DELAY, max: Self::MAX }
    }

    /// `constant` with its default.
    pub const fn constant() -> Self {
        Self::Constant { delay: Self::CONSTANT_DELAY }
    }

    /// The names of the strategies that have defaults for all they need.
    pub const NAMES: [&str; 3] = ["exponential", "linear", "constant"];

    /// The strategy of this name with all its defaults. None for `list`, which has none, and for every other word.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "exponential" => Some(Self::exponential()),
            "linear" => Some(Self::linear()),
            "constant" => Some(Self::constant()),
            _ => None,
        }
    }

    /// The number of attempts that a list fixes: one more than its delays. None for every other strategy.
    pub fn fixed_attempts(&self) -> Option<u32> {
        match self {
            Self::List { delays, .. } => {
                Some(u32::try_from(delays.len()).map_or(u32::MAX, |n| n.saturating_add(1)))
            }
            _ => None,
        }
    }

    /// The first delay and the `max`, if the `max` is shorter, which is a mistake.
    pub fn first_above_max(&self) -> Option<(Millis, Millis)> {
        match *self {
            Self::Exponential { initial: first, max, .. } | Self::Linear { delay: first, max } => {
                (max < first).then_some((first, max))
            }
            Self::Constant { .. } | Self::List { .. } => None,
        }
    }

    /// The delay after failed attempt `n` (from 1) of the budget, capped, without jitter. Never overflows.
    pub fn nominal(&self, n: u32) -> Millis {
        let n = n.max(1);
        match self {
            Self::Exponential { initial, multiplier, max } => exponential(*initial, *multiplier, *max, n),
            Self::Linear { delay, max } => Millis(delay.0.saturating_mul(u64::from(n))).min(*max),
            Self::Constant { delay } => *delay,
            // `--max-attempts` may ask for more attempts than the list of the file has delays.
            Self::List { delays, .. } => {
                let index = usize::try_from(n - 1).unwrap_or(usize::MAX);
                delays.get(index).or(delays.last()).copied().unwrap_or_default()
            }
        }
    }
}

/// `min(initial · multiplier^(n−1), max)` in floating point, rounded to whole milliseconds.
fn exponential(initial: Millis, multiplier: f64, max: Millis, n: u32) -> Millis {
    if initial.0 == 0 {
        // Zero times infinity is not a number, and `NaN.min(cap)` would be the cap.
        return Millis(0);
    }
    let exponent = i32::try_from(n - 1).unwrap_or(i32::MAX);
    #[allow(clippy::cast_precision_loss)] // ten years in milliseconds fit in 53 bits
    let (raw, cap) = (initial.0 as f64 * multiplier.powi(exponent), max.0 as f64);
    if raw < cap {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 <= raw < cap
        Millis(raw.round() as u64)
    } else {
        max
    }
}

impl Backoff {
    /// The smallest and the largest delay that may be drawn around `nominal`: [max(0, d−j), d+j].
    pub fn window(&self, nominal: Millis) -> (Millis, Millis) {
        let j = match self.jitter {
            Jitter::Absolute(distance) => distance.0,
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            // the fraction is 0 to 1 and the delay fits in 53 bits
            Jitter::Fraction(fraction) => (nominal.0 as f64 * fraction).floor() as u64,
        };
        (Millis(nominal.0.saturating_sub(j)), Millis(nominal.0.saturating_add(j)))
    }

    /// The delay at `jitter_sample`, uniform in [0, 1), of the window around `nominal`.
    pub fn draw(&self, nominal: Millis, jitter_sample: f64) -> Millis {
        let (low, high) = self.window(nominal);
        let width = high.0 - low.0;
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // at most twenty years in milliseconds, and the sample is not negative
        let step = ((width as f64 + 1.0) * jitter_sample) as u64;
        Millis(low.0 + step.min(width))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy as _, any, prop, prop_assert, prop_oneof, proptest};

    use super::*;

    fn waits(strategy: &Strategy, attempts: u32) -> Vec<u64> {
        (1..attempts).map(|n| strategy.nominal(n).0).collect()
    }

    fn exponential(initial: u64, multiplier: f64, max: u64) -> Strategy {
        Strategy::Exponential { initial: Millis(initial), multiplier, max: Millis(max) }
    }

    #[test]
    fn exponential_doubles() {
        assert_eq!(
            waits(&exponential(30_000, 2.0, 3_600_000), 6),
            [30_000, 60_000, 120_000, 240_000, 480_000]
        );
        assert_eq!(
            waits(&exponential(15_000, 2.0, 3_600_000), 10),
            [15, 30, 60, 120, 240, 480, 960, 1_920, 3_600].map(|s| s * 1_000)
        );
    }

    #[test]
    fn exponential_is_capped() {
        assert_eq!(
            waits(&exponential(100, 2.0, 30_000), 12),
            [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]
        );
        assert_eq!(waits(&exponential(100, 3.0, 5_000), 6), [100, 300, 900, 2_700, 5_000]);
    }

    #[test]
    fn linear_constant_and_list() {
        let linear = Strategy::Linear { delay: Millis(60_000), max: Strategy::MAX };
        assert_eq!(waits(&linear, 4), [60_000, 120_000, 180_000]);
        assert_eq!(linear.nominal(u32::MAX), Strategy::MAX);
        let constant = Strategy::Constant { delay: Millis(30_000) };
        assert_eq!(waits(&constant, 3), [30_000, 30_000]);
        let delays = [60_000, 300_000, 900_000].map(Millis).to_vec();
        let list = Strategy::List { delays: delays.clone(), repeat_last: false };
        assert_eq!(list.fixed_attempts(), Some(4));
        assert_eq!(waits(&list, 4), [60_000, 300_000, 900_000]);
        let repeated = Strategy::List { delays, repeat_last: true };
        assert_eq!(repeated.nominal(99), Millis(900_000));
    }

    #[test]
    fn a_quarter_of_jitter_spreads_over_45_to_75_seconds() {
        let backoff =
            Backoff { strategy: Strategy::Constant { delay: Millis(60_000) }, jitter: Jitter::DEFAULT };
        assert_eq!(backoff.window(Millis(60_000)), (Millis(45_000), Millis(75_000)));
        assert_eq!(backoff.draw(Millis(60_000), 0.0), Millis(45_000));
        assert_eq!(backoff.draw(Millis(60_000), 0.5), Millis(60_000));
        assert_eq!(backoff.draw(Millis(60_000), 1.0_f64.next_down()), Millis(75_000));
    }

    #[test]
    fn absolute_jitter_never_goes_below_zero() {
        let backoff = Backoff {
            strategy: Strategy::Constant { delay: Millis(50) },
            jitter: Jitter::Absolute(Millis(100)),
        };
        assert_eq!(backoff.window(Millis(50)), (Millis(0), Millis(150)));
    }

    #[test]
    fn endless_growth_stays_at_the_cap_and_zero_stays_zero() {
        assert_eq!(exponential(1, 1_000.0, 5_000).nominal(u32::MAX), Millis(5_000));
        assert_eq!(exponential(0, 1_000.0, 5_000).nominal(u32::MAX), Millis(0));
        assert_eq!(exponential(7, 1.0, 5_000).nominal(u32::MAX), Millis(7));
    }

    fn strategies() -> impl proptest::strategy::Strategy<Value = Strategy> {
        let ms = || (0..=Millis::MAX.0).prop_map(Millis);
        prop_oneof![
            (ms(), 1.0..=1_000.0, ms()).prop_map(|(initial, multiplier, max)| {
                Strategy::Exponential { initial, multiplier, max }
            }),
            (ms(), ms()).prop_map(|(delay, max)| Strategy::Linear { delay, max }),
            ms().prop_map(|delay| Strategy::Constant { delay }),
            (prop::collection::vec(ms(), 1..5), any::<bool>())
                .prop_map(|(delays, repeat_last)| { Strategy::List { delays, repeat_last } }),
        ]
    }

    fn jitters() -> impl proptest::strategy::Strategy<Value = Jitter> {
        prop_oneof![
            (0.0..=1.0).prop_map(Jitter::Fraction),
            (0..=Millis::MAX.0).prop_map(|ms| Jitter::Absolute(Millis(ms))),
        ]
    }

    proptest! {
        #[test]
        fn every_draw_lies_in_its_window(
            strategy in strategies(),
            jitter in jitters(),
            n in prop_oneof![0..20_u32, Just(u32::MAX)],
            jitter_sample in 0.0..1.0_f64,
        ) {
            let backoff = Backoff { strategy, jitter };
            let nominal = backoff.strategy.nominal(n);
            let (low, high) = backoff.window(nominal);
            let drawn = backoff.draw(nominal, jitter_sample);
            prop_assert!(low <= nominal && nominal <= high);
            prop_assert!(low <= drawn && drawn <= high);
        }

        #[test]
        fn growing_strategies_never_shrink(initial in 0..10_000_u64, multiplier in 1.0..10.0, n in 1..60_u32) {
            let strategy = exponential(initial, multiplier, 3_600_000);
            prop_assert!(strategy.nominal(n) <= strategy.nominal(n + 1));
        }
    }
}
