//! Each guard of the schema refuses what it is there to refuse; without the guard, nothing else says so.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::model::JobState;
use crate::store::file::schema::known;

/// A guard, and statements that it refuses. A guard is the name of a trigger, the expression of a CHECK, or a piece of the
/// schema with UNIQUE in it. `JOB …` and `ATTEMPT …` stand for an INSERT with these values in place of the usual ones.
const REFUSED: &[(&str, &[&str])] = &[
    ("job_definitions_are_frozen", &["UPDATE job_definitions SET definition = '[]' WHERE id = 1"]),
    (
        "attempts_are_numbered_without_gaps",
        &[
            "ATTEMPT number = 2",
            "UPDATE jobs SET state = 'running', worker_id = 1 WHERE id = 4; ATTEMPT job_id = 4",
            "UPDATE jobs SET state = 'running', worker_id = 1 WHERE id = 4; REPLACE ATTEMPT job_id = 4",
        ],
    ),
    ("attempts_belong_to_a_running_job", &["ATTEMPT job_id = 1", "ATTEMPT worker_id = 2"]),
    ("attempts_are_immutable", &["UPDATE attempts SET message = 'x' WHERE job_id = 3"]),
    ("attempts_go_with_their_job", &["DELETE FROM attempts WHERE job_id = 3"]),
    ("outputs_are_immutable", &["UPDATE outputs SET stdout = x'61'"]),
    ("id = 1", &["INSERT INTO pause_of_all (id, paused_at) VALUES (2, 1)"]),
    ("inputs_are_immutable", &["UPDATE inputs SET stdin = x'62'"]),
    (
        "jobs_keep_what_they_are",
        &[
            "UPDATE jobs SET id = 9 WHERE id = 1",
            "UPDATE OR REPLACE jobs SET rowid = 2 WHERE id = 1",
            "UPDATE OR REPLACE jobs SET OID = 2 WHERE id = 1",
            "UPDATE OR REPLACE jobs SET _rowid_ = 2 WHERE id = 1",
            "UPDATE jobs SET definition_id = 2 WHERE id = 1",
            "UPDATE jobs SET name = 'b' WHERE id = 1",
            "UPDATE jobs SET args_nul = x'6100' WHERE id = 1",
            "UPDATE jobs SET unique_key = 'k' WHERE id = 1",
            "UPDATE jobs SET enqueued_at = 9 WHERE id = 1",
            "UPDATE jobs SET label = 'x' WHERE id = 1",
            "UPDATE jobs SET task_hash = 7 WHERE id = 1",
            "UPDATE jobs SET needs_version = 1001 WHERE id = 1",
        ],
    ),
    (
        "jobs_keep_their_key_until_they_are_resolved",
        &[
            "UPDATE jobs SET idempotency_key = NULL WHERE id = 3",
            "UPDATE jobs SET resolved_at = 1, idempotency_key = 'k' WHERE id = 3",
        ],
    ),
    ("jobs_move_by_the_rules", &["UPDATE jobs SET state = 'succeeded' WHERE id = 4"]),
    ("jobs_are_finished_before_they_go", &["DELETE FROM jobs WHERE id = 1", "DELETE FROM jobs WHERE id = 2"]),
    ("jobs_stay_while_others_wait", &["DELETE FROM jobs WHERE id = 6"]),
    (
        "jobs_count_dependencies_down",
        &[
            "UPDATE jobs SET unmet_dependencies = 1 WHERE id = 1",
            "UPDATE jobs SET unmet_dependencies = 0 WHERE id = 5",
        ],
    ),
    (
        "dependencies_are_fixed",
        &[
            "UPDATE dependencies SET job_id = 4 WHERE dependency_id = 6",
            "UPDATE dependencies SET kind = 'any' WHERE dependency_id = 6",
        ],
    ),
    ("dependencies_stay_met", &["UPDATE dependencies SET met = 0 WHERE dependency_id = 8"]),
    (
        "dependencies_move_to_a_replacement",
        &[
            "UPDATE dependencies SET dependency_id = 4 WHERE dependency_id = 7",
            "UPDATE dependencies SET dependency_id = 4 WHERE dependency_id = 8",
        ],
    ),
    (
        "kind = 'success' OR kind = 'any'",
        &["INSERT INTO dependencies (job_id, dependency_id, kind) VALUES (4, 6, 'none')"],
    ),
    ("met = 0 OR met = 1", &["UPDATE dependencies SET met = 2 WHERE dependency_id = 6"]),
    ("length(label) BETWEEN 1 AND 200", &["JOB label = ''"]),
    ("dependencies_go_with_a_job", &["DELETE FROM dependencies WHERE dependency_id = 6"]),
    ("dependency_id <> job_id", &["INSERT INTO dependencies (job_id, dependency_id) VALUES (4, 4)"]),
    ("unmet_dependencies >= 0", &["UPDATE jobs SET unmet_dependencies = -1 WHERE id = 1"]),
    (
        "unmet_dependencies = 0 OR (state <> 'running' AND state <> 'succeeded')",
        &["UPDATE jobs SET state = 'running', worker_id = 1 WHERE id = 5"],
    ),
    ("CREATE UNIQUE INDEX jobs_unique_key", &["JOB unique_key = 'k'; JOB unique_key = 'k'"]),
    ("CREATE UNIQUE INDEX jobs_idempotency_key", &["JOB idempotency_key = 'k'; JOB idempotency_key = 'k'"]),
    ("UNIQUE (job_id, number)", &["OUTPUT (3, 1, x'61', 0, 0, x'', 0, 0)"]),
    ("name TEXT NOT NULL UNIQUE,", &["UPDATE workers SET name = 'one'"]),
    ("path TEXT NOT NULL UNIQUE,", &["INSERT INTO job_files (path) VALUES ('/jobs.toml'), ('/jobs.toml')"]),
    (
        "schedule_lines IS NULL OR json_valid(schedule_lines)",
        &["UPDATE schedules SET schedule_lines = 'no json'"],
    ),
    ("missed_within_ms > 0", &["UPDATE schedules SET missed_within_ms = 0"]),
    ("json_valid(definition)", &["INSERT INTO job_definitions (hash, definition) VALUES (1, 'no json')"]),
    ("priority BETWEEN -1000 AND 1000", &["JOB priority = 1001", "JOB priority = -1001"]),
    (
        "state = 'pending' OR state = 'running' OR state = 'succeeded' OR state = 'dead' OR state = 'cancelled'",
        &["UPDATE jobs SET state = 'lost', worker_id = NULL WHERE id = 2"],
    ),
    ("attempts >= 0", &["UPDATE jobs SET attempts = -1 WHERE id = 1"]),
    ("attempts_used >= 0", &["UPDATE jobs SET attempts_used = -1 WHERE id = 1"]),
    (
        "dead_reason = 'interrupted' OR dead_reason = 'unrecoverable' OR dead_reason = 'never_retry' OR \
         dead_reason = 'not_retryable' OR dead_reason = 'code_not_listed' OR dead_reason = 'spawn_failed' OR \
         dead_reason = 'attempts_exhausted' OR dead_reason = 'expired'",
        &["UPDATE jobs SET state = 'dead', error_code = 'X', dead_reason = 'bored' WHERE id = 1"],
    ),
    (
        "(state = 'running') = (worker_id IS NOT NULL)",
        &["UPDATE jobs SET worker_id = NULL WHERE id = 2", "UPDATE jobs SET worker_id = 1 WHERE id = 1"],
    ),
    ("(state = 'dead') = (dead_reason IS NOT NULL)", &["UPDATE jobs SET dead_reason = NULL WHERE id = 3"]),
    ("(state = 'dead') = (error_code IS NOT NULL)", &["UPDATE jobs SET error_code = 'X' WHERE id = 1"]),
    (
        "state <> 'pending' OR cancel_requested_at IS NULL",
        &["UPDATE jobs SET cancel_requested_at = 1 WHERE id = 1"],
    ),
    (
        "state <> 'succeeded' OR attempts > 0",
        &["UPDATE jobs SET state = 'succeeded', worker_id = NULL WHERE id = 2"],
    ),
    ("attempts_used <= attempts", &["UPDATE jobs SET attempts_used = 1 WHERE id = 1"]),
    (
        "resolved_at IS NULL OR state = 'dead' OR state = 'cancelled'",
        &["UPDATE jobs SET resolved_at = 1 WHERE id = 1"],
    ),
    ("resolution IS NULL OR resolved_at IS NOT NULL", &["UPDATE jobs SET resolution = 'x' WHERE id = 3"]),
    ("replaced_by IS NULL OR resolved_at IS NOT NULL", &["UPDATE jobs SET replaced_by = 9 WHERE id = 3"]),
    ("replaced_by > id", &["UPDATE jobs SET resolved_at = 1, replaced_by = 3 WHERE id = 3"]),
    ("expires_at >= run_at", &["UPDATE jobs SET expires_at = 0 WHERE id = 1"]),
    ("(scheduled_for IS NULL) = (scheduled_offset IS NULL)", &["JOB scheduled_for = 1"]),
    ("json_valid(chain)", &["UPDATE schedules SET chain = 'no json'"]),
    ("missed IN ('once', 'all', 'skip')", &["UPDATE schedules SET missed = 'twice'"]),
    ("skipped_in_row >= 0", &["UPDATE schedules SET skipped_in_row = -1"]),
    ("fresh_within_ms > 0", &["UPDATE schedules SET fresh_within_ms = 0"]),
    ("random_delay_ms > 0", &["UPDATE schedules SET random_delay_ms = 0"]),
    ("cpu_ms >= 0", &["ATTEMPT cpu_ms = -1, max_rss_bytes = 1"]),
    ("max_rss_bytes >= 0", &["ATTEMPT cpu_ms = 1, max_rss_bytes = -1"]),
    ("max_rss_bound_bytes >= 0", &["ATTEMPT cpu_ms = 1, max_rss_bound_bytes = -1"]),
    (
        "(cpu_ms IS NOT NULL) = (max_rss_bytes IS NOT NULL) + (max_rss_bound_bytes IS NOT NULL)",
        &[
            "ATTEMPT cpu_ms = 1",
            "ATTEMPT max_rss_bytes = 1",
            "ATTEMPT cpu_ms = 1, max_rss_bytes = 1, max_rss_bound_bytes = 1",
        ],
    ),
    ("skipped >= 0", &["UPDATE schedules SET skipped = -1"]),
    ("paused IN (0, 1)", &["UPDATE schedules SET paused = 2"]),
    ("(last_fired_at IS NULL) = (last_job_id IS NULL)", &["UPDATE schedules SET last_fired_at = 1"]),
    ("number >= 1", &["DROP TRIGGER attempts_are_numbered_without_gaps; ATTEMPT number = 0"]),
    ("attempt_in_budget >= 1", &["ATTEMPT attempt_in_budget = 0"]),
    (
        "outcome IN ('succeeded', 'failed', 'timed_out', 'spawn_failed', 'worker_crashed', 'interrupted', 'cancelled')",
        &["ATTEMPT outcome = 'odd'"],
    ),
    ("exit_code BETWEEN 0 AND 255", &["ATTEMPT exit_code = 256", "ATTEMPT exit_code = -1"]),
    ("signal > 0", &["ATTEMPT exit_code = NULL, signal = 0"]),
    ("duration_ms >= 0", &["ATTEMPT duration_ms = -1"]),
    (
        "spawn_failure IN ('not_found', 'not_executable')",
        &["ATTEMPT outcome = 'spawn_failed', exit_code = NULL, spawn_failure = 'odd'"],
    ),
    ("outcome = 'spawn_failed' OR spawn_failure IS NULL", &["ATTEMPT spawn_failure = 'not_found'"]),
    ("output_held_open IN (0, 1)", &["ATTEMPT output_held_open = 2"]),
    ("next_state IN ('succeeded', 'pending', 'dead', 'cancelled')", &["ATTEMPT next_state = 'running'"]),
    ("nominal_delay_ms >= 0", &["ATTEMPT next_state = 'pending', nominal_delay_ms = -1, delay_ms = 0"]),
    ("delay_ms >= 0", &["ATTEMPT next_state = 'pending', nominal_delay_ms = 0, delay_ms = -1"]),
    ("(outcome = 'succeeded') = (error_code IS NULL)", &["ATTEMPT error_code = NULL"]),
    ("(outcome = 'succeeded') = (next_state = 'succeeded')", &["ATTEMPT next_state = 'succeeded'"]),
    ("exit_code IS NULL OR signal IS NULL", &["ATTEMPT signal = 9"]),
    (
        "outcome NOT IN ('spawn_failed', 'worker_crashed') OR (exit_code IS NULL AND signal IS NULL)",
        &[
            "ATTEMPT outcome = 'spawn_failed'",
            "ATTEMPT outcome = 'worker_crashed', duration_ms = NULL, exit_code = NULL, signal = 9",
        ],
    ),
    ("(outcome = 'worker_crashed') = (duration_ms IS NULL)", &["ATTEMPT duration_ms = NULL"]),
    ("(next_state = 'dead') = (dead_reason IS NOT NULL)", &["ATTEMPT next_state = 'dead'"]),
    ("(next_state = 'pending') = (delay_ms IS NOT NULL)", &["ATTEMPT next_state = 'pending'"]),
    ("(delay_ms IS NULL) = (nominal_delay_ms IS NULL)", &["ATTEMPT next_state = 'pending', delay_ms = 1"]),
    ("stdout_omitted >= 0", &["OUTPUT (2, 1, x'', 0, -1, x'', 0, 0)"]),
    ("stderr_omitted >= 0", &["OUTPUT (2, 1, x'', 0, 0, x'', 0, -1)"]),
    ("length(stdin) <= 16777216", &["INSERT INTO inputs (job_id, stdin) VALUES (2, zeroblob(16777217))"]),
    ("slots > 0", &["UPDATE workers SET slots = 0"]),
    ("paused = 0 OR paused = 1", &["INSERT INTO queues (name, paused) VALUES ('q', 2)"]),
    ("rate GLOB '[1-9]*/[smh]'", &["INSERT INTO queues (name, rate) VALUES ('q', 'fast')"]),
    ("max_running > 0", &["INSERT INTO queues (name, max_running) VALUES ('q', 0)"]),
    (
        "max_running_file IS NULL OR max_running IS NOT NULL",
        &["INSERT INTO queues (name, max_running_file) VALUES ('q', '/jobs.toml')"],
    ),
    (
        "rate_file IS NULL OR rate IS NOT NULL",
        &["INSERT INTO queues (name, rate_file) VALUES ('q', '/jobs.toml')"],
    ),
    ("queues IS NULL OR json_valid(queues)", &["UPDATE workers SET queues = 'no json'"]),
];

/// The trigger that refuses nothing, and has its own test.
const CASCADE: &str = "jobs_take_their_history_with_them";

/// The columns that may be empty. Whatever is added to the schema may not, or stands here.
const MAY_BE_NULL: [&str; 9] = [
    "attempts: error_code exit_code signal spawn_failure message started_at duration_ms dead_reason nominal_delay_ms delay_ms cpu_ms max_rss_bytes max_rss_bound_bytes warning",
    "job_files: named_path",
    "jobs: args_nul unique_key idempotency_key expires_at started_at worker_id cancel_requested_at error_code dead_reason result resolved_at resolution replaced_by scheduled_for scheduled_offset label task_hash run_worker_id job_file due_from due_delay_ms warning warning_resolved_at warning_resolution",
    "live_outputs: started_at marks",
    "outputs: marks",
    "pause_of_all: paused_until paused_for_ms",
    "queues: max_running max_running_file rate rate_file last_start_at paused_until paused_at paused_for_ms",
    "schedules: timezone next_at last_fired_at last_job_id boot_id fresh_within_ms random_delay_ms last_success_at machine_timezone paused_until paused_at paused_for_ms schedule_lines missed_within_ms",
    "workers: queues ended_at stopping_at db_device db_inode leftover_since run_job_id called_from",
];

/// Job 1 waits with input, job 2 runs, job 3 is dead after one attempt with input and output, job 4 waits for its retry,
/// job 5 is after jobs 6, 7 and 8, jobs 6 and 8 are cancelled, job 7 waits; any end of job 8 was enough.
const ROWS: &str = "
    INSERT INTO job_definitions (hash, definition) VALUES (7, '{}'), (8, '{}');
    INSERT INTO workers (name, mark, db_path, pid, boot_id, start_ticks, started_at, slots)
        VALUES ('one', 'm1', x'2f64', 1, 'boot', 1, 1, 4), ('two', 'm2', x'2f64', 2, 'boot', 1, 1, 4);
    INSERT INTO schedules (name, chain, schedule, missed, file, applied_at)
        VALUES ('a', '{}', '@daily', 'once', '/jobs.toml', 1);
    JOB id = 1; JOB id = 2; JOB id = 3; JOB id = 4;
    JOB id = 5, unmet_dependencies = 2; JOB id = 6, state = 'cancelled'; JOB id = 7; JOB id = 8, state = 'cancelled';
    INSERT INTO dependencies (job_id, dependency_id) VALUES (5, 6), (5, 7);
    INSERT INTO dependencies (job_id, dependency_id, kind, met) VALUES (5, 8, 'any', 1);
    INSERT INTO removed_attempts (name, outcome, attempts, duration_ms, cpu_ms) VALUES ('a', 'failed', 1, 1, 1);
    INSERT INTO inputs (job_id, stdin) VALUES (1, x'61'), (3, x'61');
    UPDATE jobs SET state = 'running', worker_id = 1, changed_at = 2 WHERE id IN (2, 3, 4);
    ATTEMPT job_id = 3, next_state = 'dead', dead_reason = 'attempts_exhausted';
    ATTEMPT job_id = 4, next_state = 'pending', nominal_delay_ms = 5, delay_ms = 5;
    OUTPUT (3, 1, x'', 0, 0, x'', 0, 0);
    UPDATE jobs SET state = 'dead', worker_id = NULL, attempts = 1, attempts_used = 1, error_code = 'EXIT_1',
                    dead_reason = 'attempts_exhausted', changed_at = 3 WHERE id = 3;
    UPDATE jobs SET state = 'pending', worker_id = NULL, attempts = 1, attempts_used = 1, changed_at = 3 WHERE id = 4";

const OUTPUT: &str = "INSERT INTO outputs (job_id, number, stdout, stdout_head, stdout_omitted, stderr, \
                      stderr_head, stderr_omitted) VALUES";

const JOB: &str = "definition_id = 1, name = 'a', queue = 'q', priority = 0, state = 'pending', enqueued_at = 1, \
                   run_at = 1, changed_at = 1";

/// A failed attempt of job 2, which is cancelled then.
const ATTEMPT: &str = "job_id = 2, number = 1, attempt_in_budget = 1, outcome = 'failed', error_code = 'EXIT_1', \
                       exit_code = 1, worker_id = 1, finished_at = 3, duration_ms = 1, output_held_open = 0, \
                       next_state = 'cancelled'";

/// SQL with `JOB …`, `ATTEMPT …` and `OUTPUT …` written out.
fn written_out(sql: &str) -> String {
    let statement = |statement: &str| {
        let statement = statement.replace("OUTPUT", OUTPUT);
        let statement = statement.as_str();
        for (word, table, usual) in [("JOB", "jobs", JOB), ("ATTEMPT", "attempts", ATTEMPT)] {
            let Some((verb, other_values)) = statement.split_once(word) else { continue };
            let pairs = |list: &'static str| list.split(',').filter_map(|pair| pair.trim().split_once(" = "));
            let changed: Vec<_> =
                other_values.split(',').filter_map(|p| p.trim().split_once(" = ")).collect();
            let kept = pairs(usual).filter(|(column, _)| changed.iter().all(|(other, _)| other != column));
            let (columns, values): (Vec<_>, Vec<_>) = kept.chain(changed.iter().copied()).unzip();
            let verb = if verb.trim().is_empty() { "INSERT" } else { verb };
            return format!("{verb} INTO {table} ({}) VALUES ({})", columns.join(", "), values.join(", "));
        }
        statement.to_owned()
    };
    sql.split(';').map(statement).collect::<Vec<_>>().join(";")
}

/// The schema without comments, with single spaces.
fn code() -> String {
    let lines = known().sql.lines().filter_map(|line| line.split("--").next());
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// A database in memory with this schema and the rows. As in the sqlite3 shell, REPLACE fires no delete triggers.
fn furnished(schema: &str) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(schema).unwrap();
    connection.execute_batch(&written_out(ROWS)).unwrap();
    connection
}

/// The database without this guard.
fn without(guard: &str) -> Connection {
    if guard.contains("UNIQUE") {
        assert_eq!(code().matches(guard).count(), 1, "{guard}");
        let loose = guard.replace("UNIQUE (job_id, number)", "CHECK (1)").replace("UNIQUE", "");
        return furnished(&code().replace(guard, &loose));
    }
    let check = format!("CHECK ({guard})");
    if code().contains(&check) {
        return furnished(&code().replace(&check, "CHECK (1)"));
    }
    let connection = furnished(&code());
    connection.execute_batch(&format!("DROP TRIGGER {guard}")).unwrap();
    connection
}

/// SQLite's words for refusing these statements; none if it takes them.
fn refusal(connection: &Connection, sql: &str) -> Option<String> {
    match connection.execute_batch(&written_out(sql)) {
        Ok(()) => None,
        Err(rusqlite::Error::SqliteFailure(_, Some(said))) => Some(said),
        Err(other) => panic!("{sql}: {other}"),
    }
}

fn names(connection: &Connection, kind: &str) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = ?1 AND name NOT GLOB 'sqlite_*' ORDER BY name";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([kind], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn each_guard_refuses_and_nothing_else_says_the_same() {
    for (guard, statements) in REFUSED {
        for statement in *statements {
            let said = refusal(&furnished(&code()), statement);
            let said = said.unwrap_or_else(|| panic!("{guard} let through {statement}"));
            assert_ne!(refusal(&without(guard), statement), Some(said), "{guard}: {statement}");
        }
    }
    assert_eq!(refusal(&furnished(&code()), "ATTEMPT; JOB"), None, "the usual rows are taken");
}

#[test]
fn no_guard_is_left_out() {
    let guards: BTreeSet<&str> = REFUSED.iter().map(|(guard, _)| *guard).collect();
    let of = |wanted: fn(&str) -> bool| guards.iter().filter(|guard| wanted(guard)).count();
    let triggers = names(&furnished(&code()), "trigger");
    assert!(triggers.iter().all(|name| name == CASCADE || guards.contains(name.as_str())), "{triggers:?}");
    let uniques = of(|guard| guard.contains("UNIQUE"));
    assert_eq!(code().matches("UNIQUE").count(), uniques);
    assert_eq!(code().matches("CHECK (").count() + triggers.len() - 1, guards.len() - uniques);
}

#[test]
fn no_column_is_loose_or_may_be_empty_but_those_that_are_meant_to() {
    let connection = furnished(known().sql);
    let mut nullable = Vec::new();
    for table in names(&connection, "table") {
        let sql = "SELECT strict FROM pragma_table_list WHERE name = ?1";
        assert!(connection.query_row(sql, [&table], |row| row.get::<_, bool>(0)).unwrap(), "{table}");
        let sql = "SELECT group_concat(name, ' ') FROM pragma_table_xinfo(?1) WHERE NOT \"notnull\" AND NOT pk AND NOT hidden";
        let columns: Option<String> = connection.query_row(sql, [&table], |row| row.get(0)).unwrap();
        nullable.extend(columns.map(|columns| format!("{table}: {columns}")));
    }
    assert_eq!(nullable, MAY_BE_NULL);
}

#[test]
fn a_deleted_job_takes_its_history_with_it_and_its_id_is_not_used_again() {
    let left = |connection: &Connection| -> i64 {
        connection.execute_batch("DELETE FROM jobs WHERE id = 3").unwrap();
        let sql = "SELECT (SELECT count(*) FROM attempts WHERE job_id = 3) + (SELECT count(*) FROM outputs)
                          + (SELECT count(*) FROM inputs WHERE job_id = 3)";
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!((left(&furnished(known().sql)), left(&without(CASCADE))), (0, 3));
    // The totals keep what its attempts add to the counters.
    let totals = furnished(known().sql);
    left(&totals);
    let sql = "SELECT attempts || ' ' || duration_ms || ' ' || cpu_ms FROM removed_attempts WHERE name = 'a' AND outcome = 'failed'";
    assert_eq!(totals.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap(), "2 2 1");

    let connection = furnished(known().sql);
    let sql = "UPDATE jobs SET state = 'cancelled' WHERE id = 4; DELETE FROM jobs WHERE id = 4; JOB";
    assert_eq!(refusal(&connection, sql), None);
    assert_eq!(connection.last_insert_rowid(), 9);
}

#[test]
fn a_job_moves_along_the_arrows_of_its_states_and_no_others() {
    use JobState::{Cancelled, Dead, Pending, Running, Succeeded};
    let arrows = [
        (Pending, Running),
        (Pending, Dead),
        (Pending, Cancelled),
        (Running, Succeeded),
        (Running, Pending),
        (Running, Dead),
        (Running, Cancelled),
        (Dead, Pending),
        (Cancelled, Pending),
    ];
    let put = |state: JobState| {
        format!(
            "UPDATE jobs SET state = '{state}', worker_id = iif('{state}' = 'running', 1, NULL),
                 dead_reason = iif('{state}' = 'dead', 'expired', NULL),
                 error_code = iif('{state}' = 'dead', 'EXPIRED', NULL) WHERE id = 4"
        )
    };
    let trigger = "SELECT sql FROM sqlite_schema WHERE name = 'jobs_move_by_the_rules'";
    for &from in JobState::ALL {
        for &to in JobState::ALL {
            let connection = furnished(known().sql);
            let sql: String = connection.query_row(trigger, [], |row| row.get(0)).unwrap();
            let start = format!("DROP TRIGGER jobs_move_by_the_rules; {}; {sql}", put(from));
            connection.execute_batch(&start).unwrap();
            let allowed = from == to || arrows.contains(&(from, to));
            assert_eq!(refusal(&connection, &put(to)).is_none(), allowed, "{from} to {to}");
        }
    }
}
