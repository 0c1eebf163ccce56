//! Mistakes that show only when the levels are seen together: successes with an error code, and codes in
//! `auto_retry_for` and `never_retry_for` that their job can never end with.

use std::collections::BTreeSet;

use super::codes::{Codes, signal_like};
use super::diagnostics::{Mistakes, Span};
use super::job::Job;
use super::shared_keys::Level;
use super::suggest::nearest;
use crate::model::{CodePattern, ErrorCode, ExitRules, LISTABLE_RESERVED, Status, signal};

/// Records every mistake between the levels; `file` holds the codes of the whole file.
pub(super) fn check(jobs: &[Job], defaults: &Level, file: &Codes, mistakes: &mut Mistakes) {
    defaults.retry.check(mistakes);
    for job in jobs {
        job.level.retry.check(mistakes);
        job.level.retry.check_against(&defaults.retry, mistakes);
    }
    check_successes(jobs, defaults, file, mistakes);
    check_code_lists(jobs, defaults, file, mistakes);
}

/// Records exit statuses that have an error code and are a success at the same level.
fn check_successes(jobs: &[Job], defaults: &Level, file: &Codes, mistakes: &mut Mistakes) {
    let built_in = ExitRules::default().success;
    for job in jobs {
        // The successes in [defaults] are another level: a job may map them without a contradiction.
        let same_level = match (&job.level.success, &defaults.success) {
            (Some(own), _) => own,
            (None, Some(_)) => continue,
            (None, None) => &built_in,
        };
        job.codes.check_successes(|status| same_level.contains(&status), mistakes);
    }
    let for_all = defaults.success.as_ref().unwrap_or(&built_in);
    let everywhere = |status: u8| {
        let mut own = jobs.iter().filter_map(|job| job.level.success.as_ref());
        for_all.contains(&status) && own.all(|list| list.contains(&status))
    };
    file.check_successes(everywhere, mistakes);
}

/// Records each listed code that cannot occur. One in `[defaults]` is recorded once, not once a job.
fn check_code_lists(jobs: &[Job], defaults: &Level, file: &Codes, mistakes: &mut Mistakes) {
    let certain: Vec<(&Job, PossibleCodes)> = jobs
        .iter()
        .filter(|job| job.level.retry.has_code_lists() || defaults.retry.has_code_lists())
        .filter(|job| !job.codes.incomplete && !file.incomplete)
        .map(|job| (job, PossibleCodes::of(job, file)))
        .collect();
    for (job, possible) in &certain {
        for (pattern, at) in job.level.retry.code_lists().into_iter().flatten().flatten() {
            if !possible.include(pattern) {
                possible.refuse(pattern, at, &format!("in the job `{}`", job.level.spec.name), mistakes);
            }
        }
    }
    for (index, list) in defaults.retry.code_lists().into_iter().enumerate() {
        let inherits = |job: &Job| job.level.retry.code_lists()[index].is_none();
        for (pattern, at) in list.into_iter().flatten() {
            let mut misfits =
                certain.iter().filter(|(job, possible)| inherits(job) && !possible.include(pattern));
            let Some((first, possible)) = misfits.next() else {
                continue;
            };
            let others = match misfits.count() {
                0 => String::new(),
                1 => ", nor in 1 other".to_owned(),
                others => format!(", nor in {others} others"),
            };
            let place = format!("in the job `{}`{others}", first.level.spec.name);
            possible.refuse(pattern, at, &place, mistakes);
        }
    }
}

/// The error codes that one job can end with.
struct PossibleCodes {
    rules: ExitRules,
    codes: BTreeSet<ErrorCode>,
}

impl PossibleCodes {
    fn of(job: &Job, file: &Codes) -> Self {
        let rules = job.exit_rules(file);
        let exits = (0..=255).filter(|exit| !rules.is_success(*exit)).map(Status::Exited);
        let signals = (1..=signal::MAX).map(Status::Signaled);
        let mut codes: BTreeSet<ErrorCode> =
            exits.chain(signals).map(|status| rules.code_of(status)).collect();
        codes.extend(LISTABLE_RESERVED.map(ErrorCode::built_in));
        codes.extend(job.codes.others.iter().chain(&file.others).cloned());
        Self { rules, codes }
    }

    fn include(&self, pattern: &CodePattern) -> bool {
        self.codes.iter().any(|code| pattern.matches(code))
    }

    fn refuse(&self, pattern: &CodePattern, at: &Span, place: &str, mistakes: &mut Mistakes) {
        let mistake = mistakes.add(at, format!("`{pattern}` cannot occur {place}"));
        let text = pattern.to_string();
        let meant = meant(pattern);
        if self.include(&meant) {
            mistake.hint(format!("did you mean \"{meant}\"?"));
            return;
        }
        if let Some(why) = self.why_not(&meant) {
            mistake.hint(why);
            return;
        }
        let own = self.codes.iter().filter(|code| !code.is_built_in()).map(ErrorCode::as_str);
        match nearest(&text, own.clone()) {
            Some(near) => mistake.hint(format!("did you mean \"{near}\"?")),
            None => mistake.hint("map an exit status to it in `exit_codes`, or declare it in `reports`"),
        };
        let own = own.collect::<Vec<_>>().join(", ");
        mistake.allowed(format!("{own}, and unmapped endings: EXIT_n, SIGNAL_NAME, EXIT_*, SIGNAL_*, *"));
    }

    /// Why a built-in code or a family does not occur; none for other codes.
    fn why_not(&self, pattern: &CodePattern) -> Option<String> {
        let status = match pattern {
            CodePattern::Any => return None,
            CodePattern::AnyExit | CodePattern::AnySignal => {
                return Some(match &self.rules.default {
                    Some(default) => format!("`default_error_code` names every unmapped ending {default}"),
                    None => "`exit_codes` maps all of them".to_owned(),
                });
            }
            CodePattern::Code(code) => match (code.as_exit(), code.as_signal()) {
                (Some(256..), _) => return Some("255 is the largest exit status".to_owned()),
                (Some(exit), _) => Status::Exited(i32::try_from(exit).ok()?),
                (_, Some(signal)) if !(1..=signal::MAX).contains(&signal) => {
                    return Some(format!("signals are numbered from 1 to {}", signal::MAX));
                }
                (_, Some(signal)) => Status::Signaled(signal),
                (None, None) => return None,
            },
        };
        match status {
            Status::Exited(exit) if self.rules.is_success(exit) => {
                Some(format!("exit status {exit} is a success of this job"))
            }
            _ => Some(format!("this job calls that ending {}", self.rules.code_of(status))),
        }
    }
}

/// The built-in code that `EXIT_01`, `SIGKILL`, `SIGNAL_9` or `SIGNAL_KIL` means; other codes stay as they are.
fn meant(pattern: &CodePattern) -> CodePattern {
    let CodePattern::Code(code) = pattern else {
        return pattern.clone();
    };
    if code.is_built_in() {
        return pattern.clone();
    }
    let exit = code.as_str().strip_prefix("EXIT_").and_then(|digits| digits.parse().ok());
    let meant = exit.map(ErrorCode::exit).or_else(|| signal_like(code.as_str()).map(ErrorCode::signal));
    CodePattern::Code(meant.unwrap_or_else(|| code.clone()))
}
