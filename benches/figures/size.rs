//! Measures that grow with the file: claims, screens, memory, disk.

use std::fs;

use anyhow::{Context as _, ensure};

use crate::harness::{Bench, Sandbox, Worker, float, median, ratios, rounds, row, run, seconds, wait_until};

/// The jobs that stand beside the ones that are claimed.
const CROWDS: [(&str, &str); 4] = [
    ("waiting", r#"{"command":["/bin/true"]}"#),
    ("scheduled", r#"{"command":["/bin/true"],"in":"365d"}"#),
    ("held back", r#"{"command":["/bin/true"],"queue":"full"}"#),
    ("finished", r#"{"command":["/bin/true"],"expires_in":"1ms"}"#), // dead of expiry: the cheapest way to end
];

/// A file with so many jobs of a kind.
fn crowd<'a>(bench: &'a Bench, kind: &str, jobs: usize) -> anyhow::Result<Sandbox<'a>> {
    let sandbox = bench.sandbox()?;
    let line = CROWDS.iter().find(|crowd| crowd.0 == kind).context("no such kind")?.1;
    sandbox.fill(jobs, line)?;
    if kind == "held back" {
        run(&mut sandbox.runner("limit full --rate 1/h"))?;
        run(&mut sandbox.runner("work --quiet --queue full --max-jobs 1"))?;
    }
    if kind == "finished" {
        sandbox.runner("work --quiet --until-idle").status()?; // 1, as jobs have died
        ensure!(sandbox.count("dead")? == jobs, "not every job has expired");
    }
    Ok(sandbox)
}

/// The time for each of some jobs that one slot starts, in a large file against a small one.
pub fn claim(bench: &Bench) -> anyhow::Result<()> {
    const CLAIMS: usize = 300;
    for (kind, _) in CROWDS {
        for jobs in bench.size(&[1_000_000][..], &[10_000, 100_000, 1_000_000, 10_000_000]) {
            let files = [crowd(bench, kind, 1_000)?, crowd(bench, kind, *jobs)?];
            let [few, many] = rounds(bench.size(5, 9), |file| {
                files[file].fill(CLAIMS, CROWDS[0].1)?;
                let mut work = files[file].runner("work --quiet -j 1 --max-jobs");
                Ok(seconds(work.arg(CLAIMS.to_string()))? / float(CLAIMS))
            })?;
            let measure = format!("a job beside {jobs} {kind} jobs against one beside 1000");
            let beside = format!("ms: {:.2} and {:.2}", median(&many) * 1e3, median(&few) * 1e3);
            row(&measure, &ratios(&many, &few), "×", "≤ 1.5", &beside);
        }
    }
    Ok(())
}

/// Whole calls of the screens.
pub fn inspect(bench: &Bench) -> anyhow::Result<()> {
    for (kind, jobs, screens) in [
        ("waiting", 100_000, &[("inspect", "< 40")][..]),
        ("waiting", 1_000_000, &[("inspect", "< 300"), ("inspect jobs", "< 50"), ("inspect 500000", "< 10")]),
        ("finished", 1_000_000, &[("inspect", "< 300"), ("inspect jobs", "< 50"), ("inspect dead", "–")]),
    ] {
        let sandbox = crowd(bench, kind, jobs)?;
        for (screen, target) in screens {
            let [times] = rounds(bench.size(7, 21), |_| Ok(seconds(&mut sandbox.runner(screen))? * 1e3))?;
            row(&format!("runner {screen} with {jobs} {kind} jobs"), &times, " ms", target, "");
        }
    }
    Ok(())
}

pub fn footprint(bench: &Bench) -> anyhow::Result<()> {
    let (bytes, jobs) = bench.size(("1G", 5_000), ("10G", 50_000));
    let after_one = |command: &str| -> anyhow::Result<()> {
        let sandbox = bench.sandbox()?;
        let worker = sandbox.worker("")?;
        run(&mut sandbox.runner(&format!("enqueue --wait -- {command}")))?;
        memory(&format!("most memory of a worker that ran {command}"), &worker, "≤ 16")
    };
    let idle = bench.sandbox()?;
    memory("most memory of an idle worker", &idle.worker("")?, "≤ 10")?;
    after_one(&format!("head -c {bytes} /dev/zero"))?;

    let queued = crowd(bench, "waiting", 1_000_000)?;
    let worker = queued.worker("")?;
    wait_until("some jobs have run", || Ok(queued.count("succeeded")? >= 500))?;
    memory("most memory of a worker with 1 M jobs queued", &worker, "≤ 14")?;

    let sandbox = bench.sandbox()?;
    let size = |copy: &str| -> anyhow::Result<f64> {
        run(sandbox.runner("backup").arg(copy))?; // a copy has no write-ahead log beside it
        Ok(float(usize::try_from(fs::metadata(sandbox.path(copy))?.len())?))
    };
    sandbox.fill(1, CROWDS[0].1)?;
    let before = size("before.db")?;
    sandbox.fill(jobs, CROWDS[0].1)?;
    run(&mut sandbox.runner("work --drain"))?;
    let each = (size("after.db")? - before) / float(jobs);
    row("disk of a finished job without output", &[each], " bytes", "≤ 300", "");
    Ok(())
}

/// The peak of a worker's resident memory.
fn memory(measure: &str, worker: &Worker, target: &str) -> anyhow::Result<()> {
    let status = worker.proc_file("status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kib: f64 = line.trim_matches(['\t', ' ', 'k', 'B']).parse()?;
    row(measure, &[kib * 1024.0 / 1e6], " MB", target, "");
    Ok(())
}
