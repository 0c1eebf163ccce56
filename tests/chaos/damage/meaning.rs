//! Rows that SQLite finds sound and that mean nothing: a definition without a command, a name with an escape in it, the id of a
//! worker that is a path. Whatever some verb calls damaged, the doctor names and `restore` refuses; and what is wrong with a row
//! does not reach the terminal.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::trial::Trial;
use crate::support::{Sandbox, many_kinds};
use crate::tools::Violations;

/// What stands in the place of a name, a key or a label.
const TEXTS: [&str; 5] = [
    "char(27) || '[2J'",
    "'a' || char(0) || 'b'",
    "'a' || char(8238) || 'b'",
    "CAST(x'c328' AS TEXT)",
    "' '",
];

/// Where it stands.
const COLUMNS: [(&str, &str, &str); 10] = [
    ("jobs", "name", "id = 1"),
    ("jobs", "queue", "id = 3"),
    ("jobs", "unique_key", "id = 1"),
    ("jobs", "idempotency_key", "id = 1"),
    ("jobs", "label", "id = 1"),
    ("jobs", "error_code", "state = 'dead'"),
    ("attempts", "error_code", "error_code IS NOT NULL"),
    ("workers", "name", "1"),
    ("queues", "name", "1"),
    ("schedules", "name", "1"),
];

/// What else can be wrong.
const STATEMENTS: [&str; 36] = [
    "UPDATE job_definitions SET definition = '{}' WHERE id = 1",
    "UPDATE job_definitions SET definition = '[]' WHERE id = 1",
    "UPDATE job_definitions SET definition = 'null' WHERE id = 1",
    "UPDATE job_definitions SET definition = '{\"name\": \"a\"}' WHERE id = 1",
    "UPDATE job_definitions SET definition = json_set(definition, '$.name', char(27) || '[2J') WHERE id = 1",
    "UPDATE job_definitions SET definition = json_set(definition, '$.name', 'a' || char(0)) WHERE id = 1",
    "UPDATE job_definitions SET definition = json_set(definition, '$.no_such_key', 1) WHERE id = 1",
    "UPDATE job_definitions SET definition = json_set(definition, '$.policy.max_attempts', -1) WHERE id = 1",
    "UPDATE job_definitions SET definition = json_set(definition, '$.policy.never_retry_for', json_array('a' || char(27)))",
    "UPDATE job_definitions SET definition = json_set(definition, '$.grace_period', 'soon')",
    "INSERT INTO job_definitions (hash, definition) VALUES (1, '{}')",
    "UPDATE jobs SET result = CAST(x'ff' AS TEXT) WHERE id = 2",
    "UPDATE jobs SET attempts = 4294967296 WHERE id = 1",
    "UPDATE attempts SET message = CAST(x'ff' AS TEXT)",
    "UPDATE attempts SET dead_reason = 'bored' WHERE dead_reason IS NOT NULL",
    "UPDATE attempts SET signal = 4294967297, exit_code = NULL WHERE exit_code IS NOT NULL",
    "UPDATE outputs SET stdout_head = -1",
    "UPDATE outputs SET marks = x'ff'",
    "UPDATE outputs SET stderr = CAST(stderr || 'x' AS BLOB)",
    "UPDATE workers SET name = ''",
    "UPDATE workers SET name = '0123456789abcdeF'",
    "UPDATE workers SET name = '../../tmp/x'",
    "UPDATE workers SET name = '0123456789abcde' || char(0)",
    "UPDATE workers SET ended_at = NULL, queues = '{}'",
    "UPDATE workers SET ended_at = NULL, queues = json_array(char(27) || '[2J')",
    "UPDATE workers SET ended_at = NULL, pid = 99999999999",
    "UPDATE workers SET ended_at = NULL, mark = CAST(x'ff' AS TEXT)",
    "UPDATE schedules SET chain = '{}'",
    "UPDATE schedules SET chain = json_set(chain, '$.root.definition.name', 'other')",
    "UPDATE schedules SET chain = json_set(chain, '$.root.definition.name', char(27) || '[2J')",
    "UPDATE schedules SET chain = json_set(chain, '$.root.after', json('[7]'))",
    "UPDATE schedules SET schedule = char(27) || '[2J'",
    "UPDATE schedules SET file = CAST(x'ff' AS TEXT)",
    "UPDATE queues SET rate = '1x/s'",
    "INSERT INTO removed_attempts VALUES (char(27) || '[2J', 'failed', 1, 1, 1)",
    "INSERT INTO removed_attempts VALUES ('a', 'odd', 1, 1, 1)",
];

/// A database with everything that the statements are about.
fn sandbox() -> Sandbox {
    let sandbox = many_kinds();
    sandbox.write("scheduled.toml", "[jobs.nightly]\ncommand = 'true'\nschedule = '@daily'\n");
    sandbox.run("apply --file scheduled.toml").exits(0);
    sandbox.run("limit net --max-running 2").exits(0);
    sandbox
}

#[test]
fn what_some_verb_calls_damaged_the_doctor_names_and_restore_refuses() {
    let violations = Violations::default();
    let of_text = |(number, (table, column, rows)): (usize, &(&str, &str, &str))| {
        // Two of them for each column, and all of them somewhere.
        let texts = [TEXTS[number % TEXTS.len()], TEXTS[(number + 1) % TEXTS.len()]];
        texts.map(|text| format!("UPDATE OR REPLACE {table} SET {column} = {text} WHERE {rows}"))
    };
    let statements = COLUMNS.iter().enumerate().flat_map(of_text);
    for statement in statements.chain(STATEMENTS.map(str::to_owned)) {
        let mut trial = Trial::of(sandbox(), statement.clone());
        trial.sandbox().sql().force(&statement);
        let doctor = trial.call("doctor");
        if doctor.status() != Some(1) || !doctor.stdout.contains("wrong:") {
            trial.violation(&format!("the doctor does not name it: {doctor}"));
        }
        let restore = trial.call("--db restored.db restore runner.db");
        if restore.status() != Some(74) {
            trial.violation(&format!("it is restored: {restore}"));
        }
        trial.every_verb(&mut StdRng::seed_from_u64(1));
        trial.tell(&violations);
    }
    violations.check("cargo test --test chaos damage::meaning");
}
