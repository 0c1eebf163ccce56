//! Workers that remove what ended well long enough ago (`work --keep`), killed at random moments.

use std::collections::BTreeSet;

use rand::RngExt;

use super::jobs;
use crate::evidence::{Acknowledged, Promises, Rows, side_log};
use crate::judge::{Moment, judge};
use crate::support::{Background, Sandbox, wait_until};
use crate::tools::{Plan, Violations, only_told_of_deaths, pause};

const WORKERS: usize = 3;

/// What is enqueued again and again: what succeeds, dies, waits for another, and what a killed worker must not start twice.
const CALLS: [&str; 5] = ["quick", "failing", "last report", "once", "reporting"];

#[test]
fn nothing_is_removed_but_what_ended_well() {
    let plan = Plan::of("nothing_is_removed", "KEEP_KILLS", 60);
    let mut dice = plan.dice(0);
    let violations = Violations::default();
    // The schedules would go on for ever.
    let file: Vec<&str> = jobs::FILE
        .split("\n\n")
        .filter(|job| !job.lines().any(|line| line.starts_with("schedule")))
        .collect();
    let sandbox = Sandbox::new(&file.join("\n\n"));
    sandbox.write("lines.sh", jobs::LINES);
    let mut promises = Promises { prunes: true, ..Promises::default() };
    let worker =
        || Background::start(&sandbox, sandbox.call("work -j3 --queue default --queue few --keep 20ms"));
    let mut workers: Vec<Background> = (0..WORKERS).map(|_| worker()).collect();
    for _ in 0..plan.length {
        for id in sandbox.run(&format!("enqueue {}", CALLS[dice.random_range(0..CALLS.len())])).exits(0).ids()
        {
            promises.acknowledged.insert(id, Acknowledged::default());
        }
        pause(&mut dice, 0..=150);
        std::mem::replace(&mut workers[dice.random_range(0..WORKERS)], worker()).kill();
    }
    workers.into_iter().for_each(Background::kill);

    let ran = sandbox.run("work -j8 --drain -q");
    if !only_told_of_deaths(&ran) {
        violations.add(format!("the last worker complained: {ran}"));
    }
    promises.side = Some(side_log(&sandbox.read("log")));
    let rows = Rows::read(&sandbox.db()).expect("the database can be read");
    for what in judge(&rows, &promises, Moment::Drained) {
        violations.add(what);
    }
    let removed: Vec<u64> =
        promises.acknowledged.keys().copied().filter(|id| !rows.jobs.contains_key(id)).collect();
    let ends: BTreeSet<u64> = promises
        .side
        .iter()
        .flatten()
        .filter(|line| line.event == "end")
        .map(|line| line.attempt.0)
        .collect();
    for id in removed.iter().filter(|id| !ends.contains(id)) {
        violations.add(format!("job {id} was removed and had not succeeded"));
    }
    // The totals that monitoring reads keep what was removed.
    let begun: BTreeSet<_> = promises.side.iter().flatten().map(|line| line.attempt).collect();
    let metrics = sandbox.run("inspect --openmetrics").exits(0).stdout;
    let counted: usize = metrics
        .lines()
        .filter(|line| line.starts_with("runner_attempts_total{"))
        .map(|line| {
            line.rsplit(' ').next().and_then(|number| number.parse::<usize>().ok()).expect("a number")
        })
        .sum();
    if counted < begun.len() {
        violations.add(format!("{} attempts began and {counted} are counted", begun.len()));
    }
    sandbox.run("doctor").exits(0);

    // A success stays while a death that nobody has dealt with is good only because of it.
    sandbox.run("resolve --dead -q").exits(0);
    let last = Background::start(&sandbox, sandbox.call("work --queue default --queue few --keep 1ms"));
    wait_until("a living worker has removed all of it", || {
        sandbox.sql().number("SELECT count(*) FROM jobs WHERE state IN ('succeeded', 'cancelled')") == 0
    });
    last.kill();
    println!("{} of {} jobs removed, {counted} attempts", removed.len(), promises.acknowledged.len());
    if removed.is_empty() {
        violations.add("nothing was removed while workers were killed".to_owned());
    }
    violations.check(plan);
}
