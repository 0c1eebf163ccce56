//! The geometry of pictures: which bars stand for which attempts, and how a bar is split.
//!
//! The axis is divided into cells. A bar is a run of cells with the same attempts in them, so no attempt is drawn over another
//! one, and a bar that stands for several is split in proportion: its share of red is its share of failures. It is as wide as the time
//! in which one of them ran. Where that is too narrow to be seen it is a tick, whose width says nothing.

use std::fmt::Write;

use super::axis::UNITS;
use crate::model::Outcome;
use crate::store::Stage;

/// The height of a bar in the units of the drawing.
pub(super) const HEIGHT: i64 = 100;

/// The space between two bars.
const GAP: i64 = 8;

/// A bar that is narrower has a tick, which is this wide on a telephone.
const TICK: i64 = 60;

/// The number of kinds.
const KINDS: usize = 5;

/// How an attempt went, as its colour shows it, from the top of a bar to its bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Failed,
    /// A success with a warning.
    Warned,
    Running,
    CutShort,
    Succeeded,
}

impl Kind {
    pub(super) const ALL: [Self; KINDS] =
        [Self::Failed, Self::Warned, Self::Running, Self::CutShort, Self::Succeeded];

    /// None of a job that is due: it has no attempt.
    pub(super) const fn of(stage: Stage, is_warned: bool) -> Option<Self> {
        match stage {
            Stage::Ended(Outcome::Succeeded) if is_warned => Some(Self::Warned),
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
            Self::Warned => "a",
            Self::Running => "n",
            Self::CutShort => "i",
            Self::Succeeded => "o",
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Warned => "succeeded with a warning",
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
        let clip = |x: i64| x.clamp(bar.from, bar.to);
        let mut within: Vec<(i64, i64)> = bar
            .attempts
            .iter()
            .filter_map(|index| spans.get(*index))
            .map(|span| (clip(span.from), clip(span.to)))
            .collect();
        within.sort_unstable();
        let (from, mut end, mut busy) = (within.first().map_or(bar.from, |(from, _)| *from), i64::MIN, 0);
        for (from, to) in within {
            busy += (to - from.max(end)).max(0);
            end = end.max(to);
        }
        (bar.from, bar.to) = (from, from + busy);
    }
    bars
}

/// Divides a height in proportion to these numbers. The parts add up to the height if any number is above zero.
pub(super) fn split(height: i64, numbers: [usize; KINDS]) -> [i64; KINDS] {
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
pub(super) fn count(kinds: impl Iterator<Item = Kind>) -> [usize; KINDS] {
    let mut numbers = [0; KINDS];
    for kind in kinds {
        if let Some(number) = numbers.get_mut(kind as usize) {
            *number += 1;
        }
    }
    numbers
}

/// The outlines of split bars, and the ticks of narrow ones: for each kind a path.
#[derive(Default)]
pub(super) struct Paths {
    bars: [String; KINDS],
    ticks: [String; KINDS],
}

impl Paths {
    /// Adds a bar that is split in proportion to these numbers.
    pub(super) fn add(&mut self, from: i64, to: i64, numbers: [usize; KINDS]) {
        let is_tick = to - from < TICK;
        let paths = if is_tick { &mut self.ticks } else { &mut self.bars };
        let (mut top, width) = (0, (to - from - GAP).max(1));
        for (path, part) in paths.iter_mut().zip(split(HEIGHT, numbers)) {
            if part > 0 && is_tick {
                let _ = write!(path, "M{from} {top}v{part}");
            } else if part > 0 {
                let _ = write!(path, "M{from} {top}h{width}v{part}h-{width}");
            }
            top += part;
        }
    }

    /// The paths that have anything, with their classes, failures last: a tick of them may lie above another one.
    pub(super) fn drawn(&self) -> impl Iterator<Item = (String, &str)> {
        let of = |suffix: &'static str, paths| {
            let kinds = Kind::ALL.iter().zip(paths).rev();
            kinds.map(move |(kind, path): (&Kind, &String)| {
                (format!("{}{suffix}", kind.class()), path.as_str())
            })
        };
        of("", &self.bars).chain(of(" t", &self.ticks)).filter(|(_, path)| !path.is_empty())
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
            let [red, _, _, _, green] = split(1_000, [failed, 0, 0, 0, others]);
            assert_eq!(red, 1_000 * i64::try_from(failed).unwrap() / i64::try_from(failed + others).unwrap());
            assert_eq!(red + green, 1_000);
        }
        assert_eq!(split(100, [0; KINDS]), [0; KINDS]);
    }

    #[test]
    fn a_job_that_recovered_shows_both_attempts() {
        let spans = [span(1_010, 1_012), span(1_020, 1_030)];
        let [bar] = bars(&spans, 50).try_into().unwrap();
        assert_eq!(bar, TimelineBar { from: 1_010, to: 1_022, attempts: vec![0, 1] });
        let mut paths = Paths::default();
        let numbers = count([Kind::Failed, Kind::Succeeded].into_iter());
        paths.add(bar.from, bar.to, numbers);
        paths.add(2_000, 2_250, numbers);
        let paths: Vec<_> = paths.drawn().map(|(class, path)| format!("{class}: {path}")).collect();
        let bars = ["o: M2000 50h242v50h-242", "f: M2000 0h242v50h-242"];
        assert_eq!(paths, [bars[0], bars[1], "o t: M1010 50v50", "f t: M1010 0v50"]);
    }

    #[test]
    fn a_bar_is_as_wide_as_the_time_in_which_something_ran() {
        // 36 minutes and 5 milliseconds of a day.
        assert_eq!(drawn(&[span(1_000, 1_250), span(5_000, 5_000)]), [(1_000, 1_250, 1), (5_000, 5_000, 1)]);
        // Two short ones within a cell do not fill it. What they share counts once.
        assert_eq!(bars(&[span(1_010, 1_020), span(1_200, 1_210)], 250)[0].to, 1_030);
        assert_eq!(bars(&[span(1_010, 1_020), span(1_015, 1_030)], 250)[0].to, 1_030);
    }

    #[test]
    fn an_attempt_by_itself_is_drawn_where_it_was_and_a_later_one_beside_it() {
        assert_eq!(drawn(&[span(1_010, 1_330)]), [(1_010, 1_330, 1)]);
        assert_eq!(drawn(&[span(9_999, 9_999)]), [(9_999, 9_999, 1)]);
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
            prop_assert!(bars.iter().all(|bar| bar.from >= 0 && bar.to <= UNITS && bar.from <= bar.to));
        }
    }
}
