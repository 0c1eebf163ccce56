//! What is proposed for keys that people know from other programs.

use std::fmt::Write;
use std::path::Path;

use proptest::prelude::*;

use crate::call_target::with_commands;
use crate::jobfile::JobFile;
use crate::jobfile::keys::Section;
use crate::text::{Millis, foreign_words};

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
fn each_row_about_a_key_is_told_and_leads_to_one_of_ours() {
    let mut told = 0;
    for (section, around) in [
        ("keys of a job", "[jobs.a]\nKEY\ncommand = 'true'"),
        ("keys of backoff", "[jobs.a]\ncommand = 'true'\n[jobs.a.backoff]\nKEY"),
        ("keys of a queue", "[queues.a]\nKEY"),
        ("keys of a file", "KEY"),
    ] {
        for (theirs, ours) in foreign_words(section).expect("a section") {
            let (key, of_type) = theirs.split_once(':').unwrap_or((theirs, "datetime"));
            let value = match of_type {
                "array" => "['x']",
                "boolean" => "true",
                "integer" => "3",
                "table" => "{ x = 1 }",
                _ if key == "VARIABLE" || of_type == "string" => "'x'",
                _ => "2026-11-22",
            };
            let hint = hint(&around.replace("KEY", &format!("{key} = {value}"))).unwrap_or_default();
            let starts = |start: String| assert!(hint.starts_with(&start), "{section}, {theirs}: {hint}");
            match *ours.split(' ').collect::<Vec<_>>() {
                ["key", key] => {
                    assert!(Section::ALL.iter().any(|section| section.has(key)), "{section}, {theirs}");
                    assert!(hint.contains(&format!("`{key}`")), "{section}, {theirs}: {hint}");
                }
                ["span", key, unit] => {
                    assert!(Section::Job.has(key) && Millis::parse(&format!("1{unit}")).is_ok(), "{theirs}");
                    starts(format!("write {key} = \"30s\""));
                }
                ["retries"] => starts("write `max_attempts = ".to_owned()),
                ["pace"] => starts("write schedule = \"every ".to_owned()),
                ["user"] => starts("root's worker runs it as another user".to_owned()),
                _ => assert_eq!(hint, with_commands(ours), "{section}, {theirs}"),
            }
            told += 1;
        }
    }
    assert!(told > 250, "{told}");
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

/// Each refused schedule as people write it, and what is proposed for it.
const SCHEDULES: &str = r#"@every 5m -> write "every 5m"
@every 1h30m -> write "every 1h30m"
@every 50ms -> a pace is at least one second
5m -> write "every 5m"
90 -> -
every hour -> write "every 1 hour"
Every 5 minutes -> write "every 5 minutes"
0 0 2 * * * -> write "0 2 * * *" if seconds come first; write "0 0 2 * *" if a year comes last
0 30 2 * * * -> write "30 2 * * *": cron has five fields, and no seconds
0 30 9 ? * MON-FRI -> write "30 9 * * MON-FRI": cron has five fields, and no seconds
0 30 9 ? * 2-6 -> write "30 9 * * 2-6" if 1 is Monday; write "30 9 * * mon-fri" if 1 is Sunday, as in AWS and Quartz
0 0 12 ? * 6#3 -> write "0 12 * * 6#3" if 1 is Monday; write "0 12 * * fri#3" if 1 is Sunday, as in AWS and Quartz
0 0 12 ? * 6L -> write "0 12 * * 6L" if 1 is Monday; write "0 12 * * friL" if 1 is Sunday, as in AWS and Quartz
0 0 12 ? * L6 -> write "0 12 * * 6L" if 1 is Monday; write "0 12 * * friL" if 1 is Sunday, as in AWS and Quartz
0 0 12 * * #3 -> -
0 0 12 L-3 * ? -> write "0 12 L-3 * *": cron has five fields, and no seconds
0 15 10 ? * 1/2 -> -
0 0/5 14 * * ? -> write "0-59/5 14 * * *": cron has five fields, and no seconds
0 2 * * ? * -> write "0 2 * * *"
0 12 1 * ? * -> write "0 12 1 * *"
15 10 ? * 2-6 * -> write "15 10 * * mon-fri"
15 10 ? * 6L 2022-2023 -> a schedule has no year, and its days come in each one; for one time: runner enqueue NAME --at TIME
cron(0 9 ? * 2 *) -> write "0 9 * * mon"
cron(0/10 8-17 ? * MON-FRI *) -> write "0-59/10 8-17 * * MON-FRI"
rate(5 minutes) -> write "every 5 minutes"
rate(1 day) -> write "every 1 day"
0 6 * * 1-5 * -> write "6 * * 1-5 *" if seconds come first; write "0 6 * * 1-5" if a year comes last
0 2 * * * 0 -> write "2 * * * 0" if seconds come first; write "0 2 * * *" if seconds come last
30 0 2 * * * -> -
* * * * * * -> write "every 1s" if seconds come first; write "* * * * *" if a year comes last
*/10 * * * * * -> write "every 10s" if seconds come first; write "*/10 * * * *" if a year comes last
*/7 * * * * * -> -
0 30 2 * * * * -> write "30 2 * * *": cron has five fields, and no seconds
0 2 12 12 * 2026 -> a schedule has no year, and its days come in each one; for one time: runner enqueue NAME --at TIME
0 0 9 * * mon -> write "0 9 * * mon": cron has five fields, and no seconds
0 0 9 * * tues -> write "0 9 * * tue": cron has five fields, and no seconds
0 2 * * * root -> write "0 2 * * *"; a user is a `launcher`: launcher = ["runuser", "-u", "root", "--"]
0 2 * * * nobody -> write "0 2 * * *"; a user is a `launcher`: launcher = ["runuser", "-u", "nobody", "--"]
0 2 * * * /usr/bin/backup --all -> write "0 2 * * *"; a command stands in `command`
0 2 * * * # each night -> write "0 2 * * *"
CRON_TZ=Asia/Tokyo 0 2 * * * -> write schedule = "0 2 * * *" and timezone = "Asia/Tokyo"
TZ=Europe/Berlin 0 30 2 * * * -> write schedule = "30 2 * * *" and timezone = "Europe/Berlin": cron has five fields, and no seconds
TZ=UTC @every 1h -> write schedule = "every 1h" and timezone = "UTC"
TZ=UTC @reboot -> write "@reboot"
CRON_TZ=Nowhere/At-all 0 2 * * * -> -
0 2 * * * America/New_York -> write schedule = "0 2 * * *" and timezone = "America/New_York"
0 2 ? * mon -> write "0 2 * * mon"
0 2 ? * 2 -> write "0 2 * * 2" if 1 is Monday; write "0 2 * * mon" if 1 is Sunday, as in AWS and Quartz
? 2 * * * -> -
0 22-4/2 * * * -> write "0 22,0,2,4 * * *"
0 20-8/3 * * * -> write "0 20,23,2,5,8 * * *"
50-10/10 22-2 * nov-feb fri-mon -> write "50,0,10 22-23,0-2 * 11-12,1-2 5-7,0-1"
0 2 25-5/2 * * -> -
5/15 * * * * -> write "5-59/15 * * * *"
0 0 * * 1/2 -> -
0 2 * * monday -> write "0 2 * * mon"
0 2 * sept-December tuesday,thurs#2 -> write "0 2 * sep-dec tue,thu#2"
0 2 * * mo -> -
30 6 W15,wl * * -> write "30 6 15W,lW * *"
30 6 * * mon#L,L5 -> write "30 6 * * monL,5L"
H 2 * * * -> write "16 2 * * *", or other numbers where another program picks them
H/15 * * * * -> write "7-59/15 * * * *", or other numbers where another program picks them
H(0-29) H(0-7) * * 1-5 -> write "23 5 * * 1-5", or other numbers where another program picks them
H(9-0) 2 * * * -> -
0~59 4 * * * -> write "0 4 * * *" and random_delay = "59m"
10~20 4 * * * -> write "10 4 * * *" and random_delay = "10m"
0 2~4 * * * -> -
@Daily -> write "@daily"
@HOURLY -> write "@hourly"
daily -> write "@daily"
weekly -> write "@weekly" for Sundays; write "0 0 * * 1" for Mondays, as systemd's
hourly -> write "@hourly"
quarterly -> write "0 0 1 1,4,7,10 *"
@minutely -> write "* * * * *"
02:30 -> write "30 2 * * *"
02:30:15 -> -
*-*-* 02:00:00 -> write "0 2 * * *"
Mon..Fri 02:30 -> write "30 2 * * Mon-Fri"
Sat,Sunday *-*-* 8:00 -> write "0 8 * * Sat,sun"
*:0/15 -> write "0-59/15 * * * *"
*-*-01,15 4..6:00:00 -> write "0 4-6 1,15 * *"
*-02~03 -> write "0 0 L-2 2 *"
*-*~01 06:00 Europe/Berlin -> write schedule = "0 6 L * *" and timezone = "Europe/Berlin"
Fri *-*-13 -> -
2027-01-01 00:00 -> -
1,,2 * * * * -> -
61 * * * * -> -
0 0 30 2 * -> -
tomorrow -> -"#;

#[test]
fn schedules_of_other_programs_lead_to_what_their_author_meant() {
    let mut found = String::new();
    for row in SCHEDULES.lines() {
        let (schedule, _) = row.split_once(" -> ").expect("an arrow");
        let hint = hint(&format!("[jobs.a]\ncommand = 'true'\nschedule = '{schedule}'"));
        let _ = writeln!(found, "{schedule} -> {}", hint.as_deref().unwrap_or("-"));
    }
    assert!(found.trim_end() == SCHEDULES, "found:\n{found}");
}

/// What a hint says to write, in quotes, each with what stands in front.
fn told(hint: &str) -> Vec<(&str, &str)> {
    let mut parts = hint.split('"');
    std::iter::from_fn(|| parts.next().zip(parts.next())).collect()
}

#[test]
fn each_schedule_and_duration_of_a_hint_is_taken() {
    for row in SCHEDULES.lines() {
        let hint = row.split_once(" -> ").map_or("", |(_, hint)| hint);
        let hint = hint.split_once("; a user").map_or(hint, |(hint, _)| hint);
        let mut line = "@daily";
        for (before, value) in told(hint) {
            let entry = match before.trim_end_matches([' ', '=']) {
                key if key.ends_with("timezone") => format!("schedule = '{line}'\ntimezone = '{value}'"),
                key if key.ends_with("random_delay") => {
                    format!("schedule = '{line}'\nrandom_delay = '{value}'")
                }
                _ => {
                    line = value;
                    format!("schedule = '{value}'")
                }
            };
            let text = format!("[jobs.a]\ncommand = 'true'\n{entry}");
            assert!(JobFile::parse(Path::new("/srv/jobs.toml"), &text).is_ok(), "{row}: {text}");
        }
    }
    for key in ["timeout", "grace_period", "expires_in", "missed_within"] {
        for value in [
            "0",
            "-1",
            "10.34",
            "1.5",
            "0.0",
            "30",
            "400000000",
            "99999999999",
            "'0'",
            "'10.34'",
            "'.5s'",
            "'1.s'",
            "'5s 3'",
        ] {
            let with =
                |value: &str| format!("[jobs.a]\ncommand = 'true'\nschedule = '@daily'\n{key} = {value}");
            let Err(invalid) = JobFile::parse(Path::new("/srv/jobs.toml"), &with(value)) else { continue };
            let mistake = invalid.placed_mistakes().swap_remove(0);
            let advice = mistake.hint.or(mistake.error.split_once("; ").map(|(_, advice)| advice.to_owned()));
            for (_, value) in told(&advice.unwrap_or_default()) {
                let text = with(&format!("'{value}'"));
                assert!(JobFile::parse(Path::new("/srv/jobs.toml"), &text).is_ok(), "{text}");
            }
        }
    }
}

#[test]
fn each_schedule_that_the_corpus_is_told_to_write_is_taken() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobfile");
    let mut applied = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Err(invalid) = JobFile::parse(&path, &text) else { continue };
        for mistake in invalid.placed_mistakes() {
            let Some(hint) = mistake.hint.filter(|_| mistake.error.contains(" schedule")) else { continue };
            for (_, line) in told(&hint).into_iter().filter(|(before, _)| before.ends_with("write ")) {
                let text = format!("[jobs.a]\ncommand = 'true'\nschedule = '{line}'");
                assert!(JobFile::parse(&path, &text).is_ok(), "{}: {hint}", path.display());
                applied += 1;
            }
        }
    }
    assert!(applied > 4, "{applied}");
}

proptest! {
    #[test]
    fn whatever_is_written_each_hint_is_taken(words in prop::collection::vec("[-*/,#?~().:0-9HLWRTZ=é]{1,4}|[*?]|0|mon|@every|tues|every|UTC|root|2026", 1..8)) {
        let text = |line: &str| format!("[jobs.a]\ncommand = 'true'\nschedule = '{line}'");
        let line = words.join(" ");
        if JobFile::parse(Path::new("/srv/jobs.toml"), &text(&line)).is_err() {
            let hint = hint(&text(&line)).unwrap_or_default();
            for (_, line) in told(&hint).into_iter().filter(|(before, _)| before.ends_with("write ")) {
                prop_assert!(JobFile::parse(Path::new("/srv/jobs.toml"), &text(line)).is_ok(), "{}", hint);
            }
        }
    }
}
