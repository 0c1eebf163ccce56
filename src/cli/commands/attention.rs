//! Gives the store the facts for its list of what needs attention that the database does not have: which workers are alive,
//! and which job files have changed. The overview, the page, the metrics and `doctor` show the list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use rustix::process::geteuid;

use super::apply;
use crate::cli::accounts;
use crate::cli::named_file::{self, NoText};
use crate::cli::status::with_liveness;
use crate::jobfile::JobFile;
use crate::model::{Attention, AttentionKind};
use crate::place::{Place, runner};
use crate::process::Leftover;
use crate::store::problem::LeftProcess;
use crate::store::{
    ChangedFile, DeclaredSchedule, FileChange, Filter, Leftovers, Liveness, Overview, Store, StoredSchedule,
    Surroundings, WorkerStatus,
};
use crate::text::{Timestamp, counted, machine_zone, safe_line};
use crate::view::advice;
use crate::view::terminal::{Output, Style};
use crate::worker;

/// A screen shows at least this number of entries, however low it is.
const MIN_SHOWN: usize = 3;

/// A screen keeps this number of rows for what comes after the list.
const ROWS_AFTER: usize = 10;

/// The overview, and the list of what needs attention, at one moment.
pub(super) struct Snapshot {
    pub overview: Overview,
    pub workers: Vec<WorkerStatus>,
    pub schedules: Vec<StoredSchedule>,
    pub attention: Vec<Attention>,
}

/// Looks at the database. Name, label and queue of the filter narrow the list of what needs attention, and nothing else.
pub(super) fn look(store: &Store, filter: &Filter, now: Timestamp) -> Result<Snapshot> {
    let (overview, schedules) = store.at_one_moment(|| Ok((store.overview(now)?, store.schedules()?)))?;
    let workers = with_liveness(store, overview.workers.clone())?;
    let files = changed_files(&schedules, now);
    let leftovers = leftovers(store, &workers)?;
    let seen = Surroundings {
        queues: &overview.queues,
        workers: &workers,
        schedules: &schedules,
        files: &files,
        leftovers: &leftovers,
    };
    let attention = advice::attention(store.attention(seen, filter, now)?, Place::of_this_call(), now);
    Ok(Snapshot { overview, workers, schedules, attention })
}

/// The processes of dead workers' attempts that could not be ended at once, as far as the caller can see them.
pub(super) fn leftovers(store: &Store, workers: &[WorkerStatus]) -> Result<Vec<Leftovers>> {
    let mut list = Vec::new();
    let owner = fs::metadata(store.file().path()).ok().map(|file| file.uid());
    for worker in workers {
        if worker.liveness != Liveness::Dead || worker.row.leftover_since.is_none() {
            continue;
        }
        let held = store.held_by(worker.row.id)?;
        let found = worker::leftovers(store.file(), &worker.row, &held);
        if found.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        // A process that cannot be seen may belong to any of its jobs.
        let all: BTreeSet<i64> = held.iter().map(|claim| claim.job_id).collect();
        let of = |found: &Vec<Leftover>| found.iter().map(|each| each.job_id).collect();
        let jobs: BTreeSet<i64> = found.as_ref().map_or(all, of);
        let found = found.unwrap_or_default();
        list.push(Leftovers {
            worker: worker.row.id,
            jobs: jobs.into_iter().collect(),
            processes: found.into_iter().map(|each| left_process(each, owner)).collect(),
        });
    }
    Ok(list)
}

/// `owner` is the user whom the database belongs to.
fn left_process(left: Leftover, owner: Option<u32>) -> LeftProcess {
    let Leftover { job_id: job, attempt, pid, command, user } = left;
    let me = geteuid();
    LeftProcess {
        pid,
        job,
        attempt,
        command,
        user: user.map(accounts::name_of),
        is_of_owner: user.is_some() && user == owner,
        may_be_ended: me.is_root() || user == Some(me.as_raw()),
    }
}

/// The job files that differ from what was applied from them, or would now be applied in another time zone.
pub(super) fn changed_files(schedules: &[StoredSchedule], now: Timestamp) -> Vec<ChangedFile> {
    // A zone that has no name is another one, too.
    let machine = machine_zone(now).unwrap_or_else(|unnamed| unnamed);
    let mut files: BTreeMap<&str, Vec<&StoredSchedule>> = BTreeMap::new();
    for row in schedules {
        files.entry(&row.file).or_default().push(row);
    }
    let all = |rows: &[&StoredSchedule]| rows.iter().map(|row| row.name().to_owned()).collect::<Vec<_>>();
    let changed = files.into_iter().map(|(path, rows)| {
        let at = Path::new(path);
        let file = named_file::read(at).map(|text| JobFile::parse(at, &text));
        let (change, names) = match file {
            Ok(Ok(file)) => match differing(&file, &rows, schedules) {
                names if names.is_empty() => {
                    let moved = apply::moved(&rows, &machine, now).into_iter().map(str::to_owned);
                    (FileChange::Zone(machine.clone()), moved.collect())
                }
                names => (FileChange::Edited, names),
            },
            Err(NoText::Gone) => (FileChange::Gone, all(&rows)),
            Err(NoText::NotRead(why)) => (FileChange::NotRead(why), all(&rows)),
            Ok(Err(_)) | Err(NoText::Unreadable) => (FileChange::Unusable, all(&rows)),
        };
        ChangedFile { path: path.to_owned(), change, schedules: names }
    });
    changed.filter(|file| !file.schedules.is_empty()).collect()
}

/// The names of the schedules that were applied from the file and differ, and of those that it declares and nobody applied.
fn differing(file: &JobFile, rows: &[&StoredSchedule], schedules: &[StoredSchedule]) -> Vec<String> {
    let mut names: Vec<String> = apply::stale(rows, file).into_iter().map(str::to_owned).collect();
    let is_applied = |name: &str| schedules.iter().any(|row| row.name() == name);
    let declared = apply::declared(file, None);
    names.extend(
        declared.iter().map(DeclaredSchedule::name).filter(|name| !is_applied(name)).map(str::to_owned),
    );
    names
}

/// Draws the list: a word and a sentence for each entry, and below them what to type. Unless the `whole` list is wanted, a low
/// screen shows a part, alarms first.
pub(super) fn draw(out: &mut Output, list: &[Attention], whole: bool) {
    for (index, entry) in list.iter().enumerate() {
        if !whole && index >= MIN_SHOWN && out.rows_left() < ROWS_AFTER {
            let left = list.len() - index;
            let alarms = match Attention::alarms(&list[index..]) {
                0 => String::new(),
                alarms => format!(" ({})", counted(alarms, "alarm")),
            };
            let all = runner("doctor", "--strict");
            let words = format!("… {left} more{alarms}: {all} shows them");
            return out.prose("          ", &out.paint(Style::Faint, &words));
        }
        let style = if entry.alarm { Style::Bad } else { Style::Warn };
        let word = format!("{:<9}", word(entry.kind));
        out.prose(&format!("{} ", out.paint(style, &word)), &entry.message);
        if let Some(command) = &entry.command {
            out.line(format!("          {}", out.paint(Style::Strong, &safe_line(command))));
        }
    }
}

/// A kind in at most nine characters.
pub(super) const fn word(kind: AttentionKind) -> &'static str {
    match kind {
        AttentionKind::DiskFull => "disk full",
        AttentionKind::NoWorker => "no worker",
        AttentionKind::Interrupted => "cut short",
        kind => kind.as_str(),
    }
}

/// A headline: how many alarms the list has, else how many notes; none for an empty list.
pub(super) fn headline(list: &[Attention]) -> Option<String> {
    let notes = (!list.is_empty()).then(|| format!("no alarm, {}", counted(list.len(), "note")));
    alarms_text(list).or(notes)
}

/// How many alarms the list has; none without any.
pub(super) fn alarms_text(list: &[Attention]) -> Option<String> {
    match Attention::alarms(list) {
        0 => None,
        1 => Some("one thing needs attention".to_owned()),
        alarms => Some(format!("{alarms} things need attention")),
    }
}
