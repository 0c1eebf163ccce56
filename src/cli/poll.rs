//! Polling the database, until there is nothing more to wait for or a signal says stop.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::error::ExitStatus;
use crate::store::Store;

/// The pause between reads of the database version: no person notices the delay, and the reads take no measurable CPU.
const VERSION_INTERVAL: Duration = Duration::from_millis(40);

/// The longest time without a poll while the version stays the same: time passes, and workers die.
pub const LONGEST_WAIT: Duration = Duration::from_secs(1);

pub struct Poller {
    stops: Vec<(i32, Arc<AtomicBool>)>,
    /// Raised to end a wait early.
    hurry: Arc<AtomicBool>,
    version: Option<i64>,
    polled_at: Instant,
}

impl Poller {
    /// From now on SIGINT and SIGTERM are noted. A second one ends the program at once.
    pub fn start() -> Result<Self> {
        let caught = [SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)).map(catch);
        let stops = caught.collect::<io::Result<_>>().context("could not listen for signals")?;
        Ok(Self { stops, ..Self::hurried_by(Arc::default()) })
    }

    /// Listens to no signal. Whoever raises the flag ends a wait early.
    pub fn hurried_by(hurry: Arc<AtomicBool>) -> Self {
        Self { stops: Vec::new(), hurry, version: None, polled_at: Instant::now() }
    }

    /// The exit status, if a signal has said stop.
    pub fn stopped(&self) -> Option<ExitStatus> {
        let (signal, _) = self.stops.iter().find(|(_, noted)| noted.load(Ordering::Relaxed))?;
        Some(exit_status(*signal))
    }

    /// Waits until there may be something new, at most until `until`; the first time not at all. Gives the exit status if a signal says stop.
    pub fn wait(&mut self, store: &Store, until: Option<Instant>) -> Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.stopped() {
                return Ok(Some(status));
            }
            let version = Some(store.data_version()?);
            let now = Instant::now();
            let left = until.map(|until| until.saturating_duration_since(now));
            let is_time = left == Some(Duration::ZERO) || now.duration_since(self.polled_at) >= LONGEST_WAIT;
            if is_time || self.version != version || self.is_hurried() {
                store.check_path()?;
                (self.version, self.polled_at) = (version, now);
                return Ok(None);
            }
            thread::sleep(left.map_or(VERSION_INTERVAL, |left| left.min(VERSION_INTERVAL)));
        }
    }

    /// Sleeps for this long, whatever changes.
    pub fn rest(&self, span: Duration) {
        let began = Instant::now();
        while let Some(left) = span.checked_sub(began.elapsed()).filter(|_| !self.is_hurried()) {
            thread::sleep(left.min(VERSION_INTERVAL));
        }
    }

    fn is_hurried(&self) -> bool {
        self.hurry.load(Ordering::Relaxed)
    }
}

/// The exit status of a program that ends on this signal.
pub fn exit_status(signal: i32) -> ExitStatus {
    ExitStatus(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

fn catch(signal: i32) -> io::Result<(i32, Arc<AtomicBool>)> {
    let noted = Arc::new(AtomicBool::new(false));
    // In this order the first signal finds the flag down, and raises it. The second one ends the program, even if a full
    // pipe or a hanging disk keeps it from looking at the flag.
    flag::register_conditional_shutdown(signal, exit_status(signal).0.into(), Arc::clone(&noted))?;
    flag::register(signal, Arc::clone(&noted))?;
    Ok((signal, noted))
}

/// A shell starts background jobs with SIGINT ignored, and SIGINT must stay ignored.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (signal - 1) & 1 == 1
}
