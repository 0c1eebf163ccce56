//! What the policy of a job makes of the exit statuses that the table knows, and what it gets wrong.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

use super::table::StatusKind;
use super::whose::{self, Reading};
use crate::model::{
    AttemptEnd, Circumstances, CodePattern, DeadReason, Decision, ErrorCode, JobDefinition, Status, Verdict,
    classify, decide,
};
use crate::text::Timestamp;

/// What would follow if an attempt ended so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Succeeded,
    Warned,
    Retried,
    Dead,
}

impl Then {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Warned => "succeeded with a warning",
            Self::Retried => "retried, then dead",
            Self::Dead => "dead",
        }
    }
}

impl Serialize for Then {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// An exit status that a job may have, what it means, and what the policy makes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownStatus {
    pub status: i32,
    /// With the name of the tool, where several may give the statuses of the job.
    pub meaning: String,
    pub kind: StatusKind,
    pub then: Then,
}

/// The exit statuses of a job that the table knows, in order; none if it is not sure whose they are.
pub fn known_statuses(definition: &JobDefinition) -> Vec<KnownStatus> {
    let readings = whose::expected(definition);
    let tools: BTreeSet<&str> = readings.iter().map(|reading| reading.whose).collect();
    let known = |status: i32| {
        let of_status = whose::of_status(&readings, status);
        let kind = sure_kind(&of_status).unwrap_or(StatusKind::Either);
        let words = of_status.iter().map(|Reading { whose, meaning, .. }| match tools.len() {
            1 => (*meaning).to_owned(),
            _ => format!("{whose}: {meaning}"),
        });
        let mut meaning = words.collect::<Vec<_>>().join(", or ");
        if let [Reading { is_shared: true, .. }] = of_status.as_slice() {
            meaning += ", or the command's own status";
        }
        KnownStatus { status, meaning, kind, then: Foreseen::of_status(definition, status).then() }
    };
    let statuses: BTreeSet<i32> = readings.iter().map(|reading| reading.exit).collect();
    statuses.into_iter().map(known).collect()
}

/// The kind of a status that only one program can have given.
fn sure_kind(readings: &[Reading]) -> Option<StatusKind> {
    let [Reading { kind, is_shared: false, .. }] = readings else { return None };
    Some(*kind)
}

/// The decision that would follow an end of an attempt.
#[derive(Debug)]
pub struct Foreseen {
    pub verdict: Verdict,
    /// A retry has the nominal delay as its own.
    pub decision: Decision,
}

impl Foreseen {
    /// The attempt, counted from 1, ends at its due time, so that only the delay counts against the expiry.
    pub fn of(definition: &JobDefinition, end: &AttemptEnd, attempt: u32) -> Self {
        let verdict = classify(&definition.exit, end);
        let circumstances = Circumstances {
            attempt_in_budget: attempt,
            cancel_requested: false,
            expires_at: definition.expires_in.map(|span| Timestamp(0).plus(span)),
            jitter_sample: 0.5,
        };
        let decision = decide(&definition.policy, end, &verdict, circumstances);
        Self { verdict, decision }
    }

    fn of_status(definition: &JobDefinition, status: i32) -> Self {
        Self::of(definition, &AttemptEnd::by_itself(Status::Exited(status), Timestamp(0)), 1)
    }

    const fn then(&self) -> Then {
        match self.decision {
            Decision::Succeeded if self.verdict.warning.is_some() => Then::Warned,
            Decision::Succeeded => Then::Succeeded,
            Decision::Retry { .. } => Then::Retried,
            Decision::Dead(_) | Decision::Cancelled => Then::Dead,
        }
    }
}

/// What the policy of a job gets wrong by the table, a sentence for each kind of mistake.
pub fn notes(definition: &JobDefinition) -> Vec<String> {
    let readings = whose::expected(definition);
    let statuses: BTreeSet<i32> = readings.iter().map(|reading| reading.exit).collect();
    let (mut failing, mut given_up, mut retried) = (Vec::new(), Vec::new(), Vec::new());
    for status in statuses {
        let of_status = whose::of_status(&readings, status);
        let ([reading], Some(kind)) = (of_status.as_slice(), sure_kind(&of_status)) else { continue };
        let Foreseen { verdict, decision } = Foreseen::of_status(definition, status);
        let Some(code) = &verdict.code else { continue };
        match (kind, decision) {
            (StatusKind::Warning, _) => failing.push(*reading),
            // Without a budget for it nobody has thought of retries.
            (StatusKind::TryAgain, Decision::Dead(DeadReason::CodeNotListed | DeadReason::NeverRetry))
                if is_written(definition, status, code) =>
            {
                given_up.push(*reading);
            }
            (StatusKind::NoUse, Decision::Retry { .. }) if is_written(definition, status, code) => {
                retried.push(*reading);
            }
            _ => {}
        }
    }
    let (name, mut notes) = (&definition.name, Vec::new());
    if !failing.is_empty() {
        let statuses = failing.iter().map(|reading| reading.exit);
        let all: BTreeSet<i32> =
            definition.exit.warning.iter().map(|it| i32::from(*it)).chain(statuses).collect();
        let all = all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let (fails, it) = if failing.len() == 1 { ("fails", "it") } else { ("fail", "them") };
        notes.push(format!(
            "{name}: {}, with which its work is done, {fails} the job; warning_exit_codes = [{all}] makes {it} a success that \
             people are told of",
            listed(&failing)
        ));
    }
    if !given_up.is_empty() {
        let (itself, is) = if given_up.len() == 1 { ("itself", "is") } else { ("themselves", "are") };
        notes.push(format!("{name}: {} may pass by {itself}, but {is} never retried", listed(&given_up)));
    }
    if !retried.is_empty() {
        let (needs, is) = if retried.len() == 1 { ("needs", "is") } else { ("need", "are") };
        notes.push(format!("{name}: {} {needs} a person, but {is} retried", listed(&retried)));
    }
    notes
}

/// Whether the job file says something of this status, which has this code: in the exit codes of the job, or in a list of codes.
fn is_written(definition: &JobDefinition, status: i32, code: &ErrorCode) -> bool {
    let policy = &definition.policy;
    let mut listed = policy.auto_retry_for.iter().flatten().chain(&policy.never_retry_for);
    let names_it = |pattern: &CodePattern| matches!(pattern, CodePattern::Code(listed) if listed == code);
    definition.exit.job.for_exit(status).is_some() || listed.any(names_it)
}

/// `exit 2 of curl (…) and exit 3 of curl (…)`, as part of a sentence; of more than these the meaning is left out.
fn listed(readings: &[Reading]) -> String {
    const MAX_MEANINGS: usize = 2;
    let each = readings.iter().map(|Reading { exit, whose, meaning, .. }| match readings.len() {
        0..=MAX_MEANINGS => format!("exit {exit} of {whose} ({meaning})"),
        _ => format!("exit {exit} of {whose}"),
    });
    let each: Vec<String> = each.collect();
    match each.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        each => each.concat(),
    }
}
