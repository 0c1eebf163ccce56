//! The orders of the shim in this process, looked up once, and the journal that it writes: one record an act, one write a record,
//! all processes under one lock.
//!
//! A record: its length after these four bytes, the letter of the act, the process, the inode, a number, then two texts
//! with their lengths before them. All numbers are little-endian.

use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libc::c_int;

use crate::kernel;

pub struct Config {
    /// This is the program to act in.
    pub acts: bool,
    root: Option<Vec<u8>>,
    side: Option<Vec<u8>>,
    pub journal: Option<Journal>,
}

/// The configuration of this process.
pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    static BEGUN: OnceLock<()> = OnceLock::new();
    let config = CONFIG.get_or_init(Config::from_env);
    if config.acts && config.journal.is_some() {
        // Once, what the process was called for: what it prints is understood by that.
        BEGUN.get_or_init(|| began(config));
    }
    config
}

pub fn variable(name: &CStr) -> Option<Vec<u8>> {
    // SAFETY: the name is closed by a NUL, and nothing changes the environment of the programs that this is loaded into.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a value of the environment is closed by a NUL.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes().to_vec())
}

impl Config {
    fn from_env() -> Self {
        let acts = variable(c"SHIM_EXE").is_some_and(|exe| kernel::link(c"/proc/self/exe") == Some(exe));
        Self {
            acts,
            root: variable(c"SHIM_ROOT").filter(|_| acts),
            side: variable(c"SHIM_SIDE"),
            journal: variable(c"SHIM_JOURNAL").and_then(|path| Journal::open(&path)),
        }
    }

    /// The journal, where something is recorded of what this process does to files.
    pub fn recording(&self) -> Option<&Journal> {
        self.journal.as_ref().filter(|_| self.root.is_some())
    }

    /// Whether this is the folder that is recorded, or below it.
    pub fn is_watched(&self, path: &[u8]) -> bool {
        let below = |root: &Vec<u8>| {
            path.strip_prefix(root.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.root.as_ref().is_some_and(below)
    }

    /// The path behind a descriptor, if it is below the folder that is recorded.
    pub fn watched(&self, fd: i32) -> Option<Vec<u8>> {
        self.root.as_ref()?;
        kernel::path_of(fd).filter(|path| self.is_watched(path))
    }

    /// Whether this is the file to which jobs append.
    pub fn is_side(&self, fd: i32) -> bool {
        self.journal.is_some() && self.side.is_some() && kernel::path_of(fd) == self.side
    }
}

pub struct Journal {
    fd: c_int,
    threads: Mutex<()>,
}

/// The right to act and to record. Other threads and processes wait for theirs.
pub struct Turn<'a> {
    fd: c_int,
    _thread: MutexGuard<'a, ()>,
}

impl Journal {
    fn open(path: &[u8]) -> Option<Self> {
        Some(Self { fd: kernel::open_to_append(path)?, threads: Mutex::new(()) })
    }

    /// Waits for a turn, among the threads of this process and among the processes.
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

/// Records that this process has begun, and what it was called for.
fn began(config: &Config) {
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
