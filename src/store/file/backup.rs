//! Backup, which copies the database while workers go on.
//!
//! A file gets its final name only when it is complete and on disk.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::connection::distrust_schema;
use super::error::{Result, StoreError};
use super::objects::integrity;
use super::open::Store;
use super::rename::rename_new;
use super::row::{one, value};
use super::store_file::{Draft, open_regular, sync_dir};

/// Pages copied between two calls of `on_progress`.
const PAGES: i32 = 1_024;

impl Store {
    /// Copies the database to `target`, which must not exist, while workers go on. `on_progress` is told how many pages
    /// are copied, and how many there are.
    pub fn backup(&mut self, target: &Path, on_progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let failed = |error| StoreError::Io(format!("write the copy {}", target.display()), error);
        let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::metadata(folder).map_err(failed)?;
        // The draft lies beside the database, so that has to be a place where something can be written.
        self.check_writable()?;
        // Otherwise writers would wait until all is copied.
        self.put_back_wal();
        // SQLite believes a log that lies beside a file, so the draft lies where nobody else can put one.
        let draft = Draft::new(self.file())?;
        self.copy_to(&draft.path, on_progress)?;
        self.put_log_away();
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

    /// Copies the database as it is at one moment into this draft, and checks that the copy is whole.
    pub(in crate::store) fn copy_to(
        &self,
        draft: &Path,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        self.autocommit(|_| {
            let mut copy = Connection::open(draft)?;
            distrust_schema(&copy)?;
            self.read(|tx| copy_pages(tx, &mut copy, draft, on_progress))?;
            // Otherwise people would take the copy of a damaged file for a good one.
            if let Some(found) = integrity(&copy, 1)?.into_iter().next() {
                return Err(StoreError::contradiction(found));
            }
            copy.execute_batch("PRAGMA journal_mode = WAL")?;
            copy.close().map_err(|(_, error)| error)?;
            Ok(())
        })
    }

    /// Copies the log into the file as far as nobody reads it. The log has grown while the transaction of the backup kept it
    /// from being put away, and otherwise the next commit of somebody would have to wait for that.
    fn put_log_away(&self) {
        // Where this fails, the next commit does it.
        let _ = self.autocommit(|tx| Ok(tx.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?));
    }
}

/// Copies the draft to another file system: into a new file of this process, which then gets the name of the target.
fn copy_across(draft: &Path, target: &Path, folder: &Path) -> io::Result<()> {
    let partial = folder.join(format!("runner-backup-{:016x}.partial", rand::random::<u64>()));
    let mut copy = File::options().create_new(true).write(true).mode(0o600).open(&partial)?;
    let published = io::copy(&mut File::open(draft)?, &mut copy)
        .and_then(|_| copy.sync_all())
        .and_then(|()| rename_new(&partial, target));
    if published.is_err() {
        // What went wrong before is the error to tell.
        let _ = fs::remove_file(&partial);
    }
    published?;
    // Whoever may write to the folder may have exchanged the file before it got its name.
    let (ours, found) = (copy.metadata()?, fs::symlink_metadata(target)?);
    if (ours.dev(), ours.ino()) == (found.dev(), found.ino()) || is_same(draft, target)? {
        Ok(())
    } else {
        Err(io::Error::other("another file was put in its place"))
    }
}

/// Whether the target holds the same bytes. On sshfs a file has another number once it was renamed.
fn is_same(draft: &Path, target: &Path) -> io::Result<bool> {
    let target = open_regular(target, File::options().read(true))?;
    let (mut one, mut other) = (BufReader::new(File::open(draft)?), BufReader::new(target));
    loop {
        let (ours, found) = (one.fill_buf()?, other.fill_buf()?);
        let length = ours.len().min(found.len());
        if length == 0 || ours[..length] != found[..length] {
            return Ok(ours.is_empty() && found.is_empty());
        }
        one.consume(length);
        other.consume(length);
    }
}

/// Copies all pages. Within a read transaction SQLite copies each page once; outside of one it would begin anew after each
/// commit of another process, and would never end beside many of them.
fn copy_pages(
    from: &Connection,
    copy: &mut Connection,
    draft: &Path,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let failed = |error| StoreError::Io(format!("write the copy {}", draft.display()), error);
    let file = File::open(draft).map_err(failed)?;
    // The first read of a transaction takes hold of the moment that it sees.
    one(from, "SELECT count(*) FROM sqlite_schema", [], value::<i64>)?;
    let backup = Backup::new(from, copy)?;
    loop {
        let step = backup.step(PAGES)?;
        // A little at a time, because commits of others on this disk wait for whatever is synced.
        file.sync_data().map_err(failed)?;
        let done = backup.progress();
        let count = |pages| u64::try_from(pages).unwrap_or(0);
        on_progress(count(done.pagecount - done.remaining), count(done.pagecount));
        match step {
            StepResult::Done => return Ok(()),
            StepResult::Busy | StepResult::Locked => std::thread::sleep(Duration::from_millis(5)),
            _ => {}
        }
    }
}
