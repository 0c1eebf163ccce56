//! What differs from run to run, and what stands in its place in a snapshot.

use regex::Regex;

use super::Sandbox;

/// The one list of redactions: patterns, and what is shown instead.
const REDACTIONS: [(&str, &str); 10] = [
    (r"\b[0-9a-f]{16}\b", "[WORKER]"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[TIME]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[TIME]"),
    (r"\bpid \d+", "pid [PID]"),
    (r"\b(?:\d+(?:\.\d)? (?:ms|s)|\d+[mhd](?: \d+[smh])?) ago\b", "[AGO]"),
    (r"\bnow\b", "[AGO]"),
    (r"\bin \d+[mhd](?: \d+[smh])?", "in [DURATION]"),
    (r"\b\d+(?:\.\d)? (?:ms|s)\b", "[DURATION]"),
    // Columns are as wide as what was redacted. A caret after a bar stays under what it points at.
    (r"([^\s|]) {2,}", "$1  "),
    (r"(?m) +$", ""),
];

/// What a person sees, without what differs from run to run.
pub fn assert_screen(sandbox: &Sandbox, check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(&sandbox.dir().display().to_string().replace('.', r"\."), "[DIR]");
    for (pattern, shown) in REDACTIONS {
        settings.add_filter(pattern, shown);
    }
    settings.bind(check);
}

/// What differs from day to day besides.
const DAILY: [(&str, &str); 2] =
    [(r"\b\d+ (?:B|KiB)\b", "[SIZE]"), (r"SQLite +\d+\.\d+\.\d+", "SQLite [VERSION]")];

/// A text without what differs from run to run.
pub fn redacted(text: &str) -> String {
    let redact = |text: String, (pattern, shown): &(&str, &str)| {
        Regex::new(pattern).expect("a pattern").replace_all(&text, *shown).into_owned()
    };
    DAILY.iter().chain(&REDACTIONS).fold(text.to_owned(), redact)
}
