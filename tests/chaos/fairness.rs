//! Eight workers and eight enqueuers, or two hundred workers at once, all on one file: each gets its turn, and no job is run
//! twice or forgotten.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::evidence::{Promises, Rows};
use crate::judge::{Moment, judge};
use crate::support::{Background, Sandbox, Signal};
use crate::tools::number;

/// Workers, and as many enqueuers.
const EACH: usize = 8;

/// Calls of each enqueuer in the short form.
const CALLS: usize = 20;

/// The crowds come one after the other: beside the first, for as long as `FAIRNESS_SECONDS` says, one of the two hundred may wait
/// longer for the database than a call waits.
static ONE_CROWD: Mutex<()> = Mutex::new(());

/// The observations of an enqueuer.
#[derive(Default)]
struct Seen {
    ids: Vec<u64>,
    waits: Vec<Duration>,
    failed: Vec<String>,
}

/// Enqueues for so long, or so often.
fn enqueue(sandbox: &Sandbox, until: Option<Instant>) -> Seen {
    let mut seen = Seen::default();
    while until.map_or(seen.waits.len() < CALLS, |until| Instant::now() < until) {
        let began = Instant::now();
        let ran = sandbox.run("enqueue note");
        seen.waits.push(began.elapsed());
        if ran.ended_well() {
            seen.ids.push(ran.id());
        } else {
            seen.failed.push(ran.to_string());
        }
    }
    seen
}

#[test]
fn sixteen_processes_on_one_file_all_get_their_turn() {
    let _alone = ONE_CROWD.lock().unwrap_or_else(PoisonError::into_inner);
    let seconds = number("FAIRNESS_SECONDS");
    let sandbox = Sandbox::new("[jobs.note]\ncommand = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log'\n");
    sandbox.add("note");
    let mut workers: Vec<_> = (0..EACH).map(|_| sandbox.worker("-j2")).collect();
    let began = Instant::now();
    let until = seconds.map(|seconds| began + Duration::from_secs(seconds));
    let seen: Vec<Seen> = thread::scope(|scope| {
        let enqueuers: Vec<_> = (0..EACH).map(|_| scope.spawn(|| enqueue(&sandbox, until))).collect();
        enqueuers.into_iter().map(|enqueuer| enqueuer.join().expect("an enqueuer")).collect()
    });
    let took = began.elapsed();
    sandbox.run("work -j4 --drain -q").exits(0);
    for worker in &mut workers {
        worker.signal(Signal::TERM);
        let ran = worker.wait().exits(0);
        assert!(!ran.stderr.contains("busy") && !ran.stderr.contains("no job is started"), "{ran}");
    }

    let failed: Vec<_> = seen.iter().flat_map(|seen| &seen.failed).collect();
    assert!(failed.is_empty(), "{} calls failed, the first: {}", failed.len(), failed[0]);
    let mut waits: Vec<_> = seen.iter().flat_map(|seen| seen.waits.iter().copied()).collect();
    waits.sort();
    let calls: Vec<_> = seen.iter().map(|seen| seen.waits.len()).collect();
    let per_second = waits.len() as u128 * 1_000 / took.as_millis().max(1);
    println!(
        "{} calls in {took:.1?}, {per_second} a second; the median took {:?}, the longest {:?}; calls of each: {calls:?}",
        waits.len(),
        waits[waits.len() / 2],
        waits.last().expect("a call"),
    );

    let jobs = 1 + waits.len() as u64;
    let mut ids: Vec<_> = seen.into_iter().flat_map(|seen| seen.ids).collect();
    ids.sort_unstable();
    assert!(ids.iter().copied().eq(2..=jobs), "an id was printed twice, or not at all");
    let rows = Rows::read(&sandbox.db()).expect("the database can be read");
    let wrong = judge(&rows, &Promises::of(ids, Some(&sandbox.read("log"))), Moment::Drained);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let once = rows.jobs.values().filter(|job| job.state == "succeeded" && job.attempts == 1).count();
    assert_eq!(once as u64, jobs, "not every job ran exactly once");
    sandbox.run("doctor").exits(0);
}

#[test]
fn two_hundred_workers_that_start_at_once_all_get_their_turn() {
    const WORKERS: usize = 200;
    let _alone = ONE_CROWD.lock().unwrap_or_else(PoisonError::into_inner);
    let sandbox = Sandbox::new("[jobs.note]\ncommand = 'echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log'\n");
    // Not in memory, because the lock is held for as long as a disk takes.
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on a disk");
    let call = |line: &str| sandbox.call(line).env("RUNNER_DB", disk.path().join("runner.db"));
    call("enqueue note").run().exits(0);
    let start = |_| Background::start(&sandbox, call("work -j1 --until-idle"));
    let mut workers: Vec<Background> = (0..WORKERS).map(start).collect();
    for worker in &mut workers {
        worker.wait().exits(0);
    }
    assert_eq!(sandbox.log(), ["start 1 1"]);
}
