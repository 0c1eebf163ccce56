//! The program as it could be after the next minor version of the schema: with a step that adds what such a version may add.
//! The tests of upgrades run it beside the program of today.

use runner::cli::error::ExitStatus;
use runner::store::Version;
use runner::store::schema::{Schema, UpgradeStep, known, pretend};

const STEP: &str = "
    ALTER TABLE jobs ADD COLUMN made_up INTEGER;
    ALTER TABLE attempts ADD COLUMN made_up_ms INTEGER NOT NULL DEFAULT 7;
    ALTER TABLE schedules ADD COLUMN made_up TEXT NOT NULL DEFAULT 'x' CHECK (made_up <> '');
    CREATE TABLE made_up (id INTEGER PRIMARY KEY, job_id INTEGER NOT NULL) STRICT;
    CREATE INDEX jobs_by_made_up ON jobs (made_up) WHERE made_up IS NOT NULL;
";

fn main() -> ExitStatus {
    let today = known();
    let to = Version(today.version().0 + 1);
    let steps = [today.steps, &[UpgradeStep { to, sql: STEP }]].concat();
    let sql = next_schema(today.sql, to);
    pretend(Schema { sql: Box::leak(sql.into()), steps: Box::leak(steps.into()) });
    runner::cli::main()
}

/// The text of `schema.sql` as it would stand beside the step: with the columns at the ends of their tables.
fn next_schema(today: &str, to: Version) -> String {
    let version = |version: Version| format!("PRAGMA user_version = {};", version.0);
    let mut sql = today.replace(&version(known().version()), &version(to));
    for (table, column) in [
        ("jobs", "    made_up INTEGER, -- a comment of the new version\n"),
        ("attempts", "    made_up_ms INTEGER NOT NULL DEFAULT 7,\n"),
        ("schedules", "    made_up TEXT NOT NULL DEFAULT 'x' CHECK (made_up <> ''),\n"),
    ] {
        let start = sql.find(&format!("CREATE TABLE {table} (")).unwrap_or_default();
        // The constraints of a table stand after its columns, and each begins a line.
        let constraints = ["\n    PRIMARY KEY (", "\n    CHECK ("];
        let end = constraints.iter().filter_map(|word| sql[start..].find(word)).min().unwrap_or_default();
        sql.insert_str(start + end + 1, column);
    }
    sql + "CREATE TABLE made_up (id INTEGER PRIMARY KEY, job_id INTEGER NOT NULL) STRICT;
           CREATE INDEX jobs_by_made_up ON jobs (made_up) WHERE made_up IS NOT NULL;"
}
