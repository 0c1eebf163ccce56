//! Whatever is typed on the command line, it is taken or refused in words. `PROPTEST_CASES` makes it long.

use clap::Parser;
use proptest::prelude::{prop, proptest};

use super::args::Cli;
use crate::text::mutated;

const WORDS: [&str; 42] = [
    "enqueue",
    "work",
    "inspect",
    "logs",
    "wait",
    "cancel",
    "retry",
    "check",
    "explain",
    "doctor",
    "backup",
    "pause",
    "--",
    "-c",
    "--json",
    "-q",
    "--db",
    "x.db",
    "--in",
    "5m",
    "--at",
    "14:30",
    "--backoff",
    "exponential:1s:2:5m",
    "--jitter",
    "0.5",
    "--since",
    "1h",
    "--limit",
    "10",
    "--state",
    "dead,ready",
    "7",
    "7.2",
    "--env",
    "A=b",
    "-j2",
    "--dead",
    "--error-code",
    "EXIT_*",
    "--exit=3",
    "--signal=KILL",
];

proptest! {
    #[test]
    fn no_words_panic(words in prop::collection::vec(mutated(&WORDS), 0..7)) {
        let line = std::iter::once("runner".to_owned()).chain(words);
        if let Err(answer) = Cli::try_parse_from(line) {
            assert!(!answer.to_string().is_empty());
        }
    }
}
