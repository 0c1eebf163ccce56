//! From the disk to the text of a job file.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use super::locate::FILE_NAME;
use super::mistake::{Found, Mistakes};

/// Why there is no job file to work with.
#[derive(Debug)]
pub enum JobFileError {
    /// The file that was named is not there.
    NotFound {
        /// Where it would be.
        path: PathBuf,
    },
    /// No file was named, and none was found.
    Nowhere {
        /// The directory where the search began.
        upwards_from: PathBuf,
        /// The file of the user that was looked for last.
        of_user: Option<PathBuf>,
    },
    /// It could not be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It was read, and says something that cannot be.
    Mistakes(Mistakes),
}

impl From<Mistakes> for JobFileError {
    fn from(mistakes: Mistakes) -> Self {
        Self::Mistakes(mistakes)
    }
}

impl std::error::Error for JobFileError {}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { path } => write!(
                f,
                "there is no job file {}\nhint: check the path, or write a job file with `runner init`",
                path.display()
            ),
            Self::Nowhere { upwards_from, of_user } => {
                write!(
                    f,
                    "there is no job file: looked for {FILE_NAME} in {} and every directory above it",
                    upwards_from.display()
                )?;
                if let Some(path) = of_user {
                    write!(f, ", and for {}", path.display())?;
                }
                f.write_str(
                    "\nhint: `runner init` writes one here; `--file PATH` or $RUNNER_FILE names another",
                )
            }
            Self::Unreadable { path, error } => write!(
                f,
                "cannot read the job file {}: {error}\nhint: make it a file that you may read, or name another with `--file PATH`",
                path.display()
            ),
            Self::Mistakes(mistakes) => write!(f, "the job file cannot be used\n\n{mistakes}"),
        }
    }
}

/// The text of the file at `path`, which is absolute.
pub(super) fn text_of(path: &Path) -> Result<String, JobFileError> {
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => JobFileError::NotFound { path: path.to_owned() },
        _ => JobFileError::Unreadable { path: path.to_owned(), error },
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let start = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        let mut found = Found::default();
        found
            .add(&(start..start + '\u{fffd}'.len_utf8()), "the file is not UTF-8 text")
            .hint("save it as UTF-8, without a byte order mark");
        Mistakes::new(path, &text, found).into()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::jobfile::JobFile;

    /// What a person is told who names `name`, in a folder where `jobs.toml` holds `bytes`.
    fn told(name: &str, bytes: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("jobs.toml"), bytes).unwrap();
        let error = JobFile::read(&dir.path().join(name)).unwrap_err();
        let dir = dir.path().display().to_string();
        error.to_string().replace(&dir, "DIR")
    }

    #[test]
    fn a_file_that_is_not_there() {
        insta::assert_snapshot!(told("job.toml", b""), @r"
        there is no job file DIR/job.toml
        hint: check the path, or write a job file with `runner init`
        ");
    }

    #[test]
    fn what_is_no_file() {
        insta::assert_snapshot!(told("", b""), @r"
        cannot read the job file DIR/: Is a directory (os error 21)
        hint: make it a file that you may read, or name another with `--file PATH`
        ");
    }

    #[test]
    fn what_is_no_text() {
        insta::assert_snapshot!(told("jobs.toml", b"[jobs.a]\ncommand = 'caf\xe9'\n"), @r"
        error: the file is not UTF-8 text
         --> DIR/jobs.toml:2:15
          |
        2 | command = 'caf�'
          |               ^
          = hint: save it as UTF-8, without a byte order mark

        DIR/jobs.toml: 1 mistake
        ");
    }
}
