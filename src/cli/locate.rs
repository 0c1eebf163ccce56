//! Finds the database, the job file, and the jobs that an id or a name stands for.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::accounts;
use super::args::Global;
use super::error::{CliError, ExitStatus, become_user, describe, print_error};
use super::namesakes::say_which;
use super::values::{JobOrAttempt, JobRef};
use crate::call_target::{CallTarget, to_type};
use crate::crontab::Account;
use crate::jobfile::{self, Declared, JobFile, JobFileError};
use crate::model::{JobState, check_name};
use crate::paths;
use crate::store::{
    self, Filter, FilterColumn, JobFilePath, JobRow, StateFilter, Store, StoreError, StoreFile,
};
use crate::text::{Timestamp, near_names, safe_line, shell_word};
use crate::view::terminal::warn;
use crate::worker;

/// The database file, whether it exists or not.
pub fn store_file(global: &Global) -> Result<StoreFile> {
    let path = store::locate(global.db.as_deref(), &|name| std::env::var_os(name)).ok_or_else(|| {
        CliError::new(
            ExitStatus::NOT_FOUND,
            "the database has no directory: $HOME is not set to an absolute path",
        )
        .hint("name one with --db PATH or $RUNNER_DB")
    })?;
    Ok(StoreFile::new(&path)?)
}

/// Opens the database to write to it, and creates it if it is missing. Says what a person has to know about it.
pub fn open_or_create(global: &Global) -> Result<Store> {
    let store = Store::open_or_create(store_file(global)?)?;
    if store.is_new() {
        say_that_it_is_new(global, store.file());
    }
    warn_of_readers(global, store.file());
    Ok(store)
}

/// Opens the database to write to it; an error if it is missing.
pub fn open_to_write(global: &Global) -> Result<Store> {
    let store = open(global)?;
    warn_of_readers(global, store.file());
    Ok(store)
}

/// Names a database that was created just now, because a call with another home directory would find another one.
pub fn say_that_it_is_new(global: &Global, file: &StoreFile) {
    if global.quiet {
        return;
    }
    warn(&format!("created the database {}", display(file.path())));
    let own = sudo_user().and_then(|user| Some((default_database(&user.account)?, user)));
    if let Some((own, user)) = own.filter(|(own, _)| own != file.path()) {
        let (name, own) = (safe_line(&user.account.name), display(&own));
        let start = become_user(user.id, None);
        warn(&format!(
            "{name}, who called sudo, has a database, {own}, and its workers do not serve this one; for that one type: \
             {start} runner ..."
        ));
    }
}

/// The user who became root by sudo.
fn sudo_user() -> Option<accounts::Listed> {
    let id = std::env::var("SUDO_UID").ok()?.parse().ok()?;
    let is_other = rustix::process::geteuid().is_root() && id != 0;
    is_other.then(|| accounts::with_id(id)).flatten()
}

/// The database that this user has at the default place.
fn default_database(user: &Account) -> Option<PathBuf> {
    let home = |name: &str| (name == "HOME").then(|| OsString::from(&user.home));
    let path = store::locate(None, &home)?;
    path.is_file().then_some(path)
}

/// Says how to close a database that other users may read: a reader can lock all writers out. SQLite may have removed two of the files
/// until somebody types it, which is no reason for an error.
pub fn warn_of_readers(global: &Global, file: &StoreFile) {
    let open = if global.quiet { Vec::new() } else { file.readable_by_others() };
    if open.is_empty() {
        return;
    }
    let words: Vec<_> = open.iter().map(|path| shell_word(&path.to_string_lossy())).collect();
    warn(&format!(
        "other users may read the database, and whoever reads it can keep everybody from writing; to close it: chmod -f o-r {}",
        words.join(" ")
    ));
}

/// Opens the database for a dry run, which creates nothing.
pub fn open_to_rehearse(global: &Global) -> Result<Store> {
    Ok(Store::open_to_rehearse(store_file(global)?)?)
}

/// Opens the database; `None` if it is missing.
pub fn open_if_there(global: &Global) -> Result<Option<Store>> {
    match Store::open(store_file(global)?) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether the database is on disk: one that was opened for a dry run may not be. An empty file is none yet.
pub fn is_there(store: &Store) -> bool {
    store.file().path().metadata().is_ok_and(|file| file.len() > 0)
}

/// Opens the database; an error if it is missing.
pub fn open(global: &Global) -> Result<Store> {
    Ok(Store::open(store_file(global)?)?)
}

/// The jobs that count when a name is looked up, of which the newest is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Any,
    Dead,
    /// Those of which an attempt has started.
    Started,
    /// The one that is pending or running. If there are several, none of them is meant.
    Unfinished,
}

/// The id of the job that is meant. A typed id is returned as it is, and the caller finds out whether such a job exists. Says, unless
/// `quiet`, of which project the job is where several have jobs of the name.
pub fn job_id(store: &Store, job: &JobRef, named: Named, now: Timestamp, quiet: bool) -> Result<i64> {
    let name = match job {
        JobRef::Id(id) => return Ok(*id),
        JobRef::Name(name) => name,
    };
    let of_states = |states: &[JobState]| {
        let states = states.iter().copied().map(StateFilter::State).collect();
        Filter { states, name: Some(name.clone()), ..Filter::default() }
    };
    let newest = |filter: &Filter, counts: fn(&JobRow) -> bool| -> Result<Option<JobRow>> {
        let mut jobs = store.jobs(filter, usize::MAX, now)?;
        Ok(jobs.find(|job| job.as_ref().is_ok_and(counts) || job.is_err()).transpose()?)
    };
    let (found, missing) = match named {
        Named::Any => (newest(&of_states(&[]), |_| true)?, ""),
        Named::Dead => (newest(&of_states(&[JobState::Dead]), |_| true)?, "is dead"),
        Named::Started => (newest(&of_states(&[]), |job| job.last_attempt() > 0)?, "has started"),
        Named::Unfinished => {
            let unfinished = of_states(&[JobState::Pending, JobState::Running]);
            let ids = store.unfinished_ids(&unfinished, now)?;
            if ids.len() > 1 {
                if !quiet {
                    say_which(store, name, &ids)?;
                }
                return Err(several_unfinished(name, &ids).into());
            }
            (newest(&unfinished, |_| true)?, "is unfinished")
        }
    };
    if let Some(job) = found {
        if !quiet {
            say_which(store, name, &[job.id])?;
        }
        return Ok(job.id);
    }
    Err(match newest(&of_states(&[]), |_| true)? {
        Some(JobRow { id, state, .. }) => {
            let what = format!("no job named {name} {missing}; the newest, job {id}, is {state}");
            let next = match (named, state) {
                (Named::Dead, JobState::Cancelled) => format!("{} puts it back", to_type("retry", id)),
                (Named::Started, JobState::Pending) => {
                    format!("{} waits for it", to_type("logs", format_args!("-f {id}")))
                }
                (Named::Unfinished, _) => format!("{} shows it", to_type("inspect", id)),
                _ => format!("{} says why", to_type("inspect", id)),
            };
            CliError::new(ExitStatus::NOT_FOUND, what)
                .hint(format!("{next}; to name another job, give its id"))
        }
        None => no_job_named(store, name)?,
    }
    .into())
}

/// The error for a name that would have to mean one unfinished job.
fn several_unfinished(name: &str, ids: &[i64]) -> CliError {
    /// More ids are counted.
    const MAX_IDS: usize = 10;
    let mut listed: Vec<String> = ids.iter().take(MAX_IDS).map(ToString::to_string).collect();
    if ids.len() > MAX_IDS {
        listed.push(format!("and {} more", ids.len() - MAX_IDS));
    }
    let what =
        format!("{} jobs named {name} are unfinished: {}; all were left", ids.len(), listed.join(", "));
    CliError::new(ExitStatus::FAILED, what)
        .hint(format!("give the ids of those that are meant, or --name {name} for all"))
}

/// The ids of the jobs that are meant, and the exit status. For a name without such a job this prints an error, and goes on
/// with the others.
pub fn job_ids(
    store: &Store,
    jobs: &[JobRef],
    named: Named,
    now: Timestamp,
    quiet: bool,
) -> Result<(Vec<i64>, ExitStatus)> {
    let mut exit = ExitStatus::SUCCESS;
    let mut ids = Vec::with_capacity(jobs.len());
    for job in jobs {
        match job_id(store, job, named, now, quiet).map_err(anyhow::Error::downcast::<CliError>) {
            Ok(id) => ids.push(id),
            Err(Ok(error)) => {
                print_error(&error);
                exit = exit.max(error.status);
            }
            Err(Err(other)) => return Err(other),
        }
    }
    Ok((ids, exit))
}

/// The job and the attempt that are meant. A job whose whole name is `NAME.N` wins over attempt N of job NAME.
pub fn job_or_attempt(
    store: &Store,
    what: &JobOrAttempt,
    named: Named,
    now: Timestamp,
    quiet: bool,
) -> Result<(i64, Option<u32>)> {
    let found = job_id(store, &what.job, named, now, quiet);
    if let (Err(_), Some(JobOrAttempt { job, attempt })) = (&found, what.as_attempt_of_name())
        && job_id(store, &what.job, Named::Any, now, true).is_err()
        && let Ok(id) = job_id(store, &job, named, now, quiet)
    {
        return Ok((id, attempt));
    }
    Ok((found?, what.attempt))
}

/// The hint for a name that is like none that a job has.
pub fn lists_jobs() -> String {
    format!("{} lists them", to_type("inspect", "jobs"))
}

fn no_job_named(store: &Store, name: &str) -> Result<CliError> {
    let db = display(store.file().path());
    let failure = CliError::new(ExitStatus::NOT_FOUND, format!("there is no job named {name} in {db}"));
    if let Ok(JobOrAttempt { job: JobRef::Id(id), attempt: Some(_) }) = JobOrAttempt::parse(name) {
        return Ok(failure.hint(format!("{name} would be an attempt; write the id of its job, {id}")));
    }
    let known = store.distinct_values(FilterColumn::Name)?;
    Ok(match near_names(name, known.iter().map(String::as_str)).as_slice() {
        [] => failure.hint(lists_jobs()),
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    })
}

/// The names or queues in the job file; none if it cannot be read.
pub fn declared_values(global: &Global, column: FilterColumn) -> Vec<String> {
    let Ok(file) = job_file(global) else { return Vec::new() };
    let definitions = file.jobs.iter().map(|job| &job.definition);
    match column {
        FilterColumn::Name => definitions.map(|definition| definition.name.clone()).collect(),
        FilterColumn::Queue => {
            definitions.map(|definition| &definition.queue).chain(file.queues.keys()).cloned().collect()
        }
        FilterColumn::ErrorCode => Vec::new(),
    }
}

/// Says that there is no such thing in what this filter selects, and warns of values that no job has.
pub fn warn_of_nothing(global: &Global, store: &Store, what: &str, filter: &Filter) -> Result<()> {
    warn(&nothing_text(what, filter));
    warn_of_unknown_values(global, store, filter)
}

/// The error for a name, a label or both of which there is no job.
pub fn no_job_selected(global: &Global, store: &Store, filter: &Filter) -> Result<CliError> {
    if let (Some(name), None) = (&filter.name, &filter.label) {
        return no_job_named(store, name);
    }
    let failure = CliError::new(ExitStatus::NOT_FOUND, nothing_text("job", filter));
    let unknown = unknown_values(global, store, filter)?;
    let hint = if filter.name.is_none() || unknown.is_empty() { lists_jobs() } else { unknown.join("; ") };
    Ok(failure.hint(hint))
}

/// Says in a line that there is no such thing in what this filter selects.
pub fn nothing_text(what: &str, filter: &Filter) -> String {
    let Filter { name, error_code, label, queue, recovered, .. } = filter;
    let label = match label.as_deref() {
        Some("") => Some(" without a label".to_owned()),
        label => label.map(|label| format!(" with the label {label}")),
    };
    let parts = [
        name.as_ref().map(|name| format!(" of the name {name}")),
        error_code.as_ref().map(|code| format!(" with the code {code}")),
        label,
        queue.as_ref().map(|queue| format!(" in the queue {queue}")),
        recovered.then(|| " of which a later run succeeded".to_owned()),
    ];
    let parts: String = parts.into_iter().flatten().collect();
    safe_line(&format!("there is no {what}{parts}"))
}

/// Warns of each filter whose value no job has, because that is mostly a typing error, and suggests names like it.
pub fn warn_of_unknown_values(global: &Global, store: &Store, filter: &Filter) -> Result<()> {
    for words in unknown_values(global, store, filter)? {
        warn(&words);
    }
    Ok(())
}

/// Names each filter whose value no job has, with names like it.
fn unknown_values(global: &Global, store: &Store, filter: &Filter) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    for (column, value, words) in [
        (FilterColumn::Name, &filter.name, "no job has the name"),
        (FilterColumn::Queue, &filter.queue, "no job is in the queue"),
        (FilterColumn::ErrorCode, &filter.error_code, "nothing has ended with the code"),
    ] {
        let Some(value) = value else { continue };
        let mut known = store.distinct_values(column)?;
        if known.contains(value) {
            continue;
        }
        known.extend(declared_values(global, column));
        unknown.push(unknown_text(words, value, known.iter().map(String::as_str)));
    }
    // There may be a label for each job, so no near one is looked for.
    if let Some(label) = filter.label.as_ref().filter(|label| !label.is_empty())
        && !store.knows_label(label)?
    {
        unknown.push(safe_line(&format!("no job has the label {label}")));
    }
    Ok(unknown)
}

/// Says in these words that nothing has this value, and suggests known ones like it.
pub fn unknown_text<'k>(words: &str, value: &str, known: impl Iterator<Item = &'k str>) -> String {
    let near = near_names(value, known);
    let suggestion = match near.as_slice() {
        [] => String::new(),
        // The job file declares the value, but no job has it yet.
        [first, ..] if *first == value => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    };
    safe_line(&format!("{words} {value}{suggestion}"))
}

/// The job with this id, with the start of its running attempt.
pub fn job(store: &Store, id: i64, now: Timestamp) -> Result<JobRow> {
    find_job(store, id, now)?.ok_or_else(|| no_such_job(store, id).into())
}

/// The same as [`job`], for a job that may have been removed in the meantime.
pub fn find_job(store: &Store, id: i64, now: Timestamp) -> Result<Option<JobRow>> {
    let mut job = store.job(id, now)?;
    if let Some(job) = &mut job {
        add_start(store, job);
    }
    Ok(job)
}

/// The error for an id that no job has.
pub fn no_such_job(store: &Store, id: i64) -> CliError {
    let db = display(store.file().path());
    CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {id} in {db}")).hint(lists_jobs())
}

/// Adds the start of the running attempt. It comes from the start log of the worker, because the worker writes it to the
/// database a second later.
pub fn add_start(store: &Store, job: &mut JobRow) {
    if let Some(worker) = &job.worker_id
        && let Some(number) = job.attempts.checked_add(1)
        && let Some(at) = worker::started_at(&store.file().run_dir(), worker, job.id, number)
    {
        job.set_attempt_start(at);
    }
}

/// Refuses a path of the caller's that leads through a link which somebody else has put into a shared folder.
pub fn refuse_foreign_link(path: &Path) -> Result<()> {
    match paths::foreign_link(path) {
        Some(link) => Err(link).with_context(|| format!("{} is not used", display(path))),
        None => Ok(()),
    }
}

/// The job file at this path, else the one that every verb would read.
pub fn named_job_file(global: &Global, path: Option<&Path>) -> Result<JobFile> {
    match path {
        Some(path) => Ok(JobFile::read(path)?),
        None => job_file(global),
    }
}

pub fn job_file_path(global: &Global) -> Result<PathBuf> {
    find_job_file(global.file.as_deref())
}

/// The job file that is meant if `--file` names this one, or none.
pub fn find_job_file(named: Option<&Path>) -> Result<PathBuf> {
    Ok(jobfile::locate(named, &|name| std::env::var_os(name), &current_dir()?)?)
}

/// The place of this call with this job file, which is not named where the other verbs find it without that.
pub fn place_of(path: &Path) -> CallTarget {
    let place = CallTarget::of_this_call();
    let found = find_job_file(None).ok().and_then(|found| fs::canonicalize(found).ok());
    if !place.names_file() && found.is_some() && found == fs::canonicalize(path).ok() {
        place.clone()
    } else {
        place.with_file(&display(path))
    }
}

pub fn job_file(global: &Global) -> Result<JobFile> {
    Ok(JobFile::read(&job_file_path(global)?)?)
}

/// The path by which the database knows the file. Links are resolved, so that a link to the file counts as the same
/// file.
pub fn canonical(path: &Path) -> Result<String> {
    let path = fs::canonicalize(path).with_context(|| format!("could not find {}", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// The job file as the caller came to it.
pub fn path_of(file: &JobFile) -> Result<JobFilePath> {
    let named = behind_links(&file.path).unwrap_or_else(|| file.path.clone());
    Ok(JobFilePath { path: canonical(&file.path)?, named: named.to_string_lossy().into_owned() })
}

/// The path of a file in the folder of the caller or above it, with the links by which the caller's shell came there. None if `$PWD`
/// does not tell, or the file is elsewhere.
fn behind_links(path: &Path) -> Option<PathBuf> {
    let shell = PathBuf::from(std::env::var_os("PWD")?);
    let below = current_dir().ok()?.strip_prefix(path.parent()?).ok()?.components().count();
    let named = shell.ancestors().nth(below)?.join(path.file_name()?);
    let is_same = named.is_absolute() && fs::canonicalize(&named).ok()? == fs::canonicalize(path).ok()?;
    is_same.then_some(named)
}

/// The job that the job file declares under this name.
pub fn declared_job(global: &Global, name: &str) -> Result<Declared> {
    let file = job_file(global)?;
    Ok(file.job(name).ok_or_else(|| not_declared(&file, "enqueue", name))?.clone())
}

pub fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().context("could not find the current directory")
}

/// How to call this verb with this text, which stands in the place of a name, as a command; none if it may well be a name.
fn call_of_command(verb: &str, text: &str) -> Option<String> {
    let needs_shell = text.contains(|c: char| "|&;<>()$`\\\"'*?[]#~={}!\n".contains(c));
    if needs_shell {
        Some(to_type(verb, format_args!("-c {}", shell_word(text))))
    } else if text.contains(char::is_whitespace) || text.contains('/') {
        Some(to_type(verb, format_args!("-- {}", text.trim())))
    } else {
        None
    }
}

/// Adds to the error that there is no job file how this verb takes this text as a command, which needs none.
pub fn without_job_file(error: anyhow::Error, verb: &str, typed: &str) -> anyhow::Error {
    if !matches!(error.downcast_ref(), Some(JobFileError::Nowhere { .. })) {
        return error;
    }
    let hint = match call_of_command(verb, typed) {
        Some(call) => {
            format!(
                "to {verb} it as a command, type: {call}; `{}` writes a job file here",
                to_type("init", "")
            )
        }
        None => format!(
            "`{}` writes one here, and `--file PATH` or $RUNNER_FILE names another; a command needs none: {}",
            to_type("init", ""),
            to_type(verb, format_args!("-- {}", shell_word(typed)))
        ),
    };
    describe(&error).hint(hint).into()
}

/// The error for a name that the job file does not declare. It names the file that was read, and near names.
pub fn not_declared(file: &JobFile, verb: &str, name: &str) -> CliError {
    let failure =
        CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {name:?} in {}", display(&file.path)));
    let declared = file.jobs.iter().map(|job| job.definition.name.as_str());
    if let Some(call) = call_of_command(verb, name) {
        return failure.hint(format!("to {verb} it as a command, type: {call}"));
    }
    match near_names(name, declared).as_slice() {
        [] if file.jobs.is_empty() => failure.hint("the file declares no job"),
        [] => match check_name(name) {
            Err(why) => failure.hint(why),
            Ok(()) => failure.hint(format!(
                "{} lists its jobs; {} takes any command",
                to_type("check", ""),
                to_type(verb, "-- CMD")
            )),
        },
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

/// A path, safe for a terminal.
pub fn display(path: &Path) -> String {
    safe_line(&path.display().to_string())
}
