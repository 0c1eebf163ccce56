//! Turns every error into a message (what was tried, what was found), a hint (what to do next) and an exit status, and prints
//! it.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{ExitCode, Termination};

use serde_json::json;

use super::accounts;
use crate::call_target::{CallTarget, to_type};
use crate::jobfile::{JobFileError, PlacedMistake};
use crate::paths::{ForeignLink, is_gone};
use crate::store::{NoRoom, StoreError, Untrusted, Version, drop_command};
use crate::text::{shell_word, shown_path};
use crate::view::advice::creates_database;
use crate::view::terminal;

/// The exit status of a verb. The numbers above 63 come from `sysexits.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExitStatus(pub u8);

impl ExitStatus {
    pub const SUCCESS: Self = Self(0);
    /// A check failed, or a job failed.
    pub const FAILED: Self = Self(1);
    pub const USAGE: Self = Self(2);
    /// The job file or other input is invalid.
    pub const DATA: Self = Self(65);
    /// No such job, id or file.
    pub const NOT_FOUND: Self = Self(66);
    /// A bug in runner.
    pub const INTERNAL: Self = Self(70);
    /// A file would be overwritten.
    pub const EXISTS: Self = Self(73);
    /// I/O error, disk full, or a file that cannot be used.
    pub const IO: Self = Self(74);
    /// The same call may succeed later, or a wait was given up.
    pub const LATER: Self = Self(75);
    /// The database is from a newer runner.
    pub const OTHER_VERSION: Self = Self(76);
    pub const PERMISSION: Self = Self(77);

    /// The status of a program that ends on this signal, as a shell gives it.
    pub fn of_signal(signal: i32) -> Self {
        Self(u8::try_from(signal.saturating_add(128)).unwrap_or(u8::MAX))
    }
}

impl Termination for ExitStatus {
    fn report(self) -> ExitCode {
        ExitCode::from(self.0)
    }
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
    if let Some(CliError { status, hint, .. }) = error.downcast_ref() {
        return Some((*status, hint.clone()));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(describe_store_error(error));
    }
    if let Some(error) = error.downcast_ref() {
        return Some(describe_job_file_error(error));
    }
    if let Some(link) = error.downcast_ref() {
        return Some((ExitStatus::PERMISSION, Some(name_target(link))));
    }
    error.downcast_ref().map(|error| (io_status(error), None))
}

fn describe_job_file_error(error: &JobFileError) -> (ExitStatus, Option<String>) {
    let (status, hint): (_, Cow<'_, str>) = match error {
        JobFileError::NotFound { path } => {
            let init = CallTarget::of_this_call().with_file(&path.to_string_lossy()).to_type("init", "");
            (ExitStatus::NOT_FOUND, format!("check the path, or write a job file with `{init}`").into())
        }
        JobFileError::Nowhere { .. } => (
            ExitStatus::NOT_FOUND,
            format!("`{}` writes one here; `--file PATH` or $RUNNER_FILE names another", to_type("init", ""))
                .into(),
        ),
        JobFileError::Untrusted { path, why } => {
            let word = |path: &Path| shell_word(&path.to_string_lossy());
            let close = why
                .to_close
                .as_deref()
                .map(|open| format!("look at what it says, then chmod o-w {}; or ", word(open)));
            let close = close.unwrap_or_default();
            // A link of somebody else is not followed, whoever names it.
            let named = fs::canonicalize(path).ok().filter(|_| path.is_symlink());
            let named = word(named.as_deref().unwrap_or(path));
            let hint = format!("{close}if you trust what it says: export RUNNER_FILE={named}");
            (ExitStatus::PERMISSION, hint.into())
        }
        JobFileError::ForeignLink { link, .. } => (ExitStatus::PERMISSION, name_target(link).into()),
        JobFileError::Unreadable { error, .. } => {
            (io_status(error), "make it a file that you may read, or name another with `--file PATH`".into())
        }
        JobFileError::TooLarge { .. } => (
            ExitStatus::DATA,
            format!(
                "divide it, or let a program enqueue lines that have a `command` with `{}`",
                to_type("enqueue", "--batch -")
            )
            .into(),
        ),
        JobFileError::Mistakes(_) => return (ExitStatus::DATA, None),
    };
    (status, Some(hint.into_owned()))
}

/// What to do where a job of this file, which has the same name, holds a key.
fn hint_for_namesake(holder: i64, file: &Path) -> String {
    if is_gone(file) {
        let take = to_type("change", format_args!("{holder} --redefine --file FILE"));
        return format!("that file is gone; if FILE is what has become of it, {take} takes the job along");
    }
    format!("{} shows it; give one of the two another unique_key", to_type("inspect", holder))
}

fn describe_store_error(error: &StoreError) -> (ExitStatus, Option<String>) {
    let (status, hint): (_, Cow<'_, str>) = match error {
        StoreError::KeyHeld { holder, .. } => {
            let inspect = to_type("inspect", holder);
            (ExitStatus::LATER, format!("{inspect} shows it; --on-conflict skip takes it as it is").into())
        }
        StoreError::KeyOfNamesake { holder, file, .. } => {
            (ExitStatus::LATER, hint_for_namesake(*holder, Path::new(file)).into())
        }
        StoreError::KeyOfOtherWork { first, .. } => {
            let inspect = to_type("inspect", first);
            (ExitStatus::DATA, format!("{inspect} shows it; give other work a key of its own").into())
        }
        StoreError::Missing(_) => {
            (ExitStatus::NOT_FOUND, format!("{}; --db or $RUNNER_DB names another one", creates_database()).into())
        }
        StoreError::Foreign(..) => (ExitStatus::IO, "name another file with --db or $RUNNER_DB".into()),
        StoreError::LostMark { path, application, version } => {
            (ExitStatus::IO, set_mark(path, *application, *version).into())
        }
        StoreError::Damaged(..) | StoreError::InvalidData(_) => (
            ExitStatus::IO,
            format!(
                "{} puts a backup in the database's place and keeps the damaged one; --db names another",
                to_type("restore", "FILE")
            )
            .into(),
        ),
        StoreError::ForeignTrigger(path, name) => {
            (ExitStatus::IO, format!("`{}` removes it", drop_command(path, "trigger", name)).into())
        }
        StoreError::OtherMajor { found, known, .. } => {
            (ExitStatus::OTHER_VERSION, way_to_version(*found, *known).into())
        }
        StoreError::NotUpgraded { .. } => (
            ExitStatus::IO,
            format!(
                "run `{}` once where the file can be written, or read it with the runner that wrote it",
                to_type("doctor", "")
            )
            .into(),
        ),
        StoreError::NeedsNewer { .. } => (ExitStatus::OTHER_VERSION, "use the runner that enqueued it".into()),
        StoreError::Network(..) | StoreError::Unfit { .. } => (ExitStatus::IO, "name a file on a local disk with --db or $RUNNER_DB".into()),
        StoreError::Mounted(path) => {
            let folder = path.parent().unwrap_or(path).display();
            let hint = format!(
                "mount the folder of the database instead, for example: docker run -v /srv/runner:{folder}"
            );
            (ExitStatus::IO, hint.into())
        }
        StoreError::ForeignLink { link, .. } => (ExitStatus::PERMISSION, name_target(link).into()),
        StoreError::HardLinked(..) => (ExitStatus::IO, "remove the other names of the file".into()),
        StoreError::Moved(_) => (ExitStatus::IO, "stop what uses a database before you move it".into()),
        StoreError::InUse(_) => (
            ExitStatus::LATER,
            "end what waits for its jobs, follows them or has it open in sqlite3, and try again; fuser shows the processes".into(),
        ),
        StoreError::Leftovers(..) => (
            ExitStatus::LATER,
            "end it with kill -KILL and its number, as root if it is another user's, and try again".into(),
        ),
        StoreError::ChangedWhileRead(_) => (ExitStatus::LATER, "try again".into()),
        StoreError::UnreadableLog(..) => (
            ExitStatus::IO,
            "copy both files to a directory of your own, and name the copy of the first with --db".into(),
        ),
        StoreError::NotWritable(_) => (
            ExitStatus::PERMISSION,
            "copy it, with what lies beside it, to a directory of your own, and name the copy with --db".into(),
        ),
        StoreError::Untrusted(untrusted) => (ExitStatus::PERMISSION, advice(untrusted).into()),
        StoreError::Io(_, error) => (io_status(error), "see --db and $RUNNER_DB for another place".into()),
        StoreError::Busy => (
            ExitStatus::LATER,
            format!("try again; {} shows who works on it", to_type("inspect", "workers")).into(),
        ),
        StoreError::BusyWithoutWal(path) => (
            ExitStatus::LATER,
            format!(
                "`fuser {}` shows who has it open; once that has ended, the next command that writes puts it back into WAL mode",
                shell_word(&path.to_string_lossy())
            )
            .into(),
        ),
        StoreError::Full(why) => (ExitStatus::IO, way_to_room(*why)),
        StoreError::CommitUnknown(_) => {
            (ExitStatus::IO, format!("look with {} before you do it again", to_type("inspect", "")).into())
        }
        StoreError::NoDependency { .. } => {
            (
                ExitStatus::NOT_FOUND,
                format!("{} lists the jobs that there are", to_type("inspect", "jobs")).into(),
            )
        }
        StoreError::AppliedElsewhere { .. } => (ExitStatus::DATA, "rename the job".into()),
        StoreError::Sqlite(error) => (sqlite_status(error), "see --db and $RUNNER_DB for another place".into()),
    };
    (status, Some(hint.into_owned()))
}

/// The command that gives a database its mark again, and the way to copies that keep it.
fn set_mark(path: &Path, application: u32, version: Version) -> String {
    let path = shell_word(&path.to_string_lossy());
    let mark = format!("PRAGMA application_id = {application:#x}; PRAGMA user_version = {}", version.0);
    format!(
        "`sqlite3 {path} '{mark}'` gives it back; {} makes a copy that keeps it",
        to_type("backup", "FILE")
    )
}

/// The way around a link that is not followed.
fn name_target(link: &ForeignLink) -> String {
    format!("if you trust that user, name what the link leads to, {}, in its place", link.target.display())
}

/// The way to use a database of this major version with a program that knows another one.
fn way_to_version(found: Version, known: Version) -> String {
    match found.major() {
        newer if newer > known.major() => format!("use a runner that knows version {newer}"),
        0 => "it was made before the first release; name another file with --db".to_owned(),
        older => format!("the last runner that knows version {older} brings it up to version {}", older + 1),
    }
}

/// What to do where a file may not be written now.
fn way_to_room(why: NoRoom) -> Cow<'static, str> {
    match why {
        NoRoom::Disk => {
            let doctor = to_type("doctor", "");
            format!("make room on the disk of the database, which {doctor} names, and try again").into()
        }
        NoRoom::Quota => {
            "remove files of yours on the disk of the database, or ask for a larger quota, and try again".into()
        }
        NoRoom::FileSize => "raise the limit (`ulimit -f`, LimitFSIZE= of a service), and try again".into(),
        NoRoom::ReadOnly => {
            "look in the kernel's log (dmesg) for the reason, mount the file system for writing, and try again".into()
        }
    }
}

/// The ways to use a database that other users cannot write, or to become the user who may use this one.
fn advice(untrusted: &Untrusted) -> String {
    // A folder in which everybody may create files is where the caller wanted the database to lie.
    let folder = untrusted.path.parent().filter(|_| untrusted.is_folder_shared);
    let folder = folder.map_or_else(|| "~".to_owned(), |path| shell_word(&path.to_string_lossy()));
    let own = format!("use one in a folder that is made for you alone: --db {folder}/runner/runner.db");
    match untrusted.owner {
        Some((uid, gid)) if rustix::process::geteuid().is_root() => {
            format!("act as its owner: {} runner ...; or {own}", become_user(uid, Some(gid)))
        }
        _ => own,
    }
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

fn sqlite_status(error: &rusqlite::Error) -> ExitStatus {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::PermissionDenied | Code::ReadOnly | Code::CannotOpen) => ExitStatus::PERMISSION,
        Some(_) => ExitStatus::IO,
        None => ExitStatus::INTERNAL,
    }
}

fn io_status(error: &io::Error) -> ExitStatus {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ExitStatus::PERMISSION,
        _ => ExitStatus::IO,
    }
}
