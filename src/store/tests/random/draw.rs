//! Random jobs, endings and reports.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use crate::model::{
    Backoff, Bytes, CodePattern, ErrorCode, Exit, ExitCodes, ExitEntry, ExitKey, FrozenJob, Jitter, JobSpec,
    Limits, Rate, RetryPolicy, SelfReport, Status, StopReason, Strategy, StreamBytes,
};
use crate::store::tests::fixture::spec;
use crate::store::{After, Ended, NewJob, OnConflict, Output};
use crate::text::{Millis, Timestamp};

pub(super) const NAMES: [&str; 4] = ["a", "b", "c", "d"];
pub(super) const QUEUES: [&str; 3] = ["p", "q", "r"];

/// The definitions of a job file, as random as they may be.
pub(super) fn specs(rng: &mut SmallRng) -> Vec<JobSpec> {
    let mut specs: Vec<JobSpec> =
        NAMES.iter().flat_map(|name| [name, name]).map(|name| one_spec(rng, name)).collect();
    let alert = FrozenJob::freeze(JobSpec {
        unique_key: rng.random_bool(0.5).then(|| "u0".to_owned()),
        ..one_spec(rng, "alert")
    });
    for spec in specs.iter_mut().filter(|_| rng.random_bool(0.4)) {
        spec.on_dead = Some(Box::new(alert.clone()));
    }
    specs
}

fn one_spec(rng: &mut SmallRng, name: &str) -> JobSpec {
    let millis = |rng: &mut SmallRng, most: u64| Millis(rng.random_range(0..most));
    let strategy = match rng.random_range(0..4) {
        0 => Strategy::Exponential { initial: millis(rng, 3_000), multiplier: 2.5, max: Millis(20_000) },
        1 => Strategy::Linear { delay: millis(rng, 3_000), max: Millis(9_000) },
        2 => Strategy::Constant { delay: millis(rng, 5_000) },
        _ => Strategy::List { delays: vec![millis(rng, 100), millis(rng, 5_000)], repeat_last: true },
    };
    let jitters = [Jitter::NONE, Jitter::DEFAULT, Jitter::Absolute(Millis(700))];
    let jitter = *jitters.choose(rng).unwrap();
    let list = |rng: &mut SmallRng| {
        let all =
            ["EXIT_*", "SIGNAL_*", "WORKER_CRASHED", "TIMEOUT", "OWN", "MAPPED", "EXIT_1", "SPAWN_FAILED"];
        all.sample(rng, 3).map(|text| CodePattern::parse(text).unwrap()).collect::<Vec<_>>()
    };
    let mut spec = spec(name);
    spec.ad_hoc = rng.random_bool(0.1);
    spec.expires_in = rng.random_bool(0.3).then(|| Millis(rng.random_range(1..60_000)));
    spec.policy = RetryPolicy {
        retryable: rng.random_bool(0.85),
        max_attempts: rng.random_range(1..=5),
        backoff: Backoff { strategy, jitter },
        auto_retry_for: rng.random_bool(0.2).then(|| list(rng)),
        never_retry_for: if rng.random_bool(0.2) { list(rng) } else { Vec::new() },
    };
    let mapped =
        ExitEntry { key: ExitKey::parse("20-29").unwrap(), code: ErrorCode::parse("MAPPED").unwrap() };
    spec.exit.job = ExitCodes(vec![mapped]);
    spec
}

pub(super) fn limits(rng: &mut SmallRng) -> Limits {
    let rates = ["1/s", "20/s", "30/m", "1000/s"].map(|rate| Rate::parse(rate).unwrap());
    Limits {
        max_running: rng.random_bool(0.6).then(|| rng.random_range(1..=3)),
        rate: rates.choose(rng).copied().filter(|_| rng.random_bool(0.4)),
    }
}

pub(super) fn new_job(rng: &mut SmallRng, specs: &[JobSpec], now: Timestamp) -> NewJob {
    let mut spec = specs.choose(rng).unwrap().clone();
    spec.queue = (*QUEUES.choose(rng).unwrap()).to_owned();
    spec.priority = *[-1_000, 0, 0, 0, 7, 1_000].choose(rng).unwrap();
    spec.unique_key = rng.random_bool(0.3).then(|| format!("u{}", rng.random_range(0..6)));
    NewJob {
        args: ["", "x y"].iter().take(rng.random_range(0..=2)).map(|arg| Bytes::from(*arg)).collect(),
        stdin: rng.random_bool(0.2).then(|| b"a\0b".to_vec()),
        run_at: rng.random_bool(0.4).then(|| Timestamp(now.0 + rng.random_range(-2_000..8_000))),
        idempotency_key: rng.random_bool(0.15).then(|| format!("i{}", rng.random_range(0..40))),
        on_conflict: *[OnConflict::Skip, OnConflict::Replace, OnConflict::Error].choose(rng).unwrap(),
        ..NewJob::new(Arc::new(spec))
    }
}

/// Jobs of one call. Some are after earlier ones of the call, or after one that was enqueued before, or never was.
pub(super) fn call(rng: &mut SmallRng, specs: &[JobSpec], last_id: i64, now: Timestamp) -> Vec<NewJob> {
    let number = *[1, 1, 1, 3, 4].choose(rng).unwrap();
    let mut jobs: Vec<_> = (0..number).map(|_| new_job(rng, specs, now)).collect();
    for index in 0..number {
        if rng.random_bool(0.2) {
            let last_id = last_id + i64::from(rng.random_bool(0.1));
            jobs[index].after.push(After::Job(rng.random_range(1..=last_id)));
        }
        for before in 0..index {
            if rng.random_bool(0.4) {
                jobs[index].after.push(After::InCall(before));
                jobs[before].is_dependency |= rng.random_bool(0.7);
            }
        }
    }
    jobs
}

/// An end of this attempt. Sometimes its clock was ahead of the one that the store sees.
pub(super) fn ended(rng: &mut SmallRng, job_id: i64, number: u32, now: Timestamp) -> Ended {
    let finished_at = Timestamp(now.0 + *[0, -1, -30, 5_000].choose(rng).unwrap());
    let exit = random_exit(rng);
    let unseen = exit.status.is_none();
    Ended {
        job_id,
        number,
        exit,
        report: report(rng),
        message: rng.random_bool(0.2).then(|| "said by runner".to_owned()),
        started_at: (!unseen).then(|| Timestamp(finished_at.0 - rng.random_range(0..1_000))),
        finished_at,
        duration: Some(Millis(rng.random_range(0..1_000))),
        leaked: rng.random_bool(0.1),
        spawn_failure: None,
        output: rng.random_bool(0.8).then(|| output(rng)),
        roll: rng.random_range(0.0..1.0),
    }
}

/// What a recoverer tells of an attempt whose worker died.
pub(super) fn lost(rng: &mut SmallRng, job_id: i64, number: u32, now: Timestamp) -> Ended {
    Ended {
        exit: Exit::unseen(StopReason::WorkerCrashed),
        report: SelfReport::default(),
        started_at: rng.random_bool(0.5).then_some(now),
        duration: None,
        output: None,
        ..ended(rng, job_id, number, now)
    }
}

fn random_exit(rng: &mut SmallRng) -> Exit {
    let killed = Some(Status::Signaled(*[9, 15].choose(rng).unwrap()));
    match rng.random_range(0..20) {
        0..8 => Exit::by_itself(Status::Exited(0)),
        8..14 => Exit::by_itself(Status::Exited(*[1, 2, 22, 255].choose(rng).unwrap())),
        14 => Exit::by_itself(Status::Signaled(11)),
        15 => Exit { stop_reason: Some(StopReason::TimedOut), status: killed },
        16 => Exit::unseen(StopReason::SpawnFailed),
        17 => Exit { stop_reason: Some(StopReason::Cancelled), status: killed },
        _ => Exit { stop_reason: Some(StopReason::Interrupted), status: killed },
    }
}

fn report(rng: &mut SmallRng) -> SelfReport {
    if rng.random_bool(0.6) {
        return SelfReport::default();
    }
    SelfReport {
        error_code: rng.random_bool(0.4).then(|| ErrorCode::parse("OWN").unwrap()),
        message: rng.random_bool(0.3).then(|| "said by the job".to_owned()),
        retry_after: rng.random_bool(0.3).then(|| Millis(rng.random_range(0..10_000))),
        unrecoverable: rng.random_bool(0.1),
        result: rng.random_bool(0.3).then(|| format!("result {}", rng.random_range(0..100))),
        notes: if rng.random_bool(0.1) { vec!["one".into(), "two".into()] } else { Vec::new() },
    }
}

pub(super) fn output(rng: &mut SmallRng) -> Output {
    let stream = |rng: &mut SmallRng| {
        let length = rng.random_range(0..3);
        let omitted = if length > 0 { rng.random_range(0..2) } else { 0 };
        StreamBytes { bytes: vec![b'x'; length], head: length / 2, omitted }
    };
    Output { stdout: stream(rng), stderr: stream(rng) }
}
