//! `runner backup`

use anyhow::{Result, bail};
use serde_json::json;

use crate::cli::args::{Backup, Global};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::{Bar, Output};

/// Copies the database, never over an existing file.
pub fn run(global: &Global, asked: &Backup) -> Result<ExitStatus> {
    let store = locate::open(global)?;
    let shown = locate::display(&asked.target);
    if asked.target.symlink_metadata().is_ok() {
        bail!(
            CliError::new(ExitStatus::EXISTS, format!("{shown} exists and was left as it is"))
                .hint("name a file that does not exist")
        );
    }
    let mut bar = Bar::new(global, "{percent}% copied");
    store.backup(&asked.target, &mut |copied, all| bar.set(copied, all))?;
    drop(bar);
    let mut out = Output::new(global);
    if out.json && !out.quiet {
        out.object(&json!({"backup": asked.target.display().to_string()}))?;
    } else if !out.quiet {
        out.line(format!("copied to {shown}"))?;
    }
    out.flush()?;
    Ok(ExitStatus::SUCCESS)
}
