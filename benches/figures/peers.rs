//! The same drain by other queues, where they are installed.

use anyhow::{Context as _, ensure};

use crate::harness::{Bench, float, median, ratios, rounds, row};
use crate::speed::drain_seconds;

/// Name and program, how to install it, slots, jobs, target.
const PEERS: [(&str, &str, usize, usize, &str); 5] = [
    ("parallel", "apt-get install parallel", 8, 300, "≥ 8"),
    ("pueue", "cargo install --locked pueue", 8, 60, "≥ 80"),
    ("nq", "apt-get install nq", 1, 300, "≥ 1.8"),
    ("tsp", "apt-get install task-spooler", 4, 900, "≥ 1.8"),
    ("huey", "pip install huey", 4, 1_000, "≥ 1.5"),
];

pub fn drain(bench: &Bench) -> anyhow::Result<()> {
    for (peer, install, slots, jobs, target) in PEERS {
        let measure = format!("drain /bin/true, {slots} slots, against {peer}");
        if bench.version(peer).is_none() {
            println!("  {measure}: not installed ({install})");
            continue;
        }
        let [runner, other] = rounds(bench.size(3, 7), |contender| {
            if contender == 0 {
                let took = drain_seconds(bench, slots, 2_000, r#"{"command":["/bin/true"]}"#)?;
                return Ok(2_000.0 / took);
            }
            let sandbox = bench.sandbox()?;
            let mut shell = sandbox.program("sh");
            shell.args(["-c", include_str!("peers.sh"), "sh", peer, &jobs.to_string(), &slots.to_string()]);
            let output = shell.output()?;
            ensure!(output.status.success(), "{peer} failed: {}", sandbox.read("log")?);
            let took: f64 = String::from_utf8(output.stdout)?.trim().parse().context("no seconds")?;
            Ok(float(jobs) / took)
        })?;
        let beside = format!("jobs/s: runner {:.0}, {peer} {:.0}", median(&runner), median(&other));
        row(&measure, &ratios(&runner, &other), "×", target, &beside);
    }
    Ok(())
}
