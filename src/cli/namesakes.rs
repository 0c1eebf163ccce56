//! Says of which project the jobs are that a name stands for, where several job files have jobs of this name.

use anyhow::Result;

use crate::store::Store;
use crate::view::advice::folders::{all_text, which_text};
use crate::view::terminal::warn;

/// Says of which folder these jobs of this name are. Says nothing where one job file alone has jobs of the name.
pub fn say_which(store: &Store, name: &str, jobs: &[i64]) -> Result<()> {
    let files = store.files_of_name(name)?;
    if files.len() < 2 || jobs.is_empty() {
        return Ok(());
    }
    let meant = store.files_of_jobs(jobs)?;
    let (meant, others): (Vec<&str>, Vec<&str>) =
        files.iter().map(String::as_str).partition(|file| meant.contains(*file));
    warn(&which_text(name, jobs, &meant, &others));
    Ok(())
}

/// Says which job files have jobs of this name, before something is done to all of them. Says nothing where one alone has.
pub fn say_all(store: &Store, name: &str) -> Result<()> {
    let files = store.files_of_name(name)?;
    if files.len() > 1 {
        warn(&all_text(name, &files));
    }
    Ok(())
}
