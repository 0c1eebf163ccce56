//! The arguments as they were typed, for what has to be known although they cannot be parsed, or before they are.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::ColorChoice;

/// The arguments of this call up to `--`, behind which none is for runner.
pub struct RawArgs(Vec<OsString>);

impl RawArgs {
    pub fn of_this_call() -> Self {
        Self::of(env::args_os())
    }

    pub fn of(args: impl IntoIterator<Item = OsString>) -> Self {
        Self(args.into_iter().take_while(|arg| arg != "--").collect())
    }

    /// Whether this flag is among them.
    pub fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|arg| arg == flag)
    }

    /// The value of this option; of several the last, none if it is empty.
    pub fn value(&self, option: &str) -> Option<&OsStr> {
        let mut values = self.0.iter().enumerate().filter_map(|(at, arg)| {
            match arg.as_bytes().strip_prefix(option.as_bytes())? {
                [] => self.0.get(at + 1).map(OsString::as_os_str),
                [b'=', value @ ..] => Some(OsStr::from_bytes(value)),
                _ => None,
            }
        });
        values.next_back().filter(|value| !value.is_empty())
    }

    /// The value of `--color`, which help and usage errors follow, too.
    pub fn color(&self) -> ColorChoice {
        self.value("--color").and_then(|value| value.to_str()?.parse().ok()).unwrap_or(ColorChoice::Auto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_coloured_as_it_was_asked() {
        let choice = |line: &str| RawArgs::of(line.split(' ').map(OsString::from)).color();
        assert_eq!(choice("runner --color never help"), ColorChoice::Never);
        assert_eq!(choice("runner enqueue --color=always"), ColorChoice::Always);
        assert_eq!(choice("runner enqueue -- ls --color=always"), ColorChoice::Auto);
        assert_eq!(choice("runner enqueue --color"), ColorChoice::Auto);
    }

    #[test]
    fn of_an_option_the_last_value_counts() {
        let value = |line: &str| {
            let args = RawArgs::of(line.split(' ').map(OsString::from));
            args.value("--db").map(|value| value.to_string_lossy().into_owned())
        };
        assert_eq!(value("runner --db a inspect --db=b").as_deref(), Some("b"));
        assert_eq!(value("runner --dbx=a enqueue -- --db b"), None);
        assert_eq!(value("runner --db="), None);
    }
}
