//! `runner apply`. `check` and `inspect schedules` use its functions to find what was changed since it was applied.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::cli::args::{Apply, Global};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::{Output, Written, warn};
use crate::cli::plan::check_limits;
use crate::cli::status::{WorkerStatus, worker_statuses};
use crate::clock;
use crate::jobfile::JobFile;
use crate::store::{Applied, AppliedKind, Change, Declarations, DeclaredSchedule, StoredSchedule};
use crate::text::{Timestamp, local_time, relative_time};

/// Takes the schedules and queue limits of the job file into the database, and removes those that the file no longer
/// has.
pub fn run(global: &Global, args: &Apply, out: &mut Output) -> Result<ExitStatus> {
    let file = locate::named_job_file(global, args.path.as_deref())?;
    let path = canonical(&file.path)?;
    let wanted = schedules(&file);
    for schedule in &wanted {
        for link in schedule.chain.links() {
            check_limits(&link.definition, &[])?;
        }
    }
    let declared = Declarations { file: &path, schedules: &wanted, queues: &file.queues };
    let now = clock::now();
    let mut has_worker = true;
    let applied = if args.dry_run {
        locate::open_to_rehearse(global)?.rehearse(|store| store.apply(declared))??
    } else {
        let mut store = locate::open_or_create(global)?;
        let applied = store.apply(declared)?;
        has_worker = worker_statuses(&store)?.iter().any(WorkerStatus::is_alive);
        applied
    };
    if out.quiet {
        return Ok(ExitStatus::SUCCESS);
    }
    for change in &applied {
        show(out, change, args.dry_run, now)?;
    }
    if applied.iter().all(|applied| applied.change == Change::Unchanged) && !out.json {
        out.line("nothing changes: the database has what the file declares")?;
    }
    if !has_worker && !wanted.is_empty() {
        out.flush()?;
        warn("no worker is running: nothing fires until runner work does");
    }
    Ok(ExitStatus::SUCCESS)
}

/// The path by which the database knows the file. Links are resolved, so that a link to the file counts as the same
/// file.
pub fn canonical(path: &Path) -> Result<String> {
    let path = fs::canonicalize(path).with_context(|| format!("could not find {}", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// The schedules that a job file declares.
pub fn schedules(file: &JobFile) -> Vec<DeclaredSchedule> {
    let scheduled = file.jobs.iter().filter_map(|job| Some((job, job.schedule.clone()?)));
    scheduled.map(|(job, text)| DeclaredSchedule { chain: file.chain(job), text }).collect()
}

/// The names of the applied schedules that differ from what the file declares now.
pub fn stale<'r>(rows: &[&'r StoredSchedule], file: &JobFile) -> Vec<&'r str> {
    let declared = schedules(file);
    let differs = |row: &&&StoredSchedule| !declared.iter().any(|schedule| row.matches(schedule));
    rows.iter().filter(differs).map(|row| row.name()).collect()
}

fn show(
    out: &mut Output,
    Applied { name, change, kind }: &Applied,
    dry_run: bool,
    now: Timestamp,
) -> Written {
    let (word, told) = match kind {
        AppliedKind::Schedule { next_at } => {
            let told = |at| format!(", next {} ({})", local_time(at), relative_time(at, now));
            ("schedule", next_at.map(told).unwrap_or_default())
        }
        AppliedKind::Queue { before, .. } if *change == Change::Removed => ("queue", format!(": {before}")),
        AppliedKind::Queue { after, .. } if *change == Change::Added => ("queue", format!(": {after}")),
        AppliedKind::Queue { before, after } => ("queue", format!(" from {before} to {after}")),
    };
    if out.json {
        return out.object(&json!({ "kind": word, "name": name, "change": change }));
    }
    let done = if dry_run { "would be " } else { "" };
    match change {
        Change::Added => out.line(format!("+ {word} {name} {done}added{told}")),
        Change::Changed => out.line(format!("~ {word} {name} {done}changed{told}")),
        Change::Removed => out.line(format!("- {word} {name} {done}removed{told}")),
        Change::Unchanged => Ok(()),
    }
}
