//! While a slot ends what the attempt before has left in the background, the next one has not begun, and it need not start
//! any more.

use rustix::process::Signal;

use crate::support::{Background, Sandbox, eventually};

/// The first attempt leaves one behind that ignores SIGTERM; the second has half a minute to wait for it.
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
    assert_eq!(count(&sandbox, "state = 'pending' AND attempts = 1 AND budget_used = 1"), 1);
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
