//! `runner schema`

use anyhow::Result;

use crate::cli::args::Global;
use crate::cli::error::ExitStatus;
use crate::cli::output::Output;
use crate::jobfile::SCHEMA;

/// Prints the JSON Schema of the job file.
pub fn run(global: &Global) -> Result<ExitStatus> {
    let mut out = Output::new(global);
    out.bytes(SCHEMA.as_bytes())?;
    out.flush()?;
    Ok(ExitStatus::SUCCESS)
}
