//! `runner init`

use std::fs::{self, File};
use std::io::{ErrorKind, Write};

use anyhow::{Context, Result, bail};

use crate::cli::args::Global;
use crate::cli::definition_text::quoted;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::Output;
use crate::jobfile::{FILE_NAME, STARTER};
use crate::model::Bytes;

/// The first line of the starter names this file.
const SCHEMA_NAME: &str = "jobs.schema.json";

/// Writes a small job file, never over an existing one.
pub fn run(global: &Global, out: &mut Output) -> Result<ExitStatus> {
    let path = match &global.file {
        Some(path) => path.clone(),
        None => locate::current_dir()?.join(FILE_NAME),
    };
    let shown = locate::display(&path);
    let mut file = match File::create_new(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!(
                CliError::new(ExitStatus::EXISTS, format!("{shown} exists and was left as it is"))
                    .hint("runner check looks at it; --file PATH writes another one")
            )
        }
        created => created.with_context(|| format!("could not create {shown}"))?,
    };
    let written = file.write_all(STARTER.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(&path); // an empty file would stand in the way of the next try
    }
    written.with_context(|| format!("could not write {shown}"))?;
    if !out.quiet {
        out.line(format!("wrote {shown}"))?;
        out.line("next: runner check, then runner enqueue --all, then runner work --drain")?;
        let schema = quoted(&Bytes::from(&*locate::display(&path.with_file_name(SCHEMA_NAME))));
        out.line(format!("for an editor that completes its keys: runner schema > {schema}"))?;
    }
    Ok(ExitStatus::SUCCESS)
}
