//! Small parts of the page: text from jobs, times, commands, tables.

use maud::{Markup, html};

use crate::text::{
    Timestamp, counted, day_time, is_safe, listed, local_offset, rfc3339_with_offset, safe_line,
};

/// The most names in a section of the page.
pub const MAX_NAMES: usize = 50;

/// This many cards, lanes or rows of a section stand open. The others are folded, so that all sections are near on a telephone.
pub(super) const MAX_OPEN: usize = 8;

/// The most names in a sentence.
const MAX_NAMED: usize = 10;

/// Text from a job is cut after this many characters, or this many bytes as the page has them.
const MAX_TEXT: usize = 400;
const MAX_TEXT_BYTES: usize = 800;

/// Text from a job on one line, with its control characters escaped, and cut if it is very long.
pub(super) fn job_text(text: &str) -> String {
    let mut safe = safe_line(text);
    let mut room = MAX_TEXT_BYTES;
    let mut fits = |c: char| {
        let left = room.checked_sub(bytes_on_page(c));
        room = left.unwrap_or(room);
        left.is_some()
    };
    let too_far = safe.char_indices().enumerate().find(|(index, (_, c))| *index == MAX_TEXT || !fits(*c));
    if let Some((_, (end, _))) = too_far {
        safe.truncate(end);
        safe.push('…');
    }
    safe
}

/// The length of a character as it is written into the page, where four characters are escaped.
pub(super) fn bytes_on_page(c: char) -> usize {
    match c {
        '&' => "&amp;".len(),
        '<' | '>' => "&lt;".len(),
        '"' => "&quot;".len(),
        c => c.len_utf8(),
    }
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

/// A command to type, on a line of its own. Because people paste it, it is left out if a path in it has characters that do not show
/// themselves. A browser would break `--dead` after a hyphen, so such words are elements.
pub(super) fn command(line: &str) -> Markup {
    html! {
        @if line.chars().all(is_safe) {
            pre.type { code {
                @for (index, word) in line.split(' ').enumerate() {
                    @if index > 0 { " " }
                    @if word.contains('-') { i { (word) } } @else { (word) }
                }
            } }
        }
    }
}

/// The text with its first letter as a capital.
pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// `a, b and 3 more`, at most so many.
pub(super) fn names_text(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| job_text(name)).collect();
    listed(&names, MAX_NAMED)
}

/// Says how many are left out, and which command has them.
pub(super) fn more(left_out: usize, what: &str, line: &str) -> Markup {
    html! { @if left_out > 0 { p.note { (counted(left_out, what)) ":" } (command(line)) } }
}

/// The heading of a column, and the class of its cells.
pub(super) type Head = (&'static str, &'static str);

/// A table whose first cells name their rows. A column without anything in it is left out. On a narrow screen each row is a block,
/// which takes the roles from its elements, so they are told besides. Rows after the first are folded.
pub(super) fn table(heads: &[Head], rows: &[Vec<Markup>]) -> Markup {
    let (open, folded) = rows.split_at(rows.len().min(MAX_OPEN));
    html! {
        (whole_table(heads, open))
        @if !folded.is_empty() {
            details.folded { summary { (folded.len()) " more" } (whole_table(heads, folded)) }
        }
    }
}

pub(super) fn whole_table(heads: &[Head], rows: &[Vec<Markup>]) -> Markup {
    let has_cells =
        |index: usize| rows.iter().any(|row| row.get(index).is_some_and(|cell| !cell.0.is_empty()));
    html! {
        table role="table" {
            thead role="rowgroup" { tr role="row" {
                @for (index, (word, class)) in heads.iter().enumerate() {
                    @if has_cells(index) { th role="columnheader" scope="col" class=(class) { (word) } }
                }
            } }
            tbody role="rowgroup" {
                @for row in rows {
                    tr role="row" {
                        @for (index, (cell, (word, class))) in row.iter().zip(heads).enumerate() {
                            @if index == 0 {
                                th role="rowheader" scope="row" { (cell) }
                            } @else if has_cells(index) {
                                td role="cell" class=(class) data-head=(word) { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}
