//! Mistakes in `exit_codes`, `default_error_code`, `reports` and the lists of codes.

use super::{drawn, told};

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
SIGNAL_INT = "INT"
SIGFOO = "FOO"
SIGO = "O"
other = "OTHER"
"#;
    insta::assert_snapshot!(told(text), @r##"
    4:1 "256" is above 255, the largest exit status
    5:1 "9-3" is an empty range; write "3-9"
    6:1 "sigkill" is not an exit status; write a status ("22"), a range ("3-9") or a signal ("SIGKILL")
    7:1 "SIGTRM" is not a signal; write a name such as "SIGKILL"
    8:1 "SIGNAL_INT" is not a signal; write a name such as "SIGKILL"
    9:1 "SIGFOO" is not a signal; write a name such as "SIGKILL"
    10:1 "SIGO" is not a signal; write a name such as "SIGKILL"
    11:1 "other" is not an exit status; write a status ("22"), a range ("3-9") or a signal ("SIGKILL")
    "##);
}

#[test]
fn entries_that_claim_the_same_ending() {
    let text = r#"
exit_codes = { 0 = "NOTHING" }
[jobs.a]
command = "make"
success_exit_codes = [0, 3]
[jobs.a.exit_codes]
22 = "A"
"022" = "B"
3-9 = "C"
5-11 = "D"
3 = "THREE"
0-9 = "RANGE"
"#;
    insta::assert_snapshot!(told(text), @"
    1:16 exit status 0 is a success, so it has no error code
        hint: take it out here, or out of `success_exit_codes` ([0] by default)
    7:1 `22` is entered twice
        the other entry: line 6
    9:1 `3-9` and `5-11` overlap and are equally wide
        the other entry: line 8
    10:1 exit status 3 is a success, so it has no error code
        hint: take it out here, or out of `success_exit_codes` ([0] by default)
    ");
}

#[test]
fn codes_that_nobody_may_give() {
    let text = r#"
default_error_code = "TIMEOUT"
[jobs.a]
command = "make"
exit_codes = { 1 = "EXIT_1", 2 = "http_error", 3 = 4 }
reports = ["X", "X", "A_*"]
"#;
    insta::assert_snapshot!(told(text), @r##"
    1:22 `default_error_code`: "TIMEOUT" is reserved: only runner gives it; choose another name
    4:20 `1`: "EXIT_1" is reserved for failures that nothing maps; choose another name
    4:34 `2`: "http_error" is not an error code: codes are UPPER_SNAKE_CASE, such as "HTTP_ERROR"
    4:52 `3` must be a string, not 4
    5:17 an entry of `reports`: "X" is entered twice
        the first: line 5
    5:22 an entry of `reports`: "A_*" is a family of codes; write a single code, such as "HTTP_ERROR"
    "##);
}

#[test]
fn codes_that_may_not_be_listed() {
    let text = r#"
[jobs.a]
command = "make"
never_retry_for = ["CANCELLED", "http_error", "HTTP_*", "EXIT_1", "EXIT_1", 75]
[jobs.b]
command = "make"
never_retry_for = "TIMEOUT"
"#;
    insta::assert_snapshot!(told(text), @r##"
    3:20 an entry of `never_retry_for`: "CANCELLED" may not be listed; of the reserved codes only TIMEOUT, WORKER_CRASHED and SPAWN_FAILED may
    3:33 an entry of `never_retry_for`: "http_error" is not an error code: codes are UPPER_SNAKE_CASE, such as "HTTP_ERROR"
    3:47 an entry of `never_retry_for`: "HTTP_*" is not a family of codes; the families are "EXIT_*", "SIGNAL_*" and "*"
    3:67 an entry of `never_retry_for`: "EXIT_1" is entered twice
        the first: line 3
    3:77 an entry of `never_retry_for` must be a string, not 75
        hint: write "EXIT_75", or the name that `exit_codes` gives it
    6:19 `never_retry_for` must be an array of error codes, such as ["TIMEOUT"], not "TIMEOUT"
    "##);
}

#[test]
fn codes_that_cannot_occur() {
    let text = r#"
[jobs.a]
command = "make"
auto_retry_for = ["HTTP_EROR", "SIGKILL", "EXIT_0", "EXIT_22", "EXIT_300", "EXIT_01", "SIGNAL_9", "SIGNAL_KIL", "TIMEOT", "NEVER"]
exit_codes = { 22 = "HTTP_ERROR" }
"#;
    insta::assert_snapshot!(told(text), @r##"
    3:19 `HTTP_EROR` cannot occur in the job `a`
        hint: did you mean "HTTP_ERROR"?
    3:32 `SIGKILL` cannot occur in the job `a`
        hint: did you mean "SIGNAL_KILL"?
    3:43 `EXIT_0` cannot occur in the job `a`
        hint: unmapped endings are EXIT_1 to EXIT_255 and SIGNAL_HUP to SIGNAL_SYS
    3:53 `EXIT_22` cannot occur in the job `a`
        hint: this job calls that ending HTTP_ERROR
    3:64 `EXIT_300` cannot occur in the job `a`
        hint: unmapped endings are EXIT_1 to EXIT_255 and SIGNAL_HUP to SIGNAL_SYS
    3:76 `EXIT_01` cannot occur in the job `a`
        hint: unmapped endings are EXIT_1 to EXIT_255 and SIGNAL_HUP to SIGNAL_SYS
    3:87 `SIGNAL_9` cannot occur in the job `a`
        hint: unmapped endings are EXIT_1 to EXIT_255 and SIGNAL_HUP to SIGNAL_SYS
    3:99 `SIGNAL_KIL` cannot occur in the job `a`
        hint: unmapped endings are EXIT_1 to EXIT_255 and SIGNAL_HUP to SIGNAL_SYS
    3:113 `TIMEOT` cannot occur in the job `a`
        hint: did you mean "TIMEOUT"?
    3:123 `NEVER` cannot occur in the job `a`
        hint: map an exit status to it in `exit_codes`, or declare it in `reports`
    "##);
    let text = r#"
default_error_code = "FAILED"
[jobs.a]
command = "make"
auto_retry_for = ["EXIT_*", "SIGNAL_KILL"]
"#;
    insta::assert_snapshot!(told(text), @"
    4:19 `EXIT_*` cannot occur in the job `a`
        hint: this job calls that ending FAILED
    4:29 `SIGNAL_KILL` cannot occur in the job `a`
        hint: this job calls that ending FAILED
    ");
}

#[test]
fn a_code_listed_in_the_defaults_is_told_once() {
    let text = r#"
[defaults]
never_retry_for = ["USAGE"]
[jobs.a]
command = "make"
[jobs.b]
command = "make"
reports = ["USAGE"]
[jobs.c]
command = "make"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `USAGE` cannot occur in the job `a`
     --> /srv/jobs.toml:2:20
      |
    2 | never_retry_for = ["USAGE"]
      |                    ^^^^^^^
      |
      = hint: map an exit status to it in `exit_codes`, or declare it in `reports`
      = allowed: SPAWN_FAILED, TIMEOUT, WORKER_CRASHED, and unmapped endings: EXIT_n, SIGNAL_NAME, EXIT_*,
                 SIGNAL_*, *

    /srv/jobs.toml: 1 mistake
    "##);
}

#[test]
fn a_mistake_in_the_codes_is_told_once() {
    let text = r#"
[jobs.a]
command = "make"
auto_retry_for = ["RATE_LIMITED", "TIMEOUT"]
report = ["RATE_LIMITED"]
[jobs.b]
command = "make"
retries = 3
auto_retry_for = ["TIMEOT"]
[jobs.c]
command = "make"
auto_retry_for = ["HTTP_ERROR", "BIG", "NONE"]
exit_codes = { 2 = "http_error", 256 = "BIG" }
[jobs.d]
command = "make"
success_exit_codes = "0"
never_retry_for = ["EXIT_0"]
"#;
    insta::assert_snapshot!(told(text), @r##"
    4:1 there is no key `report` in a job
        hint: did you mean `reports`?
    7:1 there is no key `retries` in a job
        hint: write `max_attempts = 4`: it counts every attempt, the first included
    8:19 `TIMEOT` cannot occur in the job `b`
        hint: did you mean "TIMEOUT"?
    11:40 `NONE` cannot occur in the job `c`
        hint: map an exit status to it in `exit_codes`, or declare it in `reports`
    12:20 `2`: "http_error" is not an error code: codes are UPPER_SNAKE_CASE, such as "HTTP_ERROR"
    12:34 "256" is above 255, the largest exit status
    15:22 `success_exit_codes` must be an array of exit statuses, such as [0], not "0"
    "##);
}
