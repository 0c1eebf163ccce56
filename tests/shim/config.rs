//! What it is to do in this process, looked up once.

use std::ffi::CStr;
use std::sync::OnceLock;

use crate::faults::Fault;
use crate::journal::{self, Journal};
use crate::kernel;

pub struct Config {
    /// This is the program to act in.
    pub acts: bool,
    root: Option<Vec<u8>>,
    side: Option<Vec<u8>>,
    pub journal: Option<Journal>,
    pub fault: Option<Fault>,
}

/// The configuration of this process.
pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    static BEGUN: OnceLock<()> = OnceLock::new();
    let config = CONFIG.get_or_init(Config::from_env);
    if config.acts && config.journal.is_some() {
        // Who it is, once: what a process prints is understood by what it was called for.
        BEGUN.get_or_init(|| journal::began(config));
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
            fault: variable(c"SHIM_FAULT").filter(|_| acts).and_then(|text| Fault::parse(&text)),
        }
    }

    /// The journal, where something is recorded of what this process does to files.
    pub fn recording(&self) -> Option<&Journal> {
        self.journal.as_ref().filter(|_| self.root.is_some())
    }

    /// Is this the folder that is recorded, or below it?
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

    /// Is this the file to which jobs append?
    pub fn is_side(&self, fd: i32) -> bool {
        self.journal.is_some() && self.side.is_some() && kernel::path_of(fd) == self.side
    }
}

/// For the start of the hits file.
pub fn hits_file() -> Option<Vec<u8>> {
    variable(c"SHIM_HITS")
}
