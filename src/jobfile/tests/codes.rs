//! Mistakes of `exit_codes`, `default_error_code` and `reports`.

use super::drawn;

#[test]
fn keys_that_are_no_status() {
    let text = r#"
[jobs.a]
command = "make"
[jobs.a.exit_codes]
256 = "BIG"
9-3 = "BACKWARDS"
sigkill = "KILLED"
SIGTRM = "TERM"
other = "OTHER"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: "256" is above 255, the largest exit status
     --> /srv/jobs.toml:4:1
      |
    4 | 256 = "BIG"
      | ^^^

    error: "9-3" is an empty range; write "3-9"
     --> /srv/jobs.toml:5:1
      |
    5 | 9-3 = "BACKWARDS"
      | ^^^

    error: "sigkill" is not an exit status; write a status ("22"), a range ("3-9") or a signal ("SIGKILL")
     --> /srv/jobs.toml:6:1
      |
    6 | sigkill = "KILLED"
      | ^^^^^^^
      = hint: write SIGKILL

    error: "SIGTRM" is not a signal; write a name such as "SIGKILL"
     --> /srv/jobs.toml:7:1
      |
    7 | SIGTRM = "TERM"
      | ^^^^^^
      = hint: did you mean SIGTERM?

    error: "other" is not an exit status; write a status ("22"), a range ("3-9") or a signal ("SIGKILL")
     --> /srv/jobs.toml:8:1
      |
    8 | other = "OTHER"
      | ^^^^^

    /srv/jobs.toml: 5 mistakes
    "##);
}

#[test]
fn claims_of_equal_right() {
    let text = r#"
[jobs.a]
command = "make"
[jobs.a.exit_codes]
22 = "A"
"022" = "B"
3-9 = "C"
5-11 = "D"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: exit status 22 is entered twice
     --> /srv/jobs.toml:5:1
      |
    5 | "022" = "B"
      | ^^^^^
      = note: the other entry stands at 4:1

    error: the range 3-9 and the range 5-11 overlap and are equally narrow
     --> /srv/jobs.toml:7:1
      |
    7 | 5-11 = "D"
      | ^^^^
      = note: the other entry stands at 6:1

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn codes_of_successes() {
    let text = r#"
exit_codes = { 0 = "NOTHING" }
[jobs.a]
command = "make"
success_exit_codes = [0, 3]
exit_codes = { 3 = "THREE", 0-9 = "RANGE" }
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: exit status 0 is a success, so it has no error code
     --> /srv/jobs.toml:1:16
      |
    1 | exit_codes = { 0 = "NOTHING" }
      |                ^
      = hint: take it out here, or out of `success_exit_codes` ([0] by default)

    error: exit status 3 is a success, so it has no error code
     --> /srv/jobs.toml:5:16
      |
    5 | exit_codes = { 3 = "THREE", 0-9 = "RANGE" }
      |                ^
      = hint: take it out here, or out of `success_exit_codes` ([0] by default)

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn codes_that_nobody_may_give() {
    let text = r#"
default_error_code = "TIMEOUT"
[jobs.a]
command = "make"
exit_codes = { 1 = "EXIT_1", 2 = "http_error", 3 = 4 }
reports = ["X", "X"]
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `default_error_code`: "TIMEOUT" is reserved: only runner gives it; choose another name
     --> /srv/jobs.toml:1:22
      |
    1 | default_error_code = "TIMEOUT"
      |                      ^^^^^^^^^

    error: `1`: "EXIT_1" is reserved for failures that nothing maps; choose another name
     --> /srv/jobs.toml:4:20
      |
    4 | exit_codes = { 1 = "EXIT_1", 2 = "http_error", 3 = 4 }
      |                    ^^^^^^^^

    error: `2`: "http_error" is not an error code: codes are UPPER_SNAKE_CASE, such as "HTTP_ERROR"
     --> /srv/jobs.toml:4:34
      |
    4 | exit_codes = { 1 = "EXIT_1", 2 = "http_error", 3 = 4 }
      |                                  ^^^^^^^^^^^^

    error: `3` must be a string, not 4
     --> /srv/jobs.toml:4:52
      |
    4 | exit_codes = { 1 = "EXIT_1", 2 = "http_error", 3 = 4 }
      |                                                    ^
      = hint: write "4"

    error: an entry of `reports`: "X" is entered twice
     --> /srv/jobs.toml:5:17
      |
    5 | reports = ["X", "X"]
      |                 ^^^
      = note: it stands first at 5:12

    /srv/jobs.toml: 5 mistakes
    "##);
}

#[test]
fn a_bare_number_in_a_list_of_codes_was_meant_as_an_exit_status() {
    let text = "[jobs.a]\ncommand = \"make\"\nauto_retry_for = [75]\n";
    insta::assert_snapshot!(drawn(text), @r#"
    error: an entry of `auto_retry_for` must be a string, not 75
     --> /srv/jobs.toml:3:19
      |
    3 | auto_retry_for = [75]
      |                   ^^
      = hint: write "EXIT_75", or the name that `exit_codes` gives it

    /srv/jobs.toml: 1 mistake
    "#);
}
