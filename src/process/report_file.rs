//! Reads a job's report about itself, `$RUNNER_REPORT`, without trusting the file. Its lines are read by the model.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use crate::model::SelfReport;

const MAX_REPORT_BYTES: usize = 1 << 20;

/// Reads the report and removes the file. Most jobs write none.
pub(super) fn take(path: &Path) -> SelfReport {
    let taken = read(path);
    let report = match taken {
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
fn read(path: &Path) -> Result<Option<SelfReport>, String> {
    // Do not follow a link, and do not wait for the writer of a FIFO.
    let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = match open(path, how, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err("a symbolic link; it is ignored".to_owned()),
        Err(error) => return Err(format!("cannot be read: {}", io::Error::from(error))),
    };
    let kind = fstat(&file).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if kind != Ok(FileType::RegularFile) {
        return Err("not a regular file; it is ignored".to_owned());
    }
    let mut bytes = Vec::new();
    File::from(file)
        .take(MAX_REPORT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
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
