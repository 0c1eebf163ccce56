//! The reasons for which a queue starts no job: a pause, a limit on running attempts, a rate.
//!
//! A claim reads [`QueueCapacity`] in its own transaction, so that a limit holds over all workers and through crashes. People
//! set limits by hand; `apply` sets those of a job file.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row, params};

use crate::model::{Limits, Pause, Rate};
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{self, all, each, from_row, maybe, run};
use crate::text::Timestamp;

/// The reason why a queue starts none of its due jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueHold {
    /// Everything is paused.
    AllPaused(Pause),
    Paused(Pause),
    /// This many attempts are running, and no more are allowed.
    Full(u32),
    /// The rate allows no start before this time.
    Paced(Rate, Timestamp),
}

impl QueueHold {
    /// The limit that the queue has reached; none if it is paused.
    pub fn limit(self) -> Option<Limits> {
        match self {
            Self::AllPaused(_) | Self::Paused(_) => None,
            Self::Full(most) => Some(Limits { max_running: Some(most), ..Limits::default() }),
            Self::Paced(rate, _) => Some(Limits { rate: Some(rate), ..Limits::default() }),
        }
    }

    /// When the limit allows the next start; none if an event does, not a time.
    pub fn next_start(self) -> Option<Timestamp> {
        match self {
            Self::AllPaused(_) | Self::Paused(_) | Self::Full(_) => None,
            Self::Paced(_, next) => Some(next),
        }
    }
}

/// The columns of `queues` that decide about claims.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// The pause of this queue, which may be over.
    pub pause: Option<Pause>,
    pub limits: Limits,
    /// The last start while there was a rate, see [`Rate::counted_start`].
    last_start_at: Option<Timestamp>,
}

/// The columns of [`Settings`], of `queues`.
pub const SETTINGS: &str = "paused, paused_until, max_running, rate, last_start_at";

/// The job files that have set a limit.
pub const FILES_OF_LIMITS: &str = "SELECT max_running_file FROM queues WHERE max_running_file IS NOT NULL
                                   UNION SELECT rate_file FROM queues WHERE rate_file IS NOT NULL";

impl Settings {
    /// Reads a row of `queues`; all columns are null where the queue has none.
    pub fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            pause: Pause::from_columns(
                row.get::<_, Option<bool>>("paused")?.unwrap_or_default(),
                row.get("paused_until")?,
            ),
            limits: read_limits(row)?,
            last_start_at: row.get("last_start_at")?,
        })
    }

    /// The reason why the queue starts nothing, if it runs this number of attempts.
    pub fn queue_hold(&self, running: u64, now: Timestamp) -> Option<QueueHold> {
        let Limits { max_running, rate } = self.limits;
        if let Some(pause) = self.pause.filter(|pause| !pause.is_over(now)) {
            return Some(QueueHold::Paused(pause));
        }
        if let Some(most) = max_running.filter(|most| running >= u64::from(*most)) {
            return Some(QueueHold::Full(most));
        }
        let (rate, last) = rate.zip(self.last_start_at)?;
        let next = last.plus(rate.spacing());
        (next > now).then_some(QueueHold::Paced(rate, next))
    }
}

/// Reads `max_running` and `rate`.
fn read_limits(row: &Row<'_>) -> Result<Limits> {
    Ok(from_row!(row, Limits { max_running, rate }))
}

/// The rows of `queues`, by name.
pub fn settings(tx: &Connection) -> Result<BTreeMap<String, Settings>> {
    let sql = format!("SELECT name, {SETTINGS} FROM queues");
    let rows = all(tx, &sql, [], |row| Ok((row.get("name")?, Settings::read(row)?)))?;
    Ok(rows.into_iter().collect())
}

/// The pause of everything, if there is one that is not over.
pub fn pause_of_all(tx: &Connection, now: Timestamp) -> Result<Option<Pause>> {
    let sql = "SELECT paused_until FROM pause_of_all";
    let pause = maybe(tx, sql, [], |row| Ok(Pause::from_columns(true, row.get("paused_until")?)))?.flatten();
    Ok(pause.filter(|pause| !pause.is_over(now)))
}

/// Whether the queue of the job `j` is paused, as it is recorded: a pause that is over counts until a turn has recorded that.
pub const IS_PAUSED: &str = "(EXISTS (SELECT 1 FROM pause_of_all)
                              OR EXISTS (SELECT 1 FROM queues WHERE name = j.queue AND paused))";

/// Records the end of the pauses that are over, but for those of schedules. Programs of version 1.0 know no end of a pause.
pub fn end_pauses(tx: &Tx) -> Result<()> {
    let sql = "UPDATE queues SET paused = 0, paused_until = NULL WHERE paused AND paused_until <= ?1";
    run(tx, sql, [tx.now])?;
    run(tx, "DELETE FROM pause_of_all WHERE paused_until <= ?1", [tx.now])?;
    Ok(())
}

/// The number of running jobs of each queue that has any.
pub fn running(tx: &Connection) -> Result<BTreeMap<String, u64>> {
    let mut running: BTreeMap<String, u64> = BTreeMap::new();
    each(tx, "SELECT queue FROM jobs WHERE state = 'running'", [], |row| {
        *running.entry(row.get("queue")?).or_default() += 1;
        Ok(())
    })?;
    Ok(running)
}

/// How many attempts each queue may start, at the time of a transaction.
#[derive(Debug)]
pub struct QueueCapacity {
    pub pause_of_all: Option<Pause>,
    settings: BTreeMap<String, Settings>,
    /// The number of running attempts by queue. Empty if no queue limits it.
    running: BTreeMap<String, u64>,
    /// A pause is over, and that is not recorded.
    pub is_pause_over: bool,
    pub now: Timestamp,
}

impl QueueCapacity {
    /// Of a file without limits and pauses.
    pub fn none(tx: &Tx) -> Self {
        Self {
            pause_of_all: None,
            settings: BTreeMap::new(),
            running: BTreeMap::new(),
            is_pause_over: false,
            now: tx.now,
        }
    }

    pub fn read(tx: &Tx) -> Result<Self> {
        let sql = "SELECT NULL AS name, 1 AS paused, paused_until, NULL AS max_running, NULL AS rate, NULL AS last_start_at
                   FROM pause_of_all
                   UNION ALL SELECT name, paused, paused_until, max_running, rate, last_start_at FROM queues";
        let mut capacity = Self::none(tx);
        each(tx, sql, [], |row| {
            let settings = Settings::read(row)?;
            let is_over = settings.pause.is_some_and(|pause| pause.is_over(tx.now));
            capacity.is_pause_over |= is_over;
            match row.get("name")? {
                Some(queue) => {
                    capacity.settings.insert(queue, settings);
                }
                None => capacity.pause_of_all = settings.pause.filter(|_| !is_over),
            }
            Ok(())
        })?;
        capacity.count_running(tx)?;
        Ok(capacity)
    }

    /// Counts the running jobs anew, if that matters.
    pub fn count_running(&mut self, tx: &Connection) -> Result<()> {
        if self.settings.values().any(|row| row.limits.max_running.is_some()) {
            self.running = running(tx)?;
        }
        Ok(())
    }

    /// When the next pause of a queue or of everything ends by itself.
    pub fn next_pause_end(&self) -> Option<Timestamp> {
        let of_queues = self.settings.values().filter_map(|row| row.pause);
        of_queues.chain(self.pause_of_all).filter_map(Pause::ends_at).min()
    }

    /// The number of attempts that this queue may start now.
    pub fn available(&self, queue: &str) -> usize {
        if self.pause_of_all.is_some() {
            return 0;
        }
        let Some(row) = self.settings.get(queue) else { return usize::MAX };
        let running = self.running(queue);
        let Limits { max_running, rate } = row.limits;
        let places = max_running.map_or(u64::MAX, |most| u64::from(most).saturating_sub(running));
        match (row.queue_hold(running, self.now), rate) {
            (Some(_), _) => 0,
            (None, Some(_)) => 1,
            (None, None) => usize::try_from(places).unwrap_or(usize::MAX),
        }
    }

    /// Counts a claim from this queue, and records its time if the queue has a rate.
    pub fn record_start(&mut self, tx: &Connection, queue: &str) -> Result<()> {
        let Some(row) = self.settings.get_mut(queue) else { return Ok(()) };
        *self.running.entry(queue.to_owned()).or_default() += 1;
        if let Some(rate) = row.limits.rate {
            let start = rate.counted_start(row.last_start_at, self.now);
            row.last_start_at = Some(start);
            run(tx, "UPDATE queues SET last_start_at = ?2 WHERE name = ?1", params![queue, start])?;
        }
        Ok(())
    }

    /// The number of attempts that run in this queue; 0 if no queue has a limit on that.
    pub fn running(&self, queue: &str) -> u64 {
        self.running.get(queue).copied().unwrap_or_default()
    }

    pub fn queue_hold(&self, queue: &str) -> Option<QueueHold> {
        let of_queue = || self.settings.get(queue)?.queue_hold(self.running(queue), self.now);
        self.pause_of_all.map(QueueHold::AllPaused).or_else(of_queue)
    }

    pub fn is_paused(&self, queue: &str) -> bool {
        matches!(self.queue_hold(queue), Some(QueueHold::AllPaused(_) | QueueHold::Paused(_)))
    }

    /// The queues in which no further attempt may run.
    pub fn full(&self) -> Vec<String> {
        let is_full = |queue: &&String| matches!(self.queue_hold(queue), Some(QueueHold::Full(_)));
        self.settings.keys().filter(is_full).cloned().collect()
    }
}

/// A change to the limits of a queue, by a person.
#[derive(Clone, Copy, Debug)]
pub enum LimitChange {
    /// Sets the limits that are given; the others stay.
    Set(Limits),
    /// Removes all limits.
    Lift,
}

/// The limits of a queue, and for each the job file that set it; none if a person did.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LimitRow {
    pub limits: Limits,
    max_running_file: Option<String>,
    rate_file: Option<String>,
}

impl LimitRow {
    fn declared(limits: Limits, file: &str) -> Self {
        Self {
            limits,
            max_running_file: limits.max_running.map(|_| file.to_owned()),
            rate_file: limits.rate.map(|_| file.to_owned()),
        }
    }

    /// The row without the limits that this file set.
    fn without(&self, file: &str) -> Self {
        let mut row = self.clone();
        if row.max_running_file.as_deref() == Some(file) {
            (row.limits.max_running, row.max_running_file) = (None, None);
        }
        if row.rate_file.as_deref() == Some(file) {
            (row.limits.rate, row.rate_file) = (None, None);
        }
        row
    }

    /// Whether a limit that this file set is another than it declares. What a person has set or lifted since is no difference.
    fn differs_from(&self, file: &str, declared: Limits) -> bool {
        let is_of_file = |own: &Option<String>| own.as_deref() == Some(file);
        is_of_file(&self.max_running_file) && self.limits.max_running != declared.max_running
            || is_of_file(&self.rate_file) && self.limits.rate != declared.rate
    }

    pub fn save(&self, tx: &Connection, queue: &str) -> Result<()> {
        let sql = "INSERT INTO queues (name, max_running, max_running_file, rate, rate_file) VALUES (?1, ?2, ?3, ?4, ?5)
                   ON CONFLICT (name) DO UPDATE SET max_running = ?2, max_running_file = ?3, rate = ?4, rate_file = ?5";
        let Self { limits: Limits { max_running, rate }, max_running_file, rate_file } = self;
        let rate = rate.map(|rate| rate.to_string());
        run(tx, sql, params![queue, max_running, max_running_file, rate, rate_file])?;
        Ok(())
    }
}

impl Store {
    /// Pauses a queue, changes the end of its pause, or resumes it (none). True if that changed something.
    pub fn pause_queue(&mut self, queue: &str, pause: Option<Pause>) -> Result<bool> {
        let sql = "INSERT INTO queues (name, paused, paused_until, paused_at, paused_for_ms) VALUES (?1, ?2, ?3, ?4, ?5)
                   ON CONFLICT (name) DO UPDATE SET paused = ?2, paused_until = ?3, paused_at = ?4, paused_for_ms = ?5";
        self.write_work(|tx| {
            end_pauses(tx)?;
            let changes = settings(tx)?.get(queue).and_then(|row| row.pause) != pause;
            if changes {
                let (from, span) = pause.and_then(Pause::made_for).unzip();
                run(tx, sql, params![queue, pause.is_some(), pause.and_then(Pause::ends_at), from, span])?;
            }
            Ok(changes)
        })
    }

    /// Pauses everything, changes the end of that pause, or ends it (none): as if no worker were running. The pauses of queues
    /// and schedules stay. True if that changed something.
    pub fn pause_all(&mut self, pause: Option<Pause>) -> Result<bool> {
        let sql = "INSERT INTO pause_of_all (id, paused_at, paused_until, paused_for_ms) VALUES (1, ?1, ?2, ?3)
                   ON CONFLICT (id) DO UPDATE SET paused_at = iif(?3 IS NULL, paused_at, ?1), paused_until = ?2,
                                                  paused_for_ms = ?3";
        self.write_work(|tx| {
            end_pauses(tx)?;
            let changes = pause_of_all(tx, tx.now)? != pause;
            match pause {
                Some(pause) if changes => {
                    let (from, span) = pause.made_for().unzip();
                    run(tx, sql, params![from.unwrap_or(tx.now), pause.ends_at(), span])?
                }
                Some(_) => 0,
                None => run(tx, "DELETE FROM pause_of_all", [])?,
            };
            Ok(changes)
        })
    }

    /// The pause of everything, if there is one.
    pub fn pause_of_all(&self, now: Timestamp) -> Result<Option<Pause>> {
        self.read(|tx| pause_of_all(tx, now))
    }

    /// The queues that this job file limits otherwise than it did, and those of its queues that are new.
    pub fn limits_that_differ(&self, file: &str, declared: &BTreeMap<String, Limits>) -> Result<Vec<String>> {
        let rows = self.read(|tx| rows(tx))?;
        let queues: BTreeSet<&String> = rows.keys().chain(declared.keys()).collect();
        let differs = |queue: &&&String| {
            let limits = declared.get(**queue).copied();
            rows.get(**queue)
                .map_or(limits.is_some(), |row| row.differs_from(file, limits.unwrap_or_default()))
        };
        Ok(queues.iter().filter(differs).map(|queue| (*queue).clone()).collect())
    }

    /// Changes the limits of a queue by hand.
    pub fn change_limits(&mut self, queue: &str, change: LimitChange) -> Result<()> {
        self.write_work(|tx| {
            let mut row = rows(tx)?.remove(queue).unwrap_or_default();
            match change {
                LimitChange::Lift => row = LimitRow::default(),
                LimitChange::Set(Limits { max_running, rate }) => {
                    if max_running.is_some() {
                        (row.limits.max_running, row.max_running_file) = (max_running, None);
                    }
                    if rate.is_some() {
                        (row.limits.rate, row.rate_file) = (rate, None);
                    }
                }
            }
            row.save(tx, queue)
        })
    }
}

/// The limits of all queues by name.
pub fn rows(tx: &Connection) -> Result<BTreeMap<String, LimitRow>> {
    let sql = "SELECT name, max_running, rate, max_running_file, rate_file FROM queues";
    Ok(all(tx, sql, [], read_row)?.into_iter().collect())
}

fn read_row(row: &Row<'_>) -> Result<(String, LimitRow)> {
    let limits = read_limits(row)?;
    Ok((row.get("name")?, from_row!(row, LimitRow { limits: limits, max_running_file, rate_file })))
}

/// Damaged rows of queues.
pub fn damaged(tx: &Connection, limit: usize) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT 'the queue ' || name AS which, name, {SETTINGS}, max_running_file, rate_file FROM queues"
    );
    row::damaged(tx, &sql, [], limit, |row| Ok((read_row(row)?, Settings::read(row)?)))
}

/// The rows as they have to be when this file is applied: of the queues that it declares, and of those that lose what it
/// had set.
pub fn wanted(
    rows: &BTreeMap<String, LimitRow>,
    file: &str,
    declared: &BTreeMap<String, Limits>,
) -> BTreeMap<String, LimitRow> {
    let dropped = rows.iter().filter(|(name, _)| !declared.contains_key(*name));
    let mut wanted: BTreeMap<String, LimitRow> = dropped
        .map(|(name, row)| (name.clone(), row.without(file)))
        .filter(|(name, row)| rows.get(name) != Some(row))
        .collect();
    let declared = declared.iter().map(|(name, limits)| (name.clone(), LimitRow::declared(*limits, file)));
    wanted.extend(declared);
    wanted
}
