//! The job file of a job, for what compares it with the present one or takes that: its own file, whatever folder the call is made
//! in, unless the caller names one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Result, bail};

use super::args::Global;
use super::error::{CliError, ExitStatus, describe};
use super::job_file;
use super::named_file::{self, NoText};
use crate::jobfile::{self, JobFile};
use crate::model::JobDefinition;
use crate::paths::foreign_link;
use crate::store::JobRow;
use crate::text::shown_path;

type Read = Result<Rc<JobFile>, CliError>;

/// The job files of jobs, each read once.
pub struct OwnFiles<'a> {
    global: &'a Global,
    /// By the path that the database names, and the one by which the job was declared; none is the file that the caller names, or
    /// that a call here finds.
    read: RefCell<BTreeMap<Option<(String, PathBuf)>, Read>>,
}

impl<'a> OwnFiles<'a> {
    pub const fn new(global: &'a Global) -> Self {
        Self { global, read: RefCell::new(BTreeMap::new()) }
    }

    /// The file of this job. Where it is unknown, because a program older than 1.2 enqueued the job, it is the file that a call here
    /// finds, if it declares the job with the directory that the job has.
    ///
    /// # Errors
    ///
    /// It is gone, cannot be used, or is not known.
    pub fn of(&self, job: &JobRow) -> Read {
        let path = job.file.as_ref().filter(|_| !self.is_named());
        let is_guessed = path.is_none() && !self.is_named();
        let as_named = |path: &String| job_file::as_named(Path::new(path), iter::once(&*job.definition));
        let path = path.map(|path| next_release(job).unwrap_or_else(|| (path.clone(), as_named(path))));
        let mut read = self.read.borrow_mut();
        let file = read.entry(path.clone()).or_insert_with(|| {
            let read = path.map_or_else(
                || job_file::read(self.global),
                |(path, named)| read_named(Path::new(&path), &named),
            );
            read.map(Rc::new).map_err(|error| describe(&error))
        });
        let place = |of: &JobDefinition| fs::canonicalize(of.cwd.as_os_str()).ok();
        let runs_there = |file: &JobFile| {
            let declared = file.job(&job.definition.name);
            declared.is_some_and(|declared| place(&declared.definition) == place(&job.definition))
        };
        if is_guessed && !file.as_deref().is_ok_and(runs_there) {
            let what = "its job file is unknown, because a runner older than 1.2 enqueued it";
            return Err(CliError::new(ExitStatus::FAILED, what).hint(HINT));
        }
        file.clone()
    }

    /// Whether the caller says which file is meant.
    pub fn is_named(&self) -> bool {
        self.global.file.is_some() || std::env::var_os("RUNNER_FILE").is_some_and(|path| !path.is_empty())
    }
}

/// The file to which the link leads now that led to the file of this job, and the path with the link; none if it still leads there.
fn next_release(job: &JobRow) -> Option<(String, PathBuf)> {
    let named = PathBuf::from(job.file_link.as_ref()?);
    let is_used = foreign_link(&named).is_none() && named.is_file();
    let path = is_used.then(|| job_file::canonical(&named).ok())??;
    (Some(&path) != job.file.as_ref()).then_some((path, named))
}

const HINT: &str = "--file names the one to take";

/// Reads a job file that a database names, by the rules of a file that was found. Relative paths in it start from the folder of
/// `named`.
fn read_named(path: &Path, named: &Path) -> Result<JobFile> {
    let unusable = |why: &str| {
        let what = format!("the job file {} {why}", shown_path(path));
        CliError::new(ExitStatus::NOT_FOUND, what).hint(HINT)
    };
    let text = match named_file::read(path) {
        Ok(text) => text,
        Err(NoText::Gone) => bail!(unusable("is gone")),
        Err(NoText::NotRead(why)) => bail!(unusable(&format!("is not read, because {why}"))),
        Err(NoText::Unreadable) => bail!(unusable("cannot be read")),
    };
    jobfile::check_found(path, &|name| std::env::var_os(name))?;
    Ok(JobFile::parse(named, &text).map_err(jobfile::JobFileError::from)?)
}
