//! Each trigger refuses what it is there to refuse; without it, the same statement goes through.

use std::collections::BTreeSet;

use super::schema::{SCHEMA, furnished, known, refusal};
use crate::model::JobState;

/// Trigger, and a statement that it alone refuses.
const REFUSED: &[(&str, &str)] = &[
    ("definitions_are_frozen", "UPDATE definitions SET spec = '[]' WHERE id = 1"),
    (
        "attempts_are_numbered_without_gaps",
        "INSERT INTO attempts VALUES (2, 2, 1, 'succeeded', NULL, 0, NULL, NULL,
        1, 2, 3, 1, 0, 'succeeded', NULL, NULL, NULL)",
    ),
    (
        "attempts_are_numbered_without_gaps",
        "UPDATE jobs SET state = 'running', worker_id = 1 WHERE id = 4;
        INSERT OR REPLACE INTO attempts VALUES (4, 1, 1, 'succeeded', NULL, 0, NULL, NULL,
        1, 2, 3, 1, 0, 'succeeded', NULL, NULL, NULL)",
    ),
    (
        "attempts_belong_to_a_running_job",
        "INSERT INTO attempts VALUES (1, 1, 1, 'succeeded', NULL, 0, NULL, NULL,
        1, 2, 3, 1, 0, 'succeeded', NULL, NULL, NULL)",
    ),
    (
        "attempts_belong_to_a_running_job",
        "INSERT INTO attempts VALUES (2, 1, 1, 'succeeded', NULL, 0, NULL, NULL,
        2, 2, 3, 1, 0, 'succeeded', NULL, NULL, NULL)",
    ),
    ("attempts_are_immutable", "UPDATE attempts SET message = 'x' WHERE job_id = 3"),
    ("attempts_go_with_their_job", "DELETE FROM attempts WHERE job_id = 3"),
    ("outputs_are_immutable", "UPDATE outputs SET stdout = x'61'"),
    ("inputs_are_immutable", "UPDATE inputs SET stdin = x'62'"),
    (
        "jobs_start_waiting",
        "INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at,
        changed_at) VALUES (1, 'b', 'q', 0, 'cancelled', 1, 1, 1)",
    ),
    (
        "jobs_start_waiting",
        "INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at,
        changed_at, attempts) VALUES (1, 'b', 'q', 0, 'pending', 1, 1, 1, 1)",
    ),
    ("jobs_keep_what_they_are", "UPDATE jobs SET id = 9 WHERE id = 1"),
    ("jobs_keep_what_they_are", "UPDATE OR REPLACE jobs SET rowid = 2 WHERE id = 1"),
    ("jobs_keep_what_they_are", "UPDATE OR REPLACE jobs SET OID = 2 WHERE id = 1"),
    ("jobs_keep_what_they_are", "UPDATE OR REPLACE jobs SET _rowid_ = 2 WHERE id = 1"),
    ("jobs_keep_what_they_are", "UPDATE jobs SET definition_id = 2 WHERE id = 1"),
    ("jobs_keep_what_they_are", "UPDATE jobs SET name = 'b' WHERE id = 1"),
    ("jobs_keep_what_they_are", "UPDATE jobs SET args = x'6100' WHERE id = 1"),
    ("jobs_keep_what_they_are", "UPDATE jobs SET unique_key = 'k' WHERE id = 1"),
    ("jobs_keep_what_they_are", "UPDATE jobs SET idempotency_key = 'k' WHERE id = 1"),
    ("jobs_keep_what_they_are", "UPDATE jobs SET enqueued_at = 9 WHERE id = 1"),
    ("jobs_move_by_the_rules", "UPDATE jobs SET state = 'succeeded' WHERE id = 4"),
    ("jobs_are_finished_before_they_go", "DELETE FROM jobs WHERE id = 1"),
    ("jobs_are_finished_before_they_go", "DELETE FROM jobs WHERE id = 2"),
];

/// The one that refuses nothing, and has its own test.
const CASCADE: &str = "jobs_take_their_history_with_them";

#[test]
fn each_trigger_refuses_what_nothing_else_refuses() {
    for (name, statement) in REFUSED {
        let guarded = furnished(SCHEMA);
        let triggers = known(&guarded, "trigger");
        let (_, sql) = triggers.iter().find(|(known, _)| known == name).unwrap();
        let said = refusal(&guarded, statement).unwrap_or_else(|| panic!("{name} let through {statement}"));
        assert!(sql.contains(&format!("RAISE(ABORT, '{said}')")), "{name}: another guard refused: {said}");

        let unguarded = furnished(SCHEMA);
        unguarded.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
        assert_eq!(refusal(&unguarded, statement), None, "{name} is not what refuses {statement}");
    }
}

#[test]
fn no_trigger_is_left_out() {
    let covered: BTreeSet<&str> = REFUSED.iter().map(|(name, _)| *name).chain([CASCADE]).collect();
    let connection = furnished(SCHEMA);
    let triggers = known(&connection, "trigger");
    let known: BTreeSet<&str> = triggers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(covered, known);
}

#[test]
fn a_deleted_job_takes_its_history_with_it_and_its_id_is_not_used_again() {
    let left = |connection: &rusqlite::Connection| -> i64 {
        let sql = "SELECT (SELECT count(*) FROM attempts WHERE job_id = 3) + (SELECT count(*) FROM outputs)
                          + (SELECT count(*) FROM inputs WHERE job_id = 3)";
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let connection = furnished(SCHEMA);
    connection.execute_batch("DELETE FROM jobs WHERE id = 3").unwrap();
    assert_eq!(left(&connection), 0);

    let connection = furnished(SCHEMA);
    connection.execute_batch(&format!("DROP TRIGGER {CASCADE}; DELETE FROM jobs WHERE id = 3")).unwrap();
    assert_eq!(left(&connection), 3);

    let connection = furnished(SCHEMA);
    connection
        .execute_batch(
            "UPDATE jobs SET state = 'cancelled' WHERE id = 4; DELETE FROM jobs WHERE id = 4;
             INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at)
             VALUES (1, 'b', 'q', 0, 'pending', 1, 1, 1)",
        )
        .unwrap();
    assert_eq!(connection.last_insert_rowid(), 5);
}

#[test]
fn a_job_moves_along_the_arrows_of_the_contract_and_no_others() {
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
    for &from in JobState::ALL {
        for &to in JobState::ALL {
            let connection = furnished(SCHEMA);
            let triggers = known(&connection, "trigger");
            let (name, sql) = triggers.iter().find(|(name, _)| name == "jobs_move_by_the_rules").unwrap();
            connection.execute_batch(&format!("DROP TRIGGER {name}; {}; {sql}", put(from))).unwrap();
            let allowed = from == to || arrows.contains(&(from, to));
            assert_eq!(refusal(&connection, &put(to)).is_none(), allowed, "{from} to {to}");
        }
    }
}
