//! The statements that every claim, enqueue and finish runs go by an index, whatever else is in the file.
//!
//! The SQL is not written down here a second time: real calls are traced, and each statement that they ran is
//! explained.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use rusqlite::StatementStatus::{AutoIndex, FullscanStep, Sort};
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use super::fixture::{Place, Scene, definition, due_at, exited, lost, new_job, unsynced, worker_row};
use crate::model::{AttemptOutput, JobState, Limits, Outcome, Rate};
use crate::store::{
    Act, Caller, DefinitionCache, Due, Filter, LimitChange, LiveOutput, NewJob, OnConflict, ProcessRow,
    PruneFilter, Store, Surroundings, Takes, TurnRequest,
};
use crate::text::{Millis, Timestamp};

const NOW: Timestamp = Timestamp(1_000);

/// The statements that ran, and those for which SQLite counted a scan, a sort or an automatic index.
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

/// Traces the statements that run while this is done.
fn traced(store: &mut Store, what: impl FnOnce(&mut Store)) -> Traced {
    let traced = listen(store);
    what(store);
    store.connection.trace_v2(TraceEventCodes::empty(), None::<fn(TraceEvent<'_>)>).unwrap();
    let mut traced = std::mem::take(&mut *traced.lock().unwrap());
    // The search for what nothing uses any more reads all jobs and attempts once, after a prune.
    let once = |sql: &String| sql.contains("PRAGMA") || sql.contains("NOT IN (SELECT");
    traced.sql.retain(|sql| !once(sql));
    // There are at most as many as the slots of all workers.
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
    let mut definition = definition("a");
    queue.clone_into(&mut definition.queue);
    definition.priority = priority;
    definition.unique_key = key.map(str::to_owned);
    definition.expires_in = key.map(|_| Millis(5_000));
    NewJob { idempotency_key: key.map(str::to_owned), ..new_job(definition) }
}

/// Everything that happens while jobs flow.
fn flow(store: &mut Store) {
    let mut definitions = DefinitionCache::default();
    let worker = store.register_worker(&worker_row("one")).unwrap();
    let other = store.register_worker(&worker_row("two")).unwrap();
    let limits = Limits { max_running: Some(3), rate: Some(Rate::parse("1/s").unwrap()) };
    store.change_limits("p", LimitChange::Set(limits)).unwrap();
    for (n, queue) in ["p", "q", "p", "q", "q"].iter().enumerate() {
        store.at(NOW).add(&[job(queue, i32::from(n > 2), Some(&format!("k{n}")))]).unwrap();
        let late = NewJob { due: Due::At(Timestamp(9_000)), ..job(queue, 0, None) };
        store.at(NOW).add(&[late]).unwrap();
    }
    let again = NewJob { idempotency_key: None, on_conflict: OnConflict::Replace, ..job("q", 0, Some("k0")) };
    store.at(NOW).add(&[again]).unwrap();
    let queues = ["p".to_owned(), "q".to_owned()];
    let request =
        TurnRequest { takes: Takes::Queues(Some(&queues)), idle_slots: 2, ..TurnRequest::of(worker) };
    let turn = store.at(NOW).turn(&mut definitions, &request).unwrap();
    let ids: Vec<i64> = turn.claims.iter().map(|claim| claim.job_id).collect();
    let live = LiveOutput { job_id: ids[0], number: 1, started_at: NOW, output: AttemptOutput::default() };
    store.save_live_outputs(worker, &[live]).unwrap();
    store.output(ids[0], 1).unwrap();
    store.at(NOW).act(&ids, Act::Cancel).unwrap();
    let ended = [exited(ids[0], 1, Timestamp(1_000))];
    let request = TurnRequest {
        worker,
        takes: Takes::Queues(None),
        ended: &ended,
        release: &ids[1..],
        idle_slots: 1,
        claims_no_more: false,
        claims_left: None,
        left_alone: &[],
        only_ends: false,
        ends_with_its_jobs: false,
    };
    store.at(NOW).turn(&mut definitions, &request).unwrap();
    let request = TurnRequest { idle_slots: 1, ..TurnRequest::of(other) };
    let turn = store.at(NOW).turn(&mut definitions, &request).unwrap();
    let id = turn.claims[0].job_id;
    store.held_by(other).unwrap();
    store.at(NOW).recover(&mut definitions, other, &[lost(id, 1, Timestamp(1_000))], &[]).unwrap();
    let later = Timestamp(8_000);
    let request = TurnRequest { ..TurnRequest::of(worker) };
    store.at(later).turn(&mut definitions, &request).unwrap();
    store.at(later).act(&[ids[1]], Act::Retry { force: true }).unwrap();
    store.at(later).act(&[ids[1]], Act::Change(&due_at(Timestamp(0)))).unwrap();
    store.job(ids[0], Timestamp(1_000)).unwrap();
    store.history(ids[0], 10).unwrap();
    store.attempt(ids[0], 1).unwrap();
    store.open_workers().unwrap();
    store.at(Timestamp(9)).worker_ended(worker).unwrap();
    store.data_version().unwrap();
    let states = vec![JobState::Succeeded, JobState::Dead];
    let filter = PruneFilter { states, name: None, queue: None, until: Timestamp(9_000) };
    store.count_prunable(&filter).unwrap();
    store.prune(&filter, &mut |_| true).unwrap();
}

/// SQLite would rather go by the index of the state, through every job that ended well.
#[test]
fn a_removal_looks_up_the_jobs_that_it_removes_by_id() {
    let mut store = Place::empty().open();
    let id = store.at(NOW).add(&[job("q", 0, None)]).unwrap()[0].id;
    store.at(NOW).act(&[id], Act::Cancel).unwrap();
    let traced = traced(&mut store, |store| {
        let filter = PruneFilter {
            states: vec![JobState::Cancelled],
            name: None,
            queue: None,
            until: Timestamp(i64::MAX),
        };
        assert_eq!(store.remove_finished(&filter, 20, &mut |_| true).unwrap(), 1);
    });
    let removal = traced.sql.iter().find(|sql| sql.starts_with("DELETE FROM jobs ")).expect("a removal");
    let plan = plan(&store.connection, removal);
    assert!(plan.iter().any(|step| step.contains("SEARCH jobs USING INTEGER PRIMARY KEY")), "{plan:#?}");
}

/// A worker that a job has called looks at this in each turn.
#[test]
fn what_a_call_is_part_of_is_found_without_a_walk_through_jobs() {
    let mut scene = Scene::new();
    let job = scene.add(job("p", 0, None), 0);
    scene.store.change_limits("p", LimitChange::Set(Limits { max_running: Some(1), rate: None })).unwrap();
    assert_eq!(scene.turn(&[], 1, 1).claims[0].job_id, job);
    let process = ProcessRow { pid: 7, boot_id: "b".into(), start_ticks: 8 };
    scene.store.called_from(Caller { job, attempt: Some(1), process, is_alive: |_| true }).unwrap();
    let traced = traced(&mut scene.store, |store| {
        store.record_waits(&[5]).unwrap();
        let inside = store.inside(&[]).unwrap();
        assert!(inside.jobs.contains(&job) && inside.holds_limit_of("p"));
        store.part_of().unwrap();
        store.forget_waits().unwrap();
    });
    // There are few waits, and what was found is walked once.
    let few = |step: &String| {
        ["SCAN waits", "SCAN part", "SCAN w USING", "USE TEMP B-TREE FOR UNION"]
            .iter()
            .any(|few| step.starts_with(few))
    };
    let mut long = long_steps(&scene.store.connection, &traced.sql);
    long.retain(|step| !few(step));
    assert_eq!(long, [""; 0]);
}

/// Screens whose statements must not take longer the more jobs there are.
fn screens(store: &mut Store) {
    let now = Timestamp(2_000);
    let overview = store.overview(now).unwrap();
    let seen =
        Surroundings { queues: &overview.queues, workers: &[], schedules: &[], files: &[], leftovers: &[] };
    store.attention(seen, &Filter::default(), now).unwrap();
    store.recent_names([("b", "/b/jobs.toml")].into_iter(), 10, now).unwrap();
    let name = Some("a".to_owned());
    let filter = Filter { name: name.clone(), queue: name, since: Some(Timestamp(1)), ..Filter::default() };
    store.stats(&filter, now).unwrap();
    store.timeline(&filter, now).unwrap();
    store.count_unfinished(None).unwrap();
    store.stuck().unwrap();
    let code = Some("EXIT_1".to_owned());
    let filters = [
        Filter::default(),
        Filter { dead_by_time: true, ..Filter::default() },
        Filter { since: Some(Timestamp(1)), dead_by_time: true, ..Filter::default() },
        Filter { error_code: code.clone(), dead_by_time: true, ..Filter::default() },
        Filter { name: Some("a".to_owned()), ..Filter::default() },
        Filter { label: Some("l".to_owned()), ..Filter::default() },
        Filter { label: Some("l".to_owned()), recovered: true, dead_by_time: true, ..Filter::default() },
    ];
    store.knows_label("l").unwrap();
    let [name, label, queue] = [0, 1, 2].map(|of| move |at| (of == at).then(|| "p".to_owned()));
    for at in 0..3 {
        let filter = Filter { name: name(at), label: label(at), queue: queue(at), ..Filter::default() };
        store.unfinished_ids(&filter, now).unwrap();
    }
    store.dead_letters(&Filter::default(), 10, now).unwrap();
    for filter in filters {
        assert!(store.jobs(&filter, 1, now).unwrap().all(|job| job.is_ok()));
    }
    let filters = [
        Filter::default(),
        Filter { outcomes: vec![Outcome::Failed, Outcome::TimedOut], ..Filter::default() },
        Filter { error_code: code, ..Filter::default() },
        Filter { label: Some("l".to_owned()), ..Filter::default() },
    ];
    for filter in filters {
        assert!(store.attempts(&filter, 1).unwrap().all(|attempt| attempt.is_ok()));
    }
}

/// The scans that stay short however many jobs there are: of workers, their slots, queues with a row, names that were warned, the newest of these, pauses, a chunk of ids, what
/// one job waits for, no table at all, or an index of which only the first entry is asked for.
const SHORT: [&str; 14] = [
    "SCAN before",
    "SCAN upstream",
    "SCAN dependencies USING COVERING INDEX dependencies_any_end",
    "SCAN j USING COVERING INDEX jobs_running",
    "SCAN workers USING INDEX workers_open",
    "SCAN queues",
    "SCAN pause_of_all",
    "SCAN schedules",
    "SCAN warning_totals",
    "SCAN newest",
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
        "jobs_claimable",
        "jobs_running",
        "jobs_expiring",
        "jobs_finished",
        "jobs_unique_key",
        "jobs_idempotency_key",
        "job_definitions_by_hash",
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
    // Few rows, whatever happens; counts, which read nothing but a narrow index; and lists, which walk until
    // they are full.
    let as_short = [
        "SCAN queues",
        "SCAN r USING COVERING INDEX jobs_running:",
        "SCAN jobs USING COVERING INDEX jobs_claimable: SELECT queue, count(*)",
        "SCAN jobs USING COVERING INDEX jobs_claimable: SELECT (SELECT count(*)",
        "SCAN jobs USING COVERING INDEX jobs_blocked: SELECT queue, count(*)",
        "SCAN jobs USING COVERING INDEX jobs_blocked: SELECT (SELECT count(*)",
        "SCAN jobs USING COVERING INDEX jobs_dead: SELECT error_code, count(*)",
        "SCAN jobs USING INDEX jobs_running:",
        "SCAN j USING INDEX jobs_running:",
        "SCAN jobs USING INDEX jobs_claimable: SELECT id AS job_id",
        "SCAN j: SELECT j.id FROM jobs AS j NOT INDEXED",
        "SCAN jobs USING COVERING INDEX jobs_running:",
        "SCAN a USING COVERING INDEX attempts_by_time:",
        "SCAN a USING INDEX attempts_by_time:",
        // It reads as many rows as the jobs with one label have attempts.
        "USE TEMP B-TREE FOR ORDER BY: SELECT a.job_id, a.number FROM jobs AS j INDEXED BY jobs_by_label",
    ];
    long.retain(|step| !as_short.iter().any(|short| step.starts_with(short)));
    assert_eq!(long, [""; 0]);
    for index in [
        "jobs_finished",
        "jobs_dead",
        "jobs_by_name",
        "jobs_by_label",
        "jobs_succeeded",
        "jobs_claimable",
        "jobs_blocked",
        "attempts_by_time",
    ] {
        assert!(traced.sql.iter().any(|sql| sql.contains(&format!("INDEXED BY {index}"))), "{index}");
    }
}
