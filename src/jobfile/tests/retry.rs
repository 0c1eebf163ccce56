//! Mistakes in the retry policy: contradictions, and `backoff`.

use super::told;

#[test]
fn contradictions_within_one_level() {
    let text = r#"
[defaults]
max_attempts = 1000001
[jobs.never]
command = "make"
max_attempts = 0
[jobs.once]
command = "make"
retryable = false
max_attempts = 3
auto_retry_for = ["TIMEOUT"]
[jobs.longer]
command = "make"
max_attempts = 5
backoff = ["1s", "2s"]
[jobs.shorter]
command = "make"
max_attempts = 2
backoff = { strategy = "list", delays = ["1s", "2s"] }
[jobs.empty]
command = "make"
auto_retry_for = []
"#;
    insta::assert_snapshot!(told(text), @"
    2:16 `max_attempts` must be a whole number from 1 to 1000000, not 1000001
    5:16 `max_attempts`: 0 makes a job that can never run
        hint: it counts every attempt, the first included: 1 means no retry
    9:16 `max_attempts = 3` contradicts `retryable = false`, which means exactly one attempt
        forbids retries: line 8
        hint: drop one of the two
    10:18 `auto_retry_for` contradicts `retryable = false`, under which nothing is retried
        forbids retries: line 8
        hint: drop one of the two
    13:16 `max_attempts = 5`, but the delays of `backoff` ask for 3 attempts
        the delays: line 14
        hint: leave it out, or write `max_attempts = 3`, or set `repeat_last = true`
    17:16 `max_attempts = 2`, but the delays of `backoff` ask for 3 attempts
        the delays: line 18
        hint: leave it out, or write `max_attempts = 3`
    21:18 `auto_retry_for` is empty, so nothing would be retried
        hint: leave it out to retry every failure, or write `retryable = false`
    ");
}

#[test]
fn more_runs_than_the_list_of_the_defaults() {
    let text = r#"
[defaults]
backoff = ["1s", "2s"]
[jobs.a]
command = "make"
max_attempts = 5
[jobs.b]
command = "make"
max_attempts = 5
backoff = 3
"#;
    insta::assert_snapshot!(told(text), @r##"
    5:16 `max_attempts = 5`, but the delays in [defaults] are enough for 3 attempts
        the delays: line 2
        hint: list more delays, or set `repeat_last = true` there, or give this job its own `backoff`
    9:11 `backoff` must be a duration with a unit, such as "30s", not 3
        hint: write "3s" for seconds, "3m" for minutes or "3ms" for milliseconds
    "##);
}

#[test]
fn strategies_and_their_keys() {
    let text = r#"
[jobs.a.backoff]
strategy = "fixed"
delay = 30
[jobs.a]
command = "make"
[jobs.b]
command = "make"
backoff = { strategy = "exponantial" }
[jobs.c]
command = "make"
backoff = { delay = "5s" }
[jobs.d]
command = "make"
backoff = { strategy = "list", delays = ["1s"], max = "5s" }
[jobs.e]
command = "make"
backoff = { strategy = "list" }
"#;
    insta::assert_snapshot!(told(text), @r##"
    2:12 `strategy` must be one of exponential, linear, constant, list, not "fixed"
        hint: write "constant" for the same delay each time, or "list" for given delays
    3:9 `delay` must be a duration with a unit, such as "30s", not 30
        hint: write "30s" for seconds, "30m" for minutes or "30ms" for milliseconds
    8:24 `strategy` must be one of exponential, linear, constant, list, not "exponantial"
        hint: did you mean "exponential"?
    11:13 the strategy "exponential", the default strategy, has no `delay`
        hint: write strategy = "linear" or "constant", which has `delay`
    14:49 the strategy "list" has no `max`
        hint: write strategy = "exponential" or "linear", which has `max`
    17:11 the strategy "list" needs its `delays`
        hint: write delays = ["5s", "1m"]
    "##);
}

#[test]
fn a_max_below_the_first_delay() {
    let text = r#"
[jobs.a]
command = "make"
backoff = { initial = "10s", max = "5s" }
[jobs.b]
command = "make"
backoff = { initial = "2h" }
[jobs.c]
command = "make"
backoff = { strategy = "linear", max = "5s" }
[jobs.d]
command = "make"
backoff = { initial = 10, max = "500ms" }
"#;
    insta::assert_snapshot!(told(text), @r##"
    3:36 `max` is 5s, below `initial`, which is 10s
        hint: give a `max` of at least "10s", or lower `initial` to "5s"
    6:23 `max` is 1h by default, below `initial`, which is 2h
        hint: give a `max` of at least "2h", or lower `initial` to "1h"
    9:40 `max` is 5s, below `delay`, which is 1m by default
        hint: give a `max` of at least "1m", or lower `delay` to "5s"
    12:23 `initial` must be a duration with a unit, such as "30s", not 10
        hint: write "10s" for seconds, "10m" for minutes or "10ms" for milliseconds
    "##);
}

#[test]
fn multipliers_and_jitter() {
    let text = r#"
[jobs.a]
command = "make"
backoff = { multiplier = nan, jitter = 5 }
[jobs.b]
command = "make"
backoff = { multiplier = 0.5, jitter = "-1s" }
"#;
    insta::assert_snapshot!(told(text), @r##"
    3:26 `multiplier` must be a number from 1 to 1000, not nan
    3:40 `jitter` must be true, false, a fraction of the delay from 0 to 1, or a duration such as "100ms", not 5
    6:26 `multiplier` must be a number from 1 to 1000, not 0.5
    6:40 `jitter`: "-1s" is not a duration; write a number with a unit, such as "30s" or "1h 30m"
    "##);
}

#[test]
fn short_forms() {
    let text = r#"
[jobs.a]
command = "make"
backoff = "exponential:2s:3:5m"
[jobs.b]
command = "make"
backoff = 30
[jobs.c]
command = "make"
backoff = true
[jobs.d]
command = "make"
backoff = []
[jobs.e]
command = "make"
backoff = ["5s", 60]
"#;
    insta::assert_snapshot!(told(text), @r##"
    3:11 `backoff`: "exponential:2s:3:5m" is not a duration; write a number with a unit, such as "30s" or "1h 30m"
        hint: a string is a constant delay; other strategies need an array of delays, or a table such as { strategy = "linear", delay = "1m" }
    6:11 `backoff` must be a duration with a unit, such as "30s", not 30
        hint: write "30s" for seconds, "30m" for minutes or "30ms" for milliseconds
    9:11 `backoff` must be a table with a strategy, a delay ("30s") or an array of delays (["5s", "1m"]), not true
    12:11 `backoff`: a list of delays needs at least one
        hint: for a single attempt write `max_attempts = 1`
    15:18 an entry of `backoff` must be a duration with a unit, such as "30s", not 60
        hint: write "60s" for seconds, "60m" for minutes or "60ms" for milliseconds
    "##);
}
