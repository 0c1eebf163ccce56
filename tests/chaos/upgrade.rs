//! Programs of this version of the schema and of the next one are killed while they bring files of earlier versions up.

use std::process::Stdio;
use std::time::Instant;

use rand::seq::IndexedRandom;

use crate::support::versions::{NEXT_NUMBER, VERSIONS, columns, rows};
use crate::support::{Sandbox, Signal};
use crate::tools::{Plan, Violations, pause};

/// Every row is as it was, and the file is whole: of the old version or of the new one.
fn wrong(sandbox: &Sandbox, before: &[String], old: &[(String, String)]) -> Option<String> {
    let after = rows(&sandbox.sql(), old);
    if after != before {
        return Some(format!("rows were lost or changed: {before:?} {after:?}"));
    }
    // The audit of the program of today compares the file of either version with what it knows.
    let ran = sandbox.run("doctor --json");
    let problems = ran.json()["problems"].as_array().cloned().unwrap_or_default();
    // Nobody has dealt with the dead worker of the history yet.
    let is_known = |rule: &str| rule == "running jobs have a worker";
    let found = problems.iter().any(|problem| !problem["rule"].as_str().is_some_and(is_known));
    found.then(|| format!("the doctor found something: {ran}"))
}

#[test]
fn a_program_that_is_killed_while_it_brings_a_file_up_loses_nothing() {
    let plan = Plan::of("upgrade", "UPGRADE_KILLS", 40);
    let mut dice = plan.dice(0);
    let violations = Violations::default();
    let files = VERSIONS.map(|(_, fixture)| {
        let origin = Sandbox::of_version(fixture);
        let old = columns(&origin.sql());
        let before = rows(&origin.sql(), &old);
        // Nobody has it open, so the file is whole without its log.
        let copy = std::fs::read(origin.path("runner.db")).expect("a database");
        (old, before, copy)
    });
    let (mut newer, mut half, mut whole_run) = (0, 0, 0);
    for round in 0..plan.length {
        let sandbox = Sandbox::empty();
        let (old, before, copy) = files.choose(&mut dice).expect("there are versions");
        sandbox.write_private("runner.db", copy);
        // How long a call takes depends on the machine, and the kills are to fall before, into and after the step.
        if round % 20 == 0 {
            let began = Instant::now();
            sandbox.call_next("inspect workers").run().exits(0);
            whole_run = u64::try_from(began.elapsed().as_millis()).expect("a short time");
            sandbox.write_private("runner.db", copy);
        }
        let calls = [sandbox.call("inspect workers"), sandbox.call_next("inspect workers")];
        let mut programs = calls.map(|call| call.spawn(Stdio::null(), Stdio::null()));
        pause(&mut dice, 0..=whole_run * 3 / 2);
        for program in &mut programs {
            crate::support::signal(program.id().cast_signed(), Signal::KILL);
        }
        for program in &mut programs {
            program.wait().expect("a child");
        }
        half += u64::from(sandbox.path("runner.db-wal").metadata().is_ok_and(|found| found.len() > 0));
        if let Some(what) = wrong(&sandbox, before, old) {
            violations.add(what);
        }
        newer += u64::from(sandbox.sql().number("PRAGMA user_version") == NEXT_NUMBER);
        let ran = sandbox.call_next("work --until-idle -q").run();
        if ran.status() != Some(0) || sandbox.call_next("doctor").run().status() != Some(0) {
            violations.add(format!("the jobs did not go on: {ran}"));
        }
    }
    println!("{} kills, {newer} after the step, {half} with a log left behind", plan.length);
    violations.check(plan);
}
