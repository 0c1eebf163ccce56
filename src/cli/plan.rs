//! From options to the jobs that are enqueued.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};

use super::args::Global;
use super::error::CliError;
use super::locate;
use super::options::JobOptions;
use crate::jobfile::JobFile;
use crate::model::{Bytes, Command, JobSpec, MAX_ARG_STRLEN, PolicyLayer, RetryPolicy, Strategy, check_name};
use crate::store::{After, JobRow, NewJob, Replacement};
use crate::text::Timestamp;

/// Makes jobs of options. The options of a job come in levels, the nearest first: a line of a batch over the command line.
pub struct Planner<'a> {
    global: &'a Global,
    now: Timestamp,
    /// Read when the first job needs the file.
    file: OnceCell<JobFile>,
}

impl<'a> Planner<'a> {
    /// Due times count from `now`.
    pub const fn new(global: &'a Global, now: Timestamp) -> Self {
        Self { global, now, file: OnceCell::new() }
    }

    pub fn file(&self) -> Result<&JobFile> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = locate::job_file(self.global)?;
        Ok(self.file.get_or_init(|| file))
    }

    /// The definition of a job: a declared or an ad hoc one, with the options laid over it.
    pub fn spec(&self, options: &[&JobOptions]) -> Result<JobSpec> {
        let policies: Vec<PolicyLayer> = options.iter().map(|level| level.policy()).collect();
        let policies: Vec<&PolicyLayer> = policies.iter().collect();
        let command = options.iter().find_map(|level| level.command.as_ref());
        let name = options.iter().find_map(|level| level.name.as_deref());
        let mut spec = match (command, name) {
            (Some(command), name) => ad_hoc(command, name, &policies)?,
            (None, Some(name)) => self.declared(name, &policies)?,
            (None, None) => bail!(CliError::usage("a \"name\" or a \"command\" is needed")),
        };
        for level in options.iter().rev() {
            level.apply(&mut spec)?;
        }
        Ok(spec)
    }

    /// The jobs of one call that names these declared jobs.
    pub fn declared_jobs(&self, names: Vec<String>, options: &JobOptions) -> Result<Vec<NewJob>> {
        let mut call = Call { named: names.iter().cloned().collect(), ..Call::default() };
        for name in names {
            // A job that an earlier one is after went in front of that one.
            if !call.early.remove(&name) {
                let options = JobOptions { name: Some(name), ..options.clone() };
                let spec = Arc::new(self.spec(&[&options])?);
                self.add(&mut call, spec, &[&options])?;
            }
        }
        Ok(call.jobs)
    }

    /// Adds a job to a call, and before it what the job file says it is after, unless the call has that already.
    pub fn add(&self, call: &mut Call, spec: Arc<JobSpec>, options: &[&JobOptions]) -> Result<()> {
        let job = self.job(spec, options)?;
        let no_deps = options.iter().any(|level| level.no_deps);
        let declared = if job.spec.ad_hoc { None } else { self.file()?.job(&job.spec.name) };
        let Some(declared) = declared.filter(|_| !no_deps) else {
            call.push(job, &[]);
            return Ok(());
        };
        for before in self.file()?.in_order(declared) {
            let name = &before.spec.name;
            if *name == job.spec.name || call.index.contains_key(name) {
                continue;
            }
            let dependency = if call.named.contains(name) {
                call.early.insert(name.clone());
                let own = JobOptions { name: Some(name.clone()), ..options[0].clone() };
                self.job(Arc::new(self.spec(&[&own])?), &[&own])?
            } else {
                let job = self.job(Arc::new(before.spec.clone()), &[])?;
                NewJob { is_dependency: true, ..job }
            };
            call.push(dependency, &before.after);
        }
        call.push(job, &declared.after);
        Ok(())
    }

    /// One job of a definition.
    pub fn job(&self, spec: Arc<JobSpec>, options: &[&JobOptions]) -> Result<NewJob> {
        let args = options.iter().map(|level| &level.args).find(|args| !args.is_empty());
        let args = args.cloned().unwrap_or_default();
        let after = options.iter().map(|level| &level.after).find(|after| !after.is_empty());
        check_limits(&spec, &args)?;
        Ok(NewJob {
            args,
            run_at: options.iter().find_map(|level| level.run_at(self.now)),
            idempotency_key: options.iter().find_map(|level| level.idempotency_key.clone()),
            on_conflict: options.iter().find_map(|level| level.on_conflict).unwrap_or_default(),
            after: after.into_iter().flatten().copied().map(After::Job).collect(),
            ..NewJob::new(spec)
        })
    }

    /// A job of the present definition in place of this one, with its arguments and keys. A declared unique key goes first.
    pub fn replacement(&self, old: &JobRow) -> Result<Replacement> {
        let (id, name) = (old.id, &old.spec.name);
        if old.spec.ad_hoc || self.file()?.job(name).is_none() {
            return Ok(Replacement { id, job: None });
        }
        let options = JobOptions {
            name: Some(name.clone()),
            args: old.args.clone(),
            idempotency_key: old.idempotency_key.clone(),
            ..JobOptions::default()
        };
        let mut spec = self.spec(&[&options])?;
        spec.unique_key = spec.unique_key.or_else(|| old.spec.unique_key.clone());
        Ok(Replacement { id, job: Some(self.job(Arc::new(spec), &[&options])?) })
    }

    fn declared(&self, name: &str, policies: &[&PolicyLayer]) -> Result<JobSpec> {
        let file = self.file()?;
        let job = file.job(name).ok_or_else(|| locate::not_declared(file, name))?;
        let [near, far] = &job.layers;
        let policy = RetryPolicy::resolve(policies, &[near, far], &RetryPolicy::default());
        Ok(JobSpec { policy, ..job.spec.clone() })
    }
}

/// The jobs of one call.
#[derive(Default)]
pub struct Call {
    pub jobs: Vec<NewJob>,
    /// The first job of each declared name.
    index: HashMap<String, usize>,
    /// The names that were typed; options are for these alone.
    named: HashSet<String>,
    /// Typed names that an earlier typed name is after.
    early: HashSet<String>,
}

impl Call {
    /// Adds a job that is after these, which the call has.
    fn push(&mut self, mut job: NewJob, after: &[String]) {
        job.after.extend(after.iter().filter_map(|name| self.index.get(name)).copied().map(After::InCall));
        if !job.spec.ad_hoc {
            self.index.entry(job.spec.name.clone()).or_insert(self.jobs.len());
        }
        self.jobs.push(job);
    }
}

/// A job that no file declares: it runs once unless the options say otherwise, in the caller's directory.
fn ad_hoc(command: &Command, name: Option<&str>, policies: &[&PolicyLayer]) -> Result<JobSpec> {
    let is_empty = match command {
        Command::Shell(line) => line.0.iter().all(u8::is_ascii_whitespace),
        Command::Argv(words) => words.first().is_none_or(|program| program.0.is_empty()),
    };
    if is_empty {
        bail!(CliError::usage("the command is empty"));
    }
    let backoff = policies.iter().find_map(|level| level.backoff.as_ref());
    let is_list = backoff.is_some_and(|backoff| matches!(backoff.strategy, Strategy::List { .. }));
    if backoff.is_some() && !is_list && policies.iter().all(|level| level.max_attempts.is_none()) {
        bail!(
            CliError::usage("--backoff has no effect on an ad hoc job, which runs once")
                .hint("add --max-attempts N")
        );
    }
    let name = name.map_or_else(|| name_of(command), str::to_owned);
    let once = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
    let mut spec = JobSpec::new(&name, command.clone(), Bytes::from(locate::current_dir()?.as_os_str()));
    spec.ad_hoc = true;
    spec.policy = RetryPolicy::resolve(policies, &[], &once);
    Ok(spec)
}

/// The program of the command, if it can serve as a name.
fn name_of(command: &Command) -> String {
    let first = match command {
        Command::Shell(line) => line.to_text().split_whitespace().next().unwrap_or_default().to_owned(),
        Command::Argv(argv) => argv.first().map(Bytes::to_text).unwrap_or_default(),
    };
    let program = Path::new(&first).file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    if check_name(&program).is_ok() { program.into_owned() } else { "adhoc".to_owned() }
}

/// Refuses a command that the kernel could never execute (execve(2)) before the job is on disk.
pub fn check_limits(spec: &JobSpec, args: &[Bytes]) -> Result<()> {
    /// Bytes of all strings with a pointer each: three quarters of 8 MiB, the usual limit of the stack. A smaller limit
    /// shows when the command is started.
    const MAX_COMMAND_BYTES: usize = 6 << 20;
    let command = match &spec.command {
        Command::Shell(line) => std::slice::from_ref(line),
        Command::Argv(words) => words.as_slice(),
    };
    let words =
        spec.launcher.iter().chain(command).chain(args).map(|word| ("argument", word, word.0.len() + 1));
    let variables = spec.env.iter().map(|(key, value)| ("variable", key, key.0.len() + value.0.len() + 2));
    let mut total = 0;
    for (what, text, length) in words.chain(variables) {
        if length > MAX_ARG_STRLEN {
            let start: String = text.to_text().chars().take(30).collect();
            bail!(
                CliError::usage(format!(
                    "the {what} {start:?} … has {length} bytes, and the kernel takes at most {MAX_ARG_STRLEN}"
                ))
                .hint("put the data into a file and pass its name")
            );
        }
        total += length + size_of::<*const u8>();
    }
    if total > MAX_COMMAND_BYTES {
        let what = format!(
            "the arguments and variables have {total} bytes together, and the kernel takes at most {MAX_COMMAND_BYTES}"
        );
        bail!(CliError::usage(what).hint("put the data into a file and pass its name, or --stdin"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_from_the_program() {
        for (line, name) in
            [("/usr/bin/tar czf x", "tar"), ("$(date)", "adhoc"), ("A=1 make", "adhoc"), ("-x", "adhoc")]
        {
            assert_eq!(name_of(&Command::Shell(Bytes::from(line))), name);
        }
    }
}
