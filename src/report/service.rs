//! What a service manager is told: that the worker is ready, what it does, that it lives, that it stops.
//!
//! The protocol of `sd_notify(3)`: assignments in a datagram to the socket that `$NOTIFY_SOCKET` names.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use super::{Event, EventKind, Reporter};

/// How long a manager that takes nothing may hold the worker up, at most once a second.
const PATIENCE: Duration = Duration::from_millis(100);

/// Without news the jobs are counted again after so many beats, for others may have added some.
const COUNT_EVERY: u32 = 10;

/// Tells a service manager, and another reporter.
pub struct ServiceLog {
    manager: Manager,
    then: Box<dyn Reporter>,
    /// The manager wants a sign of life.
    watchdog: bool,
    running: usize,
    unfinished: u64,
    /// Beats until the jobs are counted again.
    count_in: u32,
    stopping: bool,
}

struct Manager {
    socket: UnixDatagram,
    address: SocketAddr,
    /// The status that it was told last.
    status: String,
}

impl ServiceLog {
    /// Tells the manager that these variables name, and `then`; only `then` if there is no manager.
    pub fn around(then: Box<dyn Reporter>, env: &dyn Fn(&str) -> Option<OsString>) -> Box<dyn Reporter> {
        let manager = env("NOTIFY_SOCKET").and_then(|name| Manager::at(&name).ok());
        let Some(manager) = manager else { return then };
        let watchdog = env("WATCHDOG_USEC").is_some();
        Box::new(Self { manager, then, watchdog, running: 0, unfinished: 0, count_in: 0, stopping: false })
    }

    fn show_status(&mut self) {
        if !self.stopping {
            let Self { running, unfinished, .. } = self;
            self.manager.say("", &format!("{running} running here, {unfinished} unfinished in all"));
        }
    }
}

impl Reporter for ServiceLog {
    fn tell(&mut self, event: &Event) {
        self.then.tell(event);
        self.count_in = 0;
        match &event.what {
            EventKind::WorkerStarted { .. } => self.manager.say("READY=1\n", "looking for jobs"),
            EventKind::JobStarted { .. } => self.running += 1,
            EventKind::AttemptEnded { .. } => self.running = self.running.saturating_sub(1),
            EventKind::WorkerStopping { reason, .. } => {
                self.stopping = true;
                self.manager.say("STOPPING=1\n", &format!("stopping: {reason}"));
            }
            EventKind::WorkerStopped { .. } => self.manager.say("STOPPING=1\n", "stopped"),
            EventKind::AttemptLost { .. }
            | EventKind::JobExpired { .. }
            | EventKind::JobCancelled { .. }
            | EventKind::Notice(_) => {}
        }
    }

    fn wants_remaining(&self) -> bool {
        self.then.wants_remaining()
    }

    fn remaining(&mut self, unfinished: u64) {
        self.then.remaining(unfinished);
    }

    fn beat(&mut self, count_unfinished: &dyn Fn() -> Option<u64>) {
        if self.watchdog {
            self.manager.send("WATCHDOG=1");
        }
        if self.count_in == 0 {
            self.unfinished = count_unfinished().unwrap_or(self.unfinished);
            self.count_in = COUNT_EVERY;
        }
        self.count_in -= 1;
        self.show_status();
    }
}

impl Manager {
    /// The manager that listens at a path, or at an abstract name after `@`.
    fn at(name: &OsStr) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { socket, address: address(name)?, status: String::new() })
    }

    /// Tells it, and what is to be shown; nothing, if that is all and is known already.
    fn say(&mut self, assignments: &str, status: &str) {
        if !assignments.is_empty() || self.status != status {
            status.clone_into(&mut self.status);
            self.send(&format!("{assignments}STATUS={}", status.replace('\n', " ")));
        }
    }

    fn send(&self, assignments: &str) {
        // A manager that went away must not stop the work.
        let _ = self.socket.send_to_addr(assignments.as_bytes(), &self.address);
    }
}

#[cfg(target_os = "linux")]
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;

    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(name),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    SocketAddr::from_pathname(name)
}
