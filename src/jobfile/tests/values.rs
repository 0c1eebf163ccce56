//! Values of the wrong type, out of range, or malformed.

use super::told;

#[test]
fn commands() {
    let text = r#"
[jobs.a]
command = ""
[jobs.b]
command = []
[jobs.c]
command = ["", 3, "a\u0000"]
[jobs.d]
command = { run = "x" }
[jobs.e]
description = 3
[jobs.f]
command = " "
"#;
    insta::assert_snapshot!(told(text), @r##"
    2:11 `command`: it is empty
    4:11 `command`: an empty array names no program
        hint: write the program and its arguments, such as ["tar", "-xf", "a.tar"]
    6:12 an entry of `command`: it is empty
    6:16 an entry of `command` must be a string, not 3
    6:19 an entry of `command`: it holds a NUL byte, which the system cannot pass on
    8:11 `command` must be a string for the shell ("make backup") or an array that is executed as it is (["make", "backup"]), not a table
    9:7 the job `e` has no `command`
        hint: write command = "…" for the shell, or an array such as command = ["tar", "-xf", "a.tar"]
    10:15 `description` must be a string, not 3
    12:11 `command`: it is blank
    "##);
    let long = format!("[jobs.a]\ncommand = '{}'\n", "x".repeat(200_000));
    insta::assert_snapshot!(told(&long), @"
    2:11 `command`: it has 200001 bytes, and the kernel takes at most 131072
        hint: put the data into a file, and pass its name
    ");
}

#[test]
fn durations_and_sizes() {
    let text = r#"
[jobs.a]
command = "make"
timeout = 30
grace_period = 1.5
expires_in = "0s"
output_limit = 65536
[defaults]
timeout = "5 parsecs"
grace_period = true
output_limit = "20MiB"
expires_in = "11y"
"#;
    insta::assert_snapshot!(told(text), @r##"
    3:11 `timeout` must be a duration with a unit, such as "30s", not 30
        hint: write "30s" for seconds, "30m" for minutes or "30ms" for milliseconds
    4:16 `grace_period` must be a duration with a unit, such as "30s", not 1.5
        hint: write "1.5s" for seconds, "1.5m" for minutes or "1.5ms" for milliseconds
    5:14 `expires_in` must be above 0, not "0s"
        hint: leave `expires_in` out to set no limit
    6:16 `output_limit` must be a size with a unit, such as "64KiB", not 65536
        hint: write "65536B" for bytes or "65536KiB" for kibibytes
    8:11 `timeout`: "5 parsecs" has the unknown unit "parsecs"; units are ms, s, m, h, d, w, y
    9:16 `grace_period` must be a duration with a unit, such as "30s", not true
    10:16 `output_limit` must be at most 16 MiB, not "20MiB"
    11:14 `expires_in`: "11y" is longer than ten years, the most there is
    "##);
}

#[test]
fn names_numbers_and_variables() {
    let text = r#"
[jobs.a]
command = "make"
queue = "a b"
priority = 5000
cwd = ""
unique_key = ""
retryable = "no"
env = { PORT = 8080, RUNNER_DB = "x", "A=B" = "", C = "\u0000" }
"#;
    insta::assert_snapshot!(told(text), @r##"
    3:9 `queue`: "a b" is not a name: names are 1 to 128 ASCII letters, digits, dots, underscores and dashes, and do not start with a dash
    4:12 `priority` must be a whole number from -1000 to 1000, not 5000
    5:7 `cwd`: it is empty
    6:14 `unique_key`: it is empty
    7:13 `retryable` must be true or false, not "no"
    8:16 `PORT` must be a string, not 8080
    8:22 runner itself sets RUNNER_DB for every attempt; choose another name
    8:39 "A=B" cannot be the name of a variable: it is empty, or holds "=" or a NUL byte
    8:55 `C`: it holds a NUL byte, which the system cannot pass on
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
    insta::assert_snapshot!(told(text), @r##"
    2:22 `success_exit_codes`: with an empty list no run could succeed
        hint: write [0], or leave it out
    5:26 an entry of `success_exit_codes`: 0 is entered twice
        the first: line 5
    5:29 an entry of `success_exit_codes` must be a whole number from 0 to 255, not 256
    5:34 an entry of `success_exit_codes` must be a whole number from 0 to 255, not "1"
    "##);
}
