//! Values that cannot be.

use super::drawn;

#[test]
fn durations_carry_units() {
    let text = r#"
[jobs.a]
command = "make"
timeout = 30
grace_period = 1.5
expires_in = "0s"
[defaults]
timeout = "5 parsecs"
grace_period = true
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `timeout` must be a duration with a unit, such as "30s", not 30
     --> /srv/jobs.toml:3:11
      |
    3 | timeout = 30
      |           ^^
      = hint: write "30s" for seconds, "30m" for minutes or "30ms" for milliseconds

    error: `grace_period` must be a duration with a unit, such as "30s", not 1.5
     --> /srv/jobs.toml:4:16
      |
    4 | grace_period = 1.5
      |                ^^^
      = hint: write "1.5s" for seconds, "1.5m" for minutes or "1.5ms" for milliseconds

    error: `expires_in` must be above 0, not "0s"
     --> /srv/jobs.toml:5:14
      |
    5 | expires_in = "0s"
      |              ^^^^
      = hint: for none at all leave `expires_in` out

    error: `timeout`: "5 parsecs" has the unknown unit "parsecs"; units are ms, s, m, h, d, w, y
     --> /srv/jobs.toml:7:11
      |
    7 | timeout = "5 parsecs"
      |           ^^^^^^^^^^^

    error: `grace_period` must be a duration with a unit, such as "30s", not true
     --> /srv/jobs.toml:8:16
      |
    8 | grace_period = true
      |                ^^^^

    /srv/jobs.toml: 5 mistakes
    "##);
}

#[test]
fn sizes_carry_units() {
    let text = r#"
[jobs.a]
command = "make"
output_limit = 65536
[defaults]
output_limit = "20MiB"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `output_limit` must be a size with a unit, such as "64KiB", not 65536
     --> /srv/jobs.toml:3:16
      |
    3 | output_limit = 65536
      |                ^^^^^
      = hint: write "65536B" for bytes or "65536KiB" for kibibytes

    error: `output_limit` must be at most 16 MiB, not "20MiB"
     --> /srv/jobs.toml:5:16
      |
    5 | output_limit = "20MiB"
      |                ^^^^^^^

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn names_and_numbers() {
    let text = r#"
[jobs.a]
command = "make"
queue = "a b"
priority = 5000
cwd = ""
unique_key = ""
retryable = "no"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `queue`: "a b" is not a name: names are 1 to 128 letters, digits, dots, underscores and dashes, and do not start with a dash
     --> /srv/jobs.toml:3:9
      |
    3 | queue = "a b"
      |         ^^^^^

    error: `priority` must be a whole number from -1000 to 1000, not 5000
     --> /srv/jobs.toml:4:12
      |
    4 | priority = 5000
      |            ^^^^

    error: `cwd`: it is empty
     --> /srv/jobs.toml:5:7
      |
    5 | cwd = ""
      |       ^^

    error: `unique_key`: it is empty
     --> /srv/jobs.toml:6:14
      |
    6 | unique_key = ""
      |              ^^

    error: `retryable` must be true or false, not "no"
     --> /srv/jobs.toml:7:13
      |
    7 | retryable = "no"
      |             ^^^^

    /srv/jobs.toml: 5 mistakes
    "##);
}

#[test]
fn variables() {
    let text = r#"
[jobs.a]
command = "make"
env = { PORT = 8080, RUNNER_DB = "x", "A=B" = "", C = "\u0000" }
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `PORT` must be a string, not 8080
     --> /srv/jobs.toml:3:16
      |
    3 | env = { PORT = 8080, RUNNER_DB = "x", "A=B" = "", C = "\u0000" }
      |                ^^^^
      = hint: write "8080"

    error: `RUNNER_DB` is set by runner itself for every attempt
     --> /srv/jobs.toml:3:22
      |
    3 | env = { PORT = 8080, RUNNER_DB = "x", "A=B" = "", C = "\u0000" }
      |                      ^^^^^^^^^
      = hint: choose another name

    error: "A=B" cannot be the name of a variable: it is empty, or holds "=" or a NUL byte
     --> /srv/jobs.toml:3:39
      |
    3 | env = { PORT = 8080, RUNNER_DB = "x", "A=B" = "", C = "\u0000" }
      |                                       ^^^^^

    error: `C`: it holds a NUL byte, which the system cannot pass on
     --> /srv/jobs.toml:3:55
      |
    3 | env = { PORT = 8080, RUNNER_DB = "x", "A=B" = "", C = "\u0000" }
      |                                                       ^^^^^^^^

    /srv/jobs.toml: 4 mistakes
    "##);
}

#[test]
fn successes() {
    let text = r#"
[defaults]
success_exit_codes = []
[jobs.a]
command = "make"
success_exit_codes = [0, 0, 256, "1"]
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `success_exit_codes`: with an empty list no run could succeed
     --> /srv/jobs.toml:2:22
      |
    2 | success_exit_codes = []
      |                      ^^
      = hint: write [0], or leave it out

    error: an entry of `success_exit_codes`: 0 is entered twice
     --> /srv/jobs.toml:5:26
      |
    5 | success_exit_codes = [0, 0, 256, "1"]
      |                          ^
      = note: it stands first at 5:23

    error: an entry of `success_exit_codes` must be a whole number from 0 to 255, not 256
     --> /srv/jobs.toml:5:29
      |
    5 | success_exit_codes = [0, 0, 256, "1"]
      |                             ^^^

    error: an entry of `success_exit_codes` must be a whole number from 0 to 255, not "1"
     --> /srv/jobs.toml:5:34
      |
    5 | success_exit_codes = [0, 0, 256, "1"]
      |                                  ^^^

    /srv/jobs.toml: 4 mistakes
    "##);
}

#[test]
fn one_code_instead_of_a_list() {
    let text = r#"
[jobs.a]
command = "make"
never_retry_for = "TIMEOUT"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `never_retry_for` must be an array of error codes, such as ["TIMEOUT"], not "TIMEOUT"
     --> /srv/jobs.toml:3:19
      |
    3 | never_retry_for = "TIMEOUT"
      |                   ^^^^^^^^^
      = hint: write ["TIMEOUT"]

    /srv/jobs.toml: 1 mistake
    "##);
}
