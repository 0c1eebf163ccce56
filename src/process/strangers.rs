//! A quick look for what earlier attempts left in the background.
//!
//! It is done before every retry, and mostly finds nothing; so what was once seen to be no attempt's is not read
//! again. On a machine with hundreds of processes that makes the difference between a look that costs more than
//! the attempt and one that does not matter.

use std::cell::RefCell;
use std::io;

use super::scan::{can_look, pids, read_environ};
use super::{Mark, stat::Stat};

/// A process under `/proc`: its number and that of its directory. The kernel makes a new directory for a new
/// process, so that the pair tells apart two processes that have the same number one after the other.
type Entry = (i32, u64);

/// What previous looks learnt; in ascending order.
#[derive(Default)]
struct Seen {
    /// No attempt's, and never will be.
    strangers: Vec<Entry>,
    /// Not to be read by us, and no kernel thread.
    shut: Vec<Entry>,
}

thread_local! {
    /// Each slot has its own: a look is too short to wait for another slot's.
    static SEEN: RefCell<Seen> = RefCell::default();
}

/// Does any process carry one of these marks?
pub(super) fn any_marked(marks: &[Mark]) -> bool {
    if !can_look() {
        return true; // the thorough look waits until it can
    }
    SEEN.with_borrow_mut(|seen| {
        let mut now = Seen::default();
        let mut environ = Vec::new();
        for entry in pids() {
            match look(entry, seen, marks, &mut environ) {
                Look::Stranger => now.strangers.push(entry),
                Look::Shut => now.shut.push(entry),
                Look::Unsettled => {}
                Look::Marked => return true,
            }
        }
        now.strangers.sort_unstable();
        now.shut.sort_unstable();
        *seen = now;
        false
    })
}

enum Look {
    Stranger,
    Shut,
    Unsettled,
    Marked,
}

fn look(entry: Entry, seen: &Seen, marks: &[Mark], environ: &mut Vec<u8>) -> Look {
    let (pid, _) = entry;
    if seen.strangers.binary_search(&entry).is_ok() {
        return Look::Stranger;
    }
    match read_environ(pid, environ) {
        // An environment without a mark stays so: it changes only by exec, and by then a process that stems
        // from an attempt carries the mark. Only the first process of an attempt shows the worker's
        // environment before its exec, and that one is reaped before the attempt is over.
        Ok(()) if !environ.is_empty() => match Mark::find(environ) {
            None => Look::Stranger,
            Some(mark) if marks.contains(&mark) => Look::Marked,
            Some(_) => Look::Unsettled,
        },
        // Another user's, or a kernel thread; the former may become ours.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            if seen.shut.binary_search(&entry).is_err() && is_kernel_thread(pid) {
                Look::Stranger
            } else {
                Look::Shut
            }
        }
        // A kernel thread, a zombie, one that is just being executed, or gone.
        Ok(()) | Err(_) if is_kernel_thread(pid) => Look::Stranger,
        Ok(()) | Err(_) => Look::Unsettled,
    }
}

fn is_kernel_thread(pid: i32) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.kernel)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::testing::until;
    use super::*;

    #[test]
    fn a_marked_process_is_found_also_after_looks_that_found_none() {
        let mark =
            Mark { worker_id: format!("test-strangers-{}", std::process::id()), job_id: 5, attempt: 1 };
        let marks = [mark.clone()];
        for _ in 0..3 {
            assert!(!any_marked(&marks));
            assert!(!any_marked(&marks), "from memory");
            let mut child = Command::new("sleep").arg("1000").envs(mark.variables()).spawn().unwrap();
            // It may still be in its exec, and show nothing yet.
            until("the mark to show", || any_marked(&marks));
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
