//! Wakes workers for new work: a datagram to each, after the commit.
//!
//! A worker binds `FILE.run/NAME.sock`; a writer sends one byte to every socket there. Nothing depends on its arrival:
//! workers poll the database once a second.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The extension of a worker's socket.
const SUFFIX: &str = "sock";

/// The path of a worker's socket.
pub fn socket_path(run_dir: &Path, worker: &str) -> PathBuf {
    run_dir.join(format!("{worker}.{SUFFIX}"))
}

pub fn bind(run_dir: &Path, worker: &str) -> io::Result<UnixDatagram> {
    let dir = File::open(run_dir)?;
    let socket = UnixDatagram::bind(short_path(&dir, &socket_path(run_dir, worker)))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Wakes every worker that has its socket in this run directory, except the one of this name. Never waits, and never fails.
pub fn wake_workers(run_dir: &Path, except: Option<&str>) {
    // Something else than a directory is not opened, because a pipe would make the caller wait.
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let dir = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(run_dir);
    let (Ok(dir), Ok(entries), Ok(socket)) = (dir, fs::read_dir(run_dir), UnixDatagram::unbound()) else {
        return;
    };
    // A stopped worker's queue fills up after about ten datagrams; a blocking send would then hang.
    if socket.set_nonblocking(true).is_err() {
        return;
    }
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_excepted = except.is_some() && path.file_stem().and_then(OsStr::to_str) == except;
        if !is_excepted && path.extension().is_some_and(|extension| extension == SUFFIX) {
            let _ = socket.send_to(&[1], short_path(&dir, &path)); // a dead worker's socket, or a full queue
        }
    }
}

/// A path that fits into a socket address (108 bytes), however long the path of `dir` is.
fn short_path(dir: &File, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_worker_is_woken_however_long_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let run_dir = dir.path().join("d".repeat(120));
        wake_workers(&run_dir, None);
        fs::create_dir(&run_dir).unwrap();
        let sockets = ["a", "b"].map(|name| bind(&run_dir, name).unwrap());
        for _ in 0..100 {
            wake_workers(&run_dir, None);
        }
        for socket in &sockets {
            while socket.recv(&mut [0; 4]).is_ok() {}
        }
        wake_workers(&run_dir, Some("a"));
        assert!(sockets[0].recv(&mut [0; 4]).is_err());
        assert_eq!(sockets[1].recv(&mut [0; 4]).unwrap(), 1);
        // A killed worker leaves its socket behind.
        drop(sockets);
        wake_workers(&run_dir, None);
    }
}
