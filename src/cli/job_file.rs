//! Finds the job file, and the path by which the database knows it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::args::Global;
use super::error::NO_CURRENT_DIR;
use crate::call_target::CallTarget;
use crate::jobfile::{self, FILE_NAME, JobFile};
use crate::model::JobDefinition;
use crate::paths;
use crate::store::{FilterColumn, JobFilePath};
use crate::text::shown_path;

/// Refuses a path of the caller's that leads through a link which somebody else has put into a shared folder.
pub fn refuse_foreign_link(path: &Path) -> Result<()> {
    match paths::foreign_link(path) {
        Some(link) => Err(link).with_context(|| format!("{} is not used", shown_path(path))),
        None => Ok(()),
    }
}

/// The job file at this path, else the one that every verb would read.
pub fn named_job_file(global: &Global, path: Option<&Path>) -> Result<JobFile> {
    match path {
        Some(path) => Ok(JobFile::read(path)?),
        None => read(global),
    }
}

pub fn path(global: &Global) -> Result<PathBuf> {
    find(global.file.as_deref())
}

/// The job file that is meant if `--file` names this one, or none.
pub fn find(named: Option<&Path>) -> Result<PathBuf> {
    jobfile::locate(named, &|name| std::env::var_os(name), current_dir)
}

/// The place of this call with this job file, which is not named where the other verbs find it without that.
pub fn place_of(path: &Path) -> CallTarget {
    let place = CallTarget::of_this_call();
    let found = find(None).ok().and_then(|found| fs::canonicalize(found).ok());
    if !place.names_file() && found.is_some() && found == fs::canonicalize(path).ok() {
        place.clone()
    } else {
        place.with_file(&shown_path(path))
    }
}

pub fn read(global: &Global) -> Result<JobFile> {
    Ok(JobFile::read(&path(global)?)?)
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
    let with_schedule = file.jobs.iter().filter(|job| job.schedule.is_some());
    let schedules = with_schedule.map(|job| job.definition.name.clone()).collect();
    Ok(JobFilePath { path: canonical(&file.path)?, named: named.to_string_lossy().into_owned(), schedules })
}

/// The path by which this job file was named when these definitions were made of it. The database knows only the canonical one,
/// but if a working directory of theirs, or a folder above one, holds a link to the file, that link was named. Relative paths in
/// the file start from the folder of this path.
pub fn as_named<'a>(file: &Path, definitions: impl Iterator<Item = &'a JobDefinition>) -> PathBuf {
    let names = [file.file_name().unwrap_or_default(), FILE_NAME.as_ref()];
    let folders: BTreeSet<&Path> =
        definitions.flat_map(|of| Path::new(of.cwd.as_os_str()).ancestors()).collect();
    let is_trusted = |path: &Path| jobfile::check_found(path, &|name| std::env::var_os(name)).is_ok();
    let leads_here = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|to| to == file) && is_trusted(path);
    // A link that was turned to the next release still says where the paths of the former one started.
    let was_turned = |path: &PathBuf| {
        let is_behind_link = path.is_symlink()
            || path.parent().is_some_and(|folder| fs::canonicalize(folder).is_ok_and(|to| to != folder));
        is_behind_link && path.is_file() && is_trusted(path)
    };
    let links = || folders.iter().rev().flat_map(|folder| names.map(|name| folder.join(name)));
    let link = links().find(leads_here).or_else(|| links().find(was_turned));
    link.unwrap_or_else(|| file.to_owned())
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

/// The names or queues in the job file; none if it cannot be read.
pub fn declared_values(global: &Global, column: FilterColumn) -> Vec<String> {
    let Ok(file) = read(global) else { return Vec::new() };
    let definitions = file.jobs.iter().map(|job| &job.definition);
    match column {
        FilterColumn::Name => definitions.map(|definition| definition.name.clone()).collect(),
        FilterColumn::Queue => {
            definitions.map(|definition| &definition.queue).chain(file.queues.keys()).cloned().collect()
        }
        FilterColumn::ErrorCode => Vec::new(),
    }
}

pub fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().context(NO_CURRENT_DIR)
}
