//! A look at the whole file: it is what the model says, it holds what every file must hold, and nothing that was seen
//! before has changed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::plain::{Cause, Job, Plain};
use super::plain_schedules::PlainSchedule;
use crate::model::{DependencyKind, JobState, Phase, StreamBytes};
use crate::store::read::filter::OPEN_WARNING;
use crate::store::write::same_work::later_success_without_warning;
use crate::store::write::{definition, needs_version};
use crate::store::{self, Filter, JobCounts, JobRow, Store, Version, Worker};
use crate::text::Timestamp;

/// Rules that hold for every file besides those of the audit, each with a query that finds violations.
const NEVER: &[(&str, &str)] = &[
    ("a budget that neither goes on nor begins anew",
     "SELECT a.job_id FROM attempts AS a JOIN attempts AS b ON b.job_id = a.job_id AND b.number = a.number - 1
      WHERE a.attempt_in_budget <> 1 AND
            (a.attempt_in_budget <> b.attempt_in_budget + (b.outcome <> 'interrupted') OR b.next_state <> 'pending')"),
    ("a job whose budget is not what its last attempt left",
     "SELECT j.id FROM jobs AS j JOIN attempts AS a ON a.job_id = j.id AND a.number = j.attempts
      WHERE j.attempts_used NOT IN (0, a.attempt_in_budget - (a.outcome = 'interrupted'))
         OR j.attempts_used = 0 AND a.outcome <> 'interrupted' AND j.state = 'succeeded'"),
    ("live output of a job that does not run",
     "SELECT job_id FROM live_outputs WHERE job_id NOT IN (SELECT id FROM jobs WHERE state = 'running')"),
    ("a definition that is there twice", "SELECT min(id) FROM job_definitions GROUP BY definition HAVING count(*) > 1"),
];

/// Rows that do not change any more, as text by their keys.
#[derive(Default)]
pub(super) struct Seen(BTreeMap<String, String>);

const LASTING: [&str; 6] = [
    "SELECT 'attempt ' || job_id || '.' || number, json_array(attempt_in_budget, outcome, error_code, exit_code, signal,
        spawn_failure, message, worker_id, started_at, finished_at, duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms,
        delay_ms, cpu_ms, max_rss_bytes, max_rss_bound_bytes, warning) FROM attempts",
    "SELECT 'output ' || job_id || '.' || number, json_array(hex(stdout), stdout_head, stdout_omitted, hex(stderr),
        stderr_head, stderr_omitted) FROM outputs",
    "SELECT 'job ' || id, json_array(definition_id, name, hex(args_nul), label, task_hash, unique_key, enqueued_at, scheduled_for,
        scheduled_offset) FROM jobs",
    "SELECT 'input ' || job_id, hex(stdin) FROM inputs",
    "SELECT 'definition ' || id, definition FROM job_definitions",
    "SELECT 'end of worker ' || id, json_array(ended_at) FROM workers WHERE ended_at IS NOT NULL",
];

pub(super) fn look(store: &mut Store, plain: &Plain, seen: &mut Seen, now: Timestamp) {
    assert_eq!(store.audit().unwrap(), []);
    for (what, query) in NEVER {
        let found: Option<rusqlite::types::Value> = {
            let mut statement = store.connection.prepare_cached(query).unwrap();
            let mut rows = statement.query([]).unwrap();
            rows.next().unwrap().map(|row| row.get(0).unwrap())
        };
        assert_eq!(found, None, "{what}");
    }
    nothing_changed(store, seen);
    same_as_the_model(store, plain, now);
    // Also as it was and as it will be: nothing is due before a minute ago, and some has expired in a minute.
    for at in [now.0 - 60_000, now.0, now.0 + 60_000] {
        same_numbers(store, plain, Timestamp(at));
    }
}

fn nothing_changed(store: &Store, seen: &mut Seen) {
    for query in LASTING {
        let mut statement = store.connection.prepare_cached(query).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let (key, text): (String, String) = (row.get(0).unwrap(), row.get(1).unwrap());
            let before = seen.0.entry(key.clone()).or_insert_with(|| text.clone());
            assert_eq!(before, &text, "{key} has changed, or its id was used again");
        }
    }
}

fn same_as_the_model(store: &mut Store, plain: &Plain, now: Timestamp) {
    let all = Filter::default();
    let rows = store.jobs(&all, usize::MAX, now).unwrap();
    let mut rows = rows.collect::<store::Result<Vec<_>>>().unwrap();
    rows.reverse();
    assert!(rows.iter().map(|row| row.id).eq(plain.jobs.keys().copied()));
    let mut expected = Vec::new();
    for (row, job) in rows.iter().zip(plain.jobs.values()) {
        assert_eq!(format!("{row:?}"), format!("{:?}", shown(plain, job, now)));
        assert_eq!(store.history(job.id, usize::MAX >> 1).unwrap(), *job.attempts);
        let (name, runs) = (&job.definition.name, job.definition.policy.max_attempts());
        expected.extend(job.attempts.iter().map(|attempt| (attempt.clone(), name.clone(), runs)));
        for number in 0..=job.next_number() {
            let live = job.live.as_ref().filter(|(of, ..)| *of == number).map(|(.., output)| output);
            let expected = job.outputs.get(&number).or(live).cloned().unwrap_or_default();
            assert_eq!(store.output(job.id, number).unwrap(), expected, "output of {}.{number}", job.id);
            let length = |stream: &StreamBytes| stream.bytes.len() as u64 + stream.omitted;
            let lengths = live.map_or((0, 0), |live| (length(&live.stdout), length(&live.stderr)));
            assert_eq!(store.live_lengths(job.id, number).unwrap(), lengths);
        }
    }
    let attempts = store.attempts(&all, usize::MAX).unwrap();
    let listed = attempts.map(|row| row.map(|row| (row.attempt, row.name, row.max_attempts)));
    let listed: Vec<_> = listed.collect::<store::Result<_>>().unwrap();
    expected.sort_by_key(|(attempt, ..)| Reverse((attempt.finished_at, attempt.job_id, attempt.number)));
    assert_eq!(listed, expected);
    let at_now = |mut schedule: PlainSchedule| {
        schedule.end_pause(now);
        schedule.row
    };
    let schedules: Vec<_> = plain.schedules.values().cloned().map(at_now).collect();
    assert_eq!(format!("{:?}", store.at(now).schedules().unwrap()), format!("{schedules:?}"));
    let running = |id: i64| plain.jobs.values().filter(|job| job.worker == Some(id)).count() as u64;
    let open = plain.workers.iter().filter(|(_, open)| *open);
    let open: Vec<_> = open.map(|(row, _)| Worker { running: running(row.id), ..row.clone() }).collect();
    assert_eq!(store.open_workers().unwrap(), open);
}

/// The job as it is to be shown.
pub(super) fn shown(plain: &Plain, job: &Job, now: Timestamp) -> JobRow {
    let mut job = job.clone();
    if job.has_expired(now) {
        job.expire();
    }
    let waiting = job.state == JobState::Pending;
    let phase = match (plain.is_blocked(&job), job.run_at > now, job.attempts.is_empty()) {
        (true, ..) => Phase::Blocked,
        (false, false, _) => Phase::Ready,
        (false, true, true) => Phase::Scheduled,
        (false, true, false) => Phase::Retrying,
    };
    let worker = plain.workers.iter().find(|(row, _)| Some(row.id) == job.worker);
    let last = job.attempts.last();
    let of_kind = |kind| job.after.iter().filter(|(_, own)| **own == kind).map(|(id, _)| *id).collect();
    JobRow {
        scheduled: job.scheduled,
        after: of_kind(DependencyKind::Success),
        after_any: of_kind(DependencyKind::Any),
        unmet_dependencies: plain.unmet_dependencies(&job),
        waits_for: Vec::new(),
        job_file: job.file,
        file: job.file.map(|id| plain.files[usize::try_from(id).unwrap() - 1].clone()),
        file_link: None,
        run_worker_id: None,
        needs_version: needs_version(&job),
        id: job.id,
        state: job.state,
        phase: waiting.then_some(phase),
        definition: job.definition.clone(),
        args: job.args.clone(),
        idempotency_key: job.idempotency_key.clone(),
        label: job.label.clone(),
        task_hash: task_hash(&job),
        enqueued_at: job.enqueued_at,
        run_at: job.run_at,
        expires_at: job.expires_at,
        changed_at: job.changed_at,
        started_at: job.started_at,
        attempt_started_at: None,
        attempts: job.next_number() - 1,
        attempts_used: job.attempts_used,
        worker_id: worker.map(|(row, _)| row.name.clone()),
        cancel_requested_at: job.cancel_requested_at,
        error_code: job.dead.as_ref().map(|(_, code)| code.clone()),
        dead_reason: job.dead.as_ref().map(|(reason, _)| *reason),
        warning: job.warning.clone(),
        result: job.result.clone(),
        resolved_at: job.resolved_at,
        replaced_by: job.replaced_by,
        resolution: job.resolution.clone().or(job.replaced_by.map(|id| format!("replaced by job {id}"))),
        last_error_code: last.and_then(|attempt| attempt.error_code.clone()),
        last_message: last.and_then(|attempt| attempt.message.clone()),
        queue_hold: if waiting { plain.queue_hold(&job.definition.queue, now) } else { None },
    }
}

fn needs_version(job: &Job) -> Version {
    let of_run = if job.was_enqueued_by_run { Version(1_001) } else { Version::FIRST };
    needs_version::of_job(&job.definition, false).max(of_run)
}

fn task_hash(job: &Job) -> Option<i64> {
    let label = job.label.clone().unwrap_or_default();
    let args = job.args.iter().flat_map(|arg| [b"\0", arg.0.as_slice()].concat());
    let task: Vec<u8> =
        format!("{}\0{label}", job.definition.name).into_bytes().into_iter().chain(args).collect();
    (!job.is_one_of_a_kind()).then(|| definition::fnv1a(&task))
}

/// The warnings that need attention.
fn same_warnings(store: &Store, plain: &Plain) {
    let sql = format!(
        "SELECT j.id FROM jobs AS j WHERE {OPEN_WARNING} AND {} IS NULL ORDER BY j.id",
        later_success_without_warning()
    );
    let found: Vec<i64> = {
        let mut statement = store.connection.prepare_cached(&sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    };
    let work = |job: &Job| (job.definition.name.clone(), job.label.clone(), job.args.clone());
    let makes_good = |success: &Job, job: &Job| {
        let is_of_other_file = success.file.zip(job.file).is_some_and(|(one, other)| one != other);
        success.state == JobState::Succeeded
            && success.warning.is_none()
            && !success.is_one_of_a_kind()
            && !job.is_one_of_a_kind()
            && work(success) == work(job)
            && !is_of_other_file
            && success.id > job.id
            && success.changed_at > job.started_at.unwrap_or(job.changed_at)
    };
    let is_open = |job: &&Job| {
        job.warning.is_some()
            && job.resolved_at.is_none()
            && !plain.jobs.values().any(|success| makes_good(success, job))
    };
    let expected: Vec<i64> = plain.jobs.values().filter(is_open).map(|job| job.id).collect();
    assert_eq!(found, expected);
}

fn same_numbers(store: &mut Store, plain: &Plain, now: Timestamp) {
    let rows: Vec<JobRow> = plain.jobs.values().map(|job| shown(plain, job, now)).collect();
    let count = |status: &str| rows.iter().filter(|row| row.status() == status).count() as u64;
    let overview = store.overview(now).unwrap();
    let resolved =
        rows.iter().filter(|row| row.resolved_at.is_some() && row.state == JobState::Dead).count() as u64;
    let resolved_warnings =
        rows.iter().filter(|row| row.resolved_at.is_some() && row.warning.is_some()).count() as u64;
    let counts = JobCounts {
        ready: count("ready"),
        scheduled: count("scheduled"),
        retrying: count("retrying"),
        blocked: count("blocked"),
        running: count("running"),
        succeeded: count("succeeded"),
        dead: count("dead") - resolved,
        resolved: resolved + resolved_warnings,
        cancelled: count("cancelled"),
    };
    assert_eq!(overview.counts, counts);
    for row in overview.queues {
        assert_eq!(row.limits, plain.limits.get(&row.name).copied().unwrap_or_default(), "{}", row.name);
    }
    let totals = store.totals_by_name(now).unwrap();
    let warnings = totals.into_iter().map(|(name, of)| (name, of.warnings));
    assert_eq!(warnings.filter(|(_, number)| *number > 0).collect::<BTreeMap<_, _>>(), plain.warnings);
    same_warnings(store, plain);
    let mut by_code = BTreeMap::new();
    for code in rows.iter().filter(|row| row.resolved_at.is_none()).filter_map(|row| row.error_code.as_ref())
    {
        *by_code.entry(code.to_string()).or_default() += 1;
    }
    assert_eq!(overview.dead_by_error_code, by_code);
    let waiting = || {
        rows.iter()
            .filter(|row| row.state == JobState::Pending && row.phase != Some(Phase::Blocked))
            .map(|row| row.run_at)
    };
    assert_eq!(overview.next_run_at, waiting().filter(|at| *at > now).min());
    assert_eq!(overview.oldest_due_at, waiting().filter(|at| *at <= now).min());
    let stuck = store.at(now).stuck().unwrap();
    let stuck: BTreeSet<i64> = stuck.into_iter().flat_map(|root| root.jobs).collect();
    let expected = plain.jobs.keys().copied().filter(|id| plain.is_stuck(*id, Some(now)));
    let expected: BTreeSet<i64> = expected.collect();
    assert_eq!(stuck, expected);
    let open =
        plain.jobs.values().filter(|job| plain.is_blocked(job) && !plain.is_paused(&job.definition.queue));
    let (stuck, others): (Vec<i64>, Vec<i64>) =
        open.map(|job| job.id).partition(|id| plain.is_stuck(*id, None));
    let behind_paused = others.iter().filter(|id| plain.is_behind(**id, None, Cause::Pause)).count();
    let blocked = store.at(now).blocked(None).unwrap();
    assert_eq!((blocked.stuck, blocked.behind_paused), (stuck.len() as u64, behind_paused as u64));
    assert!(blocked.may_unblock || others.len() == behind_paused);
    let unfinished = plain.jobs.values().filter(|job| job.is_unfinished()).count() as u64;
    assert_eq!(store.count_unfinished(None).unwrap(), unfinished);
}
