//! Turns the filters of a list (`--state`, `--name`, `--since` …) into SQL conditions.

use rusqlite::types::Value;

use crate::model::{DeadReason, JobState, Outcome, Phase};
use crate::store::file::error::Result;
use crate::store::file::open::Store;
use crate::store::file::row::{all, one, value};
use crate::store::write::conditions::{
    expired_at, has_expired, is_blocked, is_due_later, is_pending, is_ready,
};
use crate::store::write::same_work::later_success;
use crate::text::Timestamp;

/// The word for a success with a warning.
const WARNED: &str = "warned";

/// A state or a phase to look for, or a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFilter {
    State(JobState),
    Phase(Phase),
    /// Succeeded with a warning, resolved or not.
    Warned,
}

impl StateFilter {
    /// Reads the word for a state or a phase.
    pub fn parse(word: &str) -> Option<Self> {
        let state = JobState::parse(word).map(Self::State);
        let warned = (word == WARNED).then_some(Self::Warned);
        state.or_else(|| Phase::parse(word).map(Self::Phase)).or(warned)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::State(state) => state.as_str(),
            Self::Phase(phase) => phase.as_str(),
            Self::Warned => WARNED,
        }
    }

    /// The words that [`StateFilter::parse`] takes.
    pub fn words() -> impl Iterator<Item = &'static str> {
        let states = JobState::ALL.iter().map(|state| state.as_str());
        states.chain(Phase::ALL.iter().map(|phase| phase.as_str())).chain([WARNED])
    }

    /// The condition on `jobs AS j`; `?1` is now. A pending job whose expiry has passed counts as dead, even if nobody has
    /// recorded that yet.
    pub(in crate::store) fn sql(self) -> String {
        let pending = is_pending("j", "?1");
        match self {
            Self::State(JobState::Pending) => pending,
            Self::State(JobState::Dead) => {
                format!("(j.state = 'dead' OR {})", has_expired("j", "?1"))
            }
            Self::State(state) => format!("j.state = '{state}'"),
            Self::Warned => "j.warning IS NOT NULL".to_owned(),
            Self::Phase(Phase::Blocked) => format!("{pending} AND {}", is_blocked("j")),
            Self::Phase(Phase::Ready) => is_ready("j", "?1"),
            Self::Phase(Phase::Scheduled) => {
                format!("{} AND j.attempts = 0", is_due_later("j", "?1"))
            }
            Self::Phase(Phase::Retrying) => {
                format!("{} AND j.attempts > 0", is_due_later("j", "?1"))
            }
        }
    }
}

/// Which jobs or attempts to list or count. A field that is empty or none selects all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// States of jobs; a list of attempts ignores them.
    pub states: Vec<StateFilter>,
    /// Outcomes of attempts; a list of jobs ignores them.
    pub outcomes: Vec<Outcome>,
    pub name: Option<String>,
    pub queue: Option<String>,
    /// The label; an empty one selects jobs without a label.
    pub label: Option<String>,
    /// The code that an attempt ended with, or that a job is dead with.
    pub error_code: Option<String>,
    /// Why a job is dead; a list of attempts ignores it.
    pub dead_reason: Option<DeadReason>,
    /// The attempt ended, or the job last changed its state, at or after this time.
    pub since: Option<Timestamp>,
    /// The attempt ended, or the job last changed its state, before this time.
    pub until: Option<Timestamp>,
    /// Selects only dead jobs, whatever `states` says, and lists them by the time of their death instead of by id.
    pub dead_by_time: bool,
    /// True: only resolved jobs; false: only others.
    pub resolved: Option<bool>,
    /// Only dead jobs of which a later run of the same task succeeded.
    pub recovered: bool,
    /// Only successes with a warning that nobody resolved.
    pub with_open_warning: bool,
}

/// A column whose values in use are completed and suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterColumn {
    Name,
    Queue,
    ErrorCode,
}

impl Store {
    /// Whether a later run of the same task as this dead job succeeded.
    pub fn has_recovered(&self, id: i64) -> Result<bool> {
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = ?1 AND j.state = 'dead' AND {} IS NOT NULL)",
            later_success("j.changed_at")
        );
        self.read(|tx| one(tx, &sql, [id], value))
    }

    /// Whether any job has this label.
    pub fn knows_label(&self, label: &str) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_by_label WHERE label = ?1)";
        self.read(|tx| one(tx, sql, [label], value))
    }

    /// The values in use, each once. This reads all jobs, so it is only for completions and suggestions, not for workers.
    pub fn distinct_values(&self, column: FilterColumn) -> Result<Vec<String>> {
        let sql = match column {
            FilterColumn::Name => "SELECT DISTINCT name FROM jobs",
            FilterColumn::Queue => "SELECT queue FROM jobs UNION SELECT name FROM queues",
            FilterColumn::ErrorCode => {
                "SELECT error_code FROM jobs WHERE state = 'dead'
                 UNION SELECT error_code FROM attempts WHERE error_code IS NOT NULL"
            }
        };
        self.read(|tx| all(tx, sql, [], value))
    }
}

/// The successes with a warning that nobody dealt with, as the condition of the index `jobs_warned`.
pub const OPEN_WARNING: &str = "j.warning IS NOT NULL AND j.warning_resolved_at IS NULL";

impl Filter {
    /// Whether an index leads to the jobs: the one of their label.
    pub(in crate::store) fn has_label(&self) -> bool {
        self.label.as_ref().is_some_and(|label| !label.is_empty())
    }

    /// Whether it selects jobs with this label.
    pub(in crate::store) fn wants_label(&self, label: Option<&str>) -> bool {
        self.label.as_ref().is_none_or(|wanted| wanted == label.unwrap_or_default())
    }

    /// The conditions on name, label and queue of `jobs AS j`; `?1` is now.
    pub(in crate::store) fn narrowed(&self, now: Timestamp) -> Conditions {
        let mut wanted = Conditions::new(now.0.into());
        wanted.and_text("j.name", self.name.as_ref());
        wanted.and_text("j.queue", self.queue.as_ref());
        wanted.and_label("j.label", self.label.as_ref());
        wanted
    }

    /// The period as two bounds: from the first inclusive to the second exclusive.
    pub(in crate::store) fn period(&self) -> (i64, i64) {
        (self.since.map_or(i64::MIN, |at| at.0), self.until.map_or(i64::MAX, |at| at.0))
    }

    /// The conditions of a list of jobs, on `jobs AS j`; `?1` is now.
    pub(in crate::store) fn conditions(&self, now: Timestamp) -> Conditions {
        let mut wanted = self.narrowed(now);
        let dead = [StateFilter::State(JobState::Dead)];
        let states = if self.dead_by_time { &dead } else { self.states.as_slice() };
        if !states.is_empty() {
            let state = |state: &StateFilter| format!("({})", state.sql());
            let any: Vec<_> = states.iter().map(state).collect();
            wanted.and_sql(&format!("({})", any.join(" OR ")));
        }
        let has_expired = &has_expired("j", "?1");
        if let Some(code) = &self.error_code {
            wanted.and(
                &format!("(j.state = 'dead' AND j.error_code = {{}} OR {has_expired} AND {{}} = 'EXPIRED')"),
                code.clone(),
            );
        }
        if let Some(reason) = self.dead_reason {
            let reason = reason.as_str().to_owned();
            wanted.and(
                &format!("(j.state = 'dead' AND j.dead_reason = {{}} OR {has_expired} AND {{}} = 'expired')"),
                reason,
            );
        }
        if let Some(resolved) = self.resolved {
            wanted.and_sql(if resolved { "j.resolved_at IS NOT NULL" } else { "j.resolved_at IS NULL" });
        }
        if self.with_open_warning {
            wanted.and_sql(OPEN_WARNING);
        }
        if self.recovered {
            wanted.and_sql(&format!("{} IS NOT NULL", later_success("j.changed_at")));
        }
        let changed_at = format!("iif({has_expired}, {}, j.changed_at)", expired_at("j"));
        wanted.and_period(&changed_at, self);
        wanted
    }
}

/// The conditions of a `WHERE`, joined by AND, and the values of their parameters.
pub struct Conditions {
    pub sql: String,
    pub values: Vec<Value>,
}

impl Conditions {
    /// Begins with a condition that is always true, so that `?1` exists even if no other condition uses it.
    pub(in crate::store) fn new(first: Value) -> Self {
        Self { sql: "?1 IS NOT NULL".to_owned(), values: vec![first] }
    }

    /// Adds a condition on this value, for which each `{}` stands.
    pub(in crate::store) fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let place = format!("?{}", self.values.len());
        self.and_sql(&condition.replace("{}", &place));
    }

    /// As [`Conditions::and`], for one place of each value.
    pub(in crate::store) fn and_pair(&mut self, condition: &str, first: String, second: String) {
        let place = self.values.len();
        self.values.extend([first.into(), second.into()]);
        let condition = condition.replacen("{}", &format!("?{}", place + 1), 1);
        self.and_sql(&condition.replacen("{}", &format!("?{}", place + 2), 1));
    }

    pub(in crate::store) fn and_sql(&mut self, condition: &str) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
    }

    pub(in crate::store) fn and_period(&mut self, time: &str, filter: &Filter) {
        for (comparison, bound) in [(">=", filter.since), ("<", filter.until)] {
            if let Some(bound) = bound {
                self.and(&format!("{time} {comparison} {{}}"), bound.0);
            }
        }
    }

    /// Selects rows with this label; an empty one selects those without a label.
    pub(in crate::store) fn and_label(&mut self, column: &str, label: Option<&String>) {
        match label {
            Some(label) if label.is_empty() => self.and_sql(&format!("{column} IS NULL")),
            label => self.and_text(column, label),
        }
    }

    pub(in crate::store) fn and_text(&mut self, column: &str, value: Option<&String>) {
        if let Some(text) = value {
            self.and(&format!("{column} = {{}}"), text.clone());
        }
    }
}
