//! Everything that a verb prints: data on standard output, as text or JSON; warnings and progress on standard error.

mod bar;
mod captured;
mod json;
mod screen;
mod stdout;
mod style;
mod table;
mod warn;

pub use bar::{Bar, can_draw};
pub use captured::{StreamCursor, keep_last_lines, last_lines, print_on_stderr, readable};
pub use json::{
    attempt_json, job_json, job_with_history_json, overview_json, planned_job_json, queue_json,
    running_attempt_json, schedule_json, stats_json, with_output, worker_json,
};
pub use screen::Screen;
pub use stdout::{Output, Written, mark};
pub use style::{Style, ascii_only, color_of_help};
pub use table::{Column, Table, note_left_out};
pub use warn::{print_error, warn};
