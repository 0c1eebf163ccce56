//! Reads a job file at the path that a database names. Somebody else may have written the database, and may have chosen the
//! path to do harm to whoever looks.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::paths::open_named_file;

/// Nobody writes a longer job file.
const MAX_BYTES: u64 = 16 << 20;

/// Why there is no text.
#[derive(Debug)]
pub(super) enum NoText {
    Gone,
    /// It was not opened, because of what it is.
    NotRead(&'static str),
    Unreadable,
}

impl From<io::Error> for NoText {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::NotFound { Self::Gone } else { Self::Unreadable }
    }
}

/// Reads the file, if it is a regular one of at most 16 MiB on a file system of its own.
pub(super) fn read(path: &Path) -> Result<String, NoText> {
    let file = open_named_file(path)?.map_err(NoText::NotRead)?;
    if file.metadata()?.len() > MAX_BYTES {
        return Err(NoText::NotRead("it is longer than 16 MiB"));
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
