//! The time zone of the machine, read only from what can be the file of a zone.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use jiff::tz::TimeZone;

/// The file that the C library reads where `$TZ` is not set. Without it the machine's zone is UTC.
pub const LOCALTIME: &str = "/etc/localtime";

/// No zone's file is as long as this.
const MAX_FILE: u64 = 1 << 20;

/// The zone by whose clocks people here read times: that of the machine, or UTC if it cannot be read.
pub fn clocks_of_machine() -> TimeZone {
    system_zone().unwrap_or(TimeZone::UTC)
}

/// The zone of `$TZ`, else the system's. The library would read whatever a path leads to, and wait for ever at a FIFO.
pub fn system_zone() -> Option<TimeZone> {
    static IS_SAFE: LazyLock<bool> = LazyLock::new(|| {
        let named = std::env::var_os("TZ").unwrap_or_else(|| OsString::from(LOCALTIME));
        let named = named.to_string_lossy();
        let path = named.strip_prefix(':').unwrap_or(&named);
        let is_read = || TimeZone::get(path).is_err() && TimeZone::posix(path).is_err();
        may_be_read(Path::new(path)) || !is_read()
    });
    if *IS_SAFE { TimeZone::try_system().ok() } else { None }
}

/// Whether this is a small file, or nothing at all.
pub fn may_be_read(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |found| found.is_file() && found.len() <= MAX_FILE)
}
