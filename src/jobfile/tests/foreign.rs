//! What is proposed for keys that people know from other programs.

use std::fmt::Write;
use std::path::Path;

use crate::jobfile::JobFile;

/// The hint of the first mistake of this file; none where it only lists the keys that there are.
fn hint(text: &str) -> Option<String> {
    let invalid = JobFile::parse(Path::new("/srv/jobs.toml"), text).unwrap_err();
    let mistake = invalid.placed_mistakes().swap_remove(0);
    mistake.hint.filter(|hint| !hint.starts_with("allowed: "))
}

/// Each key of a job as people write it, and what is proposed for it.
const TABLE: &str = r#"enabled = false -> to stop a schedule leave `schedule` out, or type: runner pause --schedule NAME; a job without a schedule runs only when it is enqueued
disabled = true -> to stop a schedule leave `schedule` out, or type: runner pause --schedule NAME; a job without a schedule runs only when it is enqueued
suspend = true -> to stop a schedule leave `schedule` out, or type: runner pause --schedule NAME; a job without a schedule runs only when it is enqueued
user = "www-data" -> root's worker runs it as another user by a `launcher`: launcher = ["runuser", "-u", "www-data", "--"]
group = "adm" -> a `launcher` changes it: launcher = ["setpriv", "--regid", "GROUP", "--clear-groups"]
shell = "/bin/bash" -> a string goes to /bin/sh -c; for another shell write command = ["bash", "-c", "…"]
run = "make" -> write `command`
cmd = ["make", "all"] -> write `command`
script = ["make", "make install"] -> write one command, with && between its parts, or one job for each step and `after` in those that follow
ExecStart = "/usr/bin/make" -> write `command`
entrypoint = "make" -> write `command`
args = ["-v"] -> write command = ["PROGRAM", "ARGUMENT"], or append arguments to one job: runner enqueue NAME -- ARGUMENT
steps = ["make"] -> write one command, with && between its parts, or one job for each step and `after` in those that follow
ExecStartPre = "true" -> write one command, with && between its parts, or one job for each step and `after` in those that follow
on_fail = "mail" -> write on_dead = "NAME": that job of this file is enqueued when this one dies
on-failure = "mail" -> write on_dead = "NAME": that job of this file is enqueued when this one dies
OnFailure = "mail@%n" -> write on_dead = "NAME": that job of this file is enqueued when this one dies
on_success = "next" -> the job that follows names this one: after = ["NAME"]
mailto = "root" -> write on_dead = "NAME": that job of this file is enqueued when this one dies
callback = "notify" -> write on_dead = "NAME": that job of this file is enqueued when this one dies
handlerOn = { failure = "x" } -> write on_dead = "NAME": that job of this file is enqueued when this one dies
retry = 3 -> write `max_attempts = 4`: it counts every attempt, the first included
retry = false -> write `retryable`
retry = { limit = 2 } -> write `max_attempts` for the number of runs, and `backoff` for the time between them
retries = 2 -> write `max_attempts = 3`: it counts every attempt, the first included
max_retries = 4 -> write `max_attempts = 5`: it counts every attempt, the first included
backoffLimit = 6 -> write `max_attempts = 7`: it counts every attempt, the first included
restart = "on-failure" -> write `max_attempts` for the number of runs, and `backoff` for the time between them
restartPolicy = "OnFailure" -> write `max_attempts` for the number of runs, and `backoff` for the time between them
retry_interval = "10s" -> write backoff = "10s"
retry_delay = 10 -> write backoff = "10s"
RestartSec = "5s" -> write backoff = "5s"
default_retry_delay = 180 -> write backoff = "3m"
autoretry_for = ["TIMEOUT"] -> write `auto_retry_for`
retry_backoff_max = 600 -> `max` stands in the table `backoff`, beside the `strategy` and its delay
jitter = true -> `jitter` stands in the table `backoff`, where the delay "10s" is { strategy = "constant", delay = "10s" }; to spread the times of a schedule, `random_delay`
ok_codes = [0, 3] -> write `success_exit_codes`
SuccessExitStatus = "0 3" -> write `success_exit_codes`
continue_on_error = true -> the job that follows says whether it may: `after` needs a success, for `after_any` any end will do
once = true -> leave it out: without `schedule` a job runs once each time it is enqueued; `retryable = false` forbids a second start
Type = "oneshot" -> leave it out: every job is a command that ends
readonly = true -> -
cron = "0 2 * * *" -> write `schedule`
OnCalendar = "daily" -> write `schedule`
OnBootSec = "5min" -> write schedule = "@reboot"
OnUnitActiveSec = "15min" -> write schedule = "every 15m"
every = "5m" -> write schedule = "every 5m"
interval = 300 -> write schedule = "every 5m"
timeZone = "Europe/Berlin" -> write `timezone`
tz = "Europe/Berlin" -> write `timezone`
Persistent = true -> write `missed`: "once" (the default), "all" or "skip"
catchup = false -> write `missed`: "once" (the default), "all" or "skip"
misfire_grace_time = 30 -> write missed_within = "30s"
catchup_window = '2h' -> write missed_within = "2h"
RandomizedDelaySec = "10m" -> write random_delay = "10m"
startingDeadlineSeconds = 200 -> write missed_within = "3m 20s"
at = "18:00" -> say when as you enqueue it: runner enqueue NAME --in 10m, or --at 18:00
eta = "2026-01-01" -> say when as you enqueue it: runner enqueue NAME --in 10m, or --at 18:00
countdown = 60 -> say when as you enqueue it: runner enqueue NAME --in 10m, or --at 18:00
delay = "5m" -> `delay` belongs in `backoff`
timeout-minutes = 30 -> write timeout = "30m"
activeDeadlineSeconds = 600 -> write timeout = "10m"
RuntimeMaxSec = "1h" -> write timeout = "1h"
time_limit = 60 -> write timeout = "1m"
TimeoutStopSec = 90 -> write grace_period = "1m 30s"
stop_grace_period = "1m30s" -> write grace_period = "1m 30s"
kill_after = "5s" -> write grace_period = "5s"
concurrency = 3 -> `max_running` belongs in [queues.NAME]
concurrency = "deploy" -> write unique_key = "NAME": at most one unfinished job holds a key, so its runs do not overlap
concurrencyPolicy = "Forbid" -> write unique_key = "NAME": at most one unfinished job holds a key, so its runs do not overlap
parallelism = 2 -> `max_running` belongs in [queues.NAME]
max_instances = 1 -> write unique_key = "NAME": at most one unfinished job holds a key, so its runs do not overlap
no-overlap = true -> write unique_key = "NAME": at most one unfinished job holds a key, so its runs do not overlap
flock = "/tmp/x.lock" -> write unique_key = "NAME": at most one unfinished job holds a key, so its runs do not overlap
unique = true -> write unique_key = "NAME": at most one unfinished job holds a key, so its runs do not overlap
rate_limit = "10/m" -> `rate` belongs in [queues.NAME]
depends_on = ["b"] -> write `after`
needs = "b" -> write `after`
depends = "b" -> write `after`
Requires = "b.service" -> write `after`
environment = { A = "b" } -> write `env`
EnvironmentFile = "/etc/default/x" -> write `env_file`
dotenv = ".env" -> write `env_file`
secrets = ["TOKEN"] -> write env_file = "FILE": it is read at each start and never stored
PATH = "/usr/bin:/bin" -> a variable stands in `env`: env = { NAME = "value" }
WorkingDirectory = "/srv" -> write `cwd`
working_dir = "/srv" -> write `cwd`
dir = "/srv" -> write `cwd`
image = "alpine" -> a `launcher` puts it into a container: launcher = ["docker", "run", "--rm", "IMAGE"]
container = "alpine" -> a `launcher` puts it into a container: launcher = ["docker", "run", "--rm", "IMAGE"]
mem_limit = "2g" -> a `launcher` limits it: launcher = ["systemd-run", "--scope", "-q", "-p", "MemoryMax=2G"]
cpus = 2 -> a `launcher` limits it: launcher = ["systemd-run", "--scope", "-q", "-p", "MemoryMax=2G"]
Nice = 10 -> write launcher = ["nice", "-n", "10"]
stdout = "/var/log/x" -> leave it out: runner keeps what a job writes, `output_limit` says how much, and runner logs NAME prints it
logs = "/var/log/x" -> leave it out: runner keeps what a job writes, `output_limit` says how much, and runner logs NAME prints it
StandardOutput = "journal" -> leave it out: runner keeps what a job writes, `output_limit` says how much, and runner logs NAME prints it
name = "x" -> the name of a job stands in its header: [jobs.NAME]
tags = ["x"] -> a label belongs to one enqueued job: runner enqueue NAME --label TEXT
label = "x" -> a label belongs to one enqueued job: runner enqueue NAME --label TEXT
prio = 3 -> write `priority`
if = "always()" -> let the command decide: command = "test -e FILE || exit 0; …"
preconditions = ["test -e x"] -> let the command decide: command = "test -e FILE || exit 0; …"
ttlSecondsAfterFinished = 100 -> leave it out: runner prune --older-than 30d removes finished jobs
successfulJobsHistoryLimit = 3 -> leave it out: runner prune --older-than 30d removes finished jobs
histRetentionDays = 30 -> leave it out: runner prune --older-than 30d removes finished jobs
strategy = "fixed" -> `strategy` belongs in `backoff`
max_running = 3 -> `max_running` belongs in [queues.NAME]
comand = "make" -> did you mean `command`?
shedule = "0 2 * * *" -> did you mean `schedule`?
Timeout = "5m" -> did you mean `timeout`?
time_out = "5m" -> did you mean `timeout`?
max_attempt = 3 -> did you mean `max_attempts`?
desc = "x" -> write `description`
nonsense = 1 -> -"#;

#[test]
fn keys_of_other_programs_lead_to_what_their_author_meant() {
    assert!(TABLE.lines().count() >= 60);
    for row in TABLE.lines() {
        let (key, _) = row.split_once(" -> ").expect("an arrow");
        let text = format!("[jobs.a]\n{key}\ncommand = 'true'\n");
        assert_eq!(row, format!("{key} -> {}", hint(&text).as_deref().unwrap_or("-")));
    }
}

#[test]
fn elsewhere_too() {
    let mut told = String::new();
    for text in [
        "[job.a]\ncommand = 'true'",
        "[tasks.a]\nrun = 'true'",
        "retries = 1",
        "MAILTO = 'root'",
        "SHELL = '/bin/sh'",
        "[env]\nA = 'b'",
        "[defaults]\nenabled = false",
        "[defaults]\nuser = 'nobody'",
        "[queues.net]\nlimit = 4",
        "[queues.net]\nconcurrency = 4",
        "[jobs.a]\ncommand = 'true'\nbackoff = { type = 'linear' }",
        "[jobs.a]\ncommand = 'true'\nbackoff = { interval = '5s' }",
        "[jobs.a]\ncommand = 'true'\nbackoff = { strategy = 'fixed' }",
        "[jobs.a]\ncommand = 'true'\nexit_codes = { PARTIAL = 3 }",
    ] {
        let _ = writeln!(told, "{}: {}", text.replace('\n', " "), hint(text).as_deref().unwrap_or("-"));
    }
    insta::assert_snapshot!(told, @r#"
    [job.a] command = 'true': a job has a header [jobs.NAME]
    [tasks.a] run = 'true': a job has a header [jobs.NAME]
    retries = 1: write `max_attempts = 2`: it counts every attempt, the first included
    MAILTO = 'root': write on_dead = "NAME": that job of this file is enqueued when this one dies
    SHELL = '/bin/sh': a string goes to /bin/sh -c; for another shell write command = ["bash", "-c", "…"]
    [env] A = 'b': write it in [defaults] for all jobs: env = { NAME = "value" }
    [defaults] enabled = false: to stop a schedule leave `schedule` out, or type: runner pause --schedule NAME; a job without a schedule runs only when it is enqueued
    [defaults] user = 'nobody': root's worker runs it as another user by a `launcher`: launcher = ["runuser", "-u", "nobody", "--"]
    [queues.net] limit = 4: write `max_running`
    [queues.net] concurrency = 4: write `max_running`
    [jobs.a] command = 'true' backoff = { type = 'linear' }: write `strategy`
    [jobs.a] command = 'true' backoff = { interval = '5s' }: write `delay` for the strategies "linear" and "constant", `initial` for "exponential"
    [jobs.a] command = 'true' backoff = { strategy = 'fixed' }: write "constant" for the same delay each time, or "list" for given delays
    [jobs.a] command = 'true' exit_codes = { PARTIAL = 3 }: write 3 = "PARTIAL"
    "#);
}

#[test]
fn schedules_of_other_programs() {
    let mut told = String::new();
    for schedule in [
        "@every 5m",
        "@every 1h30m",
        "5m",
        "90",
        "every hour",
        "every 5 minutes",
        "0 0 2 * * *",
        "0 30 9 ? * MON-FRI",
        "30 0 2 * * *",
        "*/10 * * * * *",
        "0 2 * * * root",
        "0 2 * * * nobody",
        "daily",
        "hourly",
        "@minutely",
        "02:30",
        "*-*-* 02:00:00",
        "tomorrow",
    ] {
        let text = format!("[jobs.a]\ncommand = 'true'\nschedule = '{schedule}'");
        let _ = match JobFile::parse(Path::new("/srv/jobs.toml"), &text) {
            Ok(_) => writeln!(told, "{schedule}: taken"),
            Err(_) => writeln!(told, "{schedule}: {}", hint(&text).as_deref().unwrap_or("-")),
        };
    }
    insta::assert_snapshot!(told, @r#"
    @every 5m: write "every 5m"
    @every 1h30m: write "every 1h30m"
    5m: write "every 5m"
    90: -
    every hour: write "every 1 hour"
    every 5 minutes: taken
    0 0 2 * * *: write "0 2 * * *": cron has five fields, and no seconds
    0 30 9 ? * MON-FRI: write "30 9 * * MON-FRI": cron has five fields, and no seconds
    30 0 2 * * *: write five fields; for a pace in seconds write "every 30s"
    */10 * * * * *: write "every 10s"
    0 2 * * * root: write "0 2 * * *"; a user is a `launcher`: launcher = ["runuser", "-u", "root", "--"]
    0 2 * * * nobody: write "0 2 * * *"; a user is a `launcher`: launcher = ["runuser", "-u", "nobody", "--"]
    daily: write "@daily"
    hourly: write "@hourly"
    @minutely: write "* * * * *"
    02:30: write "30 2 * * *"
    *-*-* 02:00:00: -
    tomorrow: -
    "#);
}
