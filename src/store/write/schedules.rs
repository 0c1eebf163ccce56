//! The rows of schedules: jobs that are enqueued again and again. `apply` takes them from a job file, and `fire` enqueues their
//! jobs. The next time itself is computed in `model/schedule.rs`.

use rusqlite::{Connection, Row, params};

use super::conditions::is_known;
use super::far_times::AHEAD;
use super::limits::FILES_OF_LIMITS;
use super::same_work::{is_same_file, task};
use super::schedule_columns::{has_columns_of_1_2, read_lines};
use super::{definition, needs_version};
use crate::model::{Chain, Pause, Schedule, ScheduleText};
use crate::store::file::error::{Result, StoreError};
use crate::store::file::open::{Store, Tx};
use crate::store::file::row::{self, all, from_row, maybe, one, run, value};
use crate::store::file::version::Version;
use crate::text::{Millis, Timestamp, are_same_clocks, time_zone};

/// A schedule as a job file declares it.
#[derive(Clone, Debug)]
pub struct DeclaredSchedule {
    pub chain: Chain,
    pub text: ScheduleText,
    /// The IANA name of the zone that it goes by: the one that the file names, else the machine's. None if it needs none, and
    /// the machine's has no name.
    pub zone: Option<String>,
}

impl DeclaredSchedule {
    /// The name of the scheduled job.
    pub fn name(&self) -> &str {
        &self.chain.root.definition.name
    }
}

/// An applied schedule.
#[derive(Clone, Debug)]
pub struct StoredSchedule {
    /// The scheduled job and its dependencies.
    pub chain: Chain,
    pub text: ScheduleText,
    /// The IANA name of the zone that it goes by. None if a program of version 1.0 applied it without one, or it needs none:
    /// then each worker goes by its own.
    pub zone: Option<String>,
    /// The canonical path of the job file.
    pub file: String,
    /// None if the schedule never fires again, or fires at boot.
    pub next_at: Option<Timestamp>,
    /// The last boot of the machine that a schedule which fires at boot has seen.
    pub boot_id: Option<String>,
    /// The scheduled time for which a job was last enqueued, and the id of that job.
    pub last: Option<(Timestamp, i64)>,
    /// The number of times that were skipped because the unique key was held.
    pub skipped: u64,
    /// The times skipped since a job was last enqueued.
    pub skipped_in_row: u64,
    /// Its pause. One that is over is none, and `next_at` is then the first time after it.
    pub pause: Option<Pause>,
    /// When it was added, or last changed.
    pub applied_at: Timestamp,
    /// When a job of its name last succeeded since it was added.
    pub last_success_at: Option<Timestamp>,
    /// The version of the schema that a worker must know to fire it.
    pub needs_version: Version,
}

impl StoredSchedule {
    /// The name of the scheduled job.
    pub fn name(&self) -> &str {
        &self.chain.root.definition.name
    }

    /// The times of the schedule in its zone. The error says why they cannot be found.
    pub fn times(&self) -> std::result::Result<Schedule, String> {
        self.text.times(time_zone(self.zone.as_deref())?)
    }

    /// Whether this is what the job file declares. The zone of the machine is no part of the file.
    pub fn matches(&self, declared: &DeclaredSchedule) -> bool {
        self.chain == declared.chain && self.text == declared.text
    }

    /// Whether it goes by the clocks that it would get if it was applied now.
    pub fn has_clocks_of(&self, declared: &DeclaredSchedule, now: Timestamp) -> bool {
        match (&self.zone, &declared.zone) {
            (Some(zone), Some(declared)) => are_same_clocks(zone, declared, now),
            (zone, declared) => zone == declared,
        }
    }

    pub const fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// The next time that comes as things stand: of a pause that ends by itself the first one from its end on (at `--until 06:00`
    /// one of 06:00 comes), and none in a pause that somebody has to end.
    pub fn next_to_come(&self) -> Option<Timestamp> {
        let next = self.next_at?;
        let Some(pause) = self.pause else { return Some(next) };
        self.times().ok()?.next_given(next, pause.ends_at()?.minus(Millis(1)))
    }

    /// The times that are due at `now`. Its next time has come.
    pub fn due(&self, now: Timestamp) -> DueTimes {
        let (times, next) = match (self.next_at, self.times()) {
            (Some(next), Ok(schedule)) => schedule.due(next, now, self.text.missed),
            // The machine may not know the time zone any more. The promised time comes all the same, and no other: attention says so.
            (next, _) => (next.into_iter().collect(), None),
        };
        let (too_late, times) = self.text.too_late(times, now);
        DueTimes { times, too_late, next }
    }

    /// Whether times have come that no worker has seen yet. Those of a pause are gone.
    pub fn has_come(&self, now: Timestamp) -> bool {
        !self.is_paused() && self.next_at.is_some_and(|next| next <= now)
    }

    /// Whether the row tells when it fires next. It does, unless the machine lost the time zone.
    pub fn goes_on(&self) -> bool {
        if self.text.is_at_boot() { self.boot_id.is_some() } else { self.next_at.is_some() }
    }
}

/// The times of a schedule that have come.
#[derive(Clone, Debug)]
pub struct DueTimes {
    /// The times for which jobs are to be enqueued, the oldest first.
    pub times: Vec<Timestamp>,
    /// The times that would be made up for, if they were not seen too late, the oldest first.
    pub too_late: Vec<Timestamp>,
    /// The first time to come.
    pub next: Option<Timestamp>,
}

/// Reads the chain of a schedule. Its last job has the name of the row: otherwise what fires the schedule would look for a row
/// of that job's name, find none to move on, and fire the same time again and again.
fn read_chain(row: &Row<'_>) -> Result<Chain> {
    let name: String = row.get("name")?;
    let chain: Chain = definition::read(row, "chain")?;
    if !chain.is_in_order() {
        return Err(StoreError::InvalidData(format!("the chain of the schedule {name} is out of order")));
    }
    let job = &chain.root.definition.name;
    if *job != name {
        return Err(StoreError::InvalidData(format!("the schedule {name} holds the job {job:?}")));
    }
    Ok(chain)
}

impl Store {
    /// All schedules, by name.
    pub fn schedules(&self) -> Result<Vec<StoredSchedule>> {
        self.read(all_schedules)
    }

    /// The job files that have applied a schedule or a limit that is still there.
    pub fn applied_files(&self) -> Result<Vec<String>> {
        let sql = format!("SELECT file FROM schedules UNION {FILES_OF_LIMITS}");
        self.read(|tx| all(tx, &sql, [], value))
    }

    /// Pauses a schedule, changes the end of its pause, or resumes it (none). None if there is no such schedule; true if that
    /// changed something.
    ///
    /// The times that passed during the pause do not count as missed, nor do the boots up to this one.
    pub fn pause_schedule(
        &mut self,
        name: &str,
        pause: Option<Pause>,
        boot_id: &str,
    ) -> Result<Option<bool>> {
        self.write_work(|tx| {
            end_pauses(tx)?;
            let sql = format!("{SELECT} WHERE name = ?1");
            let Some(schedule) = maybe(tx, &sql, [name], |row| read(row, tx.now))? else { return Ok(None) };
            if schedule.pause == pause {
                return Ok(Some(false));
            }
            let next_at = schedule.next_at.and_then(|next| schedule.times().ok()?.next_given(next, tx.now));
            let boot_id = schedule.boot_id.map(|_| boot_id);
            let sql = "UPDATE schedules SET paused = ?2, paused_until = ?3, next_at = ?4, boot_id = ?5, paused_at = ?6,
                                            paused_for_ms = ?7 WHERE name = ?1";
            let end = pause.and_then(Pause::ends_at);
            let (from, span) = pause.and_then(Pause::made_for).unzip();
            run(tx, sql, params![name, pause.is_some(), end, next_at, boot_id, from, span])?;
            Ok(Some(true))
        })
    }
}

pub(super) const SELECT: &str =
    "SELECT name, chain, schedule, timezone, missed, file, next_at, boot_id, last_fired_at, last_job_id, skipped,
                             skipped_in_row, paused, paused_until, applied_at, last_success_at, fresh_within_ms, random_delay_ms,
                             needs_version, machine_timezone, schedule_lines, missed_within_ms
                      FROM schedules";

/// All schedules, by name.
pub(super) fn all_schedules(tx: &Tx) -> Result<Vec<StoredSchedule>> {
    all(tx, &format!("{SELECT} ORDER BY name"), [], |row| read(row, tx.now))
}

/// Damaged rows of schedules.
pub fn damaged(tx: &Tx, limit: usize) -> Result<Vec<String>> {
    let sql = format!("SELECT 'the schedule ' || name AS which, * FROM ({SELECT})");
    row::damaged(tx, &sql, [], limit, |row| {
        // A zone that this machine does not know is no damage.
        let text = read(row, tx.now)?.text;
        time_zone(Some("UTC"))
            .and_then(|utc| text.times(utc))
            .map(|_| ())
            .map_err(|why| StoreError::InvalidData(format!("its times are {:?}: {why}", text.times_text())))
    })
}

/// Reads a row of [`SELECT`], as it is at `now`.
pub(super) fn read(row: &Row<'_>, now: Timestamp) -> Result<StoredSchedule> {
    let mut schedule = read_recorded(row)?;
    if schedule.pause.is_some_and(|pause| pause.is_over(now)) {
        schedule.next_at = schedule.next_to_come();
        schedule.pause = None;
    }
    Ok(schedule)
}

fn read_recorded(row: &Row<'_>) -> Result<StoredSchedule> {
    let last_at: Option<Timestamp> = row.get("last_fired_at")?;
    let timezone: Option<String> = row.get("timezone")?;
    let machine_zone: Option<String> = row.get("machine_timezone")?;
    let is_of_1_2 = has_columns_of_1_2(row)?;
    let missed_within: Option<Millis> = row.get("missed_within_ms")?;
    Ok(from_row!(
        row,
        StoredSchedule {
            chain: read_chain(row)?,
            text: from_row!(
                row,
                ScheduleText {
                    lines: read_lines(row)?,
                    timezone: timezone.clone().filter(|zone| machine_zone.as_ref() != Some(zone)),
                    missed,
                    missed_within: missed_within.filter(|_| is_of_1_2),
                    fresh_within: row.get("fresh_within_ms")?,
                    random_delay: row.get("random_delay_ms")?,
                }
            ),
            zone: timezone,
            file,
            next_at,
            boot_id,
            last: last_at.zip(row.get("last_job_id")?),
            skipped,
            skipped_in_row,
            pause: Pause::from_columns(row.get("paused")?, row.get("paused_until")?),
            applied_at,
            last_success_at,
            needs_version: Version(row.get("needs_version")?),
        }
    ))
}

/// Writes a schedule that is new or changed, with its next time or, if it fires at boot, the boot that it has seen.
pub(super) fn put(
    tx: &Tx,
    file: &str,
    schedule: &DeclaredSchedule,
    next_at: Option<Timestamp>,
    boot_id: Option<&str>,
) -> Result<()> {
    let sql = "INSERT INTO schedules (name, chain, schedule, timezone, missed, file, next_at, applied_at, needs_version,
                                      fresh_within_ms, random_delay_ms, boot_id, machine_timezone, schedule_lines,
                                      missed_within_ms)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?15, ?16)
               ON CONFLICT DO UPDATE SET chain = ?2, schedule = ?3, timezone = ?4, missed = ?5, file = ?6, next_at = ?7,
                                         applied_at = ?8, needs_version = ?9, fresh_within_ms = ?10,
                                         random_delay_ms = ?11, boot_id = ?12, machine_timezone = ?13,
                                         schedule_lines = ?15, missed_within_ms = ?16,
                                         last_fired_at = iif(last_fired_at > ?14, NULL, last_fired_at),
                                         last_job_id = iif(last_fired_at > ?14, NULL, last_job_id)";
    let json = |json: serde_json::Result<String>| json.map_err(|it| StoreError::InvalidData(it.to_string()));
    let chain = json(serde_json::to_string(&schedule.chain))?;
    let ScheduleText { lines, timezone, missed, missed_within, fresh_within, random_delay } = &schedule.text;
    let for_1_0 = schedule.text.for_1_0();
    let all_lines = for_1_0.is_some().then(|| json(serde_json::to_string(lines))).transpose()?;
    let needs = needs_version::of_schedule(&schedule.chain, for_1_0.is_some());
    let times = for_1_0.as_ref().or(lines.first());
    // Programs of version 1.0 know `timezone` alone, so that it holds the zone of the machine, too.
    let machine_zone = schedule.zone.as_ref().filter(|_| timezone.is_none());
    run(
        tx,
        sql,
        params![
            schedule.name(),
            chain,
            times,
            schedule.zone,
            missed,
            file,
            next_at,
            tx.now,
            needs,
            fresh_within,
            random_delay,
            boot_id,
            machine_zone,
            tx.now.plus(AHEAD),
            all_lines,
            missed_within
        ],
    )?;
    Ok(())
}

/// Records that this job has succeeded, for the schedule that enqueues the same work if there is one: a job of its name and file
/// without label and arguments. The file of a job of an older program is unknown, and may be that one.
pub fn record_success(tx: &Connection, id: i64, name: &str, at: Timestamp) -> Result<()> {
    let sql = format!(
        "UPDATE schedules SET last_success_at = ?2 WHERE name = ?1 AND EXISTS
             (SELECT 1 FROM jobs AS j LEFT JOIN job_files AS f ON f.id = j.job_file
              WHERE j.id = ?3 AND j.label IS NULL AND j.args_nul IS NULL AND {} IS NOT NULL
                    AND {})",
        task("j"),
        is_same_file("f.path", "schedules.file")
    );
    run(tx, &sql, params![name, at, id])?;
    Ok(())
}

/// When the next schedule fires, or its pause ends. While everything is paused none fires.
pub fn next_due(tx: &Connection) -> Result<Option<Timestamp>> {
    let known = is_known("schedules");
    let sql = format!(
        "SELECT min(at) FROM
             (SELECT min(next_at) AS at FROM schedules
              WHERE NOT paused AND next_at IS NOT NULL AND {known} AND NOT EXISTS (SELECT 1 FROM pause_of_all)
              UNION ALL SELECT min(paused_until) FROM schedules WHERE paused AND {known})"
    );
    one(tx, &sql, [], value)
}

/// Records the end of the pauses of schedules that are over. The times that passed during a pause are gone.
pub fn end_pauses(tx: &Tx) -> Result<()> {
    let sql = format!("{SELECT} WHERE paused AND paused_until <= ?1 AND {}", is_known("schedules"));
    for row in all(tx, &sql, [tx.now], |row| read(row, tx.now))? {
        let sql = "UPDATE schedules SET paused = 0, paused_until = NULL, next_at = ?2 WHERE name = ?1";
        run(tx, sql, params![row.name(), row.next_at])?;
    }
    Ok(())
}
