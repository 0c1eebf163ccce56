//! A filter that nothing can match is most often a slip: it is said, with what may have been meant.

use std::io::{self, Write};

use anyhow::Result;

use crate::cli::args::{Global, Inspect};
use crate::cli::locate;
use crate::jobfile::near_names;
use crate::store::{Store, Word};
use crate::text::safe_line;

/// Says on standard error which of the filters name something that no job has.
pub(super) fn tell(global: &Global, store: &Store, asked: &Inspect) -> Result<()> {
    let code = asked.error_code.as_ref().map(ToString::to_string);
    for (kind, word, words) in [
        (Word::Name, asked.name.as_ref(), "no job has the name"),
        (Word::Queue, asked.queue.as_ref(), "no job is in the queue"),
        (Word::ErrorCode, code.as_ref(), "nothing has ended with the code"),
    ] {
        let Some(word) = word else { continue };
        let mut known = store.words(kind)?;
        if known.contains(word) {
            continue;
        }
        known.extend(declared(global, kind));
        let near = near_names(word, known.iter().map(String::as_str));
        let meant = match near.as_slice() {
            [] => String::new(),
            // It is declared, and has never been enqueued.
            [first, ..] if first == word => String::new(),
            near => format!("; did you mean {}?", near.join(" or ")),
        };
        let _ = writeln!(io::stderr(), "runner: {words} {}{}", safe_line(word), safe_line(&meant));
    }
    Ok(())
}

/// What the job file would add, where there is one that can be read.
fn declared(global: &Global, kind: Word) -> Vec<String> {
    let Ok(file) = locate::job_file(global) else { return Vec::new() };
    match kind {
        Word::Name => file.jobs.iter().map(|job| job.spec.name.clone()).collect(),
        Word::Queue => file.jobs.iter().map(|job| job.spec.queue.clone()).collect(),
        Word::ErrorCode => Vec::new(),
    }
}
