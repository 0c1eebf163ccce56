//! Retry policies that contradict themselves, and codes that cannot occur.

use super::drawn;

#[test]
fn a_job_that_can_never_run() {
    let text = r#"
[jobs.a]
command = "make"
max_attempts = 0
[defaults]
max_attempts = 1000001
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `max_attempts`: 0 makes a job that can never run
     --> /srv/jobs.toml:3:16
      |
    3 | max_attempts = 0
      |                ^
      = hint: it counts every run, the first included: 1 means no retry

    error: `max_attempts` must be a whole number from 1 to 1000000, not 1000001
     --> /srv/jobs.toml:5:16
      |
    5 | max_attempts = 1000001
      |                ^^^^^^^

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn retries_of_what_is_not_retryable() {
    let text = r#"
[jobs.a]
command = "make"
retryable = false
max_attempts = 3
auto_retry_for = ["TIMEOUT"]
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `max_attempts = 3` contradicts `retryable = false`, which means exactly one run
     --> /srv/jobs.toml:4:16
      |
    4 | max_attempts = 3
      |                ^
      = hint: drop one of the two
      = note: `retryable = false` stands at 3:13

    error: `auto_retry_for` contradicts `retryable = false`, under which nothing is retried
     --> /srv/jobs.toml:5:18
      |
    5 | auto_retry_for = ["TIMEOUT"]
      |                  ^^^^^^^^^^^
      = hint: drop one of the two
      = note: `retryable = false` stands at 3:13

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn a_list_of_another_length() {
    let text = r#"
[jobs.a]
command = "make"
max_attempts = 5
backoff = ["1s", "2s"]
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `max_attempts = 5`, but the delays of `backoff` ask for 3 runs
     --> /srv/jobs.toml:3:16
      |
    3 | max_attempts = 5
      |                ^
      = hint: leave it out, or write `max_attempts = 3`, or set `repeat_last = true`
      = note: the delays begin at 4:11

    /srv/jobs.toml: 1 mistake
    "##);
}

#[test]
fn more_runs_than_the_list_of_the_defaults() {
    let text = r#"
[defaults]
backoff = ["1s", "2s"]
[jobs.a]
command = "make"
max_attempts = 5
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `max_attempts = 5`, but the delays in [defaults] are enough for 3 runs
     --> /srv/jobs.toml:5:16
      |
    5 | max_attempts = 5
      |                ^
      = hint: list more delays, or set `repeat_last = true` there, or give this job its own `backoff`
      = note: the delays begin at 2:11

    /srv/jobs.toml: 1 mistake
    "##);
}

#[test]
fn an_empty_list_of_codes() {
    let text = r#"
[jobs.a]
command = "make"
auto_retry_for = []
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `auto_retry_for`: an empty list would retry nothing
     --> /srv/jobs.toml:3:18
      |
    3 | auto_retry_for = []
      |                  ^^
      = hint: leave it out to retry every failure, or write `retryable = false`

    /srv/jobs.toml: 1 mistake
    "##);
}

#[test]
fn codes_that_may_not_be_listed() {
    let text = r#"
[jobs.a]
command = "make"
never_retry_for = ["CANCELLED", "http_error", "HTTP_*", "EXIT_1", "EXIT_1"]
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: an entry of `never_retry_for`: "CANCELLED" may not be listed: it is never a matter of retry policy; of runner's own codes TIMEOUT, WORKER_CRASHED and SPAWN_FAILED may
     --> /srv/jobs.toml:3:20
      |
    3 | never_retry_for = ["CANCELLED", "http_error", "HTTP_*", "EXIT_1", "EXIT_1"]
      |                    ^^^^^^^^^^^

    error: an entry of `never_retry_for`: "http_error" is not an error code: codes are UPPER_SNAKE_CASE, such as "HTTP_ERROR"
     --> /srv/jobs.toml:3:33
      |
    3 | never_retry_for = ["CANCELLED", "http_error", "HTTP_*", "EXIT_1", "EXIT_1"]
      |                                 ^^^^^^^^^^^^

    error: an entry of `never_retry_for`: "HTTP_*" is not a family of codes; the families are "EXIT_*", "SIGNAL_*" and "*"
     --> /srv/jobs.toml:3:47
      |
    3 | never_retry_for = ["CANCELLED", "http_error", "HTTP_*", "EXIT_1", "EXIT_1"]
      |                                               ^^^^^^^^

    error: an entry of `never_retry_for`: "EXIT_1" is entered twice
     --> /srv/jobs.toml:3:67
      |
    3 | never_retry_for = ["CANCELLED", "http_error", "HTTP_*", "EXIT_1", "EXIT_1"]
      |                                                                   ^^^^^^^^
      = note: it stands first at 3:57

    /srv/jobs.toml: 4 mistakes
    "##);
}

#[test]
fn codes_that_cannot_occur() {
    let text = r#"
[jobs.a]
command = "make"
auto_retry_for = ["HTTP_EROR", "SIGKILL", "EXIT_0", "EXIT_22", "EXIT_300"]
exit_codes = { 22 = "HTTP_ERROR" }
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `HTTP_EROR` cannot occur in the job `a`
     --> /srv/jobs.toml:3:19
      |
    3 | auto_retry_for = ["HTTP_EROR", "SIGKILL", "EXIT_0", "EXIT_22", "EXIT_300"]
      |                   ^^^^^^^^^^^
      = hint: did you mean "HTTP_ERROR"?
      = allowed: HTTP_ERROR, SPAWN_FAILED, TIMEOUT, WORKER_CRASHED, and what nothing maps: EXIT_n,
        SIGNAL_NAME, EXIT_*, SIGNAL_*, *

    error: `SIGKILL` cannot occur in the job `a`
     --> /srv/jobs.toml:3:32
      |
    3 | auto_retry_for = ["HTTP_EROR", "SIGKILL", "EXIT_0", "EXIT_22", "EXIT_300"]
      |                                ^^^^^^^^^
      = hint: write "SIGNAL_KILL"

    error: `EXIT_0` cannot occur in the job `a`
     --> /srv/jobs.toml:3:43
      |
    3 | auto_retry_for = ["HTTP_EROR", "SIGKILL", "EXIT_0", "EXIT_22", "EXIT_300"]
      |                                           ^^^^^^^^
      = hint: exit status 0 is a success of this job

    error: `EXIT_22` cannot occur in the job `a`
     --> /srv/jobs.toml:3:53
      |
    3 | auto_retry_for = ["HTTP_EROR", "SIGKILL", "EXIT_0", "EXIT_22", "EXIT_300"]
      |                                                     ^^^^^^^^^
      = hint: here that ending is called HTTP_ERROR

    error: `EXIT_300` cannot occur in the job `a`
     --> /srv/jobs.toml:3:64
      |
    3 | auto_retry_for = ["HTTP_EROR", "SIGKILL", "EXIT_0", "EXIT_22", "EXIT_300"]
      |                                                                ^^^^^^^^^^
      = hint: 255 is the largest exit status

    /srv/jobs.toml: 5 mistakes
    "##);
}

#[test]
fn families_that_cannot_occur() {
    let text = r#"
default_error_code = "FAILED"
[jobs.a]
command = "make"
auto_retry_for = ["EXIT_*", "SIGNAL_KILL"]
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `EXIT_*` cannot occur in the job `a`
     --> /srv/jobs.toml:4:19
      |
    4 | auto_retry_for = ["EXIT_*", "SIGNAL_KILL"]
      |                   ^^^^^^^^
      = hint: under `default_error_code` what nothing maps is FAILED

    error: `SIGNAL_KILL` cannot occur in the job `a`
     --> /srv/jobs.toml:4:29
      |
    4 | auto_retry_for = ["EXIT_*", "SIGNAL_KILL"]
      |                             ^^^^^^^^^^^^^
      = hint: here that ending is called FAILED

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn a_listed_default_is_judged_once() {
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
    error: `USAGE` cannot occur in the job `a`, nor in 1 other
     --> /srv/jobs.toml:2:20
      |
    2 | never_retry_for = ["USAGE"]
      |                    ^^^^^^^
      = hint: map an exit status to it in `exit_codes`, or declare it in `reports`
      = allowed: SPAWN_FAILED, TIMEOUT, WORKER_CRASHED, and what nothing maps: EXIT_n, SIGNAL_NAME, EXIT_*,
        SIGNAL_*, *

    /srv/jobs.toml: 1 mistake
    "##);
}

#[test]
fn a_code_that_rests_on_a_misspelt_key_is_left_alone() {
    let text = r#"
[jobs.a]
command = "make"
auto_retry_for = ["RATE_LIMITED", "TIMEOUT"]
report = ["RATE_LIMITED"]
[jobs.b]
command = "make"
retries = 3
auto_retry_for = ["TIMEOT"]
"#;
    let drawn = drawn(text);
    assert!(drawn.contains("did you mean `reports`?"), "{drawn}");
    assert!(drawn.contains("did you mean \"TIMEOUT\"?"), "{drawn}");
    assert!(drawn.ends_with("3 mistakes"), "{drawn}");
}
