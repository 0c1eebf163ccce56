//! Mistakes that show only when the levels are seen together: successes with an error code, and codes in
//! `auto_retry_for` and `never_retry_for` that their job can never end with.

use std::collections::BTreeSet;

use super::codes::Codes;
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
                possible.refuse(pattern, at, job, mistakes);
            }
        }
    }
    for (index, list) in defaults.retry.code_lists().into_iter().enumerate() {
        let inherits = |job: &Job| job.level.retry.code_lists()[index].is_none();
        for (pattern, at) in list.into_iter().flatten() {
            let misfit = certain.iter().find(|(job, possible)| inherits(job) && !possible.include(pattern));
            if let Some((job, possible)) = misfit {
                possible.refuse(pattern, at, job, mistakes);
            }
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

    fn refuse(&self, pattern: &CodePattern, at: &Span, job: &Job, mistakes: &mut Mistakes) {
        let mistake =
            mistakes.add(at, format!("`{pattern}` cannot occur in the job `{}`", job.level.spec.name));
        let text = pattern.to_string();
        if let Some(name) = self.name_of(pattern) {
            mistake.hint(format!("this job calls that ending {name}"));
        } else if text.starts_with("EXIT_") || text.starts_with("SIGNAL_") {
            mistake.hint("unmapped endings are EXIT_1 to EXIT_255 and SIGNAL_HUP to SIGNAL_SYS");
        } else if let Some(near) = nearest(&text, self.codes.iter().map(ErrorCode::as_str)) {
            mistake.hint(format!("did you mean \"{near}\"?"));
        } else {
            mistake.hint("map an exit status to it in `exit_codes`, or declare it in `reports`");
        }
        let named = self.codes.iter().filter(|code| !code.is_built_in()).map(ErrorCode::as_str);
        let named = named.collect::<Vec<_>>().join(", ");
        mistake.allowed(format!("{named}, and unmapped endings: EXIT_n, SIGNAL_NAME, EXIT_*, SIGNAL_*, *"));
    }

    /// The code that an ending has here, in place of the built-in one.
    fn name_of(&self, pattern: &CodePattern) -> Option<ErrorCode> {
        let CodePattern::Code(code) = pattern else { return self.rules.default.clone() };
        let exit = code.as_exit().and_then(|exit| i32::try_from(exit).ok()).map(Status::Exited);
        let status = exit.or_else(|| code.as_signal().map(Status::Signaled))?;
        Some(self.rules.code_of(status)).filter(|name| name != code)
    }
}
