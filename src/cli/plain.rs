//! The command lines that scripts run thousands of times, understood at once.
//!
//! The definition of the command line knows every option of `enqueue` and `inspect`, with its help. To build it takes a
//! sixth of the instructions of `runner enqueue NAME`, where none of it is asked for.

use std::ffi::OsString;

use super::args::{Cli, Enqueue, Global, Inspect, Verb};

/// What `runner enqueue NAME`, `runner inspect` and `runner inspect WHAT` mean. None for all others: what has an option, or
/// may be a mistake, is for the definition.
pub fn understood(args: impl IntoIterator<Item = OsString>) -> Option<Cli> {
    let mut args = args.into_iter().skip(1);
    let verb = args.next()?;
    let word = match args.next().map(OsString::into_string) {
        None => None,
        Some(Ok(word)) if !word.is_empty() && !word.starts_with('-') => Some(word),
        Some(_) => return None,
    };
    if args.next().is_some() {
        return None;
    }
    let verb = match (verb.to_str()?, word) {
        ("enqueue", Some(name)) => {
            Verb::Enqueue(Box::new(Enqueue { names: vec![name], ..Enqueue::default() }))
        }
        ("inspect", what) => Verb::Inspect(Inspect { what, ..Inspect::default() }),
        _ => return None,
    };
    Some(Cli { global: Global::default(), verb })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn it_is_understood_as_by_the_definition() {
        for line in [
            "runner enqueue x",
            "runner enqueue a.b_c",
            "runner enqueue help",
            "runner inspect",
            "runner inspect 7",
            "runner inspect 7.2",
            "runner inspect dead",
            "runner inspect nonsense",
        ] {
            let plain = understood(words(line)).expect(line);
            let defined = Cli::try_parse_from(words(line)).expect(line);
            assert_eq!(format!("{plain:?}"), format!("{defined:?}"), "{line}");
        }
    }

    #[test]
    fn what_needs_the_definition_is_left_to_it() {
        for line in [
            "runner",
            "runner enqueue",
            "runner enqueue ",
            "runner enqueue x y",
            "runner enqueue -",
            "runner enqueue --help",
            "runner enqueue x --json",
            "runner --json inspect",
            "runner inspect -q",
            "runner help enqueue",
            "runner enqeue x",
        ] {
            assert!(understood(words(line)).is_none(), "{line}");
        }
    }
}
