//! `runner run`: enqueues a job and is the worker for it and for what it depends on, until it has ended.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::ended_jobs::{self, exit_status_of_job, status_of_waited};
use super::new_jobs;
use super::work::default_slots;
use crate::call_target::to_type;
use crate::cli::args::{Global, RunArgs};
use crate::cli::change_watch::is_ignored;
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus, describe, print_error};
use crate::cli::find_job;
use crate::cli::inside::{self, InsideWait};
use crate::cli::options::CallSays;
use crate::cli::plan::Plan;
use crate::cli::workers::worker_statuses;
use crate::clock;
use crate::model::{Event, JobState, Outcome, OutputStream, decision_text, signal};
use crate::process::{PassOn, has_waiting_input};
use crate::report::{Reporter, words};
use crate::store::{self, JobRow, Liveness, NewJob, Others, RunStart, Store, WorkerStatus};
use crate::text::{Timestamp, relative_time};
use crate::view::terminal::{Output, print_through, warn};
use crate::view::text::status::{dependency_text, limit_text, reached_limit_text, waits_for_others_text};
use crate::worker::{self, RunTask, Summary};

/// What keeps a job for longer than this is told.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a signal is looked for while a slow reader takes the rest of the output.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// How long a reader may still take output after a signal to stop.
const FINAL_WAIT: Duration = Duration::from_secs(1);

pub fn run(global: &Global, args: &RunArgs, out: &mut Output) -> Result<ExitStatus> {
    if args.options.delay.is_some() || args.options.at.is_some() {
        bail!(
            CliError::usage("run runs its job now, so it takes neither --in nor --at")
                .hint(format!("{} takes them, for a worker", to_type("enqueue", "")))
        );
    }
    let mut plan = new_jobs::plan_of_run(global, args)?;
    if args.dry_run {
        return new_jobs::rehearse(global, &mut plan, out);
    }
    let mut store = database::open_or_create(global)?;
    store.check_path()?;
    inside::recognize(&mut store)?;
    if !out.quiet {
        new_jobs::warn_of_unused_arguments(&plan.jobs);
    }
    // A terminal that is stopped, or a pager, would hold up timeouts and signals.
    let pass_on = Arc::new(PassOn::new()?);
    let printed = Arc::clone(&pass_on);
    print_through(move |stream, bytes| printed.take(stream, bytes));
    let stops = Stops::default();
    let mut task = Task::new(plan, out.quiet, args);
    let mut reporter = RunReporter { quiet: out.quiet, stops: &stops };
    let of_jobs = (!out.quiet && !out.json).then(|| Arc::clone(&pass_on));
    let ran = worker::run(store, default_slots(), &mut reporter, &mut task, of_jobs);
    let ended = ran.and_then(|summary| {
        stops.were_handled(&summary);
        let (status, id) = end(global, args, out, task, summary)?;
        Ok((status_of_waited(out, status), Some(id)))
    });
    let (status, job) = ended.unwrap_or_else(|error| {
        let error = describe(&error);
        print_error(&error);
        (error.status, None)
    });
    stops.let_readers_finish(&pass_on);
    let Some((stream, error)) = pass_on.take_failure() else { return Ok(status) };
    let name = if stream == OutputStream::Stdout { "standard output" } else { "standard error" };
    let kept = match job {
        Some(id) if out.json => format!("; {} has it", to_type("inspect", format_args!("{id} --json"))),
        Some(id) => format!("; {} has it", to_type("logs", id)),
        None => String::new(),
    };
    warn(&format!("not all that was written could be passed on to {name}: {error}{kept}"));
    stops.let_readers_finish(&pass_on);
    Ok(if status == ExitStatus::SUCCESS { ExitStatus::IO } else { status })
}

/// The signals that ask a run to stop, also after its job has ended, while a reader is behind.
struct Stops {
    wanted: Vec<i32>,
    noted: Arc<AtomicBool>,
}

impl Default for Stops {
    /// Finds those that are not ignored. The worker changes what is.
    fn default() -> Self {
        let is_wanted = |signal: &i32| *signal == SIGTERM || !is_ignored(*signal);
        let wanted = [SIGTERM, SIGINT, SIGHUP].into_iter().filter(is_wanted).collect();
        Self { wanted, noted: Arc::default() }
    }
}

impl Stops {
    /// Notes that one has come, if the worker was ended by it.
    fn were_handled(&self, summary: &Summary) {
        if summary.stopped_by.or(summary.cancelled_by).is_some() {
            self.noted.store(true, Ordering::Relaxed);
        }
    }

    /// Notes them from now on. Until then they have to have their effect by other means.
    fn listen(&self) -> io::Result<()> {
        self.wanted.iter().try_for_each(|signal| flag::register(*signal, Arc::clone(&self.noted)).map(drop))
    }

    /// Waits until the readers have taken all that was printed; after a signal no longer than [`FINAL_WAIT`], because a reader may
    /// never take it.
    fn let_readers_finish(&self, pass_on: &PassOn) {
        let mut left = FINAL_WAIT;
        while !left.is_zero() && !pass_on.finish(SIGNAL_INTERVAL) {
            if self.noted.load(Ordering::Relaxed) {
                left = left.saturating_sub(SIGNAL_INTERVAL);
            }
        }
    }
}

/// Tells how the job has ended, and gives the exit status, and the job.
fn end(
    global: &Global,
    args: &RunArgs,
    out: &mut Output,
    task: Task,
    summary: Summary,
) -> Result<(ExitStatus, i64)> {
    let Task { started, worker, mut gave_up, .. } = task;
    let Some(start) = started else {
        let signal = summary.stopped_by.unwrap_or_default();
        bail!(CliError::new(ExitStatus::of_signal(signal), "stopped before anything was enqueued"));
    };
    let start = start?;
    let (RunStart::Enqueued(id) | RunStart::TakenOn(id) | RunStart::First(id) | RunStart::Held(id)) = start;
    let store = database::open(global)?;
    let id = match start {
        RunStart::Held(_) => store.changed_to(id)?,
        _ => store.job_of_run(worker)?.unwrap_or(id),
    };
    let Some(job) = find_job::job_if_there(&store, id, clock::now())? else {
        bail!(CliError::removed(id, "run"));
    };
    let created = matches!(start, RunStart::Enqueued(_));
    if !job.state.is_final() {
        // Another `run` may have put its own job in the place of this one's. It may also have taken on what a stopped one leaves.
        let ends_by_itself = summary.stopped_by.is_none() && gave_up.is_none();
        let is_of_other_run = ends_by_itself && job.run_worker_id.is_some_and(|run| run != worker);
        if is_of_other_run && !out.quiet {
            let title = job.title();
            warn(&format!("another run has put job {id} {title} in the place of this one, and runs it"));
        }
        if is_of_other_run || matches!(start, RunStart::Held(_)) {
            ended_jobs::print_waited(out, &store, &job, created)?;
            return Ok((ExitStatus::SUCCESS, id));
        }
        if let Some(number) = summary.stopped_by.filter(|_| !job.is_stuck()) {
            ended_jobs::print_waited(out, &store, &job, created)?;
            warn(&interrupted_text(args, &job, number));
            return Ok((ExitStatus::of_signal(number), id));
        }
        if let Some(error) = gave_up.take_if(|_| !job.is_stuck()) {
            ended_jobs::print_waited(out, &store, &job, created)?;
            bail!(error);
        }
    }
    if job.is_stuck() {
        warn(&format!("job {id} {}", dependency_text(&job)));
    }
    if let Some(alert) = gave_up {
        warn(&alert.message);
    }
    for before in store.warned_before(worker, id)? {
        if let Some(before) = find_job::job_if_there(&store, before, clock::now())? {
            ended_jobs::report_warned(out, &store, &before)?;
        }
    }
    let last = store.attempt(id, job.attempts)?;
    ended_jobs::report_final(out, &store, &job, last.as_ref(), created, out.quiet)?;
    // A job that had ended by itself keeps its exit status.
    let is_cut_short =
        !job.state.is_final() || last.as_ref().is_some_and(|last| last.outcome == Outcome::Interrupted);
    let stopped_by = summary.stopped_by.filter(|_| is_cut_short);
    if let Some(number) = stopped_by.filter(|_| job.state == JobState::Dead) {
        let again = to_type("retry", format_args!("{id} --force"));
        warn(&format!("{}: job {id} is not run again by itself; {again} puts it back", signal::name(number)));
    }
    let status = match summary.cancelled_by.or(stopped_by) {
        Some(number) if job.state != JobState::Succeeded => ExitStatus::of_signal(number),
        _ => exit_status_of_job(&job, last.as_ref()),
    };
    Ok((status, id))
}

/// Says that a signal has ended the attempt of a job, which stays pending, and who goes on with it.
fn interrupted_text(args: &RunArgs, job: &JobRow, number: i32) -> String {
    // The label and the arguments say which work it is, and not every call can be written down.
    let again = match args.names.first() {
        Some(name) if job.label.is_none() && job.args.is_empty() => to_type("run", name),
        _ => "the same call".to_owned(),
    };
    let (name, id, title) = (signal::name(number), job.id, job.title());
    format!(
        "{name}: job {id} {title} is left {}; {again} goes on with it, and so does {}",
        job.status(),
        to_type("work", "")
    )
}

/// Puts the job on disk, and tells what keeps it.
struct Task {
    plan: Plan,
    quiet: bool,
    says: CallSays,
    /// It tells of input that waits on standard input, because nobody will read that.
    looks_for_input: bool,
    started: Option<Result<RunStart>>,
    /// The row id of its worker.
    worker: i64,
    /// What keeps the job: since when, and whether that was told.
    notes: BTreeMap<String, (Instant, bool)>,
    inside_wait: InsideWait,
    /// Why the job cannot start before this call ends, as of the last look.
    gave_up: Option<CliError>,
}

impl RunTask for Task {
    fn start(&mut self, store: &mut Store, worker: i64) -> Option<i64> {
        self.worker = worker;
        let started = self.enqueue(store, worker);
        let job = match &started {
            Ok(RunStart::Enqueued(id) | RunStart::TakenOn(id) | RunStart::First(id)) => Some(*id),
            Ok(RunStart::Held(_)) | Err(_) => None,
        };
        self.started = Some(started);
        job
    }

    fn on_start(&mut self) {
        if std::mem::take(&mut self.looks_for_input) && has_waiting_input() {
            let with_it = to_type("run", "--stdin …");
            warn(&format!(
                "standard input is not passed on to the job; {with_it} gives it all that comes there"
            ));
        }
    }

    fn look(&mut self, store: &Store, job: i64) -> bool {
        // A failure to read is no reason to end the work, and the next turn meets it, too.
        self.gave_up = self.held_by_own(store, job).unwrap_or_default();
        let keeps = if self.quiet { Ok(Vec::new()) } else { what_keeps(store, job) };
        let keeps = keeps.unwrap_or_default();
        self.notes.retain(|note, (_, is_told)| *is_told || keeps.contains(note));
        for note in keeps {
            let (since, is_told) = self.notes.entry(note.clone()).or_insert((Instant::now(), false));
            if !*is_told && since.elapsed() >= PATIENCE {
                *is_told = true;
                warn(&note);
            }
        }
        self.gave_up.is_none()
    }

    fn take_on(&mut self, store: &mut Store) -> bool {
        let others = store.others_before_run(self.worker).unwrap_or_default();
        if others.is_empty() {
            return false;
        }
        let Ok(workers) = worker_statuses(store) else { return false };
        // A failure is met again at the next look.
        let taken_on =
            with_others(&workers, |state| store.take_on_left(self.worker, &self.plan.jobs, &others, state));
        taken_on.unwrap_or(false)
    }

    fn has_more(&self) -> bool {
        self.earlier_job().is_some()
    }

    fn goes_on(&mut self, store: &Store) -> bool {
        let Some(id) = self.earlier_job() else { return false };
        let job = store.job_of_run(self.worker).ok().flatten().unwrap_or(id);
        let job = store.job(job, clock::now()).ok().flatten();
        // Nothing goes on where the job that came first was removed meanwhile, or cannot end.
        job.is_some_and(|job| job.state.is_final() && !self.is_own(&job))
    }
}

/// Hands the state of these other workers to a call of the store.
fn with_others<T>(workers: &[WorkerStatus], call: impl FnOnce(Others<'_>) -> T) -> T {
    let would_start = |queue: &str, needs| workers.iter().any(|worker| worker.would_start(queue, needs));
    let is_dead = |id| workers.iter().any(|worker| worker.row.id == id && worker.liveness == Liveness::Dead);
    call(Others { would_start: &would_start, is_dead: &is_dead })
}

impl Task {
    fn new(plan: Plan, quiet: bool, args: &RunArgs) -> Self {
        let takes_input =
            named(&plan).is_some_and(|job| job.stdin.is_some() || job.definition.stdin.is_some());
        Self {
            plan,
            quiet,
            says: args.options.say(args.stdin),
            looks_for_input: !takes_input && !quiet,
            started: None,
            worker: 0,
            notes: BTreeMap::new(),
            inside_wait: InsideWait::default(),
            gave_up: None,
        }
    }

    /// The earlier job, if this call has more to do than to finish that.
    const fn earlier_job(&self) -> Option<i64> {
        match (&self.started, self.says) {
            (Some(Ok(RunStart::TakenOn(id))), CallSays::More) | (Some(Ok(RunStart::First(id))), _) => {
                Some(*id)
            }
            _ => None,
        }
    }

    /// Whether this earlier job was enqueued by the same call, by the key that the call gives.
    fn is_own(&self, job: &JobRow) -> bool {
        let key = named(&self.plan).and_then(|named| named.idempotency_key.as_ref());
        key.is_some_and(|key| job.idempotency_key.as_ref() == Some(key))
    }

    /// The words for what becomes of the call's own job where it goes on with this earlier one.
    fn fate_of_own_job(&self, start: RunStart, earlier: &JobRow) -> &'static str {
        let comes_after = "; the job of this call comes after it";
        match (start, self.says) {
            (RunStart::First(_), _) => comes_after,
            (_, CallSays::WhichWork) => "",
            (_, CallSays::More) if !self.is_own(earlier) => comes_after,
            (_, CallSays::HowToEnqueue | CallSays::More) => "; the options of this call are not used",
        }
    }

    /// The error of a `run` from inside a job, if nothing that it has left to do can start before this call ends.
    fn held_by_own(&mut self, store: &Store, job: i64) -> Result<Option<CliError>> {
        if store.calling_job().is_none() {
            return Ok(None);
        }
        let pending = store.pending_of_same_run(job)?.into_iter().map(|id| store.job(id, clock::now()));
        let mut pending: Vec<JobRow> =
            pending.collect::<store::Result<Vec<_>>>()?.into_iter().flatten().collect();
        pending.retain(|job| !job.is_stuck());
        // The job that it was called for is told first.
        pending.sort_by_key(|row| row.id != job);
        self.inside_wait.error(store, &pending)
    }

    fn enqueue(&mut self, store: &mut Store, worker: i64) -> Result<RunStart> {
        let workers = worker_statuses(store)?;
        for job in &mut self.plan.jobs {
            job.run_worker_id = Some(worker);
        }
        let (plan, says_more) = (&mut self.plan, self.says == CallSays::More);
        let started = store.together(|store| {
            let moved = plan.register(store, self.quiet)?;
            let jobs = &plan.jobs;
            let start = with_others(&workers, |others| store.start_run(worker, jobs, says_more, others))?;
            Ok((moved, start))
        });
        let (moved, start) = started.map_err(|error| new_jobs::failure(store, &self.plan, error))?;
        if let Some(moved) = moved {
            warn(&moved);
        }
        if self.quiet {
            return Ok(start);
        }
        if let RunStart::TakenOn(id) | RunStart::First(id) | RunStart::Held(id) = start
            && let Some(job) = find_job::job_if_there(store, id, clock::now())?
        {
            warn(&match (start, named(&self.plan)) {
                (RunStart::Held(_), Some(named)) => new_jobs::held_key(named, &job) + &due_text(&job),
                _ => taken_on_text(store, &job, self.fate_of_own_job(start, &job))?,
            });
        }
        Ok(start)
    }
}

/// The job that was named, of a plan with its dependencies.
fn named(plan: &Plan) -> Option<&NewJob> {
    plan.jobs.iter().find(|job| !job.is_dependency)
}

/// Says that a `run` goes on with an earlier job, what became of the last attempt of that, and `then` what becomes of its own.
fn taken_on_text(store: &Store, job: &JobRow, then: &str) -> Result<String> {
    let last = store.attempt(job.id, job.attempts)?;
    let ended = last.map(|last| decision_text(&last, job.definition.policy.max_attempts()));
    let ended = ended.map(|ended| format!(" ({ended})")).unwrap_or_default();
    let (id, title, mut due) = (job.id, job.title(), due_text(job));
    if !due.is_empty() {
        due += ", and Ctrl-C cancels it";
    }
    Ok(format!("goes on with job {id} {title}, which nobody else would run{ended}{then}{due}"))
}

/// Says when a pending job is due, if that is later, and how to start it now.
fn due_text(job: &JobRow) -> String {
    let now = clock::now();
    if job.state != JobState::Pending || job.run_at <= now {
        return String::new();
    }
    let at_once = to_type("change", format_args!("{} --now", job.id));
    format!("; it is due {}, {at_once} starts it now", relative_time(job.run_at, now))
}

/// What keeps the job of a `run` from starting, apart from its due time: a limit, a pause, or a job that somebody else runs, or
/// nobody.
fn what_keeps(store: &Store, id: i64) -> Result<Vec<String>> {
    let now = clock::now();
    let Some(job) = store.job(id, now)? else { return Ok(Vec::new()) };
    let mut keeps: Vec<String> = limit_note(&job, now).into_iter().collect();
    if job.waits_for.is_empty() {
        return Ok(keeps);
    }
    let workers = worker_statuses(store)?;
    for unmet in &job.waits_for {
        let Some(before) = store.job(unmet.id, now)? else { continue };
        let is_own = store.is_of_same_run(id, unmet.id)?;
        keeps.extend(if is_own {
            limit_note(&before, now)
        } else {
            waits_for_others_text(&before, &workers, now)
        });
    }
    Ok(keeps)
}

/// Says how its queue keeps a job, in words that stay the same while it does: the next start of a rate is another at each look.
fn limit_note(job: &JobRow, now: Timestamp) -> Option<String> {
    match job.queue_hold?.next_start() {
        Some(_) => reached_limit_text(job),
        None => limit_text(job, now),
    }
}

/// Tells why an attempt failed and when the next one comes, and of trouble.
struct RunReporter<'a> {
    quiet: bool,
    stops: &'a Stops,
}

impl Reporter for RunReporter<'_> {
    fn report(&mut self, _: Timestamp, event: &Event) {
        // From here on the worker listens to them, too, so that none is lost and none ends the process at once.
        if let Event::WorkerStarted { .. } = event
            && let Err(error) = self.stops.listen()
        {
            warn(&format!("could not listen for signals: {error}"));
        }
        let is_told = match event {
            // An attempt that a dead worker lost is none of this run, and an interrupted one is told at the end.
            Event::AttemptEnded(ended) => {
                ended.attempt.next_state == JobState::Pending
                    && !matches!(ended.attempt.outcome, Outcome::Interrupted | Outcome::WorkerCrashed)
            }
            Event::Notice(_) => true,
            _ => false,
        };
        if let Some(words) = words(event).filter(|_| is_told && !self.quiet) {
            warn(&words);
        }
    }
}
