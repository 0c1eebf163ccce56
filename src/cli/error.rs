//! Turns every error into a message (what was tried, what was found), a hint (what to do next) and an exit status, and prints
//! it.

use std::fmt::Display;
use std::io;
use std::path::Path;

use serde_json::json;

use super::accounts;
use crate::call_target::to_type;
use crate::jobfile::{JobFileError, PlacedMistake};
pub use crate::model::ExitStatus;
use crate::model::ToType;
use crate::paths::ForeignLink;
use crate::store::{StoreError, raise_limit};
use crate::text::{shell_word, shown_path};
use crate::view::terminal;

/// Why a relative path leads nowhere.
pub const NO_CURRENT_DIR: &str = "could not find the current directory";

/// Says that standard output took nothing.
pub fn not_printed(error: &io::Error) -> String {
    format!("could not print to standard output: {error}")
}

/// An error that is ready to be printed. The verbs return their own errors in this form; [`describe`] makes it of all others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    pub status: ExitStatus,
    /// Says what was tried and what was found.
    pub message: String,
    /// Says what to do next.
    pub hint: Option<String>,
    /// The mistakes of a job file, which the message shows, too.
    pub mistakes: Vec<PlacedMistake>,
}

impl CliError {
    pub fn new(status: ExitStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), hint: None, mistakes: Vec::new() }
    }

    /// The error for arguments that are invalid or do not go together.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitStatus::USAGE, message)
    }

    /// The error for a file that would be overwritten.
    pub fn exists(path: &Path) -> Self {
        Self::new(ExitStatus::EXISTS, format!("{} exists and was left as it is", shown_path(path)))
    }

    /// The error for a job that is not there: its id, or how it is named; with the database or the job file where that was looked at.
    pub fn no_job(which: impl Display, place: Option<&Path>) -> Self {
        let place = place.map(|path| format!(" in {}", shown_path(path))).unwrap_or_default();
        Self::new(ExitStatus::NOT_FOUND, format!("there is no job {which}{place}"))
    }

    /// The error for a job that was removed while something was done with it.
    pub fn removed(id: i64, meanwhile: &str) -> Self {
        Self::new(ExitStatus::NOT_FOUND, format!("job {id} was removed while it was {meanwhile}"))
    }

    /// The error for an option that several jobs cannot share.
    pub fn for_one_job(option: &str) -> Self {
        Self::usage(format!("{option} is for a single job"))
    }

    /// The error where no folder for the database can be found.
    pub fn no_folder(why: impl Display) -> Self {
        Self::new(ExitStatus::NOT_FOUND, format!("the database has no directory: {why}"))
            .hint("name one with --db PATH or $RUNNER_DB")
    }

    /// The error for an attempt that a job does not have.
    pub fn no_attempt(id: i64, number: u32) -> Self {
        Self::new(ExitStatus::NOT_FOUND, format!("job {id} has no attempt {number}"))
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Makes the printable form of any error. The message has all contexts; the hint and the status are those of the first cause
/// that has any.
pub fn describe(error: &anyhow::Error) -> CliError {
    let known = error.chain().find_map(status_and_hint);
    let (status, hint) = known.unwrap_or((ExitStatus::INTERNAL, None));
    let invalid = error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(JobFileError::Mistakes(invalid)) => Some(invalid.placed_mistakes()),
        _ => None,
    });
    CliError { status, message: format!("{error:#}"), hint, mistakes: invalid.unwrap_or_default() }
}

/// Prints an error: in words, or with `--json` as one object.
pub fn print_error(error: &CliError) {
    let CliError { status, message, hint, mistakes } = error;
    if !terminal::are_errors_json() {
        return terminal::print_message(message, hint.as_deref());
    }
    let mut object = json!({ "error": message, "hint": hint, "status": status.0 });
    if !mistakes.is_empty() {
        // The message shows the lines of the file, which no program reads.
        let headline = message.split("\n\n").next().unwrap_or_default();
        let told = mistakes.iter().map(|it| format!("{}:{}:{}: {}", it.file, it.line, it.column, it.error));
        object["error"] = format!("{headline}: {}", told.collect::<Vec<_>>().join("; ")).into();
        object["mistakes"] = json!(mistakes);
    }
    terminal::print_object(&object);
}

fn status_and_hint(error: &(dyn std::error::Error + 'static)) -> Option<(ExitStatus, Option<String>)> {
    let command: ToType<'_> = &|verb, arguments| to_type(verb, arguments);
    if let Some(CliError { status, hint, .. }) = error.downcast_ref() {
        return Some((*status, hint.clone()));
    }
    let (status, hint) = if let Some(error) = error.downcast_ref::<StoreError>() {
        let (status, hint) = error.status_and_hint(command);
        (status, as_its_owner(error).map(|act| format!("{act}; or ")).unwrap_or_default() + &hint)
    } else if let Some(error) = error.downcast_ref::<JobFileError>() {
        error.status_and_hint(command)
    } else if let Some(link) = error.downcast_ref::<ForeignLink>() {
        (ExitStatus::PERMISSION, link.way_around())
    } else {
        let error = error.downcast_ref()?;
        (ExitStatus::of_io(error), raise_limit(error).unwrap_or_default().to_owned())
    };
    Some((status, Some(hint).filter(|hint| !hint.is_empty())))
}

/// The way for root to use a database of somebody else.
fn as_its_owner(error: &StoreError) -> Option<String> {
    let StoreError::Untrusted(untrusted) = error else { return None };
    let (uid, gid) = untrusted.owner.filter(|_| rustix::process::geteuid().is_root())?;
    Some(format!("act as its owner: {} runner ...", become_user(uid, Some(gid))))
}

/// The start of a command line by which root runs a program as this user. Without a group it is that of the same number.
pub fn become_user(uid: u32, gid: Option<u32>) -> String {
    let gid = gid.unwrap_or(uid);
    let name = accounts::listed().find(|listed| listed.id == uid).map(|listed| listed.account.name);
    let has_runuser = accounts::runuser().is_some();
    match name {
        Some(name) if has_runuser => format!("runuser -u {} --", shell_word(&name)),
        _ => format!("setpriv --reuid={uid} --regid={gid} --clear-groups --"),
    }
}
