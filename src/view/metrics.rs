//! `--prometheus`: numbers for monitoring, in the text format of Prometheus.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Display;
use std::path::Path;

use crate::model::{AttentionKind, Limits};
use crate::store::{JobCounts, NameTotals, StoredSchedule};
use crate::text::{Millis, Timestamp, append, safe_line};
use crate::view::snapshot::Snapshot;
use crate::view::terminal::Output;

/// At most this many names, this many queues, and this many pairs of a name and an error code have series of their own,
/// because each series costs a monitor memory for as long as it keeps it, and a name may be made up for each job.
const MAX_SERIES: usize = 1_000;

/// The series of a queue: pauses, limits, and the jobs in each state.
#[derive(Default)]
struct Queue {
    paused: bool,
    limits: Limits,
    counts: JobCounts,
}

impl Queue {
    fn jobs(&self) -> u64 {
        self.counts.by_state().iter().map(|(_, jobs)| jobs).sum()
    }
}

/// What the metrics are counted from.
pub struct MetricsFacts {
    pub snapshot: Snapshot,
    /// The jobs of each queue that have ended.
    pub finished: Vec<(String, JobCounts)>,
    pub totals: BTreeMap<String, NameTotals>,
    /// How many jobs are dead of each name and error code.
    pub dead: Vec<(String, String, u64)>,
    /// The due time of the oldest due job of each queue.
    pub oldest_due: Vec<(String, Timestamp)>,
}

/// Writes the metrics of the database at this path.
pub fn draw(out: &mut Output, db: &Path, facts: MetricsFacts, now: Timestamp) {
    let MetricsFacts { snapshot, finished, totals, dead, oldest_due } = facts;
    let Snapshot { overview, workers, schedules, attention, .. } = snapshot;
    let mut queues: BTreeMap<String, Queue> = BTreeMap::new();
    for row in overview.queues {
        let paused = row.is_paused();
        queues.insert(row.name, Queue { paused, limits: row.limits, counts: row.counts });
    }
    for (queue, finished) in finished {
        let counts = &mut queues.entry(queue).or_default().counts;
        counts.succeeded = finished.succeeded;
        counts.dead += finished.dead;
        counts.resolved = finished.resolved;
        counts.cancelled = finished.cancelled;
    }
    let (queues, queues_left_out) =
        kept(queues, |queue, of| (of.paused || !of.limits.is_none(), of.jobs(), queue.clone()));
    let scheduled: HashSet<&str> = schedules.iter().map(StoredSchedule::name).collect();
    let (names, names_left_out) =
        kept(totals, |name, of| (scheduled.contains(name.as_str()), of.attempts(), name.clone()));

    let mut family = Families::of(db, out);
    family.begin(true);
    let jobs = queues.iter().flat_map(|(queue, of)| {
        of.counts.by_state().map(|(state, jobs)| Sample::of(jobs).label("queue", queue).label("state", state))
    });
    family.gauge("jobs", "Jobs by queue and state; dead ones without those that were resolved.", jobs);
    let help = "Dead jobs that were not resolved, by name and error code.";
    family.gauge("dead_letters", help, dead_letters(dead));
    // Nobody has looked for the schedules that cannot start, so their number is unknown.
    let kinds = AttentionKind::ALL.iter().filter(|kind| **kind != AttentionKind::CannotStart);
    let alarms = attention.iter().filter(|entry| entry.alarm).count();
    let attention = kinds.map(|kind| {
        let entries = attention.iter().filter(|entry| entry.kind == *kind).count();
        Sample::of(entries).label("kind", kind.as_str())
    });
    family.gauge("attention", "What needs attention, by kind.", attention);
    let help = "How many of these are alarms. Only doctor --strict looks for cannot_start.";
    family.gauge("alarms", help, [Sample::of(alarms)]);

    let alive = || workers.iter().filter(|worker| worker.is_living_worker());
    family.gauge("workers_alive", "Workers that are alive.", [Sample::of(alive().count())]);
    let slots: usize = alive().map(|worker| worker.row.slots).sum();
    family.gauge("slots", "Attempts that the workers alive can run at once.", [Sample::of(slots)]);
    let busy: u64 = alive().map(|worker| worker.row.running).sum();
    family.gauge("slots_busy", "Slots of the workers alive that run an attempt.", [Sample::of(busy)]);

    let of_queue = |queue: &String, value: &dyn Display| Sample::of(value).label("queue", queue);
    let paused = queues.iter().map(|(queue, of)| of_queue(queue, &u8::from(of.paused)));
    family.gauge("queue_paused", "1 for a queue that is paused.", paused);
    for (index, (name, help, _)) in Limits::default().metrics().into_iter().enumerate() {
        let value = |limits: Limits| limits.metrics().get(index)?.2;
        let values = queues.iter().filter_map(|(queue, of)| Some(of_queue(queue, &value(of.limits)?)));
        family.gauge(name, help, values);
    }
    let oldest = oldest_due.iter().filter(|(queue, _)| queues.contains_key(queue));
    let ages = oldest.map(|(queue, due)| Sample::seconds(now.since(*due)).label("queue", queue));
    family.gauge("oldest_due_age_seconds", "How long the oldest due job of a queue has been due.", ages);

    let attempts = names.iter().flat_map(|(name, of)| {
        of.by_outcome().map(|(outcome, attempts)| {
            Sample::of(attempts).label("name", name).label("outcome", outcome.as_str())
        })
    });
    family.write(MetricType::Counter, "attempts_total", "Ended attempts, of removed jobs too.", attempts);
    let runs = names.iter().flat_map(|(name, of)| {
        let sum = Sample::seconds(of.run_time).suffix("_sum").label("name", name);
        [sum, Sample::of(of.runs()).suffix("_count").label("name", name)]
    });
    let help = "How long attempts ran that ended by themselves or at their timeout.";
    family.write(MetricType::Summary, "run_seconds", help, runs);
    let warnings = names.iter().map(|(name, of)| Sample::of(of.warnings).label("name", name));
    let help = "Jobs that succeeded with a warning, removed ones too.";
    family.write(MetricType::Counter, "warnings_total", help, warnings);
    let cpu = names.iter().map(|(name, of)| Sample::seconds(of.cpu).label("name", name));
    let help = "CPU time of attempts, user and system, of removed jobs too.";
    family.write(MetricType::Counter, "cpu_seconds_total", help, cpu);
    let memory = names.iter().filter_map(|(name, of)| Some(Sample::of(of.max_rss?).label("name", name)));
    let help =
        "The most memory that a process of a kept attempt held, where it was more than the worker's own.";
    family.gauge("max_rss_bytes", help, memory);
    let of_name = |name: &String, at: Timestamp| Sample::time(at).label("name", name);
    let successes = names.iter().filter_map(|(name, of)| Some(of_name(name, of.last_success?)));
    let help = "When a job of this name last succeeded.";
    family.gauge("last_success_timestamp_seconds", help, successes);
    let failures = names.iter().filter_map(|(name, of)| Some(of_name(name, of.last_failure?)));
    let help = "When an attempt of this name last failed, or a job of it expired.";
    family.gauge("last_failure_timestamp_seconds", help, failures);

    let paused = schedules.iter().map(|row| Sample::of(u8::from(row.is_paused())).label("name", row.name()));
    family.gauge("schedule_paused", "1 for a schedule that is paused.", paused);
    let fires = schedules.iter().filter(|row| !row.is_paused());
    let next = fires.filter_map(|row| Some(Sample::time(row.next_at?).label("name", row.name())));
    let help = "When a schedule that is not paused comes next.";
    family.gauge("schedule_next_timestamp_seconds", help, next);
    let left_out = [("name", names_left_out), ("queue", queues_left_out)];
    let left_out = left_out.map(|(label, number)| Sample::of(number).label("label", label));
    family.gauge("left_out", "Names and queues that have no series, because there are too many.", left_out);
    family.end();
}

/// Writes that there is no database at this path yet.
pub fn draw_none(out: &mut Output, db: &Path) {
    let mut family = Families::of(db, out);
    family.begin(false);
    family.end();
}

/// The [`MAX_SERIES`] entries with the highest ranks, by name, and the number of the others.
fn kept<T, R: Ord>(
    mut all: BTreeMap<String, T>,
    rank: impl Fn(&String, &T) -> R,
) -> (BTreeMap<String, T>, usize) {
    let left_out = all.len().saturating_sub(MAX_SERIES);
    if left_out > 0 {
        let mut ranks: Vec<_> = all.iter().map(|(name, of)| (rank(name, of), name)).collect();
        ranks.sort_unstable_by(|a, b| b.cmp(a));
        let shown: BTreeSet<String> =
            ranks.into_iter().take(MAX_SERIES).map(|(_, name)| name.clone()).collect();
        all.retain(|name, _| shown.contains(name));
    }
    (all, left_out)
}

/// The most frequent pairs of a name and an error code. The dead letters of the others are added up by error code, without a
/// name, so that the sum is that of all.
fn dead_letters(mut dead: Vec<(String, String, u64)>) -> Vec<Sample> {
    dead.sort_by_key(|(.., jobs)| std::cmp::Reverse(*jobs));
    let others = dead.split_off(dead.len().min(MAX_SERIES));
    let mut rest: BTreeMap<String, u64> = BTreeMap::new();
    for (_, code, jobs) in others {
        *rest.entry(code).or_default() += jobs;
    }
    let named =
        dead.iter().map(|(name, code, jobs)| Sample::of(jobs).label("name", name).label("error_code", code));
    let rest = rest.iter().take(MAX_SERIES).map(|(code, jobs)| Sample::of(jobs).label("error_code", code));
    named.chain(rest).collect()
}

/// A value of a metric, and its labels as they are written.
struct Sample {
    suffix: &'static str,
    labels: String,
    value: String,
}

impl Sample {
    fn of(value: impl Display) -> Self {
        Self { suffix: "", labels: String::new(), value: format!("{value}") }
    }

    fn seconds(span: Millis) -> Self {
        Self::of(format!("{}.{:03}", span.0 / 1_000, span.0 % 1_000))
    }

    fn time(at: Timestamp) -> Self {
        Self::seconds(Millis(u64::try_from(at.0).unwrap_or(0)))
    }

    fn suffix(self, suffix: &'static str) -> Self {
        Self { suffix, ..self }
    }

    fn label(mut self, name: &str, value: &str) -> Self {
        append(&mut self.labels, format_args!(",{name}=\"{}\"", escaped(value)));
        self
    }
}

#[derive(Clone, Copy)]
enum MetricType {
    Gauge,
    Counter,
    Summary,
}

/// Writes the samples of each metric. Every sample has the path of its database as a label, so that the files of several
/// databases can be collected together.
struct Families<'a> {
    out: &'a mut Output,
    db: String,
}

impl<'a> Families<'a> {
    fn of(db: &Path, out: &'a mut Output) -> Self {
        Self { db: escaped(&db.display().to_string()), out }
    }

    /// Writes what is there without a database, too.
    fn begin(&mut self, is_up: bool) {
        self.gauge("up", "1 if there is a database.", [Sample::of(u8::from(is_up))]);
        let version = Sample::of(1).label("version", env!("CARGO_PKG_VERSION"));
        self.gauge("build_info", "The version of the program that wrote this.", [version]);
    }

    /// The last line shows that the text is whole.
    fn end(&mut self) {
        self.out.line("# EOF");
    }

    fn gauge(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = Sample>) {
        self.write(MetricType::Gauge, name, help, samples);
    }

    fn write(&mut self, kind: MetricType, name: &str, help: &str, samples: impl IntoIterator<Item = Sample>) {
        let kind = match kind {
            MetricType::Gauge => "gauge",
            MetricType::Counter => "counter",
            MetricType::Summary => "summary",
        };
        self.out.line(format!("# HELP runner_{name} {help}\n# TYPE runner_{name} {kind}"));
        for Sample { suffix, labels, value } in samples {
            self.out.line(format!("runner_{name}{suffix}{{db=\"{}\"{labels}}} {value}", self.db));
        }
    }
}

/// The value of a label, escaped and on one line.
fn escaped(text: &str) -> String {
    safe_line(text).replace('\\', "\\\\").replace('"', "\\\"")
}
