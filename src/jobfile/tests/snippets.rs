//! Whole messages: the line, the carets, the notes; and syntax errors.

use super::{drawn, told};

#[test]
fn lines_that_are_hard_to_show() {
    // Tabs, wide characters, a combining accent, control characters, and characters that turn the text round.
    insta::assert_snapshot!(drawn("[jobs.a]\n\tcommand =\t['日本', 1]\n"), @r##"
    error: an entry of `command` must be a string, not 1
     --> /srv/jobs.toml:2:19
      |
    2 |     command =    ['日本', 1]
      |                           ^

    /srv/jobs.toml: 1 mistake
    "##);
    let combined = drawn("jobs.a = { command = 'e\u{301}', x = 1 }");
    assert!(combined.contains(&format!("\n  | {}^\n", " ".repeat(26))), "{combined}");
    let text = drawn("jobs.a = { command = '\u{202e}\u{9b}2J\u{200f}', x = '\u{200f}' }");
    assert!(!text.contains(['\u{9b}', '\u{202e}', '\u{200f}']), "{text}");
    let path = std::path::Path::new("/srv/\u{1b}[2J.toml");
    let error = crate::jobfile::JobFile::parse(path, "a = 1").unwrap_err().to_string();
    assert!(error.contains("/srv/\\e[2J.toml:1:1"), "{error}");
    let long =
        format!("jobs.a = {{ command = '{}', x = 1, description = '{}' }}", "x".repeat(200), "y".repeat(200));
    let shown = drawn(&long);
    let [line, carets] = [3, 4].map(|number| shown.lines().nth(number).expect("a line"));
    assert!(line.starts_with("1 | ...xxx") && line.ends_with("yyy..."), "{shown}");
    assert_eq!(carets.find('^').map(|at| &line[at..at + 5]), Some("x = 1"), "{shown}");
    insta::assert_snapshot!(told("jobs.a = {\n x = 1,\n}\njobs.b = [\n 1,\n]"), @r##"
    1:6 the job `a` has no `command`
        hint: write command = "…" for the shell, or an array such as command = ["tar", "-xf", "a.tar"]
    2:2 there is no key `x` in a job
    4:10 `b` must be a table with a `command`, not an array
    "##);
}

#[test]
fn only_syntax_errors_are_told_of_a_file_that_is_not_toml() {
    let text = r#"
[jobs.a]
command = echo hello
timeout = 30s
retryable = True
priority = 007
queue = 3
queue = "b"
"#;
    insta::assert_snapshot!(told(text), @r##"
    2:11 this is not TOML: string values must be quoted, expected literal string
    3:11 this is not TOML: string values must be quoted, expected literal string
    4:13 this is not TOML: invalid boolean, expected `true`
    5:12 this is not TOML: unexpected leading zero, expected nothing
    7:1 this is not TOML: duplicate key
    "##);
    insta::assert_snapshot!(told("[jobs.a\ncommand: \"make\"\n"), @"
    1:8 this is not TOML: unclosed table, expected `]`
    2:8 this is not TOML: invalid unquoted key, expected letters, numbers, `-`, `_`
    ");
    insta::assert_snapshot!(told("[jobs.a]\ncommand = \"make\nenv = { A = \"1\"\n"), @r##"
    2:16 this is not TOML: invalid basic string, expected `"`
    3:16 this is not TOML: unclosed inline table, expected `}`
    "##);
    insta::assert_snapshot!(told("[jobs.a]\ncommand =\ntimeout = # none\nretryable\n"), @"
    2:10 this is not TOML: a value is missing
    3:11 this is not TOML: a value is missing
    4:10 this is not TOML: key with no value, expected `=`
    ");
    insta::assert_snapshot!(drawn("[jobs.a]\ncommand = ["), @"
    error: this is not TOML: unclosed array, expected `]`
     --> /srv/jobs.toml:2:12
      |
    2 | command = [
      |            ^

    /srv/jobs.toml: 1 mistake
    ");
}

#[test]
fn a_byte_order_mark_is_no_mistake() {
    insta::assert_snapshot!(told("\u{feff}[jobs.a]\n"), @r##"
    1:8 the job `a` has no `command`
        hint: write command = "…" for the shell, or an array such as command = ["tar", "-xf", "a.tar"]
    "##);
}

#[test]
fn a_large_file_with_a_mistake_in_every_line() {
    let text = (0..2_000).fold(String::new(), |text, n| text + &n.to_string() + " = 1\n");
    assert!(drawn(&text).ends_with("/srv/jobs.toml: 2000 mistakes"));
}

#[test]
fn a_contradiction_shows_both_places() {
    insta::assert_snapshot!(drawn("[jobs.a]\nretryable = false\ncommand = 'make'\npriority = 1\nqueue = 'q'\nmax_attempts = 3\n"), @r"
    error: `max_attempts = 3` contradicts `retryable = false`, which means exactly one attempt
     --> /srv/jobs.toml:6:16
      |
    2 | retryable = false
      |             ----- forbids retries
    ...
    6 | max_attempts = 3
      |                ^
      |
      = hint: drop one of the two

    /srv/jobs.toml: 1 mistake
    ");
}
