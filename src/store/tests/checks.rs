//! Each CHECK of the schema refuses what it is there to refuse; without it, the same statement goes through.

use std::collections::BTreeSet;
use std::ops::Range;

use super::schema::{SCHEMA, furnished, refusal};

/// A statement that a CHECK refuses; the first line is the expression of the CHECK.
const REFUSED: &[&str] = &[
    "json_valid(spec)
        INSERT INTO definitions VALUES (9, 1, 'no json')",
    "priority BETWEEN -1000 AND 1000
        UPDATE jobs SET priority = 1001 WHERE id = 1",
    "priority BETWEEN -1000 AND 1000
        UPDATE jobs SET priority = -1001 WHERE id = 1",
    "state = 'pending' OR state = 'running' OR state = 'succeeded' OR state = 'dead' OR state = 'cancelled'
        UPDATE jobs SET state = 'lost', worker_id = NULL WHERE id = 2",
    "attempts >= 0
        UPDATE jobs SET attempts = -1 WHERE id = 1",
    "budget_used >= 0
        UPDATE jobs SET budget_used = -1 WHERE id = 1",
    "dead_reason = 'interrupted' OR dead_reason = 'unrecoverable' OR dead_reason = 'never_retry' OR dead_reason = 'not_retryable' OR dead_reason = 'code_not_listed' OR dead_reason = 'spawn_failed' OR dead_reason = 'attempts_exhausted' OR dead_reason = 'expired'
        UPDATE jobs SET state = 'dead', error_code = 'X', dead_reason = 'bored' WHERE id = 1",
    "(state = 'running') = (worker_id IS NOT NULL)
        UPDATE jobs SET worker_id = NULL WHERE id = 2",
    "(state = 'running') = (worker_id IS NOT NULL)
        UPDATE jobs SET worker_id = 1 WHERE id = 1",
    "(state = 'dead') = (dead_reason IS NOT NULL)
        UPDATE jobs SET dead_reason = NULL WHERE id = 3",
    "(state = 'dead') = (error_code IS NOT NULL)
        UPDATE jobs SET error_code = 'X' WHERE id = 1",
    "state <> 'pending' OR cancel_requested_at IS NULL
        UPDATE jobs SET cancel_requested_at = 1 WHERE id = 1",
    "state <> 'succeeded' OR attempts > 0
        UPDATE jobs SET state = 'succeeded', worker_id = NULL WHERE id = 2",
    "budget_used <= attempts
        UPDATE jobs SET budget_used = 1 WHERE id = 1",
    "expires_at >= run_at
        UPDATE jobs SET expires_at = 0 WHERE id = 1",
    "number >= 1
        DROP TRIGGER attempts_are_numbered_without_gaps; ATTEMPT number = 0",
    "budget_number >= 1
        ATTEMPT budget_number = 0",
    "outcome IN ('succeeded', 'failed', 'timed_out', 'spawn_failed', 'worker_crashed', 'interrupted', 'cancelled')
        ATTEMPT outcome = 'odd'",
    "exit_code BETWEEN 0 AND 255
        ATTEMPT exit_code = 256",
    "exit_code BETWEEN 0 AND 255
        ATTEMPT exit_code = -1",
    "signal > 0
        ATTEMPT exit_code = NULL, signal = 0",
    "duration_ms >= 0
        ATTEMPT duration_ms = -1",
    "leaked IN (0, 1)
        ATTEMPT leaked = 2",
    "next_state IN ('succeeded', 'pending', 'dead', 'cancelled')
        ATTEMPT next_state = 'running'",
    "nominal_delay_ms >= 0
        ATTEMPT next_state = 'pending', nominal_delay_ms = -1, delay_ms = 0",
    "delay_ms >= 0
        ATTEMPT next_state = 'pending', nominal_delay_ms = 0, delay_ms = -1",
    "(outcome = 'succeeded') = (error_code IS NULL)
        ATTEMPT error_code = NULL",
    "(outcome = 'succeeded') = (next_state = 'succeeded')
        ATTEMPT next_state = 'succeeded'",
    "exit_code IS NULL OR signal IS NULL
        ATTEMPT signal = 9",
    "outcome NOT IN ('spawn_failed', 'worker_crashed') OR (exit_code IS NULL AND signal IS NULL)
        ATTEMPT outcome = 'spawn_failed'",
    "outcome NOT IN ('spawn_failed', 'worker_crashed') OR (exit_code IS NULL AND signal IS NULL)
        ATTEMPT outcome = 'worker_crashed', duration_ms = NULL, exit_code = NULL, signal = 9",
    "(outcome = 'worker_crashed') = (duration_ms IS NULL)
        ATTEMPT duration_ms = NULL",
    "(next_state = 'dead') = (dead_reason IS NOT NULL)
        ATTEMPT next_state = 'dead'",
    "(next_state = 'pending') = (delay_ms IS NOT NULL)
        ATTEMPT next_state = 'pending'",
    "(delay_ms IS NULL) = (nominal_delay_ms IS NULL)
        ATTEMPT next_state = 'pending', delay_ms = 1",
    "stdout_omitted >= 0
        INSERT INTO outputs VALUES (2, 1, x'', 0, -1, x'', 0, 0)",
    "stderr_omitted >= 0
        INSERT INTO outputs VALUES (2, 1, x'', 0, 0, x'', 0, -1)",
    "length(stdin) <= 16777216
        INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at)
        VALUES (1, 'b', 'q', 0, 'pending', 1, 1, 1); INSERT INTO inputs VALUES (5, zeroblob(16777217))",
    "slots > 0
        UPDATE workers SET slots = 0",
    "queues IS NULL OR json_valid(queues)
        UPDATE workers SET queues = 'no json'",
];

/// A CHECK whose words are worth having although another one would refuse the same.
const IMPLIED: [(&str, &str); 1] = [("attempts >= 0", "budget_used <= attempts")];

/// A failed attempt of job 2, which is cancelled then.
const ATTEMPT: [(&str, &str); 17] = [
    ("job_id", "2"),
    ("number", "1"),
    ("budget_number", "1"),
    ("outcome", "'failed'"),
    ("error_code", "'EXIT_1'"),
    ("exit_code", "1"),
    ("signal", "NULL"),
    ("message", "NULL"),
    ("worker_id", "1"),
    ("started_at", "2"),
    ("finished_at", "3"),
    ("duration_ms", "1"),
    ("leaked", "0"),
    ("next_state", "'cancelled'"),
    ("dead_reason", "NULL"),
    ("nominal_delay_ms", "NULL"),
    ("delay_ms", "NULL"),
];

/// Writes `ATTEMPT column = value, …` out: that attempt, with other values in these columns.
fn written_out(statement: &str) -> String {
    let Some((before, changes)) = statement.split_once("ATTEMPT") else {
        return statement.to_owned();
    };
    let changes: Vec<(&str, &str)> =
        changes.split(',').filter_map(|change| change.trim().split_once(" = ")).collect();
    let value = |(column, usual): &(&str, &'static str)| {
        changes.iter().find(|(changed, _)| changed == column).map_or(*usual, |(_, value)| value).to_owned()
    };
    let values: Vec<String> = ATTEMPT.iter().map(value).collect();
    format!("{before}INSERT INTO attempts VALUES ({})", values.join(", "))
}

/// Where the CHECKs stand in the schema, from the word to its closing parenthesis.
fn places() -> Vec<Range<usize>> {
    let without_comments: String = SCHEMA
        .split_inclusive('\n')
        .map(|line| match line.split_once("--") {
            Some((code, comment)) => format!("{code}{}\n", " ".repeat(comment.len() + 1)),
            None => line.to_owned(),
        })
        .collect();
    assert_eq!(without_comments.len(), SCHEMA.len());
    without_comments
        .match_indices("CHECK (")
        .map(|(start, _)| {
            let mut depth = 0;
            let length = without_comments[start..].find(|letter| {
                depth += i32::from(letter == '(') - i32::from(letter == ')');
                letter == ')' && depth == 0
            });
            start..start + length.unwrap() + 1
        })
        .collect()
}

/// The expression of a CHECK, with single spaces.
fn expression(place: &Range<usize>) -> String {
    spaced(&SCHEMA[place.start + "CHECK (".len()..place.end - 1])
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_check_refuses_what_it_is_there_to_refuse() {
    for case in REFUSED {
        let (check, statement) = case.split_once('\n').unwrap();
        let statement = written_out(statement.trim());
        let words = format!("CHECK constraint failed: {check}");
        let said = refusal(&furnished(SCHEMA), &statement);
        assert_eq!(said.as_deref().map(spaced), Some(words.clone()), "{statement}");

        let place = places().into_iter().find(|place| expression(place) == check).unwrap();
        let mut without = SCHEMA.to_owned();
        without.replace_range(place, "CHECK (1)");
        let said = refusal(&furnished(&without), &statement);
        let also = IMPLIED.iter().find(|(implied, _)| *implied == check).map(|(_, by)| *by);
        let expected = also.map(|by| format!("CHECK constraint failed: {by}"));
        assert_eq!(said, expected, "{check} is not what refuses {statement}");
    }
}

#[test]
fn no_check_is_left_out() {
    let covered: BTreeSet<&str> = REFUSED.iter().filter_map(|case| Some(case.split_once('\n')?.0)).collect();
    let places = places();
    let known: BTreeSet<String> = places.iter().map(expression).collect();
    assert_eq!(known.len(), places.len(), "two checks read the same");
    assert_eq!(covered, known.iter().map(String::as_str).collect());
}

#[test]
fn the_usual_attempt_is_taken() {
    assert_eq!(refusal(&furnished(SCHEMA), &written_out("ATTEMPT")), None);
}
