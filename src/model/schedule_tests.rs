use std::collections::BTreeSet;

use jiff::tz::TimeZoneDatabase;
use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Timestamp {
    Timestamp(text.parse::<Instant>().unwrap().as_millisecond())
}

/// A zone with the rules that the program brings, whatever the machine knows.
fn zone_of(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}

/// The next times after `start`, as UTC. Several lines have `; ` between.
fn times(schedule: &str, zone: &str, start: &str, count: usize) -> Vec<String> {
    let lines: Vec<_> = schedule.split("; ").map(str::to_owned).collect();
    let schedule = Schedule::of_lines(&lines, zone_of(zone)).unwrap();
    schedule
        .upcoming(at(start))
        .take(count)
        .map(|time| jiff::Timestamp::from_millisecond(time.0).unwrap().to_string())
        .collect()
}

#[test]
fn clocks_go_forward_and_back_in_berlin() {
    // No 02:30 on 2026-03-29: the first moment after the gap.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
        ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
    );
    // 02:30 comes twice on 2026-10-25: the first.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
        ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
    );
    // A star keeps its pace.
    assert_eq!(
        times("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", 3),
        ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]
    );
    assert_eq!(times("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 1), ["2026-03-30T00:00:00Z"]);
}

#[test]
fn lists_and_ranges_are_times_of_day() {
    for (line, zone, start, expected) in [
        // Left out together, they come together, once.
        ("*/1 3 29 3 *", "Europe/Berlin", "2026-03-29T00:59:00Z", "2026-03-29T01:00:00Z"),
        (
            "3-52 2 29 3 *",
            "Europe/Berlin",
            "2026-03-28T12:00:00Z",
            "2026-03-29T01:00:00Z 2027-03-29T00:03:00Z",
        ),
        (
            "0,30 1-3 29 3 *",
            "Europe/Berlin",
            "2026-03-29T00:00:00Z",
            "2026-03-29T00:30:00Z 2026-03-29T01:00:00Z 2026-03-29T01:30:00Z",
        ),
        // The double hour: once, at the first.
        (
            "59 1-3 * * *",
            "Europe/Berlin",
            "2026-10-25T00:00:00Z",
            "2026-10-25T00:59:00Z 2026-10-25T02:59:00Z",
        ),
        ("0-59 2 * * *", "Europe/Berlin", "2026-10-25T00:59:00Z", "2026-10-26T01:00:00Z"),
        // In its second half nothing is made up for.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z"),
        // A star in either field is a pace.
        ("30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z 2026-10-25T01:30:00Z"),
        ("*/40 2 29 3 *", "Europe/Berlin", "2026-03-01T00:00:00Z", "2027-03-29T00:00:00Z"),
        ("*,5 2 29 3 *", "Europe/Berlin", "2026-03-01T00:00:00Z", "2027-03-29T00:00:00Z"),
        ("5,* 2 29 3 *", "Europe/Berlin", "2026-03-01T00:00:00Z", "2026-03-29T01:00:00Z"),
        // A change by half an hour, one at midnight, and one into the day before.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T12:00:00Z",
            "2026-10-03T15:30:00Z 2026-10-04T15:15:00Z",
        ),
        (
            "40 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-04T12:00:00Z",
            "2026-04-04T14:40:00Z 2026-04-05T15:10:00Z",
        ),
        ("0 0 * * *", "Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00Z 2026-03-29T21:00:00Z"),
        ("30 23 * * *", "Asia/Beirut", "2026-10-24T12:00:00Z", "2026-10-24T20:30:00Z 2026-10-25T21:30:00Z"),
        (
            "@hourly",
            "Asia/Beirut",
            "2026-10-24T19:30:00Z",
            "2026-10-24T20:00:00Z 2026-10-24T21:00:00Z 2026-10-24T22:00:00Z",
        ),
        // A day that a zone left out.
        ("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z 2012-12-29T22:00:00Z"),
    ] {
        let expected: Vec<_> = expected.split(' ').collect();
        assert_eq!(times(line, zone, start, expected.len()), expected, "{line} {zone}");
    }
}

#[test]
fn a_time_comes_to_a_whole_minute() {
    assert_eq!(times("* * * * *", "UTC", "2026-11-22T00:00:00.001Z", 1), ["2026-11-22T00:01:00Z"]);
    assert_eq!(times("* * * * *", "UTC", "2026-11-21T23:59:59.999Z", 1), ["2026-11-22T00:00:00Z"]);
    assert_eq!(times("* * * * *", "UTC", "2026-11-22T00:00:00Z", 1), ["2026-11-22T00:01:00Z"]);
    // Leap days of Sundays are up to forty years apart.
    assert_eq!(times("0 0 29 2 */7", "UTC", "2088-02-29T00:00:00Z", 1), ["2128-02-29T00:00:00Z"]);
}

/// `tests/cronsim/run` has the programs that made the samples with implementations of cron that others wrote.
#[test]
fn times_are_those_of_other_implementations() {
    let samples =
        [include_str!("../../tests/cronsim/sample.txt"), include_str!("../../tests/cronsim/days.txt")];
    let lines = samples.iter().flat_map(|sample| sample.lines());
    let lines: Vec<_> = lines.filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() > 450);
    for text in lines {
        let [zone, start, line, expected] = text.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{text}");
        };
        let expected: Vec<_> = expected.split(' ').map(|time| time.replace('Z', ":00Z")).collect();
        assert_eq!(times(line, zone, &start.replace('Z', ":00Z"), expected.len()), expected, "{text}");
    }
}

#[test]
fn schedules_that_are_refused() {
    for (text, why) in [
        ("02:00", "five fields"),
        ("every 999ms", "from 1s"),
        ("every 11y", "ten years"),
        ("every", "five fields"),
    ] {
        let error = Schedule::parse(text, TimeZone::UTC).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn missed_times_by_policy() {
    let schedule = Schedule::parse("every 10m", TimeZone::UTC).unwrap();
    let minute = |n: i64| Timestamp(n * 60_000);
    let due = |now: Timestamp, missed| {
        let (times, next) = schedule.due(minute(10), now, missed);
        let minutes: Vec<i64> = times.iter().map(|time| time.0 / 60_000).collect();
        (minutes, next.unwrap().0 / 60_000)
    };
    for missed in Missed::ALL.iter().copied() {
        assert_eq!(due(minute(9), missed), (vec![], 10));
        // A minute late is in time.
        assert_eq!(due(minute(11), missed), (vec![10], 20));
    }
    let late = minute(40).plus(Millis(1));
    assert_eq!(due(late, Missed::Once), (vec![40], 50));
    assert_eq!(due(late, Missed::All), (vec![10, 20, 30, 40], 50));
    assert_eq!(due(late, Missed::Skip), (vec![40], 50));
    assert_eq!(due(minute(41), Missed::Skip), (vec![40], 50));
    assert_eq!(due(minute(41).plus(Millis(1)), Missed::Skip), (vec![], 50));
    // A year without a worker.
    for text in ["every 1m", "* * * * *"] {
        let schedule = Schedule::parse(text, TimeZone::UTC).unwrap();
        let (times, next) = schedule.due(minute(10), minute(525_600), Missed::All);
        let newest: Vec<_> = (525_501..=525_600).map(minute).collect();
        assert_eq!((times, next), (newest, Some(minute(525_601))));
    }
    // Several times within a minute.
    let schedule = Schedule::parse("every 10s", TimeZone::UTC).unwrap();
    for missed in [Missed::Once, Missed::Skip] {
        let (times, _) = schedule.due(minute(1), minute(2), missed);
        assert_eq!(times, [minute(2)]);
    }
}

#[test]
fn a_time_that_another_zone_promised_comes_once() {
    let at = |text: &str| timestamp(text.parse().unwrap());
    let line = "16 10 * * *";
    let promised = Schedule::parse(line, zone_of("America/New_York")).unwrap();
    let promised = promised.first(at("2026-11-23T12:00:00Z")).unwrap();
    assert_eq!(promised, at("2026-11-23T15:16:00Z"));
    let schedule = Schedule::parse(line, TimeZone::UTC).unwrap();
    let tomorrow = at("2026-11-24T10:16:00Z");
    for missed in Missed::ALL.iter().copied() {
        assert_eq!(schedule.due(promised, promised.minus(Millis(1)), missed), (vec![], Some(promised)));
        let late = promised.plus(Millis::from_secs(59));
        assert_eq!(schedule.due(promised, late, missed), (vec![promised], Some(tomorrow)));
    }
    let (times, _) = schedule.due(promised, tomorrow, Missed::All);
    assert_eq!(times, [promised, tomorrow], "and those of this zone after it");
    // A monthly line lost its month.
    let monthly = Schedule::parse("@monthly", zone_of("Pacific/Auckland")).unwrap();
    let promised = monthly.first(at("2026-11-23T12:00:00Z")).unwrap();
    let (times, next) =
        Schedule::parse("@monthly", TimeZone::UTC).unwrap().due(promised, promised, Missed::Once);
    assert_eq!((times, next), (vec![promised], Some(at("2026-12-01T00:00:00Z"))));
}

#[test]
fn a_next_time_that_is_too_far_away_comes_nearer() {
    let at = |text: &str| timestamp(text.parse().unwrap());
    let now = at("2026-11-23T12:00:30Z");
    let (near, far) = (now.plus(Millis::from_secs(86_400)), now.plus(Millis::from_secs(3_650 * 86_400)));
    for (text, next, nearer) in [
        ("0 2 * * *", far, Some(at("2026-11-24T02:00:00Z"))),
        ("0 2 * * *", near, Some(at("2026-11-24T02:00:00Z"))),
        ("0 2 * * *", at("2026-11-24T02:00:00Z"), None),
        ("0 2 1 1 *", at("2027-01-01T02:00:00Z"), None),
        // It keeps its phase: ten years are a whole number of days and a minute.
        ("every 1d", far.plus(Millis::from_secs(60)), Some(now.plus(Millis::from_secs(60)))),
        ("every 1d", far, Some(near)),
        ("every 1d", near, None),
        ("every 10y", near, None),
        ("@reboot", far, None),
    ] {
        assert_eq!(Schedule::parse(text, TimeZone::UTC).unwrap().nearer(next, now), nearer, "{text}");
    }
}

const ZONES: [&str; 7] = [
    "Europe/Berlin",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Asia/Beirut",
    "Africa/Cairo",
    "Pacific/Apia",
    "UTC",
];

/// A field of a line of cron, often a single one of `favourites`.
fn field(favourites: &'static [&'static str], high: u8) -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(favourites).prop_map(str::to_owned),
        2 => (1..=high).prop_map(|number| number.to_string()),
        1 => (2..=high).prop_map(|step| format!("*/{step}")),
        1 => (1..=high, 1..=high).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        1 => (1..=high, 1..=high).prop_map(|(a, b)| format!("{a},{b}")),
    ]
}

fn line() -> impl Strategy<Value = String> {
    (
        field(&["0", "*", "*/20", "30"], 59),
        field(&["*", "1", "2", "0-3"], 23),
        field(&["*"], 28),
        field(&["*"], 7),
    )
        .prop_map(|(minute, hour, day, weekday)| format!("{minute} {hour} {day} * {weekday}"))
}

/// The rule, minute by minute: the times of this line from `from` to `to`.
///
/// As cron does it, a virtual clock for times of day follows the clock of the zone. It never goes back, and the minutes
/// that the clock leaves out go by at once.
fn minute_by_minute(text: &str, zone: &TimeZone, from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
    let line = CronLine::parse(text).unwrap();
    let mut found = Vec::new();
    let wall = |minute: i64| zone.to_datetime(Instant::from_second(minute * 60).unwrap());
    // From a day before, because the clock may just have been set back.
    let first = from.0.div_euclid(60_000) - 1_440;
    let mut shown = wall(first);
    for minute in first + 1..=to.0.div_euclid(60_000) {
        let now = wall(minute);
        let begin = if line.is_interval() { now } else { shown + 1.minute() };
        let comes = begin <= now && line.times(begin..=now).next().is_some();
        shown = shown.max(now);
        let time = Timestamp(minute * 60_000);
        if comes && time >= from {
            found.push(time);
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn times_are_those_of_a_walk_through_all_minutes(
        lines in prop::collection::vec(line(), 1..4),
        zone in prop::sample::select(&ZONES[..]),
        // Around a change of 2025 to 2027 of the zone, if it has any.
        year in 0_usize..5,
        before in 0_i64..2 * 1_440,
    ) {
        let zone = zone_of(zone);
        let begin = "2025-01-01T00:00:00Z".parse().unwrap();
        let change = zone.following(begin).nth(year).map_or(begin, |change| change.timestamp());
        let from = Timestamp((change.as_second() / 60 - before) * 60_000);
        let to = from.plus(Millis::from_secs(3 * 86_400));
        // Times of several lines that fall together come once.
        let walked = lines.iter().flat_map(|line| minute_by_minute(line, &zone, from, to));
        let walked: Vec<_> = walked.collect::<BTreeSet<_>>().into_iter().collect();
        let schedule = Schedule::of_lines(&lines, zone).unwrap();
        let stepped: Vec<_> =
            schedule.upcoming(from.minus(Millis(1))).take_while(|time| *time <= to).collect();
        prop_assert_eq!(&stepped, &walked);
        let back = std::iter::successors(schedule.latest(from, to), |time| {
            schedule.latest(from, time.minus(Millis(1)))
        });
        let mut back: Vec<_> = back.collect();
        back.reverse();
        prop_assert_eq!(&back, &walked);
    }

    /// `all` gives exactly the newest of the times that stepping forward gives.
    #[test]
    fn looking_back_finds_what_stepping_forward_finds(
        lines in prop_oneof![prop::collection::vec(line(), 1..4), Just(vec!["every 17m".to_owned()])],
        zone in prop::sample::select(&ZONES[..]),
        start in 1_700_000_000_000_i64..1_860_000_000_000,
        span in 0_i64..40 * 3_600_000,
    ) {
        let schedule = Schedule::of_lines(&lines, zone_of(zone)).unwrap();
        let first = schedule.first(Timestamp(start)).unwrap();
        let now = Timestamp(first.0 + span);
        let forward: Vec<_> = std::iter::successors(Some(first), |time| schedule.after(*time))
            .take_while(|time| *time <= now)
            .collect();
        let (times, next) = schedule.due(first, now, Missed::All);
        prop_assert_eq!(&times[..], &forward[forward.len().saturating_sub(MAX_MISSED)..]);
        prop_assert_eq!(next, schedule.next_given(first, now));
        prop_assert_eq!(next, forward.last().and_then(|last| schedule.after(*last)));
    }
}

#[test]
fn a_time_that_has_come_by_the_old_line_may_be_one_of_the_new() {
    let first_shared = |old: (&str, &str), new: (&str, &str), next: &str, now: &str| {
        let [old, new] = [old, new].map(|(line, zone)| Schedule::parse(line, zone_of(zone)).unwrap());
        let time = new.first_shared(&old, at(next), at(now))?;
        Some(jiff::Timestamp::from_millisecond(time.0).unwrap().to_string())
    };
    let utc = |old, new, next, now| first_shared((old, "UTC"), (new, "UTC"), next, now);
    let (next, now) = ("2026-11-20T02:00:00Z", "2026-11-28T09:00:00Z");
    let is = |time: &str| Some(time.to_owned());
    assert_eq!(utc("0 2 * * *", "0 2,14 * * *", next, now), is(next));
    assert_eq!(utc("0 2 * * *", "0 2 * * sat", next, now), is("2026-11-21T02:00:00Z"));
    assert_eq!(utc("0 2 * * *", "30 3 * * *", next, now), None);
    assert_eq!(utc("*/2 * * * *", "1-59/2 * * * *", next, now), None);
    // At most the newest 100 count.
    assert_eq!(utc("* * * * *", "*/2 * * * *", next, "2026-11-28T09:00:30Z"), is("2026-11-28T05:42:00Z"));
    // An interval has the times of its phase, and a new one begins anew.
    assert_eq!(utc("every 20m", "0 * * * *", "2026-11-28T07:40:00Z", now), is("2026-11-28T08:00:00Z"));
    assert_eq!(utc("every 20m", "0 * * * *", "2026-11-28T07:40:00.250Z", now), None);
    assert_eq!(utc("every 20m", "every 10m", "2026-11-28T07:40:00Z", now), None);
    assert_eq!(utc("0 2 * * *", "@reboot", next, now), None);
    assert_eq!(utc("0 2 * * *", "0 2 * * *", now, next), None);
    // The same moment by the clocks of another zone, which differ in summer alone, and one in a gap of the clocks.
    let lines = (("0 2 * * *", "UTC"), ("0 2 * * *", "Europe/London"));
    assert_eq!(first_shared(lines.0, lines.1, next, now), is(next));
    assert_eq!(first_shared(lines.0, lines.1, "2026-07-01T02:00:00Z", "2026-07-02T09:00:00Z"), None);
    let lines = (("30 2 * * *", "Europe/Berlin"), ("0 3 * * *", "Europe/Berlin"));
    let (next, now) = ("2026-03-27T01:30:00Z", "2026-03-30T12:00:00Z");
    assert_eq!(first_shared(lines.0, lines.1, next, now), is("2026-03-29T01:00:00Z"));
}

/// A schedule of a job file with these lines.
fn text_of(lines: &[&str], missed_within: Option<Millis>) -> ScheduleText {
    ScheduleText {
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        timezone: None,
        missed: Missed::All,
        missed_within,
        fresh_within: None,
        random_delay: None,
    }
}

#[test]
fn each_line_of_several_has_its_times_and_one_moment_comes_once() {
    let times = |lines: &[&str], start, count| times(&lines.join("; "), "Europe/Berlin", start, count);
    // 08:30 on weekdays, 10:00 at weekends; from a Friday on.
    assert_eq!(
        times(&["30 8 * * 1-5", "0 10 * * 6,0"], "2026-12-03T12:00:00Z", 4),
        ["2026-12-04T07:30:00Z", "2026-12-05T09:00:00Z", "2026-12-06T09:00:00Z", "2026-12-07T07:30:00Z"]
    );
    // Both are left out by the clocks, and a third one keeps its pace.
    assert_eq!(
        times(&["30 2 * * *", "45 2 * * *", "0 * * * *"], "2026-03-29T00:30:00Z", 3),
        ["2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z", "2026-03-29T03:00:00Z"]
    );
    assert_eq!(times(&["@daily", "0 0 * * *"], "2026-11-28T12:00:00Z", 2).len(), 2);
    for lines in [&["@daily", "@reboot"][..], &["@daily", "every 1h"], &[]] {
        assert!(text_of(lines, None).times(TimeZone::UTC).is_err(), "{lines:?}");
    }
}

#[test]
fn a_time_that_is_seen_later_than_missed_within_is_too_late() {
    let minute = |n: i64| Timestamp(n * 60_000);
    let times = || [10, 20, 30].map(minute).to_vec();
    for (within, now, late) in [
        (None, minute(1_000), 0),
        (Some(20), minute(30), 0),
        (Some(20), minute(30).plus(Millis(1)), 1),
        (Some(20), minute(50), 2),
        (Some(1), minute(32), 3),
    ] {
        let text = text_of(&["@hourly"], within.map(|within| Millis::from_secs(60 * within)));
        let (gone, others) = text.too_late(times(), now);
        assert_eq!((gone.len(), [gone, others].concat()), (late, times()), "{within:?} {now:?}");
    }
}

#[test]
fn older_programs_read_a_line_that_they_know() {
    let within = Some(Millis::from_secs(60));
    for (lines, missed_within, expected) in [
        (&["0 2 * * *"][..], None, None),
        (&["0 2 L * 5#3"], None, None),
        (&["@reboot"], None, None),
        (&["0 2 * * *"], within, Some("0 2 * * * ")),
        (&["every 15m"], within, Some("every 15m ")),
        (&["30 8 * * 1-5", "0 10 * * 6,0"], None, Some("30 8 * * 1-5 ")),
        (&["30 8 * * friL", "@daily"], None, Some("@daily ")),
        (&["30 8 * * friL", "30 8 LW * *"], None, Some("30 8 * * FRI#4 ")),
        (&["30 8 1,l-3 jan mon"], None, Some("30 8 1,L JAN MON ")),
        (&["30 8 15W,30w * *"], None, Some("30 8 15,30 * * ")),
        // The 29th of February is never a fourth Monday.
        (&["30 8 */28 2 monL"], None, Some("@yearly ")),
    ] {
        assert_eq!(text_of(lines, missed_within).for_1_0().as_deref(), expected, "{lines:?}");
    }
}
