//! Notifies systemd that the worker is ready, lives and stops, and of its status.
//!
//! The protocol is `sd_notify(3)`: assignments in a datagram to the socket in `$NOTIFY_SOCKET`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use super::{Event, EventKind, Reporter};

/// How long a manager that reads nothing may hold the worker up, at most once a second.
const SEND_TIMEOUT: Duration = Duration::from_millis(100);

/// Notifies a service manager, and passes each event on to another reporter.
pub struct ServiceLog {
    manager: Manager,
    then: Box<dyn Reporter>,
    expects_ping: bool,
    running: usize,
    stopping: bool,
}

struct Manager {
    socket: UnixDatagram,
    address: SocketAddr,
    /// The last status that was sent.
    status: String,
}

impl ServiceLog {
    /// Notifies the manager that these variables name, then `then`; returns `then` itself if there is no manager.
    pub fn around(then: Box<dyn Reporter>, env: &dyn Fn(&str) -> Option<OsString>) -> Box<dyn Reporter> {
        let manager = env("NOTIFY_SOCKET").and_then(|name| Manager::at(&name).ok());
        let Some(manager) = manager else { return then };
        let expects_ping = env("WATCHDOG_USEC").is_some();
        Box::new(Self { manager, then, expects_ping, running: 0, stopping: false })
    }
}

impl Reporter for ServiceLog {
    fn report(&mut self, event: &Event) {
        self.then.report(event);
        match &event.kind {
            EventKind::WorkerStarted { .. } => self.manager.notify("READY=1\n", "looking for jobs"),
            EventKind::JobStarted { .. } => self.running += 1,
            EventKind::AttemptEnded { .. } => self.running = self.running.saturating_sub(1),
            EventKind::WorkerStopping { reason, .. } => {
                self.stopping = true;
                self.manager.notify("STOPPING=1\n", &format!("stopping: {reason}"));
            }
            EventKind::WorkerStopped { .. } => self.manager.notify("STOPPING=1\n", "stopped"),
            EventKind::Heartbeat { unfinished } => {
                if self.expects_ping {
                    self.manager.send("WATCHDOG=1");
                }
                if let Some(unfinished) = unfinished.filter(|_| !self.stopping) {
                    let running = self.running;
                    self.manager
                        .notify("", &format!("{running} running here, {unfinished} unfinished in all"));
                }
            }
            EventKind::AttemptLost { .. }
            | EventKind::JobExpired { .. }
            | EventKind::JobCancelled { .. }
            | EventKind::ScheduleFired { .. }
            | EventKind::Notice(_) => {}
        }
    }

    fn wants_heartbeats(&self) -> bool {
        true
    }
}

impl Manager {
    /// The manager that listens at a path, or at an abstract name after `@`.
    fn at(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
            [b'/', ..] => SocketAddr::from_pathname(name),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }?;
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        Ok(Self { socket, address, status: String::new() })
    }

    /// Sends assignments and a status; nothing if there are no assignments and the status is unchanged.
    fn notify(&mut self, assignments: &str, status: &str) {
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

/// Does this stream lead to the journal? `$JOURNAL_STREAM` is the device and inode of the stream that does.
pub fn is_journal(stream: impl AsFd, journal_stream: Option<&OsStr>) -> bool {
    let named = journal_stream.and_then(OsStr::to_str).and_then(|text| text.split_once(':'));
    let Some((device, inode)) = named else { return false };
    rustix::fs::fstat(stream)
        .is_ok_and(|found| device == found.st_dev.to_string() && inode == found.st_ino.to_string())
}
