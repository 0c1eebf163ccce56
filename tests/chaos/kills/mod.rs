//! Workers and enqueuers are killed, suspended and told to stop at random moments, while jobs of many kinds are enqueued,
//! cancelled and retried. Afterwards every promise is checked against the database, against a side log that the jobs
//! themselves append to, and against the processes that are still there. Besides the workers, lines of a crontab call
//! `runner run`, which are killed, suspended, stopped and interrupted, too (`nights`).
//!
//! The same seed gives the same acts, but not the same history, because the machine decides how long each act takes.

mod jobs;
mod keep;
mod nights;
mod traffic;
mod workers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::evidence::{Rows, side_log};
use crate::judge::{self, Moment};
use crate::support::{Sandbox, wait_until};
use crate::tools::{Plan, number, only_told_of_deaths};
use traffic::Shared;

/// Threads that enqueue side by side, besides the enqueuers that are killed.
const ENQUEUERS: u64 = 2;

/// Tells the other threads to end when the killer is through, also when it panics.
struct Bell<'a>(&'a AtomicBool);

impl Drop for Bell<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_promise_holds_whatever_is_killed_and_when() {
    let plan = Plan::of("kills", "KILLS", 500);
    let seconds = number("KILL_SECONDS").map(Duration::from_secs);
    let began = Instant::now();
    let sandbox = Sandbox::new(jobs::FILE);
    sandbox.write("lines.sh", jobs::LINES);
    let shared = Shared::default();
    sandbox.add("quick");
    sandbox.run("apply").exits(0);
    let over = AtomicBool::new(false);
    let (tally, seen) = thread::scope(|scope| {
        let bell = Bell(&over);
        for number in 0..ENQUEUERS {
            let (sandbox, shared, over) = (&sandbox, &shared, &over);
            scope.spawn(move || traffic::enqueue(sandbox, shared, plan.dice(10 + number), over));
        }
        scope.spawn(|| traffic::meddle(&sandbox, &shared, plan.dice(1), &over));
        let watcher = scope.spawn(|| traffic::watch(&sandbox, &shared, plan.dice(2), &over));
        let is_enough = |kills| seconds.map_or(kills >= plan.length, |seconds| began.elapsed() >= seconds);
        let tally = workers::rampage(&sandbox, &shared, plan.dice(0), is_enough);
        drop(bell);
        (tally, watcher.join().expect("the watcher"))
    });
    for (schedule, ..) in jobs::SCHEDULES {
        sandbox.run(&format!("pause --schedule {schedule}")).exits(0);
    }
    nights::check_without_worker(&sandbox, &shared);
    wait_until("every pause has ended", || {
        sandbox
            .run("inspect queues --json")
            .exits(0)
            .json_lines()
            .iter()
            .all(|queue| queue["paused"] == false)
    });
    let ran = sandbox.run("work -j8 --drain -q");
    // Jobs that wait for a cancelled or dead job are given up below.
    shared.expect(only_told_of_deaths(&ran), || format!("the last worker complained: {ran}"));
    for blocked in sandbox.run("inspect jobs --state blocked --json").exits(0).json_lines() {
        sandbox.run(&format!("cancel {}", blocked["id"])).exits(0);
    }
    let rows = traffic::look(&sandbox, &shared, Some(&seen));
    check(&sandbox, &shared, &rows);
    let (jobs, attempts, seconds) = (rows.jobs.len(), rows.attempts.len(), began.elapsed().as_secs_f64());
    println!("{tally:?}\n{jobs} jobs, {attempts} attempts, {seconds:.1} s");
    shared.violations.check(plan);
}

/// Checks every promise when all is over.
fn check(sandbox: &Sandbox, shared: &Shared, rows: &Rows) {
    let promises = {
        let mut promises = shared.promises();
        promises.side = Some(side_log(&sandbox.read("log")));
        promises.clone()
    };
    let mut wrong = judge::judge(rows, &promises, Moment::Drained);
    for (schedule, pace, missed) in jobs::SCHEDULES {
        wrong.extend(judge::a_schedule_keeps_its_pace(rows, schedule, pace, missed));
    }
    for what in wrong {
        shared.violations.add(what);
    }
    nights::check_ends(rows, shared);
    let ran = sandbox.run("doctor --json");
    shared.expect(ran.ended_well(), || format!("the doctor found something: {ran}"));
    let report = ran.json();
    shared.expect(report["workers_dead"] == 0, || format!("dead workers were not dealt with: {report}"));

    let boots = shared.boots.load(Ordering::Relaxed);
    let fired = rows.named(jobs::AT_BOOT).count();
    shared.expect(fired == boots, || format!("{fired} jobs were enqueued at {boots} boots"));

    let sql = sandbox.sql();
    let warned = sql.number(&format!(
        "SELECT count(*) FROM jobs WHERE name = '{}' AND warning = 'EXIT_24'",
        jobs::WARNED
    ));
    let told = i64::try_from(rows.named(jobs::TOLD).count()).expect("a number of rows");
    shared.expect(warned == told, || format!("{warned} jobs were warned, and {told} alerts tell of them"));
    let counted = sql.number("SELECT coalesce(sum(warnings), 0) FROM warning_totals");
    let all = sql.number("SELECT count(*) FROM jobs WHERE warning IS NOT NULL");
    shared.expect(counted == all, || format!("{all} jobs were warned, and {counted} were counted"));
    shared.expect(warned > 0, || "no job succeeded with a warning".to_owned());

    // A run in which little happened would prove little.
    let replaced = shared.replaced.load(Ordering::Relaxed);
    shared.expect(replaced > 0, || "no waiting job was replaced by another".to_owned());
    shared.expect(boots > 0, || "hardly any boot was seen".to_owned());
    let ran = |is_one: &dyn Fn(u64) -> bool| rows.attempts.keys().filter(|(id, _)| is_one(*id)).count();
    let acknowledged = promises.acknowledged.len();
    let enqueued = rows.jobs.values().filter(|job| job.queue != jobs::NIGHTS).count();
    shared.expect(acknowledged > enqueued / 2, || "hardly any job was acknowledged".to_owned());
    let limited = ran(&|id| rows.limits.contains_key(&rows.jobs[&id].queue));
    shared.expect(limited > 3, || "hardly any attempt ran in the limited queue".to_owned());
    let dependent = ran(&|id| rows.dependencies.iter().any(|(job, ..)| *job == id));
    shared.expect(dependent > 0, || "no dependent job has run".to_owned());
}
