//! What to list: the filters, and the conditions they stand for.

use rusqlite::types::Value;

use crate::model::{JobState, Outcome, Phase};
use crate::text::Timestamp;

/// A state or a kind of waiting to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFilter {
    /// A state.
    State(JobState),
    /// A kind of waiting.
    Phase(Phase),
}

impl StateFilter {
    /// Reads the word for a state or a kind of waiting.
    pub fn parse(word: &str) -> Option<Self> {
        JobState::parse(word).map(Self::State).or_else(|| Phase::parse(word).map(Self::Phase))
    }

    /// The words that [`StateFilter::parse`] takes.
    pub fn words() -> impl Iterator<Item = &'static str> {
        JobState::ALL.iter().map(|s| s.as_str()).chain(Phase::ALL.iter().map(|p| p.as_str()))
    }

    /// The condition on `jobs AS j`; `?1` is now.
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::State(JobState::Pending) => "j.state = 'pending' AND coalesce(j.expires_at > ?1, 1)",
            Self::State(JobState::Running) => "j.state = 'running'",
            Self::State(JobState::Succeeded) => "j.state = 'succeeded'",
            Self::State(JobState::Dead) => "(j.state = 'dead' OR j.state = 'pending' AND j.expires_at <= ?1)",
            Self::State(JobState::Cancelled) => "j.state = 'cancelled'",
            Self::Phase(Phase::Ready) => {
                "j.state = 'pending' AND coalesce(j.expires_at > ?1, 1) AND j.run_at <= ?1"
            }
            Self::Phase(Phase::Scheduled) => {
                "j.state = 'pending' AND coalesce(j.expires_at > ?1, 1) AND j.run_at > ?1 AND j.attempts = 0"
            }
            Self::Phase(Phase::Retrying) => {
                "j.state = 'pending' AND coalesce(j.expires_at > ?1, 1) AND j.run_at > ?1 AND j.attempts > 0"
            }
        }
    }
}

/// Which jobs to list. What is none does not narrow the list.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// In any of these states; empty: in every state.
    pub states: Vec<StateFilter>,
    /// Of this name.
    pub name: Option<String>,
    /// In this queue.
    pub queue: Option<String>,
    /// Dead with this code.
    pub error_code: Option<String>,
    /// Changed their state at or after this time.
    pub since: Option<Timestamp>,
    /// Listed by when they ended, where only final states are asked for; else by id.
    pub by_end: bool,
}

/// Which attempts to list. What is none does not narrow the list.
#[derive(Clone, Debug, Default)]
pub struct AttemptFilter {
    /// With one of these outcomes; empty: with every outcome.
    pub outcomes: Vec<Outcome>,
    /// Of jobs of this name.
    pub name: Option<String>,
    /// Of jobs in this queue.
    pub queue: Option<String>,
    /// With this code.
    pub error_code: Option<String>,
    /// Ended at or after this time.
    pub since: Option<Timestamp>,
}

impl JobFilter {
    /// Everything that is asked for, as conditions on `jobs AS j`; `?1` is now.
    pub(super) fn conditions(&self, now: Timestamp) -> Conditions {
        let mut wanted = Conditions::new(now.0.into());
        if !self.states.is_empty() {
            let state = |state: &StateFilter| format!("({})", state.sql());
            let any: Vec<_> = self.states.iter().map(state).collect();
            wanted.and_sql(&format!("({})", any.join(" OR ")));
        }
        wanted.and_text("j.name", self.name.as_ref());
        wanted.and_text("j.queue", self.queue.as_ref());
        if let Some(code) = &self.error_code {
            wanted.and("(j.state = 'dead' AND j.error_code = {0} OR j.state = 'pending' AND j.expires_at <= ?1 AND {0} = 'EXPIRED')", code.clone());
        }
        if let Some(since) = self.since {
            wanted.and("iif(j.state = 'pending' AND j.expires_at <= ?1, max(j.expires_at, j.changed_at), j.changed_at) >= {}", since.0);
        }
        wanted
    }
}

/// A growing `WHERE` with its values.
#[derive(Clone)]
pub(super) struct Conditions {
    pub sql: String,
    pub values: Vec<Value>,
}

impl Conditions {
    pub(super) fn new(first: Value) -> Self {
        Self { sql: "?1 IS NOT NULL".to_owned(), values: vec![first] }
    }

    /// Adds a condition in which `{}`, or `{0}` as often as it is needed, stands for the value.
    pub(super) fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let place = format!("?{}", self.values.len());
        self.and_sql(&condition.replace("{}", &place).replace("{0}", &place));
    }

    pub(super) fn and_sql(&mut self, condition: &str) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
    }

    pub(super) fn and_text(&mut self, column: &str, value: Option<&String>) {
        if let Some(text) = value {
            self.and(&format!("{column} = {{}}"), text.clone());
        }
    }
}
