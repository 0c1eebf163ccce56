//! Breaks each promise in turn and checks that the judge sees it.

use crate::evidence::{Acknowledged, Attempt, AttemptId, Job, Line, Promises, Rows};
use crate::judge::{Moment, judge};
use crate::support::{Sandbox, Sql};

/// A few jobs, so that every rule has something to look at.
const JOBS: &str = r#"
[queues.few]
max_running = 1
[jobs.good]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log; echo end $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log"
[jobs.bad]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log; exit 1"
queue = "few"
max_attempts = 2
backoff = "1ms"
[jobs.once]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log; exit 1"
queue = "few"
retryable = false
[jobs.last]
command = "echo start $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log; echo end $RUNNER_JOB_ID $RUNNER_ATTEMPT >> log"
after = ["good"]
"#;

type Harm = fn(&mut Rows, &mut Promises);

fn attempt(rows: &mut Rows, id: AttemptId) -> &mut Attempt {
    rows.attempts.get_mut(&id).expect("an attempt")
}

fn job(rows: &mut Rows, id: u64) -> &mut Job {
    rows.jobs.get_mut(&id).expect("a job")
}

fn side(promises: &mut Promises) -> &mut Vec<Line> {
    promises.side.as_mut().expect("a side log")
}

/// Jobs 1 and 2 are dead, 3 and 4 have succeeded, 5 is cancelled, and 6 waits for job 1.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("apply -q").exits(0);
    sandbox.run("enqueue bad once last").exits(0).prints("1\n2\n3\n4\n");
    sandbox.run("work -j1 --drain").exits(1);
    sandbox.add("good --unique-key k --env BATCH=b");
    sandbox.run("cancel 5").exits(0);
    sandbox.run("enqueue good --after 1").exits(0);
    sandbox
}

#[test]
fn the_judge_sees_every_broken_promise() {
    let sandbox = sandbox();
    let text = sandbox.read("log");
    let judged = |harm: Harm| {
        let mut rows = Rows::read(&sandbox.db()).expect("the database can be read");
        let mut promises = Promises::of(1..=6, Some(&text));
        promises.cancelled.insert(5);
        harm(&mut rows, &mut promises);
        judge(&rows, &promises, Moment::Drained)
    };
    assert_eq!(judged(|_, _| {}), [""; 0]);
    let harms: [(&str, Harm); 23] = [
        ("was given priority 9", |_, promises| promises.priorities.extend([(1, 9)])),
        // It died, so no worker may have removed it.
        ("job 1 was printed and is not there", |rows, promises| {
            promises.prunes = true;
            let (attempt, row) =
                rows.attempts.iter().next_back().map(|(id, row)| (*id, row)).expect("an attempt");
            promises.ended.insert(
                (1, attempt.1),
                crate::evidence::End { dead_reason: Some("failed".to_owned()), ..row.end.clone() },
            );
            rows.jobs.remove(&1);
        }),
        ("began and is not there", |rows, _| {
            rows.jobs.remove(&1);
        }),
        ("is not finished", |rows, _| job(rows, 1).state = "pending".to_owned()),
        ("is not finished", |rows, _| rows.dependencies.clear()),
        ("beyond the budget", |rows, _| attempt(rows, (1, 2)).place_in_budget = 3),
        ("new budgets", |rows, _| attempt(rows, (1, 2)).place_in_budget = 1),
        ("of the limited queue", |rows, _| {
            for id in [1, 2] {
                job(rows, id).state = "running".to_owned();
            }
        }),
        ("before job 3 had succeeded", |rows, _| attempt(rows, (3, 1)).finished_at = i64::MAX),
        ("are both", |rows, _| {
            for id in [1, 2] {
                (job(rows, id).name, job(rows, id).scheduled_for) = ("tick".to_owned(), Some(7));
            }
        }),
        ("fired last", |rows, _| {
            rows.last_firings.insert("tick".to_owned(), (7, 1));
        }),
        ("not recorded", |_, promises| {
            promises.started.insert((1, 3));
        }),
        ("not retryable", |_, promises| {
            promises.started.insert((2, 2));
        }),
        ("started 2 times", |_, promises| side(promises).push(Line::parse("start 1 2"))),
        ("never came to its end", |_, promises| {
            side(promises).retain(|line| line.attempt.0 != 3 || line.event == "start");
        }),
        ("never started", |_, promises| side(promises).retain(|line| line.attempt.0 != 2)),
        ("as well", |_, promises| side(promises).push(Line::parse("beat 1 2 another-worker"))),
        ("after the start of 2", |_, promises| side(promises).push(Line::parse("beat 1 1"))),
        ("cancel was on record", |rows, _| job(rows, 5).state = "dead".to_owned()),
        ("was put back", |_, promises| {
            promises.retried.insert(1, 2);
        }),
        ("was printed and is not there", |_, promises| {
            promises.acknowledged.insert(9, Acknowledged::default());
        }),
        ("were enqueued together", |_, promises| {
            promises.batches.insert("b".to_owned(), 2);
        }),
        ("ran when", |_, promises| side(promises).push(Line::parse("beat 1 1"))),
    ];
    for (expected, harm) in harms {
        let found = judged(harm);
        assert!(found.iter().any(|what| what.contains(expected)), "{expected:?} is not seen: {found:#?}");
    }
}

#[test]
fn the_judge_sees_what_the_audit_finds() {
    let sandbox = sandbox();
    for (number, (tampering, expected)) in [
        ("DELETE FROM attempts WHERE job_id = 1 AND number = 1", "attempts are numbered from 1 without gaps: job 1"),
        ("UPDATE jobs SET attempts = 9 WHERE id = 1", "a job counts its attempts: job 1"),
        ("UPDATE attempts SET outcome = 'succeeded' WHERE job_id = 1 AND number = 1", "last attempt: job 1 went on"),
        ("UPDATE jobs SET state = 'cancelled' WHERE id = 3", "last attempt: job 3 went on"),
        ("UPDATE jobs SET state = 'succeeded' WHERE id = 1", "job 1 succeeded without a successful attempt"),
        ("DELETE FROM jobs WHERE id = 1", "attempt 2 of job 1 has no job"),
        (
            "DROP INDEX jobs_unique_key; UPDATE jobs SET unique_key = 'k', state = 'pending' WHERE id IN (5, 6);
             CREATE INDEX jobs_unique_key ON jobs (unique_key)
                 WHERE unique_key IS NOT NULL AND state IN ('pending', 'running');
             PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'CREATE ', 'CREATE UNIQUE ')
                 WHERE name = 'jobs_unique_key'",
            "non-unique entry in index jobs_unique_key",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let copy = format!("{number}.db");
        sandbox.run(&format!("backup {copy}")).exits(0);
        Sql::open(&sandbox.path(&copy)).force(tampering);
        let rows = Rows::read(&sandbox.path(&copy)).expect("the database can be read");
        let found = judge(&rows, &Promises::of([], None), Moment::Any);
        assert!(found.iter().any(|what| what.contains(expected)), "{tampering} is not seen: {found:#?}");
    }
}
