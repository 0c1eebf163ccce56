//! Reads the files of variables that a definition names (`env_file`), at each start. What their lines mean is up to the
//! model.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use crate::model::{Bytes, EnvFile};

/// More than any environment can hold: the kernel allows 6 MiB for arguments and variables together.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// A file of variables that cannot be used.
#[derive(Debug)]
pub struct EnvFileError {
    /// Names the file, and quotes nothing of its contents.
    pub message: String,
    /// The error of the system, if the file could not be opened or read.
    pub error: Option<io::Error>,
}

/// Reads the variables of one file; none if an optional file is missing. Follows links, and never waits for the writer of a
/// FIFO.
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
    let how = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = match open(path, how, Mode::empty()) {
        // A socket cannot be opened.
        Err(Errno::NXIO) => return Ok(Err("it is not a regular file".to_owned())),
        other => other?,
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Ok(Err("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::from(file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Ok(Err("it has more than 8 MiB".to_owned()));
    }
    Ok(String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned()))
}
