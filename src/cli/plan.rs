//! Builds jobs from options and the job file, for `enqueue`, `run`, `retry --redefine` and `change --redefine`.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};

use super::args::Global;
use super::database;
use super::error::CliError;
use super::find_job::{self, Candidates};
use super::job_file;
use super::options::JobOptions;
use super::suggest;
use super::values::JobRef;
use crate::call_target::to_type;
use crate::jobfile::JobFile;
use crate::model::{Bytes, Command, DependencyKind, JobDefinition, JobLayer, MAX_ARG_STRLEN, check_name};
use crate::paths::is_gone;
use crate::store::{self, Dependency, Due, JobFilePath, JobRow, NewJob, RegisteredFile, Store, StoreError};
use crate::text::{Timestamp, safe_line, shell_word};
use crate::view::terminal::warn;

/// Builds jobs from layers of options. The first layer wins: a batch line comes before the command line.
pub struct Planner<'a> {
    global: &'a Global,
    /// What was typed, for hints.
    verb: &'static str,
    now: Timestamp,
    /// Read only when a job needs it, because ad hoc jobs work without a job file.
    file: OnceCell<Rc<JobFile>>,
    /// Opened only when a job depends on another one by its name; none if there is no database yet.
    store: OnceCell<Option<Store>>,
}

impl<'a> Planner<'a> {
    /// Due times count from `now`.
    pub const fn new(global: &'a Global, verb: &'static str, now: Timestamp) -> Self {
        Self { global, verb, now, file: OnceCell::new(), store: OnceCell::new() }
    }

    pub fn file(&self) -> Result<&JobFile> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = job_file::read(self.global)?;
        Ok(self.file.get_or_init(|| Rc::new(file)))
    }

    /// The same with this job file.
    pub fn of_file(global: &'a Global, verb: &'static str, now: Timestamp, file: Rc<JobFile>) -> Self {
        Self { file: OnceCell::from(file), ..Self::new(global, verb, now) }
    }

    /// The definition of a job: a declared or an ad hoc one, with the options laid over it.
    pub fn definition(&self, options: &[&JobOptions]) -> Result<JobDefinition> {
        let command = options.iter().find_map(|layer| layer.command.as_ref());
        let name = options.iter().find_map(|layer| layer.name.as_deref());
        let layers = options.iter().map(|options| options.layer()).collect::<Result<Vec<_>>>()?;
        let given = layers.clone();
        let speak_of_retries = layers.iter().any(JobLayer::speaks_of_retries);
        let merge = |inner: JobLayer, outer: JobLayer| inner.over(&outer.insisting_on_retries());
        let options = layers.into_iter().fold(JobLayer::default(), merge);
        let mut definition = match (command, name) {
            // It runs once, unless an option speaks of its retries, which would have no effect then: so what is not given of
            // the policy is as in a job file.
            (Some(command), name) => {
                check_warnings(&given, &[])?;
                let once = JobLayer { max_attempts: Some(1), ..JobLayer::default() };
                let options = if speak_of_retries { options } else { options.over(&once) };
                let bare = ad_hoc(command, name, options.cwd.as_ref())?;
                options.resolve(bare)
            }
            (None, Some(name)) => {
                let file = self.file().map_err(|error| suggest::without_job_file(error, self.verb, name))?;
                let job = file.job(name).ok_or_else(|| suggest::not_declared(file, self.verb, name))?;
                check_warnings(&given, &[&job.layer, &file.defaults])?;
                // What an option writes of a status of the shell goes before what was added for one.
                let written =
                    JobDefinition { exit: job.definition.written_exit_rules(), ..job.definition.clone() };
                options.over(&job.layer).over(&file.defaults).resolve(written)
            }
            (None, None) => bail!(CliError::usage("a \"name\" or a \"command\" is needed")),
        };
        definition.add_shell_statuses();
        Ok(definition)
    }

    /// The jobs for these names of the job file, with their dependencies.
    pub fn declared_jobs(&self, names: Vec<String>, options: &JobOptions) -> Result<Plan> {
        let mut plan = Plan::default();
        // Where none of several is declared, they are the words of a command.
        if names.len() > 1 {
            let words = names.iter().map(|name| shell_word(name)).collect::<Vec<_>>().join(" ");
            let file = self.file().map_err(|error| suggest::without_job_file(error, self.verb, &words))?;
            if names.iter().all(|name| file.job(name).is_none()) {
                let call = to_type(self.verb, format_args!("-- {words}"));
                let unknown = suggest::not_declared(file, self.verb, &names[0]);
                let hint = unknown.hint.clone().filter(|hint| hint.starts_with("did you mean"));
                let hint = hint.map(|hint| format!("{hint} ")).unwrap_or_default();
                bail!(unknown.hint(format!("{hint}to {} it as a command, type: {call}", self.verb)));
            }
        }
        for name in names {
            let options = JobOptions { name: Some(name), ..options.clone() };
            let definition = Arc::new(self.definition(&[&options])?);
            self.add(&mut plan, definition, &[&options])?;
        }
        Ok(plan)
    }

    /// Adds a job that was named to a plan. Those of its dependencies in the job file that the plan does not have yet are
    /// added before it. If an earlier job has brought it as a dependency, it takes that place, so that its options apply. Gives
    /// its index in the plan.
    pub fn add(
        &self,
        plan: &mut Plan,
        definition: Arc<JobDefinition>,
        options: &[&JobOptions],
    ) -> Result<usize> {
        let job = self.job(definition, options)?;
        if !job.definition.ad_hoc && plan.file.is_none() {
            plan.file = Some(job_file::path_of(self.file()?)?);
        }
        let no_deps = options.iter().any(|layer| layer.no_deps == Some(true));
        let declared = if job.definition.ad_hoc { None } else { self.file()?.job(&job.definition.name) };
        let Some(declared) = declared.filter(|_| !no_deps) else {
            return Ok(plan.push(job, std::iter::empty()));
        };
        for before in self.file()?.with_dependencies(declared) {
            let name = &before.definition.name;
            if *name != job.definition.name && !plan.index.contains_key(name) {
                let dependency = self.job(Arc::new(before.definition.clone()), &[])?;
                let own_schedule = before.own_schedule();
                let dependency = NewJob { is_dependency: true, own_schedule, ..dependency };
                plan.push(dependency, before.dependencies());
            }
        }
        Ok(plan.push(job, declared.dependencies()))
    }

    /// One job of a definition.
    pub fn job(&self, definition: Arc<JobDefinition>, options: &[&JobOptions]) -> Result<NewJob> {
        let args = options.iter().find_map(|layer| layer.args.clone()).unwrap_or_default();
        check_limits(&definition, &args)?;
        Ok(NewJob {
            args,
            due: options.iter().find_map(|layer| layer.due(self.now)).unwrap_or_default(),
            idempotency_key: options.iter().find_map(|layer| layer.idempotency_key.clone()),
            label: options.iter().find_map(|layer| layer.label.clone()),
            on_conflict: options.iter().find_map(|layer| layer.on_conflict).unwrap_or_default(),
            dependencies: self.dependencies(options)?,
            ..NewJob::new(definition)
        })
    }

    /// A job to replace this one: the definition of the job file, with the arguments, the label, the scheduled time and the keys of
    /// the old job. A unique key that the job file declares wins over the old one. It is due now, and its expiry counts from now,
    /// because that scheduled time may be long past. None if the file does not declare the job.
    pub fn replacement(&self, old: &JobRow) -> Result<Option<NewJob>> {
        let name = &old.definition.name;
        let file = self.file()?;
        let Some(declared) = file.job(name).filter(|_| !old.definition.ad_hoc) else { return Ok(None) };
        let says_more =
            declared.after.len() + declared.after_any.len() > old.after.len() + old.after_any.len();
        if says_more && !self.global.quiet {
            warn(&format!(
                "what job {} {name} waits for stays as it was, though the job file has more in `after` or `after_any`",
                old.id
            ));
        }
        let options = JobOptions {
            name: Some(name.clone()),
            args: Some(old.args.clone()),
            label: old.label.clone(),
            idempotency_key: old.idempotency_key.clone(),
            ..JobOptions::default()
        };
        let mut definition = self.definition(&[&options])?;
        definition.unique_key = definition.unique_key.or_else(|| old.definition.unique_key.clone());
        definition.keep_alert_variables(&old.definition);
        let new = self.job(Arc::new(definition), &[&options])?;
        Ok(Some(NewJob { scheduled: old.scheduled, due: Due::At(self.now), job_file: old.job_file, ..new }))
    }

    /// The jobs that the options name: those of the first layer that has a list of the kind.
    fn dependencies(&self, options: &[&JobOptions]) -> Result<Vec<(Dependency, DependencyKind)>> {
        let first = |list: fn(&JobOptions) -> Option<&Vec<JobRef>>| -> Result<Vec<i64>> {
            let jobs = options.iter().find_map(|layer| list(layer)).into_iter().flatten();
            jobs.map(|job| self.id_of(job)).collect()
        };
        let (after, after_any) =
            (first(|layer| layer.after.as_ref())?, first(|layer| layer.after_any.as_ref())?);
        if let Some(id) = after.iter().find(|id| after_any.contains(id)) {
            bail!(
                CliError::usage(format!("job {id} stands in --after and in --after-any"))
                    .hint("--after waits for its success, --after-any for any end: drop one of the two")
            );
        }
        let of = |ids: &[i64], kind| ids.iter().map(|id| (Dependency::Job(*id), kind)).collect::<Vec<_>>();
        Ok([of(&after, DependencyKind::Success), of(&after_any, DependencyKind::Any)].concat())
    }

    /// The id of a job that others depend on; a name is the newest job of that name.
    fn id_of(&self, job: &JobRef) -> Result<i64> {
        let name = match job {
            JobRef::Id(id) => return Ok(*id),
            JobRef::Name(name) => name,
        };
        if self.store.get().is_none() {
            let store = database::open_if_there(self.global)?;
            let _ = self.store.set(store);
        }
        let Some(store) = self.store.get().and_then(Option::as_ref) else {
            let missing = StoreError::Missing(database::store_file(self.global)?.path().to_owned());
            return Err(anyhow!(missing).context(format!("there is no job named {name} to wait for")));
        };
        find_job::job_id(store, job, Candidates::Any, self.now, self.global.quiet)
    }
}

/// The jobs that one call enqueues in one transaction.
#[derive(Default)]
pub struct Plan {
    pub jobs: Vec<NewJob>,
    /// The first job of each declared name.
    index: HashMap<String, usize>,
    /// What a batch was read from.
    source: String,
    /// The line of a batch that names the job, by the index of the job.
    pub lines: HashMap<usize, usize>,
    /// The file that declares its jobs; none if all are ad hoc.
    file: Option<JobFilePath>,
}

impl Plan {
    /// A plan whose jobs come from lines.
    pub fn of_batch(source: &str) -> Self {
        Self { source: source.to_owned(), ..Self::default() }
    }

    /// Tells the database which file declares the jobs. Gives what is to be said if that has taken the place of another one; where
    /// `quiet`, only if the folder of that is still there, because then it may have been another project's.
    pub fn register(&mut self, store: &mut Store, quiet: bool) -> store::Result<Option<String>> {
        let Some(file) = &self.file else { return Ok(None) };
        let declared = |job: &&NewJob| !job.definition.ad_hoc;
        let names: Vec<&str> =
            self.jobs.iter().filter(declared).map(|job| job.definition.name.as_str()).collect();
        let RegisteredFile { id, moved_from } = store.register_job_file(file, &names)?;
        let may_be_other = |former: &Path| is_gone(former) && former.parent().is_some_and(Path::is_dir);
        let moved_from = moved_from.filter(|former| !quiet || may_be_other(Path::new(former)));
        let moved = moved_from.map(|former| {
            format!("the jobs of {} are those of {} now", safe_line(&former), safe_line(&file.path))
        });
        for job in self.jobs.iter_mut().filter(|job| !job.definition.ad_hoc) {
            job.job_file = Some(id);
        }
        Ok(moved)
    }

    /// What an error of this job begins with: its line if a batch names it, else nothing.
    pub fn place(&self, index: usize) -> String {
        let line = self.lines.get(&index);
        line.map(|line| format!("{} line {line}: ", self.source)).unwrap_or_default()
    }

    /// Adds a job that depends on these names, which the plan has already. A dependency of the same name gives it its place.
    /// Gives its index.
    fn push<'n>(
        &mut self,
        mut job: NewJob,
        names: impl Iterator<Item = (&'n String, DependencyKind)>,
    ) -> usize {
        let known = names.filter_map(|(name, kind)| Some((Dependency::InCall(*self.index.get(name)?), kind)));
        job.dependencies.extend(known);
        let end = self.jobs.len();
        if !job.definition.ad_hoc {
            let index = *self.index.entry(job.definition.name.clone()).or_insert(end);
            if let Some(dependency) = self.jobs.get_mut(index).filter(|known| known.is_dependency) {
                *dependency = job;
                return index;
            }
        }
        self.jobs.push(job);
        end
    }
}

/// Refuses exit status 0 as a warning, unless the successes that count leave it out.
fn check_warnings(options: &[JobLayer], file: &[&JobLayer]) -> Result<()> {
    let layers: Vec<&JobLayer> = options.iter().chain(file.iter().copied()).collect();
    if JobLayer::warn_of_zero(&layers) {
        let what = "exit status 0 is a success, so it is no warning";
        bail!(
            CliError::usage(what)
                .hint("take it out of --warning-exit-codes, or give --success-exit-codes without it")
        );
    }
    Ok(())
}

/// The definition of a job that no file declares, in this directory, else in that of the caller.
fn ad_hoc(command: &Command, name: Option<&str>, cwd: Option<&Bytes>) -> Result<JobDefinition> {
    let is_empty = match command {
        Command::Shell(line) => line.0.iter().all(u8::is_ascii_whitespace),
        Command::Argv(words) => words.first().is_none_or(|program| program.0.is_empty()),
    };
    if is_empty {
        bail!(CliError::usage("the command is empty"));
    }
    let name = name.map_or_else(|| name_of(command), str::to_owned);
    let cwd = match cwd {
        Some(cwd) => cwd.clone(),
        None => Bytes::from(job_file::current_dir()?.as_os_str()),
    };
    Ok(JobDefinition { ad_hoc: true, ..JobDefinition::new(&name, command.clone(), cwd) })
}

/// The name of the command's program if that is a valid name, else `adhoc`.
fn name_of(command: &Command) -> String {
    let first = match command {
        Command::Shell(line) => line.to_text().split_whitespace().next().unwrap_or_default().to_owned(),
        Command::Argv(argv) => argv.first().map(Bytes::to_text).unwrap_or_default(),
    };
    let program = Path::new(&first).file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    if check_name(&program).is_ok() { program.into_owned() } else { "adhoc".to_owned() }
}

/// Refuses a command that the kernel could never execute (execve(2)), before the job is on disk.
pub fn check_limits(definition: &JobDefinition, args: &[Bytes]) -> Result<()> {
    /// The limit for all strings together, each with its pointer. The kernel allows at most 6 MiB, which is three
    /// quarters of the usual stack limit of 8 MiB. With a lower stack limit the job is enqueued, and its start fails.
    const MAX_COMMAND_BYTES: usize = 6 << 20;
    let command = match &definition.command {
        Command::Shell(line) => std::slice::from_ref(line),
        Command::Argv(words) => words.as_slice(),
    };
    let words = definition
        .launcher
        .iter()
        .chain(command)
        .chain(args)
        .map(|word| ("argument", word, word.0.len() + 1));
    let variables =
        definition.env.iter().map(|(key, value)| ("variable", key, key.0.len() + value.0.len() + 2));
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
