//! What a format of lists is made of. Each has its file beside this one, and stands in the list of `mod.rs`.

use anyhow::Result;
use serde_json::Value;

use crate::text::{safe_json, safe_line};

/// A format with a row for each object that would be a line of JSON.
#[derive(Debug)]
pub struct ListFormat {
    /// Its flag, without the dashes.
    pub name: &'static str,
    pub help: &'static str,
    /// What stands above the rows, of the names of the columns.
    pub(super) head: fn(&[String]) -> Result<Vec<u8>>,
    /// The row of these values: text as it is, null empty, and all else as in JSON.
    pub(super) row: fn(&[String]) -> Result<Vec<u8>>,
}

impl ListFormat {
    /// The row of an object. For a terminal, what could steer it becomes an escape.
    pub(super) fn row_of(
        &self,
        columns: &[String],
        object: &Value,
        is_for_terminal: bool,
    ) -> Result<Vec<u8>> {
        let values = columns.iter().map(|column| match &object[column] {
            Value::Null => String::new(),
            Value::String(text) if is_for_terminal => safe_line(text),
            Value::String(text) => text.clone(),
            other => safe_json(other.to_string()),
        });
        (self.row)(&values.collect::<Vec<_>>())
    }
}
