//! `runner apply`. `check` and `inspect schedules` use its functions to find what was changed since it was applied.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use crate::call_target::CallTarget;
use crate::cli::args::{ApplyArgs, Global};
use crate::cli::database;
use crate::cli::definition_drift::warn_of_differing;
use crate::cli::error::{CliError, ExitStatus, NO_CURRENT_DIR, describe};
use crate::cli::job_file;
use crate::cli::plan::check_limits;
use crate::cli::scheduled_runs;
use crate::cli::workers::worker_statuses;
use crate::clock;
use crate::jobfile::{Declared, JobFile};
use crate::model::{Command, JobDefinition, JobState, ScheduleText};
use crate::paths;
use crate::process::{boot_id, obstacles};
use crate::store::{
    self, Applied, AppliedKind, Change, Declarations, DeclaredSchedule, Filter, JobRow, StateFilter, Store,
    StoreError, StoredSchedule, WorkerStatus,
};
use crate::text::{
    Timestamp, are_same_clocks, is_zone_of_screen, local_time, machine_zone, relative_time, shown_path,
};
use crate::view::advice::nothing_until_worker;
use crate::view::terminal::{Output, warn};
use crate::view::text::schedule::{boot_text, dropped_text, times_text};

/// Takes the schedules and queue limits of the job file into the database, and removes those that the file no longer
/// has; with `--none` all of them, whether the file exists or not.
pub fn run(global: &Global, args: &ApplyArgs, out: &mut Output) -> Result<ExitStatus> {
    let mut declaring = None;
    let (path, wanted, queues) = if args.none {
        (former_path(global, args.path.as_deref())?, Vec::new(), BTreeMap::new())
    } else {
        let file = job_file::named_job_file(global, args.path.as_deref())?;
        note_unreached(&file, None, out);
        scheduled_runs::note_unlimited_ages(&file, None, out);
        let path = declaring.insert(job_file::path_of(&file)?).path.clone();
        (path, schedules(&file, clock::now())?, file.queues)
    };
    for schedule in &wanted {
        for link in schedule.chain.links() {
            check_limits(&link.definition, &[])?;
        }
    }
    note_obstacles(
        wanted.iter().flat_map(|schedule| schedule.chain.links()).map(|link| &link.definition),
        out,
    );
    let apply = |store: &mut Store| -> Result<_> {
        // A link that was turned leads to the next release of what was applied.
        let former = declaring.as_ref().map(|file| store.files_behind_link(file)).transpose()?;
        let former = former.unwrap_or_default();
        let others = store.applied_files()?.into_iter();
        let take_over: Vec<_> = others
            .filter(|other| args.take_over || former.contains(other) || paths::is_gone(Path::new(other)))
            .collect();
        let declared = Declarations {
            file: &path,
            schedules: &wanted,
            boot_id: &boot_id(),
            queues: &queues,
            take_over: &take_over,
        };
        let named = declaring.as_ref().map_or(path.as_str(), |file| &file.named);
        store.apply(declared).map_err(|error| refusal(error, named))
    };
    let now = clock::now();
    let (mut workers, mut waiting) = (None, Vec::new());
    let applied = if args.dry_run {
        database::open_to_rehearse(global)?.rehearse(apply)??
    } else {
        let mut store =
            if args.none { database::open_to_write(global)? } else { database::open_or_create(global)? };
        let applied = apply(&mut store)?;
        if let Some(file) = &declaring {
            // A project that has moved keeps its history, also where a schedule comes first.
            let names: Vec<&str> = wanted.iter().map(DeclaredSchedule::name).collect();
            if store.register_job_file(file, &names)?.moved_from.is_some() && !out.quiet {
                waiting = waiting_jobs(&store, &path, now)?;
            }
        }
        workers = Some(worker_statuses(&store)?);
        if args.none && applied.is_empty() && !out.quiet {
            warn_of_nothing(&path, &store.applied_files()?);
        }
        applied
    };
    if out.quiet {
        return Ok(ExitStatus::SUCCESS);
    }
    for change in &applied {
        let declared = wanted.iter().find(|schedule| schedule.name() == change.name);
        show(out, change, declared, args.dry_run, now);
    }
    show_machine_zone(out, &applied, &wanted);
    if applied.iter().all(|applied| applied.change == Change::Unchanged) && !args.none && !out.json {
        out.line("nothing changes: the database has what the file declares");
    }
    out.flush()?;
    for (Applied { name, .. }, owner) in applied.iter().filter_map(|it| Some((it, it.taken_from.as_ref()?))) {
        if paths::is_gone(Path::new(owner)) {
            warn(&format!("{name} was applied from {owner}, which is gone: it is taken over"));
        } else if !args.take_over {
            warn(&format!("{name} was applied from {owner}, to which the link led before: it is taken over"));
        }
    }
    for Applied { name, kind, .. } in &applied {
        if let AppliedKind::Schedule { dropped, .. } = kind
            && !dropped.is_empty()
        {
            warn(&format!("{name}: {}", dropped_text(dropped, now)));
        }
    }
    // They keep the folder in which their file was.
    warn_of_differing(global, waiting.iter(), false);
    let unserved = workers.filter(|workers| !workers.iter().any(WorkerStatus::is_living_worker));
    if let Some(workers) = unserved.filter(|_| !wanted.is_empty()) {
        warn(&nothing_until_worker("fires", &workers, CallTarget::of_this_call()));
    }
    Ok(ExitStatus::SUCCESS)
}

/// The newest pending jobs of this job file.
fn waiting_jobs(store: &Store, path: &str, now: Timestamp) -> store::Result<Vec<JobRow>> {
    /// Nobody has more names to change one by one.
    const MAX_JOBS: usize = 1_000;
    let pending = Filter { states: vec![StateFilter::State(JobState::Pending)], ..Filter::default() };
    let mut jobs: Vec<JobRow> = store.jobs(&pending, MAX_JOBS, now)?.collect::<Result<_, _>>()?;
    jobs.retain(|job| job.file.as_deref() == Some(path));
    Ok(jobs)
}

/// The hint names the file that was to be applied, because it may have been named without `--file`.
fn refusal(error: StoreError, path: &str) -> anyhow::Error {
    if !matches!(error, StoreError::AppliedElsewhere { .. }) {
        return error.into();
    }
    let take_over = job_file::place_of(Path::new(path)).to_type("apply", "--take-over");
    describe(&error.into()).hint(format!("{take_over} takes it over; or rename the job")).into()
}

/// Notes the chains that no schedule starts, though it starts their first jobs; of one job, if only that is meant.
pub fn note_unreached(file: &JobFile, only: Option<&str>, out: &Output) {
    let is_meant = |name: &&str| only.is_none_or(|only| only == *name);
    for name in file.unreached_by_schedules().into_iter().filter(is_meant).filter(|_| !out.quiet) {
        warn(&format!("no schedule reaches {name}: put the schedule on the last job of the chain"));
    }
}

/// Notes what will go wrong with these jobs on this machine. A job that comes several times, with a chain for each schedule
/// say, is told once.
pub fn note_obstacles<'d>(definitions: impl Iterator<Item = &'d JobDefinition>, out: &Output) {
    if out.quiet {
        return;
    }
    let mut told = BTreeSet::new();
    let with_alerts = |it: &'d JobDefinition| [it].into_iter().chain(it.alerts().map(|(_, alert)| alert));
    for definition in definitions.flat_map(with_alerts) {
        let JobDefinition { name, command, .. } = definition;
        if !told.insert(name) {
            continue;
        }
        for obstacle in obstacles(definition, true) {
            warn(&format!("{name} cannot start here: {obstacle}"));
        }
        if matches!(command, Command::Shell(line) if line.to_text().contains("\\%")) {
            warn(&format!("{name}: cron takes the backslash out of `\\%`, and runner leaves it: write `%`"));
        }
    }
}

/// The path by which the database knows a file that may be gone.
fn former_path(global: &Global, path: Option<&Path>) -> Result<String> {
    let path = path.map_or_else(|| job_file::path(global), |path| Ok(path.to_owned()))?;
    let path = std::path::absolute(path).context(NO_CURRENT_DIR)?;
    let found = fs::canonicalize(&path).or_else(|error| {
        // The folder may be there, perhaps behind a link.
        let (folder, name) = path.parent().zip(path.file_name()).ok_or(error)?;
        fs::canonicalize(folder).map(|folder| folder.join(name))
    });
    Ok(found.unwrap_or_else(|_| without_dots(&path)).to_string_lossy().into_owned())
}

/// The path without `..`, for a folder that is gone and so cannot be asked where it led.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// Says that nothing was applied from this file, and which files have applied something.
fn warn_of_nothing(path: &str, others: &[String]) {
    let known = match others {
        [] => String::new(),
        others => format!("; something is applied from {}", others.join(", ")),
    };
    warn(&format!("nothing is applied from {path}{known}"));
}

/// The schedules that a job file declares, with their zones. It is a mistake of the file if one needs a `timezone`, because the
/// zone of the machine has no name by which all workers could find it.
pub fn schedules(file: &JobFile, now: Timestamp) -> Result<Vec<DeclaredSchedule>> {
    let machine = machine_zone(now);
    let declared = declared(file, machine.as_deref().ok());
    let needs = declared.iter().filter(|schedule| schedule.zone.is_none() && schedule.text.needs_zone());
    let names: Vec<&str> = needs.map(DeclaredSchedule::name).collect();
    if let (Some(first), Err(why)) = (names.first(), machine) {
        let (has, names) = (if names.len() == 1 { "has" } else { "have" }, names.join(", "));
        let message = format!(
            "{}: {names} {has} a schedule without `timezone`, and the time zone of this machine ({why}) has no IANA name by which a worker could find it",
            shown_path(&file.path)
        );
        let hint = format!("add timezone = \"Europe/Berlin\", or what it is, below [jobs.{first}]");
        return Err(CliError::new(ExitStatus::DATA, message).hint(hint).into());
    }
    Ok(declared)
}

/// The schedules that a job file declares, where the zone of the machine has this name.
pub fn declared(file: &JobFile, machine: Option<&str>) -> Vec<DeclaredSchedule> {
    let scheduled = file.jobs.iter().filter_map(|job| Some((job, job.schedule.clone()?)));
    let with_zone = |(job, text): (&Declared, ScheduleText)| {
        let zone = text.timezone.as_deref().or(machine).filter(|_| !text.is_at_boot()).map(str::to_owned);
        DeclaredSchedule { chain: file.chain(job), text, zone }
    };
    scheduled.map(with_zone).collect()
}

/// The names of the applied schedules that differ from what the file declares now.
pub fn stale<'r>(rows: &[&'r StoredSchedule], file: &JobFile) -> Vec<&'r str> {
    let declared = declared(file, None);
    let differs = |row: &&&StoredSchedule| !declared.iter().any(|schedule| row.matches(schedule));
    rows.iter().filter(differs).map(|row| row.name()).collect()
}

/// The names of the schedules that the file declares and nobody has applied, from this file or another.
pub fn not_applied(file: &JobFile, applied: &[StoredSchedule]) -> Vec<String> {
    let is_applied = |name: &str| applied.iter().any(|row| row.name() == name);
    let declared = declared(file, None);
    declared.iter().map(DeclaredSchedule::name).filter(|name| !is_applied(name)).map(str::to_owned).collect()
}

/// The names of the schedules that were applied when the machine had a zone with other clocks than those of this one.
pub fn moved<'r>(rows: &[&'r StoredSchedule], machine: &str, now: Timestamp) -> Vec<&'r str> {
    let is_moved = |row: &&&StoredSchedule| {
        let zone = row.zone.as_ref().filter(|_| row.text.timezone.is_none() && row.text.needs_zone());
        zone.is_some_and(|zone| !are_same_clocks(zone, machine, now))
    };
    rows.iter().filter(is_moved).map(|row| row.name()).collect()
}

/// Says which zone of the machine was written down.
fn show_machine_zone(out: &mut Output, applied: &[Applied], wanted: &[DeclaredSchedule]) {
    let is_new = |name: &str| applied.iter().any(|it| it.name == name && it.change != Change::Unchanged);
    let is_shown =
        |it: &&DeclaredSchedule| it.text.timezone.is_none() && it.text.needs_zone() && is_new(it.name());
    match wanted.iter().find(is_shown).and_then(|schedule| schedule.zone.as_ref()) {
        Some(zone) if !out.json => {
            out.line(format!("schedules without a timezone go by the clocks of this machine: {zone}"));
        }
        _ => {}
    }
}

fn show(
    out: &mut Output,
    Applied { name, change, kind, taken_from }: &Applied,
    declared: Option<&DeclaredSchedule>,
    dry_run: bool,
    now: Timestamp,
) {
    let (word, told) = match kind {
        AppliedKind::Schedule { next_at, boot_id: seen, .. } => {
            // The next time is one of the screen's clocks.
            let of_zone = |schedule: &&DeclaredSchedule| {
                schedule.zone.as_ref().is_some_and(|zone| !is_zone_of_screen(zone, now))
            };
            let times = declared
                .filter(of_zone)
                .map(|schedule| format!(", {}", times_text(&schedule.text, schedule.zone.as_deref(), now)));
            let times = times.unwrap_or_default();
            let told = |at| format!("{times}, next {} ({})", local_time(at), relative_time(at, now));
            let at_boot = || seen.as_deref().map(|seen| format!(", fires {}", boot_text(seen, &boot_id())));
            ("schedule", next_at.map(told).or_else(at_boot).unwrap_or_default())
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
        Change::Changed if let Some(owner) = taken_from => {
            out.line(format!("~ {word} {name} {done}taken over from {owner}{told}"));
        }
        Change::Added => out.line(format!("+ {word} {name} {done}added{told}")),
        Change::Changed => out.line(format!("~ {word} {name} {done}changed{told}")),
        Change::Removed => out.line(format!("- {word} {name} {done}removed{told}")),
        Change::Unchanged => {}
    }
    let is_shown = word == "schedule" && *change != Change::Unchanged;
    let chain = declared.filter(|_| is_shown).map(|schedule| &schedule.chain);
    if let Some(text) = chain.and_then(scheduled_runs::chain_text) {
        out.prose("  ", &text);
    }
}
