//! `runner apply`

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::cli::args::{Apply, Global};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::{Output, Written};
use crate::cli::plan::check_limits;
use crate::clock;
use crate::jobfile::JobFile;
use crate::store::{Applied, ApplySchedule, Change, ScheduleRow, plan_apply};
use crate::text::{Timestamp, local_time, relative_time};
use crate::wake;

/// Makes the schedules of the database those of the job file.
pub fn run(global: &Global, args: &Apply, out: &mut Output) -> Result<ExitStatus> {
    let file = locate::job_file(global)?;
    let path = canonical(&file.path)?;
    let wanted = schedules(&file);
    for schedule in &wanted {
        check_limits(&schedule.spec, &[])?;
    }
    let now = clock::now();
    let applied = if args.dry_run {
        match locate::open_if_there(global)? {
            Some(store) => store.plan_apply(&path, &wanted, now)?,
            None => plan_apply(&[], &path, &wanted, now)?,
        }
    } else {
        let mut store = locate::open_or_create(global)?;
        let applied = store.apply(&path, &wanted, &clock::now)?;
        wake::wake_workers(&store.file().run_dir());
        applied
    };
    for change in &applied {
        show(out, change, now)?;
    }
    if applied.iter().all(|applied| applied.change == Change::Unchanged) && !out.json {
        out.remark("nothing changes: the database has what the file declares")?;
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
    scheduled.map(|(job, text)| ApplySchedule { spec: job.spec.clone(), text }).collect()
}

/// The names of the applied schedules that differ from what their file declares now.
pub fn stale<'r>(rows: &[&'r ScheduleRow], file: &JobFile) -> Vec<&'r str> {
    let declared = schedules(file);
    let differs = |row: &&&ScheduleRow| !declared.iter().any(|schedule| row.is(schedule));
    rows.iter().filter(differs).map(|row| row.spec.name.as_str()).collect()
}

fn show(out: &mut Output, applied: &Applied, now: Timestamp) -> Written {
    let Applied { kind, name, change, next_at } = applied;
    if out.json {
        return out.object(&json!({ "kind": kind, "name": name, "change": change }));
    }
    let (sign, word) = match change {
        Change::Added => ("+", "added"),
        Change::Changed => ("~", "changed"),
        Change::Removed => ("-", "removed"),
        Change::Unchanged => return Ok(()),
    };
    let next = next_at.map(|at| format!(", next {} ({})", local_time(at), relative_time(at, now)));
    out.line(format!("{sign} schedule {name} {word}{}", next.unwrap_or_default()))
}
