//! Jobs a second, and how soon.

use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::harness::{Bench, float, median, percentile, ratios, rounds, row, run, seconds};

/// The time from the start of a worker to its end, over so many jobs that were enqueued before.
pub fn drain_seconds(bench: &Bench, slots: usize, jobs: usize, line: &str) -> anyhow::Result<f64> {
    let sandbox = bench.sandbox()?;
    fs::write(sandbox.path("jobs.toml"), "[jobs.declared]\ncommand = ['/bin/true']\n")?;
    sandbox.fill(jobs, line)?;
    let took = seconds(&mut sandbox.runner(&format!("work --drain -j {slots}")))?;
    ensure!(sandbox.count("succeeded")? == jobs, "not every job has succeeded");
    Ok(took)
}

/// The pages that a turn of a worker with one slot writes to the log, as `strace` shows.
const PAGES_OF_A_TURN: usize = 13;

/// The seconds that a disk takes to write and sync the pages of so many turns, one after the other.
fn sync_seconds(bench: &Bench, turns: usize) -> anyhow::Result<f64> {
    let sandbox = bench.sandbox()?;
    let pages = vec![0x5a; PAGES_OF_A_TURN * 4096];
    let file = File::create(sandbox.path("log"))?;
    file.write_all_at(&pages, 0)?; // like the log of a database, which is written over and keeps its length
    file.sync_all()?;
    let began = Instant::now();
    for _ in 0..turns {
        file.write_all_at(&pages, 0)?;
        file.sync_data()?;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Jobs that do nothing, against `xargs`; and jobs that fail once, against jobs that never fail.
pub fn drain(bench: &Bench) -> anyhow::Result<()> {
    let (jobs, turns) = bench.size((2_000, 3), (6_000, 7));
    let rate = |times: &[f64]| float(jobs) / median(times);
    for (slots, target) in [(1, "–"), (2, "≥ 0.75"), (4, "≥ 1.0"), (8, "≥ 1.0")] {
        let [xargs, declared, ad_hoc, sync] = rounds(turns, |contender| match contender {
            0 => {
                let sandbox = bench.sandbox()?;
                fs::write(sandbox.path("input"), "x\n".repeat(jobs))?;
                let mut xargs = sandbox.program("xargs");
                xargs.args(["-n", "1", "-P", &slots.to_string(), "/bin/true"]);
                seconds(xargs.stdin(File::open(sandbox.path("input"))?))
            }
            1 => drain_seconds(bench, slots, jobs, r#"{"name":"declared"}"#),
            2 => drain_seconds(bench, slots, jobs, r#"{"command":["/bin/true"]}"#),
            _ => sync_seconds(bench, jobs),
        })?;
        for (name, times) in [("declared", declared), ("ad hoc", ad_hoc)] {
            let measure = format!("drain {jobs} {name} jobs, {slots} slots, against xargs -P");
            let beside = format!("jobs/s: runner {:.0}, xargs {:.0}", rate(&times), rate(&xargs));
            row(&measure, &ratios(&xargs, &times), "×", target, &beside);
            if slots == 1 {
                // Nothing that syncs each job can be faster: xargs, and one sync of a turn's pages for each job.
                let limit: Vec<f64> = xargs.iter().zip(&sync).map(|(xargs, sync)| xargs + sync).collect();
                let measure = format!("drain {jobs} {name} jobs, 1 slot, against xargs -P1 and a sync a job");
                row(&measure, &ratios(&limit, &times), "×", "≥ 0.95", "");
            }
        }
    }
    for slots in [1, 4] {
        let [plain, retried] = rounds(turns, |contender| {
            let line = format!(r#"{{"command":"[ $RUNNER_ATTEMPT -gt {contender} ]","max_attempts":2,"#);
            drain_seconds(bench, slots, jobs / (contender + 1), &(line + r#""backoff":"0s","jitter":0}"#))
        })?;
        let measure = format!("attempts/s, {slots} slots, every job fails once, against no job fails");
        let beside = format!("attempts/s: {:.0} and {:.0}", rate(&retried), rate(&plain));
        row(&measure, &ratios(&plain, &retried), "×", "≥ 0.75", &beside);
    }
    Ok(())
}

/// One call from start to end while a worker runs, in an empty file and behind a million jobs of another queue.
pub fn enqueue(bench: &Bench) -> anyhow::Result<()> {
    let (calls, turns) = bench.size((20, 5), (60, 9));
    for queued in [1, 1_000_000] {
        let sandbox = bench.sandbox()?;
        fs::write(sandbox.path("jobs.toml"), "[jobs.true]\ncommand = ['/bin/true']\n")?;
        sandbox.fill(queued, r#"{"command":["/bin/true"],"queue":"crowd"}"#)?;
        let _worker = sandbox.worker("--queue default")?;
        // As durable as runner's file, and kept open by another process, as a worker keeps runner's file open.
        let plain = rusqlite::Connection::open(sandbox.path("plain.db"))?;
        plain.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE jobs (command TEXT)")?;

        let [runner, nothing, sqlite] = rounds(turns, |contender| {
            let mut call = match contender {
                0 => sandbox.runner("enqueue true"),
                1 => sandbox.program("/bin/true"),
                _ => sandbox.program("sqlite3"),
            };
            if contender == 2 {
                call.args(["plain.db", "PRAGMA synchronous = FULL; INSERT INTO jobs VALUES ('/bin/true')"]);
            }
            let mut times = Vec::new();
            for _ in 0..calls {
                times.push(seconds(&mut call)?);
                thread::sleep(REST);
            }
            Ok(median(&times))
        })?;
        for (name, times, target) in
            [("/bin/true", nothing, "≤ 5"), ("sqlite3 inserting a row", sqlite, "≤ 1.5")]
        {
            let measure = format!("one enqueue with {queued} queued, against {name}");
            let beside = format!("ms: {:.2} and {:.2}", median(&runner) * 1e3, median(&times) * 1e3);
            row(&measure, &ratios(&runner, &times), "×", target, &beside);
        }
    }
    Ok(())
}

/// Waits until the background work of a call has ended.
const REST: Duration = Duration::from_millis(5);

/// Many jobs in one call, into a file that holds a million.
pub fn batch(bench: &Bench) -> anyhow::Result<()> {
    let (jobs, turns) = bench.size((200_000, 3), (500_000, 5));
    let sandbox = bench.sandbox()?;
    sandbox.fill(1_000_000, r#"{"command":["/bin/true"]}"#)?;
    let lines = (0..jobs).map(|n| format!(r#"{{"command":["/usr/bin/thumb"],"args":["photo-{n:07}.jpg"]}}"#));
    fs::write(sandbox.path("batch"), lines.collect::<Vec<_>>().join("\n"))?;
    let [rates] =
        rounds(turns, |_| Ok(float(jobs) / seconds(&mut sandbox.runner("enqueue --batch batch"))? / 1e3))?;
    row("enqueue --batch into a file with 1 M jobs", &rates, " k jobs/s", "≥ 150", "");
    Ok(())
}

/// The first argument of this program when it runs as the job that `pickup` waits for.
pub const PING: &str = "--ping";

pub fn ping(socket: &Path) -> anyhow::Result<()> {
    UnixDatagram::unbound()?.send_to(b"started", socket)?;
    Ok(())
}

/// From the moment an id is printed until its command runs, over the time that a bare start of that command takes.
pub fn pickup(bench: &Bench) -> anyhow::Result<()> {
    let sandbox = bench.sandbox()?;
    let worker = sandbox.worker("")?;
    let sockets = tempfile::tempdir()?; // the path of a socket must be short
    let socket = sockets.path().join("inbox");
    let inbox = UnixDatagram::bind(&socket)?;
    inbox.set_read_timeout(Some(Duration::from_secs(30)))?;
    let started = || inbox.recv(&mut [0; 64]).context("the command did not start");

    let (mut bare, mut picked_up) = (Vec::new(), Vec::new());
    for _ in 0..bench.size(200, 1_000) {
        let mut command = Command::new(env::current_exe()?);
        let began = Instant::now();
        let mut child = command.arg(PING).arg(&socket).spawn()?;
        started()?;
        bare.push(began.elapsed().as_secs_f64() * 1e3);
        child.wait()?;
        thread::sleep(REST);

        let mut call = sandbox.runner("enqueue --");
        let mut child =
            call.arg(env::current_exe()?).arg(PING).arg(&socket).stdout(Stdio::piped()).spawn()?;
        BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut String::new())?;
        let printed = Instant::now();
        started()?;
        picked_up.push(printed.elapsed().as_secs_f64() * 1e3);
        child.wait()?;
        thread::sleep(REST);
    }
    for (percent, target) in [(50, "≤ 1.5"), (99, "≤ 5")] {
        let [picked_up, bare] = [&picked_up, &bare].map(|times| percentile(times, percent));
        let beside = format!("ms: {picked_up:.2} after the id, a bare start takes {bare:.2}");
        row(&format!("pickup over a bare start, p{percent}"), &[picked_up - bare], " ms", target, &beside);
    }

    thread::sleep(Duration::from_secs(1)); // the work after the last job has ended by then
    let ticks = || -> anyhow::Result<f64> {
        // User and system time are fields 14 and 15; the name before may hold blanks.
        let stat = worker.proc_file("stat")?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        Ok(fields[11].parse::<f64>()? + fields[12].parse::<f64>()?)
    };
    let before = ticks()?;
    thread::sleep(Duration::from_secs(5));
    row("CPU of an idle worker in 5 s", &[ticks()? - before], " ticks", "≤ 1", "");
    run(&mut sandbox.runner("doctor"))
}
