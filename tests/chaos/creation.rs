//! The first creation of a database: by many processes at once, of which some are killed meanwhile.

use std::fs;
use std::process::Stdio;

use rand::RngExt;

use crate::evidence::{Promises, Rows};
use crate::judge::{Moment, judge};
use crate::support::Sandbox;
use crate::tools::{Plan, pause};

/// Processes that open the file at once.
const AT_ONCE: usize = 16;

/// The file is whole, and no draft of it is left.
#[track_caller]
fn is_whole(sandbox: &Sandbox) {
    sandbox.run("doctor").exits(0);
    let left: Vec<_> = fs::read_dir(sandbox.path("runner.db.run"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("new.db"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_interrupted_creation_is_completed_by_the_next_command() {
    let plan = Plan::of("creation", "CREATIONS", 8);
    let (rounds, mut dice) = (plan.length * 3, plan.dice(0));
    let (mut half, mut none) = (0, 0);
    for _ in 0..rounds {
        let sandbox = Sandbox::empty();
        let mut creator = sandbox.call("enqueue -- true").spawn(Stdio::null(), Stdio::null());
        pause(&mut dice, 0..=40);
        let _ = creator.kill();
        creator.wait().expect("a child");
        half += u64::from(sandbox.path("runner.db.run/new.db").exists());
        none += u64::from(!sandbox.db().exists());
        let shown = sandbox.run("inspect --json").exits(0).json();
        let there = shown["counts"]["ready"].as_u64().expect("a number");
        assert_eq!(sandbox.add("-- true"), there + 1);
        is_whole(&sandbox);
    }
    println!("{rounds} creators killed, {none} before there was a file, {half} of them half-way");
}

#[test]
fn any_leftover_of_an_interrupted_creation_is_replaced() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    let whole = fs::read(sandbox.db()).expect("a file");
    for (length, journal) in
        [(0, false), (1, true), (4_096, true), (whole.len() / 2, false), (whole.len(), true)]
    {
        let sandbox = Sandbox::empty();
        sandbox.write("runner.db.run/new.db", &whole[..length]);
        sandbox.write("runner.db.run/create.lock", "");
        if journal {
            for suffix in ["-journal", "-wal", "-shm"] {
                sandbox.write(&format!("runner.db.run/new.db{suffix}"), &whole[..length.min(2_000)]);
            }
        }
        assert_eq!(sandbox.add("-- true"), 1, "{length}");
        is_whole(&sandbox);
    }
}

#[test]
fn sixteen_that_create_and_open_at_once_share_one_file_though_some_are_killed() {
    let plan = Plan::of("creation", "CREATIONS", 8);
    let mut dice = plan.dice(0);
    for round in 0..plan.length {
        let sandbox = Sandbox::empty();
        let lines = ["enqueue -- true", "enqueue -- true", "work --until-idle", "inspect", "doctor"];
        let mut children: Vec<_> = (0..AT_ONCE)
            .map(|at| {
                let line = lines[at % lines.len()];
                (line, sandbox.call(line).spawn(Stdio::piped(), Stdio::piped()), false)
            })
            .collect();
        for _ in 0..round % 4 {
            pause(&mut dice, 0..=8);
            let (_, child, killed) = &mut children[dice.random_range(0..AT_ONCE)];
            let _ = child.kill();
            *killed = true;
        }
        let mut ids: Vec<u64> = Vec::new();
        for (line, child, killed) in children {
            let output = child.wait_with_output().expect("a child");
            // A job's `true` cannot fail. But a job may have died with its worker: then the doctor sees that, or the worker
            // that buries it has recorded a job as dead.
            let may_see_a_death = round % 4 > 0 && !line.starts_with("enqueue");
            let well = output.status.success() || may_see_a_death && output.status.code() == Some(1);
            assert!(killed || well, "{line}: {output:?}");
            if line.starts_with("enqueue") {
                ids.extend(
                    String::from_utf8_lossy(&output.stdout)
                        .lines()
                        .map(|line| line.parse::<u64>().expect("an id")),
                );
            }
        }
        let printed = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), printed, "an id was given out twice");
        let _ = sandbox.drain();
        is_whole(&sandbox);
        let rows = Rows::read(&sandbox.db()).expect("the database can be read");
        let wrong = judge(&rows, &Promises::of(ids, None), Moment::Drained);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
