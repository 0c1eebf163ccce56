//! Whether to colour: what was asked for, else what the environment says, as on <https://bixense.com/clicolors>.

use std::ffi::OsString;

use clap::ColorChoice;

use super::args::ColorWhen;

/// `--color` wins; then `NO_COLOR`, then `CLICOLOR_FORCE`; then a terminal is coloured, unless `CLICOLOR=0` or
/// `TERM=dumb`. An empty variable counts as unset.
pub fn wanted(when: ColorWhen, terminal: bool, env: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let var = |name| env(name).filter(|value| !value.is_empty());
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto if var("NO_COLOR").is_some() => false,
        ColorWhen::Auto if var("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        ColorWhen::Auto => {
            terminal && var("CLICOLOR").is_none_or(|v| v != "0") && var("TERM").is_none_or(|v| v != "dumb")
        }
    }
}

/// The same for help and for mistakes of the command line, which are printed before `--color` has been understood. The
/// environment they look at themselves.
pub fn of_help(args: impl IntoIterator<Item = OsString>) -> ColorChoice {
    let mut args = args.into_iter().take_while(|arg| arg != "--");
    let mut choice = ColorChoice::Auto;
    while let Some(arg) = args.next() {
        let value = match arg.to_str() {
            Some("--color") => args.next(),
            Some(arg) => arg.strip_prefix("--color=").map(OsString::from),
            None => None,
        };
        match value.as_ref().and_then(|value| value.to_str()) {
            Some("always") => choice = ColorChoice::Always,
            Some("never") => choice = ColorChoice::Never,
            _ => {}
        }
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_weighs_more_wins() {
        type Case = (&'static [(&'static str, &'static str)], [bool; 2]);
        let cases: [Case; 14] = [
            (&[], [true, false]),
            (&[("TERM", "xterm")], [true, false]),
            (&[("TERM", "dumb")], [false, false]),
            (&[("CLICOLOR", "0")], [false, false]),
            (&[("CLICOLOR", "1")], [true, false]),
            (&[("CLICOLOR", "")], [true, false]),
            (&[("CLICOLOR_FORCE", "1")], [true, true]),
            (&[("CLICOLOR_FORCE", "0")], [true, false]),
            (&[("CLICOLOR_FORCE", "")], [true, false]),
            (&[("CLICOLOR_FORCE", "1"), ("CLICOLOR", "0")], [true, true]),
            (&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], [true, true]),
            (&[("NO_COLOR", "1")], [false, false]),
            (&[("NO_COLOR", "")], [true, false]),
            (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], [false, false]),
        ];
        for (vars, expected) in cases {
            let env = |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
            for (terminal, expected) in [true, false].into_iter().zip(expected) {
                assert_eq!(
                    wanted(ColorWhen::Auto, terminal, &env),
                    expected,
                    "{vars:?}, terminal: {terminal}"
                );
                assert!(wanted(ColorWhen::Always, terminal, &env), "{vars:?}");
                assert!(!wanted(ColorWhen::Never, terminal, &env), "{vars:?}");
            }
        }
    }

    #[test]
    fn help_is_coloured_as_it_was_asked() {
        let choice = |line: &str| of_help(line.split(' ').map(OsString::from));
        assert_eq!(choice("runner --color never help"), ColorChoice::Never);
        assert_eq!(choice("runner enqueue --color=always"), ColorChoice::Always);
        assert_eq!(choice("runner enqueue -- ls --color=always"), ColorChoice::Auto);
        assert_eq!(choice("runner enqueue --color"), ColorChoice::Auto);
    }
}
