//! The times of a schedule in words.

use crate::model::{Pause, ScheduleText};
use crate::store::StoredSchedule;
use crate::text::{
    Millis, Timestamp, clock_time, human_duration, is_zone_of_screen, listed, relative_time, safe_line,
};

/// A schedule is overdue if no worker has fired it within this time.
const LATE: Millis = Millis::from_secs(5);

/// A schedule, and the state of the job that it last enqueued.
pub struct ScheduleRow {
    pub schedule: StoredSchedule,
    pub last_status: Option<String>,
}

/// When a schedule fires next in this boot: `in 9h 52m`, `overdue 1m 31s`, `at the next boot`, `paused`, `never`.
pub fn next_firing_text(row: &StoredSchedule, boot_id: &str, now: Timestamp) -> String {
    match row.next_at {
        _ if let Some(pause) = row.pause => format!("paused{}", until_text(pause, now)),
        None if let Some(seen) = &row.boot_id => boot_text(seen, boot_id).to_owned(),
        None => "never".to_owned(),
        Some(at) if at.plus(LATE) < now => format!("overdue {}", human_duration(now.since(at))),
        Some(at) => relative_time(at, now),
    }
}

/// The end of a pause, after a blank, if it has one: ` until 06:00`.
pub fn until_text(pause: Pause, now: Timestamp) -> String {
    pause.ends_at().map(|end| format!(" until {}", clock_time(end, now))).unwrap_or_default()
}

/// The zone of a schedule, if that was chosen, or its clocks are not those of the screen.
pub fn shown_zone<'a>(text: &ScheduleText, zone: Option<&'a str>, now: Timestamp) -> Option<&'a str> {
    let is_shown =
        |zone: &&str| text.timezone.is_some() || text.needs_zone() && !is_zone_of_screen(zone, now);
    zone.filter(is_shown)
}

/// The text of a schedule and its zone, if that is shown: `0 2 * * * Europe/Berlin`.
pub fn times_text(text: &ScheduleText, zone: Option<&str>, now: Timestamp) -> String {
    let zone = shown_zone(text, zone, now).map(|zone| format!(" {zone}")).unwrap_or_default();
    safe_line(&format!("{}{zone}", text.times_text()))
}

/// Which missed times run: `missed times run: once, if seen within 3h`.
pub fn missed_text(text: &ScheduleText) -> String {
    let within = text.missed_within.map(|within| format!(", if seen within {within}")).unwrap_or_default();
    format!("missed times run: {}{within}", text.missed.as_str())
}

/// The end of a sentence about a schedule: how much later than its times its jobs may be due.
pub fn random_delay_text(text: &ScheduleText) -> String {
    text.random_delay.map(|most| format!(", up to {most} later")).unwrap_or_default()
}

/// That these runs of a schedule, of which there is one at least, will not be made up for any more: `the run of 02:00 that was
/// missed is dropped`.
pub fn dropped_text(times: &[Timestamp], now: Timestamp) -> String {
    let time = |at: &Timestamp| clock_time(*at, now);
    let named: Vec<_> = times.iter().map(time).collect();
    match named.as_slice() {
        [one] => format!("the run of {one} that was missed is dropped"),
        [one, other] => format!("the runs of {one} and {other} that were missed are dropped"),
        all => format!("the runs of {} that were missed are dropped", listed(all, 2)),
    }
}

/// When a schedule that has seen a boot fires next, in this boot.
pub fn boot_text(seen: &str, boot_id: &str) -> &'static str {
    if seen == boot_id { "at the next boot" } else { "when a worker starts" }
}
