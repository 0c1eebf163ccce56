//! `runner restore`

use anyhow::{Result, bail};
use serde_json::json;

use crate::cli::args::{Global, Restore};
use crate::cli::error::{CliError, ExitStatus, describe};
use crate::cli::locate;
use crate::cli::output::{Bar, Output};
use crate::store::{Store, StoreError, StoreFile};
use crate::worker;

const OTHER_COPY: &str = "name another file, one that `runner backup` made";

/// Puts a checked copy in the place of the database, and keeps the old one beside it.
pub fn run(global: &Global, args: &Restore, out: &mut Output) -> Result<ExitStatus> {
    let (db, source) = (locate::store_file(global)?, StoreFile::new(&args.source)?);
    let (shown_db, shown_source) = (locate::display(db.path()), locate::display(&args.source));
    if source == db {
        bail!(
            CliError::usage(format!("{shown_source} is the database itself, not a copy of it"))
                .hint(OTHER_COPY)
        );
    }
    let copy = Store::open(source).map_err(no_copy)?;
    if worker::is_any_alive(&db) {
        bail!(
            CliError::new(
                ExitStatus::LATER,
                format!("nothing was restored: a worker is running on {shown_db}")
            )
            .hint("stop it and try again; `runner inspect workers` shows its pid")
        );
    }
    let mut bar = Bar::new(global, "{percent}% copied");
    let kept =
        copy.restore_to(&db, &mut |copied, all| bar.set(copied, all)).map_err(|error| match error {
            StoreError::Damaged(..) => no_copy(error),
            other => other.into(),
        })?;
    drop(bar);
    let old = kept.as_ref().map(|path| format!("\nthe old database is kept: {}", locate::display(path)));
    let said = format!("{shown_db} is now the copy {shown_source}{}", old.unwrap_or_default());
    let kept = kept.map(|path| path.display().to_string());
    out.done(&json!({ "db": db.path().display().to_string(), "kept": kept }), said)?;
    Ok(ExitStatus::SUCCESS)
}

/// The file cannot be restored.
fn no_copy(error: StoreError) -> anyhow::Error {
    let is_newer = matches!(error, StoreError::Newer(..));
    let failure = describe(&error.into());
    if is_newer { failure.into() } else { failure.hint(OTHER_COPY).into() }
}
