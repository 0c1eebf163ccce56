//! Keys and tables that there are not.

use super::drawn;

#[test]
fn a_misspelt_key() {
    let text = r#"
[jobs.a]
command = "make"
timout = "3s"
Max-Attempts = 3
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: there is no key `timout` in a job
     --> /srv/jobs.toml:3:1
      |
    3 | timout = "3s"
      | ^^^^^^
      = hint: did you mean `timeout`?
      = allowed: command, description, unique_key, reports, exit_codes, default_error_code, cwd, env, queue,
        priority, timeout, grace_period, expires_in, success_exit_codes, retryable, max_attempts, backoff,
        auto_retry_for, never_retry_for, output_limit

    error: there is no key `Max-Attempts` in a job
     --> /srv/jobs.toml:4:1
      |
    4 | Max-Attempts = 3
      | ^^^^^^^^^^^^
      = hint: did you mean `max_attempts`?

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn retries_are_not_runs() {
    let text = r#"
retries = 1
[defaults]
max_retries = 3
[jobs.a]
command = "make"
retires = "many"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: there is no key `retries` at the top of the file
     --> /srv/jobs.toml:1:1
      |
    1 | retries = 1
      | ^^^^^^^
      = hint: write `max_attempts = 2`: it counts every run, the first included; it belongs to a job, or to
        [defaults]
      = allowed: default_error_code, exit_codes, defaults, jobs

    error: there is no key `max_retries` in [defaults]
     --> /srv/jobs.toml:3:1
      |
    3 | max_retries = 3
      | ^^^^^^^^^^^
      = hint: write `max_attempts = 4`: it counts every run, the first included
      = allowed: cwd, env, queue, priority, timeout, grace_period, expires_in, success_exit_codes,
        retryable, max_attempts, backoff, auto_retry_for, never_retry_for, output_limit

    error: there is no key `retires` in a job
     --> /srv/jobs.toml:6:1
      |
    6 | retires = "many"
      | ^^^^^^^
      = hint: write `max_attempts`, one more than the retries: it counts every run, the first included
      = allowed: command, description, unique_key, reports, exit_codes, default_error_code, cwd, env, queue,
        priority, timeout, grace_period, expires_in, success_exit_codes, retryable, max_attempts, backoff,
        auto_retry_for, never_retry_for, output_limit

    /srv/jobs.toml: 3 mistakes
    "##);
}

#[test]
fn keys_of_other_systems() {
    let text = r#"
[jobs.a]
cmd = "make"
workdir = "/srv"
retry_on = ["TIMEOUT"]
schedule = "@daily"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: there is no key `cmd` in a job
     --> /srv/jobs.toml:2:1
      |
    2 | cmd = "make"
      | ^^^
      = hint: write `command`
      = allowed: command, description, unique_key, reports, exit_codes, default_error_code, cwd, env, queue,
        priority, timeout, grace_period, expires_in, success_exit_codes, retryable, max_attempts, backoff,
        auto_retry_for, never_retry_for, output_limit

    error: there is no key `workdir` in a job
     --> /srv/jobs.toml:3:1
      |
    3 | workdir = "/srv"
      | ^^^^^^^
      = hint: write `cwd`

    error: there is no key `retry_on` in a job
     --> /srv/jobs.toml:4:1
      |
    4 | retry_on = ["TIMEOUT"]
      | ^^^^^^^^
      = hint: write `auto_retry_for`

    error: there is no key `schedule` in a job
     --> /srv/jobs.toml:5:1
      |
    5 | schedule = "@daily"
      | ^^^^^^^^
      = hint: runner has no schedules: let cron run `runner enqueue NAME`

    /srv/jobs.toml: 4 mistakes
    "##);
}

#[test]
fn keys_in_the_wrong_table() {
    let text = r#"
timeout = "3s"
[defaults]
command = "make"
exit_codes = { 3 = "X" }
[jobs.a]
command = "make"
max_delay = "1m"
[jobs.a.backoff]
timeout = "3s"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: there is no key `timeout` at the top of the file
     --> /srv/jobs.toml:1:1
      |
    1 | timeout = "3s"
      | ^^^^^^^
      = hint: `timeout` belongs to a job ([jobs.NAME]), or to [defaults] for all of them
      = allowed: default_error_code, exit_codes, defaults, jobs

    error: there is no key `command` in [defaults]
     --> /srv/jobs.toml:3:1
      |
    3 | command = "make"
      | ^^^^^^^
      = hint: `command` belongs to each job by itself: [jobs.NAME]
      = allowed: cwd, env, queue, priority, timeout, grace_period, expires_in, success_exit_codes,
        retryable, max_attempts, backoff, auto_retry_for, never_retry_for, output_limit

    error: there is no key `exit_codes` in [defaults]
     --> /srv/jobs.toml:4:1
      |
    4 | exit_codes = { 3 = "X" }
      | ^^^^^^^^^^
      = hint: for every job, `exit_codes` belongs to the top of the file, before any [table]

    error: there is no key `max_delay` in a job
     --> /srv/jobs.toml:7:1
      |
    7 | max_delay = "1m"
      | ^^^^^^^^^
      = hint: `max` belongs to the table of `backoff`
      = allowed: command, description, unique_key, reports, exit_codes, default_error_code, cwd, env, queue,
        priority, timeout, grace_period, expires_in, success_exit_codes, retryable, max_attempts, backoff,
        auto_retry_for, never_retry_for, output_limit

    error: there is no key `timeout` in `backoff`
     --> /srv/jobs.toml:9:1
      |
    9 | timeout = "3s"
      | ^^^^^^^
      = hint: `timeout` belongs to the job, beside `backoff`
      = allowed: strategy, initial, multiplier, max, delay, delays, repeat_last, jitter

    /srv/jobs.toml: 5 mistakes
    "##);
}

#[test]
fn jobs_in_the_wrong_place() {
    let text = r#"
[backup]
command = "make"
[jobs.v1.2]
command = "make"
[job.b]
command = "make"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: there is no key `backup` at the top of the file
     --> /srv/jobs.toml:1:2
      |
    1 | [backup]
      |  ^^^^^^
      = hint: a job has a header [jobs.backup]
      = allowed: default_error_code, exit_codes, defaults, jobs

    error: there is no key `2` in a job
     --> /srv/jobs.toml:3:10
      |
    3 | [jobs.v1.2]
      |          ^
      = hint: a name with a dot needs quotes: [jobs."a.b"]
      = allowed: command, description, unique_key, reports, exit_codes, default_error_code, cwd, env, queue,
        priority, timeout, grace_period, expires_in, success_exit_codes, retryable, max_attempts, backoff,
        auto_retry_for, never_retry_for, output_limit

    error: there is no key `job` at the top of the file
     --> /srv/jobs.toml:5:2
      |
    5 | [job.b]
      |  ^^^
      = hint: write `jobs`

    /srv/jobs.toml: 3 mistakes
    "##);
}

#[test]
fn what_is_no_table_of_jobs() {
    let text = r#"
jobs = 3
defaults = []
exit_codes = "x"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `jobs` must be a table of jobs: [jobs.NAME], not 3
     --> /srv/jobs.toml:1:8
      |
    1 | jobs = 3
      |        ^

    error: `defaults` must be a table, not an array
     --> /srv/jobs.toml:2:12
      |
    2 | defaults = []
      |            ^^

    error: `exit_codes` must be a table of exit statuses and codes, such as { 22 = "HTTP_ERROR" }, not "x"
     --> /srv/jobs.toml:3:14
      |
    3 | exit_codes = "x"
      |              ^^^

    /srv/jobs.toml: 3 mistakes
    "##);
}

#[test]
fn jobs_without_names() {
    let text = r#"
[[jobs]]
command = "make"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `jobs` must be a table of jobs, not an array
     --> /srv/jobs.toml:1:1
      |
    1 | [[jobs]]
      | ^^^^^^^^
      = hint: name each job in its header: [jobs.NAME]

    /srv/jobs.toml: 1 mistake
    "##);
}

#[test]
fn what_is_no_job() {
    let text = r#"
jobs.a = "make"
jobs.b = 3
jobs."-x y" = { command = "make" }
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `a` must be a table with a `command`, not "make"
     --> /srv/jobs.toml:1:10
      |
    1 | jobs.a = "make"
      |          ^^^^^^
      = hint: write a = { command = "…" }

    error: `b` must be a table with a `command`, not 3
     --> /srv/jobs.toml:2:10
      |
    2 | jobs.b = 3
      |          ^

    error: "-x y" is not a name: names are 1 to 128 letters, digits, dots, underscores and dashes, and do not start with a dash
     --> /srv/jobs.toml:3:6
      |
    3 | jobs."-x y" = { command = "make" }
      |      ^^^^^^

    /srv/jobs.toml: 3 mistakes
    "##);
}
