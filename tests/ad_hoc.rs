//! `runner enqueue -- CMD` and `runner enqueue -c 'LINE'`: jobs that no file declares.

use crate::support::{Sandbox, assert_fields, json};

#[test]
fn a_command_runs_without_a_shell_and_a_line_in_the_shell() {
    let sandbox = Sandbox::empty();
    sandbox.call("enqueue -- printf %s|").arg("$HOME; *").run().ok();
    let call = sandbox.call("enqueue -c").arg("printf '%s|' \"$#\" \"$1\" \"$2\"");
    call.arg("--").arg("a b").arg("").run().ok();
    sandbox.drain();
    sandbox.run("logs 1").ok().prints("$HOME; *|");
    assert_fields(&sandbox.job(1), &json!({"name": "printf", "command": ["printf", "%s|", "$HOME; *"]}));
    sandbox.run("logs 2").ok().prints("2|a b||");
    assert_eq!(sandbox.job(2)["args"], json!(["a b", ""]));
}

#[test]
fn an_ad_hoc_job_runs_once_in_the_directory_of_the_caller() {
    let sandbox = Sandbox::empty();
    sandbox.write("deep/file", "");
    sandbox.call("enqueue -c").arg("echo ran >> ran; exit 1").dir(sandbox.path("deep")).run().ok();
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.read("deep/ran"), "ran\n");
    assert_fields(&sandbox.job(1), &json!({"max_attempts": 1, "dead_reason": "attempts_exhausted"}));
}

#[test]
fn an_ad_hoc_job_may_be_named() {
    let sandbox = Sandbox::empty();
    assert_eq!(sandbox.run("enqueue --name dump --json -- true").ok().json()["name"], "dump");
    sandbox.run("enqueue --name a/b -- true").exits(2);
    sandbox.write("jobs.toml", "[jobs.declared]\ncommand = 'true'\n");
    sandbox.run("enqueue declared --name other").exits(2);
}

#[test]
fn an_option_of_the_retry_policy_makes_an_ad_hoc_job_retried_as_in_a_file() {
    let sandbox = Sandbox::empty();
    let runs =
        |options: &str| sandbox.finish(&format!("--backoff 1ms {options} -- false"))["attempts"].clone();
    assert_eq!(runs(""), 3);
    assert_eq!(runs("--max-attempts 2"), 2);
    assert_eq!(runs("--never-retry-for EXIT_1"), 1);
    assert_eq!(sandbox.finish("--backoff 1ms,1ms,1ms -- false")["attempts"], 4);
    let planned = |options: &str| sandbox.run(&format!("enqueue --json {options} -- true")).ok().json();
    for options in [
        "--retryable true",
        "--jitter false",
        "--auto-retry-for TIMEOUT",
        "--never-retry-for EXIT_2",
        "--backoff exponential",
        "--backoff constant",
    ] {
        assert_fields(&planned(options), &json!({"retryable": true, "max_attempts": 3}));
    }
    for options in ["", "--timeout 1h", "--max-attempts 1 --jitter false"] {
        assert_fields(&planned(options), &json!({"retryable": true, "max_attempts": 1}));
    }
    let job = sandbox.finish("--retryable false --jitter false -- false");
    assert_fields(&job, &json!({"retryable": false, "max_attempts": 1, "dead_reason": "not_retryable"}));
    let lines = "{\"command\": \"false\", \"jitter\": 0.1}\n{\"command\": \"false\"}\n";
    let batch = sandbox.call("enqueue --json --batch -").stdin(lines).run().ok().json_lines();
    assert_eq!([&batch[0]["max_attempts"], &batch[1]["max_attempts"]], [3, 1]);
}

#[test]
fn an_ad_hoc_job_needs_no_job_file_and_reads_none() {
    let sandbox = Sandbox::new("this is not a job file");
    assert_eq!(sandbox.finish("-- true")["state"], "succeeded");
}

#[test]
fn an_empty_command_is_a_usage_error() {
    let sandbox = Sandbox::empty();
    sandbox.call("enqueue --").arg("").run().exits(2);
    sandbox.call("enqueue -c").arg(" ").run().exits(2);
    sandbox.call("enqueue -c").arg("true").arg("declared").run().exits(2);
    assert!(!sandbox.db().exists());
}
