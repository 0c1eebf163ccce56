//! Words of other job runners, queues and retry libraries, and what they are called here.

use super::keys::Place;
use super::near::plain;
use super::value::Entry;
use crate::model::RetryPolicy;

/// Keys that count the runs after the first.
const RETRIES: [&str; 9] = [
    "retries",
    "max_retries",
    "max_retry",
    "num_retries",
    "retry_count",
    "retry_limit",
    "retry_attempts",
    "restarts",
    "max_restarts",
];

/// Other names of keys of the file itself, and ours.
const FILE: [(&str, &str); 4] =
    [("job", "jobs"), ("task", "jobs"), ("tasks", "jobs"), ("default", "defaults")];

/// Other names of keys of a job, and ours.
const JOB: [(&str, &str); 58] = [
    ("cmd", "command"),
    ("run", "command"),
    ("exec", "command"),
    ("exec_start", "command"),
    ("script", "command"),
    ("program", "command"),
    ("argv", "command"),
    ("shell", "command"),
    ("desc", "description"),
    ("comment", "description"),
    ("title", "description"),
    ("dir", "cwd"),
    ("workdir", "cwd"),
    ("working_dir", "cwd"),
    ("working_directory", "cwd"),
    ("directory", "cwd"),
    ("chdir", "cwd"),
    ("path", "cwd"),
    ("environment", "env"),
    ("envs", "env"),
    ("vars", "env"),
    ("variables", "env"),
    ("tube", "queue"),
    ("topic", "queue"),
    ("channel", "queue"),
    ("time_limit", "timeout"),
    ("run_time_limit", "timeout"),
    ("execution_timeout", "timeout"),
    ("grace", "grace_period"),
    ("kill_after", "grace_period"),
    ("stop_timeout", "grace_period"),
    ("timeout_stop_sec", "grace_period"),
    ("ttl", "expires_in"),
    ("expires", "expires_in"),
    ("expiry", "expires_in"),
    ("deadline", "expires_in"),
    ("ok_codes", "success_exit_codes"),
    ("success_codes", "success_exit_codes"),
    ("success_exit_status", "success_exit_codes"),
    ("retry", "retryable"),
    ("attempts", "max_attempts"),
    ("tries", "max_attempts"),
    ("max_tries", "max_attempts"),
    ("retry_on", "auto_retry_for"),
    ("retry_for", "auto_retry_for"),
    ("retry_if", "auto_retry_for"),
    ("autoretry_for", "auto_retry_for"),
    ("no_retry_for", "never_retry_for"),
    ("no_retry_on", "never_retry_for"),
    ("dont_retry_for", "never_retry_for"),
    ("dont_autoretry_for", "never_retry_for"),
    ("discard_on", "never_retry_for"),
    ("abort_on", "never_retry_for"),
    ("retry_backoff", "backoff"),
    ("retry_delay", "backoff"),
    ("retry_interval", "backoff"),
    ("restart_sec", "backoff"),
    ("unique", "unique_key"),
];

/// Other names of keys of `backoff`, and ours.
const BACKOFF: [(&str, &str); 26] = [
    ("type", "strategy"),
    ("kind", "strategy"),
    ("policy", "strategy"),
    ("base", "initial"),
    ("base_delay", "initial"),
    ("initial_delay", "initial"),
    ("initial_interval", "initial"),
    ("min", "initial"),
    ("min_delay", "initial"),
    ("start", "initial"),
    ("factor", "multiplier"),
    ("coefficient", "multiplier"),
    ("backoff_coefficient", "multiplier"),
    ("exponent", "multiplier"),
    ("max_delay", "max"),
    ("max_interval", "max"),
    ("maximum", "max"),
    ("cap", "max"),
    ("limit", "max"),
    ("interval", "delay"),
    ("wait", "delay"),
    ("step", "delay"),
    ("intervals", "delays"),
    ("steps", "delays"),
    ("repeat", "repeat_last"),
    ("randomize", "jitter"),
];

/// Keys for what runner leaves to others, and how to do without.
const ABSENT: [(&str, &str); 10] = [
    ("schedule", "runner has no schedules: let cron run `runner enqueue NAME`"),
    ("cron", "runner has no schedules: let cron run `runner enqueue NAME`"),
    ("every", "runner has no schedules: let cron run `runner enqueue NAME`"),
    ("depends_on", "jobs do not depend on each other: let the first one's command enqueue the next"),
    ("needs", "jobs do not depend on each other: let the first one's command enqueue the next"),
    (
        "args",
        "arguments stand in `command`, such as command = [\"tar\", \"-xf\", \"a.tar\"], or follow `runner enqueue NAME --`",
    ),
    ("stdin", "`runner enqueue NAME --stdin` captures what the command reads"),
    ("name", "the name of a job is in its header: [jobs.NAME]"),
    ("user", "a command runs as the user of its worker"),
    (
        "concurrency",
        "the number of slots is an option of the worker, `runner work -j N`; `unique_key` keeps jobs from piling up",
    ),
];

/// Other names of strategies, and what to write.
const STRATEGIES: [(&str, &str); 13] = [
    ("fixed", "\"constant\" for the same delay each time, or \"list\" for given ones"),
    ("none", "\"constant\" with delay = \"0s\""),
    ("immediate", "\"constant\" with delay = \"0s\""),
    ("exp", "\"exponential\""),
    ("geometric", "\"exponential\""),
    ("full_jitter", "\"exponential\" with jitter = 1.0"),
    ("decorrelated", "\"exponential\" with jitter = 1.0"),
    ("arithmetic", "\"linear\""),
    ("incremental", "\"linear\""),
    ("polynomial", "\"list\" with the delays themselves"),
    ("fibonacci", "\"list\" with the delays themselves"),
    ("custom", "\"list\" with the delays themselves"),
    ("steps", "\"list\" with the delays themselves"),
];

/// What `key` of another system is called here; it may belong to another table.
pub(super) fn meant(place: Place, key: &str) -> Option<&'static str> {
    // `max_delay` in a job means the `max` of its backoff; the first of those words are too common for that.
    let of_backoff = &BACKOFF[3..];
    let tables: [&[(&str, &str)]; 2] = match place {
        Place::Backoff => [&BACKOFF, &[]],
        Place::Job | Place::Defaults => [&JOB, of_backoff],
        Place::File => [&FILE, &JOB],
    };
    tables.into_iter().find_map(|words| look_up(words, key))
}

/// What a key of a job is called here that another system calls `word`.
pub fn our_key(word: &str) -> Option<&'static str> {
    look_up(&JOB, word)
}

/// Does another system call so the number of runs after the first?
pub fn counts_retries(word: &str) -> bool {
    RETRIES.contains(&plain(word).as_str())
}

/// What to write instead of a key of another system, where that takes more than a name.
pub(super) fn hint(place: Place, entry: &Entry<'_>) -> Option<String> {
    let key = plain(entry.key);
    let counts_retries = RETRIES.contains(&key.as_str()) || strsim::osa_distance(&key, RETRIES[0]) == 1;
    match place {
        Place::Backoff => None,
        Place::File if is_job(entry) => Some(format!("a job has a header [jobs.{}]", entry.key)),
        Place::Job if is_job(entry) => Some("a name with a dot needs quotes: [jobs.\"a.b\"]".to_owned()),
        Place::File if counts_retries => Some(of_retries(entry) + "; it belongs to a job, or to [defaults]"),
        _ if counts_retries => Some(of_retries(entry)),
        _ => look_up(&ABSENT, &key).map(str::to_owned),
    }
}

/// Is this a table with a `command`, and so meant to be a job, wherever it stands?
pub(super) fn is_job(entry: &Entry<'_>) -> bool {
    let table = entry.value.data().as_table();
    table.is_some_and(|table| table.contains_key("command"))
}

/// What to write instead of a strategy of another system.
pub(super) fn strategy(name: &str) -> Option<&'static str> {
    look_up(&STRATEGIES, name)
}

fn of_retries(entry: &Entry<'_>) -> String {
    let most = i64::from(RetryPolicy::MOST_ATTEMPTS);
    match entry.value.as_integer() {
        Some(retries) if (0..most).contains(&retries) => {
            format!("write `max_attempts = {}`: it counts every run, the first included", retries + 1)
        }
        _ => "write `max_attempts`, one more than the retries: it counts every run, the first included"
            .to_owned(),
    }
}

fn look_up(words: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    let word = plain(word);
    let (_, ours) = words.iter().find(|(theirs, _)| *theirs == word)?;
    Some(ours)
}
