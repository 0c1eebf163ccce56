//! Finds mistakes between several values: retry keys that contradict each other, exit statuses that count as a success
//! and have an error code, error codes that their job can never end with, and names of jobs that do not exist.
//!
//! The checks leave out values that could not be read, because those have a mistake already.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::codes::Codes;
use super::diagnostics::{Mistakes, Span};
use super::job_table::Job;
use super::layer::PlacedLayer;
use crate::model::{
    CodePattern, Contradiction, ErrorCode, ExitKey, ExitRules, JobLayer, LISTABLE_RESERVED, Status, signal,
};
use crate::text::nearest;

/// Records the contradictions of the retry keys of each layer, and those of a job with `[defaults]`.
pub(super) fn check_retries(jobs: &[Job], defaults: &PlacedLayer, mistakes: &mut Mistakes) {
    check_contradictions(defaults, mistakes);
    for job in jobs {
        check_contradictions(&job.layer, mistakes);
        check_attempts(&job.layer, defaults, mistakes);
    }
}

fn check_contradictions(layer: &PlacedLayer, mistakes: &mut Mistakes) {
    let drop_one = || "drop one of the two".to_owned();
    for contradiction in layer.values.contradictions() {
        let (key, hint, other) = match contradiction {
            Contradiction::AttemptsWithoutRetry { .. } => {
                ("max_attempts", drop_one(), Some(("forbids retries", "retryable")))
            }
            Contradiction::CodesWithoutRetry => {
                ("auto_retry_for", drop_one(), Some(("forbids retries", "retryable")))
            }
            Contradiction::ListLength { max_attempts, list_attempts } => {
                let or_repeat =
                    if max_attempts > list_attempts { ", or set `repeat_last = true`" } else { "" };
                let hint = format!("leave it out, or write `max_attempts = {list_attempts}`{or_repeat}");
                ("max_attempts", hint, Some(("the delays", "backoff")))
            }
            Contradiction::SuccessAndWarning { .. } => {
                let hint = "take it out of one: a warning is a success, too, of which people are told";
                ("warning_exit_codes", hint.to_owned(), Some(("the successes", "success_exit_codes")))
            }
            Contradiction::NoCodes => {
                let hint = "leave it out to retry every failure, or write `retryable = false`";
                ("auto_retry_for", hint.to_owned(), None)
            }
        };
        let Some(at) = layer.place(key) else { continue };
        let mistake = mistakes.add(at, contradiction.to_string()).hint(hint);
        if let Some((label, place)) = other.and_then(|(label, key)| Some((label, layer.place(key)?))) {
            mistake.see(label, place);
        }
    }
}

/// Records a `max_attempts` that asks for more attempts than the list of delays in `[defaults]` is long enough for.
fn check_attempts(layer: &PlacedLayer, defaults: &PlacedLayer, mistakes: &mut Mistakes) {
    // A job that is not retryable, or has its own `backoff`, does not use the list.
    if layer.values.retryable == Some(false) || layer.place("backoff").is_some() {
        return;
    }
    if let (Some(attempts), Some(most)) = (layer.values.max_attempts, defaults.values.list_attempts())
        && attempts > most
        && let (Some(at), Some(delays)) = (layer.place("max_attempts"), defaults.place("backoff"))
    {
        let what = format!(
            "`max_attempts = {attempts}`, but the delays in [defaults] are enough for {most} attempts"
        );
        let hint = "list more delays, or set `repeat_last = true` there, or give this job its own `backoff`";
        mistakes.add(at, what).hint(hint).see("the delays", delays);
    }
}

/// Records exit statuses that have an error code although their layer counts them as a success: such a code is never
/// used.
pub(super) fn check_successes(jobs: &[Job], defaults: &PlacedLayer, file: &Codes, mistakes: &mut Mistakes) {
    let own = |layer: &PlacedLayer| layer.place("success_exit_codes").is_some();
    for job in jobs {
        // If only [defaults] calls a status a success, a job may give it a code.
        if own(&job.layer) || !own(defaults) {
            let success = job.success(defaults);
            check_exits(&job.codes, |status| success.contains(&status), mistakes);
        }
    }
    let for_all = defaults.values.success_exit_codes.clone().unwrap_or(ExitRules::default().success);
    let everywhere = |status: u8| {
        for_all.contains(&status) && jobs.iter().all(|job| job.success(defaults).contains(&status))
    };
    check_exits(file, everywhere, mistakes);
}

/// Records lists of warnings that have exit status 0 although it is a success.
pub(super) fn check_warnings(jobs: &[Job], defaults: &PlacedLayer, mistakes: &mut Mistakes) {
    let refuse = |layer: &PlacedLayer, mistakes: &mut Mistakes| {
        if let Some(at) = layer.place("warning_exit_codes") {
            mistakes
                .add(at, "exit status 0 is a success, so it is no warning")
                .hint("take it out here, or write `success_exit_codes` without it");
        }
    };
    let own = |layer: &PlacedLayer| layer.place("warning_exit_codes").is_some();
    let warns = |job: &Job| JobLayer::warn_of_zero(&[&job.layer.values, &defaults.values]);
    for job in jobs.iter().filter(|job| own(&job.layer) && warns(job)) {
        refuse(&job.layer, mistakes);
    }
    let mut heirs = jobs.iter().filter(|job| !own(&job.layer)).peekable();
    let is_alone = heirs.peek().is_none();
    if heirs.any(warns) || is_alone && JobLayer::warn_of_zero(&[&defaults.values]) {
        refuse(defaults, mistakes);
    }
}

fn check_exits(codes: &Codes, is_success: impl Fn(u8) -> bool, mistakes: &mut Mistakes) {
    for (entry, at) in &codes.mapped {
        if let ExitKey::Exact(status) = entry.key
            && is_success(status)
        {
            mistakes
                .add(at, format!("exit status {status} is a success, so it has no error code"))
                .hint("take it out here, or out of `success_exit_codes` ([0] by default)");
        }
    }
}

/// Records each listed code that cannot occur; one in `[defaults]` is recorded once, not for each job.
///
/// A job is left out if its codes could not be read, because then it is unknown which codes can occur.
pub(super) fn check_code_lists(jobs: &[Job], defaults: &PlacedLayer, file: &Codes, mistakes: &mut Mistakes) {
    let has_lists = |job: &&Job| !job.layer.listed_codes.is_empty() || !defaults.listed_codes.is_empty();
    let is_known = |job: &&Job| !job.codes.is_incomplete && !file.is_incomplete;
    let mut known: Vec<(&Job, Rc<PossibleCodes>)> = Vec::new();
    for job in jobs.iter().filter(has_lists).filter(is_known) {
        // There are hundreds of codes, and the jobs of a large file are mostly alike.
        let same = known.last().map(|(_, last)| last).filter(|last| last.are_those_of(job, defaults, file));
        let possible = same.map_or_else(|| Rc::new(PossibleCodes::of(job, defaults, file)), Rc::clone);
        known.push((job, possible));
    }
    for (job, possible) in &known {
        for (_, pattern, at) in &job.layer.listed_codes {
            if !possible.include(pattern) {
                possible.refuse(pattern, at, job, mistakes);
            }
        }
    }
    for (key, pattern, at) in &defaults.listed_codes {
        let mut heirs: Vec<_> = known.iter().filter(|(job, _)| job.layer.place(key).is_none()).collect();
        heirs.dedup_by(|(_, later), (_, earlier)| Rc::ptr_eq(later, earlier));
        let misfit = heirs.into_iter().find(|(_, possible)| !possible.include(pattern));
        if let Some((job, possible)) = misfit {
            possible.refuse(pattern, at, job, mistakes);
        }
    }
}

/// The error codes that one job can end with.
struct PossibleCodes {
    rules: ExitRules,
    /// Codes that are no names of exit statuses or signals.
    others: Vec<ErrorCode>,
    codes: BTreeSet<ErrorCode>,
}

impl PossibleCodes {
    fn of(job: &Job, defaults: &PlacedLayer, file: &Codes) -> Self {
        let rules = job.exit_rules(defaults, file);
        let fails = |exit: &i32| !rules.is_success(*exit) && !rules.is_warning(*exit);
        let exits = (0..=255).filter(fails).map(Status::Exited);
        let signals = (1..=signal::MAX).map(Status::Signaled);
        let mut codes: BTreeSet<ErrorCode> =
            exits.chain(signals).map(|status| rules.code_of(status)).collect();
        codes.extend(LISTABLE_RESERVED.map(ErrorCode::built_in));
        codes.extend(job.codes.others.iter().cloned());
        Self { rules, others: job.codes.others.clone(), codes }
    }

    fn are_those_of(&self, job: &Job, defaults: &PlacedLayer, file: &Codes) -> bool {
        self.others == job.codes.others && self.rules == job.exit_rules(defaults, file)
    }

    fn include(&self, pattern: &CodePattern) -> bool {
        self.codes.iter().any(|code| pattern.matches(code))
    }

    fn refuse(&self, pattern: &CodePattern, at: &Span, job: &Job, mistakes: &mut Mistakes) {
        let mistake = mistakes.add(at, format!("`{pattern}` cannot occur in the job `{}`", job.name));
        let text = pattern.to_string();
        if let Some(status) = self.warning_status(pattern) {
            mistake.hint(format!("exit status {status} is a success with a warning, which is never retried"));
        } else if let Some(name) = self.name_of(pattern) {
            mistake.hint(format!("this job calls that ending {name}"));
        } else if text.starts_with("EXIT_") || text.starts_with("SIGNAL_") {
            mistake.hint("unmapped endings are EXIT_1 to EXIT_255 and SIGNAL_HUP to SIGNAL_SYS");
        } else if let Some(near) = nearest(&text, self.codes.iter().map(ErrorCode::as_str)) {
            mistake.hint(format!("did you mean \"{near}\"?"));
        } else {
            mistake.hint("map an exit status to it in `exit_codes`, or declare it in `reports`");
        }
        let named = self.codes.iter().filter(|code| !code.is_built_in()).map(ErrorCode::as_str);
        let mut allowed: Vec<&str> = named.collect();
        for (family, members) in [("EXIT_*", "EXIT_n"), ("SIGNAL_*", "SIGNAL_NAME")] {
            if CodePattern::parse(family).is_ok_and(|family| self.include(&family)) {
                allowed.extend([members, family]);
            }
        }
        allowed.push("*");
        mistake.allowed(allowed.join(", "));
    }

    /// The first exit status that is a warning of this name, or that this `EXIT_<n>` stands for.
    fn warning_status(&self, pattern: &CodePattern) -> Option<u8> {
        let CodePattern::Code(code) = pattern else { return None };
        let is_meant = |status: &u8| {
            code.as_exit() == Some(u32::from(*status))
                || self.rules.warning_of(i32::from(*status)).as_ref() == Some(code)
        };
        self.rules.warning.iter().copied().find(is_meant)
    }

    /// The error code that this job gives to the ending that a built-in code stands for.
    fn name_of(&self, pattern: &CodePattern) -> Option<ErrorCode> {
        let CodePattern::Code(code) = pattern else { return self.rules.default.clone() };
        let exit = code.as_exit().and_then(|exit| i32::try_from(exit).ok()).map(Status::Exited);
        let status = exit.or_else(|| code.as_signal().map(Status::Signaled))?;
        Some(self.rules.code_of(status)).filter(|name| name != code)
    }
}

/// Records names in `after`, `after_any`, `on_dead` and `on_warning` that no job has, and names that stand in both lists. `names` has all jobs, also those that could not be read.
pub(super) fn check_names(
    jobs: &[Job],
    defaults: &PlacedLayer,
    names: &HashSet<&str>,
    mistakes: &mut Mistakes,
) {
    for job in jobs {
        let own = &job.name;
        for (name, at) in job.after.iter().chain(&job.after_any) {
            check_is_declared(name, at, names, mistakes);
        }
        for (name, at) in &job.after_any {
            if let Some((_, other)) = job.after.iter().find(|(after, _)| after == name) {
                let what = format!("`{name}` stands in `after` and in `after_any`");
                mistakes
                    .add(at, what)
                    .hint("`after` waits for its success, `after_any` for any end: drop one of the two")
                    .see("the other", other);
            }
        }
        for (key, name, at) in job.layer.alerts() {
            if name == own {
                let what = format!("the job `{own}` cannot be its own alert");
                mistakes.add(at, what).hint(format!("name another job, or leave `{key}` out"));
            }
        }
    }
    for layer in jobs.iter().map(|job| &job.layer).chain([defaults]) {
        for (_, name, at) in layer.alerts() {
            check_is_declared(name, at, names, mistakes);
        }
    }
}

fn check_is_declared(name: &str, at: &Span, names: &HashSet<&str>, mistakes: &mut Mistakes) {
    if names.contains(name) {
        return;
    }
    let is_shown = !mistakes.is_full();
    let mistake = mistakes.add(at, format!("there is no job `{name}` in this file"));
    if is_shown && let Some(near) = nearest(name, names.iter().copied()) {
        mistake.hint(format!("did you mean \"{near}\"?"));
    }
}

/// The most jobs of a chain that run one after the other.
const MAX_DEPTH: usize = 1_000;

/// Records jobs that depend on themselves, directly or through others, and chains that are too deep.
pub(super) fn check_chains(jobs: &[Job], mistakes: &mut Mistakes) {
    let name = |(index, job): (usize, &'_ Job)| (job.name.clone(), index);
    let index: HashMap<String, usize> = jobs.iter().enumerate().map(name).collect();
    let dependencies = |job: usize| jobs[job].after.iter().chain(&jobs[job].after_any);
    let mut depths = vec![Depth::Unknown; jobs.len()];
    let earlier = mistakes.count();
    for start in 0..jobs.len() {
        // The jobs from the start of the search to the present one, each with the dependencies that are left to look at.
        // Each depends on the next. This is no recursion, because a bad file may have chains of any length.
        let mut path = Vec::new();
        if depths[start] == Depth::Unknown {
            depths[start] = Depth::OnPath;
            path.push((start, dependencies(start), 0));
        }
        while let Some((job, left, deepest)) = path.last_mut() {
            let Some((name, at)) = left.next() else {
                let (job, depth) = (*job, *deepest + 1);
                depths[job] = Depth::Known(depth);
                // Those behind it are too deep for the same reason. One mistake is enough; a circle has no depth.
                if depth == MAX_DEPTH + 1
                    && mistakes.count() == earlier
                    && let Some((_, at)) = dependencies(job).next()
                {
                    let what =
                        format!("this chain is {depth} jobs deep; a chain is at most {MAX_DEPTH} deep");
                    mistakes.add(at, what).hint("let one job run several commands");
                }
                path.pop();
                if let Some((_, _, deepest)) = path.last_mut() {
                    *deepest = depth.max(*deepest);
                }
                continue;
            };
            let Some(next) = index.get(name.as_str()).copied() else { continue };
            match depths[next] {
                Depth::Known(depth) => *deepest = depth.max(*deepest),
                Depth::Unknown => {
                    depths[next] = Depth::OnPath;
                    path.push((next, dependencies(next), 0));
                }
                Depth::OnPath => {
                    let on_path = path.iter().map(|(job, ..)| *job);
                    let circle: Vec<usize> = on_path.skip_while(|job| *job != next).chain([next]).collect();
                    mistakes.add(at, format!("a job would wait for itself: {}", named(jobs, &circle)));
                }
            }
        }
    }
}

/// How many jobs run one after the other up to a job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Unknown,
    OnPath,
    Known(usize),
}

/// The most jobs of a circle that are named.
const MAX_NAMED: usize = 20;

fn named(jobs: &[Job], circle: &[usize]) -> String {
    let name = |job: &usize| format!("`{}`", jobs[*job].name);
    let (shown, left) = circle.split_at(circle.len().min(MAX_NAMED));
    let mut names: Vec<_> = shown.iter().map(name).collect();
    names.extend(left.last().map(|_| format!("... {} more ...", left.len() - 1)));
    names.extend(left.last().map(name));
    names.join(" is after ")
}
