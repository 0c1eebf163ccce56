//! `runner prune`, `runner backup` and `runner restore`. Each may take long, so it shows a progress bar.

use anyhow::{Result, bail};
use serde_json::json;

use crate::call_target::to_type;
use crate::cli::args::{BackupArgs, Global, PruneArgs, RestoreArgs};
use crate::cli::change_watch::ChangeWatch;
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus, describe};
use crate::cli::job_file;
use crate::cli::namesakes::say_all;
use crate::clock;
use crate::model::JobState;
use crate::store::{Kept, PruneFilter, Restored, RunAgain, Store, StoreError, StoreFile};
use crate::text::{counted, listed, shown_path};
use crate::view::terminal::{Bar, Output, warn};
use crate::worker;

/// The states that are removed by default. Dead letters are kept until somebody says `--state dead`.
const STOPPED: &str = "stopped before all was done; prune again to go on";

/// Removes finished jobs, or counts those that would be removed.
pub fn prune(global: &Global, args: &PruneArgs, out: &mut Output) -> Result<ExitStatus> {
    let Some(mut store) = database::open_if_there(global)? else {
        out.done(&json!({ "removed": 0 }), database::missing_text(global)?);
        return Ok(ExitStatus::SUCCESS);
    };
    let filter = filter(args);
    if let Some(name) = filter.name.as_deref().filter(|_| !global.quiet) {
        say_all(&store, name)?;
    }
    if !args.dry_run {
        database::warn_of_readers(global, store.file());
    }
    if args.dry_run {
        let jobs = store.count_prunable(&filter)?;
        report_prune(out, "would remove", jobs, Some(kept(&store, &filter)?));
        return Ok(ExitStatus::SUCCESS);
    }
    let changes = ChangeWatch::start()?;
    let mut bar = Bar::new(global.quiet, "{pos} of {len} removed");
    let all = if bar.is_visible() { store.count_prunable(&filter)? } else { 0 };
    let jobs = store.prune(&filter, &mut |gone| {
        bar.set(gone, all);
        changes.stopped().is_none()
    })?;
    drop(bar);
    let kept = if changes.stopped().is_none() { Some(kept(&store, &filter)?) } else { None };
    report_prune(out, "removed", jobs, kept);
    if let Some(exit) = changes.stopped() {
        warn(STOPPED);
        return Ok(exit);
    }
    worker::remove_abandoned_files(&store)?;
    let is_erased = store.erase_removed(&mut || changes.stopped().is_none())?;
    if let Some(exit) = changes.stopped() {
        warn(STOPPED);
        return Ok(exit);
    }
    if !is_erased {
        warn(&format!(
            "what was removed can still be found in {} or its log, because another program keeps reading the \
             database; prune again when it has ended",
            shown_path(store.file().path())
        ));
    }
    Ok(ExitStatus::SUCCESS)
}

/// The selected jobs that a prune leaves: for jobs that are after them, and for deaths that they make good.
fn kept(store: &Store, filter: &PruneFilter) -> Result<(Option<Kept>, u64)> {
    Ok((store.kept_for_others(filter)?, store.kept_for_deaths(filter)?))
}

/// Says how many jobs were removed, and how many were left, and why.
fn report_prune(out: &mut Output, verb: &str, jobs: u64, kept: Option<(Option<Kept>, u64)>) {
    let mut words = vec![format!("{verb} {}", counted(jobs, "job"))];
    let (for_others, for_deaths) = kept.unwrap_or_default();
    let mut left = for_deaths;
    if let Some(Kept { jobs, id, dependent, dependent_name, is_in_its_place }) = for_others {
        left += jobs;
        let relation = if is_in_its_place { "has taken its place" } else { "is after it" };
        let more = jobs - 1;
        let others = if more == 0 { String::new() } else { format!(", and {more} more for the same reason") };
        words.push(format!(
            "left job {id}, because job {dependent} {dependent_name}, which {relation}, has not ended{others}; \
             {} says why",
            to_type("inspect", dependent)
        ));
    }
    if for_deaths > 0 {
        words.push(format!(
            "left {}, because only this success makes unresolved deaths good; {} resolves them",
            counted(for_deaths, "job"),
            to_type("resolve", "--dead --recovered")
        ));
    }
    let mut json = json!({ "removed": jobs });
    if left > 0 {
        json["left"] = left.into();
    }
    out.done(&json, words.join("\n"));
}

fn filter(args: &PruneArgs) -> PruneFilter {
    let now = clock::now();
    let states = if args.state.is_empty() { &PruneFilter::DEFAULT_STATES[..] } else { &args.state };
    PruneFilter {
        states: JobState::ALL.iter().copied().filter(|state| states.contains(state)).collect(),
        name: args.name.clone(),
        queue: args.queue.clone(),
        until: now.minus(args.older_than.unwrap_or_default()),
    }
}

/// Copies the database, never over an existing file.
pub fn backup(global: &Global, args: &BackupArgs, out: &mut Output) -> Result<ExitStatus> {
    let mut store = database::open(global)?;
    job_file::refuse_foreign_link(&args.target)?;
    let shown = shown_path(&args.target);
    if args.target.symlink_metadata().is_ok() {
        bail!(CliError::exists(&args.target).hint("name a file that does not exist"));
    }
    let mut bar = Bar::new(global.quiet, "{percent}% copied");
    store.backup(&args.target, &mut |copied, all| bar.set(copied, all)).map_err(|error| match error {
        StoreError::Io(..) => {
            describe(&error.into()).hint("name a file in a folder that you may write").into()
        }
        other => anyhow::Error::from(other),
    })?;
    drop(bar);
    let path = args.target.display().to_string();
    out.done(&json!({ "backup": path }), format!("copied to {shown}"));
    Ok(ExitStatus::SUCCESS)
}

/// The hint for a file that cannot be restored.
fn other_copy() -> String {
    format!("name another file, one that `{}` made", to_type("backup", ""))
}

/// Puts a checked copy in the place of the database, and keeps the old one beside it.
pub fn restore(global: &Global, args: &RestoreArgs, out: &mut Output) -> Result<ExitStatus> {
    let (db, source) = (database::store_file(global)?, StoreFile::new(&args.source)?);
    let (shown_db, shown_source) = (shown_path(db.path()), shown_path(&args.source));
    if source == db {
        bail!(
            CliError::usage(format!("{shown_source} is the database itself, not a copy of it"))
                .hint(other_copy())
        );
    }
    let copy = Store::open_as_it_is(source).map_err(no_copy)?;
    if worker::is_any_alive(&db) {
        bail!(
            CliError::new(
                ExitStatus::LATER,
                format!("nothing was restored: a worker is running on {shown_db}")
            )
            .hint(format!("stop it and try again; `{}` shows its pid", to_type("inspect", "workers")))
        );
    }
    let mut bar = Bar::new(global.quiet, "{percent}% copied");
    let end_leftovers = |attempts| worker::end_leftovers(&db, attempts);
    let restored =
        copy.restore_to(&db, &mut |copied, all| bar.set(copied, all), &end_leftovers).map_err(|error| {
            match error {
                StoreError::Damaged(..) => no_copy(error),
                other => other.into(),
            }
        })?;
    drop(bar);
    let unread = unread(&restored);
    if let Some(what) = &unread {
        warn(what);
    }
    if !restored.fire_again.is_empty() {
        warn(&format!(
            "these schedules fired since the copy was made, and may fire again for the same time: {}; to prevent that, type before you start a worker \
             for each: {}, then {}",
            listed(&restored.fire_again, MAX_NAMED),
            to_type("pause", "--schedule NAME"),
            to_type("resume", "--schedule NAME")
        ));
    }
    if !restored.lost_pauses.is_empty() {
        let names = listed(&restored.lost_pauses, MAX_NAMED);
        warn(&format!(
            "this was paused, and is not in the copy, or not for as long: {names}; pause them again before you start a worker"
        ));
    }
    if !restored.paused_again.is_empty() {
        let names = listed(&restored.paused_again, MAX_NAMED);
        warn(&format!(
            "this is paused again, as it was in the copy: {names}; {} ends it",
            to_type("resume", "…")
        ));
    }
    if restored.kept.is_none() && restored.kept_log.is_none() {
        database::say_that_it_is_new(global, &db);
    }
    database::warn_of_readers(global, &db);
    let what = if restored.kept.is_some() { "the old database" } else { "the log of the old database" };
    let kept = restored.kept.as_ref().or(restored.kept_log.as_ref());
    let old = kept.map(|path| format!("\n{what} is kept: {}", shown_path(path)));
    let again = run_again(&restored.run_again);
    let said = format!("{shown_db} is now the copy {shown_source}{}{again}", old.unwrap_or_default());
    let jobs: Vec<_> = restored.run_again.iter().map(run_again_json).collect();
    let kept = kept.map(|path| path.display().to_string());
    let db = db.path().display().to_string();
    out.done(&json!({ "db": db, "kept": kept, "run_again": jobs, "unread": unread }), said);
    Ok(ExitStatus::SUCCESS)
}

/// At most this number of jobs is named, and at most [`MAX_IDS`] stand in a command.
const MAX_NAMED: usize = 5;
const MAX_IDS: usize = 20;

/// The lines about jobs that will run again or are lost, and what to type against that.
fn run_again(jobs: &[RunAgain]) -> String {
    if jobs.is_empty() {
        return String::new();
    }
    let lines = [
        (false, "that started or ended since the copy was made will run again"),
        (
            true,
            "that the copy has running will be recorded as lost, and run again only where the policy says so",
        ),
    ];
    let lines = lines.map(|(was_running, what)| {
        let jobs: Vec<_> = jobs.iter().filter(|job| job.was_running == was_running).collect();
        let shown = jobs.iter().take(MAX_NAMED).map(|job| format!("{} {} ({})", job.id, job.name, job.state));
        let shown: Vec<String> = shown.collect();
        let more = if jobs.len() > MAX_NAMED { ", …" } else { "" };
        let line = format!("\n{} {what}: {}{more}", counted(jobs.len(), "job"), shown.join(", "));
        if jobs.is_empty() { String::new() } else { line }
    });
    let what_to_do = if jobs.len() > MAX_IDS {
        format!(
            "before you start a worker, look with {}, and cancel what should not run",
            to_type("inspect", "jobs --state ready")
        )
    } else {
        let ids: Vec<String> = jobs.iter().map(|job| job.id.to_string()).collect();
        format!("to prevent that, type before you start a worker: {}", to_type("cancel", ids.join(" ")))
    };
    format!("{}\n{what_to_do}", lines.concat())
}

fn run_again_json(job: &RunAgain) -> serde_json::Value {
    json!({ "job_id": job.id, "name": job.name, "state": job.state })
}

/// The parts of the old database that could not be read, because it is damaged.
fn unread(restored: &Restored) -> Option<String> {
    let id = restored.uncertain_id.map(|last| {
        format!("not all ids that it gave out could be read, so ids above {last} may be given out again")
    });
    let jobs = (restored.uncertain_jobs > 0).then(|| {
        format!(
            "whether {} ended since the copy was made could not be read: look with {}, and cancel what should not run, \
             before you start a worker",
            counted(restored.uncertain_jobs, "unfinished job"),
            to_type("inspect", "jobs")
        )
    });
    let all: Vec<String> = id.into_iter().chain(jobs).collect();
    (!all.is_empty()).then(|| format!("the old database is damaged: {}", all.join("; ")))
}

/// The error for a file that is no usable copy of a database.
fn no_copy(error: StoreError) -> anyhow::Error {
    let hint = match error {
        StoreError::OtherMajor { .. } | StoreError::ForeignTrigger(..) | StoreError::LostMark { .. } => None,
        StoreError::Untrusted(_) => {
            Some("if you trust what it says, copy it into a folder of your own and restore that".to_owned())
        }
        _ => Some(other_copy()),
    };
    let failure = describe(&error.into());
    match hint {
        Some(hint) => failure.hint(hint).into(),
        None => failure.into(),
    }
}
