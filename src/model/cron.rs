//! A line of cron, by the rules of Debian's cron: which minutes of the wall clock match it. Time zones and changes of the
//! clocks are the business of `schedule.rs`.

use std::ops::RangeInclusive;
use std::str::FromStr;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Weekday, date};

/// The numbers of a field that match, one bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Numbers(u128);

impl Numbers {
    fn has(self, number: i8) -> bool {
        self.0 >> number & 1 == 1
    }

    fn with(self, number: i8) -> Self {
        Self(self.0 | 1 << number)
    }
}

/// A line of cron that was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CronLine {
    minutes: Numbers,
    hours: Numbers,
    /// The days of the month, and numbers of [`before_last`] and [`near`].
    days: Numbers,
    months: Numbers,
    /// The weekdays, of which 0 is Sunday, and numbers of [`nth_weekday`].
    weekdays: Numbers,
    /// A day must match both of its fields, because one of them begins with `*`. Otherwise either field will do.
    needs_both_days: bool,
    is_interval: bool,
}

/// The short forms, and the lines that they stand for.
const SHORT_FORMS: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

impl CronLine {
    /// Reads five fields or a short form. The error names what is wrong in which field, and says what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let short_form = SHORT_FORMS.iter().find(|(name, _)| *name == text.trim());
        let line = short_form.map_or(text, |(_, line)| line);
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(format!(
                "{text:?} is not a schedule; write five fields (minute hour day month weekday) such as \"0 2 * * *\", \
                 or @hourly, @daily, @weekly, @monthly, @yearly, @reboot, or \"every 15m\""
            ));
        };
        let line = Self {
            minutes: MINUTE.read(minute)?,
            hours: HOUR.read(hour)?,
            days: DAY.read(day)?,
            months: MONTH.read(month)?,
            weekdays: WEEKDAY.read(weekday)?,
            needs_both_days: day.starts_with('*') || weekday.starts_with('*'),
            is_interval: minute.starts_with('*') || hour.starts_with('*'),
        };
        // Forty years is the longest time between two days that match: two leap days of one weekday around 2100, which is no
        // leap year. Any 28 years without such a year have each date on each weekday, so it does not matter which forty these are.
        let forty_years = date(2000, 1, 1).at(0, 0, 0, 0)..=date(2039, 12, 31).at(23, 59, 0, 0);
        if line.times(forty_years).next().is_none() {
            return Err(format!("{text:?} never comes: there is no such day"));
        }
        Ok(line)
    }

    /// Whether programs of versions 1.0 and 1.1 can read this line.
    pub fn is_of_1_0(&self) -> bool {
        self.days.0 >> before_last(1) == 0 && self.weekdays.0 >> nth_weekday(0, LAST) == 0
    }

    /// The line that programs of versions 1.0 and 1.1 show in the place of this text, with the days that they know and that are nearest.
    pub fn for_1_0(text: &str) -> String {
        let entry = |entry: &str| {
            let entry = entry.to_ascii_uppercase();
            let day = entry.strip_suffix('W').filter(|day| *day != "L").map(str::to_owned);
            let weekday = || entry.strip_suffix('L').map(|weekday| format!("{weekday}#4"));
            if entry.starts_with('L') { "L".to_owned() } else { day.or_else(weekday).unwrap_or(entry) }
        };
        let field = |field: &str| field.split(',').map(entry).collect::<Vec<_>>().join(",");
        let line = text.split_whitespace().map(field).collect::<Vec<_>>().join(" ");
        let is_read = Self::parse(&line).is_ok_and(|line| line.is_of_1_0());
        if is_read { line } else { "@yearly".to_owned() }
    }

    /// Whether the minute or the hour begins with `*`. Such a line is an interval; any other is a time of day or
    /// several, `0,20 2-4 * * *` too. Cron treats the two differently when clocks change.
    pub fn is_interval(&self) -> bool {
        self.is_interval
    }

    /// The times of the wall clock within this range that match.
    pub fn times(&self, range: RangeInclusive<DateTime>) -> impl DoubleEndedIterator<Item = DateTime> {
        let epoch = date(1970, 1, 1);
        let day_number = move |time: &DateTime| time.date().duration_since(epoch).as_hours() / 24;
        (day_number(range.start())..=day_number(range.end()))
            .filter_map(move |number| epoch.checked_add(number.days()).ok())
            .filter(|day| self.has_day(*day))
            .flat_map(|day| self.minutes_of_day().map(move |(hour, minute)| day.at(hour, minute, 0, 0)))
            .filter(move |time| range.contains(time))
    }

    fn has_day(&self, date: Date) -> bool {
        let (day, weekday) = (date.day(), date.weekday().to_sunday_zero_offset());
        let left = date.days_in_month() - day;
        let has_day = self.days.has(day) || self.days.has(before_last(left)) || self.has_near_day(date);
        let has_weekday = self.weekdays.has(weekday)
            || self.weekdays.has(nth_weekday(weekday, (day - 1) / 7 + 1))
            || left < 7 && self.weekdays.has(nth_weekday(weekday, LAST));
        let matches = if self.needs_both_days { has_day && has_weekday } else { has_day || has_weekday };
        matches && self.months.has(date.month())
    }

    /// Whether this is the nearest day from Monday to Friday, in the same month, to one of the days that the line asks for so.
    fn has_near_day(&self, date: Date) -> bool {
        let (day, last) = (date.day(), date.days_in_month());
        let asks = |day| self.days.has(near(day)) || day == last && self.days.has(near(LAST_DAY));
        match date.weekday() {
            Weekday::Saturday | Weekday::Sunday => false,
            // For the Sunday before. If the month began with the Saturday before, its Friday is in another month.
            Weekday::Monday => asks(day) || day > 1 && asks(day - 1) || day == 3 && asks(1),
            // For the Saturday after. If the month ends with the Sunday after, its Monday is in another month.
            Weekday::Friday => asks(day) || day < last && asks(day + 1) || day + 2 == last && asks(last),
            _ => asks(day),
        }
    }

    /// The hours and minutes that match.
    fn minutes_of_day(&self) -> impl DoubleEndedIterator<Item = (i8, i8)> {
        let minutes =
            |hour| (0..60).filter(|minute| self.minutes.has(*minute)).map(move |minute| (hour, minute));
        (0..24).filter(|hour| self.hours.has(*hour)).flat_map(minutes)
    }
}

/// `L-3` among the days of the month: the day that has so many after it. Of `L` it has none.
fn before_last(days: i8) -> i8 {
    32 + days
}

/// `15W` among the days of the month: the weekday that is nearest to this day.
fn near(day: i8) -> i8 {
    64 + day
}

/// `LW`: the day is the last one, whatever its number.
const LAST_DAY: i8 = 0;

/// `mon#2` among the weekdays, in which Monday is 1: the second Monday of the month. Of `monL` it is [`LAST`].
fn nth_weekday(weekday: i8, nth: i8) -> i8 {
    7 * nth + 1 + weekday
}

const LAST: i8 = 6;

/// A field of a line, and the numbers that it takes.
struct Field {
    name: &'static str,
    first: i8,
    last: i8,
    /// The names of the numbers from `first` on.
    names: &'static [&'static str],
    allowed: &'static str,
}

const MINUTE: Field = Field { name: "minute", first: 0, last: 59, names: &[], allowed: "0-59" };
const HOUR: Field = Field { name: "hour", first: 0, last: 23, names: &[], allowed: "0-23" };
const DAY: Field =
    Field { name: "day of the month", first: 1, last: 31, names: &[], allowed: "1-31, L, L-3, 15W, LW" };
const MONTH: Field = Field {
    name: "month",
    first: 1,
    last: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    allowed: "1-12 or jan-dec",
};
const WEEKDAY: Field = Field {
    name: "weekday",
    first: 0,
    last: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    allowed: "0-7 or sun-sat, 5#3, 5L",
};

impl Field {
    /// Reads the list that a field is.
    fn read(&self, text: &str) -> Result<Numbers, String> {
        let mut numbers = Numbers::default();
        for entry in text.split(',') {
            let wrong = if entry.is_empty() { text } else { entry };
            let of_entry = self
                .entry(entry)
                .map_err(|why| format!("{wrong:?} cannot be the {} of a schedule: {why}", self.name))?;
            numbers = Numbers(numbers.0 | of_entry.0);
        }
        Ok(numbers)
    }

    /// Reads `5`, `*`, `1-5`, `*/2`, `1-5/2`, and what cron does not have.
    fn entry(&self, entry: &str) -> Result<Numbers, String> {
        if entry.is_empty() {
            return Err("an entry of the list is empty".to_owned());
        }
        if let Some(number) = self.special_day(entry)? {
            return Ok(Numbers::default().with(number));
        }
        let (range, step) = entry.split_once('/').map_or((entry, None), |(range, step)| (range, Some(step)));
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (self.first, self.last),
            Some((from, to)) => (self.number(from)?, self.number(to)?),
            None => {
                let number = self.number(range)?;
                if let Some(step) = step {
                    let range = self.to_the_end(number, step);
                    let range = range.map(|range| format!(", such as {range}")).unwrap_or_default();
                    return Err(format!("a step needs a range{range}"));
                }
                (number, number)
            }
        };
        let step =
            step.map_or(Some(1), digits).filter(|step| *step > 0).ok_or("a step is a number from 1")?;
        if from > to {
            let upwards = self.upwards(from, to, step).map(|list| format!("; write {list}"));
            return Err(format!("a range goes upwards{}", upwards.unwrap_or_default()));
        }
        // Both 0 and 7 are Sunday.
        let plain = |number| if self.name == WEEKDAY.name { number % 7 } else { number };
        Ok((from..=to).step_by(step).map(plain).fold(Numbers::default(), Numbers::with))
    }

    /// A range over the end of the field, such as `22-4`, as cron writes it: the step goes on over the end. None for days of the
    /// month with a step, because months end differently.
    fn upwards(&self, from: i8, to: i8, step: usize) -> Option<String> {
        let Self { first, last, .. } = self;
        let is_weekday = self.name == WEEKDAY.name;
        Some(match step {
            _ if is_weekday && from == 7 => format!("0-{to}{}", step_text(step)),
            _ if is_weekday && to == 0 => format!("{from}-{last}{}", step_text(step)),
            1 => format!("{from}-{last},{first}-{to}"),
            _ if self.name == DAY.name => return None,
            _ => {
                // Sunday is only counted once.
                let count = i32::from(if is_weekday { 7 } else { last - first + 1 });
                let first = i32::from(*first);
                let numbers = (i32::from(from)..=i32::from(to) + count).step_by(step);
                let numbers = numbers.map(|number| ((number - first) % count + first).to_string());
                numbers.collect::<Vec<_>>().join(",")
            }
        })
    }

    /// What other programs mean by `5/15`. None if they differ, because only some count Sunday as 7 as well.
    fn to_the_end(&self, from: i8, step: &str) -> Option<String> {
        let steps = digits::<i8>(step).filter(|step| *step > 0)?;
        let is_weekday = self.name == WEEKDAY.name;
        if is_weekday && (from == 7 || from > 0 && (7 - from) % steps == 0) {
            return None;
        }
        let last = if is_weekday { 6 } else { self.last };
        Some(format!("{from}-{last}/{step}"))
    }

    /// Reads `L`, `L-3`, `15W` and `LW` of the days of the month, and `mon#2` and `monL` of the weekdays.
    fn special_day(&self, entry: &str) -> Result<Option<i8>, String> {
        let capital = entry.to_ascii_uppercase();
        if self.name == WEEKDAY.name {
            if let Some((weekday, nth)) = entry.split_once('#') {
                let nth = digits(nth).filter(|nth| (1..=5).contains(nth));
                let nth = nth.ok_or("after # comes a number from 1 to 5")?;
                return Ok(Some(nth_weekday(self.number(weekday)? % 7, nth)));
            }
            let weekday = capital.strip_suffix('L').and_then(|weekday| self.number(weekday).ok());
            return Ok(weekday.map(|weekday| nth_weekday(weekday % 7, LAST)));
        }
        if self.name != DAY.name {
            return Ok(None);
        }
        if let Some(days) = capital.strip_prefix("L-") {
            let days = digits(days).filter(|days| (1..=30).contains(days));
            return Ok(Some(before_last(days.ok_or("after L- comes a number of days from 1 to 30")?)));
        }
        Ok(match capital.strip_suffix('W') {
            Some("L") => Some(near(LAST_DAY)),
            Some(day) => self.number(day).ok().map(near),
            None => (capital == "L").then_some(before_last(0)),
        })
    }

    /// Reads a number or a name.
    fn number(&self, text: &str) -> Result<i8, String> {
        let named = (self.first..).zip(self.names).find(|(_, name)| name.eq_ignore_ascii_case(text));
        let number = named.map(|(number, _)| number).or_else(|| digits(text));
        let number = number.filter(|number| (self.first..=self.last).contains(number));
        number.ok_or_else(|| format!("{}, *, steps such as */5, ranges and lists", self.allowed))
    }
}

fn step_text(step: usize) -> String {
    if step == 1 { String::new() } else { format!("/{step}") }
}

/// An entry of a field (of the minute, 0) that cron refuses, as cron writes what other programs mean by it: `22-4/2` goes on over
/// the end, and `5/15` until the end.
pub fn cron_entry(field: usize, entry: &str) -> Option<String> {
    let field = [&MINUTE, &HOUR, &DAY, &MONTH, &WEEKDAY].into_iter().nth(field)?;
    let (range, step) = entry.split_once('/').map_or((entry, None), |(range, step)| (range, Some(step)));
    match (range.split_once('-'), step) {
        (Some((from, to)), step) => {
            let (from, to) = (field.number(from).ok()?, field.number(to).ok()?);
            let step = step.map_or(Some(1), digits).filter(|step| *step > 0)?;
            if from > to { field.upwards(from, to, step) } else { None }
        }
        (None, Some(step)) => field.to_the_end(field.number(range).ok()?, step),
        (None, None) => None,
    }
}

/// Reads digits without a sign.
fn digits<Number: FromStr>(text: &str) -> Option<Number> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first times of a line from the start of 2027 on, a Friday.
    fn times(line: &str, count: usize) -> Vec<String> {
        let years = date(2027, 1, 1).at(0, 0, 0, 0)..=date(2066, 12, 31).at(23, 59, 0, 0);
        let line = CronLine::parse(line).unwrap();
        line.times(years).take(count).map(|time| time.strftime("%F %R").to_string()).collect()
    }

    #[test]
    fn lines_that_cron_takes() {
        for (line, expected) in [
            ("0 9 1-7 * */7", "2027-01-03 09:00, 2027-02-07 09:00"),
            ("0 9 1-7 * 7", "2027-01-01 09:00, 2027-01-02 09:00"),
            ("0 0 10 * mon", "2027-01-04 00:00, 2027-01-10 00:00, 2027-01-11 00:00"),
            ("0 0 */10 * mon", "2027-01-11 00:00, 2027-02-01 00:00"),
            ("0 0 * * 5-7", "2027-01-01 00:00, 2027-01-02 00:00, 2027-01-03 00:00, 2027-01-08 00:00"),
            ("0 0 * * Sat,SUN", "2027-01-02 00:00, 2027-01-03 00:00, 2027-01-09 00:00"),
            ("0 0 1 feb-apr,Dec *", "2027-02-01 00:00, 2027-03-01 00:00, 2027-04-01 00:00, 2027-12-01 00:00"),
            ("*,5 0 1 1 *", "2027-01-01 00:00, 2027-01-01 00:01"),
            ("5,* 0 1 1 *", "2027-01-01 00:00, 2027-01-01 00:01"),
            ("10-20/7,59 0 * * *", "2027-01-01 00:10, 2027-01-01 00:17, 2027-01-01 00:59, 2027-01-02 00:10"),
            ("*/90 */30 * * *", "2027-01-01 00:00, 2027-01-02 00:00"),
            ("007 08 * * *", "2027-01-01 08:07, 2027-01-02 08:07"),
            ("0 0 29 2 */7", "2032-02-29 00:00, 2060-02-29 00:00"),
            ("0 0 30 2 0", "2027-02-07 00:00"),
            ("  @weekly ", "2027-01-03 00:00, 2027-01-10 00:00"),
            ("@midnight", "2027-01-01 00:00, 2027-01-02 00:00"),
            ("@annually", "2027-01-01 00:00, 2028-01-01 00:00"),
            ("0 0 L * *", "2027-01-31 00:00, 2027-02-28 00:00"),
            ("0 0 15,l * *", "2027-01-15 00:00, 2027-01-31 00:00, 2027-02-15 00:00"),
            ("0 0 * * fri#5,7#1", "2027-01-03 00:00, 2027-01-29 00:00, 2027-02-07 00:00"),
            ("0 0 * * 5L", "2027-01-29 00:00, 2027-02-26 00:00, 2027-03-26 00:00, 2027-04-30 00:00"),
            ("0 0 * feb sunl,7#1", "2027-02-07 00:00, 2027-02-28 00:00, 2028-02-06 00:00, 2028-02-27 00:00"),
            ("0 0 15 * monL", "2027-01-15 00:00, 2027-01-25 00:00, 2027-02-15 00:00, 2027-02-22 00:00"),
            ("0 0 L-3 * *", "2027-01-28 00:00, 2027-02-25 00:00, 2027-03-28 00:00, 2027-04-27 00:00"),
            ("0 0 l-30,L * *", "2027-01-01 00:00, 2027-01-31 00:00, 2027-02-28 00:00, 2027-03-01 00:00"),
            ("0 0 L-28 2 *", "2028-02-01 00:00, 2032-02-01 00:00"),
            // A Monday, a Sunday, a Saturday.
            ("0 0 15W 2,5,8 *", "2027-02-15 00:00, 2027-05-14 00:00, 2027-08-16 00:00, 2028-02-15 00:00"),
            // The month begins with a Saturday, or with a Sunday.
            ("0 0 1w 5,8 *", "2027-05-03 00:00, 2027-08-02 00:00"),
            // A month that ends with a Sunday, and with a Saturday.
            ("0 0 LW 1,2,7 *", "2027-01-29 00:00, 2027-02-26 00:00, 2027-07-30 00:00"),
            ("0 0 31W 1-4 *", "2027-01-29 00:00, 2027-03-31 00:00, 2028-01-31 00:00"),
            ("0 0 29W 2 *", "2028-02-29 00:00, 2032-02-27 00:00"),
        ] {
            let expected: Vec<_> = expected.split(", ").collect();
            assert_eq!(times(line, expected.len()), expected, "{line}");
        }
    }

    #[test]
    fn lines_that_are_mistakes() {
        let lines = [
            "61 * * * *",
            "* 0,24 * * *",
            "0 0 0 * *",
            "0 0 * 13 *",
            "0 0 * * sunday",
            "0 0 * mon *",
            "1,,2 * * * *",
            "* 1, * * *",
            "5/15 * * * *",
            "*/0 * * * *",
            "*/+5 * * * *",
            "*/ * * * *",
            "1-5-9 * * * *",
            "*-5 * * * *",
            "*5 * * * *",
            "0 22-2 * * *",
            "0 0 * * fri-sun",
            "0 0 * * 1#6",
            "0 0 L-0 * *",
            "0 0 L-31 * *",
            "0 0 1-5W * *",
            "0 0 0W * *",
            "0 0 32W * *",
            "0 0 W15 * *",
            "0 0 L-3W * *",
            "0 0 fri * *",
            "0 0 * * L",
            "0 0 * * 8L",
            "0 0 * * 1-5L",
            "0 0 * * 15W",
            "L 0 * * *",
            "0 0 31W 4 *",
            "0 0 L-29 2 *",
            "? ? * * *",
            "0 0 30 2 *",
            "0 0 30 2 */2",
            "0 0 31 4,6,9,11 *",
            "* * * * * *",
            "0 2 * * * root",
            "@Daily",
            "",
        ];
        let told: Vec<_> = lines.iter().map(|line| CronLine::parse(line).unwrap_err()).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
"61" cannot be the minute of a schedule: 0-59, *, steps such as */5, ranges and lists
"24" cannot be the hour of a schedule: 0-23, *, steps such as */5, ranges and lists
"0" cannot be the day of the month of a schedule: 1-31, L, L-3, 15W, LW, *, steps such as */5, ranges and lists
"13" cannot be the month of a schedule: 1-12 or jan-dec, *, steps such as */5, ranges and lists
"sunday" cannot be the weekday of a schedule: 0-7 or sun-sat, 5#3, 5L, *, steps such as */5, ranges and lists
"mon" cannot be the month of a schedule: 1-12 or jan-dec, *, steps such as */5, ranges and lists
"1,,2" cannot be the minute of a schedule: an entry of the list is empty
"1," cannot be the hour of a schedule: an entry of the list is empty
"5/15" cannot be the minute of a schedule: a step needs a range, such as 5-59/15
"*/0" cannot be the minute of a schedule: a step is a number from 1
"*/+5" cannot be the minute of a schedule: a step is a number from 1
"*/" cannot be the minute of a schedule: a step is a number from 1
"1-5-9" cannot be the minute of a schedule: 0-59, *, steps such as */5, ranges and lists
"*-5" cannot be the minute of a schedule: 0-59, *, steps such as */5, ranges and lists
"*5" cannot be the minute of a schedule: 0-59, *, steps such as */5, ranges and lists
"22-2" cannot be the hour of a schedule: a range goes upwards; write 22-23,0-2
"fri-sun" cannot be the weekday of a schedule: a range goes upwards; write 5-7
"1#6" cannot be the weekday of a schedule: after # comes a number from 1 to 5
"L-0" cannot be the day of the month of a schedule: after L- comes a number of days from 1 to 30
"L-31" cannot be the day of the month of a schedule: after L- comes a number of days from 1 to 30
"1-5W" cannot be the day of the month of a schedule: 1-31, L, L-3, 15W, LW, *, steps such as */5, ranges and lists
"0W" cannot be the day of the month of a schedule: 1-31, L, L-3, 15W, LW, *, steps such as */5, ranges and lists
"32W" cannot be the day of the month of a schedule: 1-31, L, L-3, 15W, LW, *, steps such as */5, ranges and lists
"W15" cannot be the day of the month of a schedule: 1-31, L, L-3, 15W, LW, *, steps such as */5, ranges and lists
"L-3W" cannot be the day of the month of a schedule: after L- comes a number of days from 1 to 30
"fri" cannot be the day of the month of a schedule: 1-31, L, L-3, 15W, LW, *, steps such as */5, ranges and lists
"L" cannot be the weekday of a schedule: 0-7 or sun-sat, 5#3, 5L, *, steps such as */5, ranges and lists
"8L" cannot be the weekday of a schedule: 0-7 or sun-sat, 5#3, 5L, *, steps such as */5, ranges and lists
"1-5L" cannot be the weekday of a schedule: 0-7 or sun-sat, 5#3, 5L, *, steps such as */5, ranges and lists
"15W" cannot be the weekday of a schedule: 0-7 or sun-sat, 5#3, 5L, *, steps such as */5, ranges and lists
"L" cannot be the minute of a schedule: 0-59, *, steps such as */5, ranges and lists
"0 0 31W 4 *" never comes: there is no such day
"0 0 L-29 2 *" never comes: there is no such day
"?" cannot be the minute of a schedule: 0-59, *, steps such as */5, ranges and lists
"0 0 30 2 *" never comes: there is no such day
"0 0 30 2 */2" never comes: there is no such day
"0 0 31 4,6,9,11 *" never comes: there is no such day
"* * * * * *" is not a schedule; write five fields (minute hour day month weekday) such as "0 2 * * *", or @hourly, @daily, @weekly, @monthly, @yearly, @reboot, or "every 15m"
"0 2 * * * root" is not a schedule; write five fields (minute hour day month weekday) such as "0 2 * * *", or @hourly, @daily, @weekly, @monthly, @yearly, @reboot, or "every 15m"
"@Daily" is not a schedule; write five fields (minute hour day month weekday) such as "0 2 * * *", or @hourly, @daily, @weekly, @monthly, @yearly, @reboot, or "every 15m"
"" is not a schedule; write five fields (minute hour day month weekday) such as "0 2 * * *", or @hourly, @daily, @weekly, @monthly, @yearly, @reboot, or "every 15m"
"#);
    }
    #[test]
    fn ranges_over_the_end_keep_their_step() {
        for (field, entry, meant) in [
            (1, "22-4/2", Some("22,0,2,4")),
            (1, "20-8/3", Some("20,23,2,5,8")),
            (1, "22-4", Some("22-23,0-4")),
            (0, "50-10/10", Some("50,0,10")),
            (2, "25-5", Some("25-31,1-5")),
            (2, "25-5/2", None),
            (3, "nov-feb/2", Some("11,1")),
            (4, "fri-mon/2", Some("5,0")),
            (4, "5-0/2", Some("5-7/2")),
            (4, "7-3", Some("0-3")),
            (0, "5/15", Some("5-59/15")),
            (4, "1/2", None),
            (4, "2/2", Some("2-6/2")),
            (0, "1-5/2", None),
        ] {
            assert_eq!(cron_entry(field, entry).as_deref(), meant, "{entry}");
            let line =
                |entry| (0..5).map(|at| if at == field { entry } else { "*" }).collect::<Vec<_>>().join(" ");
            let told = CronLine::parse(&line(entry)).err().unwrap_or_default();
            assert!(meant.is_none_or(|meant| told.ends_with(meant)), "{told}");
            assert!(meant.is_none_or(|meant| CronLine::parse(&line(meant)).is_ok()), "{entry}");
        }
    }
}
