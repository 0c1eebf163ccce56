//! Unknown keys and wrong tables.

use super::told;

#[test]
fn keys_of_other_systems() {
    let text = r#"
retries = 1
[defaults]
max_retries = 3
[jobs.a]
cmd = "make"
workdir = "/srv"
retry_on = ["TIMEOUT"]
cron = "* * * * *"
depends_on = ["b"]
concurrency = 3
[jobs.b]
command = "make"
backoff = { base = "1s", max_delay = "5m" }
"#;
    insta::assert_snapshot!(told(text), @"
    1:1 there is no key `retries` at the top of the file
        hint: write `max_attempts = 2`: it counts every attempt, the first included
    3:1 there is no key `max_retries` in [defaults]
        hint: write `max_attempts = 4`: it counts every attempt, the first included
    5:1 there is no key `cmd` in a job
        hint: write `command`
    6:1 there is no key `workdir` in a job
        hint: write `cwd`
    7:1 there is no key `retry_on` in a job
        hint: write `auto_retry_for`
    8:1 there is no key `cron` in a job
        hint: write `schedule`
    9:1 there is no key `depends_on` in a job
        hint: write `after`
    10:1 there is no key `concurrency` in a job
        hint: `max_running` belongs in [queues.NAME]
    13:13 there is no key `base` in `backoff`
        hint: write `initial`
    13:26 there is no key `max_delay` in `backoff`
        hint: write `max`
    ");
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
delay = "1m"
max_delay = "1m"
[jobs.a.backoff]
timeout = "3s"
"#;
    insta::assert_snapshot!(told(text), @"
    1:1 there is no key `timeout` at the top of the file
        hint: `timeout` belongs in [defaults] or in [jobs.NAME]
    3:1 there is no key `command` in [defaults]
        hint: `command` belongs in [jobs.NAME]
    4:1 there is no key `exit_codes` in [defaults]
        hint: `exit_codes` belongs at the top of the file or in [jobs.NAME]
    7:1 there is no key `delay` in a job
        hint: `delay` belongs in `backoff`
    8:1 there is no key `max_delay` in a job
        hint: `max` belongs in `backoff`
    10:1 there is no key `timeout` in `backoff`
        hint: `timeout` belongs in [defaults] or in [jobs.NAME]
    ");
}

#[test]
fn limits_of_queues() {
    let text = r#"
[queues.net]
max_runing = 4
concurrency = 4
timeout = "3s"
[queues.img]
max_running = 0
rate = 10
[queues.disk]
max_running = "4"
rate = "10/d"
[queues.cpu]
max_running = 1.5
rate = "0/s"
[queues.empty]
[queues."a b"]
rate = 1.5
[queues]
plain = 4
[queue.x]
rate = "1/s"
"#;
    insta::assert_snapshot!(told(text), @r#"
    2:1 there is no key `max_runing` in a queue
        hint: did you mean `max_running`?
    3:1 there is no key `concurrency` in a queue
        hint: write `max_running`
    4:1 there is no key `timeout` in a queue
        hint: `timeout` belongs in [defaults] or in [jobs.NAME]
    6:15 `max_running` must be a whole number from 1 to 1000000, not 0
    7:8 `rate` must be a rate, such as "10/s", not 10
        hint: write "10/s", "10/m" or "10/h"
    9:15 `max_running` must be a whole number from 1 to 1000000, not "4"
    10:8 `rate`: "10/d" is not a rate: write a whole number above 0 and a unit: 10/s, 30/m or 100/h
    12:15 `max_running` must be a whole number from 1 to 1000000, not 1.5
    13:8 `rate`: "0/s" is not a rate: write a whole number above 0 and a unit: 10/s, 30/m or 100/h
    14:9 the queue `empty` has no limit
        hint: write max_running = 4, rate = "10/s" or both
    15:9 "a b" is not a name: names are 1 to 128 ASCII letters, digits, dots, underscores and dashes, and do not start with a dash
    16:8 `rate` must be a rate, such as "10/s", not 1.5
    18:9 `plain` must be a table with max_running, rate or both, not 4
    19:2 there is no key `queue` at the top of the file
        hint: write [queues.NAME]
    "#);
    insta::assert_snapshot!(told("queues = 3\n"), @"1:10 `queues` must be a table of queues: [queues.NAME], not 3");
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
    insta::assert_snapshot!(told(text), @r##"
    1:2 there is no key `backup` at the top of the file
        hint: a job has a header [jobs.backup]
    3:10 there is no key `2` in a job
        hint: a name with a dot needs quotes: [jobs."a.b"]
    5:2 there is no key `job` at the top of the file
        hint: did you mean `jobs`?
    "##);
    insta::assert_snapshot!(told("jobs = 3\ndefaults = []\nexit_codes = \"x\"\n"), @r##"
    1:8 `jobs` must be a table of jobs: [jobs.NAME], not 3
    2:12 `defaults` must be a table, not an array
    3:14 `exit_codes` must be a table of exit statuses and codes, such as { 22 = "HTTP_ERROR" }, not "x"
    "##);
    insta::assert_snapshot!(told("[[jobs]]\ncommand = \"make\"\n"), @"
    1:1 `jobs` must be a table of jobs, not an array
        hint: name each job in its header: [jobs.NAME]
    ");
    let text = "jobs.a = \"make\"\njobs.b = 3\njobs.\"-x y\" = { command = \"make\" }\n";
    insta::assert_snapshot!(told(text), @r##"
    1:10 `a` must be a table with a `command`, not "make"
        hint: write a = { command = "…" }
    2:10 `b` must be a table with a `command`, not 3
    3:6 "-x y" is not a name: names are 1 to 128 ASCII letters, digits, dots, underscores and dashes, and do not start with a dash
    "##);
}
