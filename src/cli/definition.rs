//! Describes the definition that a job was enqueued with, and compares it with the present job file.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::args::Global;
use super::locate;
use crate::jobfile::JobFile;
use crate::model::{
    Backoff, Bytes, CodePattern, Command, INHERITED_ALWAYS, Jitter, JobDefinition, JobState, Strategy,
};
use crate::place::runner;
use crate::store::JobRow;
use crate::text::{Millis, counted, safe_line, shell_word};
use crate::view::terminal::{Output, warn};

/// A command with its arguments, as a person would type it.
pub fn command_line(command: &Command, args: &[Bytes]) -> String {
    let mut typed = match command {
        Command::Shell(line) => vec![line.to_text()],
        Command::Argv(words) => words.iter().map(quoted).collect(),
    };
    typed.extend(args.iter().map(quoted));
    typed.join(" ")
}

/// Prints the launcher and the first lines of the command, without wrapping them, so that a reader can copy them.
pub fn print_command(out: &mut Output, definition: &JobDefinition, args: &[Bytes]) {
    const MAX_LINES: usize = 8;
    if !definition.launcher.is_empty() {
        let launcher: Vec<String> = definition.launcher.iter().map(quoted).collect();
        out.fact("launcher", &safe_line(&launcher.join(" ")));
    }
    let text = command_line(&definition.command, args);
    let lines: Vec<&str> = text.trim().lines().collect();
    for (index, line) in lines.iter().take(MAX_LINES).enumerate() {
        let word = if index == 0 { "command" } else { "" };
        out.line(format!("  {word:<9} {}", safe_line(line)));
    }
    if lines.len() > MAX_LINES {
        out.fact("", &format!("… {}", counted(lines.len() - MAX_LINES, "more line")));
    }
}

/// Prints what the command starts with, as far as that is not what every command starts with.
pub fn print_start(out: &mut Output, definition: &JobDefinition) {
    if !definition.inherit_env {
        let inherited = INHERITED_ALWAYS.join(", ");
        out.fact("inherits", &format!("only {inherited} of the worker's environment"));
    }
    for (index, file) in definition.env_file.iter().enumerate() {
        let word = if index == 0 { "env_file" } else { "" };
        let or_none = if file.optional { ", if there is one" } else { "" };
        out.fact(word, &format!("{}{or_none}", safe_line(&file.path.to_text())));
    }
}

/// A word as a person would type it in a shell.
pub fn quoted(word: &Bytes) -> String {
    shell_word(&word.to_text())
}

/// Prints a retry policy in a few lines.
pub fn print_policy(out: &mut Output, definition: &JobDefinition) {
    let policy = definition.written_policy();
    if !policy.retryable {
        return out.fact("retries", "none: retryable = false, exactly one attempt");
    }
    match policy.max_attempts() {
        1 => out.fact("retries", "none: one attempt"),
        max => out.fact("retries", &format!("{max} attempts, {}", backoff_text(&policy.backoff))),
    }
    let list = |codes: &[CodePattern]| codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if let Some(codes) = &policy.auto_retry_for {
        out.fact("", &format!("only for {}", list(codes)));
    }
    if !policy.never_retry_for.is_empty() {
        out.fact("", &format!("never for {}", list(&policy.never_retry_for)));
    }
}

fn backoff_text(backoff: &Backoff) -> String {
    let strategy = match &backoff.strategy {
        Strategy::Exponential { initial, multiplier, max } => {
            format!("exponential from {initial}, ×{multiplier}, at most {max}")
        }
        Strategy::Linear { delay, max } => format!("linear by {delay}, at most {max}"),
        Strategy::Constant { delay } => format!("{delay} apart"),
        Strategy::List { delays, repeat_last } => {
            let delays = delays.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            if *repeat_last { format!("after {delays}, …") } else { format!("after {delays}") }
        }
    };
    match backoff.jitter {
        Jitter::Fraction(fraction) if fraction > 0.0 => format!("{strategy}, jitter ±{}%", fraction * 100.0),
        Jitter::Absolute(Millis(ms)) if ms > 0 => format!("{strategy}, jitter ±{}", Millis(ms)),
        _ => strategy,
    }
}

/// Warns about jobs that are about to run with another definition than that of the job file, and says how to get
/// the present one. Silent if the job file cannot be read.
pub fn warn_of_differing<'a>(global: &Global, jobs: impl Iterator<Item = &'a JobRow>, dry_run: bool) {
    /// More jobs are named by their common name.
    const MAX_IDS: usize = 10;
    let Some(present) = CurrentJobFile::read(global) else { return };
    let mut of_name: BTreeMap<&str, (Vec<&JobRow>, Vec<String>)> = BTreeMap::new();
    for job in jobs {
        let keys = present.differing_keys(job);
        if !keys.is_empty() {
            let (stale, all) = of_name.entry(&job.definition.name).or_default();
            stale.push(job);
            all.extend(keys);
        }
    }
    for (name, (stale, mut keys)) in of_name {
        keys.sort_unstable();
        keys.dedup();
        let subject = match stale.as_slice() {
            [job] => format!("job {} keeps the definition of its enqueue", job.id),
            jobs => format!("{} of {name} keep the definition of their enqueue", counted(jobs.len(), "job")),
        };
        // After a real `retry` these jobs are pending.
        let is_dead = dry_run && stale.iter().all(|job| job.state.is_final());
        let (verb, all) = if is_dead { ("retry", "--dead --name") } else { ("change", "--name") };
        let mut ids: Vec<i64> = stale.iter().map(|job| job.id).collect();
        ids.sort_unstable();
        let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
        let which = if ids.len() > MAX_IDS { format!("{all} {name}") } else { ids.join(" ") };
        let take = runner(verb, format_args!("{which} --redefine"));
        let (keys, path) = (keys.join(", "), locate::display(&present.file.path));
        warn(&format!("{subject}; {name} in {path} differs ({keys}); to take the present one: {take}"));
    }
}

/// The job file as it is now, to compare the definitions of jobs with.
pub struct CurrentJobFile {
    file: JobFile,
}

impl CurrentJobFile {
    /// None if the job file cannot be read.
    pub fn read(global: &Global) -> Option<Self> {
        let file = locate::job_file(global).ok()?;
        Some(Self { file })
    }

    /// The keys in which the definition of a job that may run again differs from that of the file.
    pub fn differing_keys(&self, job: &JobRow) -> Vec<String> {
        match self.file.job(&job.definition.name) {
            Some(declared) if !job.definition.ad_hoc && may_run_again(job) => {
                differences(&job.definition, &declared.definition)
            }
            _ => Vec::new(),
        }
    }
}

/// Whether the job may still be started with the definition of its enqueue.
const fn may_run_again(job: &JobRow) -> bool {
    matches!(job.state, JobState::Pending | JobState::Dead | JobState::Cancelled)
}

/// The job file keys in which two definitions differ.
fn differences(old: &JobDefinition, new: &JobDefinition) -> Vec<String> {
    let (old, new) = (keys(old), keys(new));
    old.keys().chain(new.keys()).filter(|key| old.get(*key) != new.get(*key)).cloned().collect()
}

/// The values of a definition by their job file keys.
fn keys(definition: &JobDefinition) -> Map<String, Value> {
    let Ok(Value::Object(mut keys)) = serde_json::to_value(definition) else { return Map::new() };
    if let Some(Value::Object(policy)) = keys.remove("policy") {
        keys.extend(policy);
    }
    let exit = keys.remove("exit").unwrap_or_default();
    keys.insert("exit_codes".to_owned(), exit);
    keys
}
