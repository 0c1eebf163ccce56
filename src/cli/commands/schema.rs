//! `runner schema`

use anyhow::Result;

use crate::cli::error::ExitStatus;
use crate::cli::output::Output;
use crate::jobfile::SCHEMA;

/// Prints the JSON Schema of the job file.
pub fn run(out: &mut Output) -> Result<ExitStatus> {
    out.bytes(SCHEMA.as_bytes())?;
    Ok(ExitStatus::SUCCESS)
}
