//! Commands that cannot be started now: some are waited for, some are tried again, and some stay as they are.

use std::fs;
use std::process::Command;

use crate::support::{Background, Sandbox, Signal, assert_fields, json, wait_until};

/// A program that another process has open for writing until there is a file `written`.
fn program_being_written(sandbox: &Sandbox) -> Background {
    let copied = Command::new("cp").arg("/bin/true").arg(sandbox.path("tool")).status();
    assert!(copied.expect("cp").success());
    let line = "exec 7>> tool; echo > writes; until [ -e written ] || [ ! -e writes ]; do sleep 0.02; done";
    let writer = Background::start(sandbox, sandbox.program("sh").arg("-c").arg(line));
    wait_until("it writes", || sandbox.path("writes").exists());
    writer
}

fn run_of_tool(sandbox: &Sandbox, options: &str) -> Background {
    Background::start(sandbox, sandbox.call(&format!("run {options} -- ./tool")))
}

const WAITS: &str =
    "cannot start ./tool: Text file busy (os error 26): waits for the process that is writing it";

#[test]
fn a_program_that_is_being_written_is_waited_for() {
    for options in ["--max-attempts 1", "--retryable false"] {
        let sandbox = Sandbox::empty();
        let _writer = program_being_written(&sandbox);
        let mut run = run_of_tool(&sandbox, options);
        run.until_it_says(WAITS);
        sandbox.write("written", "");
        run.wait().says("waits for the process that is writing it").ok();
        let attempt = sandbox.attempts(1).remove(0);
        assert_fields(&attempt, &json!({"outcome": "succeeded", "number": 1, "message": null}));
        sandbox.run("doctor").ok();
    }
}

#[test]
fn one_that_is_being_written_for_long_is_a_failure_that_is_retried() {
    let sandbox = Sandbox::empty();
    let _writer = program_being_written(&sandbox);
    let last = sandbox.add("--max-attempts 1 -- ./tool");
    let retried = sandbox.add("--backoff 1ms -- ./tool");
    let _worker = sandbox.worker("-j2");
    let job = sandbox.until_state(last, "dead");
    assert_fields(&job, &json!({"dead_reason": "attempts_exhausted", "error_code": "SPAWN_FAILED"}));
    sandbox.run(&format!("wait {last}")).exits(126);
    wait_until("the other is tried again", || !sandbox.attempts(retried).is_empty());
    sandbox.write("written", "");
    let job = sandbox.until_state(retried, "succeeded");
    let first = &job["history"][0];
    let message = "cannot start ./tool: Text file busy (os error 26): another process has been writing it for 10 s, which may pass";
    let expected = json!({
        "outcome": "spawn_failed", "will_retry": true, "counted": true, "started_at": null, "message": message,
    });
    assert_fields(first, &expected);
    let decision = first["decision"].as_str().expect("a sentence");
    assert!(decision.starts_with("SPAWN_FAILED is retried: attempt 2 of 3"), "{decision}");
    sandbox.run("doctor").ok();
}

#[test]
fn a_timeout_ends_the_wait() {
    let sandbox = Sandbox::empty();
    let _writer = program_being_written(&sandbox);
    let done = sandbox.run("run --timeout 200ms --max-attempts 1 -- ./tool").exits(124);
    done.says("cannot start ./tool: Text file busy (os error 26): another process was writing it");
    let attempt = sandbox.attempts(1).remove(0);
    assert_fields(&attempt, &json!({"outcome": "timed_out", "error_code": "TIMEOUT", "exit_code": null}));
}

#[test]
fn a_cancel_or_a_stop_ends_the_wait_and_nothing_is_started_later() {
    for options in ["", "--retryable false"] {
        let sandbox = Sandbox::empty();
        let _writer = program_being_written(&sandbox);
        let [cancelled, kept] = [(); 2].map(|()| sandbox.add(&format!("{options} -- ./tool")));
        let mut worker = sandbox.worker("-j2");
        for id in [cancelled, kept] {
            worker.until_it_says(&format!("job {id}: {WAITS}"));
        }
        sandbox.run(&format!("cancel {cancelled}")).ok();
        sandbox.until_state(cancelled, "cancelled");
        worker.signal(Signal::TERM);
        let done = worker.wait();
        assert!(done.ended_well(), "{done}");
        sandbox.write("written", "");
        let expected = json!({"state": "pending", "attempts": 0, "budget_used": 0, "history": []});
        assert_fields(&sandbox.job(kept), &expected);
        sandbox.drain();
        assert_eq!(sandbox.job(kept)["state"], "succeeded");
        assert_eq!(sandbox.job(cancelled)["attempts"], 0);
        sandbox.run("doctor").ok();
    }
}

/// Makes a binary that ends behind its table of segments, as an unfinished copy does: the kernel cannot read the name of its
/// loader, and says EIO. Another process writes it, because this one may not hold it open.
fn cut_binary(sandbox: &Sandbox) {
    let whole = fs::read("/bin/sh").expect("a shell");
    let number = |at: usize| usize::from(u16::from_le_bytes([whole[at], whole[at + 1]]));
    // elf(5), 64 bits: e_phoff, e_phentsize and e_phnum.
    let end = number(32) + number(54) * number(56);
    sandbox.program("sh").arg("-c").arg(format!("head -c {end} /bin/sh > cut; chmod +x cut")).run().ok();
}

#[test]
fn what_may_pass_by_itself_is_retried_as_any_failure() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = ['./cut']\nbackoff = '1ms'\nmax_attempts = 2\n");
    cut_binary(&sandbox);
    let job = sandbox.finish("job");
    let expected = json!({"attempts": 2, "dead_reason": "attempts_exhausted", "error_code": "SPAWN_FAILED"});
    assert_fields(&job, &expected);
    let message = "cannot start ./cut: Input/output error (os error 5), which may pass";
    let expected =
        json!({"outcome": "spawn_failed", "message": message, "will_retry": true, "counted": true});
    assert_fields(&job["history"][0], &expected);
    sandbox.run("wait 1").exits(126);
    sandbox.run("inspect 1").ok().shows("SPAWN_FAILED is retried: attempt 2 of 2").shows(message);
    sandbox.run("doctor").ok();
}

#[test]
fn what_stays_as_it_is_until_somebody_mends_it_is_final() {
    let prepare = "ln -s circle other; ln -s other circle; echo prose > prose; chmod +x prose; mkdir folder";
    let long = "x".repeat(300);
    for (keys, status, message) in [
        (
            "command = ['./circle']",
            126,
            "cannot start ./circle: Too many levels of symbolic links (os error 40)",
        ),
        (
            "command = 'true'\ncwd = 'circle'",
            126,
            "cannot enter the directory DIR/circle: Too many levels of symbolic links (os error 40)",
        ),
        ("command = 'true'\ncwd = 'prose/below'", 127, "no such directory: DIR/prose/below"),
        ("command = ['./prose/below']", 127, "no such program: ./prose/below"),
        ("command = ['./folder']", 126, "not executable: ./folder: a directory"),
        (
            "command = ['./prose']",
            126,
            "not executable: ./prose: neither a binary of this machine nor a script with a #! line",
        ),
        (
            &format!("command = ['./{long}']"),
            126,
            &format!("cannot start ./{long}: File name too long (os error 36)"),
        ),
    ] {
        let sandbox = Sandbox::new(&format!("[jobs.job]\n{keys}\nbackoff = '1ms'\n"));
        sandbox.program("sh").arg("-c").arg(prepare).run().ok();
        let job = sandbox.finish("job");
        assert_fields(&job, &json!({"attempts": 1, "dead_reason": "spawn_failed"}));
        let found = job["history"][0]["message"].as_str().expect("a message");
        assert_eq!(found.replace(&sandbox.dir().display().to_string(), "DIR"), message);
        sandbox.run("wait 1").exits(status);
    }
}
