//! `runner enqueue -- CMD` and `runner enqueue -c 'LINE'`: jobs that no file declares.

use crate::support::{Bed, json};

#[test]
fn a_command_after_the_dashes_runs_without_a_shell() {
    let bed = Bed::bare();
    let id = bed.call("enqueue -- printf %s|").arg("$HOME; *").run().ok().id();
    bed.drain();
    bed.run("logs 1").ok().prints("$HOME; *|");
    let job = bed.job(id);
    assert_eq!((&job["name"], &job["command"]), (&json!("printf"), &json!(["printf", "%s|", "$HOME; *"])));
}

#[test]
fn a_line_runs_in_the_shell_with_positional_arguments() {
    let bed = Bed::bare();
    let call = bed.call("enqueue -c").arg("printf '%s|' \"$#\" \"$1\" \"$2\"");
    let id = call.arg("--").arg("a b").arg("").run().ok().id();
    bed.drain();
    bed.run("logs 1").ok().prints("2|a b||");
    assert_eq!(bed.job(id)["args"], json!(["a b", ""]));
}

#[test]
fn it_runs_once_in_the_directory_of_the_caller() {
    let bed = Bed::bare();
    bed.write("deep/file", "");
    let id = bed.call("enqueue -c").arg("echo ran >> ran; exit 1").dir(bed.path("deep")).run().ok().id();
    bed.run("work --drain").exits(1);
    assert_eq!(bed.read("deep/ran"), "ran\n");
    let job = bed.job(id);
    assert_eq!((&job["max_attempts"], &job["dead_reason"]), (&json!(1), &json!("attempts_exhausted")));
}

#[test]
fn it_may_be_named() {
    let bed = Bed::bare();
    assert_eq!(bed.run("enqueue --name dump --json -- true").ok().json()["name"], "dump");
    bed.run("enqueue --name a/b -- true").exits(2);
    bed.write("jobs.toml", "[jobs.declared]\ncommand = 'true'\n");
    bed.run("enqueue declared --name other").exits(2);
}

#[test]
fn a_list_fixes_the_number_of_runs() {
    let bed = Bed::bare();
    let id = bed.add_line("--backoff 1ms,1ms", "echo ran >> log; exit 1");
    bed.drain();
    assert_eq!(bed.log().len(), 3);
    assert_eq!(bed.job(id)["max_attempts"], 3);
}

#[test]
fn any_other_backoff_needs_a_number_of_runs() {
    let bed = Bed::bare();
    for backoff in ["30s", "exponential:1s", "linear:1s"] {
        bed.run(&format!("enqueue --backoff {backoff} -- false")).exits(2).says("--max-attempts");
    }
    assert!(!bed.db().exists());
    bed.run("enqueue --backoff 1ms --max-attempts 2 -- false").ok();
    bed.drain();
    assert_eq!(bed.job(1)["attempts"], 2);
}

#[test]
fn retryable_false_holds_for_it_too() {
    let bed = Bed::bare();
    let id = bed.add("--retryable false -- false");
    bed.drain();
    let job = bed.job(id);
    assert_eq!((&job["retryable"], &job["dead_reason"]), (&json!(false), &json!("not_retryable")));
}

#[test]
fn it_needs_no_job_file_and_reads_none() {
    let bed = Bed::new("this is not a job file");
    bed.run("enqueue -- true").ok().prints("1\n");
    bed.drain();
    assert_eq!(bed.job(1)["state"], "succeeded");
}

#[test]
fn an_empty_command_is_a_usage_error() {
    let bed = Bed::bare();
    bed.call("enqueue --").arg("").run().exits(2);
    bed.call("enqueue -c").arg(" ").run().exits(2);
    bed.call("enqueue -c").arg("true").arg("declared").run().exits(2);
    assert!(!bed.db().exists());
}
