//! Which calls may fail, and how.

/// A way in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// This call alone, or all from it on.
    pub for_ever: bool,
    errno: i32,
    act: &'static str,
}

/// The call that fails: the n-th of its kind in the process.
#[derive(Clone, Debug)]
pub struct Point {
    pub kind: &'static str,
    pub number: u64,
    pub mode: Mode,
}

impl Point {
    /// What the shim is told.
    pub fn spec(&self) -> String {
        let Mode { for_ever, errno, act } = self.mode;
        let how_often = if for_ever { "ever" } else { "once" };
        format!("{}:{}:{how_often}:{errno}:{act}", self.kind, self.number)
    }
}

const fn once(errno: i32) -> Mode {
    Mode { for_ever: false, errno, act: "fail" }
}

const fn ever(errno: i32) -> Mode {
    Mode { for_ever: true, errno, act: "fail" }
}

/// It is done, and said to have failed.
const fn after(errno: i32) -> Mode {
    Mode { for_ever: false, errno, act: "after" }
}

/// Half of it is done, and said to be.
const SHORT: Mode = Mode { for_ever: false, errno: 0, act: "short" };

/// Kinds of calls, as the shim has them, and the ways in which each fails.
///
/// What is read of `/proc` has kinds of its own: how often that is done depends on how many processes there are.
pub const KINDS: [(&str, &[Mode]); 24] = [
    ("pwrite", &[once(ENOSPC), once(EIO), ever(ENOSPC), ever(EIO), after(EIO), SHORT]),
    ("write", &[once(ENOSPC), once(EIO), ever(ENOSPC), SHORT]),
    ("stdout", &[once(ENOSPC), once(EIO), ever(ENOSPC), once(EPIPE), SHORT]),
    ("fsync", &[once(EIO), once(ENOSPC), ever(EIO), after(EIO)]),
    ("open", &[once(EMFILE), once(EACCES), once(EIO), ever(EMFILE), ever(ENOSPC)]),
    ("truncate", &[once(EIO), ever(ENOSPC)]),
    ("mkdir", &[once(ENOSPC), once(EACCES), after(EIO)]),
    ("rename", &[once(EIO), once(ENOSPC), after(EIO)]),
    ("link", &[once(EIO), once(EPERM), after(EIO)]),
    ("unlink", &[once(EIO), once(EACCES), ever(EIO)]),
    ("spawn", &[once(EAGAIN), once(ENOMEM), ever(EAGAIN), once(EPERM)]),
    ("fork", &[once(EAGAIN), ever(ENOMEM)]),
    ("thread", &[once(EAGAIN), ever(EAGAIN)]),
    ("mmap", &[once(ENOMEM), ever(ENOMEM)]),
    ("pipe", &[once(EMFILE), ever(EMFILE)]),
    ("socket", &[once(EMFILE), ever(EMFILE)]),
    ("pair", &[once(EMFILE), ever(EMFILE)]),
    ("bind", &[once(EACCES), once(ENOSPC)]),
    ("lock", &[once(ENOLCK), ever(EIO)]),
    ("poller", &[once(EMFILE), ever(EMFILE)]),
    ("read", &[once(EIO), ever(EIO), SHORT]),
    ("pread", &[once(EIO), ever(EIO), SHORT]),
    ("proc-open", &[once(EMFILE), ever(EMFILE)]),
    ("proc-read", &[once(EIO), ever(EIO)]),
];

use libc::{EACCES, EAGAIN, EIO, EMFILE, ENOLCK, ENOMEM, ENOSPC, EPERM, EPIPE};

/// All points of a scene in which so many calls of each kind are made.
pub fn all(count: impl Fn(&str) -> u64) -> Vec<Point> {
    let mut points = Vec::new();
    for (kind, modes) in KINDS {
        // What is alike is drawn upon; a lock that cannot be had is waited for, and that takes its time.
        let some = kind.starts_with("proc-") || kind == "lock";
        let every = if some { count(kind).div_ceil(16).max(1) } else { 1 };
        // A worker tries itself whether it can have a pair of sockets, for the runtime panics where there is none.
        let last = if kind == "pair" { count(kind).min(1) } else { count(kind) };
        for number in (1..=last).step_by(usize::try_from(every).unwrap_or(usize::MAX)) {
            points.extend(modes.iter().map(|mode| Point { kind, number, mode: *mode }));
        }
    }
    points
}
