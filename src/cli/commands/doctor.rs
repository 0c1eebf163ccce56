//! `runner doctor`: which files are used and why, and whether every rule of the database holds.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::attention_facts::{cannot_start, read_snapshot};
use crate::call_target::to_type;
use crate::cli::args::{DoctorArgs, Global};
use crate::cli::database;
use crate::cli::error::ExitStatus;
use crate::cli::job_file;
use crate::clock;
use crate::jobfile::{JobFile, JobFileError};
use crate::model::{Attention, JobState};
use crate::paths::beside_chmod;
use crate::process::obstacles;
use crate::store::{
    BrokenRule, Filter, JobRow, Liveness, StateFilter, Store, StoreError, Version, WorkerStatus, schema,
};
use crate::text::{counted, human_size, safe_line};
use crate::view::snapshot::Snapshot;
use crate::view::terminal::{Output, Style};
use crate::view::text::{attention, lists};

/// The result of all checks.
#[derive(Debug, Default, Serialize)]
struct Report {
    db: String,
    db_from: &'static str,
    db_bytes: Option<u64>,
    wal_bytes: Option<u64>,
    /// The version of the file.
    schema_version: Option<Version>,
    job_file: Option<String>,
    job_file_from: Option<&'static str>,
    jobs_declared: Option<usize>,
    /// None, like `attention`, if the database is too damaged to tell.
    workers_alive: Option<usize>,
    workers_dead: Option<usize>,
    sqlite: &'static str,
    rules: usize,
    problems: Vec<BrokenRule>,
    /// Rows of the database break a rule. Other problems are those of its surroundings.
    #[serde(skip)]
    is_damaged: bool,
    /// Worth knowing, but not wrong.
    notes: Vec<String>,
    attention: Option<Vec<Attention>>,
    /// There is no database.
    #[serde(skip)]
    is_missing: bool,
}

/// Checks everything. The exit status is 1 if a rule is broken, and with `--strict` also if anything needs attention.
pub fn run(global: &Global, args: &DoctorArgs, out: &mut Output) -> Result<ExitStatus> {
    let mut report = Report { sqlite: rusqlite::version(), ..Report::default() };
    let file = database::store_file(global)?;
    report.db = file.path().display().to_string();
    report.db_from = db_from(global);
    check_job_file(global, &mut report);
    if let Some(store) = database::open_if_there(global)? {
        check_files(&store, &mut report);
        report.schema_version = Some(store.version()?);
        report.rules = Store::audit_rules().count();
        let broken = store.audit()?;
        report.notes.extend(store.additions()?);
        match read_snapshot(&store, &Filter::default(), clock::now()) {
            Ok(mut look) => {
                if args.strict {
                    report.notes.extend(waiting_in_vain(&store)?);
                    look.attention.extend(cannot_start(&look.schedules, clock::now()));
                    Attention::sort(&mut look.attention);
                }
                add_look(look, &mut report);
            }
            // The findings of the audit say more.
            Err(error) if !broken.is_empty() && is_damage(&error) => {}
            Err(error) => return Err(error),
        }
        report.is_damaged = !broken.is_empty();
        report.problems.extend(broken);
    } else {
        report.is_missing = true;
        report.attention = Some(Vec::new());
        (report.workers_alive, report.workers_dead) = (Some(0), Some(0));
        report.notes.push(StoreError::Missing(file.path().to_owned()).to_string());
        if let Err(error) = file.look_ahead() {
            report.problem("a database can be made and used there", error.to_string());
        }
    }
    let needs_attention = report.is_missing || report.attention.as_deref().is_some_and(has_alarms);
    let is_well = report.problems.is_empty() && !(args.strict && needs_attention);
    if out.json {
        out.object(&report);
    } else if !out.quiet || !is_well {
        show(out, &report, args.strict);
    }
    out.flush()?;
    Ok(if is_well { ExitStatus::SUCCESS } else { ExitStatus::FAILED })
}

fn has_alarms(list: &[Attention]) -> bool {
    Attention::alarms(list) > 0
}

/// Whether the error says that a row cannot be read.
fn is_damage(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::InvalidData(_) | StoreError::Damaged(..)))
}

fn add_look(Snapshot { workers, attention, .. }: Snapshot, report: &mut Report) {
    let alive = workers.iter().filter(|worker| worker.is_living_worker()).count();
    report.workers_alive = Some(alive);
    report.workers_dead = Some(workers.iter().filter(|worker| !worker.is_alive()).count());
    report.attention = Some(attention);
    report.notes.extend(workers.iter().filter_map(lists::outdated_text));
    check_held_jobs(&workers, alive, report);
}

impl Report {
    fn problem(&mut self, rule: &'static str, what: String) {
        self.problems.push(BrokenRule { rule, what });
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn db_from(global: &Global) -> &'static str {
    match global.db {
        Some(_) => "--db",
        None if is_set("RUNNER_DB") => "$RUNNER_DB",
        None if is_set("XDG_STATE_HOME") => "$XDG_STATE_HOME",
        None => "the default",
    }
}

fn check_job_file(global: &Global, report: &mut Report) {
    let path = match job_file::path(global) {
        Ok(path) => path,
        Err(error) => {
            if let Some(untrusted @ JobFileError::Untrusted { .. }) = error.downcast_ref() {
                report.problem("nobody else may write the job file", untrusted.to_string());
            }
            return;
        }
    };
    report.job_file = Some(path.display().to_string());
    report.job_file_from = Some(match global.file {
        Some(_) => "--file",
        None if is_set("RUNNER_FILE") => "$RUNNER_FILE",
        None if path.parent().is_some_and(is_above) => "this folder or one above it",
        None => "the user's",
    });
    match JobFile::read(&path) {
        Ok(file) => report.jobs_declared = Some(file.jobs.len()),
        Err(error) => {
            let last = error.to_string().lines().last().unwrap_or_default().to_owned();
            report
                .problem("the job file can be used", format!("{last}; {} shows more", to_type("check", "")));
        }
    }
}

/// Whether the current folder lies in this one.
fn is_above(folder: &Path) -> bool {
    std::env::current_dir().is_ok_and(|here| here.starts_with(folder))
}

fn check_files(store: &Store, report: &mut Report) {
    let path = store.file().path();
    report.db_bytes = fs::metadata(path).ok().map(|found| found.len());
    let [wal, index] = ["-wal", "-shm"].map(|suffix| store.file().beside(suffix));
    report.wal_bytes = fs::metadata(&wal).ok().map(|found| found.len());
    for (path, mode) in [(path, 0o600), (&store.file().run_dir(), 0o700), (&wal, 0o600), (&index, 0o600)] {
        check_mode(path, mode, report);
    }
    if let Some(kind) = store.file().in_memory() {
        report.notes.push(format!("the database lies on {kind}, which a reboot empties"));
    }
    if store.is_without_wal() {
        report.notes.push(
            "the database is not in WAL mode, so whoever reads it keeps writers out; the next command that writes to it puts it back, if \
             nobody else has it open"
                .to_owned(),
        );
    }
}

fn check_mode(path: &Path, wanted: u32, report: &mut Report) {
    let Ok(found) = fs::metadata(path) else { return };
    let mode = found.permissions().mode() & 0o777;
    let fix = format!("(mode {mode:o}); chmod {wanted:o} fixes that{}", beside_chmod(path));
    if mode & !wanted != 0 {
        let what = format!("{} may be read by others {fix}", path.display());
        report.problem("only the owner may read the files", what);
    } else if mode & 0o200 == 0 {
        report.problem("the owner may write the files", format!("{} is read-only {fix}", path.display()));
    }
}

/// Reports running jobs whose worker is dead. If another worker is alive this is no problem, because that one recovers
/// them.
fn check_held_jobs(workers: &[WorkerStatus], alive: usize, report: &mut Report) {
    for worker in workers.iter().filter(|worker| worker.row.running > 0) {
        let jobs = counted(worker.row.running, "job");
        match worker.liveness {
            Liveness::OfOriginal => {
                let original = worker.row.db.display();
                report.notes.push(format!(
                    "this database was copied from {original}, which was running {jobs}; {} records the attempts here as \
                     lost",
                    to_type("work", "")
                ));
            }
            Liveness::Dead if alive == 0 => {
                let work = to_type("work", "");
                let what = format!("a worker died holding {jobs}; {work} recovers what it held");
                report.problem("running jobs have a worker", what);
            }
            _ => {}
        }
    }
}

/// The waiting jobs that cannot start on this machine: a sentence for each name and folder, about the newest of them. A dead network
/// share can hold this up.
fn waiting_in_vain(store: &Store) -> Result<Vec<String>> {
    /// Nobody has more of them to look through.
    const MAX_JOBS: usize = 10_000;
    /// A command with more ids is not typed.
    const MAX_IDS: usize = 20;
    let pending = Filter { states: vec![StateFilter::State(JobState::Pending)], ..Filter::default() };
    let mut groups = BTreeMap::<_, Vec<JobRow>>::new();
    for job in store.jobs(&pending, MAX_JOBS, clock::now())? {
        let job = job?;
        groups.entry((job.definition.name.clone(), job.definition.cwd.clone())).or_default().push(job);
    }
    let sentence = |((name, _), jobs): ((String, _), Vec<JobRow>)| {
        let newest = jobs.first()?;
        let missing = obstacles(&newest.definition, false);
        let which = if jobs.len() > MAX_IDS {
            format!("--name {name}")
        } else {
            jobs.iter().rev().map(|job| job.id.to_string()).collect::<Vec<_>>().join(" ")
        };
        let way = newest.file.as_deref().map(|file| {
            let (named, what) = if Path::new(file).is_file() {
                ("", "the present definition")
            } else {
                (" --file PATH", "the definition in that file")
            };
            format!("; {} takes {what}", to_type("change", format!("{which} --redefine{named}")))
        });
        (!missing.is_empty()).then(|| {
            format!(
                "{} of {name} cannot start here, the newest is job {}: {}{}",
                counted(jobs.len(), "waiting job"),
                newest.id,
                missing.join("; "),
                way.unwrap_or_default()
            )
        })
    };
    Ok(groups.into_iter().filter_map(sentence).collect())
}

/// Draws the report. If something failed, or may fail with `--strict`, the last line says what. A mail from cron (`--quiet`)
/// has only that and the path of the database, because its reader looks for what is wrong.
fn show(out: &mut Output, report: &Report, strict: bool) {
    if out.quiet {
        out.prose("database  ", &safe_line(&report.db));
    } else {
        show_facts(out, report);
    }
    for note in &report.notes {
        out.prose("note      ", &safe_line(note));
    }
    if report.problems.is_empty() && !out.quiet {
        let words = format!("{} rules looked at, nothing is wrong", report.rules);
        out.line(format!("checks    {}", out.paint(Style::Good, &words)));
    } else if !report.problems.is_empty() {
        let problems = counted(report.problems.len(), "problem");
        out.line(format!("checks    {} rules looked at, {problems}", report.rules));
    }
    for BrokenRule { rule, what } in &report.problems {
        out.prose(&format!("  {} ", out.paint(Style::Bad, "wrong:")), &safe_line(what));
        out.prose("         ", &format!("the rule: {rule}"));
    }
    let is_sound = report.problems.is_empty();
    let mut well = ", and all is well".to_owned();
    let needs = if strict {
        let list = report.attention.as_deref().unwrap_or_default();
        attention::draw(out, list, true);
        if let Some(notes) = attention::headline(list) {
            well = format!("; {notes}");
        }
        attention::alarms_text(list)
    } else if is_sound {
        return;
    } else {
        None
    };
    let file = match (report.is_damaged, report.is_missing) {
        (true, _) => "the file is not sound",
        (false, true) => "there is no database",
        (false, false) => "the file is sound",
    };
    let file = if report.is_damaged || is_sound {
        file.to_owned()
    } else {
        format!("{file}, but something else is wrong")
    };
    let (style, words) = match needs {
        None if report.is_missing => (Style::Bad, file),
        None if is_sound => (Style::Good, file + &well),
        None => (Style::Bad, file),
        Some(needs) if is_sound => (Style::Bad, format!("{file}, but {needs}")),
        Some(needs) => (Style::Bad, format!("{file}, and {needs}")),
    };
    out.line(format!("verdict   {}", out.paint(style, &words)));
}

/// Which files are used, and what works on them.
fn show_facts(out: &mut Output, report: &Report) {
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "not there".to_owned(), human_size);
    let db = safe_line(&report.db);
    let mut fact = |word: &str, value: String| out.prose(&format!("{word:<9} "), &value);
    fact("database", format!("{db} (from {})", report.db_from));
    fact("", format!("{}, write-ahead log {}", size(report.db_bytes), size(report.wal_bytes)));
    if let Some(found) = &report.schema_version {
        let known = schema::known().version();
        let differs = match found.cmp(&known) {
            Ordering::Equal => String::new(),
            Ordering::Greater => format!(", newer than this runner, which knows {known}"),
            Ordering::Less => {
                format!(", older than this runner, which brings it up to {known} where it may write")
            }
        };
        fact("", format!("version {found}{differs}"));
    }
    let declared = report.jobs_declared.map(|jobs| format!(", {}", counted(jobs, "job"))).unwrap_or_default();
    match &report.job_file {
        Some(path) => {
            let from = report.job_file_from.unwrap_or_default();
            fact("job file", format!("{} (from {from}){declared}", safe_line(path)));
        }
        None => fact("job file", format!("none found; {} writes one", to_type("init", ""))),
    }
    let workers = report.workers_alive.zip(report.workers_dead);
    let unknown = || "not known, because the database is damaged".to_owned();
    fact("workers", workers.map_or_else(unknown, |(alive, dead)| format!("{alive} alive, {dead} dead")));
    fact("SQLite", report.sqlite.to_owned());
}
