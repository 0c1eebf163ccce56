//! Random jobs, endings and reports.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};

use crate::model::{
    AttemptEnd, AttemptOutput, Backoff, Bytes, CodePattern, DependencyKind, EndCause, ErrorCode, ExitCodes,
    ExitEntry, ExitKey, Jitter, JobDefinition, Limits, MemoryPeak, OutputMark, OutputStream, OwnSchedule,
    Pause, Rate, ResourceUsage, RetryPolicy, SelfReport, SpawnFailure, Status, Strategy, StreamBytes,
};
use crate::store::tests::fixture::definition;
use crate::store::{Dependency, Due, EndedAttempt, NewJob, OnConflict};
use crate::text::{Millis, Timestamp};

pub(super) const NAMES: [&str; 4] = ["a", "b", "c", "d"];
pub(super) const QUEUES: [&str; 3] = ["p", "q", "r"];

/// The definitions of a job file, as random as they may be.
pub(super) fn definitions(rng: &mut SmallRng) -> Vec<JobDefinition> {
    let mut definitions: Vec<JobDefinition> =
        NAMES.iter().flat_map(|name| [name, name]).map(|name| one_spec(rng, name)).collect();
    let alert =
        JobDefinition { unique_key: rng.random_bool(0.5).then(|| "u0".to_owned()), ..one_spec(rng, "alert") };
    for definition in &mut definitions {
        definition.on_dead = rng.random_bool(0.4).then(|| Box::new(alert.clone()));
        definition.on_warning = rng.random_bool(0.3).then(|| Box::new(alert.clone()));
    }
    definitions
}

fn one_spec(rng: &mut SmallRng, name: &str) -> JobDefinition {
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
    let mut definition = definition(name);
    definition.ad_hoc = rng.random_bool(0.1);
    definition.expires_in = rng.random_bool(0.3).then(|| Millis(rng.random_range(1..60_000)));
    definition.policy = RetryPolicy {
        retryable: rng.random_bool(0.85),
        max_attempts: rng.random_range(1..=5),
        backoff: Backoff { strategy, jitter },
        auto_retry_for: rng.random_bool(0.2).then(|| list(rng)),
        never_retry_for: if rng.random_bool(0.2) { list(rng) } else { Vec::new() },
    };
    let mapped =
        ExitEntry { key: ExitKey::parse("20-29").unwrap(), code: ErrorCode::parse("MAPPED").unwrap() };
    definition.exit.job = ExitCodes(vec![mapped]);
    if rng.random_bool(0.5) {
        definition.exit.warning = [vec![22], vec![1, 22, 255], vec![2]].choose(rng).unwrap().clone();
    }
    definition
}

pub(super) fn limits(rng: &mut SmallRng) -> Limits {
    let rates = ["1/s", "20/s", "30/m", "1000/s"].map(|rate| Rate::parse(rate).unwrap());
    Limits {
        max_running: rng.random_bool(0.6).then(|| rng.random_range(1..=3)),
        rate: rates.choose(rng).copied().filter(|_| rng.random_bool(0.4)),
    }
}

pub(super) fn new_job(rng: &mut SmallRng, definitions: &[JobDefinition], now: Timestamp) -> NewJob {
    let mut definition = definitions.choose(rng).unwrap().clone();
    definition.queue = (*QUEUES.choose(rng).unwrap()).to_owned();
    definition.priority = *[-1_000, 0, 0, 0, 7, 1_000].choose(rng).unwrap();
    definition.unique_key = rng.random_bool(0.3).then(|| format!("u{}", rng.random_range(0..6)));
    NewJob {
        args: ["", "x y"].iter().take(rng.random_range(0..=2)).map(|arg| Bytes::from(*arg)).collect(),
        stdin: rng.random_bool(0.2).then(|| b"a\0b".to_vec()),
        due: due(rng, now),
        // None of an ad hoc job, and of one that an older program enqueued.
        job_file: [None, Some(1), Some(2)].choose(rng).copied().flatten().filter(|_| !definition.ad_hoc),
        idempotency_key: rng.random_bool(0.15).then(|| format!("i{}", rng.random_range(0..40))),
        label: rng.random_bool(0.2).then(|| format!("label {}", rng.random_range(0..3))),
        on_conflict: *[OnConflict::Skip, OnConflict::Replace, OnConflict::Error].choose(rng).unwrap(),
        ..NewJob::new(Arc::new(definition))
    }
}

pub(super) fn due(rng: &mut SmallRng, now: Timestamp) -> Due {
    match rng.random_range(0..5) {
        0 => Due::At(Timestamp(now.0 + rng.random_range(-2_000..8_000))),
        1 => Due::In(Millis(rng.random_range(0..8_000))),
        _ => Due::Now,
    }
}

fn kind(rng: &mut SmallRng) -> DependencyKind {
    if rng.random_bool(0.3) { DependencyKind::Any } else { DependencyKind::Success }
}

pub(super) fn own_schedule(rng: &mut SmallRng) -> Option<OwnSchedule> {
    let fresh_within = rng.random_bool(0.7).then(|| Millis(rng.random_range(1..20_000)));
    rng.random_bool(0.6).then_some(OwnSchedule { fresh_within })
}

/// Jobs of one call. Some are after earlier ones of the call, or after one that was enqueued before, or never was.
pub(super) fn call(
    rng: &mut SmallRng,
    definitions: &[JobDefinition],
    last_id: i64,
    now: Timestamp,
) -> Vec<NewJob> {
    let number = *[1, 1, 1, 3, 4].choose(rng).unwrap();
    let mut jobs: Vec<_> = (0..number).map(|_| new_job(rng, definitions, now)).collect();
    for index in 0..number {
        if rng.random_bool(0.2) {
            let last_id = last_id + i64::from(rng.random_bool(0.1));
            let earlier = Dependency::Job(rng.random_range(1..=last_id));
            jobs[index].dependencies.push((earlier, kind(rng)));
        }
        for before in 0..index {
            if rng.random_bool(0.4) {
                let kind = kind(rng);
                jobs[index].dependencies.push((Dependency::InCall(before), kind));
                jobs[before].is_dependency |= rng.random_bool(0.7);
                jobs[before].own_schedule = own_schedule(rng);
            }
        }
    }
    jobs
}

/// An end of this attempt. Sometimes its clock was ahead of the one that the store sees.
pub(super) fn ended(rng: &mut SmallRng, job_id: i64, number: u32, now: Timestamp) -> EndedAttempt {
    let finished_at = Timestamp(now.0 + *[0, -1, -30, 5_000].choose(rng).unwrap());
    let (cause, status) = random_exit(rng);
    let end = AttemptEnd {
        cause,
        status,
        report: report(rng),
        message: rng.random_bool(0.2).then(|| "said by runner".to_owned()),
        started_at: status.map(|_| Timestamp(finished_at.0 - rng.random_range(0..1_000))),
        finished_at,
        duration: Some(Millis(rng.random_range(0..1_000))),
        usage: status.map(|_| ResourceUsage {
            cpu: Millis(rng.random_range(0..1_000)),
            memory: MemoryPeak { bytes: rng.random_range(0..1 << 40), is_bound: rng.random_bool(0.5) },
        }),
        output_held_open: rng.random_bool(0.1),
        output: rng.random_bool(0.8).then(|| output(rng)),
    };
    EndedAttempt { job_id, number, jitter_sample: rng.random_range(0.0..1.0), end }
}

/// The end of an attempt whose worker died, as a recoverer records it.
pub(super) fn lost(rng: &mut SmallRng, job_id: i64, number: u32, now: Timestamp) -> EndedAttempt {
    let mut ended = ended(rng, job_id, number, now);
    ended.end = AttemptEnd {
        message: ended.end.message,
        started_at: rng.random_bool(0.5).then_some(now),
        output_held_open: ended.end.output_held_open,
        ..AttemptEnd::unseen(EndCause::WorkerCrashed, ended.end.finished_at)
    };
    ended
}

fn random_exit(rng: &mut SmallRng) -> (Option<EndCause>, Option<Status>) {
    let killed = Some(Status::Signaled(*[9, 15].choose(rng).unwrap()));
    match rng.random_range(0..20) {
        0..8 => (None, Some(Status::Exited(0))),
        8..14 => (None, Some(Status::Exited(*[1, 2, 22, 255].choose(rng).unwrap()))),
        14 => (None, Some(Status::Signaled(11))),
        15 => (Some(EndCause::TimedOut), killed),
        16 => (Some(EndCause::SpawnFailed(rng.random_bool(0.5).then_some(SpawnFailure::NotFound))), None),
        17 => (Some(EndCause::Cancelled), killed),
        _ => (Some(EndCause::Interrupted), killed),
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

pub(super) fn output(rng: &mut SmallRng) -> AttemptOutput {
    let stream = |rng: &mut SmallRng| {
        let length = rng.random_range(0..3);
        let omitted = if length > 0 { rng.random_range(0..2) } else { 0 };
        StreamBytes { bytes: vec![b'x'; length], head: length / 2, omitted }
    };
    let mut output = AttemptOutput { stdout: stream(rng), stderr: stream(rng), marks: Vec::new() };
    // A worker of version 1.0 keeps no marks.
    if rng.random_bool(0.7) {
        for (stream, bytes) in OutputStream::BOTH.into_iter().zip(output.lengths()) {
            let at = Timestamp(rng.random_range(0..1_000_000));
            output.marks.extend((0..bytes).map(|_| OutputMark { stream, bytes: 1, at }));
        }
        output.marks.shuffle(rng);
    }
    output
}

/// A pause, with an end or without, or none.
pub(super) fn pause(rng: &mut SmallRng, now: Timestamp) -> Option<Pause> {
    match rng.random_range(0..4) {
        0 | 1 => None,
        2 => Some(Pause::UntilResumed),
        _ => Some(Pause::Until(now.plus(Millis(rng.random_range(1..20_000))))),
    }
}
