//! The job file: where it is found, what it means, and how its mistakes are told.

use crate::support::{Bed, assert_screen, json};

const ONE: &str = "[jobs.one]\ncommand = 'echo one >> log'\n";

fn only(name: &str) -> String {
    format!("[jobs.{name}]\ncommand = 'true'\n")
}

#[test]
fn the_nearest_file_upwards_is_found() {
    let bed = Bed::new(ONE);
    bed.write("a/b/file", "");
    bed.call("enqueue one").dir(bed.path("a/b")).run().ok();
    bed.write("a/jobs.toml", only("nearer"));
    bed.call("enqueue nearer").dir(bed.path("a/b")).run().ok();
    bed.call("enqueue one").dir(bed.path("a/b")).run().exits(66);
    bed.drain();
    assert_eq!(bed.read("log"), "one\n", "it runs where the file lies");
}

#[test]
fn option_variable_and_config_directory() {
    let bed = Bed::bare();
    for name in ["option", "variable", "near", "config"] {
        bed.write(&format!("{name}.toml"), only(name));
    }
    bed.write("config/runner/jobs.toml", only("config"));
    let enqueue = |name: &str, option: &str, variable: &str| {
        let call = bed.call(&format!("enqueue {name} {option}")).env("XDG_CONFIG_HOME", bed.path("config"));
        call.env("RUNNER_FILE", variable).run()
    };
    enqueue("config", "", "").ok();
    bed.write("jobs.toml", only("near"));
    enqueue("near", "", "").ok();
    enqueue("variable", "", "variable.toml").ok();
    enqueue("option", "--file option.toml", "variable.toml").ok();
    enqueue("option", "--file missing.toml", "").exits(66).says("missing.toml");
}

#[test]
fn without_any_file_the_answer_says_what_to_do() {
    let bed = Bed::bare();
    bed.run("enqueue one").exits(66).says("jobs.toml");
    bed.run("check").exits(66);
}

#[test]
fn init_writes_a_file_that_holds_and_never_overwrites() {
    let bed = Bed::bare();
    bed.run("init").ok();
    bed.run("check").ok();
    bed.run("enqueue --all").ok();
    bed.write("jobs.toml", ONE);
    bed.run("init").exits(73).says("jobs.toml");
    assert_eq!(bed.read("jobs.toml"), ONE);
}

#[test]
fn all_mistakes_are_told_in_one_run() {
    let bed = Bed::new(
        r#"
[jobs.one]
comand = "true"
[jobs.two]
command = "true"
timeout = 30
max_attempts = 0
[jobs.three]
command = "true"
retries = 3
"#,
    );
    let ran = bed.run("check").exits(65).prints("");
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stderr, @r#"
        runner: the job file cannot be used

        error: there is no key `comand` in a job
         --> [DIR]/jobs.toml:3:1
          |
        3 | comand = "true"
          | ^^^^^^
          = hint: did you mean `command`?
          = allowed: command, description, unique_key, reports, exit_codes, default_error_code, cwd, env, queue,
            priority, timeout, grace_period, expires_in, success_exit_codes, retryable, max_attempts, backoff,
            auto_retry_for, never_retry_for, output_limit

        error: `timeout` must be a duration with a unit, such as "30s", not 30
         --> [DIR]/jobs.toml:6:11
          |
        6 | timeout = 30
          |           ^^
          = hint: write "30s" for seconds, "30m" for minutes or "30ms" for milliseconds

        error: `max_attempts`: 0 makes a job that can never run
         --> [DIR]/jobs.toml:7:16
          |
        7 | max_attempts = 0
          |                ^
          = hint: it counts every run, the first included: 1 means no retry

        error: there is no key `retries` in a job
          --> [DIR]/jobs.toml:10:1
           |
        10 | retries = 3
           | ^^^^^^^
           = hint: write `max_attempts = 4`: it counts every run, the first included

        [DIR]/jobs.toml: 4 mistakes
        "#);
    });
    let ran = bed.run("enqueue two").exits(65).prints("");
    assert_eq!(ran.stderr, bed.run("check").stderr, "{ran}");
}

#[test]
fn levels_are_laid_over_each_other() {
    let bed = Bed::new(
        r#"
[defaults]
queue = "common"
max_attempts = 9
env = { A = "default", B = "default" }
[jobs.job]
command = "echo $A $B >> log"
env = { B = "job" }
max_attempts = 2
"#,
    );
    let job = bed.run("enqueue job --json").ok().json();
    assert_eq!((&job["queue"], &job["max_attempts"]), (&json!("common"), &json!(2)));
    bed.drain();
    assert_eq!(bed.log(), ["default job"]);
}

#[test]
fn a_string_goes_to_the_shell_and_an_array_does_not() {
    let bed = Bed::new(
        "[jobs.shell]\ncommand = 'echo a; echo $0'\n[jobs.array]\ncommand = ['echo', 'a; echo $0']\n",
    );
    bed.run("enqueue shell array").ok();
    bed.drain();
    assert!(bed.run("logs 1").ok().stdout.starts_with("a\n"));
    bed.run("logs 2").ok().prints("a; echo $0\n");
}

#[test]
fn cwd_is_relative_to_the_file() {
    let bed = Bed::new("[jobs.job]\ncommand = 'pwd'\ncwd = 'sub'\n");
    bed.write("sub/file", "");
    bed.write("elsewhere/file", "");
    bed.call("enqueue job").dir(bed.path("elsewhere")).run().ok();
    bed.drain();
    bed.run("logs 1").ok().prints(&format!("{}\n", bed.path("sub").display()));
}

#[test]
fn a_queued_job_does_not_change_with_the_file() {
    let bed =
        Bed::new("[jobs.job]\ncommand = 'echo old >> log; exit 1'\nmax_attempts = 2\nbackoff = '1ms'\n");
    bed.add("job");
    bed.write("jobs.toml", "[jobs.job]\ncommand = 'echo new >> log'\n");
    bed.drain();
    std::fs::remove_file(bed.path("jobs.toml")).expect("the file goes");
    bed.run("retry 1").ok();
    bed.drain();
    assert_eq!(bed.log(), ["old"; 4]);
}

#[test]
fn check_shows_the_policy_and_the_waits() {
    let bed = Bed::new(
        r#"
[jobs.push]
command = "true"
max_attempts = 4
backoff = { strategy = "exponential", initial = "2s", max = "5s", jitter = false }
"#,
    );
    let ran = bed.run("check").ok().quietly();
    assert_screen(&bed, || {
        insta::assert_snapshot!(ran.stdout, @r"
        [DIR]/jobs.toml: 1 job, no mistakes

        push
          command  true
          queue  default, priority 0
          limits  no timeout, grace 10s
          retries  4 runs, exponential from 2s, ×2, at most 5s
          after attempt  wait  from  to
          1  2s  2s  2s
          2  4s  4s  4s
          3  5s  5s  5s
        ");
    });
    let checked = bed.run("check --json").ok().json();
    assert_eq!(checked["name"], "push");
    let nominal: Vec<_> =
        checked["delays"].as_array().expect("delays").iter().map(|d| d["nominal_ms"].clone()).collect();
    assert_eq!(nominal, [2_000, 4_000, 5_000]);
    bed.write("elsewhere.toml", only("other"));
    assert_eq!(bed.run("check elsewhere.toml --json").ok().json()["name"], "other");
}

#[test]
fn the_example_file_holds() {
    let bed = Bed::new(include_str!("../jobs.example.toml"));
    bed.run("check").ok();
    bed.run("enqueue --all --dry-run").ok();
}

#[test]
fn a_file_without_jobs_enqueues_nothing() {
    let bed = Bed::new("");
    bed.run("enqueue --all").exits(65);
    bed.run("enqueue any").exits(66);
}
