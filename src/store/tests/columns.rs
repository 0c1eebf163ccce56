//! What the columns themselves refuse: NULL, a second of a kind, a value of another type.

use std::collections::BTreeSet;

use super::schema::{SCHEMA, furnished, known, refusal};

/// The columns that may be empty. Whatever is added to the schema may not, or stands here.
const MAY_BE_NULL: &[&str] = &[
    "jobs: args unique_key idempotency_key expires_at started_at worker_id cancel_requested_at error_code dead_reason result",
    "attempts: error_code exit_code signal message started_at duration_ms dead_reason nominal_delay_ms delay_ms",
    "workers: queues ended_at",
];

/// What is there once, and a statement that brings a second one, past the triggers that would say so first.
const ONCE: &[(&str, &str)] = &[
    (
        "CREATE UNIQUE INDEX jobs_unique_key ON jobs (unique_key)",
        "INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at, unique_key)
        VALUES (1, 'b', 'q', 0, 'pending', 1, 1, 1, 'k'), (1, 'b', 'q', 0, 'pending', 1, 1, 1, 'k')",
    ),
    (
        "CREATE UNIQUE INDEX jobs_idempotency_key ON jobs (idempotency_key)",
        "INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at,
        idempotency_key) VALUES (1, 'b', 'q', 0, 'pending', 1, 1, 1, 'k'), (1, 'b', 'q', 0, 'pending', 1, 1, 1, 'k')",
    ),
    (
        "UNIQUE (job_id, number)",
        "INSERT INTO outputs VALUES (3, 1, x'61', 0, 0, x'', 0, 0)",
    ),
    ("TEXT NOT NULL UNIQUE,", "UPDATE workers SET name = 'one'"),
];

#[test]
fn each_uniqueness_refuses_a_second() {
    for (guard, statement) in ONCE {
        let said = refusal(&furnished(SCHEMA), statement).unwrap_or_else(|| panic!("taken: {statement}"));
        assert!(said.starts_with("UNIQUE constraint failed"), "{statement}: {said}");

        assert_eq!(SCHEMA.matches(guard).count(), 1, "{guard}");
        let without = SCHEMA
            .replace(guard, &guard.replace("UNIQUE (job_id, number)", "CHECK (1)").replace("UNIQUE", ""));
        assert_eq!(refusal(&furnished(&without), statement), None, "{guard} is not what refuses {statement}");
    }
    let code = SCHEMA.lines().filter_map(|line| line.split("--").next());
    assert_eq!(code.filter(|line| line.contains("UNIQUE")).count(), ONCE.len(), "one is left out");
}

#[test]
fn no_column_may_be_empty_but_those_that_are_meant_to() {
    let mut found = Vec::new();
    for table in tables() {
        let sql = "SELECT group_concat(name, ' ') FROM pragma_table_xinfo(?1) WHERE NOT \"notnull\" AND NOT pk AND NOT hidden";
        let columns: Option<String> = furnished(SCHEMA).query_row(sql, [&table], |row| row.get(0)).unwrap();
        found.extend(columns.map(|columns| format!("{table}: {columns}")));
    }
    assert_eq!(
        found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        MAY_BE_NULL.iter().copied().collect()
    );
}

#[test]
fn every_table_is_strict() {
    let loose: Vec<String> = tables()
        .into_iter()
        .filter(|table| {
            let sql = "SELECT strict FROM pragma_table_list WHERE name = ?1";
            !furnished(SCHEMA).query_row(sql, [table], |row| row.get::<_, bool>(0)).unwrap()
        })
        .collect();
    assert_eq!(loose, [""; 0]);
}

/// The tables of the schema; SQLite has some of its own.
fn tables() -> Vec<String> {
    let names = known(&furnished(SCHEMA), "table").into_iter().map(|(name, _)| name);
    names.filter(|name| !name.starts_with("sqlite_")).collect()
}
