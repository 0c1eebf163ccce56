//! `runner check`: validates a job file, and shows what it declares; or what would follow an end of an attempt.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use crate::call_target::to_type;
use crate::cli::args::{CheckArgs, Global};
use crate::cli::commands::{apply, check_exit};
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus, describe};
use crate::cli::job_file;
use crate::cli::scheduled_runs::{self, dependencies_text};
use crate::clock;
use crate::jobfile::{Declared, JobFile, JobFileError, NewerToml};
use crate::model::{Backoff, Bytes, ExitRules, Jitter, JobDefinition, RetryPolicy, Strategy, check_name};
use crate::policy::{self, KnownStatus};
use crate::store::{Applied, AppliedKind, Declarations, DeclaredSchedule, Store, StoredSchedule};
use crate::text::{
    Millis, Timestamp, append, counted, human_size, local_time, machine_zone, near_names, rfc3339, safe_line,
    shown_path, time_zone,
};
use crate::view::terminal::{Column, Output, Style, Table, warn};
use crate::view::text::definition::{print_command, print_policy, print_start};
use crate::view::text::schedule::{missed_text, random_delay_text, times_text};

/// The most rows of the delay table on a screen, because later delays are like the last ones shown.
const MAX_ROWS: u32 = 12;

/// How many next times of a schedule are shown.
const NEXT_TIMES: usize = 3;

/// The most rows of the delay table as JSON.
const MAX_DELAYS: usize = 1_000;

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
    let hint = match near_names(&name, declared).as_slice() {
        [] => {
            let jobs = format!("`{}` shows the jobs", to_type("check", ""));
            no_file.hint.iter().cloned().chain([jobs]).collect::<Vec<_>>().join("; ")
        }
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Err(CliError { message, ..no_file }.hint(hint).into())
}

/// Prints the resolved policy and the delays of each job.
fn check_jobs(global: &Global, checked: &Checked, out: &mut Output) -> Result<ExitStatus> {
    let Checked { file, only } = checked;
    let now = clock::now();
    let declared = apply::schedules(file, now)?;
    if !out.quiet {
        let store = database::open_if_there(global).ok().flatten();
        let mut applied = store.as_ref().and_then(|store| store.schedules().ok()).unwrap_or_default();
        // A pipe has no path by which the database could know it.
        let path = job_file::canonical(&file.path).ok();
        applied.retain(|row| Some(&row.file) == path.as_ref() && checked.is_shown(row.name()));
        let schedules = Schedules { declared, applied: &applied, now };
        if out.json {
            for job in checked.jobs() {
                out.object(&job_json(&job.definition, schedules.of(job), &schedules));
            }
        } else {
            show(out, checked, &schedules);
        }
        if let (Some(store), Some(path), false) = (store, path, out.json)
            && store.applied_files().is_ok_and(|applied| applied.contains(&path))
        {
            show_unapplied(store, &path, out, checked, &applied, now);
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

/// The schedules of the file, and what was applied from it.
struct Schedules<'a> {
    declared: Vec<DeclaredSchedule>,
    applied: &'a [StoredSchedule],
    now: Timestamp,
}

impl Schedules<'_> {
    fn of(&self, job: &Declared) -> Option<&DeclaredSchedule> {
        self.declared.iter().find(|declared| declared.name() == job.definition.name)
    }

    /// The next times of a schedule: of one that would not change, those that are to come.
    fn next_times(&self, declared: &DeclaredSchedule) -> Vec<Timestamp> {
        self.find_times(declared).unwrap_or_default()
    }

    fn find_times(&self, declared: &DeclaredSchedule) -> Option<Vec<Timestamp>> {
        let zone = time_zone(declared.zone.as_deref()).ok()?;
        let schedule = declared.text.times(zone).ok()?;
        let is_applied = |row: &&StoredSchedule| {
            row.name() == declared.name()
                && row.text.lines == declared.text.lines
                && row.has_clocks_of(declared, self.now)
        };
        let applied = self.applied.iter().find(is_applied).and_then(|row| row.next_at);
        let next = match applied {
            Some(next) => schedule.next_given(next, self.now),
            None => schedule.first(self.now),
        };
        Some(schedule.from(next).take(NEXT_TIMES).collect())
    }
}

fn show(out: &mut Output, checked: &Checked, schedules: &Schedules<'_>) {
    let Checked { file, only } = checked;
    let (path, jobs) = (shown_path(&file.path), counted(file.jobs.len(), "job"));
    let shown = only.as_ref().map(|name| format!("; of these {name}")).unwrap_or_default();
    out.line(format!("{path}: {jobs}, no mistakes{shown}"));
    for job in checked.jobs() {
        out.line("");
        show_job(out, job, file, schedules);
        if only.is_some() {
            show_statuses(out, &job.definition);
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

/// Names the schedules and queue limits of an applied file that differ from those of the database.
fn show_unapplied(
    mut store: Store,
    path: &str,
    out: &mut Output,
    checked: &Checked,
    applied: &[StoredSchedule],
    now: Timestamp,
) {
    let file = &checked.file;
    let applied: Vec<&StoredSchedule> = applied.iter().collect();
    let mut stale: Vec<_> = apply::stale(&applied, file).into_iter().map(str::to_owned).collect();
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

fn show_job(out: &mut Output, job: &Declared, file: &JobFile, schedules: &Schedules<'_>) {
    let dir = file.path.parent().unwrap_or(&file.path);
    let definition = &job.definition;
    let mut heading = out.paint(Style::Strong, &definition.name);
    if let Some(description) = &job.description {
        append(&mut heading, format_args!(" - {}", safe_line(description)));
    }
    out.line(heading);
    print_command(out, definition, &[]);
    out.fact("queue", &format!("{}, priority {}", definition.queue, definition.priority));
    out.fact("limits", &limits(definition));
    if definition.cwd != Bytes::from(dir.as_os_str()) {
        out.fact("cwd", &safe_line(&definition.cwd.to_text()));
    }
    print_start(out, definition);
    if !definition.env.is_empty() {
        out.fact("env", &safe_line(&env_names(definition).join(", ")));
    }
    if let Some(stdin) = &definition.stdin {
        out.fact("stdin", &human_size(stdin.len() as u64));
    }
    if let Some(key) = &definition.unique_key {
        out.fact("unique", key);
    }
    let ExitRules { success, warning, job: codes, file: codes_of_all, default } =
        definition.written_exit_rules();
    if success != ExitRules::default().success {
        out.fact("success", &format!("exit status {}", list(&success)));
    }
    if !warning.is_empty() {
        out.fact("warning", &format!("exit status {}, a success that people are told of", list(&warning)));
    }
    let codes = codes.0.iter().chain(&codes_of_all.0).map(|entry| format!("{} {}", entry.key, entry.code));
    let codes: Vec<_> = codes.chain(default.iter().map(|code| format!("else {code}"))).collect();
    if !codes.is_empty() {
        out.fact("codes", &codes.join(", "));
    }
    if !job.reports.is_empty() {
        let reports: Vec<_> = job.reports.iter().map(ToString::to_string).collect();
        out.fact("reports", &reports.join(", "));
    }
    if !job.after.is_empty() {
        out.fact("after", &dependencies_text(file, &job.after));
    }
    if !job.after_any.is_empty() {
        out.fact("after any", &dependencies_text(file, &job.after_any));
    }
    for (key, alert) in definition.alerts() {
        out.fact(key, &alert.name);
    }
    if let Some(declared) = schedules.of(job) {
        show_schedule(out, declared, schedules);
    }
    print_policy(out, definition);
    let max_attempts = definition.policy.max_attempts();
    if max_attempts < 2 {
        return;
    }
    let mut table = Table::new()
        .column(Column::new("  after attempt"), |row: &DelayJson| format!("  {}", row.after_attempt))
        .column(Column::new("delay").right(), |row| row.nominal_ms.to_string())
        .column(Column::new("from").right(), |row| row.min_ms.to_string())
        .column(Column::new("to").right(), |row| row.max_ms.to_string());
    table.rows(&delays(&definition.policy).take(MAX_ROWS as usize).collect::<Vec<_>>());
    table.print(out);
    if max_attempts - 1 > MAX_ROWS {
        out.line(format!("  … and {} more; --json shows them", max_attempts - 1 - MAX_ROWS));
    }
}

/// The exit statuses of its tool, and what the policy makes of each.
fn show_statuses(out: &mut Output, definition: &JobDefinition) {
    let known = policy::known_statuses(definition);
    if known.is_empty() {
        return;
    }
    let mut table = Table::new()
        .column(Column::new("  exit").right(), |row: &KnownStatus| row.status.to_string())
        .column(Column::new("what it means").text(), |row| row.meaning.clone())
        .column(Column::new("then"), |row| row.then.as_str().to_owned());
    table.rows(&known);
    out.line("");
    table.print(out);
}

/// The schedule and its next times.
fn show_schedule(out: &mut Output, declared: &DeclaredSchedule, schedules: &Schedules<'_>) {
    let text = &declared.text;
    let times = times_text(text, declared.zone.as_deref(), schedules.now);
    let missed = if text.is_at_boot() { String::new() } else { format!(", {}", missed_text(text)) };
    let delay = random_delay_text(text);
    out.fact("schedule", &format!("{times}{delay}{missed}"));
    if let Some(within) = text.fresh_within {
        out.fact("fresh", &format!("an alarm if the last success is older than {within}"));
    }
    if text.is_at_boot() {
        return out.fact("next", "at the next boot after it was applied");
    }
    let next: Vec<_> = schedules.next_times(declared).into_iter().map(local_time).collect();
    out.fact("next", &next.join(", "));
}

fn limits(definition: &JobDefinition) -> String {
    let timeout =
        definition.timeout.map_or_else(|| "no timeout".to_owned(), |span| format!("timeout {span}"));
    let expires = definition.expires_in.map(|span| format!(", expires in {span}")).unwrap_or_default();
    let kept = match definition.output_limit {
        JobDefinition::DEFAULT_OUTPUT_LIMIT => String::new(),
        bytes => format!(", {} of each stream kept", human_size(bytes)),
    };
    format!("{timeout}, grace {}{expires}{kept}", definition.grace_period)
}

/// The names of the variables. Their values are not shown, because they may be secrets.
fn env_names(definition: &JobDefinition) -> Vec<String> {
    definition.env.keys().map(Bytes::to_text).collect()
}

fn list(statuses: &[u8]) -> String {
    statuses.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
}

/// The delay after one attempt.
#[derive(Debug, Serialize)]
struct DelayJson {
    after_attempt: u32,
    nominal_ms: Millis,
    min_ms: Millis,
    max_ms: Millis,
}

/// The delays between the attempts of a budget.
fn delays(policy: &RetryPolicy) -> impl Iterator<Item = DelayJson> {
    (1..policy.max_attempts()).map(|n| {
        let nominal_ms = policy.backoff.strategy.nominal(n);
        let (min_ms, max_ms) = policy.backoff.window(nominal_ms);
        DelayJson { after_attempt: n, nominal_ms, min_ms, max_ms }
    })
}

fn job_json(
    definition: &JobDefinition,
    declared: Option<&DeclaredSchedule>,
    schedules: &Schedules<'_>,
) -> Value {
    let times = |declared| schedules.next_times(declared).into_iter().map(rfc3339).collect::<Vec<_>>();
    let policy = &definition.written_policy();
    let shown = definition.shown_values().into_iter().map(|value| (value.key.to_owned(), value.json));
    let before = json!({
        "name": definition.name,
        "policy": {
            "retryable": policy.retryable,
            "max_attempts": policy.max_attempts(),
            "backoff": backoff_json(&policy.backoff),
            "auto_retry_for": policy.auto_retry_for,
            "never_retry_for": policy.never_retry_for,
        },
        "delays": delays(policy).take(MAX_DELAYS).collect::<Vec<_>>(),
        "cwd": definition.cwd,
    });
    let after = json!({
        "env": env_names(definition),
        "stdin_bytes": definition.stdin.as_ref().map(String::len),
        "unique_key": definition.unique_key,
        "success_exit_codes": definition.exit.success,
        "warning_exit_codes": definition.exit.warning,
        "statuses": policy::known_statuses(definition),
        "notes": policy::notes(definition),
        "schedules": declared.map(|declared| &declared.text.lines),
        "next": declared.map(times),
    });
    let parts = [before, Value::Object(shown.collect()), after];
    parts.into_iter().flat_map(|part| part.as_object().cloned().unwrap_or_default()).collect()
}

/// A backoff with the keys of the job file, durations in milliseconds.
fn backoff_json(backoff: &Backoff) -> Value {
    let mut json = match &backoff.strategy {
        Strategy::Exponential { initial, multiplier, max } => {
            json!({"strategy": "exponential", "initial_ms": initial, "multiplier": multiplier, "max_ms": max})
        }
        Strategy::Linear { delay, max } => json!({"strategy": "linear", "delay_ms": delay, "max_ms": max}),
        Strategy::Constant { delay } => json!({"strategy": "constant", "delay_ms": delay}),
        Strategy::List { delays, repeat_last } => {
            json!({"strategy": "list", "delays_ms": delays, "repeat_last": repeat_last})
        }
    };
    let (fraction, absolute) = match backoff.jitter {
        Jitter::Fraction(fraction) => (Some(fraction), None),
        Jitter::Absolute(distance) => (None, Some(distance)),
    };
    json["jitter"] = json!(fraction);
    json["jitter_ms"] = json!(absolute);
    json
}
