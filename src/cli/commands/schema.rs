//! `runner schema`

use anyhow::Result;

use crate::cli::args::Global;
use crate::cli::error::ExitStatus;
use crate::cli::screen::Screen;
use crate::jobfile::SCHEMA;

/// Prints the JSON Schema of the job file.
pub fn run(global: &Global) -> Result<ExitStatus> {
    let mut screen = Screen::new(global);
    screen.bytes(SCHEMA.as_bytes())?;
    screen.flush()?;
    Ok(ExitStatus::SUCCESS)
}
