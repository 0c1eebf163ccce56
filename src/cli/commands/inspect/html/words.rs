//! Small parts of the page: text from jobs, times, commands.

use maud::{Markup, html};

use crate::text::{Timestamp, day_time, is_safe, local_offset, rfc3339_with_offset, safe_line};

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

/// A command to type. Because people paste it, it is left out if a path in it has characters that do not show themselves.
pub(super) fn command(line: &str) -> Markup {
    html! { @if line.chars().all(is_safe) { pre.type { code { (line) } } } }
}
