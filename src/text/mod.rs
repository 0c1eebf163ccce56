//! How values are written and read: durations, sizes, times, plurals, near names, words of other programs, and text from jobs
//! made safe for a terminal.

mod foreign_words;
mod last_line;
#[cfg(test)]
mod mutated;
mod prose;
mod system_zone;
mod time;
mod units;
mod zone;

pub use foreign_words::{Meanings, foreign_words};
pub use last_line::{last_line, last_lines, last_said, shown_line, written_last};
#[cfg(test)]
pub use mutated::mutated;
pub use prose::{
    and_more, append, counted, cut_end, cut_middle, did_you_mean, hanging_indent, is_invisible, is_safe,
    is_word, listed, meant, misspelt, near_names, nearest, note_line, option, path_option, safe_block,
    safe_json, safe_line, shell_word, shown_path, snake_case,
};
pub use time::{
    Timestamp, clock_time, day_name, day_time, local_offset, local_time, local_time_ms, machine_offset,
    relative_time, rfc3339, rfc3339_with_offset, show_utc,
};
pub use units::{Millis, human_duration, human_size, known_duration, parse_size, with_units};
pub use zone::{are_same_clocks, is_zone_of_screen, machine_zone, time_zone};

use time::is_shown_in_utc;
