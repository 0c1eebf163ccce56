//! Everything that a verb prints: data on standard output, as text or JSON; warnings and progress on standard error.

mod captured;
mod json;
mod screen;
mod stderr;
mod stdout;
mod style;
mod table;

pub use captured::{OutputCursor, OutputForm, keep_last_lines, readable};
pub use json::{
    attempt_json, dead_letter_json, job_json, job_with_history_json, listed_attempt_json, listed_worker_json,
    overview_json, queue_fields, queue_json, schedule_json, stats_json, with_output,
};
pub use screen::Screen;
pub use stderr::{Bar, can_draw, print_error, print_errors_as_json, warn};
pub use stdout::Output;
pub use style::{Style, ascii_only, can_move_cursor, color_of_help, mark, painter_of_stderr};
pub use table::{Column, Table, note_left_out};
