//! Mistakes of `backoff`.

use super::drawn;

#[test]
fn strategies_of_other_systems() {
    let text = r#"
[jobs.a.backoff]
strategy = "fixed"
[jobs.a]
command = "make"
[jobs.b]
command = "make"
backoff = { strategy = "exponantial" }
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `strategy` must be one of exponential, linear, constant, list, not "fixed"
     --> /srv/jobs.toml:2:12
      |
    2 | strategy = "fixed"
      |            ^^^^^^^
      = hint: write "constant" for the same delay each time, or "list" for given ones

    error: `strategy` must be one of exponential, linear, constant, list, not "exponantial"
     --> /srv/jobs.toml:7:24
      |
    7 | backoff = { strategy = "exponantial" }
      |                        ^^^^^^^^^^^^^
      = hint: did you mean "exponential"?

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn keys_of_another_strategy() {
    let text = r#"
[jobs.a]
command = "make"
backoff = { delay = "5s" }
[jobs.b]
command = "make"
backoff = { strategy = "list", delays = ["1s"], max = "5s" }
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: the strategy "exponential", the default strategy, has no `delay`
     --> /srv/jobs.toml:3:13
      |
    3 | backoff = { delay = "5s" }
      |             ^^^^^
      = hint: its first delay is `initial`; or write strategy = "linear" or "constant", which has `delay`
      = allowed: strategy, initial, multiplier, max, jitter

    error: the strategy "list" has no `max`
     --> /srv/jobs.toml:6:49
      |
    6 | backoff = { strategy = "list", delays = ["1s"], max = "5s" }
      |                                                 ^^^
      = hint: write strategy = "exponential" or "linear", which has `max`
      = allowed: strategy, delays, repeat_last, jitter

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn keys_of_other_libraries() {
    let text = r#"
[defaults.backoff]
base = "1s"
max_delay = "5m"
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: there is no key `base` in `backoff`
     --> /srv/jobs.toml:2:1
      |
    2 | base = "1s"
      | ^^^^
      = hint: write `initial`
      = allowed: strategy, initial, multiplier, max, delay, delays, repeat_last, jitter

    error: there is no key `max_delay` in `backoff`
     --> /srv/jobs.toml:3:1
      |
    3 | max_delay = "5m"
      | ^^^^^^^^^
      = hint: write `max`

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn a_cap_below_the_first_delay() {
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
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `max` (5s) is below `initial` (10s)
     --> /srv/jobs.toml:3:36
      |
    3 | backoff = { initial = "10s", max = "5s" }
      |                                    ^^^^
      = hint: give a `max` of at least "10s"

    error: `initial` (2h) is above `max`, which is 1h by default
     --> /srv/jobs.toml:6:23
      |
    6 | backoff = { initial = "2h" }
      |                       ^^^^
      = hint: give `max` too, at least "2h"

    error: `max` (5s) is below `delay`, which is 1m by default
     --> /srv/jobs.toml:9:40
      |
    9 | backoff = { strategy = "linear", max = "5s" }
      |                                        ^^^^
      = hint: give `delay` too, at most "5s"

    /srv/jobs.toml: 3 mistakes
    "##);
}

#[test]
fn factors_and_jitter() {
    let text = r#"
[jobs.a]
command = "make"
backoff = { multiplier = nan, jitter = 5 }
[jobs.b]
command = "make"
backoff = { multiplier = 0.5, jitter = "-1s" }
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `multiplier` must be a number from 1 to 1000, not nan
     --> /srv/jobs.toml:3:26
      |
    3 | backoff = { multiplier = nan, jitter = 5 }
      |                          ^^^

    error: `jitter` must be true, false, a fraction of the delay from 0 to 1, or a duration such as "100ms", not 5
     --> /srv/jobs.toml:3:40
      |
    3 | backoff = { multiplier = nan, jitter = 5 }
      |                                        ^
      = hint: write "5s" for seconds; a quarter of the delay is 0.25

    error: `multiplier` must be a number from 1 to 1000, not 0.5
     --> /srv/jobs.toml:6:26
      |
    6 | backoff = { multiplier = 0.5, jitter = "-1s" }
      |                          ^^^

    error: `jitter`: "-1s" is not a duration; write a number with a unit, such as "30s" or "1h 30m"
     --> /srv/jobs.toml:6:40
      |
    6 | backoff = { multiplier = 0.5, jitter = "-1s" }
      |                                        ^^^^^

    /srv/jobs.toml: 4 mistakes
    "##);
}

#[test]
fn lists_of_delays() {
    let text = r#"
[jobs.a]
command = "make"
backoff = []
[jobs.b]
command = "make"
backoff = ["5s", 60]
[jobs.c]
command = "make"
backoff = { strategy = "list" }
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `backoff`: a list of delays needs at least one
     --> /srv/jobs.toml:3:11
      |
    3 | backoff = []
      |           ^^
      = hint: for a single run write `max_attempts = 1`

    error: an entry of `backoff` must be a duration with a unit, such as "30s", not 60
     --> /srv/jobs.toml:6:18
      |
    6 | backoff = ["5s", 60]
      |                  ^^
      = hint: write "60s" for seconds, "60m" for minutes or "60ms" for milliseconds

    error: the strategy "list" needs its `delays`
     --> /srv/jobs.toml:9:11
      |
    9 | backoff = { strategy = "list" }
      |           ^^^^^^^^^^^^^^^^^^^^^
      = hint: write delays = ["5s", "1m"]

    /srv/jobs.toml: 3 mistakes
    "##);
}

#[test]
fn short_forms() {
    let text = r#"
[jobs.a]
command = "make"
backoff = "exponential"
[jobs.b]
command = "make"
backoff = 30
[jobs.c]
command = "make"
backoff = true
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `backoff`: a string is a constant delay, such as "30s"
     --> /srv/jobs.toml:3:11
      |
    3 | backoff = "exponential"
      |           ^^^^^^^^^^^^^
      = hint: write a table with strategy = "exponential"

    error: `backoff` must be a duration with a unit, such as "30s", not 30
     --> /srv/jobs.toml:6:11
      |
    6 | backoff = 30
      |           ^^
      = hint: write "30s" for seconds, "30m" for minutes or "30ms" for milliseconds

    error: `backoff` must be a table with a strategy, a delay ("30s") or an array of delays (["5s", "1m"]), not true
     --> /srv/jobs.toml:9:11
      |
    9 | backoff = true
      |           ^^^^

    /srv/jobs.toml: 3 mistakes
    "##);
}
