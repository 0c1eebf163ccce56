//! What a job file comes to, and how each kind of mistake is drawn.

mod backoff;
mod codes;
mod commands;
mod keys;
mod no_panics;
mod policy;
mod recovery;
mod resolve;
mod schema;
mod suggestions;
mod syntax;
mod validate;
mod values;

use std::path::Path;

use super::JobFile;

const EXAMPLE: &str = include_str!("../../../jobs.example.toml");

/// The mistakes of `text` as a person sees them; a first line break is left out.
fn drawn(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let mistakes = JobFile::parse(Path::new("/srv/jobs.toml"), text).unwrap_err();
    mistakes.to_string()
}
