//! Hints for the times of a schedule as people who know other programs write them: lines of AWS, Quartz,
//! Jenkins, systemd and of libraries. A hint means the same as the line; where programs differ, each reading is said.

use jiff::tz::TimeZone;

use crate::call_target::to_type;
use crate::model::{Schedule, check_name, cron_entry};
use crate::text::Millis;

/// What a line may mean.
struct Reading {
    /// What to write.
    line: String,
    /// When it means that; empty where it is the only reading.
    condition: &'static str,
    /// What else to write, or to know.
    besides: String,
}

impl Reading {
    fn times(&self) -> Option<Schedule> {
        Schedule::parse(&self.line, TimeZone::UTC).ok()
    }
}

const SECONDS_FIRST: &str = "if seconds come first";
const SECONDS_LAST: &str = "if seconds come last";
const YEAR_LAST: &str = "if a year comes last";
const FROM_MONDAY: &str = "if 1 is Monday";
const FROM_SUNDAY: &str = "if 1 is Sunday, as in AWS and Quartz";

const MONTHS: &str = "january february march april may june july august september october november december";
const WEEKDAYS: &str = "sunday monday tuesday wednesday thursday friday saturday";

/// The numbers among which Jenkins picks for `H` in each field.
const PICKED: [(u32, u32); 5] = [(0, 59), (0, 23), (1, 28), (1, 12), (0, 6)];

/// Each field as it counts in a line of cron.
type Fields<'t> = [&'t str; 5];

/// What to write for a schedule that cannot be read, if it can be told what its author means.
pub(super) fn hint(text: &str) -> Option<String> {
    let text = text.trim();
    let (text, zone) = zone_apart(text).map_or((text, None), |(text, zone)| (text, Some(zone)));
    let readings = if zone.is_some() && is_schedule(text) {
        one(text.to_owned(), "", "")
    } else if let Some(fact) = fact(text) {
        return Some(fact);
    } else {
        readings(text)?
    };
    if !readings.iter().all(|reading| is_schedule(&reading.line)) {
        return None;
    }
    // A boot has no zone.
    let zone = zone.filter(|_| readings.iter().all(|reading| reading.line != Schedule::AT_BOOT));
    let same = |one: &Reading, other: &Reading| one.times() == other.times() && one.besides == other.besides;
    let is_single = readings.windows(2).all(|pair| same(&pair[0], &pair[1]));
    let told = readings.iter().take(if is_single { 1 } else { readings.len() });
    let words = told.map(|Reading { line, condition, besides }| {
        let times = match zone {
            Some(zone) => format!("schedule = \"{line}\" and timezone = \"{zone}\""),
            None => format!("\"{line}\""),
        };
        match *condition {
            "" => format!("write {times}{besides}"),
            SECONDS_FIRST if is_single => {
                format!("write {times}{besides}: cron has five fields, and no seconds")
            }
            _ if is_single => format!("write {times}{besides}"),
            condition => format!("write {times}{besides} {condition}"),
        }
    });
    Some(words.collect::<Vec<_>>().join("; "))
}

fn is_schedule(text: &str) -> bool {
    Schedule::parse(text, TimeZone::UTC).is_ok()
}

fn one(line: String, condition: &'static str, besides: &str) -> Vec<Reading> {
    vec![Reading { line, condition, besides: besides.to_owned() }]
}

/// The rest of `CRON_TZ=ZONE 0 2 * * *` and of `0 2 * * * ZONE`, and the zone.
fn zone_apart(text: &str) -> Option<(&str, &str)> {
    let is_zone =
        |zone: &str| (zone.contains('/') || matches!(zone, "UTC" | "GMT")) && TimeZone::get(zone).is_ok();
    let (first, rest) = text.split_once(char::is_whitespace)?;
    let in_front = first.strip_prefix("CRON_TZ=").or_else(|| first.strip_prefix("TZ="));
    if let Some(zone) = in_front {
        return Some((rest.trim(), zone.trim_matches(['"', '\'']))).filter(|(_, zone)| is_zone(zone));
    }
    let (rest, last) = text.rsplit_once(char::is_whitespace)?;
    is_zone(last).then(|| (rest.trim(), last))
}

/// What cannot be written as a schedule at all.
fn fact(text: &str) -> Option<String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let is_year = |field: &&&str| {
        let number = field.get(..4).filter(|year| year.starts_with("19") || year.starts_with("20"));
        number.is_some_and(|year| year.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if matches!(fields.len(), 6 | 7) && fields.last().as_ref().is_some_and(is_year) {
        let at = to_type("enqueue", "NAME --at TIME");
        return Some(format!("a schedule has no year, and its days come in each one; for one time: {at}"));
    }
    let span = text.strip_prefix("@every")?;
    let is_short = Millis::parse(span).is_ok_and(|span| span < Millis::from_secs(1));
    is_short.then(|| "a pace is at least one second".to_owned())
}

/// All that a line may mean; none if that cannot be told, or cannot be written.
fn readings(text: &str) -> Option<Vec<Reading>> {
    let call = |name: &str| text.strip_prefix(name)?.strip_suffix(')').map(str::trim);
    if let Some(pace) = call("rate(") {
        return Some(one(format!("every {pace}"), "", ""));
    }
    let text = call("cron(").unwrap_or(text);
    let fields: Vec<&str> = text.split_whitespace().collect();
    let comment = fields.iter().skip(1).position(|field| {
        // `#3` alone is a mistake about the weekday.
        field.strip_prefix('#').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    if let Some(before) = comment {
        let line = fields[..=before].join(" ");
        return if is_schedule(&line) { Some(one(line, "", "")) } else { readings(&line) };
    }
    if let Some(line) = word(&fields) {
        return Some(line);
    }
    if let Some((front, behind)) = fields.split_first_chunk::<5>() {
        return match *behind {
            [] => five(*front),
            [last] => six(*front, last),
            [_, year] if is_zero(fields[0]) && matches!(year, "*" | "?") => seven(&fields),
            [program, ..] if is_program(program) => {
                Some(one(mended(*front)?, "", "; a command stands in `command`"))
            }
            _ => None,
        };
    }
    if Millis::parse(text).is_ok() {
        return Some(one(format!("every {text}"), "", ""));
    }
    calendar(&fields)
}

fn is_program(word: &str) -> bool {
    word.starts_with(['/', '.', '~']) && word.contains('/') && word.contains(char::is_alphabetic)
}

/// What is said in words: `@every 5m`, `every hour`, `Daily`.
fn word(fields: &[&str]) -> Option<Vec<Reading>> {
    let lower: Vec<String> = fields.iter().map(|field| field.to_ascii_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let line = match *lower.as_slice() {
        ["every", unit] if !unit.starts_with(|c: char| c.is_ascii_digit()) => format!("every 1 {unit}"),
        ["every" | "@every", ..] => format!("every {}", fields[1..].join(" ")),
        ["@boot" | "@startup" | "reboot" | "@reboot"] => Schedule::AT_BOOT.to_owned(),
        ["@minutely" | "minutely" | "@every_minute"] => "* * * * *".to_owned(),
        ["@secondly" | "@every_second"] => "every 1s".to_owned(),
        ["@weekdays"] => "0 0 * * 1-5".to_owned(),
        ["@weekends"] => "0 0 * * 6,0".to_owned(),
        ["quarterly"] => "0 0 1 1,4,7,10 *".to_owned(),
        ["semiannually"] => "0 0 1 1,7 *".to_owned(),
        ["weekly"] => {
            let mut both = one("@weekly".to_owned(), "for Sundays", "");
            both.extend(one("0 0 * * 1".to_owned(), "for Mondays, as systemd's", ""));
            return Some(both);
        }
        [word] => format!("@{}", word.trim_start_matches('@')),
        _ => return None,
    };
    is_schedule(&line).then(|| one(line, "", ""))
}

/// Five fields, in which weekdays are counted as cron does, unless a `?` says that the line is from elsewhere.
fn five(fields: Fields<'_>) -> Option<Vec<Reading>> {
    let picked: Vec<String> = fields
        .iter()
        .enumerate()
        .map(|(field, text)| picked(field, text, fields.join(" ").bytes().map(u32::from).sum()))
        .collect::<Option<_>>()?;
    let picks = picked.iter().zip(fields).any(|(picked, field)| picked != field);
    let [minute, hour, day, month, weekday] = [0, 1, 2, 3, 4].map(|field| picked[field].as_str());
    if picks {
        let line = mended([minute, hour, day, month, weekday])?;
        return Some(one(line, "", ", or other numbers where another program picks them"));
    }
    if let Some((from, to)) = minute.split_once('~') {
        let (from, to) = (number_or(from, 0)?, number_or(to, 59)?);
        let line = mended([&from.to_string(), hour, day, month, weekday])?;
        let delay = to.checked_sub(from).filter(|delay| *delay > 0 && to < 60)?;
        return Some(one(line, "", &format!(" and random_delay = \"{delay}m\"")));
    }
    if fields.contains(&"?") { of_days(fields, "") } else { Some(one(mended(fields)?, "", "")) }
}

fn number_or(text: &str, default: u32) -> Option<u32> {
    if text.is_empty() { Some(default) } else { text.parse().ok() }
}

/// Seconds, five fields and a year; or five fields, seconds and a year.
fn seven(fields: &[&str]) -> Option<Vec<Reading>> {
    let (front, behind) = (fields.first_chunk::<5>()?, fields.get(1..)?.first_chunk::<5>()?);
    let mut readings = of_days(*behind, SECONDS_FIRST).unwrap_or_default();
    if is_zero(behind[4]) {
        readings.extend(reading(*front, SECONDS_LAST));
    }
    Some(readings).filter(|readings| !readings.is_empty())
}

/// Six fields: seconds in front, or a year, seconds or a user behind.
fn six(front: Fields<'_>, last: &str) -> Option<Vec<Reading>> {
    let [first, a, b, c, d] = front;
    let behind = [a, b, c, d, last];
    let asks = |fields: [&str; 2]| fields.contains(&"?");
    if asks([b, d]) {
        if asks([c, last]) || last != "*" {
            return None;
        }
        let weekday = if d == "?" { "*".to_owned() } else { from_sunday(d)? };
        return Some(one(mended([first, a, b, c, &weekday])?, "", ""));
    }
    if let Some(line) = pace_in_seconds(first, behind) {
        let mut readings = one(line, SECONDS_FIRST, "");
        if last == "*" {
            readings.extend(reading(front, YEAR_LAST));
        }
        return Some(readings);
    }
    if reading(["0", "0", "*", "*", last], "").is_none() {
        let is_user =
            last.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && check_name(last).is_ok();
        let besides = match (is_user, is_program(last)) {
            (true, _) => {
                format!("; a user is a `launcher`: launcher = [\"runuser\", \"-u\", \"{last}\", \"--\"]")
            }
            (_, true) => "; a command stands in `command`".to_owned(),
            _ => return None,
        };
        return Some(one(mended(front)?, "", &besides));
    }
    let mut readings = of_days(behind, SECONDS_FIRST).unwrap_or_default();
    if !is_zero(first) && !readings.is_empty() {
        return None;
    }
    let other = match last {
        "*" => reading(front, YEAR_LAST),
        last if is_zero(last) => reading(front, SECONDS_LAST),
        _ => None,
    };
    readings.extend(other);
    Some(readings).filter(|readings| !readings.is_empty())
}

fn is_zero(field: &str) -> bool {
    matches!(field, "0" | "00")
}

/// Seconds that come each minute at the same distance, while all else matches.
fn pace_in_seconds(seconds: &str, others: Fields<'_>) -> Option<String> {
    let step: u32 = match seconds {
        "*" => 1,
        _ => seconds.strip_prefix("*/").or_else(|| seconds.strip_prefix("0/"))?.parse().ok()?,
    };
    let is_pace = 60_u32.is_multiple_of(step) && others.iter().all(|field| matches!(*field, "*" | "?"));
    is_pace.then(|| format!("every {step}s"))
}

/// The reading of five fields, if they are a schedule.
fn reading(fields: Fields<'_>, condition: &'static str) -> Option<Reading> {
    let line = mended(fields)?;
    is_schedule(&line).then_some(Reading { line, condition, besides: String::new() })
}

/// Five fields of a program that may count its weekdays from Sunday, as 1. None if they are no schedule.
fn of_days(fields: Fields<'_>, condition: &'static str) -> Option<Vec<Reading>> {
    let [minute, hour, day, month, weekday] = fields;
    let as_it_is = reading(fields, condition)?;
    let from_sunday =
        from_sunday(weekday).and_then(|other| reading([minute, hour, day, month, &other], FROM_SUNDAY));
    Some(match from_sunday.filter(|other| other.times() != as_it_is.times()) {
        Some(other) => vec![Reading { condition: FROM_MONDAY, ..as_it_is }, other],
        None => vec![as_it_is],
    })
}

/// Weekdays that are counted from Sunday, as 1, by their names. None if one of them is no such number.
fn from_sunday(field: &str) -> Option<String> {
    let name = |number: &str| match number.parse::<usize>() {
        Ok(number) => Some(WEEKDAYS.split(' ').nth(number.checked_sub(1)?)?[..3].to_owned()),
        Err(_) => Some(number.to_owned()),
    };
    let entry = |entry: &str| {
        let entry = &special_day(4, entry).unwrap_or_else(|| entry.to_owned());
        let (range, step) =
            entry.split_once('/').map_or((&**entry, None), |(range, step)| (range, Some(step)));
        let (range, nth) = range.split_once('#').map_or((range, None), |(range, nth)| (range, Some(nth)));
        let is_last = range.len() == 2 && range.ends_with(['L', 'l']);
        let days = range[..range.len() - usize::from(is_last)].split('-').map(name);
        let days = days.collect::<Option<Vec<_>>>()?;
        let mut text = days.join("-");
        // Such a step goes on until Saturday, the last day.
        if step.is_some() && days.len() == 1 && range != "*" {
            text.push_str("-sat");
        }
        text.push_str(if is_last { "L" } else { "" });
        for (sign, rest) in [("#", nth), ("/", step)] {
            if let Some(rest) = rest {
                text.push_str(sign);
                text.push_str(rest);
            }
        }
        Some(text)
    };
    field.split(',').map(entry).collect::<Option<Vec<_>>>().map(|entries| entries.join(","))
}

/// Five fields as cron writes them: without `?`, names in full, ranges over the end, and steps without a range.
fn mended(fields: Fields<'_>) -> Option<String> {
    let mut mended = Vec::with_capacity(fields.len());
    for (field, text) in fields.into_iter().enumerate() {
        if text == "?" {
            mended.push(if matches!(field, 2 | 4) { "*".to_owned() } else { return None });
            continue;
        }
        let entry = |entry: &str| {
            let entry = named(field, entry);
            let entry = special_day(field, &entry).unwrap_or(entry);
            cron_entry(field, &entry).unwrap_or(entry)
        };
        mended.push(text.split(',').map(entry).collect::<Vec<_>>().join(","));
    }
    Some(mended.join(" "))
}

/// An entry with the short names of months and weekdays: `monday` and `tues` are `mon` and `tue`.
fn named(field: usize, entry: &str) -> String {
    let names = match field {
        3 => MONTHS,
        4 => WEEKDAYS,
        _ => return entry.to_owned(),
    };
    let short = |word: &str| {
        let lower = word.to_ascii_lowercase();
        let known = names.split(' ').find(|name| word.len() > 3 && name.starts_with(&lower));
        known.map_or_else(|| word.to_owned(), |name| name[..3].to_owned())
    };
    let (range, rest) = entry.split_at(entry.find(['/', '#']).unwrap_or(entry.len()));
    range.split('-').map(short).collect::<Vec<_>>().join("-") + rest
}

/// Other programs write `W15` for `15W`, and `L5` or `5#L` for `5L`.
fn special_day(field: usize, entry: &str) -> Option<String> {
    match field {
        2 => Some(format!("{}W", entry.strip_prefix(['W', 'w'])?)),
        4 => {
            let weekday = entry.strip_suffix("#L").or_else(|| entry.strip_suffix("#l"));
            Some(format!("{}L", weekday.or_else(|| entry.strip_prefix(['L', 'l']))?))
        }
        _ => None,
    }
}

/// A field with a number for the `H` of Jenkins and the `R` of croniter, which pick one for each line. None if it cannot be.
fn picked(field: usize, text: &str, seed: u32) -> Option<String> {
    let Some(rest) = text.strip_prefix(['H', 'h', 'R', 'r']) else {
        return Some(text.to_owned());
    };
    let pick = |first: u32, last: u32| Some(first + seed % last.checked_sub(first)?.checked_add(1)?);
    let (first, last) = *PICKED.get(field)?;
    let (range, step) = rest.split_once('/').map_or((rest, None), |(range, step)| (range, Some(step)));
    let (first, last) = match range.strip_prefix('(').and_then(|range| range.strip_suffix(')')) {
        Some(range) => {
            let (from, to) = range.split_once('-')?;
            (from.parse().ok()?, to.parse().ok()?)
        }
        None if range.is_empty() => (first, last),
        None => return None,
    };
    let Some(step) = step else {
        return pick(first, last).map(|number| number.to_string());
    };
    let step: u32 = step.parse().ok().filter(|step| *step > 0)?;
    Some(format!("{}-{last}/{step}", pick(first, last.min(first.checked_add(step - 1)?))?))
}

/// A time of systemd's `OnCalendar`, such as `Mon..Fri *-*-* 02:30:00`, or `02:30`.
fn calendar(words: &[&str]) -> Option<Vec<Reading>> {
    let mut rest = words;
    let mut next = |is_part: fn(&str) -> bool| {
        let (first, others) = rest.split_first()?;
        is_part(first).then(|| {
            rest = others;
            *first
        })
    };
    let weekday = next(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
    let day = next(|word| word.contains('-') && !word.contains(':'));
    let time = next(|word| word.contains(':'));
    if !rest.is_empty() || words.is_empty() {
        return None;
    }
    let weekday = weekday.map_or(Some("*".to_owned()), |text| {
        let is_name = |word: &str| {
            let lower = word.to_ascii_lowercase();
            word.len() >= 3 && WEEKDAYS.split(' ').any(|name| name.starts_with(&lower))
        };
        let text = text.replace("..", "-");
        text.split([',', '-']).all(is_name).then_some(text)
    })?;
    let (month, day) = day.map_or(Some(("*".to_owned(), "*".to_owned())), |date| {
        let date = date.strip_prefix("*-").filter(|date| date.contains(['-', '~'])).unwrap_or(date);
        match date.split_once('~') {
            Some((month, "1" | "01")) => Some((component(month, 12)?, "L".to_owned())),
            Some((month, day)) => {
                Some((component(month, 12)?, format!("L-{}", day.parse::<u32>().ok()?.checked_sub(1)?)))
            }
            None => date
                .split_once('-')
                .and_then(|(month, day)| Some((component(month, 12)?, component(day, 31)?))),
        }
    })?;
    // systemd wants both the weekday and the day of the month, and cron either.
    if weekday != "*" && day != "*" {
        return None;
    }
    let (hour, minute) = time.map_or(Some(("0".to_owned(), "0".to_owned())), |time| {
        let mut parts = time.split(':');
        let (hour, minute) = (component(parts.next()?, 23)?, component(parts.next()?, 59)?);
        let has_seconds = parts.next().is_some_and(|seconds| !is_zero(seconds)) || parts.next().is_some();
        (!has_seconds).then_some((hour, minute))
    })?;
    Some(one(mended([&minute, &hour, &day, &month, &weekday])?, "", ""))
}

/// A part of a time of systemd, as cron writes it: `1..5` is `1-5`, and `0/15` goes on until the last number.
fn component(text: &str, last: u32) -> Option<String> {
    let number = |text: &str| text.parse::<u32>().ok();
    let entry = |entry: &str| {
        let (range, step) = entry.split_once('/').map_or((entry, None), |(range, step)| (range, Some(step)));
        let step = step.map_or(Some(String::new()), |step| Some(format!("/{}", number(step)?)))?;
        Some(match (range, range.split_once("..")) {
            ("*", _) => format!("*{step}"),
            (_, Some((from, to))) => format!("{}-{}{step}", number(from)?, number(to)?),
            (_, None) if step.is_empty() => number(range)?.to_string(),
            (_, None) => format!("{}-{last}{step}", number(range)?),
        })
    };
    text.split(',').map(entry).collect::<Option<Vec<_>>>().map(|entries| entries.join(","))
}
