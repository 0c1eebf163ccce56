//! A filter that can match nothing is most often a typing error.

use anyhow::Result;

use crate::cli::args::{Global, Inspect};
use crate::cli::locate;
use crate::cli::output::warn;
use crate::jobfile::near_names;
use crate::store::{FilterColumn, Store};
use crate::text::safe_line;

/// Names the filters whose value no job has, and suggests near names.
pub(super) fn warn_of(global: &Global, store: &Store, args: &Inspect) -> Result<()> {
    let code = args.error_code.as_ref().map(ToString::to_string);
    for (column, value, words) in [
        (FilterColumn::Name, args.name.as_ref(), "no job has the name"),
        (FilterColumn::Queue, args.queue.as_ref(), "no job is in the queue"),
        (FilterColumn::ErrorCode, code.as_ref(), "nothing has ended with the code"),
    ] {
        let Some(value) = value else { continue };
        let mut known = store.distinct_values(column)?;
        if known.contains(value) {
            continue;
        }
        known.extend(locate::declared_values(global, column));
        let near = near_names(value, known.iter().map(String::as_str));
        let suggestion = match near.as_slice() {
            [] => String::new(),
            // The job file declares the value, but no job has it yet.
            [first, ..] if first == value => String::new(),
            near => format!("; did you mean {}?", near.join(" or ")),
        };
        warn(&safe_line(&format!("{words} {value}{suggestion}")));
    }
    Ok(())
}
