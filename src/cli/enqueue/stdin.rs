//! `--stdin`: what comes in now is what every attempt of the job reads.

use std::io::{self, Read};

use anyhow::{Context, Result, bail};

use super::super::error::{CliError, ExitStatus};

/// The most that is kept of it; the schema refuses more.
const MOST: usize = 16 << 20;

/// Reads standard input to its end.
pub(super) fn capture() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MOST as u64;
    io::stdin().lock().take(most + 1).read_to_end(&mut bytes).context("could not read standard input")?;
    if bytes.len() > MOST {
        bail!(
            CliError::new(ExitStatus::DATA, "nothing was enqueued: standard input has more than 16 MiB",)
                .hint("put it into a file, and name the file in an argument")
        );
    }
    Ok(bytes)
}
