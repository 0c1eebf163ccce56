//! Reads a job file at the path that a database names. Somebody else may have written the database, and may have chosen the path
//! to do harm to whoever looks: a pipe waits for ever, a device acts when it is opened, a file of the kernel can do both, and a
//! long file takes its time.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, fstatfs, open};

/// Nobody writes a longer job file.
const MAX_BYTES: u64 = 16 << 20;

/// The file systems in which the kernel answers for the files, by the numbers of statfs(2).
const OF_THE_KERNEL: [u32; 14] = [
    0x0000_9fa0, // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6165_676c, // pstore
    0xcafe_4a11, // bpf
    0xf97c_ff8c, // selinuxfs
    0xde5e_81e4, // efivarfs
    0x4249_4e4d, // binfmt_misc
    0x6573_5543, // fusectl
];

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

impl From<rustix::io::Errno> for NoText {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// Reads the file, if it is a regular one of at most 16 MiB on a file system of its own.
pub(super) fn read(path: &Path) -> Result<String, NoText> {
    // This only finds the file, and does not open it.
    let found = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let about = fstat(&found)?;
    let magic = u32::try_from(fstatfs(&found)?.f_type & 0xffff_ffff);
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Err(NoText::NotRead("it is not a regular file"));
    }
    if magic.is_ok_and(|magic| OF_THE_KERNEL.contains(&magic)) {
        return Err(NoText::NotRead("it is a file of the kernel"));
    }
    if u64::try_from(about.st_size).is_ok_and(|bytes| bytes > MAX_BYTES) {
        return Err(NoText::NotRead("it is longer than 16 MiB"));
    }
    // By this name it is the file that was found, whatever lies at its path now.
    let same = format!("/proc/self/fd/{}", found.as_fd().as_raw_fd());
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(same)?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
