//! Which process is meant: a pid alone may be another process by now.

use std::io;

use rustix::process::Signal;

use super::stat::Stat;

/// A process, told apart from all others of this boot by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks since the machine did: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
}

impl Identity {
    /// The process that has this number now; none where there is none, or no `/proc`.
    pub fn of(pid: i32) -> Option<Self> {
        Stat::of(pid).map(|stat| stat.identity())
    }

    /// Does it still run? A zombie does not.
    pub fn is_alive(&self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.identity() == *self && !stat.gone)
    }

    /// Sends a signal to this process and to no other. A process that is gone is no error.
    #[cfg(target_os = "linux")]
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        use rustix::io::Errno;
        use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};

        let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.pid > 1) else {
            return Ok(());
        };
        // First the handle, then the look: if the number had been given to another process before the handle
        // was opened, the look would show that other process, whose start differs.
        let sent = pidfd_open(pid, PidfdFlags::empty()).and_then(|handle| {
            if Self::of(self.pid) == Some(*self) { pidfd_send_signal(handle, signal) } else { Ok(()) }
        });
        match sent {
            Err(Errno::SRCH) => Ok(()),
            other => other.map_err(io::Error::from),
        }
    }

    /// Without `/proc` and handles nothing proves who has the number now, so nobody gets the signal.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "the same shape as on Linux")]
    pub(super) fn signal(&self, _signal: Signal) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Stat {
    /// Which process this describes.
    pub fn identity(&self) -> Identity {
        Identity { pid: self.pid, start_ticks: self.start_ticks }
    }
}

/// The name of this boot of the machine: identities of another one mean nothing. Empty where it has none.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_alive_until_it_is_a_zombie() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat starts");
        let pid = child.id().cast_signed();
        let identity = Identity::of(pid).unwrap();
        assert!(identity.is_alive());

        let other = Identity { start_ticks: identity.start_ticks + 1, ..identity };
        assert!(!other.is_alive());
        other.signal(Signal::KILL).unwrap();
        assert!(identity.is_alive(), "another process got the signal");

        identity.signal(Signal::KILL).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while identity.is_alive() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
        assert!(Identity::of(pid).is_some(), "it is a zombie, not yet reaped");
        child.wait().unwrap();
        assert_eq!(Identity::of(pid), None);
        identity.signal(Signal::KILL).unwrap();
    }

    #[test]
    fn a_boot_has_one_name() {
        assert_eq!(boot_id(), boot_id());
        assert_eq!(boot_id().len(), 36);
    }
}
