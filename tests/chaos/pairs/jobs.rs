//! The job file of both projects, and what its jobs write to the side log that they share.
//!
//! A line is `EVENT JOB ATTEMPT WORKER PROJECT`, appended by one write. `start` is the first thing that an attempt does, and `end`
//! the last thing of one that succeeds. `stray` is written by what was left in the background, `got-INPUT` by a job with input, and
//! `wrong` by one with the input of the other project.

/// The folders of the two job files.
pub const PROJECTS: [&str; 2] = ["a", "b"];

/// The jobs that are called by name, the one that dies twice as often.
pub const NAMES: [&str; 9] =
    ["deploy", "deploy", "load", "flaky", "leaving", "few", INPUT, KEYED, "after-keyed"];

/// The job whose key only one of the two projects can hold.
pub const KEYED: &str = "keyed";

/// The job that says its input, if that ends with its project.
pub const INPUT: &str = "input";

/// The job that each death of a `deploy` enqueues.
pub const ALERT: &str = "alert";

/// The queue with a limit.
pub const LIMITED: &str = "limited";

/// What makes the `deploy` of a project fail, while it is there.
pub fn failing(project: &str) -> String {
    format!("{project}-fails")
}

/// The file of a project. Both declare the same names.
pub fn file(project: &str) -> String {
    FILE.replace("PROJECT", project)
}

/// Sourced by each job.
pub const LINES: &str = r#"
say() { echo "$1 $RUNNER_JOB_ID $RUNNER_ATTEMPT $RUNNER_WORKER_ID $2" >> ../log; }
"#;

const FILE: &str = r#"
[defaults]
max_attempts = 4
backoff = { strategy = "constant", delay = "30ms", jitter = 0.5 }
grace_period = "150ms"

[jobs.deploy]
command = ". ../lines.sh; say start PROJECT; sleep 0.05; [ ! -e ../PROJECT-fails ] || exit 4; say end PROJECT"
max_attempts = 1
on_dead = "alert"

[jobs.alert]
command = ". ../lines.sh; say start PROJECT; say end PROJECT"

[jobs.extract]
command = ". ../lines.sh; say start PROJECT; sleep 0.05; say end PROJECT"
queue = "limited"

[jobs.load]
command = ". ../lines.sh; say start PROJECT; say end PROJECT"
after = ["extract"]

[jobs.flaky]
description = "Fails twice"
command = '. ../lines.sh; say start PROJECT; [ "$RUNNER_ATTEMPT" -gt 2 ] || exit 3; say end PROJECT'

[jobs.leaving]
description = "Leaves a process in a session of its own, and fails once"
command = """
. ../lines.sh; say start PROJECT
setsid sh -c '. ../lines.sh; sleep 0.1; say stray PROJECT' & sleep 0.03
[ "$RUNNER_ATTEMPT" -gt 1 ] || exit 3
say end PROJECT"""

[jobs.few]
command = ". ../lines.sh; say start PROJECT; sleep 0.1; say end PROJECT"
queue = "limited"

[jobs.keyed]
command = ". ../lines.sh; say start PROJECT; sleep 0.1; say end PROJECT"
unique_key = "keyed"

[jobs.after-keyed]
command = ". ../lines.sh; say start PROJECT; say end PROJECT"
after = ["keyed"]

[jobs.input]
command = """
. ../lines.sh; say start PROJECT; input=$(cat); sleep 0.05
case $input in *-PROJECT) say "got-$input" PROJECT;; *) say wrong PROJECT;; esac
say end PROJECT"""
"#;
