//! Waiting until the database changes, or until a signal asks the program to stop.

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

/// The pause between reads of the database version: too short for a person to notice, and long enough to take no
/// measurable CPU.
const VERSION_INTERVAL: Duration = Duration::from_millis(40);

/// A wait ends after this time even if the database stays the same, because due times come and workers die.
pub const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Waits until the database changes, or until a signal asks the program to stop.
pub struct ChangeWatch {
    /// The signals that it listens to, each with the flag that its handler raises.
    stops: Vec<(i32, Arc<AtomicBool>)>,
    /// Another thread raises this to end a wait early.
    hurry: Arc<AtomicBool>,
    version: Option<i64>,
    looked_at: Instant,
}

impl ChangeWatch {
    /// Notes SIGINT and SIGTERM from now on. A second signal ends the program at once.
    pub fn start() -> Result<Self> {
        let caught = [SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)).map(catch);
        let stops = caught.collect::<io::Result<_>>().context("could not listen for signals")?;
        Ok(Self { stops, ..Self::hurried_by(Arc::default()) })
    }

    /// Listens to no signal, but a raised flag ends a wait early.
    pub fn hurried_by(hurry: Arc<AtomicBool>) -> Self {
        Self { stops: Vec::new(), hurry, version: None, looked_at: Instant::now() }
    }

    /// The exit status, if a signal has said stop.
    pub fn stopped(&self) -> Option<ExitStatus> {
        let (signal, _) = self.stops.iter().find(|(_, noted)| noted.load(Ordering::Relaxed))?;
        Some(ExitStatus::of_signal(*signal))
    }

    /// Waits until the database may have changed, at most until `until`. The first call does not wait. Returns the
    /// exit status if a signal says stop.
    pub fn wait(&mut self, store: &Store, until: Option<Instant>) -> Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.stopped() {
                return Ok(Some(status));
            }
            let version = Some(store.data_version()?);
            let now = Instant::now();
            let left = until.map(|until| until.saturating_duration_since(now));
            let is_time = left == Some(Duration::ZERO) || now.duration_since(self.looked_at) >= LONGEST_WAIT;
            if is_time || self.version != version || self.is_hurried() {
                store.check_path()?;
                (self.version, self.looked_at) = (version, now);
                return Ok(None);
            }
            thread::sleep(left.map_or(VERSION_INTERVAL, |left| left.min(VERSION_INTERVAL)));
        }
    }

    /// Sleeps for this long even if the database changes.
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

fn catch(signal: i32) -> io::Result<(i32, Arc<AtomicBool>)> {
    let (noted, once) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    // This comes first, because a signal that arrives before the other two lines must be noted, too.
    flag::register(signal, Arc::clone(&noted))?;
    // The order matters: the first signal finds `once` down and raises it; the second finds it raised and ends the
    // program, even if a full pipe or a hanging disk keeps the program from looking at `noted`.
    flag::register_conditional_shutdown(signal, ExitStatus::of_signal(signal).0.into(), Arc::clone(&once))?;
    flag::register(signal, once)?;
    Ok((signal, noted))
}

/// Whether the signal is ignored. A shell starts background jobs with SIGINT ignored, and those must go on ignoring it.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (signal - 1) & 1 == 1
}
