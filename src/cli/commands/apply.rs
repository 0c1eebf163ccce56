//! `runner apply`

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::cli::args::{Apply, Global};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::{Output, Written, warn};
use crate::cli::plan::check_limits;
use crate::cli::worker_status::{WorkerStatus, worker_statuses};
use crate::clock;
use crate::jobfile::JobFile;
use crate::store::{Applied, ApplySchedule, Change, Declarations, Kind, ScheduleRow, Store};
use crate::text::{Timestamp, local_time, relative_time};
use crate::wake;

/// Makes the schedules and queue limits of the database those of the job file.
pub fn run(global: &Global, args: &Apply, out: &mut Output) -> Result<ExitStatus> {
    let file = locate::named_job_file(global, args.path.as_deref())?;
    let path = canonical(&file.path)?;
    let wanted = schedules(&file);
    for schedule in &wanted {
        for link in schedule.chain.before.iter().chain([&schedule.chain.last]) {
            check_limits(&link.spec, &[])?;
        }
    }
    let declared = Declarations { file: &path, schedules: &wanted, queues: &file.queues };
    let now = clock::now();
    let mut has_worker = true;
    let applied = if args.dry_run {
        Store::plan_apply(locate::open_if_there(global)?.as_ref(), declared, now)?
    } else {
        let mut store = locate::open_or_create(global)?;
        let applied = store.apply(declared, &clock::now)?;
        wake::wake_workers(&store.file().run_dir());
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

/// The path by which the database knows the file, whatever links lead there.
pub fn canonical(path: &Path) -> Result<String> {
    let path = fs::canonicalize(path).with_context(|| format!("could not find {}", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// The schedules that a job file declares.
pub fn schedules(file: &JobFile) -> Vec<ApplySchedule> {
    let scheduled = file.jobs.iter().filter_map(|job| Some((job, job.schedule.clone()?)));
    scheduled.map(|(job, text)| ApplySchedule { chain: file.chain(job), text }).collect()
}

/// The names of the applied schedules that differ from what their file declares now.
pub fn stale<'r>(rows: &[&'r ScheduleRow], file: &JobFile) -> Vec<&'r str> {
    let declared = schedules(file);
    let differs = |row: &&&ScheduleRow| !declared.iter().any(|schedule| row.matches(schedule));
    rows.iter().filter(differs).map(|row| row.name()).collect()
}

fn show(
    out: &mut Output,
    Applied { name, change, kind }: &Applied,
    dry_run: bool,
    now: Timestamp,
) -> Written {
    let (word, told) = match kind {
        Kind::Schedule { next_at } => {
            let told = |at| format!(", next {} ({})", local_time(at), relative_time(at, now));
            ("schedule", next_at.map(told).unwrap_or_default())
        }
        Kind::Queue { before, .. } if *change == Change::Removed => ("queue", format!(": {before}")),
        Kind::Queue { after, .. } if *change == Change::Added => ("queue", format!(": {after}")),
        Kind::Queue { before, after } => ("queue", format!(" from {before} to {after}")),
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
