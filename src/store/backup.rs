//! Backup, which copies the database while workers go on, and restore, which puts such a copy in the place of a database.
//!
//! A file gets its final name only when it is complete and on disk.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::error::{Result, StoreError};
use super::file::{BESIDE, Draft, StoreFile, sync_dir, with_suffix};
use super::open::{Sharing, Store, check_header, connect, distrust_schema};
use super::row::{one, value};

/// Pages copied between two calls of `on_progress`.
const PAGES: i32 = 1_024;

impl Store {
    /// Copies the database to `target`, which must not exist, while workers go on. `on_progress` is told how many pages
    /// are copied, and how many there are.
    pub fn backup(&self, target: &Path, on_progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let failed = |error| StoreError::Io(format!("write the copy {}", target.display()), error);
        let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::metadata(folder).map_err(failed)?;
        // SQLite believes a log that lies beside a file, so the draft lies where nobody else can put one.
        let draft = Draft::new(self.file())?;
        self.autocommit(|from| copy(from, &draft.path, on_progress))?;
        File::open(&draft.path).and_then(|file| file.sync_all()).map_err(failed)?;
        // A link, because a rename would replace a file that is there.
        match fs::hard_link(&draft.path, target) {
            Err(error) if error.kind() == ErrorKind::CrossesDevices => {
                copy_across(&draft.path, target, folder)
            }
            linked => linked,
        }
        .map_err(failed)?;
        // A database with a second name would be refused.
        draft.remove().map_err(failed)?;
        sync_dir(&self.file().run_dir()).and_then(|()| sync_dir(folder)).map_err(failed)
    }
}

/// Copies the draft to another file system: into a new file of this process, which then gets the name of the target.
fn copy_across(draft: &Path, target: &Path, folder: &Path) -> io::Result<()> {
    let partial = folder.join(format!("runner-backup-{:016x}.partial", rand::random::<u64>()));
    let mut copy = File::options().create_new(true).write(true).mode(0o600).open(&partial)?;
    let published = io::copy(&mut File::open(draft)?, &mut copy)
        .and_then(|_| copy.sync_all())
        .and_then(|()| Ok(renameat_with(CWD, &partial, CWD, target, RenameFlags::NOREPLACE)?));
    if published.is_err() {
        let _ = fs::remove_file(&partial);
    }
    published?;
    // Whoever may write to the folder may have exchanged the file before it got its name.
    let (ours, found) = (copy.metadata()?, fs::symlink_metadata(target)?);
    if (ours.dev(), ours.ino()) == (found.dev(), found.ino()) {
        Ok(())
    } else {
        Err(io::Error::other("another file was put in its place"))
    }
}

fn copy(from: &Connection, draft: &Path, on_progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let mut copy = Connection::open(draft)?;
    distrust_schema(&copy)?;
    let backup = Backup::new(from, &mut copy)?;
    loop {
        let step = backup.step(PAGES)?;
        let done = backup.progress();
        let count = |pages| u64::try_from(pages).unwrap_or(0);
        on_progress(count(done.pagecount - done.remaining), count(done.pagecount));
        match step {
            StepResult::Done => break,
            StepResult::Busy | StepResult::Locked => std::thread::sleep(Duration::from_millis(5)),
            _ => {}
        }
    }
    drop(backup);
    // Otherwise people would take the copy of a damaged file for a good one.
    let found: String = one(&copy, "PRAGMA integrity_check(1)", [], value)?;
    if found != "ok" {
        return Err(StoreError::contradiction(found));
    }
    copy.execute_batch("PRAGMA journal_mode = WAL")?;
    copy.close().map_err(|(_, error)| error)?;
    Ok(())
}

impl Store {
    /// Puts a copy of this database in the place of `target`. Gives the path at which the old database is kept, if there
    /// was one. `on_progress` is told how many pages are copied, and how many there are.
    ///
    /// The copy is checked and on disk before one rename exchanges the two files. It is an error if another process has the
    /// target open. This process must not have opened it either.
    pub fn restore_to(
        &self,
        target: &StoreFile,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<PathBuf>> {
        let draft = Draft::new(target)?;
        let damaged = |what| StoreError::Damaged(Some(self.file().path().to_owned()), what);
        self.autocommit(|from| copy(from, &draft.path, on_progress)).map_err(|error| match error {
            StoreError::Damaged(None, what) => damaged(what),
            other => other,
        })?;
        if let Some(finding) = Self::open(StoreFile::new(&draft.path)?)?.audit()?.into_iter().next() {
            return Err(damaged(finding.what));
        }
        let failed = |error| {
            StoreError::Io(format!("put the copy in the place of {}", target.path().display()), error)
        };
        File::open(&draft.path).and_then(|file| file.sync_all()).map_err(failed)?;
        if target.is_missing()? {
            draft.become_database()?;
            return Ok(None);
        }
        let kept = free_name(target);
        let alone = lock_out(target, &kept)?;
        // The draft first takes the name under which the old database is kept, so that the exchange is the last step: before
        // it nothing has changed, and after it everything has.
        renameat_with(CWD, &draft.path, CWD, &kept, RenameFlags::NOREPLACE)
            .map_err(|error| failed(error.into()))?;
        if let Err(error) = renameat_with(CWD, &kept, CWD, target.path(), RenameFlags::EXCHANGE) {
            let _ = fs::remove_file(&kept);
            return Err(failed(error.into()));
        }
        drop(alone);
        sync_dir(target.parent()).map_err(failed)?;
        Ok(Some(kept))
    }
}

/// The path at which the old database is kept: `FILE.replaced-1`, or the next number that is free. A link is not followed.
fn free_name(target: &StoreFile) -> PathBuf {
    let names = (1_u64..).map(|number| target.beside(&format!(".replaced-{number}")));
    let is_free = |path: PathBuf| path.symlink_metadata().is_err();
    names
        .clone()
        .find(|kept| is_free(kept.clone()) && BESIDE.iter().all(|suffix| is_free(with_suffix(kept, suffix))))
        .unwrap_or_default()
}

/// Locks all other processes out of the old database, and copies its whole log into the file, because SQLite would take a
/// log that stays for that of the new database.
///
/// A damaged database cannot be locked, but nobody can use it either. Its log is set aside with it.
fn lock_out(target: &StoreFile, kept: &Path) -> Result<Option<Connection>> {
    let opened = check_header(target).and_then(|()| {
        connect(target, Sharing::Alone).map_err(|error| match error {
            StoreError::Foreign(path, what) => StoreError::Damaged(Some(path), what.to_owned()),
            other => other,
        })
    });
    match opened {
        Ok(connection) => {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(Some(connection))
        }
        Err(StoreError::Busy) => Err(StoreError::InUse(target.path().to_owned())),
        Err(StoreError::Damaged(..)) => {
            for suffix in BESIDE {
                let (from, to) = (target.beside(suffix), with_suffix(kept, suffix));
                match renameat_with(CWD, &from, CWD, &to, RenameFlags::NOREPLACE) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(set_aside_failed(target, error.into())),
                }
            }
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

fn set_aside_failed(target: &StoreFile, error: io::Error) -> StoreError {
    StoreError::Io(format!("set aside what lies beside {}", target.path().display()), error)
}
