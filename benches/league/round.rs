//! A round: the commands are handed over one by one, the program is struck at random moments, and in the end it is judged.

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::League;
use crate::job::now;
use crate::judge::{Log, Verdict, judge};
use crate::place::Place;
use crate::tools::{Contender, Item};

/// How many commands there are in a round.
pub const COMMANDS: usize = 500;

/// A program that has started nothing for as long is through. Longer than any delay of runner before a retry here.
const QUIET: Duration = Duration::from_secs(6);

/// What happens to a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Kill,
    Cut,
}

/// The times of a round in which nothing happens.
pub struct Calm {
    /// Jobs a second, from the first call to the last end.
    pub rate: f64,
    /// From the first call to the first start.
    pub first_start_ms: f64,
}

fn log(place: &Place) -> anyhow::Result<Log> {
    Ok(Log::parse(&fs::read_to_string(place.side.join("log"))?))
}

/// Milliseconds between two times of the wall clock.
#[expect(clippy::cast_precision_loss, reason = "times of a round stay below 2^52")]
fn milliseconds(from: u128, to: u128) -> f64 {
    to.saturating_sub(from) as f64 / 1e6
}

pub fn calm(league: &League, contender: &Contender) -> anyhow::Result<Calm> {
    let place = Arc::new(Place::new(league, false)?);
    let mut tool = (contender.make)(&place)?;
    let items: Vec<Item> = (1..=COMMANDS).map(|id| Item { id, milliseconds: 0 }).collect();
    if !contender.takes_list {
        tool.start()?;
    }
    let began = now();
    if contender.takes_list {
        tool.take_list(&items)?;
        tool.start()?;
    } else {
        for item in &items {
            ensure!(tool.enqueue(*item)?, "{} takes no command", contender.name);
        }
    }
    let waiting = Instant::now();
    while log(&place)?.ends.len() < COMMANDS {
        ensure!(waiting.elapsed() < Duration::from_mins(5), "{} is not through", contender.name);
        thread::sleep(Duration::from_millis(5));
    }
    let log = log(&place)?;
    let first = log.starts.iter().map(|(_, time)| *time).min().context("a start")?;
    let last = log.ends.iter().map(|(_, time)| *time).max().context("an end")?;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let rate = COMMANDS as f64 * 1e3 / milliseconds(began, last);
    let calm = Calm { rate, first_start_ms: milliseconds(began, first) };
    println!("  calm {}: {:.0} jobs/s, first start {:.1} ms", contender.name, calm.rate, calm.first_start_ms);
    Ok(calm)
}

/// One command in twenty is long: most faults meet some of these.
fn items() -> Vec<Item> {
    let milliseconds = |id| if id % 20 == 0 { 1_500 } else { 15 };
    (1..=COMMANDS).map(|id| Item { id, milliseconds: milliseconds(id) }).collect()
}

pub fn play(league: &League, contender: &Contender, fault: Fault, seed: u64) -> anyhow::Result<Verdict> {
    let mut dice = StdRng::seed_from_u64(seed);
    // By progress, so that a slow program is not struck before it has done anything.
    let first = if contender.takes_list { COMMANDS } else { 0 };
    let mut moments: Vec<usize> =
        (0..league.faults).map(|_| dice.random_range(first + 1..2 * COMMANDS)).collect();
    moments.sort_unstable();
    let place = Arc::new(Place::new(league, fault == Fault::Cut)?);
    let mut tool = (contender.make)(&place)?;
    let items = items();
    if contender.takes_list {
        tool.take_list(&items)?;
    }
    tool.start()?;
    if let Some(disk) = &place.disk {
        disk.sync()?;
    }

    let (tool, acknowledged) = (Mutex::new(tool), Mutex::new(HashSet::new()));
    let (handed_over, is_all) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut dark = Vec::new();
    let struck = thread::scope(|scope| -> anyhow::Result<usize> {
        let enqueuer = scope.spawn(|| -> anyhow::Result<()> {
            for item in &items {
                while place.is_down() {
                    thread::sleep(Duration::from_millis(1));
                }
                // What is handed over as a list has been acknowledged by whoever keeps the list.
                let is_taken = contender.takes_list || lock(&tool).enqueue(*item)?;
                if is_taken && !place.is_down() || contender.takes_list {
                    lock(&acknowledged).insert(item.id);
                }
                handed_over.fetch_add(1, Ordering::SeqCst);
            }
            is_all.store(true, Ordering::SeqCst);
            Ok(())
        });
        let mut struck = 0;
        let mut lines = (0, Instant::now());
        loop {
            let found = log(&place)?;
            let progress = found.starts.len() + found.ends.len();
            if progress != lines.0
                || !is_all.load(Ordering::SeqCst) && !enqueuer.is_finished()
                || place.has_jobs()?
            {
                lines = (progress, Instant::now());
            }
            if lines.1.elapsed() > QUIET {
                break;
            }
            let reached = handed_over.load(Ordering::SeqCst) + found.starts.len();
            if moments.get(struck).is_some_and(|moment| reached >= *moment) {
                thread::sleep(Duration::from_micros(dice.random_range(0..30_000)));
                place.is_down.store(true, Ordering::SeqCst);
                let began = now();
                match fault {
                    Fault::Kill => place.kill_program()?,
                    Fault::Cut => place.cut()?,
                }
                if fault == Fault::Cut {
                    dark.push(began..now());
                }
                thread::sleep(Duration::from_micros(dice.random_range(0..300_000)));
                lock(&tool).start()?;
                place.is_down.store(false, Ordering::SeqCst);
                struck += 1;
            }
            thread::sleep(Duration::from_millis(2));
        }
        enqueuer.join().map_err(|_| anyhow::anyhow!("the enqueuer panicked"))??;
        Ok(struck)
    })?;
    let said = lock(&tool).ends()?;
    let mut verdict = judge(&log(&place)?, &lock(&acknowledged), &said, &dark);
    verdict.faults = struck;
    println!("  {fault:?} {}, seed {seed}: {verdict}", contender.name);
    if (contender.is_broken)(&verdict) {
        let kept = std::env::temp_dir().join(format!("league-{}-{seed}", contender.name));
        let copied = std::process::Command::new("cp").arg("-r").arg(&place.files).arg(&kept).status();
        let log = fs::copy(place.side.join("log"), kept.join("log"));
        println!("    a promise of runner is broken; kept in {}: {copied:?} {log:?}", kept.display());
    }
    Ok(verdict)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
