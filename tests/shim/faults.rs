//! The call that fails in this process, if any.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libc::{c_int, c_long};

use crate::config::{config, variable};
use crate::kernel;

/// Which call fails, and how.
struct Fault {
    kind: String,
    at: u64,
    for_ever: bool,
    act: Act,
    met: AtomicU64,
    told: AtomicBool,
}

/// The fate of a call.
#[derive(Clone, Copy)]
enum Act {
    /// It does nothing and fails.
    Fail(c_int),
    /// It does what it is asked, and says that it failed.
    After(c_int),
    /// It does half of it, and says so.
    Short,
    /// It does what it is asked, and is counted.
    Count,
}

impl Fault {
    fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let words: Vec<&str> = text.split(':').collect();
        let [kind, at, how_often, errno, act] = words[..] else { return None };
        let errno = errno.parse().ok()?;
        let act = match act {
            "fail" => Act::Fail(errno),
            "after" => Act::After(errno),
            "count" => Act::Count,
            _ => Act::Short,
        };
        Some(Self {
            kind: kind.to_owned(),
            at: at.parse().ok()?,
            for_ever: how_often == "ever",
            act,
            met: AtomicU64::new(0),
            told: AtomicBool::new(false),
        })
    }

    fn is_met(&self) -> bool {
        let number = self.met.fetch_add(1, Ordering::Relaxed) + 1;
        let met = number == self.at || (self.for_ever && number > self.at);
        if met && !self.told.swap(true, Ordering::Relaxed) {
            append_hit(b"!");
        }
        met
    }
}

/// The fault of this process, if it has one.
fn fault() -> Option<&'static Fault> {
    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    let read = || variable(c"SHIM_FAULT").filter(|_| config().acts).and_then(|text| Fault::parse(&text));
    FAULT.get_or_init(read).as_ref()
}

/// Whether any call can fail in this process.
pub fn is_any() -> bool {
    fault().is_some()
}

/// The fate of this call; none if it is not its turn to fail.
fn due(kind: &str) -> Option<Act> {
    let fault = fault()?;
    if let Act::Count = fault.act {
        append_hit(format!("{kind}\n").as_bytes());
        return None;
    }
    (fault.kind == kind && fault.is_met()).then_some(fault.act)
}

fn append_hit(text: &[u8]) {
    if let Some(fd) = variable(c"SHIM_HITS").and_then(|path| kernel::open_to_append(&path)) {
        kernel::write_all(fd, text);
        // SAFETY: it was opened just now.
        unsafe { libc::syscall(libc::SYS_close, fd) };
    }
}

/// Makes a call that reports failure by -1, under the fault that is due.
pub fn under(kind: &str, call: impl FnOnce() -> c_long) -> c_long {
    match due(kind) {
        Some(Act::Fail(errno)) => kernel::fail(errno),
        Some(Act::After(errno)) => {
            call();
            kernel::fail(errno)
        }
        Some(Act::Short | Act::Count) | None => call(),
    }
}

/// The same for a call that gives its error number.
pub fn under_coded(kind: &str, call: impl FnOnce() -> c_int) -> c_int {
    match due(kind) {
        Some(Act::Fail(errno) | Act::After(errno)) => errno,
        Some(Act::Short | Act::Count) | None => call(),
    }
}

/// The same for a call that moves a number of bytes and may move fewer.
pub fn under_partial(kind: &str, count: usize, call: impl FnOnce(usize) -> c_long) -> c_long {
    match due(kind) {
        Some(Act::Fail(errno)) => kernel::fail(errno),
        Some(Act::After(errno)) => {
            call(count);
            kernel::fail(errno)
        }
        Some(Act::Short) => call(count.div_ceil(2)),
        Some(Act::Count) | None => call(count),
    }
}
