//! Mistakes of TOML itself.

use toml::de::Error;

use super::diagnostics::{Mistakes, Span};

/// Records what the parser says, one mistake a line: a second one in the same line is most often the first one again.
pub(super) fn record(errors: &[Error], text: &str, mistakes: &mut Mistakes) {
    let mut errors: Vec<(Span, &str)> =
        errors.iter().map(|error| (place(error, text), error.message())).collect();
    errors.sort_by_key(|(at, _)| at.start);
    errors.dedup_by(|(later, _), (earlier, _)| !text[earlier.start..later.start].contains('\n'));
    for (at, message) in errors {
        let is_missing = text[at.clone()].is_empty() && text[..at.start].trim_end_matches(' ').ends_with('=');
        let message = if is_missing { "a value is missing" } else { message };
        mistakes.add(&at, format!("this is not TOML: {message}"));
    }
}

fn place(error: &Error, text: &str) -> Span {
    let at = error.span().unwrap_or(text.len()..text.len());
    text.floor_char_boundary(at.start)..text.ceil_char_boundary(at.end)
}
