//! Where the database lies, and the directories around it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::{Result, StoreError};

/// The longest path: SQLite takes 512 bytes (`MAX_PATHNAME`), less the longest suffix that is appended.
const MAX_PATH_BYTES: usize = 512 - "-journal".len() - ".run/new.db".len() - 1;

/// The endings of the files that SQLite puts beside a database.
pub(super) const BESIDE: [&str; 3] = ["-journal", "-wal", "-shm"];

/// The path of a database: canonical, so that all processes mean the same file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFile {
    path: PathBuf,
}

impl StoreFile {
    /// Follows links, also where the file itself does not exist yet.
    pub fn new(path: &Path) -> Result<Self> {
        let failed = |error| StoreError::Io(format!("find the database {}", path.display()), error);
        if path.as_os_str().as_bytes().ends_with(b"/") {
            let why = "its path ends with a slash, as a folder's does";
            return Err(failed(io::Error::new(ErrorKind::IsADirectory, why)));
        }
        let absolute = std::path::absolute(path).map_err(failed)?;
        let path = canonical(&absolute, 40).map_err(failed)?;
        if path.as_os_str().len() > MAX_PATH_BYTES {
            let why = format!("its path is longer than {MAX_PATH_BYTES} bytes, and SQLite takes no more");
            return Err(failed(io::Error::other(why)));
        }
        Ok(Self { path })
    }

    /// The database itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the database.
    pub(super) fn parent(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// `FILE.run/`: locks, sockets and reports of the workers of this database.
    pub fn run_dir(&self) -> PathBuf {
        self.beside(".run")
    }

    /// The path with a suffix.
    pub fn beside(&self, suffix: &str) -> PathBuf {
        with_suffix(&self.path, suffix)
    }

    /// Is there no file, or an empty one?
    pub(super) fn is_missing(&self) -> Result<bool> {
        match fs::metadata(&self.path) {
            Ok(found) => Ok(found.is_file() && found.len() == 0),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(StoreError::Io(format!("look at the database {}", self.path.display()), error)),
        }
    }

    /// Refuses file systems on which locks do not exclude other machines, or do not work at all. `on` is the database, or
    /// its directory before there is one.
    pub(super) fn refuse_network(&self, on: &Path) -> Result<()> {
        let magic =
            rustix::fs::statfs(on).ok().and_then(|found| u32::try_from(found.f_type & 0xffff_ffff).ok());
        // Magic numbers: statfs(2).
        let kind = match magic {
            Some(0x6969) => "NFS",
            Some(0x517b | 0xff53_4d42 | 0xfe53_4d42) => "SMB",
            Some(0x0102_1997) => "9p",
            _ => return Ok(()),
        };
        Err(StoreError::Network(self.path.clone(), kind))
    }

    /// Creates `FILE.run/` if it is missing, and makes sure that nobody else can put anything into it.
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

/// Resolves links in every part that exists, and in the last part also if it dangles.
fn canonical(path: &Path, links_left: u32) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    if let Ok(target) = fs::read_link(path) {
        let next = path.parent().unwrap_or(Path::new("/")).join(target);
        return match links_left {
            0 => Err(io::Error::other("too many links")),
            left => canonical(&next, left - 1),
        };
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(canonical(parent, links_left)?.join(name)),
        _ => Ok(path.to_owned()),
    }
}

/// Creates the missing parts of a directory, readable by its owner alone, and makes the new names durable.
pub(super) fn make_dirs(dir: &Path) -> io::Result<()> {
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

/// A path with a suffix to its last part.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The database to use: `--db`, else `$RUNNER_DB`, else `$XDG_STATE_HOME/runner/runner.db`, by default under
/// `~/.local/state`. None if not even a home is known. Empty variables count as unset.
pub fn locate(explicit: Option<&Path>, env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let var = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // The base directory specification: a relative path in these variables is to be ignored.
    let absolute = |name| var(name).filter(|path| path.is_absolute());
    explicit.map(Path::to_owned).or_else(|| var("RUNNER_DB")).or_else(|| {
        absolute("XDG_STATE_HOME")
            .or_else(|| Some(absolute("HOME")?.join(".local/state")))
            .map(|state| state.join("runner/runner.db"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_setting_wins() {
        let found = |explicit: Option<&str>, vars: &[(&str, &str)]| {
            let env = |name: &str| {
                vars.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            };
            locate(explicit.map(Path::new), &env).map(|path| path.display().to_string())
        };
        let all = [("RUNNER_DB", "e.db"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(found(Some("o.db"), &all).unwrap(), "o.db");
        assert_eq!(found(None, &all).unwrap(), "e.db");
        assert_eq!(found(None, &all[1..]).unwrap(), "/x/runner/runner.db");
        assert_eq!(found(None, &all[2..]).unwrap(), "/h/.local/state/runner/runner.db");
        let relative = [("RUNNER_DB", ""), ("XDG_STATE_HOME", "x"), ("HOME", "/h")];
        assert_eq!(found(None, &relative).unwrap(), "/h/.local/state/runner/runner.db");
        assert_eq!(found(None, &[]), None);
    }

    #[test]
    fn a_dangling_link_names_the_file_that_it_points_to() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        std::os::unix::fs::symlink("target.db", real.join("link.db")).unwrap();
        let file = StoreFile::new(&real.join("link.db")).unwrap();
        assert_eq!(file.path(), real.join("target.db"));
        assert_eq!(file.run_dir(), real.join("target.db.run"));
    }
}
