//! The schema refuses harm to anybody with `sqlite3` in hand, and has views to read.

use crate::support::Sandbox;

/// Job 1 dead after two attempts, job 2 succeeded, job 3 waiting.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(
        "[jobs.bad]\ncommand = 'echo oops >&2; exit 3'\nbackoff = ['1ms']\n[jobs.good]\ncommand = 'true'\n",
    );
    sandbox.run("enqueue bad good").ok();
    sandbox.run("work -j1 --drain").exits(1);
    sandbox.add("good --in 1h");
    sandbox
}

#[test]
fn attempts_cannot_be_changed_or_deleted_while_their_job_exists() {
    let sandbox = sandbox();
    let sql = sandbox.sql();
    for statement in [
        "UPDATE attempts SET exit_code = 0 WHERE job_id = 1",
        "UPDATE attempts SET number = number + 10",
        "UPDATE OR REPLACE attempts SET number = 1",
        "DELETE FROM attempts WHERE job_id = 1 AND number = 2",
        "DELETE FROM attempts",
        "UPDATE outputs SET stderr = x''",
        "DELETE FROM jobs WHERE id = 3",
        "DELETE FROM jobs",
    ] {
        sql.refused(statement);
    }
    assert_eq!(sql.number("SELECT count(*) FROM jobs"), 3);
}

#[test]
fn the_identity_of_a_job_cannot_be_changed() {
    let sandbox = sandbox();
    let sql = sandbox.sql();
    for sets in ["id = 30", "name = 'other'", "args = x'00'", "idempotency_key = 'k'", "enqueued_at = 0"] {
        sql.refused(&format!("UPDATE jobs SET {sets} WHERE id = 3"));
    }
    sql.refused("UPDATE job_definitions SET definition = '{}'");
    sql.refused("UPDATE jobs SET state = 'succeeded' WHERE id = 1");
    sql.refused("UPDATE jobs SET state = 'pending' WHERE id = 2");
    sql.refused("UPDATE jobs SET state = 'asleep' WHERE id = 3");
    sql.refused("UPDATE jobs SET state = 'dead' WHERE id = 3");
}

#[test]
fn dead_letters_and_attempt_history_are_for_people() {
    let sandbox = sandbox();
    let sql = sandbox.sql();
    let letter = sql.text("SELECT id || ' ' || name || ' ' || error_code || ' ' || dead_reason || ' ' || stderr FROM dead_letters");
    assert_eq!(letter, "1 bad EXIT_3 attempts_exhausted oops\n");
    assert_eq!(sql.number("SELECT count(*) FROM attempt_history WHERE name = 'bad' AND exit_code = 3"), 2);
    let started = sql.text("SELECT started FROM attempt_history WHERE job_id = 2");
    assert!(started.len() == 24 && started.ends_with('Z'), "{started}");
}

#[test]
fn times_are_milliseconds_since_the_epoch() {
    let sandbox = sandbox();
    let at = sandbox.sql().number("SELECT enqueued_at FROM jobs WHERE id = 1");
    assert!((1_700_000_000_000..10_000_000_000_000).contains(&at), "{at}");
}

/// As the reference says of tools that take no other text.
#[test]
fn the_views_are_text_but_for_what_a_job_wrote() {
    let sandbox = Sandbox::empty();
    let raw =
        r"printf '\377' | tee /dev/stderr; printf 'message=\377\nresult=\376\n' >> $RUNNER_REPORT; exit 3";
    sandbox.finish_line("", raw);
    let sql = sandbox.sql();
    for (view, raw) in [("dead_letters", &["stderr"][..]), ("attempt_history", &["stdout", "stderr"])] {
        let columns = sql.all(&format!("SELECT name FROM pragma_table_info('{view}')"), |row| row.get(0));
        let columns: Vec<String> = columns;
        let (raw, text): (Vec<_>, Vec<_>) = columns.iter().partition(|column| raw.contains(&column.as_str()));
        for column in text {
            let query = format!("SELECT CAST({column} AS TEXT) FROM {view}");
            assert_eq!(sql.all(&query, |row| row.get::<_, Option<String>>(0)).len(), 1, "{column}");
        }
        for column in raw {
            let query = format!("SELECT CAST({column} AS BLOB) FROM {view}");
            assert_eq!(sql.all(&query, |row| row.get::<_, Vec<u8>>(0)), [b"\xff"], "{column}");
        }
    }
}
