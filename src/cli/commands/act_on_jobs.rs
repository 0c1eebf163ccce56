//! `runner cancel`, `retry`, `change` and `resolve`: each selects jobs, does one thing to each of them in one
//! transaction, prints what changed, and names what was left with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use anyhow::{Result, bail};

use crate::cli::args::{ChangeArgs, Global, ResolveArgs, RetryArgs, Selection, Unfinished};
use crate::cli::commands::act_words::{refusal_error, show_done, show_planned, warn_of_skipped};
use crate::cli::definition_drift::warn_of_differing;
use crate::cli::error::{CliError, ExitStatus, print_error};
use crate::cli::find_job::{self, Candidates};
use crate::cli::namesakes::say_which;
use crate::cli::own_file::OwnFiles;
use crate::cli::plan::Planner;
use crate::cli::values::JobRef;
use crate::cli::{database, job_file, suggest};
use crate::clock;
use crate::process;
use crate::store::{self, Act, ActResult, Done, Filter, JobChange, JobRow, NewJob, Refusal, Store};
use crate::text::{Timestamp, counted, listed};
use crate::view::json::job_json;
use crate::view::terminal::{Output, warn};
use crate::worker;

/// Opens the database to act on jobs. Where there is none yet, no job is selected, which is no error unless one is named.
fn open(global: &Global, is_job_named: bool, out: &Output) -> Result<Option<Store>> {
    if is_job_named {
        return database::open_to_write(global).map(Some);
    }
    let store = database::open_if_there(global)?;
    match &store {
        Some(store) => database::warn_of_readers(global, store.file()),
        None if out.quiet => {}
        None => warn(&database::missing_text(global)?),
    }
    Ok(store)
}

/// Cancels pending jobs, and asks running ones to end.
pub fn cancel(global: &Global, args: &Unfinished, out: &mut Output) -> Result<ExitStatus> {
    let Some(mut store) = open(global, !args.jobs.is_empty(), out)? else { return Ok(ExitStatus::SUCCESS) };
    if !args.jobs.is_empty() {
        return Selected::by_id(global, &store, &args.jobs, Candidates::Unfinished)?.run(
            &mut store,
            Act::Cancel,
            false,
            out,
        );
    }
    let filter = args.filter();
    let ids = store.unfinished_ids(&filter, clock::now())?;
    if ids.is_empty() && !out.quiet {
        suggest::warn_of_nothing(global, &store, "unfinished job", &filter)?;
    }
    say_which_named(global, &store, &filter, &ids)?;
    // Workers must not be held up for long, and a million jobs need not be in memory.
    for (index, chunk) in ids.chunks(store::CHUNK).enumerate() {
        if index > 0 {
            thread::sleep(store::GAP);
        }
        let selected = Selected { ids: chunk.to_vec(), by_filter: true, ..Selected::default() };
        selected.run(&mut store, Act::Cancel, false, out)?;
    }
    Ok(ExitStatus::SUCCESS)
}

/// More of the jobs that were left for one reason are counted.
const MAX_LISTED: usize = 20;

/// Puts dead and cancelled jobs back, or replaces them.
pub fn retry(global: &Global, args: &RetryArgs, out: &mut Output) -> Result<ExitStatus> {
    let Some(mut store) = open(global, !args.which.dead, out)? else { return Ok(ExitStatus::SUCCESS) };
    let force = args.how.force;
    let selected = Selected::read(global, &store, &args.which)?;
    let mut selected = Selected { latest: args.latest, ..selected };
    if args.how.redefine {
        let jobs = &selected.replacements(global, &mut store, args.dry_run)?;
        return selected.run(&mut store, Act::ReplaceEnded { jobs, force }, args.dry_run, out);
    }
    let act = Act::Retry { force };
    if !out.quiet {
        // Before anything is done, because a worker may start the jobs at once.
        let results = selected.act(&mut store, act, true)?;
        let is_put_back = |(result, _): &&Acted| matches!(result.outcome, Ok(Done::Changed));
        let put_back = results.iter().filter(is_put_back);
        let put_back: Vec<&JobRow> =
            put_back.filter_map(|(result, _)| selected.jobs.get(&result.id)).collect();
        for (id, by) in put_back.iter().filter_map(|job| Some((job.id, job.replaced_by?))) {
            warn(&format!("job {by} was enqueued in place of job {id}: the work of {id} may be done twice"));
        }
        let others = put_back.into_iter().filter(|job| job.replaced_by.is_none());
        warn_of_differing(global, others, args.dry_run);
    }
    selected.run(&mut store, act, args.dry_run, out)
}

/// Changes pending jobs where they stand, or puts new ones of the present definition in their places.
pub fn change(global: &Global, args: &ChangeArgs, out: &mut Output) -> Result<ExitStatus> {
    let ChangeArgs { which, what, dry_run } = args;
    let Some(mut store) = open(global, !which.jobs.is_empty(), out)? else { return Ok(ExitStatus::SUCCESS) };
    let mut selected = if which.jobs.is_empty() {
        Selected::unfinished(global, &store, &which.filter())?
    } else {
        Selected::by_id(global, &store, &which.jobs, Candidates::Unfinished)?
    };
    if what.redefine {
        let jobs = &selected.replacements(global, &mut store, *dry_run)?;
        return selected.run(&mut store, Act::ReplacePending { jobs }, *dry_run, out);
    }
    let change =
        JobChange { due: what.due(clock::now()), priority: what.priority, queue: what.to_queue.clone() };
    selected.run(&mut store, Act::Change(&change), *dry_run, out)
}

/// Marks dead letters, and successes with a warning, as dealt with.
pub fn resolve(global: &Global, args: &ResolveArgs, out: &mut Output) -> Result<ExitStatus> {
    let is_by_filter = args.dead || args.warned;
    let Some(mut store) = open(global, !is_by_filter, out)? else { return Ok(ExitStatus::SUCCESS) };
    let act = Act::Resolve { note: args.note.as_deref() };
    let selected = if is_by_filter {
        let filter = Filter {
            name: args.name.clone(),
            error_code: args.error_code.as_ref().map(ToString::to_string),
            label: args.label.clone(),
            recovered: args.recovered,
            with_open_warning: args.warned,
            dead_by_time: args.dead,
            resolved: args.dead.then_some(false),
            ..Filter::default()
        };
        let what = if args.dead { "unresolved dead letter" } else { "unresolved warning" };
        Selected::by_filter(global, &store, what, &filter)?
    } else {
        Selected::by_id(global, &store, &args.jobs, Candidates::Resolvable)?
    };
    selected.run(&mut store, act, false, out)
}

/// Says of which projects the jobs are that were selected by a name.
fn say_which_named(global: &Global, store: &Store, filter: &Filter, jobs: &[i64]) -> Result<()> {
    match &filter.name {
        Some(name) if !global.quiet => say_which(store, name, jobs),
        _ => Ok(()),
    }
}

/// The result of an act on a job, and that job after the act, or the job that has replaced it.
type Acted = (ActResult, Option<JobRow>);

/// The jobs that a verb acts on.
#[derive(Default)]
struct Selected {
    ids: Vec<i64>,
    /// The jobs that exist among them, as they were before the act.
    jobs: BTreeMap<i64, JobRow>,
    /// The ids that no job had before the act. A job that replaces another one may have such an id after it.
    unknown: Vec<i64>,
    /// Selected by filters, so that nobody has named the jobs one by one.
    by_filter: bool,
    /// The act is for the newest of the jobs that do the same; the others are resolved.
    latest: bool,
    /// Jobs that are not acted on, by the reason: what their last attempts have left in the background cannot be ended, or their job
    /// files cannot be used.
    left: BTreeMap<String, Vec<i64>>,
    /// An error status if some name has no such job.
    exit: ExitStatus,
}

impl Selected {
    fn read(global: &Global, store: &Store, which: &Selection) -> Result<Self> {
        if !which.dead {
            return Self::by_id(global, store, &which.jobs, Candidates::Dead);
        }
        let filter = Filter {
            name: which.name.clone(),
            error_code: which.error_code.as_ref().map(ToString::to_string),
            label: which.label.clone(),
            dead_by_time: true,
            resolved: Some(false),
            ..Filter::default()
        };
        Self::by_filter(global, store, "unresolved dead letter", &filter)
    }

    /// The jobs that this filter selects; `what` is what each of them is.
    fn by_filter(global: &Global, store: &Store, what: &str, filter: &Filter) -> Result<Self> {
        let jobs = store.jobs(filter, usize::MAX, clock::now())?;
        let mut jobs: Vec<JobRow> = jobs.collect::<store::Result<_>>()?;
        jobs.sort_unstable_by_key(|job| job.id);
        if jobs.is_empty() && !global.quiet {
            suggest::warn_of_nothing(global, store, what, filter)?;
        }
        let ids: Vec<i64> = jobs.iter().map(|job| job.id).collect();
        say_which_named(global, store, filter, &ids)?;
        let jobs = jobs.into_iter().map(|job| (job.id, job)).collect();
        Ok(Self { ids, jobs, by_filter: true, ..Self::default() })
    }

    /// The unfinished jobs that this filter selects.
    fn unfinished(global: &Global, store: &Store, filter: &Filter) -> Result<Self> {
        let now = clock::now();
        let ids = store.unfinished_ids(filter, now)?;
        if ids.is_empty() && !global.quiet {
            suggest::warn_of_nothing(global, store, "unfinished job", filter)?;
        }
        say_which_named(global, store, filter, &ids)?;
        Ok(Self { jobs: read_jobs(store, &ids, now)?, ids, by_filter: true, ..Self::default() })
    }

    fn by_id(global: &Global, store: &Store, jobs: &[JobRef], candidates: Candidates) -> Result<Self> {
        let now = clock::now();
        let (mut ids, exit) = find_job::job_ids(store, jobs, candidates, now, global.quiet)?;
        let jobs = read_jobs(store, &ids, now)?;
        let unknown = ids.extract_if(.., |id| !jobs.contains_key(id)).collect();
        Ok(Self { ids, jobs, unknown, exit, ..Self::default() })
    }

    /// Acts on the jobs, and tells what came of it.
    fn run(mut self, store: &mut Store, act: Act<'_>, dry_run: bool, out: &mut Output) -> Result<ExitStatus> {
        if !dry_run {
            self.end_background(store, act)?;
        }
        let results = self.act(store, act, dry_run)?;
        self.tell(store, act, &results, dry_run, out)
    }

    /// Ends what the jobs that will run again, or new ones in their places, have left in the background: two attempts of one job
    /// must not overlap. Leaves out the jobs of which something cannot be ended.
    fn end_background(&mut self, store: &mut Store, act: Act<'_>) -> Result<()> {
        if !matches!(act, Act::Retry { .. } | Act::ReplacePending { .. } | Act::ReplaceEnded { .. }) {
            return Ok(());
        }
        let mut ended = store.ended_before(&self.ids, &process::boot_id())?;
        if ended.is_empty() {
            return Ok(());
        }
        // A job that the act would leave alone keeps its background, too.
        let results = self.act(store, act, true)?;
        let runs_again =
            |result: &ActResult| matches!(result.outcome, Ok(Done::Changed | Done::ReplacedBy(_)));
        let ids = results.iter().filter(|(result, _)| runs_again(result)).map(|(result, _)| result.id);
        let ids: BTreeSet<i64> = ids.collect();
        ended.retain(|attempt| ids.contains(&attempt.job_id));
        let grace =
            self.jobs.iter().filter(|(id, _)| ids.contains(id)).map(|(_, job)| job.definition.grace_period);
        let grace = grace.max().unwrap_or_default().into();
        if worker::end_background(&ended, grace).is_ok() {
            return Ok(());
        }
        for attempt in ended {
            let id = attempt.job_id;
            if let Err(why) = worker::end_background(&[attempt], grace) {
                self.leave(id, why);
            }
        }
        Ok(())
    }

    fn leave(&mut self, id: i64, why: String) {
        self.ids.retain(|of| *of != id);
        self.left.entry(why).or_default().push(id);
    }

    /// The jobs that are to replace these, by the id of the old job, each of the definition in its own job file, or in the file that
    /// the caller names. Leaves the jobs whose file cannot be used.
    fn replacements(
        &mut self,
        global: &Global,
        store: &mut Store,
        dry_run: bool,
    ) -> Result<BTreeMap<i64, NewJob>> {
        let (files, now) = (OwnFiles::new(global), clock::now());
        let (mut new, mut unusable) = (BTreeMap::new(), Vec::new());
        for old in self.jobs.values().filter(|old| !old.definition.ad_hoc) {
            let file = match files.of(old) {
                Ok(file) => file,
                Err(error) if files.is_named() => bail!(error),
                Err(error) => {
                    unusable.push((old.id, error));
                    continue;
                }
            };
            let path = job_file::path_of(&file)?;
            let planner = Planner::of_file(global, "enqueue", now, file);
            let Some(mut job) = planner.replacement(old)? else { continue };
            let is_own = old.file.as_ref().is_none_or(|own| *own == path.path);
            if (files.is_named() || !is_own) && !dry_run {
                job.job_file = Some(store.register_job_file(&path, &[&old.definition.name])?.id);
            }
            new.insert(old.id, job);
        }
        for (id, error) in unusable {
            // Mistakes are to be mended first, unless there is other work to do.
            if new.is_empty() && !error.mistakes.is_empty() {
                bail!(error);
            }
            let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            self.leave(id, format!("{}{hint}", error.message));
        }
        Ok(new)
    }

    /// Acts on the jobs, or, as a dry run, acts on them in a transaction that is rolled back.
    fn act(&self, store: &mut Store, act: Act<'_>, dry_run: bool) -> Result<Vec<Acted>> {
        let read_back = |store: &mut Store| -> Result<_> {
            let results =
                if self.latest { store.act_on_latest(&self.ids, act)? } else { store.act(&self.ids, act)? };
            let with_job = |result: ActResult| {
                let id = if let Ok(Done::ReplacedBy(new)) = result.outcome { new } else { result.id };
                Ok((result, find_job::job_if_there(store, id, clock::now())?))
            };
            results.into_iter().map(with_job).collect::<Result<Vec<_>>>()
        };
        if dry_run { store.rehearse(read_back)? } else { read_back(store) }
    }

    /// Prints what was done to each job, and names those that were left.
    fn tell(
        self,
        store: &Store,
        act: Act<'_>,
        results: &[Acted],
        dry_run: bool,
        out: &mut Output,
    ) -> Result<ExitStatus> {
        let (mut changed, mut refused, mut older) = (0, Vec::new(), 0);
        for (ActResult { id, outcome }, job) in results {
            match (outcome, job) {
                (Ok(done), Some(job)) => {
                    changed += 1;
                    if dry_run {
                        // Nothing was done, so the job is shown as it is.
                        show_planned(out, act, *done, self.jobs.get(id).unwrap_or(job), job);
                    } else if let (Act::ReplaceEnded { .. }, Done::ResolvedFor(_), false) =
                        (act, done, out.json)
                    {
                        // Nothing but new ids is printed.
                        older += 1;
                    } else {
                        show_done(out, store, act, (*id, self.jobs.get(id)), *done, job)?;
                    }
                }
                // Cancelling a finished job is no error, because it will not run any more, as was asked.
                (Err(Refusal::State(state)), Some(job)) if matches!(act, Act::Cancel) => {
                    out.done(
                        &job_json(job),
                        format!("job {id} {}: {state} before, left as it is", job.title()),
                    );
                }
                (Err(refusal), _) => refused.push((*id, *refusal)),
                (Ok(_), None) => {}
            }
        }
        out.flush()?;
        if older > 0 && !out.quiet {
            warn(&format!("resolved {}, whose work the new ones do", counted(older, "older job")));
        }
        if dry_run && !out.quiet && changed > 1 {
            warn(&format!("{} would change; nothing is done yet", counted(changed, "job")));
        }
        let mut exit = self.exit;
        for (why, ids) in &self.left {
            let jobs = match ids[..] {
                [id] => format!("job {id} was left"),
                _ => format!("jobs {} were left", listed(ids, MAX_LISTED)),
            };
            print_error(&CliError::new(ExitStatus::FAILED, format!("{jobs}: {why}")));
            exit = exit.max(ExitStatus::FAILED);
        }
        // `change` names each job that it leaves, because the caller expects all of them changed.
        let is_change = matches!(act, Act::Change(_) | Act::ReplacePending { .. });
        if self.by_filter && !is_change {
            if !out.quiet {
                warn_of_skipped(&refused);
            }
            return Ok(exit);
        }
        refused.extend(self.unknown.iter().map(|id| (*id, Refusal::Unknown)));
        for (id, refusal) in refused {
            let error = refusal_error(&self.jobs, act, id, refusal);
            print_error(&error);
            // An unknown id outweighs a job that was left as it is.
            exit = exit.max(error.status);
        }
        Ok(exit)
    }
}

/// Those of these jobs that exist.
fn read_jobs(store: &Store, ids: &[i64], now: Timestamp) -> Result<BTreeMap<i64, JobRow>> {
    let jobs = ids.iter().map(|id| store.job(*id, now)).collect::<store::Result<Vec<_>>>()?;
    Ok(jobs.into_iter().flatten().map(|job| (job.id, job)).collect())
}
