//! A worker as process 1, as it is in a container without an init.

use crate::support::{Call, Sandbox};

#[test]
fn as_process_1_it_reaps_what_its_jobs_leave() {
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
