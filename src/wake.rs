//! Wakes workers for new work: a datagram to each, after the commit.
//!
//! A worker binds `FILE.run/NAME.sock`; a writer sends one byte to every socket there. Nothing depends on its arrival:
//! workers poll the database once a second.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

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

/// Wakes every worker of the database with this run directory. Never waits, and never fails.
pub fn wake_workers(run_dir: &Path) {
    wake_others(run_dir, "");
}

/// Wakes every worker but the one of this name.
pub fn wake_others(run_dir: &Path, own: &str) {
    let (Ok(dir), Ok(entries), Ok(socket)) =
        (File::open(run_dir), fs::read_dir(run_dir), UnixDatagram::unbound())
    else {
        return;
    };
    // A stopped worker's queue fills up after about ten datagrams; a blocking send would then hang.
    if socket.set_nonblocking(true).is_err() {
        return;
    }
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_own = path.file_stem().is_some_and(|stem| stem == own);
        if !is_own && path.extension().is_some_and(|extension| extension == SUFFIX) {
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
        wake_workers(&run_dir);
        fs::create_dir(&run_dir).unwrap();
        let sockets = ["a", "b"].map(|name| bind(&run_dir, name).unwrap());
        for _ in 0..100 {
            wake_workers(&run_dir);
        }
        for socket in &sockets {
            while socket.recv(&mut [0; 4]).is_ok() {}
        }
        wake_others(&run_dir, "a");
        assert!(sockets[0].recv(&mut [0; 4]).is_err());
        assert_eq!(sockets[1].recv(&mut [0; 4]).unwrap(), 1);
        // A killed worker leaves its socket behind.
        drop(sockets);
        wake_workers(&run_dir);
    }
}
