//! Colours and marks, and whether the terminal can show them.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::ColorChoice;

use crate::model::Outcome;
use crate::text::{is_safe, safe_block};

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Good,
    /// Dead, or wrong.
    Bad,
    /// To be tried again, or worth a look.
    Warn,
    /// Under way.
    Busy,
    Faint,
    Strong,
}

impl Style {
    /// The escape sequence that begins the style.
    pub(super) const fn escape(self) -> &'static str {
        match self {
            Self::Good => "\u{1b}[32m",
            Self::Bad => "\u{1b}[31m",
            Self::Warn => "\u{1b}[33m",
            Self::Busy => "\u{1b}[36m",
            Self::Faint => "\u{1b}[2m",
            Self::Strong => "\u{1b}[1m",
        }
    }

    /// The style of the [`mark`] of an outcome.
    pub(super) const fn of_mark(mark: char) -> Self {
        match mark {
            GOOD => Self::Good,
            WARNED => Self::Warn,
            BAD => Self::Bad,
            _ => Self::Faint,
        }
    }

    /// The style of a job's state or phase, or of an attempt's outcome.
    pub(super) fn of_status(status: &str) -> Option<Self> {
        Some(match status {
            "succeeded" => Self::Good,
            "dead" | "failed" | "timed_out" | "spawn_failed" | "worker_crashed" => Self::Bad,
            "retrying" | "interrupted" => Self::Warn,
            "running" => Self::Busy,
            "cancelled" | "resolved" | "scheduled" | "blocked" => Self::Faint,
            warned if warned.starts_with("succeeded, ") => Self::Warn,
            _ => return None,
        })
    }
}

const STYLES: [Style; 6] = [Style::Good, Style::Bad, Style::Warn, Style::Busy, Style::Faint, Style::Strong];

/// The escape sequence that ends a style.
pub(super) const RESET: &str = "\u{1b}[0m";

/// The marks of outcomes.
const GOOD: char = '✓';
const WARNED: char = '!';
const BAD: char = '✗';

/// The mark of an outcome, which may be a success with a warning.
pub const fn mark((outcome, is_warned): (Outcome, bool)) -> char {
    match outcome {
        Outcome::Succeeded if is_warned => WARNED,
        Outcome::Succeeded => GOOD,
        Outcome::Interrupted | Outcome::Cancelled => '-',
        _ => BAD,
    }
}

/// Gives the function that paints a word on standard error by the state or phase of a job.
pub fn painter_of_stderr(choice: ColorChoice) -> fn(&str, &str) -> String {
    if is_colored(choice, &io::stderr()) {
        |status, word| match Style::of_status(status) {
            Some(style) => format!("{}{word}{RESET}", style.escape()),
            None => word.to_owned(),
        }
    } else {
        |_, word| word.to_owned()
    }
}

/// Whether this stream is coloured. With `auto` that follows `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR` and `TERM`.
pub(super) fn is_colored(choice: ColorChoice, stream: &impl IsTerminal) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if var("NO_COLOR").is_some() => false,
        ColorChoice::Auto if var("CLICOLOR_FORCE").is_some() => true,
        ColorChoice::Auto => {
            stream.is_terminal() && can_move_cursor() && var("CLICOLOR").is_none_or(|value| value != "0")
        }
    }
}

/// The value of an environment variable that is set and not empty.
fn var(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether `TERM` says that the terminal understands escape sequences.
pub fn can_move_cursor() -> bool {
    var("TERM").is_some_and(|term| term != "dumb")
}

/// Whether only ASCII is printed, because a dumb terminal and a locale without UTF-8 may not show other characters.
pub fn ascii_only() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var).unwrap_or_default();
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    var("TERM").is_some_and(|term| term == "dumb") || !(locale.contains("utf-8") || locale.contains("utf8"))
}

/// The text, in which every character that is not safe becomes an escape, but for line breaks, tabs and the escape sequences
/// of styles, if there is colour.
pub(super) fn made_safe(text: &str, color: bool) -> Cow<'_, str> {
    if text.chars().all(|c| is_safe(c) || matches!(c, '\n' | '\t')) {
        return text.into();
    }
    if !color {
        return safe_block(text).into();
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (before, sequence) = rest.split_at(at);
        safe.push_str(&safe_block(before));
        let own = STYLES.iter().map(|style| style.escape()).chain([RESET]);
        let length = own.into_iter().find(|own| sequence.starts_with(own)).map_or(0, str::len);
        let (kept, after) = sequence.split_at(length);
        safe.push_str(kept);
        rest = after;
        if length == 0 {
            safe.push_str("\\e");
            rest = &rest[1..];
        }
    }
    safe.push_str(&safe_block(rest));
    safe.into()
}

/// The text with runner's own signs in ASCII. The text of jobs stays as it is.
pub(super) fn in_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Here the mark ends a word that was cut to the width of a column, so it may take one column only.
            '…' if ascii.ends_with(|before| before != ' ' && before != '[') => ascii.push('~'),
            '…' => ascii.push_str("..."),
            '±' => ascii.push_str("+-"),
            '×' | BAD => ascii.push('x'),
            GOOD => ascii.push('+'),
            c => ascii.push(c),
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_signs_in_ascii() {
        for (text, shown) in [
            ("jitter ±25%, ×2", "jitter +-25%, x2"),
            ("cut te…", "cut te~"),
            ("  … 3 more lines", "  ... 3 more lines"),
            ("[… 2 B left out …]", "[... 2 B left out ...]"),
            ("✓✗-", "+x-"),
            ("é", "é"),
        ] {
            assert_eq!(in_ascii(text), shown);
        }
    }
}
