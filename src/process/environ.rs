//! Reads the environments of processes, and waits for none that another user holds.
//!
//! The kernel locks the memory of a process to read its environment. Another user can keep that lock taken, with a file system of
//! its own and two threads, and whoever reads then waits for as long as that user likes. So the worker of root, who alone may
//! read what others have, reads on a thread that it can leave behind.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::geteuid;

use super::procfs::{Identity, is_of_us_or_root};

/// More than any environment can hold: the kernel allows 6 MiB for arguments and variables together. A process can make the
/// kernel show any of its memory there.
const MAX_ENVIRON_BYTES: u64 = 8 << 20;
/// No more than this is read of a process of another user, who might otherwise hold every retry up with many processes that show
/// a lot. So an attempt that a launcher runs as another user is found by its mark only within these bytes.
const MAX_BYTES_OF_OTHERS: u64 = 1 << 20;
/// How long all processes of other users together may keep one reader waiting …
const PATIENCE: Duration = Duration::from_secs(1);
/// … and each of them in any case.
const LEAST_PATIENCE: Duration = Duration::from_millis(20);

/// The processes that threads which were left behind still wait for. They are not read again until then.
static HELD: LazyLock<Mutex<HashSet<Identity>>> = LazyLock::new(Mutex::default);

fn held() -> MutexGuard<'static, HashSet<Identity>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the environments of processes, one after the other.
pub(super) struct Reader {
    helper: Option<Helper>,
    /// When the patience with processes of other users ends.
    until: Instant,
}

struct Helper {
    requests: Sender<Identity>,
    answers: Receiver<io::Result<Vec<u8>>>,
}

impl Reader {
    pub fn new() -> Self {
        Self { helper: None, until: Instant::now() + PATIENCE }
    }

    /// The environment that a process was started with. It is empty for a moment during exec. One that another user holds
    /// cannot be read.
    pub fn read(&mut self, process: Identity) -> io::Result<Vec<u8>> {
        if !geteuid().is_root() {
            return read(process);
        }
        if held().contains(&process) {
            return Err(ErrorKind::WouldBlock.into());
        }
        let helper = match self.helper.take() {
            Some(helper) => helper,
            None => Helper::start()?,
        };
        let gone = || io::Error::other("the thread that reads environments is gone");
        helper.requests.send(process).map_err(|_| gone())?;
        loop {
            let patience = self.until.saturating_duration_since(Instant::now()).max(LEAST_PATIENCE);
            let answer = match helper.answers.recv_timeout(patience) {
                Ok(answer) => answer,
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                Err(RecvTimeoutError::Timeout) if is_of_us_or_root(process.pid) => continue,
                Err(RecvTimeoutError::Timeout) => {
                    // The thread answers under the same lock.
                    let mut held = held();
                    let Ok(answer) = helper.answers.try_recv() else {
                        held.insert(process);
                        return Err(ErrorKind::WouldBlock.into());
                    };
                    answer
                }
            };
            self.helper = Some(helper);
            return answer;
        }
    }
}

impl Helper {
    fn start() -> io::Result<Self> {
        let (requests, to_read) = channel::<Identity>();
        let (to_answer, answers) = channel();
        let thread = thread::Builder::new().name("environ".to_owned()).stack_size(64 << 10);
        thread.spawn(move || {
            while let Ok(process) = to_read.recv() {
                let answer = read(process);
                let mut held = held();
                held.remove(&process);
                if to_answer.send(answer).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests, answers })
    }
}

/// An error if the process has ended: its pid may belong to another one by now, and what was read would be that one's.
fn read(process: Identity) -> io::Result<Vec<u8>> {
    let environ = read_of_pid(process.pid)?;
    if Identity::of(process.pid) == Some(process) { Ok(environ) } else { Err(Errno::SRCH.into()) }
}

fn read_of_pid(pid: i32) -> io::Result<Vec<u8>> {
    let limit = if is_of_us_or_root(pid) { MAX_ENVIRON_BYTES } else { MAX_BYTES_OF_OTHERS };
    let read = |path: &Path| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let first = read(format!("/proc/{pid}/environ").as_ref());
    let has_none = match &first {
        Ok(bytes) => bytes.is_empty(),
        Err(error) => error.raw_os_error() == Some(Errno::SRCH.raw_os_error()),
    };
    if !has_none {
        return first;
    }
    // If the first thread has ended, the others still show the environment.
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut of_threads = threads.filter_map(|thread| read(&thread.path().join("environ")).ok());
    of_threads.find(|bytes| !bytes.is_empty()).map_or(first, Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_process_with_its_pid_shows_is_not_read() {
        let me = Identity::of(std::process::id().cast_signed()).unwrap();
        assert!(!Reader::new().read(me).unwrap().is_empty());
        let earlier = Identity { start_ticks: me.start_ticks - 1, ..me };
        let error = Reader::new().read(earlier).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::SRCH.raw_os_error()));
    }
}
