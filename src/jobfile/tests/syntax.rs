//! Mistakes of TOML itself.

use super::drawn;

#[test]
fn values_without_quotes_do_not_hide_the_rest() {
    let text = r#"
[jobs.a]
command = echo hello
timeout = 30s
retryable = True
priority = 007
queue = 3
queue = "b"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: a string needs quotes
     --> /srv/jobs.toml:2:11
      |
    2 | command = echo hello
      |           ^^^^^^^^^^
      = hint: write "echo hello"

    error: a string needs quotes
     --> /srv/jobs.toml:3:11
      |
    3 | timeout = 30s
      |           ^^^
      = hint: write "30s"

    error: true and false are written in small letters
     --> /srv/jobs.toml:4:13
      |
    4 | retryable = True
      |             ^^^^

    error: this is not TOML: unexpected leading zero
     --> /srv/jobs.toml:5:12
      |
    5 | priority = 007
      |            ^

    error: `queue` must be a string, not 3
     --> /srv/jobs.toml:6:9
      |
    6 | queue = 3
      |         ^
      = hint: write "3"

    error: `queue` is entered twice
     --> /srv/jobs.toml:7:1
      |
    7 | queue = "b"
      | ^^^^^
      = hint: keep one of the two

    /srv/jobs.toml: 6 mistakes
    "##);
}

#[test]
fn broken_tables() {
    let text = r#"
[jobs.a
command: "make"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: this is not TOML: unclosed table, expected `]`
     --> /srv/jobs.toml:1:8
      |
    1 | [jobs.a
      |        ^

    error: this is not TOML: invalid unquoted key, expected letters, numbers, `-`, `_`
     --> /srv/jobs.toml:2:8
      |
    2 | command: "make"
      |        ^
      = hint: write key = value, with an equals sign

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn open_ends() {
    let text = r#"
[jobs.a]
command = "make
env = { A = "1"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: a string without its closing quote
     --> /srv/jobs.toml:2:16
      |
    2 | command = "make
      |                ^

    error: this is not TOML: unclosed inline table, expected `}`
     --> /srv/jobs.toml:3:16
      |
    3 | env = { A = "1"
      |                ^

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn a_byte_order_mark() {
    let text = "\u{feff}[jobs.a]\ncommand = \"make\"\n";
    insta::assert_snapshot!(drawn(text), @r##"
    error: the file begins with a byte order mark
     --> /srv/jobs.toml:1:1
      |
    1 | �[jobs.a]
      | ^
      = hint: save it as UTF-8 without one

    /srv/jobs.toml: 1 mistake
    "##);
}

#[test]
fn values_that_are_missing() {
    insta::assert_snapshot!(drawn("[jobs.a]\ncommand =\ntimeout = # none\n"), @r##"
    error: a key without a value
     --> /srv/jobs.toml:2:10
      |
    2 | command =
      |          ^
      = hint: write a value after the equals sign

    error: a key without a value
     --> /srv/jobs.toml:3:11
      |
    3 | timeout = # none
      |           ^
      = hint: write a value after the equals sign

    /srv/jobs.toml: 2 mistakes
    "##);
}
