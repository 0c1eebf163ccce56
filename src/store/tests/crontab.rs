//! The crontab of a small server over two months in which clocks change: each job runs when cron would have run it.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::{DateTime, Weekday};
use jiff::tz::TimeZone;

use super::fixture::{Scene, definition};
use crate::model::{Chain, Link, Missed, ScheduleText};
use crate::store::{Declarations, DeclaredSchedule};
use crate::text::Timestamp;

/// A line, and whether it matches this time of the wall clock, told without the line.
type Line = (&'static str, fn(DateTime) -> bool);

fn is(time: DateTime, hour: i8, minute: i8) -> bool {
    (time.hour(), time.minute()) == (hour, minute)
}

const CRONTAB: [Line; 12] = [
    ("17 */12 * * *", |time| time.hour() % 12 == 0 && time.minute() == 17),
    ("25 6 * * *", |time| is(time, 6, 25)),
    ("30 2 * * *", |time| is(time, 2, 30)),
    ("15 1-3 * * *", |time| (1..=3).contains(&time.hour()) && time.minute() == 15),
    ("0,20,40 2 * * *", |time| time.hour() == 2 && time.minute() % 20 == 0),
    ("*/20 2 * * *", |time| time.hour() == 2 && time.minute() % 20 == 0),
    ("*/30 * * * *", |time| time.minute() % 30 == 0),
    ("@hourly", |time| time.minute() == 0),
    ("0 9 1-7 * */7", |time| is(time, 9, 0) && time.day() <= 7 && time.weekday() == Weekday::Sunday),
    ("0 22 1,15 * fri", |time| {
        is(time, 22, 0) && ([1, 15].contains(&time.day()) || time.weekday() == Weekday::Friday)
    }),
    ("0 4 * jan-mar mon-tue,7", |time| {
        let is_day = [Weekday::Sunday, Weekday::Monday, Weekday::Tuesday].contains(&time.weekday());
        is(time, 4, 0) && time.month() <= 3 && is_day
    }),
    ("@weekly", |time| is(time, 0, 0) && time.weekday() == Weekday::Sunday),
];

/// When cron runs these lines from `start` to `end`, in milliseconds, with one run for all the times that are left out at once.
///
/// Its virtual clock follows the clock on the wall and never goes back. What has a `*` in its minute or hour looks at the
/// wall, and all else at the virtual clock.
fn by_cron(zone: &TimeZone, start: i64, end: i64) -> Vec<(&'static str, i64)> {
    let wall = |at: i64| zone.to_datetime(jiff::Timestamp::from_millisecond(at).unwrap());
    let mut runs = Vec::new();
    let mut shown = wall(start);
    let minutes = (start + 60_000..=end).step_by(60_000);
    for at in minutes {
        let now = wall(at);
        let passed = std::iter::successors(Some(shown + 1.minute()), |time| Some(*time + 1.minute()));
        let passed: Vec<_> = passed.take_while(|time| *time <= now).collect();
        for (line, matches) in CRONTAB {
            let looks_at_wall =
                line.split(' ').take(2).any(|field| field.starts_with('*')) || line == "@hourly";
            let runs_now =
                if looks_at_wall { matches(now) } else { passed.iter().any(|time| matches(*time)) };
            if runs_now {
                runs.push((line, at));
            }
        }
        shown = shown.max(now);
    }
    runs
}

#[test]
fn a_crontab_runs_as_cron_would_have_run_it() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    for (start, end) in [("2026-03-01", "2026-04-01"), ("2026-10-01", "2026-11-01")] {
        let midnight = |day: &str| {
            let day: jiff::civil::Date = day.parse().unwrap();
            day.to_zoned_datetime(zone.clone()).unwrap().timestamp().as_millisecond()
        };
        let (start, end) = (midnight(start), midnight(end));
        let mut scene = Scene::new();
        let schedules: Vec<_> =
            CRONTAB.iter().enumerate().map(|(index, (line, _))| scheduled(index, line)).collect();
        let declared = Declarations {
            file: "/crontab",
            schedules: &schedules,
            boot_id: "boot",
            queues: &BTreeMap::new(),
            take_over: &[],
        };
        scene.store.at(Timestamp(start)).apply(declared).unwrap();
        // Like a worker, which sleeps until the next time.
        loop {
            let next: i64 =
                scene.column("SELECT CAST(min(next_at) AS TEXT) FROM schedules")[0].parse().unwrap();
            if next > end {
                break;
            }
            scene.turn(&[], 0, next);
        }
        let found =
            scene.column("SELECT name || ' ' || scheduled_for FROM jobs ORDER BY scheduled_for, name");
        let index = |line| CRONTAB.iter().position(|(other, _)| *other == line).unwrap();
        let expected = by_cron(&zone, start, end);
        let expected: Vec<_> =
            expected.iter().map(|(line, at)| format!("{} {at}", name(index(*line)))).collect();
        assert_eq!(found, expected);
    }
}

fn name(index: usize) -> String {
    format!("line-{index:02}")
}

fn scheduled(index: usize, line: &str) -> DeclaredSchedule {
    let root = Link::new(definition(&name(index)));
    let text = ScheduleText {
        lines: vec![line.to_owned()],
        timezone: Some("Europe/Berlin".to_owned()),
        missed: Missed::Skip,
        missed_within: None,
        fresh_within: None,
        random_delay: None,
    };
    let zone = text.timezone.clone();
    DeclaredSchedule { chain: Chain { dependencies: Vec::new(), root }, text, zone }
}
