//! How values are written and read: durations, sizes, times, plurals, and text from jobs made safe for a terminal.

mod duration;
mod human;
mod safe;
mod size;
mod timestamp;
mod wrap;

pub use duration::Millis;
pub use human::{counted, human_duration, local_time, relative_time, rfc3339, show_utc};
pub use safe::{safe_block, safe_line};
pub use size::{human_size, parse_size};
pub use timestamp::Timestamp;
pub use wrap::{columns_of, hanging_indent};
