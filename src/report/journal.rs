//! Lines for the journal of systemd: it has its own times, and takes a priority from the start of a line.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use super::EventKind;
use crate::model::JobState;

/// Does this stream lead to the journal? `$JOURNAL_STREAM` is the device and inode of the stream that does.
pub fn leads_to_journal(stream: impl AsFd, journal_stream: Option<&OsStr>) -> bool {
    let named = journal_stream.and_then(OsStr::to_str).and_then(|text| text.split_once(':'));
    let Some((device, inode)) = named else { return false };
    rustix::fs::fstat(stream)
        .is_ok_and(|found| device == found.st_dev.to_string() && inode == found.st_ino.to_string())
}

/// The prefix of a line, `sd-daemon(3)`: 3 an error, 4 a warning, 5 worth a look, 6 as it should be.
pub(super) const fn priority(what: &EventKind) -> &'static str {
    match what {
        EventKind::AttemptEnded { attempt, .. } => match attempt.next_state {
            JobState::Dead => "<3>",
            JobState::Pending | JobState::Running => "<5>",
            JobState::Succeeded | JobState::Cancelled => "<6>",
        },
        EventKind::JobExpired { .. } => "<3>",
        EventKind::AttemptLost { .. } | EventKind::Notice(_) => "<4>",
        EventKind::WorkerStopping { .. } => "<5>",
        EventKind::WorkerStarted { .. }
        | EventKind::JobStarted { .. }
        | EventKind::JobCancelled { .. }
        | EventKind::WorkerStopped { .. } => "<6>",
    }
}
