//! The colours and letters that a terminal can show.

use std::env;
use std::ffi::OsString;
use std::io;

use anstream::AutoStream;
use clap::ColorChoice;

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

    /// The style of a job's state or phase, or of an attempt's outcome.
    pub(super) fn of_status(status: &str) -> Option<Self> {
        Some(match status {
            "succeeded" => Self::Good,
            "dead" | "failed" | "timed_out" | "spawn_failed" | "worker_crashed" => Self::Bad,
            "retrying" | "interrupted" => Self::Warn,
            "running" => Self::Busy,
            "cancelled" | "resolved" | "scheduled" | "blocked" => Self::Faint,
            _ => return None,
        })
    }
}

/// Is standard output coloured? `auto` follows `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR` and `TERM`.
pub(super) fn is_colored(choice: ColorChoice) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
    }
}

/// `--color` as far as help and usage errors need it: clap prints them before it has parsed the options.
pub fn color_of_help(args: impl IntoIterator<Item = OsString>) -> ColorChoice {
    let args = args.into_iter().map(|arg| arg.to_string_lossy().into_owned());
    let args: Vec<String> = args.take_while(|arg| arg != "--").collect();
    let values = args.iter().enumerate().filter_map(|(at, arg)| match arg.strip_prefix("--color") {
        Some("") => args.get(at + 1).map(String::as_str),
        Some(value) => value.strip_prefix('='),
        None => None,
    });
    values.filter_map(|value| value.parse().ok()).next_back().unwrap_or(ColorChoice::Auto)
}

/// Is only ASCII sure to be seen? A dumb terminal and a locale without UTF-8 promise no more.
pub fn ascii_only() -> bool {
    let var = |name| env::var_os(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var).unwrap_or_default();
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    var("TERM").is_some_and(|term| term == "dumb") || !(locale.contains("utf-8") || locale.contains("utf8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_coloured_as_it_was_asked() {
        let choice = |line: &str| color_of_help(line.split(' ').map(OsString::from));
        assert_eq!(choice("runner --color never help"), ColorChoice::Never);
        assert_eq!(choice("runner enqueue --color=always"), ColorChoice::Always);
        assert_eq!(choice("runner enqueue -- ls --color=always"), ColorChoice::Auto);
        assert_eq!(choice("runner enqueue --color"), ColorChoice::Auto);
    }
}
