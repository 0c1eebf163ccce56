//! The jobs that are run, and what they write to the side log.
//!
//! A line is `EVENT JOB ATTEMPT WORKER`, appended by one write. `start` is the first thing that an attempt does, and `end`
//! the last thing of one that succeeds. `beat` is written meanwhile, and `stray` by what was left in the background.

use runner::model::Missed;

/// The kinds that are enqueued, and how many of a hundred jobs are of each.
pub const KINDS: [(&str, u32); 11] = [
    ("quick", 20),
    (WARNED, 6),
    ("slow", 12),
    ("fork", 14),
    ("daemon", 8),
    ("once", 10),
    ("once-quick", 8),
    ("reporting", 8),
    ("failing", 6),
    ("late", 4),
    ("missing", 4),
];

/// The job that succeeds with a warning, and its alert.
pub const WARNED: &str = "warned";
pub const TOLD: &str = "told";

/// The jobs with a schedule, how many milliseconds lie between its times, and what it makes of missed ones. A kill often meets a
/// time that comes.
pub const SCHEDULES: [(&str, i64, Missed); 3] =
    [("tick-1", 1_000, Missed::Once), ("tick-2", 1_000, Missed::All), ("tick-3", 60_000, Missed::Once)];

/// The job that each boot of the machine enqueues once.
pub const AT_BOOT: &str = "at-boot";

/// A chain: a job, the one that depends on its success, and the one that depends on any end of that, in the order of their ids.
pub const CHAIN: [&str; 3] = ["first", "last", "report"];

/// The jobs that lines of a crontab call `runner run` for, each line again when its last call has ended. Two lines share a job and
/// its key. No worker takes from the queue of the first five, so what a dead call has left is for the next one.
pub const NIGHTLY: [&str; 6] =
    ["nightly", "nightly-keyed", "nightly-keyed", "nightly-once", "nightly-last", "nightly-shared"];

/// The queue that only a `run` takes from.
pub const NIGHTS: &str = "nights";

/// Sourced by each job.
pub const LINES: &str = r#"
say() { echo "$1 $RUNNER_JOB_ID $RUNNER_ATTEMPT $RUNNER_WORKER_ID" >> log; }
beats() { for _ in $(seq "$1"); do sleep 0.06; say "$2"; done; }
deaf() { trap '' TERM; beats "$1" stray; }
"#;

/// The job file.
pub const FILE: &str = r#"
[defaults]
max_attempts = 4
backoff = { strategy = "constant", delay = "30ms", jitter = 0.5 }
grace_period = "150ms"

[queues.few]
max_running = 3

[jobs.quick]
command = ". ./lines.sh; say start; say end"

[jobs.slow]
description = "Does not heed SIGTERM"
queue = "few"
command = ". ./lines.sh; say start; trap '' TERM; beats 8 beat; say end"

[jobs.fork]
description = "Fails, and leaves a process in a session of its own that does not heed SIGTERM"
command = ". ./lines.sh; say start; setsid sh -c '. ./lines.sh; deaf 12' > /dev/null 2>&1 & sleep 0.05; exit 3"
max_attempts = 3

[jobs.daemon]
description = "Succeeds, and leaves such a process, which holds its output open"
command = ". ./lines.sh; say start; setsid sh -c '. ./lines.sh; deaf 8' & sleep 0.03; say end"

[jobs.once]
command = ". ./lines.sh; say start; beats 2 beat; say end"
queue = "few"
retryable = false

[jobs.once-quick]
command = ". ./lines.sh; say start; say end"
retryable = false

[jobs.reporting]
description = "Fails twice and names the failure"
command = '''. ./lines.sh; say start
[ "$RUNNER_ATTEMPT" -gt 2 ] && { echo result=done >> "$RUNNER_REPORT"; say end; exit 0; }
printf 'error_code=RATE_LIMITED\nretry_after=20ms\n' >> "$RUNNER_REPORT"; exit 1'''
max_attempts = 6

[jobs.failing]
command = ". ./lines.sh; say start; exit 1"
max_attempts = 3

[jobs.late]
command = ". ./lines.sh; say start; sleep 5; say end"
timeout = "80ms"
max_attempts = 2

[jobs.missing]
description = "Cannot be started, and is tried again all the same"
command = ["./no-such-program"]
max_attempts = 2
auto_retry_for = ["*"]

[jobs.warned]
command = ". ./lines.sh; say start; say end; exit 24"
warning_exit_codes = [24]
on_warning = "told"

[jobs.told]
command = ". ./lines.sh; say start; say end"

[jobs.first]
command = ". ./lines.sh; say start; beats 2 beat; say end"

[jobs.last]
command = ". ./lines.sh; say start; say end"
after = ["first"]

[jobs.report]
command = ". ./lines.sh; say start; say end"
after_any = ["last"]

[jobs.nightly]
description = "Fails at first"
command = '. ./lines.sh; say start; beats 2 beat; [ "$RUNNER_ATTEMPT" -gt 1 ] || exit 1; say end'
queue = "nights"
max_attempts = 1000

[jobs.nightly-keyed]
command = ". ./lines.sh; say start; trap '' TERM; beats 4 beat; say end"
queue = "nights"
unique_key = "nightly"
max_attempts = 1000

[jobs.nightly-once]
command = ". ./lines.sh; say start; beats 3 beat; say end"
queue = "nights"
retryable = false

[jobs.nightly-first]
command = ". ./lines.sh; say start; setsid sh -c '. ./lines.sh; deaf 8' & beats 2 beat; say end"
queue = "nights"
max_attempts = 1000

[jobs.nightly-last]
description = "Succeeds with a warning"
command = ". ./lines.sh; say start; beats 2 beat; say end; exit 24"
warning_exit_codes = [24]
queue = "nights"
max_attempts = 1000
after = ["nightly-first"]

[jobs.nightly-shared]
description = "In a queue that the workers take from, where it waits twice for its next attempt"
command = '. ./lines.sh; say start; beats 1 beat; [ "$RUNNER_ATTEMPT" -gt 2 ] || exit 1; say end'
max_attempts = 1000

[jobs.tick-1]
command = ". ./lines.sh; say start; say end"
schedule = "every 1s"

[jobs.tick-2]
command = ". ./lines.sh; say start; say end"
schedule = "every 1s"
missed = "all"

[jobs.tick-3]
command = ". ./lines.sh; say start; beats 3 beat; say end"
schedule = "* * * * *"

[jobs.at-boot]
command = ". ./lines.sh; say start; say end"
schedule = "@reboot"
random_delay = "20ms"
"#;
