//! The limits of queues: setting some by hand, or those of a job file all at once.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::error::Result;
use super::open::Store;
use super::queues::read_limits;
use crate::model::Limits;

/// A change of a queue's limits by hand.
#[derive(Clone, Copy, Debug)]
pub enum LimitChange {
    /// Sets the limits that are given, and keeps the others.
    Set(Limits),
    /// Takes all limits away.
    Lift,
}

/// The limits of a queue, and the job files that set them; a limit without a file was set by hand.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct LimitRow {
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

    /// The row without the limits that this file has set.
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

    pub fn save(&self, tx: &Connection, queue: &str) -> Result<()> {
        tx.prepare_cached(
            "INSERT INTO queues (name, max_running, max_running_file, rate, rate_file) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (name) DO UPDATE SET max_running = ?2, max_running_file = ?3, rate = ?4, rate_file = ?5",
        )?
        .execute(params![
            queue,
            self.limits.max_running,
            self.max_running_file,
            self.limits.rate.map(|rate| rate.to_string()),
            self.rate_file,
        ])?;
        Ok(())
    }
}

impl Store {
    /// Changes the limits of a queue by hand.
    pub fn change_limits(&mut self, queue: &str, change: LimitChange) -> Result<()> {
        self.write(|tx| {
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

/// The limits of queues by name.
pub(super) fn rows(tx: &Connection) -> Result<BTreeMap<String, LimitRow>> {
    let mut statement =
        tx.prepare_cached("SELECT name, max_running, rate, max_running_file, rate_file FROM queues")?;
    let rows = statement.query_map([], |row| {
        let limits = read_limits(row, 1)?;
        Ok((row.get(0)?, LimitRow { limits, max_running_file: row.get(3)?, rate_file: row.get(4)? }))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The rows of the queues that the file declares or had set, as they are to be.
pub(super) fn wanted(
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
