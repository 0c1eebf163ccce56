//! Lines that other crons read otherwise than Debian's: both readings of each, in words.

use jiff::tz::TimeZone;

use super::parse::{self, CrontabEntry};
use super::write;
use crate::model::Schedule;

/// The readings of a whole crontab of busybox, told once. `path` is what its jobs get. Measured with busybox 1.35.
pub(super) fn readings_of_environment(path: &str) -> String {
    format!(
        "busybox hands the whole environment of crond on, its PATH too; Debian's cron, and these jobs, begin with \
         PATH = {path:?}, and env adds what else a command needs"
    )
}

/// The readings of other crons, and Debian's, of the times of a line. `is_busybox` says that the crontab is one of busybox, as Alpine
/// has it.
pub(super) fn readings_of_times(schedule: &str, is_busybox: bool) -> Vec<String> {
    let mut told = Vec::new();
    let fields: Vec<&str> = schedule.split(' ').collect();
    if let [minute, hour, day, month, weekday] = fields[..] {
        if let Some((before, _)) = weekday.split_once('#') {
            let line = write::string(&format!("{minute} {hour} {day} {month} {before}"));
            told.push(format!(
                "{weekday} is one week of the month here, as in libraries; Debian's cron ran it each week, as schedule = {line}"
            ));
        }
        if is_special(day) || weekday.ends_with(['L', 'l']) {
            let field = if is_special(day) { day } else { weekday };
            told.push(format!(
                "{field} is a day here, as in libraries; Debian's cron refuses such a crontab"
            ));
        }
        if is_busybox {
            told.extend(days_of_busybox(day, weekday));
        }
    }
    told
}

/// The readings of other crons, and Debian's, of the command of a line.
pub(super) fn readings_of_command(entry: &CrontabEntry, is_busybox: bool) -> Vec<String> {
    let CrontabEntry { command, stdin, written, .. } = entry;
    let mut told = Vec::new();
    let word = command.split([' ', '\t']).next().unwrap_or_default();
    if word
        .strip_prefix('-')
        .is_some_and(|flags| !flags.is_empty() && flags.trim_matches(['n', 'q', 's']).is_empty())
    {
        told.push(format!(
            "OpenBSD's cron takes {word} as an option; Debian's cron, and this job, run it as the command"
        ));
    } else if is_field(word) {
        told.push(format!(
            "{word} looks like a sixth field, of a line with seconds or a year; Debian's cron, and this job, run it as the command"
        ));
    }
    if stdin.is_some() && is_busybox {
        let whole = write::string(written);
        told.push(format!(
            "Debian's cron ends the command at the first %, and so does this job; busybox and systemd-cron do not: command = {whole}"
        ));
    } else if is_busybox && written.contains('%') {
        told.push("busybox hands \\% on as it is; Debian's cron, and this job, as %".to_owned());
    }
    if is_busybox && command.contains('#') {
        told.push("busybox cuts the command at #; Debian's cron, and this job, do not".to_owned());
    }
    if stdin.is_some() && written.ends_with('\\') {
        told.push(
            "busybox joins a line that ends with a backslash and the next one; Debian's cron does not"
                .to_owned(),
        );
    }
    told
}

/// A day of the month that only libraries know: `L`, `L-3`, `15W`, `LW`.
fn is_special(day: &str) -> bool {
    day.contains(['L', 'l', 'W', 'w'])
}

/// The reading of busybox of the days.
fn days_of_busybox(day: &str, weekday: &str) -> Vec<String> {
    let mut told = Vec::new();
    if day.split(',').any(|entry| entry.starts_with("*/")) {
        told.push(format!(
            "busybox counts {day} from day 0, so */2 is each even day; Debian's cron, and this job, from day 1: each odd one"
        ));
    }
    let is_all = |field: &str| field == "*";
    if !is_all(day) && !is_all(weekday) {
        let is_star = day.starts_with('*') || weekday.starts_with('*');
        let here = if is_star { "on days that match both" } else { "on days that match either" };
        told.push(format!(
            "busybox runs it on days that match {day} or {weekday}, but not for a field that means each day; Debian's cron, and \
             this job, {here}"
        ));
    }
    if weekday.split([',', '-', '/']).any(|part| part == "7") {
        told.push("busybox takes weekday 7 for each day; Debian's cron, and this job, for Sunday".to_owned());
    }
    told
}

/// Whether the word can only be a field of a time: numbers with their signs, or weekdays and months.
fn is_field(word: &str) -> bool {
    const NAMES: [&str; 19] = [
        "sun", "mon", "tue", "wed", "thu", "fri", "sat", "jan", "feb", "mar", "apr", "may", "jun", "jul",
        "aug", "sep", "oct", "nov", "dec",
    ];
    let is_part = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'*' || byte == b'?')
            || NAMES.iter().any(|name| name.eq_ignore_ascii_case(part))
    };
    !word.is_empty() && word.split([',', '-', '/']).all(|part| !part.is_empty() && is_part(part))
}

/// Why no shell runs what Debian's cron makes of a line: its first `%`, which ends the command, stands in a quote or in `$(`.
pub(super) fn cut_by_percent(entry: &CrontabEntry) -> Option<String> {
    let CrontabEntry { command, stdin, written, .. } = entry;
    let is_cut = stdin.is_some() || written.ends_with('%');
    (is_cut && is_open(command)).then(|| {
        format!(
            "Debian's cron ends the command at the first %, which \\% would not do, so the shell refuses it; busybox and systemd-cron \
             do not: command = {}",
            write::string(written)
        )
    })
}

/// Whether a quote, a `$(`, or a backtick of the command is not closed.
fn is_open(command: &str) -> bool {
    let mut quote = None;
    let (mut depth, mut backticks) = (0_usize, 0_usize);
    let mut before = ' ';
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => {
                chars.next();
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') if before.is_whitespace() => break,
            (_, '`') => backticks += 1,
            (_, '(') if before == '$' || depth > 0 => depth += 1,
            (_, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = c;
    }
    quote.is_some() || depth > 0 || backticks % 2 == 1
}

/// The readings of other crons of a variable; none if all of them only hand it to the commands.
pub(super) fn reading_of_variable(name: &str, value: &str, is_busybox: bool) -> Option<String> {
    let plain = "Debian's cron, and these jobs, only hand it to the commands";
    let theirs = match name {
        "CRON_TZ" => "cronie runs the lines below by the clocks of this zone",
        "TZ" => "it changes no times: the lines below go by the clocks of the machine, and busybox drops it",
        "PERSISTENT" if is_yes(value) => {
            return Some(
                "systemd-cron makes up for missed times of the lines below, and so do these jobs; Debian's cron does not"
                    .to_owned(),
            );
        }
        "PERSISTENT" => "systemd-cron makes up for no missed times of the lines below",
        "RANDOM_DELAY" | "DELAY" if value == "0" => return None,
        "RANDOM_DELAY" => "cronie and systemd-cron start the lines below up to so many minutes later",
        "DELAY" => "systemd-cron waits so many minutes after a boot",
        "START_HOURS_RANGE" => "systemd-cron starts @daily and the like below at the first hour of it",
        "BATCH" => "systemd-cron runs the lines below when the machine has nothing else to do",
        "MAILTO" | "SHELL" => return None,
        _ if !is_name(name) => {
            return Some(format!("cron takes this line for a variable, {name}, and so do these jobs"));
        }
        _ if is_busybox => "busybox drops this line",
        _ => return None,
    };
    Some(format!("{theirs}; {plain}"))
}

/// Whether a value of `PERSISTENT` says that missed times are made up for.
pub(super) fn is_yes(value: &str) -> bool {
    ["yes", "true", "1", "on"].iter().any(|yes| yes.eq_ignore_ascii_case(value))
}

/// Whether a shell takes this for the name of a variable.
fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The reading of systemd-cron of `@weekly`, if these variables of the crontab are some that only it knows.
pub(super) fn reading_of_word<'v>(
    schedule: &str,
    mut variables: impl Iterator<Item = &'v String>,
) -> Option<String> {
    let is_systemd =
        variables.any(|name| matches!(name.as_str(), "PERSISTENT" | "DELAY" | "BATCH" | "START_HOURS_RANGE"));
    (is_systemd && schedule == "@weekly")
        .then(|| "systemd-cron runs @weekly on Mondays; Debian's cron, and this job, on Sundays".to_owned())
}

/// The zone of a line such as `CRON_TZ=Asia/Tokyo 0 2 * * * a`, which cron reads as a variable, and the line without it.
pub(super) fn zone_in_front<'t>(name: &str, value: &'t str) -> Option<(&'t str, &'t str)> {
    let (zone, line) = value.split_once([' ', '\t']).filter(|_| matches!(name, "CRON_TZ" | "TZ"))?;
    let mut rest = line.trim_start();
    let count = if rest.starts_with('@') { 1 } else { 5 };
    let fields: Vec<&str> = (0..count).map(|_| parse::word(&mut rest)).collect();
    let is_line = !rest.is_empty() && Schedule::parse(&fields.join(" "), TimeZone::UTC).is_ok();
    is_line.then(|| (zone, line.trim_start()))
}

/// Whether these are the lines of anacron: days between two runs, minutes of delay, a name, and the command.
pub(super) fn is_anacrontab(crontab: &str) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |word: &str| {
        word.len() > 2 && word.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_special_alone(word)
    };
    crontab.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().take(4).collect();
        matches!(words[..], [days, delay, name, _]
            if (is_number(days) || days.starts_with('@')) && is_number(delay) && is_name(name)
                && (days.starts_with('@') && name.contains('.') || is_number(days)))
    })
}

/// `LW` in lower or upper case, or a month or a weekday in the wrong place, is no name.
fn is_special_alone(word: &str) -> bool {
    is_field(word) || word.eq_ignore_ascii_case("lw")
}
