//! Was standard output closed when the program was started (`>&-`)?
//!
//! Before `main` the standard library opens `/dev/null` in the place of a standard descriptor that is closed, so that
//! no file that is opened later gets its number. From then on nothing tells it from a caller's own `/dev/null`, whose
//! silence is wanted; and an id that is lost in the one must not count as printed. So it is looked at earlier.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio::stdout;

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Run by the loader, before `main` and the standard library's own beginnings.
///
/// The attribute is the only unsafe thing here: what stands in this section must be a function of this type, and may use
/// nothing that needs the standard library to have begun. A system call and an atomic do not.
#[used]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    CLOSED.store(fcntl_getfd(stdout()) == Err(Errno::BADF), Ordering::Relaxed);
}

/// Whether it was.
pub fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}
