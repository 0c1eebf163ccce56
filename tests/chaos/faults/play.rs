//! Plays a scene with a fault in it, waits for its end, but not for ever, and says what is wrong: at once, and after a
//! worker has gone on without a fault.

use std::fs::{self, File};
use std::process::Output;
use std::time::{Duration, Instant};

use runner::store::Store;
use rustix::process::{Pid, Signal, kill_process};

use super::scenes::{Place, Scene, input};
use crate::evidence::{Promises, Rows};
use crate::judge::{Moment, inconsistent, judge, leftover_processes};
use crate::support::background::soon;
use crate::support::{Call, Finished, Sql};
use crate::tools::{only_told_of_deaths, shimmed};

/// A worker that has not ended by then is asked to stop, as a person would do.
///
/// It is longer than the worker waits for a lock, because a request to stop that comes before it is up ends it at once.
const PATIENCE: Duration = Duration::from_secs(15);

/// The same for a worker that has said that it waits for trouble to pass.
const PATIENCE_WITH_TROUBLE: Duration = Duration::from_millis(1500);

/// One that has not ended so long after that hangs. Where no lock of the shared memory can be had, SQLite tries for 13 seconds at
/// each transaction, and a `run` that is stopped makes two.
const HANGS: Duration = Duration::from_mins(1);

/// The messages of a worker that waits for trouble to pass.
const TROUBLE: [&str; 4] =
    ["until that has passed", "could not be started now", "cannot be looked for", "cannot be recovered now"];

/// The result of a scene.
pub struct Played {
    pub ran: Finished,
    /// It did not end, and was killed.
    pub hung: bool,
    /// The fault was met.
    pub hit: bool,
    /// It was asked to stop.
    pub stopped: bool,
}

/// Plays it.
pub fn play(place: &Place, scene: &Scene, fault: &str) -> Played {
    let call = shimmed(place.call(scene.line)).env("SHIM_FAULT", fault).env("SHIM_HITS", place.path("hits"));
    let (ran, hung, stopped) = if scene.works {
        wait_for(place, call, fault.contains(":ever:"))
    } else {
        let call = if let Some(input) = &scene.stdin { call.stdin(input.as_str()) } else { call };
        let ran = call.run();
        // The helper kills what hangs.
        let hung = ran.status().is_none();
        (ran, hung, false)
    };
    Played { ran, hung, stopped, hit: place.path("hits").exists() }
}

fn wait_for(place: &Place, call: Call, for_ever: bool) -> (Finished, bool, bool) {
    let (out, err) = (place.path("out"), place.path("err"));
    let file = |path| File::create(path).expect("a file for its output");
    let mut child = call.spawn(file(&out), file(&err));
    let pid = Pid::from_child(&child);
    let (began, mut stopped) = (Instant::now(), None);
    let mut hung = false;
    let status = loop {
        if let Some(status) = soon(|| child.try_wait().expect("a child")) {
            break status;
        }
        let said = fs::read_to_string(&err).unwrap_or_default();
        let in_trouble = TROUBLE.iter().any(|words| said.contains(words));
        let patience = match (in_trouble, for_ever) {
            (true, true) => Duration::ZERO,
            (true, false) => PATIENCE_WITH_TROUBLE,
            _ => PATIENCE,
        };
        match stopped {
            None if began.elapsed() >= patience => {
                let _ = kill_process(pid, Signal::TERM);
                stopped = Some(Instant::now());
            }
            Some(since) if !hung && since.elapsed() >= HANGS => {
                hung = true;
                let _ = child.kill();
            }
            _ => {}
        }
    };
    let read = |path| fs::read(path).unwrap_or_default();
    let output = Output { status, stdout: read(&out), stderr: read(&err) };
    (Finished::new("runner work".to_owned(), output), hung, stopped.is_some())
}

/// The documented exit statuses.
const STATUSES: [i32; 11] = [0, 1, 2, 65, 66, 70, 73, 74, 75, 76, 77];

/// The exit status of a worker that was asked to stop before it was done.
const CUT_SHORT: i32 = 128 + 15;

/// The exit status of a `run` whose command cannot be started, as a shell has it.
const CANNOT_START: i32 = 126;

/// Lists what is wrong after a scene that began with `before` jobs.
pub fn wrong_after(place: &Place, scene: &Scene, fault: &str, played: &Played, before: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let ran = &played.ran;
    if played.hung {
        wrong.push(format!("it hung: {ran}"));
    } else {
        ended_as_it_may(scene, fault, played, &mut wrong);
    }
    if played.stopped && ran.stderr.is_empty() {
        wrong.push(format!("it did not go on, and did not say why: {ran}"));
    }
    // The side log is read first, because the rows know of all that jobs have written before.
    let mut promises = promises(scene, ran, &place.side());
    let rows = match Rows::opened(&place.db(), Store::open_or_create) {
        Ok(rows) => rows,
        Err(why) => return [wrong, vec![why]].concat(),
    };
    wrong.extend(judge(&rows, &promises, Moment::Any));
    answer_is_true(scene, ran, &rows, before, &mut wrong);
    if scene.name == "backup" && ran.ended_well() {
        match Rows::opened(&place.path("copy.db"), Store::open_or_create) {
            Ok(copy) if copy.jobs.len() == rows.jobs.len() => wrong.extend(inconsistent(&copy)),
            Ok(_) => wrong.push("the copy is not whole".to_owned()),
            Err(why) => wrong.push(format!("the copy: {why}")),
        }
    }
    if scene.is_run() {
        wrong.extend(wrong_after_next_night(place, scene));
    }
    let ran = place.call("work -j4 --drain -q").run();
    if !only_told_of_deaths(&ran) || !matches!(ran.status(), Some(0 | 1)) {
        wrong.push(format!("the worker after it complained: {ran}"));
    }
    match Rows::opened(&place.db(), Store::open_or_create) {
        Ok(later) => {
            wrong.extend(rows.changed_in(&later));
            wrong.extend(leftover_processes(&later));
            promises.side = Promises::of([], Some(&place.side())).side;
            wrong.extend(judge(&later, &promises, Moment::Drained));
            wrong.extend(outputs_are_whole(place));
            if !is_a_reason_to_fail(fault) {
                wrong.extend(nobody_failed_for_it(&later));
            }
        }
        Err(why) => wrong.push(why),
    }
    wrong
}

/// Lists what is wrong when the same line has called `run` again: whatever this `run` had begun is finished then, unless its
/// dependency died because of the fault, so that it waits for a person.
fn wrong_after_next_night(place: &Place, scene: &Scene) -> Option<String> {
    let ran = place.call(scene.line).run();
    let left = "SELECT count(*) FROM jobs WHERE run_worker_id IS NOT NULL AND state IN ('pending', 'running')
                AND unmet_dependencies = 0";
    let is_done = ran.ended_well() && Sql::open(&place.db()).number(left) == 0;
    (!is_done).then(|| format!("the next night did not finish what was begun: {ran}"))
}

/// The promises that the call made by its output and by ending well.
fn promises(scene: &Scene, ran: &Finished, side: &str) -> Promises {
    let printed = if scene.line.starts_with("enqueue") { printed(ran) } else { Vec::new() };
    let mut promises = Promises::of(printed, Some(side));
    if scene.name == "retry" {
        promises.retries.insert(2, 1);
    }
    if ran.ended_well() {
        match scene.name {
            "cancel" => drop(promises.cancelled.insert(1)),
            "retry" => drop(promises.retried.insert(2, 2)),
            "pause" => drop(promises.paused.insert("later".to_owned())),
            _ => {}
        }
    }
    promises
}

/// The ids that it printed. What was printed in part is no id.
fn printed(ran: &Finished) -> Vec<u64> {
    let whole = ran.stdout.rsplit_once('\n').map_or("", |(lines, _)| lines);
    whole.lines().map(|line| line.parse().expect("an id")).collect()
}

fn ended_as_it_may(
    scene: &Scene,
    fault: &str,
    Played { ran, stopped, .. }: &Played,
    wrong: &mut Vec<String>,
) {
    if ran.stderr.contains("panicked at") {
        wrong.push(format!("it panicked: {ran}"));
    } else if !(ran.status().is_some_and(|status| STATUSES.contains(&status))
        || *stopped && ran.status() == Some(CUT_SHORT)
        || scene.is_run() && ran.status() == Some(CANNOT_START))
    {
        wrong.push(format!("it ended with no documented status: {ran}"));
    } else if !matches!(ran.status(), Some(0 | 1))
        && ran.stderr.trim().is_empty()
        && !cannot_speak(scene, fault)
    {
        wrong.push(format!("it does not say why: {ran}"));
    }
}

/// Standard error itself has no room: a `run` writes to it, a file here, by a descriptor of its own.
fn cannot_speak(scene: &Scene, fault: &str) -> bool {
    scene.is_run() && fault.starts_with("write:") && fault.contains(":ever:")
}

/// As many jobs were added as it says: a call that fails has added none, or says that they are on disk.
fn answer_is_true(scene: &Scene, ran: &Finished, rows: &Rows, before: usize, wrong: &mut Vec<String>) {
    let added = rows.jobs.len() - before;
    if scene.line.starts_with("enqueue") {
        let printed = printed(ran).len();
        if ran.ended_well() && printed != scene.adds {
            wrong.push(format!("it ended well and printed {printed} ids: {ran}"));
        }
        if added != 0 && added != scene.adds {
            wrong.push(format!("{added} of {} jobs were added: {ran}", scene.adds));
        }
        if added != 0
            && !ran.ended_well()
            && !["is on disk", "are on disk"].iter().any(|w| ran.stderr.contains(w))
        {
            wrong.push(format!("jobs were added, and nobody is told: {ran}"));
        }
    } else if added > scene.adds {
        wrong.push(format!("{added} jobs came out of nowhere: {ran}"));
    }
    if scene.name == "fire" && ran.ended_well() && added != 1 {
        wrong.push(format!("it ended well and did not fire: {ran}"));
    }
}

/// With this fault a job cannot be started, or cannot open what it needs, and that will not pass.
fn is_a_reason_to_fail(fault: &str) -> bool {
    let errno = fault.split(':').nth(3).and_then(|errno| errno.parse().ok());
    match fault.split(':').next() {
        Some("open") => [Some(libc::EACCES), Some(libc::EIO)].contains(&errno),
        Some("spawn") => errno == Some(libc::EPERM),
        _ => false,
    }
}

/// No job fails for good because the machine lacked something, or because a worker ended over it.
fn nobody_failed_for_it(rows: &Rows) -> Vec<String> {
    let well = |name: &str| ["good", "reader", "held"].contains(&name);
    let failed = rows.jobs.iter().filter(|(_, job)| well(&job.name) && job.state == "dead");
    failed.map(|(id, job)| format!("job {id} failed for it: {job:?}")).collect()
}

/// Checks that the whole output of each successful attempt is stored.
fn outputs_are_whole(place: &Place) -> Vec<String> {
    let sql = Sql::open(&place.db());
    let succeeded = sql.all(
        "SELECT a.job_id, a.number, j.name, CAST(o.stdout AS TEXT) FROM attempts AS a JOIN jobs AS j ON j.id = a.job_id
         LEFT JOIN outputs AS o ON o.job_id = a.job_id AND o.number = a.number WHERE outcome = 'succeeded'",
        |row| Ok((row.get::<_, u64>(0)?, row.get::<_, u32>(1)?, row.get::<_, String>(2)?, row.get(3)?)),
    );
    let mut wrong = Vec::new();
    for (id, number, name, output) in succeeded {
        let expected = match name.as_str() {
            "good" => "fine\n".to_owned(),
            "reader" => format!("{}\n", input().len()),
            _ => continue,
        };
        let output: Option<String> = output;
        if output.as_ref() != Some(&expected) {
            wrong.push(format!("attempt {number} of job {id} ({name}) wrote {expected:?}, not {output:?}"));
        }
    }
    wrong
}
