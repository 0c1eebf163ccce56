//! `runner schema`

use crate::cli::args::Global;
use crate::cli::error::Failure;
use crate::cli::screen::Screen;
use crate::jobfile::SCHEMA;

/// Prints the JSON Schema of the job file.
pub fn run(global: &Global) -> Result<u8, Failure> {
    let mut screen = Screen::new(global);
    screen.bytes(SCHEMA.as_bytes())?;
    screen.flush()?;
    Ok(0)
}
