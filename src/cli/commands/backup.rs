//! `runner backup`

use anyhow::{Result, bail};
use serde_json::json;

use crate::cli::args::{Backup, Global};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::{Bar, Output};

/// Copies the database, never over an existing file.
pub fn run(global: &Global, args: &Backup, out: &mut Output) -> Result<ExitStatus> {
    let store = locate::open(global)?;
    let shown = locate::display(&args.target);
    if args.target.symlink_metadata().is_ok() {
        bail!(
            CliError::new(ExitStatus::EXISTS, format!("{shown} exists and was left as it is"))
                .hint("name a file that does not exist")
        );
    }
    let mut bar = Bar::new(global, "{percent}% copied");
    store.backup(&args.target, &mut |copied, all| bar.set(copied, all))?;
    drop(bar);
    let path = args.target.display().to_string();
    out.done(&json!({ "backup": path }), format!("copied to {shown}"))?;
    Ok(ExitStatus::SUCCESS)
}
