//! Which calls may fail, and how.

use libc::{EACCES, EAGAIN, EIO, EMFILE, ENOLCK, ENOMEM, ENOSPC, EPERM, EPIPE};

/// How a call fails.
#[derive(Clone, Copy)]
pub enum Mode {
    /// This call alone.
    Once(i32),
    /// All calls from this one on.
    Ever(i32),
    /// The call is done, and said to have failed.
    After(i32),
    /// Half of it is done, and said to be.
    Short,
}

use Mode::{After, Ever, Once, Short};

/// Kinds of calls, as the shim has them, and the ways in which each fails.
///
/// Calls that read `/proc` have kinds of their own: how often they are made depends on how many processes there are.
const KINDS: [(&str, &[Mode]); 24] = [
    ("pwrite", &[Once(ENOSPC), Once(EIO), Ever(ENOSPC), Ever(EIO), After(EIO), Short]),
    ("write", &[Once(ENOSPC), Once(EIO), Ever(ENOSPC), Short]),
    ("stdout", &[Once(ENOSPC), Once(EIO), Ever(ENOSPC), Once(EPIPE), Short]),
    ("fsync", &[Once(EIO), Once(ENOSPC), Ever(EIO), After(EIO)]),
    ("open", &[Once(EMFILE), Once(EACCES), Once(EIO), Ever(EMFILE), Ever(ENOSPC)]),
    ("truncate", &[Once(EIO), Ever(ENOSPC)]),
    ("mkdir", &[Once(ENOSPC), Once(EACCES), After(EIO)]),
    ("rename", &[Once(EIO), Once(ENOSPC), After(EIO)]),
    ("link", &[Once(EIO), Once(EPERM), After(EIO)]),
    ("unlink", &[Once(EIO), Once(EACCES), Ever(EIO)]),
    ("spawn", &[Once(EAGAIN), Once(ENOMEM), Ever(EAGAIN), Once(EPERM)]),
    ("fork", &[Once(EAGAIN), Ever(ENOMEM)]),
    ("thread", &[Once(EAGAIN), Ever(EAGAIN)]),
    ("mmap", &[Once(ENOMEM), Ever(ENOMEM)]),
    ("pipe", &[Once(EMFILE), Ever(EMFILE)]),
    ("socket", &[Once(EMFILE), Ever(EMFILE)]),
    ("pair", &[Once(EMFILE), Ever(EMFILE)]),
    ("bind", &[Once(EACCES), Once(ENOSPC)]),
    ("lock", &[Once(ENOLCK), Ever(EIO)]),
    ("poller", &[Once(EMFILE), Ever(EMFILE)]),
    ("read", &[Once(EIO), Ever(EIO), Short]),
    ("pread", &[Once(EIO), Ever(EIO), Short]),
    ("proc-open", &[Once(EMFILE), Ever(EMFILE)]),
    ("proc-read", &[Once(EIO), Ever(EIO)]),
];

/// All faults of a scene in which so many calls of each kind are made, as the shim is told: the n-th call of a kind fails.
pub fn all(count: impl Fn(&str) -> usize) -> Vec<String> {
    let mut faults = Vec::new();
    for (kind, modes) in KINDS {
        // Calls that are alike are drawn from; a lock that cannot be had is waited for, and that takes its time.
        let some = kind.starts_with("proc-") || kind == "lock";
        let every = if some { count(kind).div_ceil(16).max(1) } else { 1 };
        // A worker tries itself whether it can have a pair of sockets, for the runtime panics where there is none.
        let last = if kind == "pair" { count(kind).min(1) } else { count(kind) };
        for number in (1..=last).step_by(every) {
            faults.extend(modes.iter().map(|mode| match mode {
                Once(errno) => format!("{kind}:{number}:once:{errno}:fail"),
                Ever(errno) => format!("{kind}:{number}:ever:{errno}:fail"),
                After(errno) => format!("{kind}:{number}:once:{errno}:after"),
                Short => format!("{kind}:{number}:once:0:short"),
            }));
        }
    }
    faults
}
