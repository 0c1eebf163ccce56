//! The states of the disk that are looked at: each is built, opened with the real store and judged, and some are handed to
//! the real program.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use runner::store::Store;
use tempfile::TempDir;

use super::choices::{Choice, choices, fingerprint, tell};
use super::disk::{Disk, Node, Part};
use super::journal::{Record, Story};
use super::scenario::{BATCH, DB, PAUSED, Recording};
use crate::evidence::{Rows, side_log};
use crate::judge::{Moment, judge};
use crate::support::{Finished, Sql};
use crate::tools::{Plan, Violations, only_told_of_deaths, own_workers};

/// As many states are looked at side by side.
const THREADS: usize = 2;

/// A state: after this record, this choice.
type State = (usize, Choice);

/// Looks at as many states as are asked for, each once, and gives how many there were.
pub fn check(recording: &Recording, plan: Plan, violations: &Violations) -> usize {
    let states = chosen(recording, plan);
    let moments = states.iter().map(|(at, _)| at).collect::<HashSet<_>>().len();
    // Every such one is handed to the real program.
    let every = states.len().div_ceil(24.max(states.len() / 500));
    let revived = states.len().div_ceil(every);
    println!(
        "{} states at {moments} moments, {revived} of them brought to their end by the program",
        states.len()
    );
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let own = states.iter().enumerate().filter(move |(number, _)| number % THREADS == thread);
            scope.spawn(move || walk(recording, own.collect(), every, violations));
        }
    });
    states.len()
}

/// Which states there are; where there are more than are asked for, which of them are looked at.
///
/// A state that the disk can be in at several moments is looked at at the last of them, when most had been promised.
fn chosen(recording: &Recording, plan: Plan) -> Vec<State> {
    let most = usize::try_from(plan.length).expect("64 bits");
    let mut found: HashMap<u64, State> = HashMap::new();
    let (mut random, mut before) = (0, 0);
    while found.len() < most && random < 10_000 {
        let mut disk = Disk::default();
        for (number, record) in recording.records.iter().enumerate() {
            disk.play(number, record);
            if number < recording.first || recording.records.get(number + 1).is_some_and(Record::only_adds) {
                continue; // what may be on the disk now may be there then too
            }
            let seed = plan.seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for choice in choices(&disk.pending, random, seed) {
                let print = fingerprint(&disk, &choice.parts(&disk.pending));
                found.insert(print, (number, choice));
            }
        }
        assert!(found.len() > before, "there are no more states than {before}");
        before = found.len();
        random = 2 * random + 4;
    }
    let mut states: Vec<_> = found.into_iter().collect();
    // By fingerprint: as good as dice, and the same for the same recording.
    states.sort_unstable_by_key(|(print, _)| print ^ plan.seed);
    states.truncate(most);
    let mut states: Vec<State> = states.into_iter().map(|(_, state)| state).collect();
    states.sort_by_key(|(at, _)| *at);
    states
}

/// Plays the journal, and looks at these states on the way.
fn walk(recording: &Recording, states: Vec<(usize, &State)>, every: usize, violations: &Violations) {
    let (mut disk, mut story) = (Disk::default(), Story::default());
    story.promises.batches.insert(BATCH.0.to_owned(), BATCH.1);
    story.promises.prunes = recording.last.prunes;
    story.promises.silent =
        recording.origin.iter().flat_map(|origin| origin.rows.jobs.keys()).max().map_or(0, |id| *id);
    let mut states = states.into_iter().peekable();
    for (number, record) in recording.records.iter().enumerate() {
        disk.play(number, record);
        story.take(record);
        while let Some((index, (_, choice))) = states.next_if(|(_, (at, _))| *at == number) {
            let parts = choice.parts(&disk.pending);
            let folder = folder();
            build(&disk, &parts, folder.path(), index % 2 == 0);
            let db = folder.path().join(DB);
            let mut wrong = wrong_at_once(&db, &story, recording);
            if index % every == 0 && wrong.is_empty() {
                build(&disk, &parts, folder.path(), index % 2 == 0);
                wrong = wrong_after_revival(recording, folder.path(), &db, &story);
            }
            if !wrong.is_empty() {
                let last = recording.records[..=number].iter().rev().take(4).rev();
                let acts: Vec<_> =
                    last.map(|record| format!("    {}", short(&format!("{:?}", record.act)))).collect();
                violations.add(format!(
                    "after record {number}, {choice:?}: {}\n  the last acts:\n{}\n  not certain, and what was there:\n{}",
                    wrong.join("\n  and "),
                    acts.join("\n"),
                    tell(&disk, &parts),
                ));
            }
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(160).collect()
}

/// A folder in memory, where there is one: syncing takes no time there.
fn folder() -> TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    folder.expect("a temporary folder")
}

/// Puts the disk as the crash has left it into an empty folder.
fn build(disk: &Disk, parts: &[Part], folder: &Path, with_fleeting: bool) {
    let image = disk.after(parts);
    for entry in fs::read_dir(folder).expect("the folder").flatten() {
        fs::remove_dir_all(entry.path()).expect("it is a folder");
    }
    let mut lost: Vec<&PathBuf> = Vec::new();
    for (path, node) in &image.names {
        // Names come after those of the folders that they are in. A folder that was lost takes along what was in it.
        let parent = path.parent().unwrap_or(Path::new(""));
        if !folder.join(parent).is_dir() || lost.iter().any(|lost| path.starts_with(lost)) {
            lost.push(path);
            continue;
        }
        match node {
            Node::Folder => DirBuilder::new().mode(0o700).create(folder.join(path)).expect("a folder"),
            Node::File(file) => {
                let content = image.files.get(file).map_or(&[][..], |content| content.as_slice());
                put(&folder.join(path), content);
            }
        }
    }
    if with_fleeting {
        leave_traces(disk, folder);
    }
}

/// Leaves what need not survive and may: locks of workers, and an index of the write-ahead log that is garbage.
fn leave_traces(disk: &Disk, folder: &Path) {
    for (path, content) in &disk.fleeting {
        if folder.join(path).parent().is_some_and(Path::is_dir) {
            put(&folder.join(path), content);
        }
    }
    let db = folder.join(DB);
    if db.with_extension("db-wal").exists() {
        put(&db.with_extension("db-shm"), &vec![0x5a; 32768]);
    }
}

fn put(path: &Path, content: &[u8]) {
    let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content)).expect("a file");
}

/// Lists what is wrong with the database that the crash has left.
fn wrong_at_once(db: &Path, story: &Story, recording: &Recording) -> Vec<String> {
    let Recording { last: later, origin, .. } = recording;
    let mut wrong = Vec::new();
    // As `enqueue` opens it: what was lost altogether is created anew.
    match Rows::opened(db, Store::open_or_create) {
        Err(why) => wrong.push(why),
        Ok(rows) => {
            wrong.extend(origin.iter().flat_map(|origin| origin.changed_in(db, &rows)));
            wrong.extend(rows.changed_in(later));
            wrong.extend(judge(&rows, &story.promises, Moment::Any));
        }
    }
    for (name, promises) in &story.copies {
        match Rows::opened(&db.with_file_name(name), Store::open) {
            Err(why) => wrong.push(format!("the copy {name}: {why}")),
            Ok(rows) => {
                wrong.extend(rows.changed_in(later));
                let broken = judge(&rows, promises, Moment::Any);
                wrong.extend(broken.into_iter().map(|what| format!("the copy {name}: {what}")));
            }
        }
    }
    wrong
}

/// Lets the real program go on, with the doctor and then with a worker that brings every job to its end, and lists what is
/// wrong then. The database lies in `folder`, which is used up.
fn wrong_after_revival(recording: &Recording, folder: &Path, db: &Path, story: &Story) -> Vec<String> {
    let mut wrong = Vec::new();
    let side = folder.join("side");
    let run = |line: &str| {
        let call = recording.call(line).env("RUNNER_DB", db).env("SIDE", &side);
        call.env("HOLD", recording.sandbox.path("hold")).run()
    };
    if !db.exists() {
        run("enqueue good").exits(0).prints("1\n");
    }
    // The machine was started anew: what ran before is gone, whichever process has its process ids now.
    Sql::open(db).run("UPDATE workers SET boot_id = 'before the power cut'");
    own_workers(db);
    let before = Rows::read(db).expect("it was read before");
    let ran = run("doctor --json");
    let problems = ran.json()["problems"].as_array().cloned().unwrap_or_default();
    // Nobody has dealt with the dead worker yet.
    if problems.iter().any(|problem| problem["rule"] != "running jobs have a worker") {
        wrong.push(format!("the doctor found something: {ran}"));
    }
    run(&format!("resume {PAUSED}")).exits(0);
    run("resume --all").exits(0);
    if recording.origin.is_some() {
        run("resume closed").exits(0);
        wrong.extend(wrong_after_work(&run("work -j4 --until-idle -q")));
        // Nobody waits for what an earlier version puts off for years.
        let years = "state = 'pending' AND run_at > (unixepoch() + 86400) * 1000";
        let far = format!("SELECT CAST(id AS TEXT) FROM jobs WHERE {years}");
        let far = Sql::open(db).all(&far, |row| row.get::<_, String>(0)).join(" ");
        run(&format!("cancel {far}")).exits(0);
    }
    for name in recording.nightly {
        wrong.extend(wrong_after_next_night(db, name, &run(&format!("run {name} --json"))));
    }
    wrong.extend(wrong_after_work(&run("work -j4 --drain -q")));
    let after = Rows::read(db).expect("it was read before");
    wrong.extend(before.changed_in(&after));
    let mut promises = story.after_crash();
    promises.paused.clear();
    promises.side.get_or_insert_default().extend(side_log(&fs::read_to_string(&side).unwrap_or_default()));
    wrong.extend(judge(&after, &promises, Moment::Drained));
    let ran = run("doctor");
    if !ran.ended_well() {
        wrong.push(format!("the doctor found something in the end: {ran}"));
    }
    wrong
}

fn wrong_after_work(ran: &Finished) -> Option<String> {
    let is_well = only_told_of_deaths(ran) && matches!(ran.status(), Some(0 | 1));
    (!is_well).then(|| format!("the worker complained: {ran}"))
}

/// Lists what is wrong when the line of the night after the power cut has run this job: it has to go on with what an earlier
/// night left, if that can go on, and to leave nothing.
fn wrong_after_next_night(db: &Path, name: &str, ran: &Finished) -> Vec<String> {
    if !ran.ended_well() {
        return vec![format!("the next night failed: {ran}")];
    }
    let (job, sql) = (ran.json(), Sql::open(db));
    let number =
        |what: &str| sql.number(&format!("SELECT count(*) FROM jobs WHERE name = '{name}' AND {what}"));
    let mut wrong = Vec::new();
    if job["state"] != "succeeded" || number("state IN ('pending', 'running')") > 0 {
        wrong.push(format!("the next night left something of {name}: {ran}"));
    }
    // Each of the jobs has ended, so one that the call did not go on with had ended before.
    if number(&format!("id > {}", job["id"])) > 0 {
        wrong.push(format!("the next night went on with an old job and enqueued another: {ran}"));
    }
    wrong
}
