//! The acts that are set against each other, and the verdict of each call.

use std::env;

use rand::RngExt;
use rand::rngs::StdRng;

use super::jobs::{ALERT, INPUT, KEYED, LIMITED, NAMES, PROJECTS};
use crate::support::{Background, Finished, Sandbox, Signal, Value};
use crate::tools::{call_either, pause};

/// The highest limit that is drawn for the limited queue.
pub const MOST: u32 = 3;

/// A call from the folder of one project.
pub struct Act {
    pub project: &'static str,
    pub line: String,
    /// The input of the call, which no other call gets.
    input: Option<String>,
    /// A call of the program of an earlier version, if there is one.
    is_older: bool,
    signal: Option<Signal>,
}

impl Act {
    /// Draws one, mostly about the job `theme`, so that acts meet; jobs up to `newest` exist.
    pub fn throw(dice: &mut StdRng, theme: &'static str, newest: i64) -> Self {
        let project = pick(dice, &PROJECTS);
        let name = if dice.random_bool(0.7) { theme } else { pick(dice, &NAMES) };
        let id = dice.random_range(1..=newest.max(1));
        // What was enqueued lately is what can still be met.
        let late = dice.random_range((newest - 6).max(1)..=newest.max(1));
        let stdin = if name == INPUT { " --stdin" } else { "" };
        let line = match dice.random_range(0..100) {
            0..36 => format!("run {name}{stdin} --json"),
            36..44 => format!("enqueue {name}{stdin}"),
            44..51 => format!("enqueue {name}{stdin} --wait --wait-timeout 1s --json"),
            51..54 => format!("wait {late} --wait-timeout 500ms --json"),
            54..57 => format!("retry {id}"),
            57..59 => format!("retry {id} --redefine"),
            59..61 => "retry --dead".to_owned(),
            61..64 => "retry --dead --latest".to_owned(),
            64..66 => format!("change {late} --now"),
            66..68 => format!("change {late} --in 200ms --priority {}", dice.random_range(0..9)),
            68..74 => format!("change --name {name} --redefine"),
            74..76 => format!("resolve {id}"),
            76..78 => "resolve --dead --recovered".to_owned(),
            78..81 => format!("cancel {late}"),
            81..82 => format!("cancel --name {name}"),
            82..84 => format!("pause {LIMITED}"),
            84..85 => "pause --all --for 200ms".to_owned(),
            85..88 => format!("resume {LIMITED}"),
            88..90 => format!("limit {LIMITED} --max-running {}", dice.random_range(1..=MOST)),
            90..92 => "prune --older-than 100ms".to_owned(),
            92..96 => "work --until-idle -j3 -q".to_owned(),
            _ => "work -j3 -q --shutdown-timeout 100ms".to_owned(),
        };
        // What a killed call leaves is what another could take for its own.
        let signals = [Signal::KILL, Signal::KILL, Signal::TERM, Signal::INT];
        // A worker without end is always ended.
        let is_ended = line.starts_with("work -j") || (line.starts_with("run") && dice.random_bool(0.4));
        let input = line.contains("--stdin").then(|| format!("{}-{project}", dice.random::<u32>()));
        // Only the workers, because an older program does not tell two projects apart.
        let is_older = line.starts_with("work") && dice.random();
        Self { project, line, input, is_older, signal: is_ended.then(|| pick(dice, &signals)) }
    }

    pub fn start(&self, sandbox: &Sandbox) -> Background {
        let call = call_either(sandbox, self.is_older, &self.line).dir(sandbox.path(self.project));
        Background::start(sandbox, self.input.iter().fold(call, |call, input| call.stdin(input.as_str())))
    }

    /// Whether the call does the work itself, so that it needs no worker.
    pub fn is_run(&self) -> bool {
        self.line.starts_with("run ")
    }

    /// Ends the call at a random moment, if that was drawn.
    pub fn strike(&self, running: &Background, dice: &mut StdRng) {
        if let Some(signal) = self.signal {
            pause(dice, 0..=120);
            // It is not waited for yet, so the number is its own also when it has ended.
            crate::support::signal(running.pid(), signal);
        }
    }

    /// Says what is wrong with how the call ended, by what the jobs have written to the side log.
    pub fn verdict(&self, sandbox: &Sandbox, ran: &Finished, log: &[String]) -> Option<String> {
        let verb = self.line.split_whitespace().next().unwrap_or_default();
        let Some(status) = ran.status() else {
            return self.signal.is_none().then(|| "it was ended by a signal".to_owned());
        };
        let other = PROJECTS.iter().find(|project| **project != self.project).expect("two projects");
        let of = |project: &str| sandbox.path(project).join("jobs.toml").to_string_lossy().into_owned();
        if matches!(verb, "run" | "enqueue") && status == 75 && ran.stderr.contains("another job file") {
            let names_it = self.line.contains(KEYED) && ran.stderr.contains(&of(other));
            return (!names_it).then(|| "it names another holder than the key has".to_owned());
        }
        let promises_work = verb == "run" || verb == "wait" || self.line.contains("--wait");
        if !promises_work {
            // Nothing to do, or a job that cannot be changed, is no fault of the program.
            let is_known = matches!(status, 0 | 1 | 65 | 66 | 75) || self.signal.is_some();
            return (!is_known).then(|| format!("exit status {status}"));
        }
        let job = ran.stdout.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        let succeeded = job.as_ref().is_some_and(|job| job["state"] == "succeeded");
        if status != 0 {
            let has_failed = |job: &Value| job["state"] == "dead" || job["state"] == "cancelled";
            // A job behind one that was cancelled waits for a person, so the `run` ends without it.
            let is_stuck =
                |job: &Value| job["waits_for"].as_array().is_some_and(|of| of.iter().any(has_failed));
            let failed = job.as_ref().is_some_and(|job| has_failed(job) || is_stuck(job));
            // A prune may have removed it, and it may have ended just after a wait was given up.
            let gave_up = status == 75 && ran.stderr.contains("gave up waiting");
            let is_known = gave_up || if self.is_run() { failed || status == 66 } else { !succeeded };
            return (!is_known && self.signal.is_none()).then(|| format!("exit status {status} of {job:?}"));
        }
        let Some(job) = job else { return Some("it names no job".to_owned()) };
        let file = job["file"].as_str().unwrap_or_default();
        let project = PROJECTS.iter().find(|project| file == of(project));
        let name = self.line.split_whitespace().nth(1).unwrap_or_default();
        if verb != "wait" && (job["name"] != name || project != Some(&self.project)) {
            return Some(format!("it stands for other work: {} of {file}", job["name"]));
        }
        // An older worker does not know of job files when it enqueues an alert.
        if job["name"] == ALERT && job["file"].is_null() && env::var_os("OLDER").is_some() {
            return None;
        }
        let (Some(id), Some(project)) = (job["id"].as_u64(), project) else {
            return Some(format!("no project's job: {job}"));
        };
        let (begin, end) = (format!("end {id} "), format!(" {project}"));
        // A `run` leaves the work to the job that holds the key, and says so.
        if verb == "run" && name == KEYED && ran.stderr.contains(&format!("job {id} already holds")) {
            return None;
        }
        if let Some(input) = self.input.as_ref().filter(|_| self.signal.is_none())
            && !log.iter().any(|line| line.starts_with(&format!("got-{input} ")))
        {
            return Some(format!("its input {input} is lost"));
        }
        let is_done = succeeded && log.iter().any(|line| line.starts_with(&begin) && line.ends_with(&end));
        (!is_done).then(|| format!("job {id} of {project} has not come to its end"))
    }
}

pub fn pick<T: Copy>(dice: &mut StdRng, from: &[T]) -> T {
    from[dice.random_range(0..from.len())]
}
