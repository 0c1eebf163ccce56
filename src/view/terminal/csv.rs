//! The rows of a list as CSV (RFC 4180): each object that would be a line of JSON is a record.

use csv::{Terminator, WriterBuilder};
use serde_json::Value;

use crate::text::{safe_json, safe_line};

/// The record of these fields, with its line end.
fn record(fields: impl IntoIterator<Item = String>) -> Result<Vec<u8>, csv::Error> {
    let mut record = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    record.write_record(fields.into_iter().map(String::into_bytes))?;
    record.into_inner().map_err(|error| error.into_error().into())
}

/// The names of the columns.
pub(super) fn header(columns: &[String]) -> Result<Vec<u8>, csv::Error> {
    record(columns.iter().cloned())
}

/// The values of these columns: text as it is, null as an empty field, and all else as in JSON. For a terminal, what could steer it
/// becomes an escape.
pub(super) fn row(columns: &[String], object: &Value, is_for_terminal: bool) -> Result<Vec<u8>, csv::Error> {
    record(columns.iter().map(|column| match &object[column] {
        Value::Null => String::new(),
        Value::String(text) if is_for_terminal => safe_line(text),
        Value::String(text) => text.clone(),
        other => safe_json(other.to_string()),
    }))
}
