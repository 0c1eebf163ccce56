//! `--openmetrics`: gauges for monitoring, in the text format that Prometheus and `OpenMetrics` share.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use super::query::Query;
use crate::cli::commands::attention::{Look, look};
use crate::cli::output::{Output, Written};
use crate::model::AttentionKind;
use crate::store::{Filter, JobCounts, StoreFile};
use crate::text::{Millis, Timestamp, safe_line};

pub(super) fn show(out: &mut Output, query: &Query) -> Written {
    let Query { store, now, .. } = *query;
    let Look { overview, workers, schedules, attention } = look(store, &Filter::default(), now)?;
    let mut queues: BTreeMap<String, (bool, JobCounts)> = BTreeMap::new();
    for queue in overview.queues {
        queues.insert(queue.name, (queue.paused, queue.counts));
    }
    for (queue, finished) in store.finished_by_queue()? {
        let counts = &mut queues.entry(queue).or_default().1;
        counts.succeeded = finished.succeeded;
        counts.dead += finished.dead;
        counts.resolved = finished.resolved;
        counts.cancelled = finished.cancelled;
    }
    let alive = workers.iter().filter(|worker| worker.is_alive()).count();
    let stats = store.stats(&Filter::default(), now)?;
    let successes = stats.iter().filter_map(|(name, of)| Some((name, of.last_success?)));
    let failures = stats.iter().filter_map(|(name, of)| Some((name, of.last_failure.as_ref()?.0)));
    let fires = schedules.iter().filter(|row| !row.paused);

    let mut family = Families::of(store.file(), out);
    let jobs = queues.iter().flat_map(|(queue, (_, counts))| {
        counts.by_state().map(|(state, jobs)| Sample::of(jobs).label("queue", queue).label("state", state))
    });
    family.write("jobs", "Jobs by queue and state; dead ones without those that were resolved.", jobs)?;
    let dead = overview.dead_by_error_code.iter();
    let dead = dead.map(|(code, jobs)| Sample::of(jobs).label("error_code", code));
    family.write("dead_letters", "Dead jobs that were not resolved, by error code.", dead)?;
    let attention = AttentionKind::ALL.iter().map(|kind| {
        let entries = attention.iter().filter(|entry| entry.kind == *kind).count();
        Sample::of(entries).label("kind", kind.as_str())
    });
    family.write("attention", "What needs attention, by kind.", attention)?;
    family.write("workers_alive", "Workers that are alive.", [Sample::of(alive)])?;
    let paused =
        queues.iter().map(|(queue, (paused, _))| Sample::of(u8::from(*paused)).label("queue", queue));
    family.write("queue_paused", "1 for a queue that is paused.", paused)?;
    let oldest = store.oldest_due_by_queue(now)?;
    let ages = oldest.iter().map(|(queue, due)| Sample::seconds(now.since(*due)).label("queue", queue));
    family.write("oldest_due_age_seconds", "How long the oldest due job of a queue has been due.", ages)?;
    let of_name = |(name, at): (&String, Timestamp)| Sample::time(at).label("name", name);
    family.write(
        "last_success_timestamp_seconds",
        "When a job of this name last succeeded.",
        successes.map(of_name),
    )?;
    let help = "When an attempt of this name last failed, or a job of it expired.";
    family.write("last_failure_timestamp_seconds", help, failures.map(of_name))?;
    let next = fires.filter_map(|row| Some(Sample::time(row.next_at?).label("name", row.name())));
    family.write(
        "schedule_next_timestamp_seconds",
        "When a schedule that is not paused comes next.",
        next,
    )?;
    out.line("# EOF")
}

/// A value of a metric, and its labels as they are written.
struct Sample {
    labels: String,
    value: String,
}

impl Sample {
    fn of(value: impl Display) -> Self {
        Self { labels: String::new(), value: format!("{value}") }
    }

    fn seconds(span: Millis) -> Self {
        Self::of(format!("{}.{:03}", span.0 / 1_000, span.0 % 1_000))
    }

    fn time(at: Timestamp) -> Self {
        Self::seconds(Millis(u64::try_from(at.0).unwrap_or(0)))
    }

    fn label(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.labels, ",{name}=\"{}\"", escaped(value));
        self
    }
}

/// Writes the samples of each metric. Every sample has the path of its database as a label, so that the files of several
/// databases can be collected together.
struct Families<'a> {
    out: &'a mut Output,
    db: String,
}

impl<'a> Families<'a> {
    fn of(file: &StoreFile, out: &'a mut Output) -> Self {
        Self { db: escaped(&file.path().display().to_string()), out }
    }

    fn write(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = Sample>) -> Written {
        self.out.line(format!("# HELP runner_{name} {help}\n# TYPE runner_{name} gauge"))?;
        samples.into_iter().try_for_each(|Sample { labels, value }| {
            self.out.line(format!("runner_{name}{{db=\"{}\"{labels}}} {value}", self.db))
        })
    }
}

/// The value of a label, escaped and on one line.
fn escaped(text: &str) -> String {
    safe_line(text).replace('\\', "\\\\").replace('"', "\\\"")
}
