//! Next times of schedules that are too far away, because the clock was ahead when they were computed.

use rusqlite::params;

use crate::model::Schedule;
use crate::store::file::error::Result;
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{all, run};
use crate::store::file::schema;
use crate::text::{Millis, Timestamp, time_zone};

/// A last time that is further ahead than this is that of a clock which was wrong.
pub const AHEAD: Millis = Millis::from_secs(24 * 60 * 60);

/// No two zones are further apart than this.
const ZONES_APART: Millis = Millis::from_secs(26 * 60 * 60);

/// A next time that the clock put too far away while it was ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarTime {
    /// The name of the schedule.
    pub name: String,
    pub from: Timestamp,
    pub to: Timestamp,
}

impl Store {
    /// Finds the schedules whose next time is further away than their text gives, because the clock was ahead, and gives each
    /// its next time by the clock of now. When it was applied may lie as far ahead, and becomes now, so that the age of its last
    /// success counts.
    pub fn bring_far_times_nearer(&mut self) -> Result<Vec<FarTime>> {
        if self.read(far_times)?.is_empty() {
            return Ok(Vec::new());
        }
        self.write_work(|tx| {
            let far = far_times(tx)?;
            for FarTime { name, to, .. } in &far {
                let sql =
                    "UPDATE schedules SET next_at = ?2, applied_at = iif(applied_at > ?4, ?3, applied_at),
                                                last_fired_at = iif(last_fired_at > ?4, NULL, last_fired_at),
                                                last_job_id = iif(last_fired_at > ?4, NULL, last_job_id)
                           WHERE name = ?1";
                run(tx, sql, params![name, to, tx.now, tx.now.plus(AHEAD)])?;
            }
            Ok(far)
        })
    }
}

fn far_times(tx: &Tx) -> Result<Vec<FarTime>> {
    let sql = "SELECT name, schedule, timezone, next_at, last_fired_at FROM schedules
               WHERE next_at > ?1 AND needs_version <= ?2 ORDER BY name";
    let rows = all(tx, sql, params![tx.now, schema::known().version()], |row| {
        let (text, zone): (String, Option<String>) = (row.get("schedule")?, row.get("timezone")?);
        let from: Timestamp = row.get("next_at")?;
        let begins = begins(row.get("last_fired_at")?, tx.now);
        let found = time_zone(zone.as_deref()).and_then(|zone| Schedule::parse(&text, zone));
        let nearer = found.ok().and_then(|schedule| {
            // Without a zone it may have been computed by other clocks than those of this process.
            let is_exact = zone.is_some() || !schedule.goes_by_clocks();
            let apart = if is_exact { Millis(0) } else { ZONES_APART };
            schedule.nearer(from.minus(apart), begins.plus(apart))?;
            schedule.nearer(from, begins)
        });
        Ok((row.get("name")?, from, nearer))
    })?;
    let far = rows.into_iter().filter_map(|(name, from, nearer)| Some(FarTime { name, from, to: nearer? }));
    Ok(far.collect())
}

/// When a schedule with this last time goes on. Not before the last time, because the clock may have been set back since; but a
/// last time of more than a day ahead tells that the clock was wrong.
pub fn begins(last: Option<Timestamp>, now: Timestamp) -> Timestamp {
    last.filter(|last| *last <= now.plus(AHEAD)).map_or(now, |last| last.max(now))
}
