//! How values are written and read: durations, sizes, times, plurals, and text from jobs made safe for a terminal.

mod duration;
mod human;
#[cfg(test)]
mod mutated;
mod safe;
mod size;
mod timestamp;
mod typed_time;
mod wrap;

pub use duration::Millis;
pub use human::{counted, human_duration, local_time, relative_time, rfc3339, show_utc};
#[cfg(test)]
pub use mutated::mutated;
pub use safe::{safe_block, safe_line};
pub use size::{human_size, parse_size};
pub use timestamp::Timestamp;
pub use typed_time::{At, Since};
pub use wrap::{columns_of, hanging_indent};
