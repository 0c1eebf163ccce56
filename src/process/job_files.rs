//! Reads the two files that others write for an attempt, and trusts neither: the variables of `env_file`, before the command
//! starts, and the job's report about itself, `$RUNNER_REPORT`, after its end. The model reads their lines.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::model::{Bytes, EnvFile, SelfReport};
use crate::paths::open_named_file;

/// More than any environment can hold: the kernel allows 6 MiB for arguments and variables together.
const MAX_ENV_BYTES: usize = 8 << 20;
const MAX_REPORT_BYTES: usize = 1 << 20;

/// A file of variables that cannot be used.
#[derive(Debug)]
pub struct EnvFileError {
    /// Names the file, and quotes nothing of its contents.
    pub message: String,
    /// The error of the system, if the file could not be opened or read.
    pub error: Option<io::Error>,
}

/// Reads the variables of one file; none if an optional file is missing. Follows links.
pub fn read_env_file(file: &EnvFile) -> Result<Vec<(Bytes, Bytes)>, EnvFileError> {
    let path = Path::new(file.path.as_os_str());
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) if file.optional && error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let message = format!("cannot read the env_file {}: {error}", path.display());
            return Err(EnvFileError { message, error: Some(error) });
        }
    };
    let unusable = |why: String| {
        let message = format!("cannot use the env_file {}: {why}", path.display());
        EnvFileError { message, error: None }
    };
    let text = text.map_err(unusable)?;
    let variables = EnvFile::parse(&text).map_err(unusable)?;
    Ok(variables.into_iter().map(|(name, value)| (Bytes::from(name), Bytes(value.into_bytes()))).collect())
}

/// The text of this file, or why it cannot be one of variables.
fn read_text(path: &Path) -> io::Result<Result<String, String>> {
    let file = match open_named_file(path)? {
        Ok(file) => file,
        Err(what) => return Ok(Err(what.to_owned())),
    };
    let bytes = read_up_to(file, MAX_ENV_BYTES)?;
    if bytes.len() > MAX_ENV_BYTES {
        return Ok(Err("it has more than 8 MiB".to_owned()));
    }
    Ok(String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned()))
}

/// The content of a file, up to one byte more than the limit.
fn read_up_to(file: File, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the report and removes the file. Most jobs write none.
pub(super) fn take_report(path: &Path) -> SelfReport {
    let report = match read_report(path) {
        Ok(None) => return SelfReport::default(),
        Ok(Some(report)) => report,
        Err(why) => SelfReport { notes: vec![format!("report: {why}")], ..SelfReport::default() },
    };
    if std::fs::remove_file(path).is_err() {
        // Only an empty directory goes, because the contents of a full one belong to the job.
        let _ = std::fs::remove_dir(path);
    }
    report
}

/// Reads the report; none without a file. The error says why the file is ignored.
fn read_report(path: &Path) -> Result<Option<SelfReport>, String> {
    let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let not_regular = || Err("not a regular file; it is ignored".to_owned());
    let unreadable = |error| format!("cannot be read: {error}");
    let file = match open(path, how, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err("a symbolic link; it is ignored".to_owned()),
        // A socket cannot be opened.
        Err(Errno::NXIO) => return not_regular(),
        Err(error) => return Err(unreadable(error.into())),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return not_regular();
    }
    let mut bytes = read_up_to(file, MAX_REPORT_BYTES).map_err(unreadable)?;
    let is_cut = bytes.len() > MAX_REPORT_BYTES;
    if is_cut {
        bytes.truncate(MAX_REPORT_BYTES);
        let whole_lines = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(whole_lines.map_or(0, |last| last + 1));
    }
    let mut report = SelfReport::parse(&bytes);
    if is_cut {
        report.notes.push("report: longer than 1 MiB; the rest is ignored".to_owned());
    }
    Ok(Some(report))
}
