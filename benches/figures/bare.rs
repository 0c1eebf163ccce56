//! The limit: threads that start processes, capture what they write and wait for them, and that write nothing down.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{anyhow, ensure};

use crate::timed::program;

/// Runs a program so many times, so many at once, as a worker starts its jobs: in a process group each, with both
/// streams in pipes. Gives the seconds that took.
pub fn seconds(argv: &[&str], jobs: usize, slots: usize, cwd: &Path) -> anyhow::Result<f64> {
    let left = AtomicUsize::new(jobs);
    let take = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
    let serve = || -> io::Result<usize> {
        let mut succeeded = 0;
        while take() {
            succeeded += usize::from(run(argv, cwd)?);
        }
        Ok(succeeded)
    };
    let began = Instant::now();
    let succeeded = thread::scope(|scope| {
        let threads: Vec<_> = (0..slots).map(|_| scope.spawn(serve)).collect();
        let counts =
            threads.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread broke down")));
        counts.map(|count| Ok(count??)).sum::<anyhow::Result<usize>>()
    })?;
    let took = began.elapsed().as_secs_f64();
    ensure!(succeeded == jobs, "only {succeeded} of {jobs} processes succeeded");
    Ok(took)
}

fn run(argv: &[&str], cwd: &Path) -> io::Result<bool> {
    let mut child = program(argv[0])
        .args(&argv[1..])
        .current_dir(cwd)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let mut written = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut written)?;
    }
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut written)?;
    }
    Ok(child.wait()?.success())
}
