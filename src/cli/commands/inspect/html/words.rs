//! Small parts of the page: text from jobs, times, commands.

use maud::{Markup, html};

use crate::text::{Timestamp, day_time, local_offset, rfc3339_with_offset, safe_line};

/// The most names in a section of the page.
pub(super) const MAX_NAMES: usize = 100;

/// Text from a job is cut after this many characters.
const MAX_TEXT: usize = 400;

/// Text from a job on one line, with its control characters escaped, and cut if it is very long.
pub(super) fn job_text(text: &str) -> String {
    let mut safe = safe_line(text);
    if let Some((end, _)) = safe.char_indices().nth(MAX_TEXT) {
        safe.truncate(end);
        safe.push('…');
    }
    safe
}

/// A local time. Its zone is shown only if it differs from the zone of the page, such as after a change to summer time.
pub(super) fn when(at: Timestamp, page: Timestamp) -> Markup {
    html! {
        time datetime=(rfc3339_with_offset(at, local_offset(at))) {
            (day_time(at)) @if local_offset(at) != local_offset(page) { " " (zone(at)) }
        }
    }
}

/// How far local clocks are ahead of UTC at this time: `UTC+01:00`.
pub(super) fn zone(at: Timestamp) -> String {
    let time = rfc3339_with_offset(at, local_offset(at));
    format!("UTC{}", time.get("2026-11-21T02:00:00".len()..).unwrap_or_default())
}

/// Commands to type. Because people paste them, a command is left out if a name in it could mean something to a shell.
pub(super) fn commands(lines: &[String]) -> Markup {
    let is_plain = |line: &&str| line.chars().all(|c| c.is_ascii_alphanumeric() || " ._-".contains(c));
    let lines: Vec<&str> = lines.iter().map(String::as_str).filter(is_plain).collect();
    html! { @if !lines.is_empty() { pre.type { code { (lines.join("\n")) } } } }
}
