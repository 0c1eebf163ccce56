//! Tells systemd that the worker is ready, lives and stops, and what it is doing.
//!
//! The protocol is `sd_notify(3)`: assignments in a datagram to the socket in `$NOTIFY_SOCKET`. The crate sd-notify does
//! not serve: it reads that variable for each message, and the worker has removed it so that jobs do not inherit it. Nor
//! does the crate know abstract names, and it waits without limit for a manager that does not read.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use super::reporter::Reporter;
use crate::model::Event;
use crate::text::Timestamp;

/// How long a message waits for a manager that does not read. The worker waits meanwhile, about once a second at most.
const SEND_TIMEOUT: Duration = Duration::from_millis(100);

/// Notifies systemd, and passes each event on to another reporter.
pub struct SystemdNotifier {
    socket: UnixDatagram,
    manager: SocketAddr,
    inner: Box<dyn Reporter>,
    expects_watchdog: bool,
    is_stopping: bool,
    /// The last status that was sent.
    status: String,
}

impl SystemdNotifier {
    /// Notifies the manager that these variables name, then `inner`; returns `inner` itself if there is no manager.
    pub fn around(inner: Box<dyn Reporter>, env: &dyn Fn(&str) -> Option<OsString>) -> Box<dyn Reporter> {
        let found = env("NOTIFY_SOCKET").and_then(|name| Some((socket().ok()?, address(&name).ok()?)));
        let Some((socket, manager)) = found else { return inner };
        let expects_watchdog = env("WATCHDOG_USEC").is_some();
        Box::new(Self { socket, manager, inner, expects_watchdog, is_stopping: false, status: String::new() })
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
        let _ = self.socket.send_to_addr(assignments.as_bytes(), &self.manager);
    }
}

impl Reporter for SystemdNotifier {
    fn report(&mut self, time: Timestamp, event: &Event) {
        self.inner.report(time, event);
        match event {
            Event::WorkerStarted { .. } => self.notify("READY=1\n", "looking for jobs"),
            Event::WorkerStopping { message, .. } => {
                self.is_stopping = true;
                self.notify("STOPPING=1\n", &format!("stopping: {message}"));
            }
            Event::WorkerStopped { .. } => self.notify("STOPPING=1\n", "stopped"),
            Event::Heartbeat { running, unfinished } => {
                if self.expects_watchdog {
                    self.send("WATCHDOG=1");
                }
                if let Some(unfinished) = unfinished.filter(|_| !self.is_stopping) {
                    self.notify("", &format!("{running} running here, {unfinished} unfinished in all"));
                }
            }
            _ => {}
        }
    }

    fn wants_heartbeats(&self) -> bool {
        true
    }
}

fn socket() -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(SEND_TIMEOUT))?;
    Ok(socket)
}

/// A manager listens at a path, or at an abstract name after `@`.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(name),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Whether this stream leads to the journal. `$JOURNAL_STREAM` is the device and inode of the stream that does.
pub fn is_journal(stream: impl AsFd, journal_stream: Option<&OsStr>) -> bool {
    let named = journal_stream.and_then(OsStr::to_str).and_then(|text| text.split_once(':'));
    let Some((device, inode)) = named else { return false };
    rustix::fs::fstat(stream)
        .is_ok_and(|found| device == found.st_dev.to_string() && inode == found.st_ino.to_string())
}
