//! What was captured for a job, as a file that one attempt reads.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A file without a name that holds these bytes, open for reading at its start. `path` is used for a moment.
pub(super) fn file_with(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut writer = File::options().create_new(true).write(true).mode(0o600).open(path)?;
    let reader = File::open(path);
    // Without a name it is gone with the attempt, however that ends.
    fs::remove_file(path)?;
    writer.write_all(bytes)?;
    reader
}
