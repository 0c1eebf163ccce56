//! Each act against each other, two or three at once, from the folders of two job files that declare the same names, in one
//! database. Afterwards nothing of the one project may stand for anything of the other: not in the verdict of a call, not in the
//! side log of the jobs, and not in what is told of deaths.

mod acts;
mod jobs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rand::RngExt;

use crate::evidence::{Promises, Rows, side_log};
use crate::judge::{Moment, judge};
use crate::support::background::soon;
use crate::support::{Background, Finished, Sandbox, is_alive, wait_until};
use crate::tools::{Plan, Violations};
use acts::Act;

#[test]
fn nothing_of_one_project_stands_for_another() {
    let plan = Plan::of("pairs", "PAIRS", 40);
    let mut dice = plan.dice(0);
    let violations = Violations::default();
    let sandbox = Sandbox::empty();
    sandbox.write("lines.sh", jobs::LINES);
    sandbox.write("log", "");
    for project in jobs::PROJECTS {
        fs::create_dir(sandbox.path(project)).expect("a folder");
        sandbox.write(&format!("{project}/jobs.toml"), jobs::file(project));
    }
    sandbox.call("enqueue few").dir(sandbox.path(jobs::PROJECTS[0])).run().exits(0);
    limit(&sandbox, 2);
    let mut files = BTreeMap::new();
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    let mut theme = jobs::NAMES[0];
    for round in 0..plan.length {
        if round % 4 == 3 {
            theme = acts::pick(&mut dice, &jobs::NAMES);
        }
        for project in jobs::PROJECTS {
            let flag = sandbox.path(&jobs::failing(project));
            match (dice.random(), flag.exists()) {
                (true, false) => fs::write(flag, "").expect("a file"),
                (false, true) => fs::remove_file(flag).expect("it is there"),
                _ => {}
            }
        }
        let newest = sandbox.sql().number("SELECT coalesce(max(id), 0) FROM jobs");
        let acts: Vec<Act> =
            (0..dice.random_range(2..=3)).map(|_| Act::throw(&mut dice, theme, newest)).collect();
        let mut running: Vec<Background> = acts.iter().map(|act| act.start(&sandbox)).collect();
        for (act, running) in acts.iter().zip(&running) {
            act.strike(running, &mut dice);
        }
        let together: Vec<String> =
            acts.iter().map(|act| format!("{} in {}", act.line, act.project)).collect();
        for (act, running) in acts.iter().zip(&mut running) {
            let ran = end(&sandbox, running, act.is_run());
            let verb = act.line.split_whitespace().next().unwrap_or_default();
            *tally.entry(format!("{verb} {:?}", ran.status())).or_default() += 1;
            if let Some(what) = act.verdict(&sandbox, &ran, &sandbox.log()) {
                violations.add(format!("{} in {}: {what}, of {together:?}: {ran}", act.line, act.project));
            }
        }
        note_files(&sandbox, &mut files);
    }
    sandbox.run("resume --all").exits(0);
    sandbox.run(&format!("resume {}", jobs::LIMITED));
    sandbox.run("work -j4 --drain -q");
    // The judge goes by the last limit for all that ran.
    limit(&sandbox, acts::MOST);
    note_files(&sandbox, &mut files);
    check(&sandbox, &files, &violations);
    println!("{tally:?}\n{} jobs", files.len());
    // A run in which little happened would prove little.
    if !jobs::PROJECTS.iter().all(|project| sandbox.log().iter().any(|line| line.ends_with(project))) {
        violations.add("one of the projects has run nothing".to_owned());
    }
    violations.check(plan);
}

fn limit(sandbox: &Sandbox, most: u32) {
    sandbox.run(&format!("limit {} --max-running {most}", jobs::LIMITED)).exits(0);
}

/// Waits for the end of a call; whatever keeps its job from starting is taken away. A `run` has to come to its end without a worker.
fn end(sandbox: &Sandbox, running: &mut Background, is_run: bool) -> Finished {
    let pid = running.pid();
    let is_over = || (!is_alive(pid)).then_some(());
    if (0..40).all(|_| soon(is_over).is_none()) {
        wait_until("the call ends", || {
            sandbox.run("resume --all");
            sandbox.run(&format!("resume {}", jobs::LIMITED));
            if !is_run {
                sandbox.run("work --until-idle -q");
            }
            !is_alive(pid)
        });
    }
    running.wait()
}

/// Notes the folder of each job, because some are removed.
fn note_files(sandbox: &Sandbox, files: &mut BTreeMap<u64, String>) {
    let sql = "SELECT j.id, f.path FROM jobs AS j JOIN job_files AS f ON f.id = j.job_file";
    files.extend(sandbox.sql().all(sql, |row| Ok((row.get(0)?, row.get(1)?))));
}

/// Checks every promise when all is over.
fn check(sandbox: &Sandbox, files: &BTreeMap<u64, String>, violations: &Violations) {
    for line in sandbox.log() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let folder = words.get(1).and_then(|id| files.get(&id.parse().ok()?));
        let is_its_own = folder
            .is_none_or(|file| words.last().is_some_and(|it| file.ends_with(&format!("/{it}/jobs.toml"))));
        if words[0] == "wrong" || !is_its_own {
            violations.add(format!("a line of the wrong project: {line}, a job of {folder:?}"));
        }
    }
    let rows = Rows::read(&sandbox.db()).expect("the database can be read");
    let retries = rows.jobs.keys().map(|id| (*id, u32::MAX)).collect();
    let side = Some(side_log(&sandbox.read("log")));
    let promises = Promises { prunes: true, retries, side, ..Promises::default() };
    for what in judge(&rows, &promises, Moment::Drained) {
        violations.add(what);
    }
    let ran = sandbox.run("doctor");
    if !ran.ended_well() {
        violations.add(format!("the doctor found something: {ran}"));
    }

    let (recovered, open) = deaths(sandbox);
    println!("{} deaths with a later success, {} without", recovered.len(), open.len());
    let ran = sandbox.run("doctor --strict --json");
    let told: BTreeSet<u64> = ran.json()["attention"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| entry["kind"] == "dead")
        .flat_map(|entry| entry["jobs"].as_array().cloned().unwrap_or_default())
        .filter_map(|id| id.as_u64())
        .collect();
    // An entry lists no more than some.
    if !told.is_subset(&open) || told.len() < open.len().min(20) {
        violations.add(format!("{told:?} are told as dead, of {open:?} without a later success: {ran}"));
    }
    sandbox.run("resolve --dead --recovered -q").exits(0);
    let (still, left) = deaths(sandbox);
    if !still.is_empty() || left != open {
        violations
            .add(format!("{recovered:?} had succeeded since, {open:?} had not; left: {still:?}, {left:?}"));
    }
}

/// What the rows say of a job that bears on deaths.
struct Known {
    id: u64,
    name: String,
    file: Option<i64>,
    state: String,
    began: i64,
    ended: i64,
    is_resolved: bool,
}

/// The unresolved deaths: those after which the same work has succeeded, and the others. The work is the same if the name and the
/// file are; an alert tells of its own death alone.
fn deaths(sandbox: &Sandbox) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let sql = "SELECT id, name, job_file, state, coalesce(started_at, changed_at), changed_at, resolved_at IS NOT NULL FROM jobs";
    let all = sandbox.sql().all(sql, |row| {
        Ok(Known {
            id: row.get(0)?,
            name: row.get(1)?,
            file: row.get(2)?,
            state: row.get(3)?,
            began: row.get(4)?,
            ended: row.get(5)?,
            is_resolved: row.get(6)?,
        })
    });
    let is_later_success = |of: &Known, job: &Known| {
        job.state == "succeeded"
            && (&job.name, job.file) == (&of.name, of.file)
            && job.id > of.id
            && job.ended > of.began
    };
    let unresolved = all.iter().filter(|job| job.state == "dead" && !job.is_resolved);
    let (recovered, open): (Vec<&Known>, Vec<&Known>) = unresolved
        .partition(|dead| dead.name != jobs::ALERT && all.iter().any(|job| is_later_success(dead, job)));
    let ids = |of: Vec<&Known>| of.into_iter().map(|job| job.id).collect();
    (ids(recovered), ids(open))
}
