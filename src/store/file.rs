//! Where the database lies, and what lies beside it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Result, StoreError};

/// The longest path in bytes: 512 is what SQLite takes (`MAX_PATHNAME`), less what the longest name beside it adds.
const LONGEST: usize = 512 - "-journal".len() - ".run/new.db".len() - 1;

/// The path of a database: canonical, so that everybody means the same file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFile {
    path: PathBuf,
}

impl StoreFile {
    /// The database of this path. Links are followed, also where the file itself does not exist yet.
    pub fn new(path: &Path) -> Result<Self> {
        let what = || format!("find the database {}", path.display());
        if path.as_os_str().as_bytes().ends_with(b"/") {
            let error =
                io::Error::new(ErrorKind::IsADirectory, "its path ends with a slash, as a folder's does");
            return Err(StoreError::Io(what(), error));
        }
        let absolute = std::path::absolute(path).map_err(|e| StoreError::Io(what(), e))?;
        let path = canonical(&absolute, 40).map_err(|error| StoreError::Io(what(), error))?;
        if path.as_os_str().len() > LONGEST {
            let error = io::Error::other(format!(
                "its path is longer than {LONGEST} bytes, and SQLite takes no more"
            ));
            return Err(StoreError::Io(what(), error));
        }
        Ok(Self { path })
    }

    /// The database itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `FILE.run/`: locks, sockets and reports of the workers of this database.
    pub fn run_dir(&self) -> PathBuf {
        self.beside(".run")
    }

    /// The path with something appended to its name.
    pub fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(self.path.as_os_str());
        name.push(suffix);
        PathBuf::from(name)
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

/// The database to use: `--db`, else `$RUNNER_DB`, else `$XDG_STATE_HOME/runner/runner.db`, by default under
/// `~/.local/state`. None where not even a home is known. Empty variables count as unset.
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
    fn the_nearest_place_wins() {
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
    fn a_dangling_link_names_the_file_it_points_to() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        std::os::unix::fs::symlink("target.db", real.join("link.db")).unwrap();
        let file = StoreFile::new(&real.join("link.db")).unwrap();
        assert_eq!(file.path(), real.join("target.db"));
        assert_eq!(file.run_dir(), real.join("target.db.run"));
    }
}
