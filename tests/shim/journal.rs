//! The journal: one record an act, one write a record, all processes under one lock.
//!
//! A record: its length after these four bytes, the letter of the act, the process, the inode, a number, then two texts
//! with their lengths before them; all numbers little-endian.

use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::c_int;

use crate::config::Config;
use crate::kernel;

pub struct Journal {
    fd: c_int,
    threads: Mutex<()>,
}

/// The right to act and to record; others wait.
pub struct Turn<'a> {
    fd: c_int,
    _thread: MutexGuard<'a, ()>,
}

impl Journal {
    pub fn open(path: &[u8]) -> Option<Self> {
        Some(Self { fd: kernel::open_to_append(path)?, threads: Mutex::new(()) })
    }

    /// Waits for its turn, among the threads of this process and among the processes.
    pub fn turn(&self) -> Turn<'_> {
        let thread = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the call takes numbers only.
        while unsafe { libc::syscall(libc::SYS_flock, self.fd, libc::LOCK_EX) } != 0 {}
        Turn { fd: self.fd, _thread: thread }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // SAFETY: the call takes numbers only.
        unsafe { libc::syscall(libc::SYS_flock, self.fd, libc::LOCK_UN) };
    }
}

impl Turn<'_> {
    /// Records an act, and leaves `errno` as the act has set it.
    pub fn record(&self, act: u8, inode: u64, number: u64, path: &[u8], data: &[u8]) {
        // SAFETY: the C library gives the address of this thread's errno.
        let errno = unsafe { *libc::__errno_location() };
        let mut record = vec![0; 4];
        record.push(act);
        record.extend(std::process::id().to_le_bytes());
        record.extend(inode.to_le_bytes());
        record.extend(number.to_le_bytes());
        for text in [path, data] {
            record.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
            record.extend(text);
        }
        let length = u32::try_from(record.len() - 4).unwrap_or(0);
        record[..4].copy_from_slice(&length.to_le_bytes());
        kernel::write_all(self.fd, &record);
        kernel::set_errno(errno);
    }
}

/// Records that this process is there, and what it was called for.
pub fn began(config: &Config) {
    let (Some(journal), Some(words)) = (config.recording(), command_line()) else { return };
    journal.turn().record(b'B', 0, 0, b"", &words);
}

/// The arguments of this process, each closed by a NUL.
fn command_line() -> Option<Vec<u8>> {
    let path = c"/proc/self/cmdline";
    // SAFETY: the path is closed by a NUL; the buffer has the length that is said; a descriptor is closed that was opened.
    unsafe {
        let fd =
            libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let mut words = vec![0_u8; 65_536];
        let length = libc::syscall(libc::SYS_read, fd, words.as_mut_ptr(), words.len());
        libc::syscall(libc::SYS_close, fd);
        words.truncate(usize::try_from(length).ok()?);
        Some(words)
    }
}
