//! Processes that an attempt leaves in the background: they may stay until the next attempt, which starts when they are gone.

use std::fs;
use std::process::Stdio;

use crate::support::{
    Background, Call, NOBODY, Sandbox, Signal, eventually, is_alive, is_root, json, signal,
};

/// The first attempt leaves a process that ignores SIGTERM. The second waits for its end, at most half a minute.
const JOBS: &str = r#"
[jobs.leaves]
command = """
echo $RUNNER_ATTEMPT >> log
[ $RUNNER_ATTEMPT = 1 ] || exit 0
(trap '' TERM; while [ -e runner.db ]; do sleep 0.02; done) > /dev/null 2>&1 &
exit 1
"""
max_attempts = 2
backoff = { strategy = "constant", delay = "0s", jitter = false }
grace_period = "30s"
"#;

/// The job is claimed for its second attempt.
fn claimed_again(options: &str) -> (Sandbox, Background) {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run(&format!("enqueue leaves {options}")).ok();
    let worker = sandbox.worker("-j1");
    eventually("the second attempt is claimed", || {
        (count(&sandbox, "state = 'running' AND attempts = 1") == 1).then_some(())
    });
    (sandbox, worker)
}

fn count(sandbox: &Sandbox, which: &str) -> i64 {
    sandbox.sql().number(&format!("SELECT count(*) FROM jobs WHERE {which}"))
}

#[test]
fn a_stopping_worker_starts_no_attempt_that_still_waits() {
    let (sandbox, mut worker) = claimed_again("");
    worker.ask_to_stop(Signal::TERM);
    let ran = worker.wait();
    assert!(ran.stderr.contains("0 running"), "{ran}");
    assert_eq!(count(&sandbox, "state = 'pending' AND attempts = 1 AND attempts_used = 1"), 1);
    assert_eq!(sandbox.log(), ["1"]);
    sandbox.run("doctor").ok();
}

#[test]
fn an_attempt_that_still_waits_expires_in_time() {
    let (sandbox, _worker) = claimed_again("--expires-in 3s --unique-key k");
    eventually("it has expired", || (count(&sandbox, "dead_reason = 'expired'") == 1).then_some(()));
    assert_eq!(sandbox.run("enqueue leaves --in 1h --unique-key k").ok().stdout, "2\n");
    assert_eq!(sandbox.log(), ["1"]);
}

/// Ends its first thread, so that the kernel shows the process without an environment.
const HEADLESS: &str = r#"
import ctypes, os, threading, time
def stay():
    while os.path.exists("runner.db"): time.sleep(0.02)
    os._exit(0)
threading.Thread(target=stay).start()
ctypes.CDLL(None).pthread_exit(None)
"#;

#[test]
fn a_process_whose_first_thread_has_ended_is_ended_as_well() {
    let sandbox = Sandbox::new(
        r#"
[jobs.leaves]
command = """
if [ $RUNNER_ATTEMPT = 2 ]; then ls /proc/$(cat pid)/task | wc -l > threads; exit 0; fi
setsid sh -c 'echo $$ > pid; exec python3 headless.py' > /dev/null 2>&1 &
until grep -q '^State:.Z' /proc/$(cat pid)/status; do sleep 0.02; done 2> /dev/null
exit 1
"""
max_attempts = 2
backoff = { strategy = "constant", delay = "0s", jitter = false }
grace_period = "1s"
"#,
    );
    sandbox.add("leaves");
    sandbox.write("headless.py", HEADLESS);
    sandbox.run("work --drain").ok();
    let threads: u32 = sandbox.read("threads").trim().parse().unwrap();
    assert!(threads <= 1, "at most its first thread waits to be reaped: {threads}");
}

#[test]
fn processes_that_a_normal_end_leaves_are_left_alone() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'sh -c \"echo \\$\\$ > stray; exec sleep 20\" & until [ -s stray ] || [ ! -e runner.db ]; do sleep 0.02; done'\n",
    );
    let id = sandbox.add("job");
    sandbox.run("work --drain").ok();
    let stray = sandbox.pid_of("stray");
    let attempt = sandbox.attempts(id).remove(0);
    assert_eq!((&attempt["outcome"], &attempt["leaked"]), (&json!("succeeded"), &json!(true)));
    sandbox.run(&format!("inspect {id}")).ok().shows("exit 0, leaked a process");
    assert!(is_alive(stray));
    signal(stray, Signal::KILL);
}

#[test]
fn a_background_child_that_holds_no_pipe_is_no_leak() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'sleep 20 > /dev/null 2>&1 & echo $! > stray'\n");
    let id = sandbox.add("job");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.attempts(id)[0]["leaked"], false);
    let stray = sandbox.pid_of("stray");
    assert!(is_alive(stray));
    signal(stray, Signal::KILL);
}

/// The second attempt succeeds only if nothing is left of the first.
#[test]
fn leftovers_are_ended_before_the_next_attempt_by_the_same_or_another_worker() {
    for first in ["work --drain", "work --max-jobs 1"] {
        let sandbox = Sandbox::new(
            r#"
[jobs.job]
command = "[ $RUNNER_ATTEMPT -eq 2 ] || { sleep 20 > /dev/null 2>&1 & echo $! > stray; exit 1; }; ! grep -q 'State:.[^ZX]' /proc/$(cat stray)/status"
backoff = "1ms"
max_attempts = 2
"#,
        );
        sandbox.add("job");
        sandbox.run(first).ok();
        sandbox.run("work --drain").ok();
        assert_eq!(sandbox.job(1)["state"], "succeeded", "{first}");
        assert!(!is_alive(sandbox.pid_of("stray")), "{first}");
    }
}

#[test]
fn as_process_1_as_in_a_container_a_worker_reaps_what_its_jobs_leave() {
    let sandbox = Sandbox::new(
        "[jobs.orphans]\ncommand = 'for i in 1 2 3 4 5; do (sleep 0.01 & setsid sleep 0.01 &); done'\n\
         [jobs.look]\ncommand = '''\nfor i in $(seq 100); do\n  \
         grep -q '^State:.Z' /proc/[0-9]*/status || exit 0\n  sleep 0.1\ndone\n\
         cat /proc/[0-9]*/stat >&2; exit 1\n'''\nmax_attempts = 1\n",
    );
    let probe =
        ["--pid", "--fork", "--mount-proc", "true"].into_iter().fold(sandbox.program("unshare"), Call::arg);
    if !probe.run().stderr.is_empty() {
        eprintln!("no right to make a PID namespace here: nothing was tested");
        return;
    }
    sandbox.run("enqueue orphans look").ok();
    let mut unshare = sandbox.program("unshare");
    for word in ["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_runner"), "work", "-j1", "--drain"] {
        unshare = unshare.arg(word);
    }
    unshare.run().ok();
    assert_eq!(sandbox.job(2)["state"], "succeeded");
}

#[test]
fn nobody_learns_from_a_socket_how_to_pass_a_process_off_as_one_of_an_attempt() {
    let sandbox = Sandbox::new(
        "[jobs.again]\ncommand = 'test $RUNNER_ATTEMPT = 2'\nbackoff = '1ms'\nmax_attempts = 2\ngrace_period = '1m'\n",
    );
    let _worker = sandbox.worker("-j1");
    let workers = sandbox.run("inspect workers --json").ok().json();
    let id = workers["worker_id"].as_str().unwrap();
    // Everybody may read the names of sockets.
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    assert!(sockets.contains(id), "{id}: {sockets}");
    if !is_root() {
        eprintln!("skipped in part: only root can act as another user");
        return;
    }
    let bound = sockets.lines().filter_map(|line| line.split_once("/proc/self/fd/")?.1.split_once('/'));
    let learnt = bound.filter_map(|(_, name)| name.split('.').next());
    let forged = learnt.map(|id| {
        let call = sandbox.program("sleep").arg("600").dir("/").run_by(NOBODY);
        let call = call.env("RUNNER_WORKER_ID", id).env("RUNNER_MARK", id);
        let call = call.env("RUNNER_JOB_ID", "1").env("RUNNER_ATTEMPT", "1");
        call.spawn(Stdio::null(), Stdio::null())
    });
    let mut forged: Vec<_> = forged.collect();
    assert!(!forged.is_empty(), "{sockets}");
    sandbox.add("again");
    sandbox.until_state(1, "succeeded");
    for process in &mut forged {
        assert_eq!(process.try_wait().unwrap(), None, "it was taken for a process of the attempt");
        process.kill().unwrap();
        process.wait().unwrap();
    }
}
