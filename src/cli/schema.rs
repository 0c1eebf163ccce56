//! `runner schema`

use super::args::Global;
use super::failure::Failure;
use super::screen::Screen;
use crate::jobfile::SCHEMA;

/// Prints the JSON Schema of the job file.
pub fn run(global: &Global) -> Result<u8, Failure> {
    let mut screen = Screen::new(global);
    screen.bytes(SCHEMA.as_bytes())?;
    screen.flush()?;
    Ok(0)
}
