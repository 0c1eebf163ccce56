//! The name of a job where its id is wanted.

use std::path::PathBuf;

use clap::error::ContextKind;

use super::super::args::Global;
use super::super::{locate, quoted};
use super::context;
use crate::clock;
use crate::model::{Bytes, check_name};
use crate::store::JobFilter;

/// The newest job of a name, and an attempt of it if that was named too.
pub struct Newest {
    name: String,
    /// `7`, or `7.2`.
    pub id: String,
}

/// The newest job that `text`, a name or `NAME.N`, means in the database of these options. None where that cannot be told.
pub fn named(global: &Global, text: &str) -> Option<Newest> {
    check_name(text).ok()?;
    let mut store = locate::open_if_there(global).ok()??;
    let mut newest = |name: &str| {
        let filter = JobFilter { name: Some(name.to_owned()), ..JobFilter::default() };
        let (jobs, _) = store.jobs_page(&filter, None, 1, clock::now()).ok()?;
        jobs.first().map(|job| job.id)
    };
    if let Some(id) = newest(text) {
        return Some(Newest { name: text.to_owned(), id: id.to_string() });
    }
    let (name, attempt) = text.rsplit_once('.')?;
    let attempt: u32 = attempt.parse().ok()?;
    newest(name).map(|id| Newest { name: name.to_owned(), id: format!("{id}.{attempt}") })
}

/// Which job that is, and what to type.
pub fn words(newest: &Newest, line: &str) -> String {
    let id = newest.id.split('.').next().unwrap_or_default();
    format!("the newest job named {} is {id}: `{line}`", newest.name)
}

/// What to type, if a value that is no id is the name of a job.
pub(super) fn tip(error: &clap::Error, typed: &[String]) -> Option<String> {
    if !context(error, ContextKind::InvalidArg)?.trim_start_matches(['<', '[']).starts_with("ID") {
        return None;
    }
    let value = context(error, ContextKind::InvalidValue)?;
    let newest = named(&global(typed), value)?;
    // The last of them: a job may be called like a verb.
    let at = typed.iter().rposition(|word| word == value)?;
    let mut line = vec!["runner".to_owned()];
    line.extend(typed.iter().map(|word| quoted(&Bytes::from(word.as_str()))));
    line[at + 1].clone_from(&newest.id);
    Some(words(&newest, &line.join(" ")))
}

/// The database that these words name: nothing more can be had of a command line that was not understood.
fn global(typed: &[String]) -> Global {
    let db = typed.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--db") {
        Some("") => typed.get(at + 1).map(PathBuf::from),
        Some(rest) => rest.strip_prefix('=').map(PathBuf::from),
        None => None,
    });
    Global { db, ..Global::default() }
}
