//! The acts that are set against each other, and the verdict of each call.

use rand::RngExt;
use rand::rngs::StdRng;

use super::jobs::{INPUT, KEYED, LIMITED, NAMES, PROJECTS};
use crate::support::{Background, Finished, Sandbox, Signal, Value};
use crate::tools::pause;

/// The highest limit that is drawn for the limited queue.
pub const MOST: u32 = 3;

/// A call from the folder of one project.
pub struct Act {
    pub project: &'static str,
    pub line: String,
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
        let line = match dice.random_range(0..100) {
            0..36 => format!("run {name} --json"),
            36..46 => format!("enqueue {name}"),
            46..54 => format!("enqueue {name} --wait --wait-timeout 1s --json"),
            54..57 => format!("wait {late} --wait-timeout 500ms --json"),
            57..60 => format!("retry {id}"),
            60..62 => format!("retry {id} --redefine"),
            62..64 => "retry --dead".to_owned(),
            64..67 => "retry --dead --latest".to_owned(),
            67..69 => format!("change {late} --now"),
            69..71 => format!("change {late} --in 200ms"),
            71..74 => format!("change --name {name} --redefine"),
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
        Self { project, line, signal: is_ended.then(|| pick(dice, &signals)) }
    }

    pub fn start(&self, sandbox: &Sandbox) -> Background {
        Background::start(sandbox, sandbox.call(&self.line).dir(sandbox.path(self.project)))
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
            return (succeeded && self.signal.is_none())
                .then(|| format!("exit status {status} of a job that succeeded"));
        }
        let Some(job) = job else { return Some("it names no job".to_owned()) };
        let file = job["file"].as_str().unwrap_or_default();
        let project = PROJECTS.iter().find(|project| file == of(project));
        let name = self.line.split_whitespace().nth(1).unwrap_or_default();
        if verb != "wait" && (job["name"] != name || project != Some(&self.project)) {
            return Some(format!("it stands for other work: {} of {file}", job["name"]));
        }
        let (Some(id), Some(project)) = (job["id"].as_u64(), project) else {
            return Some(format!("no project's job: {job}"));
        };
        let (begin, end) = (format!("end {id} "), format!(" {project}"));
        // A `run` leaves the work to the job that holds the key, and says so.
        if verb == "run" && name == KEYED && ran.stderr.contains(&format!("job {id} already holds")) {
            return None;
        }
        let is_done = succeeded && log.iter().any(|line| line.starts_with(&begin) && line.ends_with(&end));
        (!is_done).then(|| format!("job {id} of {project} has not come to its end"))
    }
}

/// Enqueues a job with the name of its project as its input.
pub fn enqueue_with_input(sandbox: &Sandbox, dice: &mut StdRng) -> Finished {
    let project = pick(dice, &PROJECTS);
    let call = sandbox.call(&format!("enqueue {INPUT} --stdin")).dir(sandbox.path(project));
    call.stdin(project).run()
}

pub fn pick<T: Copy>(dice: &mut StdRng, from: &[T]) -> T {
    from[dice.random_range(0..from.len())]
}
