//! The job file: where it is found, what it means, and how its mistakes are told.

use serde_json::Value;

use crate::support::{Sandbox, assert_fields, assert_screen, json};

const ONE: &str = "[jobs.one]\ncommand = 'echo one >> log'\n";

fn only(name: &str) -> String {
    format!("[jobs.{name}]\ncommand = 'true'\n")
}

#[test]
fn the_nearest_file_upwards_is_found() {
    let sandbox = Sandbox::new(ONE);
    sandbox.write("a/b/file", "");
    sandbox.call("enqueue one").dir(sandbox.path("a/b")).run().ok();
    sandbox.write("a/jobs.toml", only("nearer"));
    sandbox.call("enqueue nearer").dir(sandbox.path("a/b")).run().ok();
    sandbox.call("enqueue one").dir(sandbox.path("a/b")).run().exits(66);
    sandbox.drain();
    assert_eq!(sandbox.read("log"), "one\n", "it runs where the file lies");
}

#[test]
fn option_variable_and_config_directory() {
    let sandbox = Sandbox::empty();
    for name in ["option", "variable", "near", "config"] {
        sandbox.write(&format!("{name}.toml"), only(name));
    }
    sandbox.write("config/runner/jobs.toml", only("config"));
    let enqueue = |name: &str, option: &str, variable: &str| {
        let call =
            sandbox.call(&format!("enqueue {name} {option}")).env("XDG_CONFIG_HOME", sandbox.path("config"));
        call.env("RUNNER_FILE", variable).run()
    };
    sandbox.write(".config/runner/jobs.toml", only("home"));
    sandbox.run("enqueue home").ok();
    enqueue("config", "", "").ok();
    sandbox.write("jobs.toml", only("near"));
    enqueue("near", "", "").ok();
    enqueue("variable", "", "variable.toml").ok();
    enqueue("option", "--file option.toml", "variable.toml").ok();
    enqueue("option", "--file missing.toml", "").exits(66).says("missing.toml");
}

#[test]
fn without_any_file_the_answer_says_what_to_do() {
    let sandbox = Sandbox::empty();
    // A relative directory of configuration is ignored.
    let call = sandbox.call("enqueue one").env("RUNNER_FILE", "").env("XDG_CONFIG_HOME", "relative");
    let (here, home) = (sandbox.dir().display(), sandbox.path(".config/runner/jobs.toml"));
    let ran =
        call.run().exits(66).says(&format!("looked for jobs.toml in {here} and every directory above it"));
    ran.says(&format!("and for {}", home.display()));
    sandbox.run("check").exits(66);
}

#[test]
fn init_writes_a_file_that_holds_and_never_overwrites() {
    let sandbox = Sandbox::empty();
    sandbox.run("init").ok();
    sandbox.run("check").ok();
    sandbox.run("enqueue --all").ok();
    sandbox.write("jobs.toml", ONE);
    sandbox.run("init").exits(73).says("jobs.toml");
    assert_eq!(sandbox.read("jobs.toml"), ONE);
}

#[test]
fn a_list_of_allowed_keys_is_shown_once() {
    let job = |name: &str| format!("[jobs.{name}]\ncommand = \"true\"\nzzzzzz = 3\n");
    let sandbox = Sandbox::new(&["a", "b", "c"].map(job).concat());
    let said = sandbox.run("check").exits(65).prints("").stderr;
    let counts = ["= allowed: command, ", "= allowed: as above"].map(|note| said.matches(note).count());
    assert_eq!(counts, [1, 2], "{said}");
}

#[test]
fn all_mistakes_are_told_in_one_run() {
    let sandbox = Sandbox::new(
        r#"
[queues.net]
max_runing = 3
[jobs.two]
command = "true"
timeout = 30
max_attempts = 0
[jobs.three]
command = "true"
env = 3
"#,
    );
    let ran = sandbox.run("check").exits(65).prints("");
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @r##"
        runner: the job file cannot be used

        error: there is no key `max_runing` in a queue
         --> [DIR]/jobs.toml:3:1
          |
        3 | max_runing = 3
          | ^^^^^^^^^^
          |
          = hint: did you mean `max_running`?
          = allowed: max_running, rate

        error: `timeout` must be a duration with a unit, such as "30s", not 30
         --> [DIR]/jobs.toml:6:11
          |
        6 | timeout = 30
          |           ^^
          |
          = hint: write "30s" for seconds, "30m" for minutes or "30ms" for milliseconds

        error: `max_attempts`: 0 makes a job that can never run
         --> [DIR]/jobs.toml:7:16
          |
        7 | max_attempts = 0
          |                ^
          |
          = hint: it counts every attempt, the first included: 1 means no retry

        error: `env` must be a table of strings, such as { LANG = "C" }, not 3
          --> [DIR]/jobs.toml:10:7
           |
        10 | env = 3
           |       ^

        [DIR]/jobs.toml: 4 mistakes
        "##);
    });
    let ran = sandbox.run("enqueue two").exits(65).prints("");
    assert_eq!(ran.stderr, sandbox.run("check").stderr, "{ran}");
}

#[test]
fn a_file_that_is_not_toml_is_told_by_its_syntax_errors_alone() {
    let sandbox = Sandbox::new("[jobs.a\n[jobs.b]\ncommand = true\ntimeout = 30\nretries = 3s\n");
    let ran = sandbox.run("check").exits(65).says("jobs.toml:1:8").says("jobs.toml:5:11").says("2 mistakes");
    assert!(!ran.stderr.contains("timeout"), "{ran}");
}

#[test]
fn levels_are_laid_over_each_other() {
    let sandbox = Sandbox::new(
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
    let job = sandbox.run("enqueue job --json").ok().json();
    assert_eq!((&job["queue"], &job["max_attempts"]), (&json!("common"), &json!(2)));
    sandbox.drain();
    assert_eq!(sandbox.log(), ["default job"]);
}

#[test]
fn a_string_goes_to_the_shell_and_an_array_does_not() {
    let sandbox = Sandbox::new(
        "[jobs.shell]\ncommand = 'echo a; echo $0'\n[jobs.array]\ncommand = ['echo', 'a; echo $0']\n",
    );
    sandbox.run("enqueue shell array").ok();
    sandbox.drain();
    assert!(sandbox.run("logs 1").ok().stdout.starts_with("a\n"));
    sandbox.run("logs 2").ok().prints("a; echo $0\n");
}

#[test]
fn cwd_is_relative_to_the_file() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'pwd'\ncwd = 'sub'\n");
    sandbox.write("sub/file", "");
    sandbox.write("elsewhere/file", "");
    sandbox.call("enqueue job").dir(sandbox.path("elsewhere")).run().ok();
    sandbox.drain();
    sandbox.run("logs 1").ok().prints(&format!("{}\n", sandbox.path("sub").display()));
}

#[test]
fn a_queued_job_does_not_change_with_the_file() {
    let sandbox =
        Sandbox::new("[jobs.job]\ncommand = 'echo old >> log; exit 1'\nmax_attempts = 2\nbackoff = '1ms'\n");
    sandbox.add("job");
    sandbox.write("jobs.toml", "[jobs.job]\ncommand = 'echo new >> log'\n");
    sandbox.drain();
    std::fs::remove_file(sandbox.path("jobs.toml")).expect("the file goes");
    sandbox.run("retry 1").ok();
    sandbox.drain();
    assert_eq!(sandbox.log(), ["old"; 4]);
}

#[test]
fn check_shows_the_policy_and_the_waits() {
    let sandbox = Sandbox::new(
        r#"
[jobs.push]
command = "true"
max_attempts = 4
backoff = { strategy = "exponential", initial = "2s", max = "5s", jitter = false }
"#,
    );
    let ran = sandbox.run("check").ok().quietly();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        [DIR]/jobs.toml: 1 job, no mistakes

        push
          command  true
          queue  default, priority 0
          limits  no timeout, grace 10s
          retries  4 attempts, exponential from 2s, ×2, at most 5s
          after attempt  delay  from  to
          1  2s  2s  2s
          2  4s  4s  4s
          3  5s  5s  5s
        ");
    });
    let checked = sandbox.run("check --json").ok().json();
    assert_eq!(checked["name"], "push");
    let nominal: Vec<_> =
        checked["delays"].as_array().expect("delays").iter().map(|d| d["nominal_ms"].clone()).collect();
    assert_eq!(nominal, [2_000, 4_000, 5_000]);
    sandbox.write("elsewhere.toml", only("other"));
    assert_eq!(sandbox.run("check elsewhere.toml --json").ok().json()["name"], "other");
}

#[test]
fn check_shows_everything_that_is_no_default() {
    let sandbox = Sandbox::new(
        r#"
default_error_code = "FAILED"
[jobs.push]
command = ["./push", "all"]
description = "Push the metrics"
cwd = "/srv"
env = { URL = "https://example", TOKEN = "hunter2" }
queue = "net"
priority = 7
timeout = "30s"
expires_in = "1h"
output_limit = "1MiB"
success_exit_codes = [0, 3]
exit_codes = { 22 = "HTTP_ERROR", "30-39" = "LATER", SIGKILL = "KILLED" }
unique_key = "push"
retryable = false
"#,
    );
    let ran = sandbox.run("check").says("push cannot start here: no such program: ./push").ok();
    assert!(!ran.stdout.contains("hunter2"), "{ran}");
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @r"
        [DIR]/jobs.toml: 1 job, no mistakes

        push - Push the metrics
          command  ./push all
          queue  net, priority 7
          limits  timeout 30s, grace 10s, expires in [DURATION], 1 MiB of each stream kept
          cwd  /srv
          env  TOKEN, URL
          unique  push
          success  exit status 0, 3
          codes  22 HTTP_ERROR, 30-39 LATER, SIGKILL KILLED, else FAILED
          retries  none: retryable = false, exactly one attempt
        ");
    });
    let checked = sandbox.run("check --json").says("cannot start here: no such program").ok().json();
    assert_fields(
        &checked,
        &json!({"cwd": "/srv", "env": ["TOKEN", "URL"], "unique_key": "push", "success_exit_codes": [0, 3]}),
    );
}

#[test]
fn check_shows_every_key() {
    let sandbox = Sandbox::new("");
    let schema: Value = serde_json::from_str(&sandbox.run("schema").ok().stdout).unwrap();
    let keys = schema["definitions"]["job"]["properties"].as_object().expect("keys").keys();
    let job = |name: &str, lines: &str| {
        let command = if name == "command" { "" } else { "command = 'true'\n" };
        let of_schedule =
            ["timezone", "missed", "missed_within", "fresh_within", "random_delay", "scheduled"];
        let is_of_schedule = of_schedule.contains(&name);
        let schedule = if is_of_schedule { "schedule = '0 2 * * *'\n" } else { "" };
        (is_of_schedule, format!("[jobs.{name}]\n{command}{schedule}{lines}\n"))
    };
    let mut file = ["alert", "extract", "load", "plain", "scheduled"].map(|name| job(name, "").1).concat();
    for key in keys.clone() {
        let example = schema["definitions"][key]["examples"][0].to_string().replace("\":", "\" = ");
        file += &job(key, &format!("{key} = {example}")).1;
    }
    sandbox.write("jobs.toml", file);
    let checked = sandbox.run("check").exits(0).stdout;
    let shown = |name: &str| {
        let of_job = |shown: &&str| shown.split([' ', '\n']).next() == Some(name);
        let shown = checked.split("\n\n").find(of_job).unwrap_or_else(|| panic!("{name}: {checked}"));
        shown.trim_end()[name.len()..].to_owned()
    };
    for key in keys {
        let without = if job(key, "").0 { "scheduled" } else { "plain" };
        assert_ne!(shown(key), shown(without), "check does not show {key}");
    }
}

#[test]
fn the_example_file_holds() {
    let sandbox = Sandbox::new(include_str!("../jobs.example.toml"));
    // This machine may lack one of its programs.
    sandbox.run("check").exits(0);
    sandbox.run("enqueue --all --dry-run").ok();
}

#[test]
fn a_file_without_jobs_enqueues_nothing() {
    let sandbox = Sandbox::new("");
    sandbox.run("enqueue --all").exits(65);
    sandbox.run("enqueue any").exits(66);
}

/// A file with so many jobs; each runs after the one before it, unless its number is a multiple of `depth`.
fn chains(jobs: usize, depth: usize) -> String {
    let after = |job: usize| match job % depth {
        0 => String::new(),
        _ => format!("after = ['j{}']\n", job - 1),
    };
    let tables = (0..jobs).map(|job| format!("[jobs.j{job}]\ncommand = 'true'\n{}", after(job)));
    tables.collect::<Vec<_>>().concat()
}

#[test]
fn a_file_that_is_larger_than_any_that_works_says_so() {
    let sandbox = Sandbox::new(&chains(1_000, 1_000));
    sandbox.run("check -q").ok();
    sandbox.run("enqueue --dry-run -q j999").ok();
    for (jobs, depth, said) in [
        (1_001, usize::MAX, ":3002:10\n"),
        (1_001, usize::MAX, "this chain is 1001 jobs deep; a chain is at most 1000 deep"),
        // All these are one mistake.
        (20_000, usize::MAX, ": 1 mistake\n"),
        (20_001, 2, "this file has 20001 jobs; a file has at most 20000"),
        (30_000, usize::MAX, ": 1 mistake\n"),
    ] {
        sandbox.write("jobs.toml", chains(jobs, depth));
        for line in ["check", "enqueue j0"] {
            sandbox.run(line).exits(65).prints("").says(said);
        }
    }
    // A circle has no depth.
    let circle = chains(3_000, usize::MAX).replacen("[jobs.j1]", "after = ['j2999']\n[jobs.j1]", 1);
    sandbox.write("jobs.toml", circle);
    let ran = sandbox.run("check").exits(65).says("a job would wait for itself").says(": 1 mistake\n");
    assert!(ran.stderr.len() < 2_000, "{ran}");
    sandbox.write("jobs.toml", "#".repeat((16 << 20) + 1));
    sandbox.run("check").exits(65).prints("").says("is larger than 16 MiB");
    sandbox.write("jobs.toml", "# \n".repeat(5 << 10));
    sandbox.run("check").ok();
}

#[test]
fn of_very_many_mistakes_the_first_are_shown() {
    let sandbox = Sandbox::new(&"a b\n".repeat(20_000));
    let ran = sandbox.run("check").exits(65).says(": 20000 mistakes, of which 20 are shown");
    assert_eq!(ran.stderr.matches("this is not TOML").count(), 20);
    sandbox.write("jobs.toml", chains(2_500, 2).replace("command", "zzz = 1\ncommand"));
    let ran = sandbox.run("check").exits(65).says(": 2500 mistakes, of which 2000 are shown");
    assert_eq!(ran.stderr.matches("there is no key `zzz`").count(), 2_000);
    let error = sandbox.run("check --json").exits(65).stderr;
    let error: serde_json::Value = serde_json::from_str(&error).expect("an object");
    let placed =
        |index: usize| (error["mistakes"][index]["line"].clone(), error["mistakes"][index]["column"].clone());
    assert_eq!((placed(0), placed(2)), ((json!(2), json!(1)), (json!(9), json!(1))));
}

#[test]
fn from_a_folder_that_is_gone_whatever_has_absolute_paths_works() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'pwd >> log'\n");
    let dir = sandbox.dir().display().to_string();
    let call = |line: &str| {
        let shell = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\"";
        let mut call = sandbox.program("sh").arg("-c").arg(shell).arg(env!("CARGO_BIN_EXE_runner"));
        for word in line.split(' ') {
            call = call.arg(word.replace("DIR", &dir));
        }
        call.run()
    };
    for line in [
        "enqueue --file DIR/jobs.toml job",
        "run -q --cwd DIR -- sh -c pwd>>log",
        "check --file DIR/jobs.toml",
    ] {
        call(line).exits(0);
    }
    for line in ["enqueue job", "run -q -- true", "enqueue --file jobs.toml job"] {
        call(line).exits(74).says("could not find the current directory");
    }
    sandbox.drain();
    assert_eq!(sandbox.log(), [dir.clone(), dir]);
}
