//! Turns what needs a person into a sentence and the command to type. Pure.

pub mod dead_list;
mod deaths;
pub mod folders;
mod no_worker;
#[cfg(test)]
mod tests;
mod warned;
mod words;

pub use self::no_worker::{
    no_worker_and_ways, no_worker_text, nobody_and_ways, nobody_text, nothing_until_worker, sentence,
};
pub use self::words::at_limit;
use self::words::{Advice, Words, ids, jobs_text};
use crate::call_target::CallTarget;
use crate::model::{Attention, Limits, Way};
use crate::store::problem::{
    AttentionEntry, Count, HolderState, LeftProcess, LongestRunning, OVERDUE, OverdueReason, Problem,
};
use crate::store::{FileChange, NoRoom, NoWorker, WorkerStatus};
use crate::text::{Timestamp, counted, human_duration, listed, local_time, safe_line};

/// The command of a process is cut after this many characters.
const MAX_COMMAND: usize = 60;

/// The list of what needs attention, alarms first.
pub fn attention(
    found: Vec<AttentionEntry>,
    workers: &[WorkerStatus],
    place: &CallTarget,
    now: Timestamp,
) -> Vec<Attention> {
    let is_copy = workers.iter().any(WorkerStatus::is_of_original);
    let advice = Advice { place, now, is_copy };
    let mut list: Vec<Attention> = found.into_iter().map(|found| advice.entry(found)).collect();
    Attention::sort(&mut list);
    list
}

/// A process that could not be ended: whose it is, and of which attempt.
pub fn left_process(process: &LeftProcess) -> String {
    let LeftProcess { pid, job, attempt, command, user, .. } = process;
    let user = user.as_deref().unwrap_or("an unknown user");
    let command: String = safe_line(command).chars().take(MAX_COMMAND).collect();
    let command = if command.is_empty() { command } else { format!(" ({command})") };
    format!("process {pid} of {user}{command} of job {job}, attempt {attempt}")
}

/// The command that ends the processes which a worker of the database's owner could not end.
fn kill_command(processes: &[LeftProcess]) -> Option<String> {
    let others: Vec<&LeftProcess> = processes.iter().filter(|process| !process.is_of_owner).collect();
    let pids: Vec<String> = others.iter().map(|process| process.pid.to_string()).collect();
    let sudo = if others.iter().all(|process| process.may_be_ended) { "" } else { "sudo " };
    (!pids.is_empty()).then(|| format!("{sudo}kill -KILL {}", pids.join(" ")))
}

impl Advice<'_> {
    fn entry(&self, AttentionEntry { problem, alarm, jobs }: AttentionEntry) -> Attention {
        let words = self.words(&problem, &jobs);
        let message = safe_line(&words.sentence());
        let Words { fact, ways, command } = words;
        let kind = problem.kind();
        let (subject, file) = problem.into_subject_and_file();
        Attention { kind, alarm, message, command, jobs, file, subject, fact, ways }
    }

    #[expect(clippy::too_many_lines, reason = "a table: an arm for each problem")]
    fn words(&self, problem: &Problem, jobs: &[i64]) -> Words {
        let mut ways = Vec::new();
        let (fact, command) = match problem {
            Problem::DiskFull { path, why } => {
                let why = match why {
                    // Another mount of it may be writable.
                    NoRoom::ReadOnly => {
                        "is read-only: nothing can be enqueued, started or recorded through this path"
                    }
                    NoRoom::Inodes => {
                        "has no inodes left, which `df -i` shows: no worker and no run can start"
                    }
                    NoRoom::Quota => {
                        "gives its owner no more room, as the quota is used up: nothing is enqueued, started or recorded"
                    }
                    NoRoom::Disk | NoRoom::FileSize => "is full: nothing is enqueued, started or recorded",
                };
                (format!("the file system of {} {why} until that ends", path.display()), None)
            }
            Problem::Dead(dead) => return self.dead(dead, jobs),
            Problem::OtherDead { count, last } => {
                ways.push(Way::new(self.to_type("inspect", "dead"), "lists all"));
                let message = match last {
                    Some(at) => {
                        format!("besides these, {} died, the last {}", jobs_text(*count), self.when(*at))
                    }
                    None => "so many jobs have expired that others may have died, too".to_owned(),
                };
                (message, None)
            }
            Problem::Recovered(letters) => self.recovered(letters, jobs),
            Problem::OtherRecovered { count, last, is_all } => {
                let message = format!(
                    "besides these, {} died, the last {}, and one that does the same has succeeded since",
                    jobs_text(*count),
                    self.when(*last)
                );
                // With a filter, that would resolve more than this entry is about.
                (message, is_all.then(|| self.to_type("resolve", "--dead --recovered")))
            }
            Problem::Warned(warned) => return self.warned(warned, jobs),
            Problem::Stuck(stuck) => return self.stuck(stuck, jobs),
            Problem::OtherStuck(count) => {
                let is_one = *count == (Count { counted: 1, is_more: false });
                let (are, hold) = if is_one { ("is", "holds") } else { ("are", "hold") };
                ways.push(Way::new(self.to_type("inspect", "jobs --state blocked"), "lists those"));
                let jobs = jobs_text(*count);
                (
                    format!("besides these, {jobs} that {are} dead, cancelled or removed {hold} back others"),
                    None,
                )
            }
            Problem::Leftover { pid, since, processes } => {
                let shown = match processes.iter().map(left_process).collect::<Vec<_>>().as_slice() {
                    [] => "its processes cannot be seen from here".to_owned(),
                    shown => listed(shown, Attention::MAX_NAMED),
                };
                let message = format!(
                    "a worker (pid {pid}) died, and what it left could not be ended since {}: {shown}; the job goes \
                     on when that has ended",
                    self.when(*since)
                );
                (message, kill_command(processes))
            }
            Problem::Interrupted { name, jobs: count, times, least, last } => {
                let what = match (*count, jobs) {
                    (1, [id, ..]) if times.is_more => {
                        format!("job {id} {name} was interrupted more than {} times in a row", times.counted)
                    }
                    (1, [id, ..]) => {
                        format!("job {id} {name} was interrupted {} times in a row", times.counted)
                    }
                    (count, _) => {
                        format!("{count} jobs of {name} were each interrupted {least} times or more in a row")
                    }
                };
                let are = if *count == 1 { "is" } else { "are" };
                let message = format!(
                    "{what}, the last {}, and {are} run again each time; a job that restarts its own worker never ends: \
                     let systemd-run restart that one",
                    self.when(*last)
                );
                // One command does not cancel more.
                (message, (*count == jobs.len()).then(|| self.to_type("cancel", ids(jobs))))
            }
            Problem::NoTimes { schedule, next_at, why } => {
                let once_more = next_at.map(|at| format!(" after {}", self.when(at))).unwrap_or_default();
                (format!("schedule {schedule} has no times{once_more}, and fires no more: {why}"), None)
            }
            Problem::NoNextTime { schedule, file } => {
                let message = format!("schedule {schedule} has no next time, and fires no more");
                (message, Some(self.place.with_file(file).to_type("apply", "")))
            }
            Problem::Skipping { schedule, in_row, holder, holder_name, state } => {
                let state = match state {
                    HolderState::Blocked => "blocked",
                    HolderState::NotDue => "not due yet",
                    HolderState::Ready => "ready, but has not started",
                };
                ways.push(Way::new(self.to_type("inspect", holder), "says why"));
                let message = format!(
                    "schedule {schedule} was skipped {} in a row: its key is held by job {holder} {holder_name}, which is \
                     {state}",
                    counted(*in_row, "time")
                );
                (message, Some(self.to_type("cancel", holder)))
            }
            Problem::Stale { name, file, last_success, applied_at, within, unfinished, is_declared } => {
                let last = match last_success {
                    Some(at) if *at > self.now => {
                        format!("last succeeded at {}, by a clock that was ahead", local_time(*at))
                    }
                    Some(at) => format!("last succeeded {}", self.when(*at)),
                    None => format!("has not succeeded since it was applied {}", self.when(*applied_at)),
                };
                let message = format!("{name} {last}, and should at least every {}", human_duration(*within));
                match unfinished {
                    None if !is_declared => {
                        (format!("{message}; it cannot be enqueued from {file} now"), None)
                    }
                    None => {
                        let enqueue = self.place.with_file(file).to_type("enqueue", name);
                        (message, Some(enqueue))
                    }
                    Some(id) => {
                        ways.push(Way::new(self.to_type("inspect", id), "says more"));
                        (format!("{message}; job {id} is unfinished"), None)
                    }
                }
            }
            Problem::CannotStart { schedule, missing } => (
                format!(
                    "schedule {schedule} cannot start its jobs here: {}",
                    listed(missing, Attention::MAX_NAMED)
                ),
                None,
            ),
            Problem::NoWorker { queue, due, oldest, why } => {
                let has = if *due == 1 { "has" } else { "have" };
                let message = format!(
                    "{} of queue {queue} {has} waited since {}: {}",
                    counted(*due, "due job"),
                    self.when(*oldest),
                    no_worker::reason(Some(queue), *why)
                );
                self.until_worker(*why, message)
            }
            Problem::OldWorker { queue, pid, oldest } => {
                let message = format!(
                    "due jobs of queue {queue}, the oldest since {}, need a newer runner than its worker (pid {pid}), which has \
                     {}",
                    self.when(*oldest),
                    no_worker::TO_BE_RESTARTED
                );
                ways.extend(no_worker::restart(&[*pid], self.place));
                (message, None)
            }
            Problem::Unattended { pid, jobs, oldest } => {
                let message = format!(
                    "{}, the oldest since {}: the worker (pid {pid}) is suspended: nobody records their ends",
                    counted(*jobs, "running job"),
                    self.when(*oldest)
                );
                (message, Some(no_worker::continue_command(*pid)))
            }
            Problem::Orphaned { pids, jobs, oldest } => {
                let worker = if pids.len() == 1 { "the worker" } else { "the workers" };
                let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
                let message = format!(
                    "{}, the oldest since {}: {worker} ({}) died, and no other worker recovers them",
                    counted(*jobs, "running job"),
                    self.when(*oldest),
                    named("pid", &pids)
                );
                self.until_worker(NoWorker::NoneRuns, message)
            }
            Problem::Unfired { schedules, oldest, old_worker } => {
                let passed = format!(
                    "{} passed without a run since {}",
                    named("the time of schedule", schedules),
                    self.when(*oldest)
                );
                if let Some(pid) = old_worker {
                    ways.extend(no_worker::restart(&[*pid], self.place));
                    let message = format!(
                        "{passed}: the worker (pid {pid}) is older than the program that applied it, and has {}",
                        no_worker::TO_BE_RESTARTED
                    );
                    (message, None)
                } else {
                    let why = NoWorker::NoneRuns;
                    self.until_worker(why, format!("{passed}: {}", no_worker::reason(None, why)))
                }
            }
            Problem::Overdue { queue, due, oldest, reason } => {
                let waited = human_duration(self.now.since(*oldest));
                let oldest = if *due == 1 { " has" } else { ": the oldest has" };
                let message = format!(
                    "{} of queue {queue}{oldest} waited for {waited}, and nothing of the queue has started for {}: {}",
                    counted(*due, "due job"),
                    human_duration(OVERDUE),
                    self.overdue(reason, &mut ways)
                );
                (message, None)
            }
            Problem::PausedQueue { queue, due, oldest, until } => {
                let message = format!(
                    "queue {queue} is paused{} and holds {}, the oldest since {}",
                    self.until(*until),
                    counted(*due, "due job"),
                    self.when(*oldest)
                );
                (message, Some(self.to_type("resume", queue)))
            }
            Problem::PausedSchedule { schedule, passed, until } => {
                let message = format!(
                    "schedule {schedule} is paused{}, and its time {} has passed",
                    self.until(*until),
                    self.when(*passed)
                );
                (message, Some(self.to_type("resume", format_args!("--schedule {schedule}"))))
            }
            Problem::AllPaused { oldest, until } => {
                let held = oldest
                    .map(|oldest| format!("; the oldest that is held back was due at {}", self.when(oldest)));
                let message = format!(
                    "everything is paused{}: nothing starts and no schedule fires{}",
                    self.until(*until),
                    held.unwrap_or_default()
                );
                (message, Some(self.to_type("resume", "--all")))
            }
            Problem::Changed { path, change, schedules, queues } => {
                let names = [("schedule", schedules), ("queue", queues)].into_iter();
                let names = names.filter(|(_, names)| !names.is_empty());
                let what = names.map(|(what, names)| named(what, names)).collect::<Vec<_>>().join("; ");
                self.changed(path, change, &what, &mut ways)
            }
        };
        Words { fact, ways, command }
    }

    /// Adds the command that helps where no worker acts. A copy beside its original gets none, because jobs would run in both.
    fn until_worker(&self, why: NoWorker, message: String) -> (String, Option<String>) {
        match why {
            NoWorker::NoneRuns if self.is_copy => {
                (format!("{message}; a worker can be started, but {}", no_worker::IN_COPY), None)
            }
            why => (message, Some(no_worker::command(why, self.place))),
        }
    }

    fn until(&self, end: Option<Timestamp>) -> String {
        end.map(|end| format!(" until {}", self.when(end))).unwrap_or_default()
    }

    /// Why the due jobs of a queue do not start although a worker takes them.
    fn overdue(&self, reason: &OverdueReason, ways: &mut Vec<Way>) -> String {
        let mut longest = |running: &Option<LongestRunning>| match running {
            None => String::new(),
            Some(LongestRunning { id, name, since }) => {
                ways.push(Way::new(self.to_type("cancel", id), "ends it"));
                format!("; job {id} {name} has been running since {}", self.when(*since))
            }
        };
        match reason {
            OverdueReason::Limit { max_running, longest: running } => {
                let limit = Limits { max_running: Some(*max_running), ..Limits::default() };
                format!("{}, {limit}{}", at_limit("the queue"), longest(running))
            }
            OverdueReason::AtLimit(hold) => {
                let limit = hold.limit().unwrap_or_default();
                let next = hold.next_start().map(|next| format!("; its next job starts {}", self.when(next)));
                format!("{}, {limit}{}", at_limit("the queue"), next.unwrap_or_default())
            }
            OverdueReason::Busy { slots: 1, longest: running } => {
                format!("the only slot of its workers is busy{}", longest(running))
            }
            OverdueReason::Busy { slots, longest: running } => {
                format!("all {slots} slots of its workers are busy{}", longest(running))
            }
            OverdueReason::Unknown => {
                ways.push(Way::new(self.to_type("inspect", "workers"), "shows them"));
                "its workers do not take it".to_owned()
            }
        }
    }

    fn changed(
        &self,
        path: &str,
        change: &FileChange,
        what: &str,
        ways: &mut Vec<Way>,
    ) -> (String, Option<String>) {
        let there = self.place.with_file(path);
        let apply = || Some(there.to_type("apply", ""));
        let none = || Some(there.to_type("apply", "--none"));
        match change {
            FileChange::Edited => (format!("{path} has changed since it was applied: {what}"), apply()),
            FileChange::Zone(zone) => (
                format!(
                    "the time zone of this machine is {zone} now; {path} was applied in another one, which still holds for \
                     {what}; applying it again takes the new one"
                ),
                apply(),
            ),
            FileChange::EditedAndZone(zone) => (
                format!(
                    "{path} has changed since it was applied, and so has the time zone of this machine, which is {zone} \
                     now: {what}"
                ),
                apply(),
            ),
            FileChange::NamelessZone(zone) => {
                ways.push(Way::new(there.to_type("check", ""), "shows what to add"));
                (
                    format!(
                        "the time zone of this machine is {zone} now, which has no IANA name, so {path} cannot be applied; \
                         what was applied from it goes on: {what}"
                    ),
                    None,
                )
            }
            FileChange::Gone => {
                // Either may be meant, and the second would remove the schedules of a file that was moved.
                let moved = self.place.with_file("PATH").to_type("apply", "");
                ways.push(Way::new(moved, "takes it over from its new place"));
                ways.push(Way::new(there.to_type("apply", "--none"), "ends it if it was deleted on purpose"));
                (format!("{path} is gone; what was applied from it goes on: {what}"), None)
            }
            FileChange::NotRead(why) => (
                format!(
                    "{path} is not read, because {why}; what was applied from it goes on: {what}; if it is not wanted, \
                     this ends it"
                ),
                none(),
            ),
            FileChange::Unusable => {
                ways.push(Way::new(there.to_type("check", ""), "shows why"));
                (format!("{path} cannot be used now; what was applied from it goes on: {what}"), None)
            }
        }
    }
}

/// `schedule a` or `schedules a, b and 3 more`.
fn named(what: &str, names: &[String]) -> String {
    let plural = if names.len() == 1 { "" } else { "s" };
    format!("{what}{plural} {}", listed(names, Attention::MAX_NAMED))
}
