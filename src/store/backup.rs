//! An online copy, which gets its name only when it is complete and on disk.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::error::{Result, StoreError};
use super::file::sync_dir;
use super::open::Store;

/// Pages copied between two calls of `on_progress`.
const PAGES: i32 = 1_024;

impl Store {
    /// Copies the database to `target`, which must not exist, while workers go on. `on_progress` is told how many pages
    /// are copied, and how many there are.
    pub fn backup(&self, target: &Path, on_progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let failed = |error| StoreError::Io(format!("write the copy {}", target.display()), error);
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        let draft = target.with_file_name(name);
        File::options().create_new(true).write(true).mode(0o600).open(&draft).map_err(failed)?;
        let copied = self.autocommit(|from| copy(from, &draft, on_progress)).and_then(|()| {
            File::open(&draft).and_then(|file| file.sync_all()).map_err(failed)?;
            // A link refuses to replace what is there; a rename would not.
            fs::hard_link(&draft, target).map_err(failed)
        });
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return copied.and(Err(failed(error))),
            _ => {}
        }
        copied?;
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_dir(parent.unwrap_or(Path::new("."))).map_err(failed)
    }
}

pub(super) fn copy(from: &Connection, draft: &Path, on_progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let mut copy = Connection::open(draft)?;
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
    // A copy of a damaged file would pass for a good one.
    let found: String = copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(StoreError::contradiction(found));
    }
    copy.execute_batch("PRAGMA journal_mode = WAL")?;
    copy.close().map_err(|(_, error)| error)?;
    Ok(())
}
