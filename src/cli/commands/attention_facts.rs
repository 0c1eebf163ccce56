//! Gives the store the facts for its list of what needs attention that the database does not have: which workers are alive,
//! and which job files have changed. The overview, the page, the metrics and `doctor` show the list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use rustix::process::geteuid;

use super::apply;
use crate::call_target::CallTarget;
use crate::cli::accounts;
use crate::cli::job_file;
use crate::cli::named_file::{self, NoText};
use crate::cli::workers::with_liveness;
use crate::jobfile::JobFile;
use crate::model::Attention;
use crate::process::{Leftover, boot_id, obstacles};
use crate::store::problem::{AttentionEntry, LeftProcess, Problem};
use crate::store::{
    ChangedFile, FileChange, Filter, Leftovers, Liveness, Store, StoredSchedule, Surroundings, WorkerStatus,
};
use crate::text::{Timestamp, machine_zone};
use crate::view::advice;
use crate::view::snapshot::Snapshot;
use crate::worker;

/// Looks at the database. Name, label and queue of the filter narrow the list of what needs attention, and nothing else.
pub(super) fn read_snapshot(store: &Store, filter: &Filter, now: Timestamp) -> Result<Snapshot> {
    let (overview, schedules) = store.at_one_moment(|| Ok((store.overview(now)?, store.schedules()?)))?;
    let workers = with_liveness(store, overview.workers.clone())?;
    let files = changed_files(store, &schedules, now)?;
    let leftovers = leftovers(store, &workers)?;
    let seen = Surroundings {
        queues: &overview.queues,
        workers: &workers,
        schedules: &schedules,
        files: &files,
        leftovers: &leftovers,
    };
    let attention =
        advice::attention(store.attention(seen, filter, now)?, &workers, CallTarget::of_this_call(), now);
    Ok(Snapshot { overview, workers, schedules, attention, boot_id: boot_id() })
}

/// Schedules of which a job cannot start on this machine. A dead network share can hold this up, so no screen looks.
pub(super) fn cannot_start(schedules: &[StoredSchedule], now: Timestamp) -> Vec<Attention> {
    let of = |row: &StoredSchedule| {
        let mut missing: Vec<String> =
            row.chain.links().flat_map(|link| obstacles(&link.definition, false)).collect();
        missing.sort();
        missing.dedup();
        Problem::CannotStart { schedule: row.name().to_owned(), missing }.alarm()
    };
    let has_any = |found: &AttentionEntry| matches!(&found.problem, Problem::CannotStart { missing, .. } if !missing.is_empty());
    let found = schedules.iter().filter(|row| !row.is_paused()).map(of).filter(has_any).collect();
    advice::attention(found, &[], CallTarget::of_this_call(), now)
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
pub(super) fn changed_files(
    store: &Store,
    schedules: &[StoredSchedule],
    now: Timestamp,
) -> Result<Vec<ChangedFile>> {
    // A zone that has no name is another one, too.
    let zone = machine_zone(now);
    let machine = zone.as_ref().unwrap_or_else(|nameless| nameless);
    let applied = store.applied_files()?;
    let mut files: BTreeMap<&str, Vec<&StoredSchedule>> = BTreeMap::new();
    files.extend(applied.iter().map(|path| (path.as_str(), Vec::new())));
    for row in schedules {
        files.entry(&row.file).or_default().push(row);
    }
    let all = |rows: &[&StoredSchedule]| rows.iter().map(|row| row.name().to_owned()).collect::<Vec<_>>();
    let mut changed = Vec::new();
    for (path, rows) in files {
        let at = Path::new(path);
        let text = named_file::read(at);
        let definitions = rows.iter().map(|row| &row.chain.root.definition);
        let shown = if text.is_ok() { job_file::as_named(at, definitions) } else { at.to_owned() };
        let file = text.map(|text| JobFile::parse(&shown, &text));
        let declared = if let Ok(Ok(file)) = &file { file.queues.clone() } else { BTreeMap::new() };
        let queues = store.limits_that_differ(path, &declared)?;
        let (change, names, undeclared) = match file {
            Ok(Ok(file)) => {
                let edited = differing(&file, &rows, schedules);
                let moved = apply::moved(&rows, machine, now);
                let change = match (edited.is_empty() && queues.is_empty(), moved.is_empty()) {
                    (_, true) => FileChange::Edited,
                    _ if zone.is_err() => FileChange::NamelessZone(machine.clone()),
                    (true, false) => FileChange::Zone(machine.clone()),
                    (false, false) => FileChange::EditedAndZone(machine.clone()),
                };
                let names: BTreeSet<String> = moved.into_iter().map(str::to_owned).chain(edited).collect();
                let undeclared = all(&rows).into_iter().filter(|name| file.job(name).is_none()).collect();
                (change, names.into_iter().collect(), undeclared)
            }
            Err(NoText::Gone) => (FileChange::Gone, all(&rows), all(&rows)),
            Err(NoText::NotRead(why)) => (FileChange::NotRead(why), all(&rows), Vec::new()),
            Ok(Err(_)) | Err(NoText::Unreadable) => (FileChange::Unusable, all(&rows), all(&rows)),
        };
        if !names.is_empty() || !queues.is_empty() {
            let path = shown.to_string_lossy().into_owned();
            changed.push(ChangedFile { path, change, schedules: names, undeclared, queues });
        }
    }
    Ok(changed)
}

/// The names of the schedules that were applied from the file and differ, and of those that it declares and nobody applied.
fn differing(file: &JobFile, rows: &[&StoredSchedule], schedules: &[StoredSchedule]) -> Vec<String> {
    let stale = apply::stale(rows, file).into_iter().map(str::to_owned);
    stale.chain(apply::not_applied(file, schedules)).collect()
}
