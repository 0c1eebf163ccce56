//! Refuses a database that somebody else may have written: its jobs would run as the caller.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::error::{Result, StoreError, Untrusted};
use super::store_file::StoreFile;
use crate::paths::{others_write, owned_text};

/// The bit of a file's mode that lets everybody read it, and that of a folder's that lets everybody pass.
const OTHERS_READ: u32 = 0o004;
const OTHERS_ENTER: u32 = 0o001;

impl StoreFile {
    /// Checks the folder and, if it is there, the database. Nobody else can put another file in its place afterwards, because
    /// the folder is trusted by then. Folders further up are not examined.
    pub(in crate::store) fn check_trust(&self) -> Result<()> {
        let me = geteuid().as_raw();
        let folder_path = self.parent();
        let Some(folder) = look(folder_path, fs::metadata(folder_path))? else { return Ok(()) };
        let owned = format!("its folder {} {}", folder_path.display(), owned_text(&folder));
        if others_write(&folder) {
            return Err(self.untrusted(format!("{owned}, and others may create files there"), None, true));
        }
        if folder.uid() != me && folder.uid() != 0 {
            let root = if me == 0 { "" } else { " or to root" };
            return Err(self.untrusted(
                format!("{owned}, and not to you (user {me}){root}"),
                Some(&folder),
                false,
            ));
        }
        let file = look(self.path(), fs::symlink_metadata(self.path()))?;
        // A folder or a device is refused as no database when its header is read, whoever it belongs to.
        let Some(file) = file.filter(Metadata::is_file) else { return Ok(()) };
        if file.uid() != me {
            let why = format!("it {}, and not to you (user {me})", owned_text(&file));
            return Err(self.untrusted(why, Some(&file), false));
        }
        if others_write(&file) {
            let why = format!("it {}, and others may write to it", owned_text(&file));
            return Err(self.untrusted(why, None, false));
        }
        Ok(())
    }

    /// Refuses to make the missing folders of the database below a folder of another user, as of a home directory that `sudo` has
    /// left in `$HOME`: that user could not use what root makes there.
    pub(in crate::store) fn check_place(&self) -> Result<()> {
        let me = geteuid().as_raw();
        for path in self.parent().ancestors() {
            let Some(found) = look(path, fs::metadata(path))? else { continue };
            if path != self.parent() && found.uid() != me && found.uid() != 0 {
                let why = format!("{} {}, and not to you (user {me})", path.display(), owned_text(&found));
                return Err(self.untrusted(why, Some(&found), false));
            }
            break;
        }
        Ok(())
    }

    /// The database and the files beside it that other users may read, if they can reach them. A reader can lock the index of
    /// the log, and so keep all writers out.
    pub fn readable_by_others(&self) -> Vec<PathBuf> {
        let has = |path: &Path, bit: u32| fs::metadata(path).is_ok_and(|found| found.mode() & bit != 0);
        if !self.parent().ancestors().all(|folder| has(folder, OTHERS_ENTER)) {
            return Vec::new();
        }
        let files = [self.path().to_owned(), self.beside("-wal"), self.beside("-shm")];
        files.into_iter().filter(|file| has(file, OTHERS_READ)).collect()
    }

    fn untrusted(&self, why: String, owner: Option<&Metadata>, is_folder_shared: bool) -> StoreError {
        let owner = owner.map(|found| (found.uid(), found.gid()));
        StoreError::Untrusted(Box::new(Untrusted {
            path: self.path().to_owned(),
            why,
            owner,
            is_folder_shared,
        }))
    }
}

/// The metadata of what is there; `None` if there is nothing.
fn look(path: &Path, found: io::Result<Metadata>) -> Result<Option<Metadata>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::Io(format!("look at {}", path.display()), error)),
    }
}
