//! `runner enqueue -- CMD` and `runner enqueue -c 'LINE'`: jobs that no file declares.

use crate::support::{Sandbox, json};

#[test]
fn a_command_after_the_dashes_runs_without_a_shell() {
    let sandbox = Sandbox::empty();
    let id = sandbox.call("enqueue -- printf %s|").arg("$HOME; *").run().ok().id();
    sandbox.drain();
    sandbox.run("logs 1").ok().prints("$HOME; *|");
    let job = sandbox.job(id);
    assert_eq!((&job["name"], &job["command"]), (&json!("printf"), &json!(["printf", "%s|", "$HOME; *"])));
}

#[test]
fn a_line_runs_in_the_shell_with_positional_arguments() {
    let sandbox = Sandbox::empty();
    let call = sandbox.call("enqueue -c").arg("printf '%s|' \"$#\" \"$1\" \"$2\"");
    let id = call.arg("--").arg("a b").arg("").run().ok().id();
    sandbox.drain();
    sandbox.run("logs 1").ok().prints("2|a b||");
    assert_eq!(sandbox.job(id)["args"], json!(["a b", ""]));
}

#[test]
fn it_runs_once_in_the_directory_of_the_caller() {
    let sandbox = Sandbox::empty();
    sandbox.write("deep/file", "");
    let id =
        sandbox.call("enqueue -c").arg("echo ran >> ran; exit 1").dir(sandbox.path("deep")).run().ok().id();
    sandbox.run("work --drain").exits(1);
    assert_eq!(sandbox.read("deep/ran"), "ran\n");
    let job = sandbox.job(id);
    assert_eq!((&job["max_attempts"], &job["dead_reason"]), (&json!(1), &json!("attempts_exhausted")));
}

#[test]
fn it_may_be_named() {
    let sandbox = Sandbox::empty();
    assert_eq!(sandbox.run("enqueue --name dump --json -- true").ok().json()["name"], "dump");
    sandbox.run("enqueue --name a/b -- true").exits(2);
    sandbox.write("jobs.toml", "[jobs.declared]\ncommand = 'true'\n");
    sandbox.run("enqueue declared --name other").exits(2);
}

#[test]
fn a_list_fixes_the_number_of_runs() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add_line("--backoff 1ms,1ms", "echo ran >> log; exit 1");
    sandbox.drain();
    assert_eq!(sandbox.log().len(), 3);
    assert_eq!(sandbox.job(id)["max_attempts"], 3);
}

#[test]
fn any_other_backoff_needs_a_number_of_runs() {
    let sandbox = Sandbox::empty();
    for backoff in ["30s", "exponential:1s", "linear:1s"] {
        sandbox.run(&format!("enqueue --backoff {backoff} -- false")).exits(2).says("--max-attempts");
    }
    assert!(!sandbox.db().exists());
    sandbox.run("enqueue --backoff 1ms --max-attempts 2 -- false").ok();
    sandbox.drain();
    assert_eq!(sandbox.job(1)["attempts"], 2);
}

#[test]
fn retryable_false_holds_for_it_too() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add("--retryable false -- false");
    sandbox.drain();
    let job = sandbox.job(id);
    assert_eq!((&job["retryable"], &job["dead_reason"]), (&json!(false), &json!("not_retryable")));
}

#[test]
fn it_needs_no_job_file_and_reads_none() {
    let sandbox = Sandbox::new("this is not a job file");
    sandbox.run("enqueue -- true").ok().prints("1\n");
    sandbox.drain();
    assert_eq!(sandbox.job(1)["state"], "succeeded");
}

#[test]
fn an_empty_command_is_a_usage_error() {
    let sandbox = Sandbox::empty();
    sandbox.call("enqueue --").arg("").run().exits(2);
    sandbox.call("enqueue -c").arg(" ").run().exits(2);
    sandbox.call("enqueue -c").arg("true").arg("declared").run().exits(2);
    assert!(!sandbox.db().exists());
}
