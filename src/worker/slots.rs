//! The slots: a thread each, which runs one attempt at a time, from its claim to its end. A thread is started when its
//! slot is first needed.
//!
//! A thread that blocks starts commands faster than an asynchronous runtime does, and keeps one attempt straight-line
//! code. If the worker is killed, a recovery concludes from the start log (`start_log`) how far each slot had come.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use super::inbox::{Message, MessageSender};
use super::registration::tag_of;
use super::start_log::StartLog;
use crate::clock;
use crate::model::{
    AttemptEnd, Circumstances, Decision, EndCause, ErrorCode, MAX_ARG_STRLEN, SpawnFailure, classify, decide,
};
use crate::process::{self, AttemptTag, Control, Launch, Leader, PassOn, Progress, ZombieReaper};
use crate::store::{Claim, EndedAttempt, EndedDependency};
use crate::text::{Timestamp, rfc3339_with_offset};

/// The stack of a slot's thread. It is smaller than the default, because no call there is deep and a worker may have many
/// slots.
const STACK_BYTES: usize = 256 << 10;

/// All slots of the worker, and what each is doing as far as the dispatcher knows.
pub(super) struct Slots {
    context: Arc<Context>,
    all: Vec<Slot>,
    zombies: ZombieReaper,
}

/// The facts that the threads of all slots share.
pub(super) struct Context {
    pub worker_id: String,
    /// The secret by which the processes of its attempts are found.
    pub mark: String,
    pub db: PathBuf,
    pub reports: PathBuf,
    pub start_log: StartLog,
    /// Where output goes, besides the store.
    pub pass_on: Option<Arc<PassOn>>,
    pub inbox: MessageSender,
}

#[derive(Default)]
struct Slot {
    assignments: Option<Sender<Assignment>>,
    state: SlotState,
}

#[derive(Default)]
enum SlotState {
    #[default]
    Idle,
    Busy(BusySlot),
    /// The attempt has ended or its claim is released, but that is not on disk yet, so a recovery would still need the
    /// slot's record in the start log.
    Uncommitted,
}

pub(super) struct BusySlot {
    pub claim: Arc<Claim>,
    control: Control,
    pid: Option<i32>,
}

struct Assignment {
    claim: Arc<Claim>,
    /// Taken out of the claim, which the dispatcher keeps until the attempt has ended.
    stdin: Option<Vec<u8>>,
    control: Control,
}

impl Slots {
    pub(super) fn new(number: usize, context: Context) -> Self {
        let all = std::iter::repeat_with(Slot::default).take(number).collect();
        Self { context: Arc::new(context), all, zombies: ZombieReaper::default() }
    }

    /// All slots, busy or not.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn busy(&self) -> usize {
        self.running().count()
    }

    /// Busy slots whose attempt has a process. A slot without one still ends the leftover processes of earlier attempts.
    pub(super) fn started_attempts(&self) -> usize {
        self.running().filter(|running| running.pid.is_some()).count()
    }

    /// Hands the claim to an idle slot.
    pub(super) fn assign(&mut self, mut claim: Claim) -> io::Result<()> {
        let control = Control::new()?;
        let index = self.all.iter().position(|slot| matches!(slot.state, SlotState::Idle));
        let index = index.ok_or_else(|| io::Error::other("no slot is idle"))?;
        let slot = &mut self.all[index];
        let assignments = match &slot.assignments {
            Some(assignments) => assignments,
            None => slot.assignments.insert(start_thread(index, &self.context)?),
        };
        let stdin = claim.stdin.take();
        let claim = Arc::new(claim);
        let assignment = Assignment { claim: Arc::clone(&claim), stdin, control: control.clone() };
        assignments.send(assignment).map_err(|_| io::Error::other("the slot's thread is gone"))?;
        slot.state = SlotState::Busy(BusySlot { claim, control, pid: None });
        Ok(())
    }

    /// Notes that the attempt of this slot has a process; returns its claim.
    pub(super) fn started(&mut self, index: usize, pid: i32) -> Option<&Claim> {
        match &mut self.all[index].state {
            SlotState::Busy(running) => {
                running.pid = Some(pid);
                Some(&running.claim)
            }
            SlotState::Idle | SlotState::Uncommitted => None,
        }
    }

    /// Notes that the attempt of this slot has ended, or that its claim is released.
    pub(super) fn end(&mut self, index: usize) -> Option<BusySlot> {
        match std::mem::replace(&mut self.all[index].state, SlotState::Uncommitted) {
            SlotState::Busy(running) => Some(running),
            SlotState::Idle | SlotState::Uncommitted => None,
        }
    }

    /// Ends the thread of this slot, which the machine may need more.
    pub(super) fn end_thread(&mut self, index: usize) {
        self.all[index].assignments = None;
    }

    /// Notes that all ended attempts and released claims are on disk.
    pub(super) fn committed(&mut self) {
        for slot in self.all.iter_mut().filter(|slot| matches!(slot.state, SlotState::Uncommitted)) {
            slot.state = SlotState::Idle;
        }
    }

    /// Reaps inherited children that have ended. A slot reaps the process of its attempt itself.
    pub(super) fn reap_zombies(&mut self) {
        let own: Vec<i32> = self.running().filter_map(|running| running.pid).collect();
        self.zombies.reap(|pid| own.contains(&pid));
    }

    /// Asks the attempts of these jobs to end because a person cancelled them. Asking twice does no harm.
    pub(super) fn cancel(&self, jobs: &[i64]) {
        for running in self.running().filter(|running| jobs.contains(&running.claim.job_id)) {
            running.control.stop(EndCause::Cancelled);
        }
    }

    /// Stops the attempts that have not begun to start.
    pub(super) fn stop_unstarted(&self) {
        self.running().for_each(|running| running.control.stop_unless_starting());
    }

    /// Asks all attempts to end because the worker is stopping.
    pub(super) fn interrupt(&self) {
        self.running().for_each(|running| running.control.stop(EndCause::Interrupted));
    }

    pub(super) fn kill(&self) {
        self.interrupt();
        self.running().for_each(|running| running.control.kill());
    }

    /// The claims of the busy slots.
    pub(super) fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.running().map(|running| &*running.claim)
    }

    fn running(&self) -> impl Iterator<Item = &BusySlot> {
        self.all.iter().filter_map(|slot| match &slot.state {
            SlotState::Busy(running) => Some(running),
            SlotState::Idle | SlotState::Uncommitted => None,
        })
    }
}

fn start_thread(slot: usize, context: &Arc<Context>) -> io::Result<Sender<Assignment>> {
    let (assignments, receiver) = channel();
    let context = Arc::clone(context);
    let thread = thread::Builder::new().name(format!("slot {slot}")).stack_size(STACK_BYTES);
    thread.spawn(move || serve(slot, &context, &receiver))?;
    Ok(assignments)
}

fn serve(slot: usize, context: &Context, assignments: &Receiver<Assignment>) {
    while let Ok(assignment) = assignments.recv() {
        let message = panic::catch_unwind(AssertUnwindSafe(|| last_message(context, slot, assignment)));
        context.inbox.send(message.unwrap_or(Message::SlotBroke));
    }
}

/// Runs the attempt and returns its last message, which ends the claim or releases it.
fn last_message(context: &Context, slot: usize, assignment: Assignment) -> Message {
    let (job_id, number) = (assignment.claim.job_id, assignment.claim.number);
    match attempt(context, slot, assignment) {
        Ok(end) => {
            let ended = EndedAttempt { job_id, number, jitter_sample: rand::random(), end };
            Message::Ended { slot, ended: Box::new(ended) }
        }
        Err(shortage) => Message::NotStarted { slot, shortage: shortage.map(|error| error.to_string()) },
    }
}

/// Runs the attempt. After an error the claim is released and does not count. The error says what the machine lacked; none
/// if the attempt may no longer start.
fn attempt(context: &Context, slot: usize, assignment: Assignment) -> Result<AttemptEnd, Option<io::Error>> {
    let Assignment { claim, stdin, control } = assignment;
    let (job_id, number) = (claim.job_id, claim.number);
    if let Err(error) = make_folder(&context.reports) {
        // The job is not to blame for a disk that fails.
        if process::is_shortage(&error) || process::is_disk_error(&error) {
            return Err(Some(error));
        }
        let message = format!("cannot use {}: {error}", context.reports.display());
        return Ok(AttemptEnd::spawn_failed(Some(SpawnFailure::NotExecutable), message, clock::now()));
    }
    let previous = claim.last_mark.as_ref().map(|(mark, version)| tag_of(mark, *version, job_id, number - 1));
    // If the attempt may not start, its claim is released. Then the next turn expires or cancels the job.
    if !end_previous(context, &claim, &control, previous) || !control.begin() {
        return Err(None);
    }
    context.start_log.starting(slot, job_id, number).map_err(Some)?;
    let launch = Launch {
        definition: &claim.definition,
        args: &claim.args,
        stdin,
        vars: variables(&claim, context),
        tag: AttemptTag::new(&context.mark, job_id, number),
        report: &context.reports.join(format!("{job_id}.{number}")),
        pass_on: context.pass_on.as_deref().filter(|_| !claim.definition.is_alert()),
    };
    let send = |message| context.inbox.send(message);
    let mut started = None;
    let on_start = |leader: Leader, at: Timestamp| {
        started = Some(leader);
        // A failure is ignored: without this record a recovery finds the process by its tag.
        let _ = context.start_log.started(slot, job_id, number, leader, at);
        send(Message::Started { slot, pid: leader.process.pid });
    };
    let on_progress = &mut |progress| send(Message::Progress { job_id, number, progress });
    let ended = process::run(launch, &control, on_start, on_progress).inspect_err(|_| {
        // With a record that stays a recovery takes the attempt for one that started, at worst.
        let _ = context.start_log.clear(slot);
    });
    if let Some(leader) = started
        && ended.as_ref().is_ok_and(|end| is_retried(&claim, end))
    {
        // The retry is not on disk yet. Once it is, a worker of version 1.0, which would not find what is left, may start it.
        let tag = AttemptTag::new(&context.mark, job_id, number);
        let notice = &mut |text| on_progress(Progress::Notice(text));
        process::end_own_background(tag, leader, claim.definition.grace_period.into(), &control, notice);
    }
    ended
}

/// Whether the job goes on after this end of its attempt, unless somebody cancels it meanwhile.
fn is_retried(claim: &Claim, end: &AttemptEnd) -> bool {
    let circumstances = Circumstances {
        attempt_in_budget: claim.attempt_in_budget,
        cancel_requested: false,
        expires_at: claim.expires_at,
        jitter_sample: 0.0,
    };
    let verdict = classify(&claim.definition.exit, end);
    matches!(decide(&claim.definition.policy, end, &verdict, circumstances), Decision::Retry { .. })
}

fn end_previous(context: &Context, claim: &Claim, control: &Control, previous: Option<AttemptTag>) -> bool {
    let left = claim.expires_at.map(|at| at.since(clock::now()));
    // An expiry too far away for the clock never comes.
    let start_before = left.and_then(|left| Instant::now().checked_add(left.into()));
    let (job_id, number) = (claim.job_id, claim.number);
    let notice = &mut |text| {
        context.inbox.send(Message::Progress { job_id, number, progress: Progress::Notice(text) });
    };
    let grace = claim.definition.grace_period.into();
    process::end_previous_attempt(previous, grace, start_before, control, notice)
}

/// Creates the folder again if a job or a cleaner of old files has removed it.
fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // The umask of the worker took bits away, perhaps the owner's.
    fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// One line for each dependency, as many as one variable can hold.
fn dependency_lines(claim: &Claim) -> String {
    const MAX_BYTES: usize = MAX_ARG_STRLEN / 2;
    let mut lines = String::new();
    for EndedDependency { id, state, name, label } in &claim.dependencies {
        let label = label.as_ref().map(|label| format!(" {label}")).unwrap_or_default();
        let line = format!("{id} {state} {name}{label}\n");
        if lines.len() + line.len() > MAX_BYTES {
            break;
        }
        lines.push_str(&line);
    }
    lines.pop();
    lines
}

/// The variables for the command, besides those of the report and the tag.
fn variables(claim: &Claim, context: &Context) -> Vec<(OsString, OsString)> {
    let runs = claim.definition.policy.max_attempts();
    let last = claim.last_error_code.as_ref().map_or("", ErrorCode::as_str);
    let text = |name: &str, value: String| (OsString::from(name), OsString::from(value));
    let scheduled = claim.scheduled.map(|scheduled| rfc3339_with_offset(scheduled.at, scheduled.offset));
    let mut variables = vec![
        text("RUNNER_JOB_NAME", claim.definition.name.clone()),
        text("RUNNER_MAX_ATTEMPTS", runs.to_string()),
        text("RUNNER_ATTEMPTS_LEFT", runs.saturating_sub(claim.attempt_in_budget).to_string()),
        text("RUNNER_LAST_ERROR_CODE", last.to_owned()),
        text("RUNNER_QUEUE", claim.queue.clone()),
        text("RUNNER_WORKER_ID", context.worker_id.clone()),
        (OsString::from("RUNNER_DB"), context.db.as_os_str().to_owned()),
    ];
    variables.extend(scheduled.map(|time| text("RUNNER_SCHEDULED_FOR", time)));
    if !claim.dependencies.is_empty() {
        variables.push(text("RUNNER_DEPENDENCIES", dependency_lines(claim)));
    }
    variables
}
