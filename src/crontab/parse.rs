//! The lines of a crontab, read as Debian's cron reads them.

use jiff::tz::TimeZone;

use crate::model::{Schedule, check_variable};

/// The longest string that a command or its environment can hold, without the closing NUL.
const MAX_BYTES: usize = crate::model::MAX_ARG_STRLEN - 1;

/// A line of a crontab.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CrontabLine {
    Blank,
    /// Without its `#`.
    Comment(String),
    Variable {
        name: String,
        value: String,
    },
    CrontabEntry(CrontabEntry),
    /// Why the line cannot be taken over.
    Refused(String),
}

/// A line that runs a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CrontabEntry {
    /// Five fields, or a word such as `@daily`.
    pub schedule: String,
    /// Only in system crontabs.
    pub user: Option<String>,
    pub command: String,
    /// The text after the first `%`, with line breaks for the others.
    pub stdin: Option<String>,
    /// The command and what follows it, as they stand in the crontab.
    pub written: String,
    /// A difference between crons, or what would surprise, in this line.
    pub notes: Vec<&'static str>,
}

/// Reads a line without its line break. In a system crontab (`has_users`) the command follows the name of a user.
pub(super) fn line(bytes: &[u8], has_users: bool) -> CrontabLine {
    let Ok(text) = str::from_utf8(bytes) else {
        return CrontabLine::Refused("it is not UTF-8 text, as a job file must be".to_owned());
    };
    let text = text.trim_start_matches([' ', '\t']);
    if text.is_empty() {
        return CrontabLine::Blank;
    }
    if let Some(comment) = text.strip_prefix('#') {
        return CrontabLine::Comment(comment.to_owned());
    }
    if text.contains('\0') {
        return CrontabLine::Refused("it holds a NUL byte".to_owned());
    }
    match variable(text) {
        Some((name, value)) => match check_variable(&name) {
            Ok(()) if name.len() + 1 + value.len() <= MAX_BYTES => CrontabLine::Variable { name, value },
            Ok(()) => CrontabLine::Refused("the kernel takes no variable as long as this".to_owned()),
            Err(why) => CrontabLine::Refused(why),
        },
        None => entry(text, has_users).map_or_else(CrontabLine::Refused, CrontabLine::CrontabEntry),
    }
}

/// White space as C's `isspace` has it.
const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// Reads `NAME = value`. Name and value may stand in quotes, nothing is expanded, and a `#` is part of the value.
pub(super) fn variable(text: &str) -> Option<(String, String)> {
    let quoted = |text: &str| text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (name, rest) = match quoted(text) {
        Some(quote) => text[1..].split_once(quote).filter(|(name, _)| !name.contains('='))?,
        None => text.split_at(text.find(|c| is_space(c) || c == '=')?),
    };
    let value = rest.trim_start_matches(is_space).strip_prefix('=')?.trim_matches(is_space);
    let value = match quoted(value) {
        // Behind the closing quote nothing may follow. Debian's cron drops white space before it.
        Some(quote) => {
            let (value, rest) = value[1..].split_once(quote)?;
            rest.is_empty().then(|| value.trim_end_matches(is_space))?
        }
        None => value,
    };
    // Debian's cron looks for a pair of quotes once more.
    let inner = quoted(value).and_then(|quote| value[1..].strip_suffix(quote)).unwrap_or(value);
    Some((name.to_owned(), inner.to_owned()))
}

/// Reads a line that is neither blank nor a comment nor a variable.
fn entry(text: &str, has_users: bool) -> Result<CrontabEntry, String> {
    let mut notes = Vec::new();
    // With cronie it may begin with a dash.
    let unmarked =
        text.strip_prefix('-').filter(|rest| rest.starts_with(|c: char| c == '*' || c.is_ascii_digit()));
    if unmarked.is_some() {
        notes.push("the dash in front keeps cronie from logging the run; runner keeps every run");
    }
    let mut rest = unmarked.unwrap_or(text);
    let fields = if rest.starts_with('@') { 1 } else { 5 };
    let schedule: Vec<&str> =
        (0..fields).map(|_| word(&mut rest)).filter(|field| !field.is_empty()).collect();
    let schedule = schedule.join(" ");
    // A pace of runner such as `every 15m` is no line of cron.
    let is_plain = !schedule.contains(char::is_control);
    if !is_plain || !schedule.starts_with(|c: char| c == '@' || c == '*' || c == '~' || c.is_ascii_digit()) {
        return Err("it is neither a variable nor the times of a command".to_owned());
    }
    if let Some(why) = random_minute(&schedule) {
        return Err(why);
    }
    Schedule::parse(&schedule, TimeZone::UTC)?;
    let user = if has_users { Some(word(&mut rest).to_owned()) } else { None };
    if rest.is_empty() {
        return Err("there is no command".to_owned());
    }
    if rest.starts_with('*') && !has_users {
        return Err("cron refuses a command that begins with *".to_owned());
    }
    if rest.contains(r"\\") {
        notes.push(r"Debian's cron passes \\ on as \, and so does this job; cronie keeps both");
    }
    if rest.ends_with('\r') {
        notes.push("the line ends with a carriage return, which cron passes to the command");
    }
    let (command, stdin) = split_input(rest);
    if command.trim().is_empty() {
        return Err("there is no command".to_owned());
    }
    let backslashes = rest.len() - rest.trim_end_matches('\\').len();
    if stdin.is_none() && backslashes % 2 == 1 {
        return Err(
            "it ends with a backslash: busybox joins it and the next line, and Debian's cron does not"
                .to_owned(),
        );
    }
    if command.len() > MAX_BYTES {
        return Err("the kernel takes no command as long as this".to_owned());
    }
    Ok(CrontabEntry { schedule, user, command, stdin, written: rest.to_owned(), notes })
}

/// What to write for `0~59 4 * * *`, for which OpenBSD's cron and cronie draw a minute.
fn random_minute(schedule: &str) -> Option<String> {
    let (minute, others) = schedule.split_once(' ')?;
    let (from, to) = minute.split_once('~')?;
    let number = |text: &str, default| if text.is_empty() { Some(default) } else { text.parse::<u8>().ok() };
    let (from, to) = (number(from, 0)?, number(to, 59)?);
    let line = format!("{from} {others}");
    let delay = to.checked_sub(from).filter(|_| to < 60 && Schedule::parse(&line, TimeZone::UTC).is_ok())?;
    let debian = if minute.starts_with('~') { "refuses it".to_owned() } else { format!("takes {from}") };
    Some(format!(
        "OpenBSD's cron and cronie draw the minute of {minute}, and Debian's cron {debian}: write schedule = \"{line}\" and \
         random_delay = \"{delay}m\""
    ))
}

/// Takes the next word and the blanks after it.
pub(super) fn word<'t>(rest: &mut &'t str) -> &'t str {
    let (word, behind) = rest.split_at(rest.find([' ', '\t']).unwrap_or(rest.len()));
    *rest = behind.trim_start_matches([' ', '\t']);
    word
}

/// The command up to the first `%`, and the input that follows it. A `\%` is a percent sign.
fn split_input(text: &str) -> (String, Option<String>) {
    let mut command = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => return (command, input(chars.as_str())),
            '\\' => match chars.next() {
                Some(escaped @ ('%' | '\\')) => command.push(escaped),
                other => command.extend(['\\'].into_iter().chain(other)),
            },
            c => command.push(c),
        }
    }
    (command, None)
}

/// Standard input: each `%` is a line break, and the last line is ended. Here a backslash escapes only `%`.
fn input(text: &str) -> Option<String> {
    let mut input = text.replace("\\%", "\0").replace('%', "\n").replace('\0', "%");
    // Cron forgets to count a backslash at the end.
    let counted = input.trim_end_matches('\\');
    if !counted.is_empty() && !counted.ends_with('\n') {
        input.push('\n');
    }
    Some(input).filter(|input| !input.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable_of(text: &str) -> Option<(String, String)> {
        match line(text.as_bytes(), false) {
            CrontabLine::Variable { name, value } => Some((name, value)),
            _ => None,
        }
    }

    fn entry_of(text: &str, has_users: bool) -> CrontabEntry {
        match line(text.as_bytes(), has_users) {
            CrontabLine::CrontabEntry(entry) => entry,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn refusal(text: &str) -> String {
        match line(text.as_bytes(), false) {
            CrontabLine::Refused(why) => why,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn variables_as_cron_reads_them() {
        for (text, name, value) in [
            ("A=b", "A", "b"),
            ("  A = b c  ", "A", "b c"),
            ("\tA\t=\tb # no comment", "A", "b # no comment"),
            ("A=\"b c \"", "A", "b c"),
            ("A='b \"c\" d'", "A", "b \"c\" d"),
            ("A = '\"b\"'", "A", "b"),
            ("\"A\"=b", "A", "b"),
            ("A=${HOME}/x:$PATH", "A", "${HOME}/x:$PATH"),
            ("MAILTO=\"\"", "MAILTO", ""),
            ("MAILTO=", "MAILTO", ""),
            ("A=b=c", "A", "b=c"),
            ("A=b\r", "A", "b"),
            ("A=it's", "A", "it's"),
        ] {
            assert_eq!(variable_of(text), Some((name.to_owned(), value.to_owned())), "{text}");
        }
        for text in ["A B=c", "A=\"b\" c", "A=\"b", "\"A=b", "0 2 * * * A=b c", "A"] {
            assert_eq!(variable_of(text), None, "{text}");
        }
    }

    #[test]
    fn comments_stand_alone() {
        assert_eq!(line(b" \t# a", false), CrontabLine::Comment(" a".to_owned()));
        assert_eq!(line(b" \t", false), CrontabLine::Blank);
        assert_eq!(entry_of("0 2 * * * a # b", false).command, "a # b");
    }

    #[test]
    fn fields_and_words() {
        for (text, schedule) in [
            ("0 2 * * * a", "0 2 * * *"),
            (" \t0\t2  *\t* *   a", "0 2 * * *"),
            ("*/5 0-23/2 1,15 jan-mar Mon a", "*/5 0-23/2 1,15 jan-mar Mon"),
            ("0 0 * * 7 a", "0 0 * * 7"),
            ("@midnight a", "@midnight"),
            ("@annually\ta", "@annually"),
            ("@reboot  a", "@reboot"),
            ("-*/5 * * * * a", "*/5 * * * *"),
        ] {
            let entry = entry_of(text, false);
            assert_eq!((&*entry.schedule, &*entry.command), (schedule, "a"), "{text}");
        }
    }

    #[test]
    fn the_column_of_the_user() {
        for text in ["0 2 * * * me a b", "@daily\tme\t\ta b"] {
            let entry = entry_of(text, true);
            assert_eq!((entry.user.as_deref(), &*entry.command), (Some("me"), "a b"));
            assert!(entry_of(text, false).command.starts_with("me"));
        }
    }

    #[test]
    fn percent_signs() {
        let split = |text| {
            let entry = entry_of(&format!("0 2 * * * {text}"), false);
            (entry.command, entry.stdin)
        };
        let with = |command: &str, stdin: &str| (command.to_owned(), Some(stdin.to_owned()));
        assert_eq!(split("cat%a%b"), with("cat", "a\nb\n"));
        assert_eq!(split("cat % a%"), with("cat ", " a\n"));
        assert_eq!(split("cat%"), ("cat".to_owned(), None));
        assert_eq!(split(r"date +\%F"), ("date +%F".to_owned(), None));
        assert_eq!(split(r"date +\%F%a\%b\c%\"), with("date +%F", "a%b\\c\n\\"));
        assert_eq!(split(r"cat%a\"), with("cat", "a\\\n"));
        assert_eq!(split(r"printf '\\n\t\'"), (r"printf '\n\t\'".to_owned(), None));
        assert_eq!(split(r"a\\%b"), with(r"a\", "b\n"));
    }

    #[test]
    fn what_is_refused() {
        for (text, why) in [
            ("0 2 * * *", "no command"),
            ("0 2 * * * %a", "no command"),
            ("0 2 * * * * a", "begins with *"),
            ("0 2 * *", "five fields"),
            ("61 * * * * a", "\"61\" cannot be the minute"),
            ("@sometimes a", "@sometimes"),
            ("0 3 * * * tar c \\", "ends with a backslash"),
            ("0~59 4 * * * a", "write schedule = \"0 4 * * *\" and random_delay = \"59m\""),
            (
                "~ 4 * * * a",
                "Debian's cron refuses it: write schedule = \"0 4 * * *\" and random_delay = \"59m\"",
            ),
            ("10~20 4 * * 1 a", "write schedule = \"10 4 * * 1\" and random_delay = \"10m\""),
            ("every 15m a b c d", "neither a variable nor"),
            ("backup", "neither a variable nor"),
            ("=a", "name of a variable"),
            ("RUNNER_DB=a", "runner itself sets RUNNER_DB"),
            ("0 2 * * * a\0b", "NUL"),
        ] {
            assert!(refusal(text).contains(why), "{text}: {}", refusal(text));
        }
        assert!(refusal(&format!("A={}", "a".repeat(MAX_BYTES))).contains("the kernel"));
        assert!(refusal(&format!("@daily {}", "a".repeat(MAX_BYTES + 1))).contains("the kernel"));
        assert!(
            matches!(line(b"0 2 * * * a\xff", false), CrontabLine::Refused(why) if why.contains("UTF-8"))
        );
    }
}
