//! How long a job waits for an idle worker, and what an idle worker costs.
//!
//! The clock starts when the job is on disk, just before the wake-up, and stops in the first line of its command, which
//! reads the clock and sends it here. The same command started directly gives what a start costs anyway. What passes from
//! before the job is written, its own sync included, is told beside it.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use runner::{clock, wake};

use crate::Context;
use crate::bed::Bed;
use crate::crowd;
use crate::sample::Sample;
use crate::table::{Row, Target, short};
use crate::timed::program;

/// Long enough for the worker to be idle again.
const REST: Duration = Duration::from_millis(10);

/// How long an idle worker is watched.
const IDLE: Duration = Duration::from_secs(5);

pub fn rows(context: &Context) -> anyhow::Result<Vec<Row>> {
    let bed = Bed::new(&context.args)?;
    let worker = bed.worker(&[])?;
    let mut rows = waits(context, &bed)?;
    let stat = format!("/proc/{}/stat", worker.child.id());
    let schedstat = format!("/proc/{}/schedstat", worker.child.id());
    // What the last job left to do is done by then.
    thread::sleep(Duration::from_secs(1));
    let (ticks, ran) = (cpu_ticks(&stat)?, nanoseconds(&schedstat)?);
    thread::sleep(IDLE);
    let ticks = cpu_ticks(&stat)? - ticks;
    let ran = (nanoseconds(&schedstat)? - ran) / 1e6;
    rows.push(
        Row::new("an idle worker in 5 s", Sample::new(vec![ticks]), "CPU ticks", Target::AtMost(0.0))
            .note(format!("its main thread ran for {} ms", short(ran))),
    );
    Ok(rows)
}

fn waits(context: &Context, bed: &Bed) -> anyhow::Result<Vec<Row>> {
    let inbox = UnixDatagram::bind(bed.socket("inbox"))?;
    inbox.set_read_timeout(Some(Duration::from_secs(30)))?;
    let (helper, address) = (context.helpers.clock.to_string_lossy(), bed.socket("inbox"));
    let argv = [helper.as_ref(), &address.to_string_lossy()];
    let job = crowd::job(&argv, &bed.path(""));
    let mut store = crowd::open(&bed.db())?;
    let run_dir = store.file().run_dir();

    let (mut bare, mut from_commit, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..context.size(100, 1_000) {
        let began = now()?;
        let mut child = program(argv[0]).arg(argv[1]).stdout(Stdio::null()).spawn()?;
        bare.push(started(&inbox)? - began);
        child.wait()?;
        thread::sleep(REST);

        let began = now()?;
        store.enqueue(std::slice::from_ref(&job), &clock::now)?;
        let committed = now()?;
        wake::wake_workers(&run_dir);
        let at = started(&inbox)?;
        whole.push(at - began);
        from_commit.push(at - committed);
        thread::sleep(REST);
    }
    let [bare, from_commit, whole] = [bare, from_commit, whole].map(Sample::new);
    let row = |percent, bound| {
        let over = from_commit.percentile(percent) - bare.percentile(percent);
        Row::new(
            format!("pickup by an idle worker over a bare spawn, p{percent}"),
            Sample::new(vec![over]),
            "ms",
            Target::AtMost(bound),
        )
        .note(format!(
            "from after the commit {} ms, from before it {} ms, bare spawn {} ms",
            short(from_commit.percentile(percent)),
            short(whole.percentile(percent)),
            short(bare.percentile(percent)),
        ))
    };
    Ok(vec![row(50, 1.0), row(99, 2.0)])
}

/// Milliseconds by the wall clock.
fn now() -> anyhow::Result<f64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e3)
}

/// When the command that has just been started read its clock.
fn started(inbox: &UnixDatagram) -> anyhow::Result<f64> {
    let mut text = [0; 64];
    let length = inbox.recv(&mut text).context("the command did not start")?;
    let text = std::str::from_utf8(&text[..length])?;
    let (seconds, rest) = text.split_once('.').context("the command sent no time")?;
    Ok(seconds.parse::<f64>()? * 1e3 + rest.parse::<f64>()? / 1e6)
}

/// User and system time of a process in clock ticks: the 14th and 15th field.
fn cpu_ticks(stat: &str) -> anyhow::Result<f64> {
    let text = fs::read_to_string(stat)?;
    let (_, rest) = text.rsplit_once(')').context("no name in it")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    ensure!(fields.len() > 13, "{stat} is short");
    Ok(fields[11].parse::<f64>()? + fields[12].parse::<f64>()?)
}

/// How long the main thread ran.
fn nanoseconds(schedstat: &str) -> anyhow::Result<f64> {
    let text = fs::read_to_string(schedstat)?;
    Ok(text.split(' ').next().context("it is empty")?.parse()?)
}
