//! The geometry of pictures: which bars stand for which attempts, and how a bar is split.
//!
//! The axis is divided into cells. A bar is a run of cells with the same attempts in them, so no attempt is drawn over another
//! one, and a bar that stands for several is split in proportion: its share of red is its share of failures.

use std::fmt::Write;

use super::axis::UNITS;
use crate::model::Outcome;
use crate::store::Stage;

/// The height of a bar in the units of the drawing.
pub(super) const HEIGHT: i64 = 100;

/// The space between two bars.
const GAP: i64 = 8;

/// How an attempt went, as its colour shows it, from the top of a bar to its bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Failed,
    Running,
    CutShort,
    Succeeded,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Failed, Self::Running, Self::CutShort, Self::Succeeded];

    /// None of a job that is due: it has no attempt.
    pub(super) const fn of(stage: Stage) -> Option<Self> {
        match stage {
            Stage::Due => None,
            Stage::Running => Some(Self::Running),
            Stage::Ended(Outcome::Succeeded) => Some(Self::Succeeded),
            Stage::Ended(Outcome::Cancelled | Outcome::Interrupted) => Some(Self::CutShort),
            Stage::Ended(_) | Stage::Expired => Some(Self::Failed),
        }
    }

    /// The class in `style.css`: one letter, because a page may have thousands of bars.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Failed => "f",
            Self::Running => "n",
            Self::CutShort => "i",
            Self::Succeeded => "o",
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Running => "running",
            Self::CutShort => "cut short",
            Self::Succeeded => "succeeded",
        }
    }
}

/// Where an attempt begins and ends on the axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptSpan {
    pub from: i64,
    pub to: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TimelineBar {
    pub from: i64,
    pub to: i64,
    /// The indexes of the attempts that it stands for.
    pub attempts: Vec<usize>,
}

/// The bars of attempts, with cells of this width.
pub(super) fn bars(spans: &[AttemptSpan], cell: i64) -> Vec<TimelineBar> {
    let index_of = |x: i64| usize::try_from(x.clamp(0, UNITS - 1) / cell).unwrap_or_default();
    let mut cells: Vec<Vec<usize>> = vec![Vec::new(); index_of(UNITS) + 1];
    for (index, span) in spans.iter().enumerate() {
        let (first, last) = (index_of(span.from), index_of((span.to - 1).max(span.from)));
        cells.iter_mut().take(last + 1).skip(first).for_each(|attempts| attempts.push(index));
    }
    let mut bars: Vec<TimelineBar> = Vec::new();
    for (attempts, from) in cells.into_iter().zip((0..).step_by(usize::try_from(cell).unwrap_or(1))) {
        match bars.last_mut() {
            Some(bar) if bar.to == from && bar.attempts == attempts => bar.to += cell,
            _ if attempts.is_empty() => {}
            _ => bars.push(TimelineBar { from, to: from + cell, attempts }),
        }
    }
    for bar in &mut bars {
        // A bar of one attempt begins and ends where that does, but is never narrower than a cell.
        if let [only] = bar.attempts.as_slice()
            && let Some(span) = spans.get(*only)
        {
            let from = span.from.clamp(bar.from, bar.to - cell);
            (bar.from, bar.to) = (from, span.to.clamp(from + cell, bar.to));
        }
    }
    bars
}

/// Divides a height in proportion to these numbers. The parts add up to the height if any number is above zero.
pub(super) fn split(height: i64, numbers: [usize; 4]) -> [i64; 4] {
    let all = i64::try_from(numbers.iter().sum::<usize>()).unwrap_or(i64::MAX).max(1);
    let (mut before, mut drawn) = (0, 0);
    numbers.map(|number| {
        before += i64::try_from(number).unwrap_or(i64::MAX);
        let part = height * before / all - drawn;
        drawn += part;
        part
    })
}

/// How many of these are of each kind, in the order of [`Kind::ALL`].
pub(super) fn count(kinds: impl Iterator<Item = Kind>) -> [usize; 4] {
    let mut numbers = [0; 4];
    for kind in kinds {
        if let Some(number) = numbers.get_mut(kind as usize) {
            *number += 1;
        }
    }
    numbers
}

/// The outlines of split bars, a path for each kind.
#[derive(Default)]
pub(super) struct Paths([String; 4]);

impl Paths {
    /// Adds a bar that is split in proportion to these numbers.
    pub(super) fn add(&mut self, from: i64, to: i64, numbers: [usize; 4]) {
        let (mut top, width) = (0, (to - from - GAP).max(1));
        for (path, part) in self.0.iter_mut().zip(split(HEIGHT, numbers)) {
            if part > 0 {
                let _ = write!(path, "M{from} {top}h{width}v{part}h-{width}");
            }
            top += part;
        }
    }

    /// The paths that have anything, with their classes.
    pub(super) fn drawn(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = Kind::ALL.iter().zip(&self.0);
        all.filter(|(_, path)| !path.is_empty()).map(|(kind, path)| (kind.class(), path.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(from: i64, to: i64) -> AttemptSpan {
        AttemptSpan { from, to }
    }

    fn drawn(spans: &[AttemptSpan]) -> Vec<(i64, i64, usize)> {
        bars(spans, 50).into_iter().map(|bar| (bar.from, bar.to, bar.attempts.len())).collect()
    }

    #[test]
    fn the_share_of_red_is_the_share_of_failures() {
        for (failed, others) in [(0, 7), (1, 19), (29, 71), (97, 3), (5, 0)] {
            let [red, _, _, green] = split(1_000, [failed, 0, 0, others]);
            assert_eq!(red, 1_000 * i64::try_from(failed).unwrap() / i64::try_from(failed + others).unwrap());
            assert_eq!(red + green, 1_000);
        }
        assert_eq!(split(100, [0; 4]), [0; 4]);
    }

    #[test]
    fn a_job_that_recovered_shows_both_attempts() {
        let spans = [span(1_010, 1_012), span(1_020, 1_030)];
        let [bar] = bars(&spans, 50).try_into().unwrap();
        assert_eq!(bar, TimelineBar { from: 1_000, to: 1_050, attempts: vec![0, 1] });
        let mut paths = Paths::default();
        paths.add(bar.from, bar.to, count([Kind::Failed, Kind::Succeeded].into_iter()));
        let paths: Vec<_> = paths.drawn().collect();
        assert_eq!(paths, [("f", "M1000 0h42v50h-42"), ("o", "M1000 50h42v50h-42")]);
    }

    #[test]
    fn an_attempt_by_itself_is_drawn_where_it_was_and_a_later_one_beside_it() {
        assert_eq!(drawn(&[span(1_010, 1_330)]), [(1_010, 1_330, 1)]);
        assert_eq!(drawn(&[span(9_999, 9_999)]), [(9_950, 10_000, 1)]);
        let later = [span(1_000, 1_300), span(1_200, 1_500)];
        assert_eq!(drawn(&later), [(1_000, 1_200, 1), (1_200, 1_300, 2), (1_300, 1_500, 1)]);
    }

    proptest! {
        #[test]
        fn every_attempt_has_a_bar_and_no_bar_covers_another(
            spans in prop::collection::vec((0..UNITS, 0..UNITS / 4), 0..60)
        ) {
            let spans: Vec<_> = spans.iter().map(|(from, length)| span(*from, from + length)).collect();
            let bars = bars(&spans, 50);
            for pair in bars.windows(2) {
                prop_assert!(pair[0].to <= pair[1].from, "{pair:?}");
            }
            for index in 0..spans.len() {
                prop_assert!(bars.iter().any(|bar| bar.attempts.contains(&index)));
            }
            prop_assert!(bars.iter().all(|bar| bar.from >= 0 && bar.to <= UNITS && bar.to - bar.from >= 50));
        }
    }
}
