//! The schema that this program knows, and the steps that bring the file of an older program up to it.
//!
//! Programs of one major version share a file. A minor version only adds tables, indexes, and columns that are null or have a
//! constant default, so that the statements, triggers and views of older programs stay valid. See `docs/operating.md` for
//! what that means to the people who upgrade.

use std::sync::OnceLock;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::{Result, StoreError};
use super::row::{one, value};
use super::version::Version;

/// The statements that bring a file of the version before up to this one.
#[derive(Clone, Copy, Debug)]
pub struct UpgradeStep {
    pub to: Version,
    pub sql: &'static str,
}

/// The schema that a program knows.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The schema of a new file.
    pub sql: &'static str,
    /// One step for each minor version after the first, in order.
    pub steps: &'static [UpgradeStep],
}

static RELEASED: Schema = Schema {
    sql: include_str!("../../../schema.sql"),
    steps: &[
        UpgradeStep { to: Version(1_001), sql: TO_1_1 },
        UpgradeStep { to: Version(1_002), sql: TO_1_2 },
    ],
};

/// What the columns mean stands in `schema.sql`.
const TO_1_1: &str = "
    ALTER TABLE jobs ADD COLUMN run_worker_id INTEGER;
    ALTER TABLE outputs ADD COLUMN marks BLOB;
    ALTER TABLE live_outputs ADD COLUMN started_at INTEGER;
    ALTER TABLE live_outputs ADD COLUMN marks BLOB;
    ALTER TABLE workers ADD COLUMN db_device INTEGER;
    ALTER TABLE workers ADD COLUMN db_inode INTEGER;
    ALTER TABLE workers ADD COLUMN leftover_since INTEGER;
    ALTER TABLE workers ADD COLUMN run_job_id INTEGER;
    ALTER TABLE schedules ADD COLUMN machine_timezone TEXT;
    ALTER TABLE schedules ADD COLUMN paused_until INTEGER;
    ALTER TABLE queues ADD COLUMN paused_until INTEGER;
    CREATE TABLE pause_of_all (
        id           INTEGER PRIMARY KEY CHECK (id = 1),
        paused_at    INTEGER NOT NULL,
        paused_until INTEGER
    ) STRICT;
    CREATE INDEX jobs_unresolved_by_code ON jobs (name, error_code, label, task_hash, changed_at)
        WHERE state = 'dead' AND resolved_at IS NULL;
    CREATE INDEX jobs_of_runs ON jobs (run_worker_id, state)
        WHERE run_worker_id IS NOT NULL AND (state = 'pending' OR state = 'running');
";

const TO_1_2: &str = "
    ALTER TABLE jobs ADD COLUMN job_file INTEGER;
    ALTER TABLE jobs ADD COLUMN due_from INTEGER;
    ALTER TABLE jobs ADD COLUMN due_delay_ms INTEGER;
    ALTER TABLE jobs ADD COLUMN warning TEXT;
    ALTER TABLE jobs ADD COLUMN warning_resolved_at INTEGER;
    ALTER TABLE jobs ADD COLUMN warning_resolution TEXT;
    ALTER TABLE attempts ADD COLUMN warning TEXT;
    ALTER TABLE workers ADD COLUMN called_from INTEGER;
    ALTER TABLE schedules ADD COLUMN paused_at INTEGER;
    ALTER TABLE schedules ADD COLUMN paused_for_ms INTEGER;
    ALTER TABLE schedules ADD COLUMN schedule_lines TEXT CHECK (schedule_lines IS NULL OR json_valid(schedule_lines));
    ALTER TABLE schedules ADD COLUMN missed_within_ms INTEGER CHECK (missed_within_ms > 0);
    ALTER TABLE queues ADD COLUMN paused_at INTEGER;
    ALTER TABLE queues ADD COLUMN paused_for_ms INTEGER;
    ALTER TABLE pause_of_all ADD COLUMN paused_for_ms INTEGER;
    CREATE TABLE job_files (
        id         INTEGER PRIMARY KEY,
        path       TEXT NOT NULL UNIQUE,
        named_path TEXT
    ) STRICT;
    CREATE TABLE warning_totals (
        name     TEXT PRIMARY KEY,
        warnings INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE waits (
        id          INTEGER PRIMARY KEY,
        called_from INTEGER NOT NULL,
        job_id      INTEGER NOT NULL,
        pid         INTEGER NOT NULL,
        boot_id     TEXT NOT NULL,
        start_ticks INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX waits_by_job ON waits (job_id);
    CREATE INDEX jobs_delayed ON jobs (due_from) WHERE state = 'pending' AND due_from IS NOT NULL;
    CREATE INDEX jobs_warned ON jobs (name, warning, label, task_hash, changed_at)
        WHERE warning IS NOT NULL AND warning_resolved_at IS NULL;
";

static MADE_UP: OnceLock<Schema> = OnceLock::new();

/// The schema that this program knows.
pub fn known() -> &'static Schema {
    MADE_UP.get().unwrap_or(&RELEASED)
}

/// Makes this process a program that knows another schema. Only the tests of upgrades call this, once, before anything is opened.
#[doc(hidden)]
pub fn pretend(schema: Schema) {
    assert!(MADE_UP.set(schema).is_ok(), "this process knows its schema already");
}

impl Schema {
    /// The version that its text sets: that of its last step. Every turn asks for it, so it is not searched in the text.
    pub fn version(&self) -> Version {
        self.steps.last().map_or(Version::FIRST, |step| step.to)
    }

    /// Brings a file of an older minor version up to this one, in one transaction, so that a crash leaves the one or the
    /// other. Does nothing if another process has done it, or if the file is as new or newer.
    pub(in crate::store) fn upgrade(&self, connection: &Connection) -> Result<()> {
        if version_of(connection)? >= self.version() {
            return Ok(());
        }
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        let found = version_of(&transaction)?;
        for step in self.steps.iter().filter(|step| step.to > found) {
            transaction.execute_batch(step.sql)?;
            transaction.execute_batch(&format!("PRAGMA user_version = {}", step.to.0))?;
        }
        transaction.commit().map_err(StoreError::at_commit)
    }
}

/// The version of this file, which may be in its log.
pub fn version_of(connection: &Connection) -> Result<Version> {
    Ok(Version(one(connection, "PRAGMA user_version", [], value)?))
}

/// Splits SQL into tokens, without comments and blanks: two texts with the same tokens mean the same. What is a blank, and what
/// belongs to a word, is as SQLite has it, because somebody else may have written the text.
pub fn tokens(sql: &str) -> Vec<&str> {
    const BLANKS: [char; 5] = [' ', '\t', '\n', '\r', '\u{c}'];
    let mut found = Vec::new();
    let mut rest = sql.trim_start_matches(BLANKS);
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$') || !c.is_ascii();
        let length = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let '\'' | '"' | '`' | '[' = first {
            let closing = if first == '[' { ']' } else { first };
            rest[1..].find(closing).map_or(rest.len(), |end| end + 2)
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        if !token.starts_with("--") && !token.starts_with("/*") {
            found.push(token);
        }
        rest = after.trim_start_matches(BLANKS);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_are_no_tokens() {
        assert_eq!(
            tokens("CREATE TABLE a ( -- what's this\n  b TEXT /* or\n -- that */ CHECK (b<>'--''x'))"),
            ["CREATE", "TABLE", "a", "(", "b", "TEXT", "CHECK", "(", "b", "<", ">", "'--'", "'x'", ")", ")"]
        );
        assert_eq!(tokens(" \n-- nothing"), Vec::<&str>::new());
        assert_eq!(tokens("'open"), ["'open"]);
        assert_ne!(tokens("'a b'"), tokens("'a  b'"));
        // To SQLite this is one word.
        assert_eq!(tokens("WHEN\u{a0}OLD"), ["WHEN\u{a0}OLD"]);
    }

    #[test]
    fn the_schema_has_the_version_of_its_last_step() {
        let sets = format!("PRAGMA user_version = {};", RELEASED.version().0);
        assert!(RELEASED.sql.contains(&sets), "schema.sql does not set the version of the last step");
        assert!(RELEASED.steps.iter().zip(1_001..).all(|(step, version)| step.to == Version(version)));
    }
}
