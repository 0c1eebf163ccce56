//! Finds the database and the job file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::args::Global;
use super::error::{CliError, ExitStatus};
use crate::jobfile::{self, Declared, JobFile};
use crate::model::check_name;
use crate::store::{self, JobRow, Store, StoreError, StoreFile};
use crate::text::Timestamp;
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

/// Opens the database, and creates it where there is none.
pub fn open_or_create(global: &Global) -> Result<Store> {
    Ok(Store::open_or_create(store_file(global)?)?)
}

/// Opens the database; none where there is none yet.
pub fn open_if_there(global: &Global) -> Result<Option<Store>> {
    match Store::open(store_file(global)?) {
        Ok(store) => Ok(Some(store)),
        Err(StoreError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens the database; an error where there is none.
pub fn open(global: &Global) -> Result<Store> {
    Ok(Store::open(store_file(global)?)?)
}

/// The job of this id, with the start of an attempt that runs now.
pub fn job(store: &Store, id: i64, now: Timestamp) -> Result<JobRow> {
    find_job(store, id, now)?.ok_or_else(|| no_such_job(store, id).into())
}

/// [`job`], where it may have been removed in the meantime.
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
    CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {id} in {db}"))
        .hint("runner inspect jobs lists them")
}

/// Adds the start of the attempt that runs now, which only its worker knows.
pub fn add_start(store: &Store, job: &mut JobRow) {
    if let Some(worker) = &job.worker_id
        && let Some(number) = job.attempts.checked_add(1)
        && let Some(at) = worker::started_at(&store.file().run_dir(), worker, job.id, number)
    {
        job.set_attempt_start(at);
    }
}

pub fn job_file_path(global: &Global) -> Result<PathBuf> {
    Ok(jobfile::locate(global.file.as_deref(), &|name| std::env::var_os(name), &current_dir()?)?)
}

pub fn job_file(global: &Global) -> Result<JobFile> {
    Ok(JobFile::read(&job_file_path(global)?)?)
}

/// The job that the job file declares under this name.
pub fn declared_job(global: &Global, name: &str) -> Result<Declared> {
    let file = job_file(global)?;
    Ok(file.job(name).ok_or_else(|| not_declared(&file, name))?.clone())
}

pub fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().context("could not find the current directory")
}

/// The error for a name that the job file lacks: which file was read, and near names.
pub fn not_declared(file: &JobFile, name: &str) -> CliError {
    let failure =
        CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {name:?} in {}", display(&file.path)));
    match file.near(name).as_slice() {
        [] if file.jobs.is_empty() => failure.hint("the file declares no job"),
        [] => match check_name(name) {
            Err(why) => failure.hint(why),
            Ok(()) => failure.hint("runner check lists its jobs; runner enqueue -- CMD takes any command"),
        },
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

/// A path, safe for a terminal.
pub fn display(path: &Path) -> String {
    crate::text::safe_line(&path.display().to_string())
}
