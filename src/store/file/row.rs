//! How the store runs its statements and reads their rows.
//!
//! Every statement goes through [`all`], [`one`], [`maybe`], [`find`], [`run`] or [`each`]. Columns are read by name, so that nothing
//! depends on their number or their order; only [`value`] reads by position, from rows of a single column.
//!
//! Somebody else may have written the file. So every name, key, code and id of a worker is checked here before a row is
//! handed on, by the name of its column: what runner could not have written is damage, and reaches no path and no terminal.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Params, Row, Statement};
use serde::de::DeserializeOwned;

use super::error::{Result, StoreError};
use crate::model::{
    DeadReason, DependencyKind, ErrorCode, JobState, Missed, Outcome, Rate, SpawnFailure, check_name,
    check_stored_key, check_stored_label, check_worker_id,
};
use crate::text::{Millis, Timestamp};

/// Hands each row to `take`, which reads it. The rows are not kept, so that their number does not matter.
pub fn each(
    tx: &Connection,
    sql: &str,
    params: impl Params,
    mut take: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = tx.prepare_cached(sql)?;
    let checks = checks(&statement);
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        check(row, &checks)?;
        take(row)?;
    }
    Ok(())
}

/// Reads all rows.
pub fn all<T>(
    tx: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut found = Vec::new();
    each(tx, sql, params, |row| {
        found.push(read(row)?);
        Ok(())
    })?;
    Ok(found)
}

/// Hands each row to `take`, until that gives a value.
pub fn find<T>(
    tx: &Connection,
    sql: &str,
    params: impl Params,
    mut take: impl FnMut(&Row<'_>) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let mut statement = tx.prepare_cached(sql)?;
    let checks = checks(&statement);
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        check(row, &checks)?;
        if let Some(found) = take(row)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Does this within the transaction, and undoes what it has written if it fails.
pub fn all_or_nothing<T>(tx: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    run(tx, "SAVEPOINT part", [])?;
    let done = work();
    if done.is_err() {
        run(tx, "ROLLBACK TO part", [])?;
    }
    run(tx, "RELEASE part", [])?;
    done
}

/// Reads the first row, if there is one.
pub fn maybe<T>(
    tx: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut statement = tx.prepare_cached(sql)?;
    let checks = checks(&statement);
    let mut rows = statement.query(params)?;
    let Some(row) = rows.next()? else { return Ok(None) };
    check(row, &checks)?;
    read(row).map(Some)
}

/// Tries to read each row, and gives a sentence for each of the first `limit` that are damaged. The column `which` says which row
/// it is.
pub fn damaged<T>(
    tx: &Connection,
    sql: &str,
    params: impl Params,
    limit: usize,
    mut read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<String>> {
    let mut statement = tx.prepare(sql)?;
    let checks = checks(&statement);
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        match check(row, &checks).and_then(|()| read(row).map(|_| ())) {
            Err(StoreError::InvalidData(why)) => {
                let which =
                    String::from_utf8_lossy(row.get_ref("which")?.as_bytes_or_null()?.unwrap_or_default());
                found.push(format!("{which} is damaged: {why}"));
            }
            // A newer program wrote it, and reads it.
            Ok(()) | Err(StoreError::NeedsNewer { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Whether the texts of a row are UTF-8, and its numbers fit into 32 bits. Columns with a check of their own were looked at before.
pub fn is_plain(row: &Row<'_>) -> Result<bool> {
    for index in 0..row.as_ref().column_count() {
        let is_plain = match row.get_ref(index)? {
            ValueRef::Text(bytes) => std::str::from_utf8(bytes).is_ok(),
            ValueRef::Integer(number) => i32::try_from(number).is_ok(),
            ValueRef::Null => true,
            ValueRef::Real(_) | ValueRef::Blob(_) => false,
        };
        if !is_plain {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A column whose text has to pass a check.
type ColumnCheck = (usize, fn(&str) -> std::result::Result<(), String>);

/// The longest message about a damaged value, which quotes the value.
const MAX_DAMAGE_BYTES: usize = 300;

fn checks(statement: &Statement<'_>) -> Vec<ColumnCheck> {
    let mut checks: Vec<ColumnCheck> = Vec::new();
    for index in 0..statement.column_count() {
        match statement.column_name(index).unwrap_or_default() {
            "name" | "queue" => checks.push((index, check_name)),
            "unique_key" | "idempotency_key" => checks.push((index, check_stored_key)),
            "label" => checks.push((index, check_stored_label)),
            "error_code" | "last_error_code" | "warning" => {
                checks.push((index, |text| ErrorCode::parse(text).map(|_| ())));
            }
            "worker_name" => checks.push((index, check_worker_id)),
            _ => {}
        }
    }
    checks
}

fn check(row: &Row<'_>, checks: &[ColumnCheck]) -> Result<()> {
    for (index, check) in checks {
        // A value of another type is refused when it is read.
        if let ValueRef::Text(bytes) = row.get_ref(*index)? {
            let text =
                std::str::from_utf8(bytes).map_err(|error| StoreError::InvalidData(error.to_string()))?;
            check(text).map_err(|mut why| {
                why.truncate(why.floor_char_boundary(MAX_DAMAGE_BYTES));
                StoreError::InvalidData(why)
            })?;
        }
    }
    Ok(())
}

/// Reads the first row of a query that always has one.
pub fn one<T>(
    tx: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<T> {
    maybe(tx, sql, params, read)?.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
}

/// Runs a statement that writes, and gives the number of rows that it changed.
pub fn run(tx: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    Ok(tx.prepare_cached(sql)?.execute(params)?)
}

/// Reads a row of a single column.
pub fn value<T: FromSql>(row: &Row<'_>) -> Result<T> {
    Ok(row.get(0)?)
}

/// Reads a column that holds JSON, or null where it is null.
pub fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T> {
    let text: Option<String> = row.get(column)?;
    let value = serde_json::from_str(text.as_deref().unwrap_or("null"));
    value.map_err(|error| StoreError::InvalidData(format!("{column}: {error}")))
}

/// Builds a struct from a row: a field by itself is read from the column of its name, a field with a value is that value.
macro_rules! from_row {
    ($row:ident, $name:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        $name { $($field: $crate::store::file::row::from_row!(@ $row $field $($value)?)),* }
    };
    (@ $row:ident $field:ident) => { $row.get(stringify!($field))? };
    (@ $row:ident $field:ident $value:expr) => { $value };
}
pub(in crate::store) use from_row;

impl From<FromSqlError> for StoreError {
    fn from(error: FromSqlError) -> Self {
        Self::InvalidData(error.to_string())
    }
}

impl FromSql for Timestamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Self)
    }
}

impl ToSql for Timestamp {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for Millis {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        u64::column_result(value).map(Self)
    }
}

impl ToSql for Millis {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

impl FromSql for ErrorCode {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::parse(value.as_str()?).map_err(|why| FromSqlError::Other(why.into()))
    }
}

impl ToSql for ErrorCode {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

impl FromSql for Rate {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::parse(value.as_str()?).map_err(|why| FromSqlError::Other(why.into()))
    }
}

/// Stores enums as their words.
macro_rules! stored_as_words {
    ($($name:ident)*) => { $(
        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let word = value.as_str()?;
                let unknown = || FromSqlError::Other(format!("{} {word:?}", stringify!($name)).into());
                Self::parse(word).ok_or_else(unknown)
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }
    )* };
}
stored_as_words! { JobState DeadReason DependencyKind Outcome SpawnFailure Missed }
