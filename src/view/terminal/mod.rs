//! Everything that a verb prints: data on standard output, as text or JSON; warnings and progress on standard error.

mod captured;
mod csv;
mod full_screen;
mod list_format;
mod progress;
mod stderr;
mod stdout;
mod streams;
mod style;
mod table;

pub use captured::{OutputCursor, OutputForm, keep_last_lines, readable};
pub use full_screen::FullScreen;
pub use list_format::ListFormat;
pub use progress::{Bar, can_draw};
pub use stderr::{are_errors_json, print_errors_as_json, print_message, print_object, warn};
pub use stdout::Output;
pub use streams::print_through;
pub use style::{Style, ascii_only, can_move_cursor, mark, painter_of_stderr};
pub use table::{Column, Table, note_left_out};

/// The formats of lists besides the table on the screen and JSON.
pub static LIST_FORMATS: [ListFormat; 1] = [csv::CSV];
