//! `runner check`: validates a job file, and shows what it declares; or what would follow an end of an attempt.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;

use super::check_job::{self, Schedules};
use crate::call_target::to_type;
use crate::cli::args::{CheckArgs, Global};
use crate::cli::commands::{apply, check_exit};
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus, describe};
use crate::cli::{job_file, scheduled_runs};
use crate::clock;
use crate::jobfile::{Declared, JobFile, JobFileError, NewerToml};
use crate::model::check_name;
use crate::policy;
use crate::store::{Applied, AppliedKind, Declarations, Store, StoredSchedule};
use crate::text::{Timestamp, counted, machine_zone, meant, shown_path};
use crate::view::terminal::{Output, Style, warn};

pub fn run(global: &Global, args: &CheckArgs, out: &mut Output) -> Result<ExitStatus> {
    if let Some(end) = check_exit::imagined(args) {
        check_exit::show(global, args, &end, out)?;
        return Ok(ExitStatus::SUCCESS);
    }
    check_jobs(global, &named(global, args.what.as_deref())?, out)
}

/// A job file that is checked, of which perhaps one job alone is shown.
struct Checked {
    file: JobFile,
    only: Option<String>,
}

impl Checked {
    const fn all(file: JobFile) -> Self {
        Self { file, only: None }
    }

    fn is_shown(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == name)
    }

    fn jobs(&self) -> impl Iterator<Item = &Declared> {
        self.file.jobs.iter().filter(|job| self.is_shown(&job.definition.name))
    }
}

/// The job file of this path; else the job of this name in the job file that every verb would read.
fn named(global: &Global, what: Option<&Path>) -> Result<Checked> {
    let Some(path) = what else { return Ok(Checked::all(job_file::read(global)?)) };
    let name = path.to_str().filter(|text| check_name(text).is_ok());
    let Some(name) = name else { return Ok(Checked::all(JobFile::read(path)?)) };
    let found = fs::metadata(path);
    let is_folder = found.as_ref().is_ok_and(Metadata::is_dir);
    if is_folder || found.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        let path = std::path::absolute(path)?;
        let no_file = if is_folder {
            CliError::new(ExitStatus::NOT_FOUND, format!("{} is a folder", shown_path(&path)))
        } else {
            describe(&JobFileError::NotFound { path }.into())
        };
        return job_alone(global, check_exit::name(name)?, no_file);
    }
    if !global.quiet
        && let Ok(file) = job_file::read(global)
        && file.job(name).is_some()
    {
        let file = shown_path(&file.path);
        warn(&format!("{name} is a file, which is checked; the job {name} of {file} is not shown"));
    }
    Ok(Checked::all(JobFile::read(path)?))
}

/// The job of this name in the job file that every verb would read. `no_file` is the error for a file of that name.
fn job_alone(global: &Global, name: String, no_file: CliError) -> Result<Checked> {
    let no_file_text = &no_file.message;
    let file = job_file::read(global).map_err(|error| {
        if matches!(error.downcast_ref(), Some(JobFileError::Nowhere { .. })) {
            let what = format!("{no_file_text}, and no other one here that could have a job {name:?}");
            return CliError { message: what, ..describe(&error) }.into();
        }
        if !global.quiet {
            warn(&format!("{no_file_text}, so {name} is taken for the name of a job"));
        }
        error
    })?;
    if file.job(&name).is_some() {
        return Ok(Checked { file, only: Some(name) });
    }
    let message = format!("{no_file_text}, and no job {name:?} in {}", shown_path(&file.path));
    let declared = file.jobs.iter().map(|job| job.definition.name.as_str());
    let hint = meant(&name, declared).unwrap_or_else(|| {
        let jobs = format!("`{}` shows the jobs", to_type("check", ""));
        no_file.hint.iter().cloned().chain([jobs]).collect::<Vec<_>>().join("; ")
    });
    Err(CliError { message, ..no_file }.hint(hint).into())
}

/// Prints the resolved policy and the delays of each job.
fn check_jobs(global: &Global, checked: &Checked, out: &mut Output) -> Result<ExitStatus> {
    let Checked { file, only } = checked;
    let now = clock::now();
    let declared = apply::schedules(file, now)?;
    if !out.quiet {
        let store = database::open_if_there(global);
        // Nobody knows what is applied in a database that cannot be read.
        let stored = match &store {
            Ok(Some(store)) => store.schedules().ok(),
            Ok(None) => Some(Vec::new()),
            Err(_) => None,
        };
        let not_applied = stored.as_deref().map(|stored| apply::not_applied(file, stored));
        let mut not_applied = not_applied.unwrap_or_default();
        not_applied.retain(|name| checked.is_shown(name));
        let mut applied = stored.unwrap_or_default();
        // A pipe has no path by which the database could know it.
        let path = job_file::canonical(&file.path).ok();
        applied.retain(|row| Some(&row.file) == path.as_ref() && checked.is_shown(row.name()));
        let schedules = Schedules { declared, applied: &applied, now };
        if out.json {
            for job in checked.jobs() {
                out.object(&check_job::json(job, &schedules));
            }
        } else {
            show(out, checked, &schedules);
            let knows = |store: &Store, path| store.applied_files().is_ok_and(|files| files.contains(path));
            match (store.ok().flatten(), path) {
                (Some(store), Some(path)) if knows(&store, &path) => {
                    show_changed(store, &path, out, checked, &applied, not_applied, now);
                }
                _ if !not_applied.is_empty() => {
                    let names = not_applied.join(", ");
                    let apply = job_file::place_of(&file.path).to_type("apply", "");
                    let words = format!(
                        "no worker fires {names}, which nobody has applied; {apply} takes the file as it is"
                    );
                    out.line("");
                    out.prose("", &out.paint(Style::Warn, &words));
                }
                _ => {}
            }
        }
    }
    out.flush()?;
    apply::note_unreached(file, only.as_deref(), out);
    scheduled_runs::note_unlimited_ages(file, only.as_deref(), out);
    apply::note_obstacles(checked.jobs().map(|job| &job.definition), out);
    note_traps(checked, out);
    Ok(ExitStatus::SUCCESS)
}

/// Notes what other readers refuse, and what runner does not take as its author may think.
fn note_traps(checked: &Checked, out: &Output) {
    if out.quiet {
        return;
    }
    let Checked { file, only } = checked;
    let path = shown_path(&file.path);
    for NewerToml { what, line, column, count } in &file.newer_toml {
        let more = match count - 1 {
            0 => String::new(),
            more => format!(" (and {})", counted(more, "more place")),
        };
        warn(&format!(
            "{path}:{line}:{column}: only TOML 1.1 allows {what}{more}; editors and other programs refuse the file"
        ));
    }
    for trap in file.traps(only.as_deref()) {
        warn(&trap);
    }
    for job in checked.jobs() {
        for note in policy::notes(&job.definition) {
            warn(&note);
        }
    }
}

fn show(out: &mut Output, checked: &Checked, schedules: &Schedules<'_>) {
    let Checked { file, only } = checked;
    let (path, jobs) = (shown_path(&file.path), counted(file.jobs.len(), "job"));
    let shown = only.as_ref().map(|name| format!("; of these {name}")).unwrap_or_default();
    out.line(format!("{path}: {jobs}, no mistakes{shown}"));
    for job in checked.jobs() {
        out.line("");
        check_job::show(out, job, file, schedules);
        if only.is_some() {
            check_job::show_statuses(out, &job.definition);
        }
    }
    if only.is_some() {
        return;
    }
    if !file.queues.is_empty() {
        out.line("");
    }
    for (name, limits) in &file.queues {
        out.line(format!("queue {}: {limits}", out.paint(Style::Strong, name)));
    }
}

/// Names the schedules and queue limits of a file that was applied and differs from the database now.
fn show_changed(
    mut store: Store,
    path: &str,
    out: &mut Output,
    checked: &Checked,
    applied: &[StoredSchedule],
    not_applied: Vec<String>,
    now: Timestamp,
) {
    let file = &checked.file;
    let applied: Vec<&StoredSchedule> = applied.iter().collect();
    let mut stale: Vec<_> = apply::stale(&applied, file).into_iter().map(str::to_owned).collect();
    stale.extend(not_applied);
    let declared =
        Declarations { file: path, schedules: &[], boot_id: "", queues: &file.queues, take_over: &[] };
    let queues = store.rehearse(|store| store.apply(declared)).ok().and_then(Result::ok);
    let is_shown = |queue: &str| checked.jobs().any(|job| job.definition.queue == queue);
    let differs = |it: &Applied| {
        let is_changed = matches!(it.kind, AppliedKind::Queue { before, after } if before != after);
        is_changed && (checked.only.is_none() || is_shown(&it.name))
    };
    let queues = queues.unwrap_or_default().into_iter().filter(differs);
    stale.extend(queues.map(|queue| format!("queue {}", queue.name)));
    let machine = machine_zone(now).ok();
    let moved = machine.as_ref().map(|zone| apply::moved(&applied, zone, now)).unwrap_or_default();
    let apply = job_file::place_of(&file.path).to_type("apply", "");
    if let (Some(zone), false) = (machine, moved.is_empty()) {
        let words = format!(
            "applied in another time zone than this machine has now, {zone}: {}; {apply} takes the new one",
            moved.join(", ")
        );
        out.line("");
        out.prose("", &out.paint(Style::Warn, &words));
    }
    if !stale.is_empty() {
        let words =
            format!("changed since it was applied: {}; {apply} takes the file as it is", stale.join(", "));
        out.line("");
        out.prose("", &out.paint(Style::Warn, &words));
    }
}
