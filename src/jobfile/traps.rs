//! Finds what a file says that people may take for something else. None of it is a mistake, and `check` notes it.

use std::collections::BTreeSet;
use std::path::Path;

use super::file::JobFile;
use super::job_table::Declared;
use super::pipes::has_pipe;
use crate::call_target::to_type;
use crate::model::{Bytes, Command, JobLayer};
use crate::text::{append, safe_line};

/// Programs that give the word after `-c` to a shell, whatever stands before it.
const CALL_A_SHELL: [&str; 4] = ["su", "runuser", "flock", "script"];

/// Programs that read the words after `-c` themselves.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "busybox"];

impl JobFile {
    /// A sentence about each trap of these jobs, or of this one alone, and of `[defaults]`.
    pub fn traps(&self, only: Option<&str>) -> Vec<String> {
        let mut found = Vec::new();
        self.add_literals("[defaults]", &self.defaults, &mut found);
        let has_warnings = self.jobs.iter().any(|job| !job.definition.exit.warning.is_empty());
        if only.is_none() && self.defaults.on_warning.is_some() && !has_warnings {
            found.push("[defaults]: `on_warning` has no effect: no job has `warning_exit_codes`".to_owned());
        }
        let work: BTreeSet<&str> = self.all_but_alerts().map(|job| job.definition.name.as_str()).collect();
        for job in self.jobs.iter().filter(|job| only.is_none_or(|only| only == job.definition.name)) {
            let name = &job.definition.name;
            if name.bytes().all(|byte| byte.is_ascii_digit()) {
                found.push(format!(
                    "{name}: a verb that takes an id or a name takes digits for an id: {} is about the job with that id",
                    to_type("retry", name)
                ));
            }
            if let Command::Argv(words) = &job.definition.command
                && for_another(&to_texts(&job.definition.launcher)).is_none()
            {
                found.extend(array_trap(name, "command", words));
            }
            self.add_literals(name, &job.layer, &mut found);
            if job.layer.on_warning.is_some() && job.definition.exit.warning.is_empty() {
                found
                    .push(format!("{name}: `on_warning` has no effect: the job has no `warning_exit_codes`"));
            }
            if let Command::Shell(line) = &job.definition.command {
                let line = line.to_text();
                // The defaults are about the work, and an alert only tells of it.
                let defaults =
                    if work.contains(name.as_str()) { &self.defaults } else { &JobLayer::default() };
                if Self::wants_its_failure(job, defaults) && has_pipe(&line) && !line.contains("pipefail") {
                    found.push(format!(
                        "{name}: the exit status of a pipe is that of its last command, so a failure before it is not seen; \
                         [\"bash\", \"-o\", \"pipefail\", \"-c\", \"…\"] sees it"
                    ));
                }
            }
        }
        found
    }

    /// Whether somebody has written that a failure of this job is to be retried, or a worker starts it when nobody looks.
    fn wants_its_failure(job: &Declared, defaults: &JobLayer) -> bool {
        let own = &job.layer;
        let says_how = |layer: &JobLayer| {
            layer.retryable.is_some()
                || layer.backoff.is_some()
                || layer.auto_retry_for.is_some()
                || layer.never_retry_for.is_some()
        };
        let attempts = own.max_attempts.or(defaults.max_attempts);
        job.schedule.is_some()
            || attempts.is_some_and(|attempts| attempts > 1)
            || says_how(own)
            || says_how(defaults)
    }

    /// Adds what the values of a layer hold that only a shell would expand. Values of variables may be secrets.
    fn add_literals(&self, whose: &str, layer: &JobLayer, found: &mut Vec<String>) {
        found.extend(layer.launcher.as_ref().and_then(|words| array_trap(whose, "launcher", words)));
        for (name, value) in layer.env.iter().flatten() {
            if let Some(what) = for_a_shell(&value.to_text()) {
                found.push(format!(
                    "{whose}: the value of {} in `env` has {what}, which is taken as it stands: write it out, here or in an \
                     `env_file`, or let `sh -c` set it",
                    safe_line(&name.to_text())
                ));
            }
        }
        if let Some(cwd) = &layer.cwd {
            let (cwd, dir) = (Path::new(cwd.as_os_str()), self.path.parent().unwrap_or(&self.path));
            let written = cwd.strip_prefix(dir).unwrap_or(cwd).to_string_lossy();
            if written.contains('$') {
                let written = safe_line(&written);
                found.push(format!(
                    "{whose}: {written:?} in `cwd` is taken as it stands; `~/` is the home folder, and `sh -c` can go elsewhere"
                ));
            }
        }
    }
}

/// A sentence about the words of an array that only a shell would expand.
fn array_trap(whose: &str, key: &str, words: &[Bytes]) -> Option<String> {
    let words = to_texts(words);
    let own = for_another(&words).unwrap_or(words.len());
    let mut literals = words[..own].iter().filter(|word| for_a_shell(word).is_some());
    let mut named = format!("{:?}", safe_line(literals.next()?));
    let more = literals.count();
    if more > 0 {
        append(&mut named, format_args!(" (and {more} more)"));
    }
    Some(format!(
        "{whose}: {named} in `{key}` is taken as it stands, because no shell reads an array: write it out, or use \
         [\"sh\", \"-c\", \"…\"]"
    ))
}

fn to_texts(words: &[Bytes]) -> Vec<String> {
    words.iter().map(Bytes::to_text).collect()
}

/// Where the words of an array begin that a shell reads, on this machine or another one.
fn for_another(words: &[String]) -> Option<usize> {
    words.iter().enumerate().find_map(|(at, word)| reader(word, &words[at + 1..], at))
}

/// The same if the program at this place is `ssh`, or a shell with `-c`, or calls one.
fn reader(program: &str, after: &[String], at: usize) -> Option<usize> {
    let name = program.rsplit('/').next().unwrap_or_default();
    if name == "ssh" {
        return Some(at + 1);
    }
    let calls_one = CALL_A_SHELL.contains(&name);
    if !calls_one && !SHELLS.contains(&name) {
        return None;
    }
    let mut is_value = name == "busybox";
    for (index, word) in after.iter().enumerate() {
        let is_option = word.starts_with(['-', '+']);
        if word.starts_with('-') && !word.starts_with("--") && word.contains('c') {
            return Some(at + 1 + index + 1);
        }
        if !is_option && !is_value && !calls_one {
            return None;
        }
        is_value = is_option && word.ends_with(['o', 'O']);
    }
    None
}

/// The part of this value that a shell would expand: a home folder at its start, or a variable.
fn for_a_shell(value: &str) -> Option<&'static str> {
    let is_name = |after: &str| {
        let name = after.strip_prefix('{').unwrap_or(after);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    };
    let has_variable = value.split('$').skip(1).any(is_name);
    let is_below_home = value.starts_with("~/");
    has_variable.then_some("a `$NAME`").or(is_below_home.then_some("a `~/`"))
}
