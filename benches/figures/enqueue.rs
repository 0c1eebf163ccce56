//! One call of `runner enqueue`, from its start to its end, while a worker runs.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::ensure;
use rusqlite::Connection;

use crate::Context;
use crate::bed::{Bed, Worker, wait_until};
use crate::machine::is_installed;
use crate::sample::{Sample, median};
use crate::table::{Row, Target, short};
use crate::timed::{interleaved, program, seconds};

/// After each call, so that what it set off in the background does not run while the next is timed.
const REST: Duration = Duration::from_millis(5);

/// The contenders, in this order.
const CONTENDERS: usize = 4;

pub fn rows(context: &Context) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (jobs, what) in [(0, "an empty queue"), (1_000_000, "1 M queued")] {
        rows.extend(race(context, jobs, what)?);
    }
    Ok(rows)
}

fn race(context: &Context, queued: usize, what: &str) -> anyhow::Result<Vec<Row>> {
    let bed = Bed::new(&context.args)?;
    std::fs::write(bed.path("jobs.toml"), "[jobs.x]\ncommand = [\"/bin/true\"]\n")?;
    let line = "{\"command\":[\"/bin/true\"],\"queue\":\"crowd\"}\n";
    bed.batch(&line.repeat(queued.max(1)))?;
    let before = bed.count("pending")? + bed.count("succeeded")?;
    // The crowd is to stay: the worker serves the queue of the timed calls alone.
    let _worker: Worker = bed.worker(&["--queue", "default"])?;
    let table = Table::new(&bed.path("plain.db"))?;
    let spooler = Spooler::start(&bed)?;

    let (repetitions, calls) = context.size((5, 20), (9, 60));
    let [runner, nothing, sqlite, tsp] = interleaved::<CONTENDERS>(repetitions, |contender| {
        let mut command = match contender {
            0 => bed.runner(&["enqueue", "x"]),
            1 => program("/bin/true"),
            2 => table.insert(),
            _ if spooler.is_some() => Spooler::call(&bed, &["/bin/true"]),
            _ => return Ok(f64::NAN),
        };
        typical(&mut command, calls)
    })?;
    let made = bed.count("pending")? + bed.count("running")? + bed.count("succeeded")? - before;
    ensure!(made == repetitions * calls, "{made} of {} calls enqueued a job", repetitions * calls);
    ensure!(table.count()? == repetitions * calls, "the sqlite3 shell has not written every row");

    let ms = |times: &[f64]| format!("{} ms", short(median(times) * 1e3));
    let note = |name: &str, times: &[f64]| format!("runner {}, {name} {}", ms(&runner), ms(times));
    let label = |other: &str| format!("one `enqueue` call, worker running, {what}, against {other}");
    let row = |other: &str, times: &[f64], bound: f64| {
        Row::ratio(label(other), Sample::ratios(&runner, times), Target::AtMost(bound))
            .note(note(other, times))
    };
    let last = if spooler.is_some() {
        row("task-spooler", &tsp, 1.0)
    } else {
        let why = "apt-get install task-spooler";
        Row::not_measured(label("task-spooler"), why, "×", Target::AtMost(1.0))
    };
    Ok(vec![row("`/bin/true`", &nothing, 1.6), row("`sqlite3` inserting a row", &sqlite, 0.45), last])
}

/// The median of the seconds of several calls, with a rest after each.
fn typical(command: &mut Command, calls: usize) -> anyhow::Result<f64> {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        times.push(seconds(command)?);
        thread::sleep(REST);
    }
    Ok(median(&times))
}

/// A table that the `sqlite3` shell fills. It is the shell's best case that is as durable: a WAL that another connection
/// keeps open, as a worker does.
struct Table {
    open: Connection,
}

impl Table {
    fn new(path: &Path) -> anyhow::Result<Self> {
        let open = Connection::open(path)?;
        open.execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE jobs (id INTEGER PRIMARY KEY, command TEXT NOT NULL);
             INSERT INTO jobs (command) VALUES ('first'); DELETE FROM jobs;",
        )?;
        Ok(Self { open })
    }

    fn insert(&self) -> Command {
        let mut command = program("sqlite3");
        command.arg("-batch").arg(self.open.path().unwrap_or_default());
        command.arg("INSERT INTO jobs (command) VALUES ('/bin/true')");
        command
    }

    fn count(&self) -> anyhow::Result<usize> {
        Ok(self.open.query_row("SELECT count(*) FROM jobs", [], |row| row.get(0))?)
    }
}

/// A server of task-spooler, ended when this is dropped.
struct Spooler<'a>(&'a Bed);

impl<'a> Spooler<'a> {
    /// None where it is not installed.
    fn start(bed: &'a Bed) -> anyhow::Result<Option<Self>> {
        if !is_installed("tsp") {
            return Ok(None);
        }
        seconds(&mut Self::call(bed, &["-S", "1"]))?;
        let spooler = Self(bed);
        wait_until("task-spooler answers", || {
            Self::call(bed, &["-S"]).output().is_ok_and(|out| out.status.success())
        })?;
        Ok(Some(spooler))
    }

    fn call(bed: &Bed, words: &[&str]) -> Command {
        let mut command = program("tsp");
        command.args(words).env("TS_SOCKET", bed.socket("tsp")).env("TMPDIR", bed.path(""));
        command
    }
}

impl Drop for Spooler<'_> {
    fn drop(&mut self) {
        let _ = Self::call(self.0, &["-K"]).status();
    }
}
