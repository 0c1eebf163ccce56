//! The schema as text, in memory, with a few rows in it: what the tests of its guards stand on.

use rusqlite::Connection;

pub(super) const SCHEMA: &str = include_str!("../../../schema.sql");

/// Job 1 waits with input, job 2 runs, job 3 is dead after one attempt with input and output, job 4 waits for its retry.
const ROWS: &str = "
    INSERT INTO definitions VALUES (1, 7, '{}'), (2, 8, '{}');
    INSERT INTO workers VALUES (1, 'one', 1, 'boot', 1, 1, 4, NULL, NULL), (2, 'two', 2, 'boot', 1, 1, 4, NULL, NULL);
    INSERT INTO jobs (id, definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at)
        VALUES (1, 1, 'a', 'q', 0, 'pending', 1, 1, 1), (2, 1, 'a', 'q', 0, 'pending', 1, 1, 1),
               (3, 1, 'a', 'q', 0, 'pending', 1, 1, 1), (4, 1, 'a', 'q', 0, 'pending', 1, 1, 1);
    INSERT INTO inputs VALUES (1, x'61'), (3, x'61');
    UPDATE jobs SET state = 'running', worker_id = 1, changed_at = 2 WHERE id > 1;
    INSERT INTO attempts VALUES
        (3, 1, 1, 'failed', 'EXIT_1', 1, NULL, NULL, 1, 2, 3, 1, 0, 'dead', 'attempts_exhausted', NULL, NULL),
        (4, 1, 1, 'failed', 'EXIT_1', 1, NULL, NULL, 1, 2, 3, 1, 0, 'pending', NULL, 5, 5);
    INSERT INTO outputs VALUES (3, 1, x'', 0, 0, x'', 0, 0);
    UPDATE jobs SET state = 'dead', worker_id = NULL, attempts = 1, budget_used = 1, error_code = 'EXIT_1',
                    dead_reason = 'attempts_exhausted', changed_at = 3 WHERE id = 3;
    UPDATE jobs SET state = 'pending', worker_id = NULL, attempts = 1, budget_used = 1, changed_at = 3 WHERE id = 4;
";

/// A database in memory with this schema and the rows.
pub(super) fn furnished(schema: &str) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    // As in the sqlite3 shell: REPLACE fires no delete triggers.
    connection.execute_batch("PRAGMA recursive_triggers = OFF").unwrap();
    connection.execute_batch(schema).unwrap();
    connection.execute_batch(ROWS).unwrap();
    connection
}

/// What SQLite says when it refuses these statements; none where it takes them.
pub(super) fn refusal(connection: &Connection, sql: &str) -> Option<String> {
    match connection.execute_batch(sql) {
        Ok(()) => None,
        Err(rusqlite::Error::SqliteFailure(_, Some(said))) => Some(said),
        Err(other) => panic!("{sql}: {other}"),
    }
}

/// Name and SQL of everything of this type that SQLite knows.
pub(super) fn known(connection: &Connection, kind: &str) -> Vec<(String, String)> {
    let mut statement = connection
        .prepare("SELECT name, sql FROM sqlite_master WHERE type = ?1 AND sql IS NOT NULL ORDER BY name")
        .unwrap();
    let rows = statement.query_map([kind], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}
