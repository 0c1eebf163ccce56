//! How values are written and read: durations, sizes, times, plurals, and text from jobs made safe for a terminal.

mod duration;
#[cfg(test)]
mod mutated;
mod prose;
mod safe;
mod size;
mod time;
mod typed_time;

pub use duration::{Millis, human_duration};
#[cfg(test)]
pub use mutated::mutated;
pub use prose::{columns_of, counted, hanging_indent, rows_of};
pub use safe::{last_lines, safe_block, safe_line};
pub use size::{human_size, parse_size};
pub use time::{
    Timestamp, clock_time, day_time, local_offset, local_time, relative_time, rfc3339, rfc3339_with_offset,
    show_utc,
};
pub use typed_time::{At, PastTime};
