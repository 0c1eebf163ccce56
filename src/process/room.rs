//! Looks before a worker starts whether the machine gives it what it needs: a `/proc` that shows its processes, `/dev/null`,
//! open files, processes.

use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::thread;

use rustix::io::Errno;
use rustix::process::{PidfdFlags, Resource, getpid, getrlimit, getuid, pidfd_open};

use crate::text::counted;

/// The descriptors that a worker needs beside those of its attempts, once its database is open: for its signals, timers,
/// lock and socket, for the start of an attempt, and for a recovery.
const FILES_OF_WORKER: u64 = 13;
/// Two pipes, the process, and what wakes the slot.
const FILES_OF_SLOT: u64 = 4;
/// The thread that supervises an attempt, and the process.
const TASKS_OF_SLOT: u64 = 2;
const TASK_STACK_BYTES: usize = 16 << 10;
/// A limit of processes that leaves so many more than the slots need is not looked at closely, since others use it, too.
const MANY_TASKS: u64 = 1_000;

/// Fails unless `/proc` shows the processes that this one can start. Without it none of them is found again.
pub fn check_proc() -> io::Result<()> {
    let problem = match std::fs::read_link("/proc/self") {
        Err(_) => "/proc is missing".to_owned(),
        // The link is a number of the pid namespace that /proc was mounted in.
        Ok(pid) if pid.as_os_str() != getpid().as_raw_nonzero().to_string().as_str() => {
            "/proc shows another pid namespace than this process runs in".to_owned()
        }
        Ok(_) => return Ok(()),
    };
    Err(io::Error::other(format!(
        "{problem}, so the processes of jobs could not be found again; `mount -t proc proc /proc` helps"
    )))
}

/// Fails unless `/dev/null` can be opened, because no attempt could be started without it.
pub fn check_null() -> io::Result<()> {
    match File::options().read(true).write(true).open("/dev/null") {
        Ok(_) => Ok(()),
        // It is not to blame.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::MFILE) => Err(error),
        Err(error) => Err(io::Error::other(format!(
            "/dev/null cannot be opened, and every job needs it: {error}; `mknod -m 666 /dev/null c 1 3` makes it"
        ))),
    }
}

/// Fails if the kernel may not open a process by its pid: a filter of system calls can forbid it, and the slot of each job
/// would wait for that for ever.
pub fn check_pidfd() -> io::Result<()> {
    match pidfd_open(getpid(), PidfdFlags::empty()) {
        Err(Errno::NOSYS | Errno::PERM) => Err(io::Error::other(
            "the system call pidfd_open is refused here, so no job could be watched; an old container runtime does that by its \
             seccomp profile",
        )),
        // A shortage passes.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The number of slots that the limits of this process leave room for.
#[derive(Debug)]
pub struct Room {
    pub slots: usize,
    /// What keeps the worker from using all slots, for people.
    pub lack: Option<String>,
}

/// Looks at the limits. Call it once the database is open. Fails if there is room for no slot at all.
pub fn room_for(wanted: usize) -> io::Result<Room> {
    let slots = u64::try_from(wanted).unwrap_or(u64::MAX);
    let mut room = slots;
    let mut lack = None;
    let limits = [(Resource::Nofile, room_of_files as fn(u64, u64) -> u64), (Resource::Nproc, room_of_tasks)];
    for (resource, room_of) in limits {
        let Some(limit) = getrlimit(resource).current else { continue };
        let found = room_of(limit, slots);
        if found < room {
            room = found;
            lack = Some(match resource {
                Resource::Nofile => format!("the limit of open files (ulimit -n) is {limit}"),
                _ => format!("the limit of processes and threads (ulimit -u) is {limit}"),
            });
        }
    }
    let lack = match lack {
        Some(lack) if room == 0 => {
            return Err(io::Error::other(format!("there is no room for a single slot: {lack}; raise it")));
        }
        Some(lack) => Some(format!("there is room for {} of {slots}: {lack}", counted(room, "slot"))),
        None => None,
    };
    Ok(Room { slots: usize::try_from(room).unwrap_or(wanted), lack })
}

fn room_of_files(limit: u64, _slots: u64) -> u64 {
    // If the folder cannot be opened, there is no descriptor left. One of the entries is the folder itself.
    let open = std::fs::read_dir("/proc/self/fd").map_or(limit, |entries| entries.count() as u64 - 1);
    limit.saturating_sub(open + FILES_OF_WORKER) / FILES_OF_SLOT
}

/// Starts as many threads as the slots need, because only the kernel knows what it counts. One is left for a recovery.
fn room_of_tasks(limit: u64, slots: u64) -> u64 {
    let needed = slots.saturating_mul(TASKS_OF_SLOT);
    // The limit does not hold for root.
    if getuid().is_root() || limit > needed.saturating_add(MANY_TASKS) {
        return slots;
    }
    let gate = Mutex::new(());
    let closed = gate.lock();
    let mut started = 0;
    thread::scope(|scope| {
        let wait = || drop(gate.lock());
        let start = || thread::Builder::new().stack_size(TASK_STACK_BYTES).spawn_scoped(scope, wait);
        while started < needed && start().is_ok() {
            started += 1;
        }
        drop(closed);
    });
    if started == needed { slots } else { started.saturating_sub(1) / TASKS_OF_SLOT }
}
