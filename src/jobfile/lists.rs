//! Codes listed in `auto_retry_for` and `never_retry_for` that their job can never end with.

use std::collections::BTreeSet;

use super::exits::Exits;
use super::job::Job;
use super::level::Level;
use super::mistake::{Found, Span};
use super::near::{nearest, slip};
use crate::model::{CodePattern, ErrorCode, ExitRules, LISTABLE_RESERVED, Status, signal};

/// The largest signal number there is on Linux.
const MOST_SIGNAL: i32 = 64;

/// What one job can end with.
struct Endings {
    rules: ExitRules,
    codes: BTreeSet<ErrorCode>,
}

/// Records each listed code that cannot occur. One in `[defaults]` is recorded once, not once a job.
pub(super) fn check(jobs: &[Job<'_>], defaults: &Level<'_>, file: &Exits, found: &mut Found) {
    let certain: Vec<(&Job<'_>, Endings)> = jobs
        .iter()
        .filter(|job| job.level.retries.has_lists() || defaults.retries.has_lists())
        .filter(|job| !job.exits.in_doubt && !file.in_doubt)
        .filter(|job| !job.level.success_in_doubt && !defaults.success_in_doubt)
        .map(|job| (job, Endings::of(job, defaults, file)))
        .collect();
    for (job, endings) in &certain {
        for (pattern, at) in job.level.retries.lists().into_iter().flatten().flatten() {
            if !endings.include(pattern) {
                endings.refuse(pattern, at, &format!("in the job `{}`", job.name), found);
            }
        }
    }
    for (index, list) in defaults.retries.lists().into_iter().enumerate() {
        let inherits = |job: &Job<'_>| job.level.retries.lists()[index].is_none();
        for (pattern, at) in list.into_iter().flatten() {
            let mut misfits =
                certain.iter().filter(|(job, endings)| inherits(job) && !endings.include(pattern));
            let Some((first, endings)) = misfits.next() else {
                continue;
            };
            let others = match misfits.count() {
                0 => String::new(),
                1 => ", nor in 1 other".to_owned(),
                others => format!(", nor in {others} others"),
            };
            let place = format!("in the job `{}`{others}", first.name);
            endings.refuse(pattern, at, &place, found);
        }
    }
}

impl Endings {
    fn of(job: &Job<'_>, defaults: &Level<'_>, file: &Exits) -> Self {
        let rules = job.exit_rules(defaults, file);
        let exits = (0..=255).filter(|exit| !rules.is_success(*exit)).map(Status::Exited);
        let signals = (1..=MOST_SIGNAL).map(Status::Signaled);
        let mut codes: BTreeSet<ErrorCode> =
            exits.chain(signals).map(|status| rules.code_of(status)).collect();
        codes.extend(LISTABLE_RESERVED.map(ErrorCode::built_in));
        codes.extend(job.reports.iter().cloned());
        codes.extend(job.exits.meant.iter().chain(&file.meant).cloned());
        Self { rules, codes }
    }

    fn include(&self, pattern: &CodePattern) -> bool {
        self.codes.iter().any(|code| pattern.matches(code))
    }

    fn refuse(&self, pattern: &CodePattern, at: &Span, place: &str, found: &mut Found) {
        let mistake = found.add(at, format!("`{pattern}` cannot occur {place}"));
        let meant = meant(pattern);
        let pattern = pattern.to_string();
        if self.include(&meant) {
            mistake.hint(format!("write \"{meant}\""));
            return;
        }
        if let Some(why) = self.why_not(&meant) {
            mistake.hint(why);
            return;
        }
        let (built_in, own): (Vec<_>, Vec<_>) = self.codes.iter().partition(|code| code.is_built_in());
        let slip = slip(&pattern, built_in.into_iter().map(ErrorCode::as_str));
        match slip.or_else(|| nearest(&pattern, own.iter().copied().map(ErrorCode::as_str))) {
            Some(near) => mistake.hint(format!("did you mean \"{near}\"?")),
            None => mistake.hint("map an exit status to it in `exit_codes`, or declare it in `reports`"),
        };
        let own: Vec<&str> = own.into_iter().map(ErrorCode::as_str).collect();
        mistake.allowed(format!(
            "{}, and what nothing maps: EXIT_n, SIGNAL_NAME, EXIT_*, SIGNAL_*, *",
            own.join(", ")
        ));
    }

    /// Why a code or family of runner's own making does not occur.
    fn why_not(&self, pattern: &CodePattern) -> Option<String> {
        let status = match pattern {
            CodePattern::Code(code) => match (code.as_exit(), code.as_signal()) {
                (Some(exit), _) if exit > 255 => {
                    return Some("255 is the largest exit status".to_owned());
                }
                (Some(exit), _) => Status::Exited(i32::try_from(exit).ok()?),
                (_, Some(signal)) if !(1..=MOST_SIGNAL).contains(&signal) => {
                    return Some(format!("signals are numbered from 1 to {MOST_SIGNAL}"));
                }
                (_, Some(signal)) => Status::Signaled(signal),
                (None, None) => return None,
            },
            CodePattern::AnyExit | CodePattern::AnySignal => {
                return Some(match &self.rules.default {
                    Some(default) => {
                        format!("under `default_error_code` what nothing maps is {default}")
                    }
                    None => "`exit_codes` map all of them".to_owned(),
                });
            }
            CodePattern::Any => return None,
        };
        if let Status::Exited(exit) = status
            && self.rules.is_success(exit)
        {
            return Some(format!("exit status {exit} is a success of this job"));
        }
        Some(format!("here that ending is called {}", self.rules.code_of(status)))
    }
}

/// `EXIT_1` for `EXIT_01`, `SIGNAL_KILL` for `SIGKILL`, `SIGNAL_SIGKILL` and `SIGNAL_9`: a code as runner forms it. What is
/// none of runner's own stays as it is.
fn meant(pattern: &CodePattern) -> CodePattern {
    let text = pattern.to_string();
    let exit = text.strip_prefix("EXIT_").and_then(|digits| digits.parse().ok()).map(ErrorCode::exit);
    let short = text.strip_prefix("SIGNAL_").unwrap_or(&text);
    let number = signal::number(short).filter(|_| short.starts_with("SIG") || short.len() < text.len());
    let of_number = || short.parse().ok().filter(|_| short.len() < text.len());
    let signal = || number.or_else(of_number).map(ErrorCode::signal);
    exit.or_else(signal).map_or_else(|| pattern.clone(), CodePattern::Code)
}
