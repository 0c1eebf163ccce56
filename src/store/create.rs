//! Creating a database: whole, or not at all.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Result, StoreError, StoreFile, open};

/// The schema, as people read it. SQLite keeps the text of each statement and reads all of it whenever a process opens
/// the database, so comments and indentation stay here.
const SCHEMA: &str = include_str!("../../schema.sql");

/// Builds the database under another name in `FILE.run/` and moves it into place when it is complete and on disk.
///
/// A lock lets one process at a time do so; whoever was too late finds the file there. What a killed one left behind is
/// replaced by the next.
pub(super) fn create(file: &StoreFile) -> Result<()> {
    let failed = |error| StoreError::Io(format!("create the database {}", file.path().display()), error);
    let parent = file.path().parent().unwrap_or(Path::new("/"));
    make_dirs(parent).map_err(failed)?;
    open::refuse_network(file.path(), parent)?;
    let run_dir = file.make_run_dir()?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(run_dir.join("create.lock"))
        .map_err(failed)?;
    lock.lock().map_err(failed)?;
    if !open::is_missing(file)? {
        return Ok(());
    }
    let draft = run_dir.join("new.db");
    for leftover in ["", "-journal", "-wal", "-shm"] {
        remove(&run_dir.join(format!("new.db{leftover}"))).map_err(failed)?;
    }
    // A WAL of an earlier file of this name must not be taken for ours.
    for leftover in ["-journal", "-wal", "-shm"] {
        remove(&file.beside(leftover)).map_err(failed)?;
    }
    File::options().create_new(true).write(true).mode(0o600).open(&draft).map_err(failed)?;
    fill(&draft)?;
    fs::rename(&draft, file.path()).map_err(failed)?;
    sync_dir(parent).map_err(failed)
}

fn fill(draft: &Path) -> Result<()> {
    let connection = Connection::open(draft)?;
    // The schema goes in with a rollback journal, so that the header of the main file tells at once whose it is.
    connection.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE;")?;
    connection.execute_batch(&stored_schema())?;
    connection.execute_batch("COMMIT; PRAGMA journal_mode = WAL;")?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// The schema as it is stored.
pub(super) fn stored_schema() -> String {
    without_comments(SCHEMA)
}

/// SQL without its comments, and with one blank or line break where there are several.
fn without_comments(sql: &str) -> String {
    let mut kept = String::with_capacity(sql.len());
    let mut quoted = false;
    let mut chars = sql.chars().peekable();
    while let Some(mut next) = chars.next() {
        if !quoted && next == '-' && chars.peek() == Some(&'-') {
            next = chars.by_ref().find(|c| *c == '\n').unwrap_or('\n');
        }
        quoted ^= next == '\'';
        if quoted || !next.is_ascii_whitespace() {
            kept.push(next);
            continue;
        }
        let blank = if next == '\n' { '\n' } else { ' ' };
        match kept.pop() {
            Some(before) if !before.is_ascii_whitespace() => kept.extend([before, blank]),
            Some('\n') => kept.push('\n'),
            Some(_) => kept.push(blank),
            None => {}
        }
    }
    kept
}

/// Creates what is missing of a directory, readable by its owner alone, and makes the new names durable.
fn make_dirs(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent() {
        make_dirs(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => dir.parent().map_or(Ok(()), sync_dir),
    }
}

impl StoreFile {
    /// Creates `FILE.run/` where it is missing, and makes sure that nobody else can put anything into it.
    pub fn make_run_dir(&self) -> Result<PathBuf> {
        let dir = self.run_dir();
        let failed = |error| StoreError::Io(format!("use the run directory {}", dir.display()), error);
        make_dirs(&dir).map_err(failed)?;
        let found = fs::symlink_metadata(&dir).map_err(failed)?;
        let denied = |why: &str| Err(failed(io::Error::new(ErrorKind::PermissionDenied, why.to_owned())));
        if !found.is_dir() {
            return denied("it is no directory, or a link to one");
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return denied("it belongs to another user");
        }
        if found.permissions().mode() & 0o777 != 0o700 {
            fs::set_permissions(&dir, Permissions::from_mode(0o700)).map_err(failed)?;
        }
        Ok(dir)
    }
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_text_in_quotes_stays() {
        let sql = "-- first\n\nCREATE  TABLE t (\n    a TEXT,   -- a word; it's one\n    b TEXT -- 'the' last\n);\n";
        assert_eq!(without_comments(sql), "CREATE TABLE t (\na TEXT,\nb TEXT\n);\n");
        let quoted = "SELECT 'a  -- b''  --', c - -1;\n";
        assert_eq!(without_comments(quoted), quoted);
    }

    #[test]
    fn what_is_stored_is_the_schema_word_by_word() {
        let stored = |schema: &str| {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(schema).unwrap();
            let sql = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY name";
            let mut statement = connection.prepare(sql).unwrap();
            let columns = |row: &rusqlite::Row| (0..4).map(|at| row.get(at)).collect();
            let rows = statement.query_map([], columns).unwrap();
            rows.collect::<rusqlite::Result<Vec<Vec<String>>>>().unwrap()
        };
        // Told apart in another way than above: no line of the schema has two dashes in quotes.
        let words = |sql: &str| -> Vec<String> {
            let code = sql.lines().filter_map(|line| line.split("--").next());
            code.flat_map(str::split_whitespace).map(str::to_owned).collect()
        };
        let (read, kept) = (stored(SCHEMA), stored(&without_comments(SCHEMA)));
        assert_eq!(read.len(), kept.len());
        for (read, kept) in read.iter().zip(&kept) {
            assert_eq!(read[..3], kept[..3]);
            assert_eq!(words(&read[3]), words(&kept[3]));
            assert!(!kept[3].contains("--") && !kept[3].contains("  "), "{}", kept[3]);
        }
    }
}
