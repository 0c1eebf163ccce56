//! `--batch`: one JSON object a line.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::super::args::Global;
use super::super::error::{CliError, ExitStatus};
use super::super::output::Bar;
use super::super::{locate, values};
use super::adhoc;
use super::fields::{Fields, Own};
use super::overrides::Overrides;
use super::too_long;
use crate::jobfile::JobFile;
use crate::model::{Bytes, JobSpec};
use crate::store::NewJob;
use crate::text::Timestamp;

/// Definitions remembered at once: a batch of jobs that all differ must not keep the text of each.
const MOST_SHARED: usize = 1_024;

/// The text of a batch, and what it is called.
pub(super) type Lines = (String, String);

/// Reads every line before anything is enqueued. The first bad line is named by its number.
pub(super) fn read(
    global: &Global,
    (text, source): Lines,
    defaults: &Overrides,
    name: Option<&str>,
    now: Timestamp,
) -> Result<Vec<NewJob>> {
    let mut bar = Bar::new(global, "{pos} of {len} lines read");
    let all = if bar.is_watched() { text.lines().count() as u64 } else { 0 };
    let mut reader = Reader { global, defaults, name, now, cwd: None, file: None, shared: BTreeMap::new() };
    let mut jobs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        bar.set(index as u64, all);
        if line.trim().is_empty() {
            continue;
        }
        let job = reader.job(line).map_err(wrong_input);
        jobs.push(job.with_context(|| format!("nothing was enqueued: {source} line {}", index + 1))?);
    }
    Ok(jobs)
}

/// A value that cannot be taken is wrong input here, not a wrong command line.
fn wrong_input(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<CliError>() {
        Ok(error) if error.status == ExitStatus::USAGE => {
            CliError { status: ExitStatus::DATA, ..error }.into()
        }
        Ok(error) => error.into(),
        Err(other) => other,
    }
}

/// Reads the whole of it.
pub(super) fn read_text(path: &Path) -> Result<Lines> {
    let (bytes, source) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let done = io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes);
        (done, "standard input".to_owned())
    } else {
        (fs::read(path), locate::display(path))
    };
    let bytes = match bytes {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!(CliError::new(ExitStatus::NOT_FOUND, format!("there is no file {source}")))
        }
        read => read.with_context(|| format!("could not read {source}"))?,
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, source)),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.split(|byte| *byte == b'\n').count();
            let what = format!("nothing was enqueued: {source} line {line}: it is not UTF-8");
            bail!(CliError::new(ExitStatus::DATA, what))
        }
    }
}

struct Reader<'a> {
    global: &'a Global,
    defaults: &'a Overrides,
    name: Option<&'a str>,
    now: Timestamp,
    /// The caller's directory, asked for when the first line needs it.
    cwd: Option<Bytes>,
    /// Read when the first line names a declared job.
    file: Option<JobFile>,
    /// Definitions of earlier lines, by the text they were made from: a million lines need not make a million copies.
    shared: BTreeMap<String, Arc<JobSpec>>,
}

impl Reader<'_> {
    fn job(&mut self, line: &str) -> Result<NewJob> {
        let invalid = |message: String| CliError::new(ExitStatus::DATA, message);
        let mut fields = Fields::parse(line).map_err(invalid)?;
        let own = fields.take_own().map_err(invalid)?;
        let text = fields.what_is_left();
        if let Some(spec) = text.as_ref().and_then(|text| self.shared.get(text)) {
            return self.another(Arc::clone(spec), own);
        }
        let (overrides, command, args, name) = fields.take_all(own).map_err(invalid)?;
        overrides.check().map_err(invalid)?;
        let overrides = overrides.over(self.defaults);
        let job = match (command, name) {
            (Some(command), name) => {
                let name = name.as_deref().or(self.name);
                if let Some(name) = name {
                    values::name(name).map_err(invalid)?;
                }
                let cwd = match self.cwd.take() {
                    Some(cwd) => cwd,
                    None => adhoc::cwd()?,
                };
                let cwd = self.cwd.insert(cwd);
                adhoc::new_job(command, args, name, cwd, &overrides, self.now)?
            }
            (None, Some(name)) => self.declared(&name, args, &overrides)?,
            (None, None) => bail!(invalid("a \"name\" or a \"command\" is needed".to_owned())),
        };
        if let Some(text) = text {
            if self.shared.len() >= MOST_SHARED {
                self.shared.clear();
            }
            self.shared.insert(text, Arc::clone(&job.spec));
        }
        Ok(job)
    }

    /// One more job of a definition that an earlier line gave.
    fn another(&self, spec: Arc<JobSpec>, own: Own) -> Result<NewJob> {
        too_long::check_args(&own.args)?;
        Ok(NewJob {
            spec,
            args: own.args,
            stdin: None,
            run_at: own.due.or(self.defaults.due).map(|due| due.resolve(self.now)),
            idempotency_key: own.idempotency_key,
            on_conflict: own.on_conflict.or(self.defaults.on_conflict).unwrap_or_default(),
        })
    }

    fn declared(&mut self, name: &str, args: Vec<Bytes>, overrides: &Overrides) -> Result<NewJob> {
        let file = match self.file.take() {
            Some(file) => file,
            None => locate::job_file(self.global)?,
        };
        let file = self.file.insert(file);
        let job = file.job(name).ok_or_else(|| locate::no_such_job(file, name))?;
        overrides.declared(job, args, self.now)
    }
}
