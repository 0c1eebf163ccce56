//! The results of a job file, and the messages about its mistakes.

mod codes;
mod keys;
mod no_panics;
mod resolve;
mod retry;
mod schema;
mod snippets;
mod validate;
mod values;

use std::fmt::Write;
use std::path::Path;

use super::JobFile;

const EXAMPLE: &str = include_str!("../../../jobs.example.toml");

/// The mistakes of `text` as a person sees them; a first line break is left out.
fn drawn(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    JobFile::parse(Path::new("/srv/jobs.toml"), text).unwrap_err().to_string()
}

/// The mistakes of `text` in short: `LINE:COLUMN message`, then the other place that is shown, and the
/// notes without the list of allowed keys.
fn told(text: &str) -> String {
    let drawn = drawn(text);
    let mut told = String::new();
    let mut message = "";
    let mut in_note = false;
    let mut number = "";
    for line in drawn.lines() {
        let trimmed = line.trim();
        if let Some(error) = line.strip_prefix("error: ") {
            message = error;
        } else if let Some((_, place)) = line.split_once("--> /srv/jobs.toml:") {
            let _ = writeln!(told, "{place} {message}");
        } else if let Some((margin, drawn)) =
            line.split_once('|').filter(|(_, drawn)| !in_note || drawn.is_empty())
        {
            in_note = false;
            let label = drawn.trim_start_matches([' ', '.', '-', '^', '|']);
            if !margin.trim().is_empty() {
                number = margin.trim();
            } else if !label.is_empty() {
                let _ = writeln!(told, "    {label}: line {number}");
            }
        } else if let Some(note) = trimmed.strip_prefix("= ") {
            in_note = !note.starts_with("allowed: ");
            if in_note {
                let _ = writeln!(told, "    {note}");
            }
        } else if in_note && !trimmed.is_empty() {
            told.insert_str(told.len() - 1, &format!(" {trimmed}"));
        } else {
            in_note = false;
        }
    }
    told
}
