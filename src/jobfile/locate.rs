//! Finds the job file, and stops at one that somebody else may have written: its commands would run as the caller.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::diagnostics::{Distrust, JobFileError};
use crate::paths::{MAX_LINKS, others_write, owned_text};

/// The name of the job file that [`locate`] looks for.
pub const FILE_NAME: &str = "jobs.toml";

/// The bit of a folder's mode that lets nobody remove or rename the files of others.
const STICKY: u32 = 0o1000;

/// The job file to read: `explicit`, else `$RUNNER_FILE`, else the nearest `jobs.toml` from `current_dir` upwards, else
/// `$XDG_CONFIG_HOME/runner/jobs.toml`. The current directory may be gone, so only what needs it asks for it.
///
/// A file that is named need not exist: reading it fails later. The error here lists the places that were searched, or says
/// why the file that was found cannot be trusted.
pub fn locate<E: From<JobFileError>>(
    explicit: Option<&Path>,
    env: &dyn Fn(&str) -> Option<OsString>,
    current_dir: impl FnOnce() -> Result<PathBuf, E>,
) -> Result<PathBuf, E> {
    let env = |name: &str| env(name).filter(|value| !value.is_empty());
    if let Some(named) = explicit.map(PathBuf::from).or_else(|| env("RUNNER_FILE").map(PathBuf::from)) {
        return if named.is_absolute() { Ok(named) } else { Ok(current_dir()?.join(named)) };
    }
    let current_dir = current_dir()?;
    // The XDG base directory specification wants relative paths to be ignored.
    let absolute = |name| env(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let user_file = absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))
        .map(|config| config.join("runner").join(FILE_NAME));
    let upwards = current_dir.ancestors().map(|dir| dir.join(FILE_NAME));
    let Some(path) = upwards.chain(user_file.clone()).find(|candidate| candidate.is_file()) else {
        return Err(JobFileError::Nowhere { start_dir: current_dir, user_file }.into());
    };
    check_found(&path, &env)?;
    Ok(path)
}

/// Whether a file that the caller did not name may be used: it was found by walking, or a database names it.
pub fn check_found(path: &Path, env: &dyn Fn(&str) -> Option<OsString>) -> Result<(), JobFileError> {
    let caller = Caller::new(env("SUDO_UID").as_deref().and_then(OsStr::to_str));
    caller.check(path).map_err(|why| JobFileError::Untrusted { path: path.to_owned(), why })
}

/// The users whose files the caller trusts beside those of root.
struct Caller {
    uid: u32,
    /// The user who became root by `sudo`.
    sudo_uid: Option<u32>,
}

impl Caller {
    fn new(sudo_uid: Option<&str>) -> Self {
        let uid = geteuid().as_raw();
        Self { uid, sudo_uid: sudo_uid.filter(|_| uid == 0).and_then(|uid| uid.parse().ok()) }
    }

    fn is_own(&self, file: &Metadata) -> bool {
        file.uid() == self.uid || Some(file.uid()) == self.sudo_uid
    }

    /// Looks at the file, at each link that leads to it, and at the folder of each. The error says who may write there.
    fn check(&self, path: &Path) -> Result<(), Distrust> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let folder_path = path.parent().unwrap_or(&path).to_owned();
            let file = look(&path, fs::symlink_metadata(&path))?;
            let folder = look(&folder_path, fs::metadata(&folder_path))?;
            self.check_owner(&path, &file)?;
            self.check_owner(&folder_path, &folder)?;
            if !file.is_symlink() && others_write(&file) {
                return Err(self.open_to_others(&path, &file, "others may write to it"));
            }
            let is_kept = folder.mode() & STICKY != 0 && self.is_own(&file);
            if others_write(&folder) && !is_kept {
                return Err(self.open_to_others(&folder_path, &folder, "others may put files there"));
            }
            if !file.is_symlink() {
                return Ok(());
            }
            path = folder_path.join(look(&path, fs::read_link(&path))?);
        }
        Err(Distrust::new(format!("more than {MAX_LINKS} links lead to it")))
    }

    fn open_to_others(&self, path: &Path, found: &Metadata, what: &str) -> Distrust {
        let mut distrust = Distrust::new(format!("{}, and {what}", owned(path, found)));
        distrust.to_close = (found.uid() == self.uid).then(|| path.to_owned());
        distrust
    }

    fn check_owner(&self, path: &Path, found: &Metadata) -> Result<(), Distrust> {
        if found.uid() == 0 || self.is_own(found) {
            return Ok(());
        }
        let root = if self.uid == 0 { "" } else { " or to root" };
        Err(Distrust::new(format!("{}, and not to you (user {}){root}", owned(path, found), self.uid)))
    }
}

fn look<T>(path: &Path, found: io::Result<T>) -> Result<T, Distrust> {
    found.map_err(|error| Distrust::new(format!("{} cannot be looked at: {error}", path.display())))
}

fn owned(path: &Path, found: &Metadata) -> String {
    let kind = match found.file_type() {
        kind if kind.is_dir() => "its folder ",
        kind if kind.is_symlink() => "the link ",
        _ => "",
    };
    format!("{kind}{} {}", path.display(), owned_text(found))
}
