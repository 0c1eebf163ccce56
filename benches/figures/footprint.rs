//! Memory of a worker, and disk of a finished job.

use std::fs;

use anyhow::{Context as _, ensure};
use rusqlite::Connection;

use crate::Context;
use crate::bed::{Bed, Worker, wait_until};
use crate::crowd::{self, Kind, said};
use crate::sample::{Sample, float};
use crate::table::{Row, Target, short};
use crate::timed::seconds;

pub fn rows(context: &Context) -> anyhow::Result<Vec<Row>> {
    let (bytes, much) = context.size(("1G", "1 GiB"), ("10G", "10 GiB"));
    Ok(vec![idle(context)?, queued(context)?, loud(context, bytes, much)?, disk(context)?])
}

/// Once it has run one job.
fn idle(context: &Context) -> anyhow::Result<Row> {
    let bed = Bed::new(&context.args)?;
    let worker = bed.worker(&[])?;
    run_one(&bed, &["/bin/true"])?;
    memory("memory of an idle worker", &worker, 8.0)
}

/// While it works through a queue of a million.
fn queued(context: &Context) -> anyhow::Result<Row> {
    let bed = Bed::new(&context.args)?;
    let mut store = crowd::open(&bed.db())?;
    crowd::add(&mut store, Kind::Waiting, 1_000_000)?;
    drop(store);
    let worker = bed.worker(&[])?;
    wait_until("some jobs have run", || bed.count("succeeded").is_ok_and(|done| done >= 500))?;
    memory("memory of a worker with 1 M jobs queued", &worker, 12.0)
}

fn loud(context: &Context, bytes: &str, much: &str) -> anyhow::Result<Row> {
    let bed = Bed::new(&context.args)?;
    let worker = bed.worker(&[])?;
    run_one(&bed, &["head", "-c", bytes, "/dev/zero"])?;
    memory(&format!("memory of a worker whose job wrote {much}"), &worker, 16.0)
}

fn run_one(bed: &Bed, argv: &[&str]) -> anyhow::Result<()> {
    let mut words = vec!["enqueue", "--"];
    words.extend(argv);
    seconds(&mut bed.runner(&words))?;
    wait_until("the job has run", || bed.count("succeeded").is_ok_and(|done| done == 1))
}

/// The most that it ever had.
fn memory(measure: &str, worker: &Worker, bound: f64) -> anyhow::Result<Row> {
    let status = fs::read_to_string(format!("/proc/{}/status", worker.child.id()))?;
    let megabytes = |key: &str| -> anyhow::Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).context("the worker has ended")?;
        Ok(line.trim_matches([':', ' ', '\t', 'k', 'B']).parse::<f64>()? * 1024.0 / 1e6)
    };
    let now = short(megabytes("VmRSS")?);
    Ok(Row::new(measure, Sample::new(vec![megabytes("VmHWM")?]), "MB", Target::AtMost(bound))
        .note(format!("the most it had resident (VmHWM); now {now} MB")))
}

/// What a job adds to the file once it is finished.
fn disk(context: &Context) -> anyhow::Result<Row> {
    let jobs = context.size(5_000, 50_000);
    let bed = Bed::new(&context.args)?;
    let command = context.helpers.no_op.to_string_lossy();
    bed.batch(&format!("{{\"command\":[{command:?}]}}\n"))?;
    let size = || -> anyhow::Result<u64> {
        let connection = Connection::open(bed.db())?;
        let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        ensure!(busy == 0, "the WAL could not be written back");
        Ok(fs::metadata(bed.db())?.len())
    };
    let before = size()?;
    bed.batch(&format!("{{\"command\":[{command:?}]}}\n").repeat(jobs))?;
    let waiting = size()?;
    seconds(&mut bed.runner(&["work", "--drain"]))?;
    bed.check_succeeded(jobs + 1)?;
    let after = size()?;
    let each = |bytes: u64| float(usize::try_from(bytes - before).unwrap_or(usize::MAX)) / float(jobs);
    Ok(Row::new("disk of a finished job", Sample::new(vec![each(after)]), "bytes", Target::AtMost(250.0))
        .note(format!(
            "{} jobs, one attempt each, no output; a waiting one {} bytes",
            said(jobs),
            short(each(waiting))
        )))
}
