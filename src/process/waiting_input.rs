//! Whether somebody has put something on the standard input of this process.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, SeekFrom, fcntl_getfl, fstat, major, minor, seek};
use rustix::io::{Errno, ioctl_fionread};

/// Whether bytes can be read from standard input now. None are read, because the next program of the caller may want them.
///
/// A terminal has none: what is typed there is for nobody in particular. Neither has a pipe or a socket without bytes, whether
/// somebody may still write to it or not.
pub fn has_waiting_input() -> bool {
    has_input(io::stdin().as_fd()).unwrap_or_default()
}

fn has_input(input: BorrowedFd<'_>) -> Result<bool, Errno> {
    let flags = fcntl_getfl(input)?;
    // A shell's `0>file`, and a path that was only looked up.
    if flags.contains(OFlags::PATH) || flags & OFlags::RWMODE == OFlags::WRONLY {
        return Ok(false);
    }
    let stat = fstat(input)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        // The kernel's own files, as those of /proc, have no size.
        FileType::RegularFile => {
            i64::try_from(seek(input, SeekFrom::Current(0))?).is_ok_and(|at| at < stat.st_size)
        }
        // At its end, too, these count as readable.
        FileType::Fifo | FileType::Socket => ioctl_fionread(input)? > 0,
        FileType::Directory => false,
        FileType::CharacterDevice if input.is_terminal() || is_null(stat.st_rdev) => false,
        _ => {
            let mut polled = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
            poll(&mut polled, Some(&Timespec::default()))? > 0 && polled[0].revents().contains(PollFlags::IN)
        }
    })
}

/// Whether this is `/dev/null`, null(4).
fn is_null(device: u64) -> bool {
    matches!((major(device), minor(device)), (1, 3))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::{Read, Seek, Write, pipe};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixDatagram, UnixStream};

    use rustix::fs::{Mode, open};
    use tempfile::tempfile;

    use super::*;

    fn has_some(input: impl AsFd) -> bool {
        has_input(input.as_fd()).unwrap_or_default()
    }

    #[test]
    fn a_pipe_has_what_was_written_and_was_not_read_yet() {
        let (mut reading, mut writing) = pipe().unwrap();
        assert!(!has_some(&reading));
        writing.write_all(b"x").unwrap();
        assert!(has_some(&reading) && has_some(&reading), "looking takes nothing");
        assert!(!has_some(&writing), "nothing can be read from this end");
        drop(writing);
        assert!(has_some(&reading));
        reading.read_exact(&mut [0]).unwrap();
        assert!(!has_some(&reading));
    }

    #[test]
    fn a_socket_that_was_closed_has_nothing() {
        let (here, mut there) = UnixStream::pair().unwrap();
        assert!(!has_some(&here));
        there.write_all(b"x").unwrap();
        drop(there);
        assert!(has_some(&here));
        (&here).read_exact(&mut [0]).unwrap();
        assert!(!has_some(&here));
        let (here, there) = UnixDatagram::pair().unwrap();
        assert!(!has_some(&here));
        there.send(b"x").unwrap();
        assert!(has_some(&here));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (here, _) = listener.accept().unwrap();
        assert!(!has_some(&here) && !has_some(&listener));
        there.write_all(b"x").unwrap();
        drop(there);
        here.peek(&mut [0]).unwrap();
        assert!(has_some(&here));
    }

    #[test]
    fn a_file_has_what_is_left_of_it() {
        let mut file = tempfile().unwrap();
        assert!(!has_some(&file));
        file.write_all(b"ab").unwrap();
        assert!(!has_some(&file), "it is at its end");
        file.rewind().unwrap();
        file.read_exact(&mut [0]).unwrap();
        assert!(has_some(&file));
        file.read_exact(&mut [0]).unwrap();
        assert!(!has_some(&file));
    }

    #[test]
    fn a_device_and_a_folder() {
        let open_file = |path: &str| File::open(path).unwrap();
        assert!(!has_some(open_file("/dev/null")) && !has_some(open_file("/")));
        assert!(has_some(open_file("/dev/zero")));
        assert!(!has_some(OpenOptions::new().write(true).open("/dev/zero").unwrap()));
        assert!(!has_some(open("/dev/zero", OFlags::PATH, Mode::empty()).unwrap()));
        let terminal = open("/dev/ptmx", OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        assert!(!has_some(terminal));
    }
}
