//! The axis of time: where a moment stands on it, and its ticks.

use crate::text::{Millis, Timestamp, day_time, local_offset, local_time};

/// The length of the axis in the units of the drawing.
pub(super) const UNITS: i64 = 10_000;

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// The distances that ticks may have, in seconds.
const STEPS: [i64; 20] = [
    1,
    5,
    10,
    15,
    30,
    60,
    300,
    600,
    900,
    1_800,
    3_600,
    7_200,
    10_800,
    21_600,
    43_200,
    86_400,
    604_800,
    2_592_000,
    31_536_000,
    315_360_000,
];
const MAX_TICKS: i64 = 13;

/// The period that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub since: Timestamp,
    pub until: Timestamp,
}

impl Axis {
    /// The part of the period in which these times lie, with a margin. It goes on to the end of the period unless most of the
    /// picture would be empty then.
    pub(super) fn fitted(self, times: impl Iterator<Item = Timestamp>) -> Self {
        let (mut first, mut last) = (self.until, self.since);
        for at in times.map(|at| at.clamp(self.since, self.until)) {
            (first, last) = (first.min(at), last.max(at));
        }
        if first > last {
            return self;
        }
        let span = last.since(first);
        let margin = Millis(span.0 / 50 + 500);
        let is_near = self.until.since(last).0 <= span.0 / 2 + margin.0;
        let until = if is_near { self.until } else { last.plus(margin).min(self.until) };
        Self { since: first.minus(margin).max(self.since), until }
    }

    pub(super) fn x(self, at: Timestamp) -> i64 {
        let at = at.clamp(self.since, self.until).0 - self.since.0;
        at.saturating_mul(UNITS) / (self.until.0 - self.since.0).max(1)
    }

    pub(super) fn holds(self, at: Timestamp) -> bool {
        (self.since..=self.until).contains(&at)
    }

    /// The ticks: round times of the local clock, each with its label.
    pub(super) fn ticks(self) -> Vec<(i64, String)> {
        let span = self.until.0 - self.since.0;
        let mut steps = STEPS.into_iter().map(|seconds| seconds * 1_000);
        let step = steps.find(|step| span / step < MAX_TICKS).unwrap_or(span);
        let offset = |at: i64| i64::from(local_offset(Timestamp(at))) * 1_000;
        let first = (self.since.0 + offset(self.since.0)).div_euclid(step) * step + step;
        let clocks = (0..=MAX_TICKS).map(|n| first + n * step);
        // The offset must be the one at the time that local clocks show, not at the same time in UTC.
        let times = clocks.map(|clock| Timestamp(clock - offset(clock - offset(clock))));
        // `Sat 2026-11-21 00:00` is `Sat 21`; where ticks are weeks apart `11-21`, and where they are years apart `2026-11`.
        let label = |at: Timestamp| {
            let text = day_time(at);
            let part = |range| text.get(range).unwrap_or_default();
            match part(15..20) {
                _ if step > 30 * DAY => part(4..11).to_owned(),
                _ if step > DAY => part(9..14).to_owned(),
                _ if step < MINUTE => local_time(at).get(11..19).unwrap_or_default().to_owned(),
                "00:00" => format!("{} {}", part(0..3), part(12..14)),
                clock => clock.to_owned(),
            }
        };
        times.filter(|at| *at < self.until).map(|at| (self.x(at), label(at))).collect()
    }
}

/// When the last days began by local clocks, the one of this time last.
pub(super) fn days(now: Timestamp, number: usize) -> Vec<Timestamp> {
    let offset = |at: i64| i64::from(local_offset(Timestamp(at))) * 1_000;
    let today = (now.0 + offset(now.0)).div_euclid(DAY) * DAY;
    let clocks = (0..number).rev().map(|ago| today - i64::try_from(ago).unwrap_or(0) * DAY);
    clocks.map(|clock| Timestamp(clock - offset(clock - offset(clock)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 60 * MINUTE;

    fn fitted(times: &[i64]) -> (i64, i64) {
        let day = Axis { since: Timestamp(0), until: Timestamp(24 * HOUR) };
        let axis = day.fitted(times.iter().map(|at| Timestamp(*at)));
        (axis.since.0, axis.until.0)
    }

    #[test]
    fn the_axis_fits_the_data() {
        assert_eq!(fitted(&[]), (0, 24 * HOUR));
        // Data up to the end of the period keeps that end.
        assert_eq!(fitted(&[24 * HOUR - MINUTE, 24 * HOUR]), (24 * HOUR - MINUTE - 1_700, 24 * HOUR));
        // Five jobs within a minute that was hours ago fill the picture.
        assert_eq!(fitted(&[HOUR, HOUR + MINUTE]), (HOUR - 1_700, HOUR + MINUTE + 1_700));
        // Times outside the period do not widen it.
        assert_eq!(fitted(&[-HOUR, 23 * HOUR]), (0, 24 * HOUR));
    }

    #[test]
    fn a_minute_has_ticks_within() {
        let axis = Axis { since: Timestamp(0), until: Timestamp(MINUTE) };
        let ticks = axis.ticks();
        assert!((4..=13).contains(&ticks.len()), "{ticks:?}");
        assert!(ticks.iter().all(|(_, label)| label.len() == 8), "{ticks:?}");
    }
}
