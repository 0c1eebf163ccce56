//! The rows of a list as CSV (RFC 4180).

use anyhow::Result;
use csv::{Terminator, WriterBuilder};

use super::list_format::ListFormat;

pub(super) const CSV: ListFormat =
    ListFormat { name: "csv", help: "Print the list as CSV; not workers, queues", head: record, row: record };

/// The record of these fields, with its line end.
fn record(fields: &[String]) -> Result<Vec<u8>> {
    let mut record = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    record.write_record(fields)?;
    Ok(record.into_inner()?)
}
