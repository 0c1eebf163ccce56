//! What is suggested, and what is not for want of a good guess.

use super::drawn;

/// The hints and messages of `text`, one a line.
fn hints(text: &str) -> String {
    let drawn = drawn(text);
    let told = drawn.lines().filter(|line| line.starts_with("error: ") || line.contains(" = hint: "));
    told.map(|line| line.trim().trim_start_matches("= ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn codes_of_runner_in_another_spelling() {
    let text = r#"
[jobs.a]
command = "make"
auto_retry_for = ["EXIT_01", "EXIT_022", "SIGNAL_SIGKILL", "SIGTERM", "SIGNAL_9", "SIGNAL_KIL", "SIGNAL_FOO", "EXIT_CODE"]
exit_codes = { 22 = "HTTP_ERROR" }
"#;
    insta::assert_snapshot!(hints(text), @r##"
    error: `EXIT_01` cannot occur in the job `a`
    hint: write "EXIT_1"
    error: `EXIT_022` cannot occur in the job `a`
    hint: here that ending is called HTTP_ERROR
    error: `SIGNAL_SIGKILL` cannot occur in the job `a`
    hint: write "SIGNAL_KILL"
    error: `SIGTERM` cannot occur in the job `a`
    hint: write "SIGNAL_TERM"
    error: `SIGNAL_9` cannot occur in the job `a`
    hint: write "SIGNAL_KILL"
    error: `SIGNAL_KIL` cannot occur in the job `a`
    hint: did you mean "SIGNAL_KILL"?
    error: `SIGNAL_FOO` cannot occur in the job `a`
    hint: map an exit status to it in `exit_codes`, or declare it in `reports`
    error: `EXIT_CODE` cannot occur in the job `a`
    hint: map an exit status to it in `exit_codes`, or declare it in `reports`
    "##);
}

#[test]
fn signals_are_not_guessed_at() {
    let text = r#"
[jobs.a]
command = "make"
[jobs.a.exit_codes]
SIGFOO = "A"
SIGNAL_KILL = "B"
SIGNAL_TREM = "C"
SIGKIL = "D"
SIGO = "E"
"#;
    insta::assert_snapshot!(hints(text), @r##"
    error: "SIGFOO" is not a signal; write a name such as "SIGKILL"
    error: "SIGNAL_KILL" is not a signal; write a name such as "SIGKILL"
    hint: write SIGKILL
    error: "SIGNAL_TREM" is not a signal; write a name such as "SIGKILL"
    hint: did you mean SIGTERM?
    error: "SIGKIL" is not a signal; write a name such as "SIGKILL"
    hint: did you mean SIGKILL?
    error: "SIGO" is not a signal; write a name such as "SIGKILL"
    "##);
}

#[test]
fn families_are_no_codes() {
    let text = r#"
[jobs.a]
command = "make"
reports = ["A_*"]
auto_retry_for = ["A_B"]
"#;
    insta::assert_snapshot!(hints(text), @r##"
    error: an entry of `reports`: "A_*" is a family of codes; here stands a single code, such as "HTTP_ERROR"
    "##);
}

#[test]
fn backoff_as_the_command_line_spells_it() {
    let text = r#"
[defaults]
backoff = "exponential:2s"
[jobs.a]
command = "make"
backoff = "exponential:2s:3:5m"
[jobs.b]
command = "make"
backoff = "linear:1m:1h"
[jobs.c]
command = "make"
backoff = "5s,1m"
[jobs.d]
command = "make"
backoff = "exponential:"
[jobs.e]
command = "make"
backoff = "fibonacci:1s"
"#;
    insta::assert_snapshot!(hints(text), @r##"
    error: `backoff`: this is how the option of `enqueue` is written; here a string is a constant delay
    hint: write backoff = { strategy = "exponential", initial = "2s" }
    error: `backoff`: this is how the option of `enqueue` is written; here a string is a constant delay
    hint: write backoff = { strategy = "exponential", initial = "2s", multiplier = 3, max = "5m" }
    error: `backoff`: this is how the option of `enqueue` is written; here a string is a constant delay
    hint: write backoff = { strategy = "linear", delay = "1m", max = "1h" }
    error: `backoff`: this is how the option of `enqueue` is written; here a string is a constant delay
    hint: write backoff = ["5s", "1m"]
    error: `backoff`: this is how the option of `enqueue` is written; here a string is a constant delay
    hint: write backoff = { strategy = "exponential" }
    error: `backoff`: "fibonacci:1s" is not a duration; write a number with a unit, such as "30s" or "1h 30m"
    "##);
}
