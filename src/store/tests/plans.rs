//! The statements that every claim, enqueue and finish runs go by an index, whatever else is in the file.
//!
//! The SQL is not written down here a second time: real calls are traced, and each statement that they ran is
//! explained.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use rusqlite::StatementStatus::{AutoIndex, FullscanStep, Sort};
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use super::fixture::{Place, exited, lost, new_job, spec, unsynced, worker_row};
use crate::model::{JobState, Limits, Outcome, Rate};
use crate::store::{
    Definitions, Filter, LimitChange, NewJob, OnConflict, Output, PruneFilter, Store, TurnRequest,
};
use crate::text::{Millis, Timestamp};

const CLOCK: &dyn Fn() -> Timestamp = &|| Timestamp(1_000);

/// What ran, and what SQLite counted of it.
#[derive(Default)]
struct Traced {
    sql: BTreeSet<String>,
    slow: BTreeSet<String>,
}

/// Listens to the statements of this store from now on.
fn listen(store: &mut Store) -> Arc<Mutex<Traced>> {
    let traced = Arc::new(Mutex::new(Traced::default()));
    let heard = Arc::clone(&traced);
    let hear = move |event: TraceEvent<'_>| {
        if let TraceEvent::Profile(statement, _) = event {
            let mut heard = heard.lock().unwrap();
            // These count the steps of triggers, too, which EXPLAIN QUERY PLAN leaves out.
            for (kind, status) in [("scan", FullscanStep), ("sort", Sort), ("automatic index", AutoIndex)] {
                if statement.get_status(status) > 0 {
                    heard.slow.insert(format!("{kind}: {}", statement.sql()));
                }
            }
            heard.sql.insert(statement.sql().into_owned());
        }
    };
    store.connection.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(hear)).unwrap();
    traced
}

/// What ran while this was done, once each, and those of it that stepped through a table or sorted.
fn traced(store: &mut Store, what: impl FnOnce(&mut Store)) -> Traced {
    let traced = listen(store);
    what(store);
    store.connection.trace_v2(TraceEventCodes::empty(), None::<fn(TraceEvent<'_>)>).unwrap();
    let mut traced = std::mem::take(&mut *traced.lock().unwrap());
    // The search for what nothing uses any more reads all jobs and attempts once, after a prune.
    let once = |sql: &String| sql.contains("PRAGMA") || sql.contains("NOT IN (SELECT");
    traced.sql.retain(|sql| !once(sql));
    // As few as the slots of all workers.
    let few = |sql: &String| sql.ends_with("FROM jobs WHERE state = 'running'");
    traced.slow.retain(|sql| !once(sql) && !few(sql));
    traced
}

/// The steps of the plan of this statement; none where it names an index that is not there.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = match connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")) {
        Err(error) if error.to_string().contains("no such index") => return Vec::new(),
        prepared => prepared.unwrap(),
    };
    let mut rows = statement.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get("detail").unwrap());
    }
    steps
}

fn job(queue: &str, priority: i32, key: Option<&str>) -> NewJob {
    let mut spec = spec("a");
    queue.clone_into(&mut spec.queue);
    spec.priority = priority;
    spec.unique_key = key.map(str::to_owned);
    spec.expires_in = key.map(|_| Millis(5_000));
    NewJob { idempotency_key: key.map(str::to_owned), ..new_job(spec) }
}

/// Everything that happens while jobs flow.
fn flow(store: &mut Store) {
    let mut definitions = Definitions::default();
    let worker = store.register_worker(&worker_row("one")).unwrap();
    let other = store.register_worker(&worker_row("two")).unwrap();
    let limits = Limits { max_running: Some(3), rate: Some(Rate::parse("1/s").unwrap()) };
    store.change_limits("p", LimitChange::Set(limits)).unwrap();
    for (n, queue) in ["p", "q", "p", "q", "q"].iter().enumerate() {
        store.add(&[job(queue, i32::from(n > 2), Some(&format!("k{n}")))], CLOCK).unwrap();
        let late = NewJob { run_at: Some(Timestamp(9_000)), ..job(queue, 0, None) };
        store.add(&[late], CLOCK).unwrap();
    }
    let again = NewJob { idempotency_key: None, on_conflict: OnConflict::Replace, ..job("q", 0, Some("k0")) };
    store.add(&[again], CLOCK).unwrap();
    let queues = ["p".to_owned(), "q".to_owned()];
    let request = TurnRequest { worker, queues: Some(&queues), ended: &[], give_back: &[], idle_slots: 2 };
    let turn = store.turn(&mut definitions, &request, CLOCK).unwrap();
    let ids: Vec<i64> = turn.claims.iter().map(|claim| claim.job_id).collect();
    store.save_live_outputs(worker, &[(ids[0], 1, Output::default())]).unwrap();
    store.output(ids[0], 1).unwrap();
    store.cancel(&ids, CLOCK).unwrap();
    let ended = [exited(ids[0], 1, Timestamp(1_000))];
    let request = TurnRequest { worker, queues: None, ended: &ended, give_back: &ids[1..], idle_slots: 1 };
    store.turn(&mut definitions, &request, CLOCK).unwrap();
    let request = TurnRequest { worker: other, queues: None, ended: &[], give_back: &[], idle_slots: 1 };
    let turn = store.turn(&mut definitions, &request, CLOCK).unwrap();
    let id = turn.claims[0].job_id;
    store.held_by(other).unwrap();
    store.recover(&mut definitions, other, &[lost(id, 1, Timestamp(1_000))], &[], CLOCK).unwrap();
    let later = || Timestamp(8_000);
    let request = TurnRequest { worker, queues: None, ended: &[], give_back: &[], idle_slots: 0 };
    store.turn(&mut definitions, &request, &later).unwrap();
    store.retry(&[ids[1]], true, &later).unwrap();
    store.make_due(&[ids[1]], &later).unwrap();
    store.job(ids[0], Timestamp(1_000)).unwrap();
    store.history(ids[0], 10).unwrap();
    store.attempt(ids[0], 1).unwrap();
    store.open_workers().unwrap();
    store.worker_ended(worker, Timestamp(9)).unwrap();
    store.data_version().unwrap();
    let states = vec![JobState::Succeeded, JobState::Dead];
    let filter =
        PruneFilter { states, name: None, queue: None, until: Timestamp(9_000), now: Timestamp(9_000) };
    store.count_prunable(&filter).unwrap();
    store.prune(&filter, &mut |_| true).unwrap();
}

/// Screens whose statements must not take longer the more jobs there are.
fn screens(store: &mut Store) {
    let now = Timestamp(2_000);
    store.overview(now).unwrap();
    store.recent_names(["b"].into_iter(), 10, now).unwrap();
    let name = Some("a".to_owned());
    let filter = Filter { name: name.clone(), queue: name, since: Some(Timestamp(1)), ..Filter::default() };
    store.stats(&filter, now).unwrap();
    store.timeline(&filter).unwrap();
    store.due_jobs(&filter, now).unwrap();
    store.count_unfinished(None).unwrap();
    let code = Some("EXIT_1".to_owned());
    let filters = [
        Filter::default(),
        Filter { dead_by_time: true, ..Filter::default() },
        Filter { since: Some(Timestamp(1)), dead_by_time: true, ..Filter::default() },
        Filter { error_code: code.clone(), dead_by_time: true, ..Filter::default() },
        Filter { name: Some("a".to_owned()), ..Filter::default() },
    ];
    store.for_each_dead_letter(&Filter::default(), now, |_| {}).unwrap();
    for filter in filters {
        let (_, next) = store.jobs_page(&filter, None, 1, now).unwrap();
        store.jobs_page(&filter, next, 1, now).unwrap();
    }
    let filters = [
        Filter::default(),
        Filter { outcomes: vec![Outcome::Failed, Outcome::TimedOut], ..Filter::default() },
        Filter { error_code: code, ..Filter::default() },
    ];
    for filter in filters {
        let (_, next) = store.attempts_page(&filter, None, 1).unwrap();
        store.attempts_page(&filter, next, 1).unwrap();
    }
}

/// As short as the number of workers, their slots, or queues with a row, however many jobs there are; a chunk of ids; and no
/// table at all.
const SHORT: [&str; 7] = [
    "SCAN j USING COVERING INDEX jobs_running",
    "SCAN workers USING INDEX workers_open",
    "SCAN queues",
    "SCAN jobs USING COVERING INDEX jobs_running",
    "SCAN r USING COVERING INDEX jobs_running",
    "SCAN json_each VIRTUAL TABLE INDEX 1:",
    "SCAN CONSTANT ROW",
];

/// The steps of all these plans that take longer the more jobs there are.
fn long_steps<'a>(connection: &Connection, statements: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let steps =
        statements.into_iter().flat_map(|sql| plan(connection, sql).into_iter().map(move |step| (step, sql)));
    let long = steps.filter(|(step, _)| {
        step.contains("TEMP B-TREE") || step.starts_with("SCAN") && !SHORT.contains(&step.as_str())
    });
    long.map(|(step, sql)| format!("{step}: {sql}")).collect()
}

#[test]
fn no_statement_of_the_flow_walks_or_sorts_jobs_or_attempts_and_each_index_is_needed() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    let traced = traced(&mut store, flow);
    assert_eq!(long_steps(&store.connection, &traced.sql), [""; 0]);
    assert_eq!(traced.slow, BTreeSet::new());
    for index in [
        "jobs_waiting",
        "jobs_running",
        "jobs_expiring",
        "jobs_finished",
        "jobs_unique_key",
        "jobs_idempotency_key",
        "definitions_by_hash",
        "workers_open",
    ] {
        let dropping = store.connection.transaction().unwrap();
        dropping.execute_batch(&format!("DROP INDEX {index}")).unwrap();
        let missed = !long_steps(&dropping, &traced.sql).is_empty();
        assert!(missed, "nothing that was traced uses {index}");
    }
}

#[test]
fn no_screen_walks_or_sorts_jobs_or_attempts_and_each_index_is_used() {
    let place = Place::empty();
    let mut store = unsynced(place.open());
    flow(&mut store);
    let traced = traced(&mut store, screens);
    let mut long = long_steps(&store.connection, &traced.sql);
    // Few rows, whatever happens; counts, which read nothing but a narrow index; and pages, which go along an index until
    // they are full.
    let as_short = [
        "SCAN queues",
        "SCAN r USING COVERING INDEX jobs_running:",
        "SCAN jobs USING COVERING INDEX jobs_waiting: SELECT queue, count(*)",
        "SCAN jobs USING COVERING INDEX jobs_waiting: SELECT (SELECT count(*)",
        "SCAN jobs USING COVERING INDEX jobs_blocked: SELECT queue, count(*)",
        "SCAN jobs USING COVERING INDEX jobs_blocked: SELECT (SELECT count(*)",
        "SCAN jobs USING COVERING INDEX jobs_dead: SELECT error_code, count(*)",
        "SCAN jobs USING INDEX jobs_running:",
        "SCAN jobs USING INDEX jobs_waiting: SELECT name, run_at",
        "SCAN jobs USING COVERING INDEX jobs_running:",
        "SCAN a USING COVERING INDEX attempts_by_time:",
        "SCAN a USING INDEX attempts_by_time:",
    ];
    long.retain(|step| !as_short.iter().any(|short| step.starts_with(short)));
    assert_eq!(long, [""; 0]);
    for index in ["jobs_finished", "jobs_dead", "jobs_by_name", "attempts_by_time"] {
        assert!(traced.sql.iter().any(|sql| sql.contains(&format!("INDEXED BY {index}"))), "{index}");
    }
}
