//! What an error of the system means for a command that is about to start: one table.

use std::io;

use rustix::io::Errno;

/// What is to be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartError {
    /// The machine lacks something. The job goes back to its queue, and its attempt does not count.
    Shortage,
    /// Another process is writing the program. The start waits for that.
    Busy,
    /// What the command needs is away, and may come back by itself. A failure that is retried like any other.
    Passing,
    /// It stays as it is until somebody mends it. A failure that is final unless `auto_retry_for` lists it.
    Lasting,
}

/// What each error means. The texts are those of the system.
const MEANINGS: [(Errno, StartError); 56] = {
    use StartError::{Busy, Lasting, Passing, Shortage};
    [
        (Errno::AGAIN, Shortage),   // Resource temporarily unavailable: the limit of processes
        (Errno::MFILE, Shortage),   // Too many open files
        (Errno::NFILE, Shortage),   // Too many open files in system
        (Errno::NOMEM, Shortage),   // Cannot allocate memory
        (Errno::NOSPC, Shortage),   // No space left on device
        (Errno::DQUOT, Shortage),   // Disk quota exceeded: a full disk under another name
        (Errno::FBIG, Shortage),    // File too large: the same
        (Errno::ROFS, Shortage),    // Read-only file system: the same
        (Errno::TXTBSY, Busy),      // Text file busy
        (Errno::IO, Passing),       // Input/output error: also a program that is not all there yet
        (Errno::STALE, Passing),    // Stale file handle: the server has lost the file of a network share
        (Errno::TIMEDOUT, Passing), // Connection timed out
        (Errno::HOSTDOWN, Passing), // Host is down
        (Errno::HOSTUNREACH, Passing), // No route to host
        (Errno::NETDOWN, Passing),  // Network is down
        (Errno::NETUNREACH, Passing), // Network is unreachable
        (Errno::NETRESET, Passing), // Network dropped connection on reset
        (Errno::NONET, Passing),    // Machine is not on the network
        (Errno::NOLINK, Passing),   // Link has been severed
        (Errno::COMM, Passing),     // Communication error on send
        (Errno::CONNABORTED, Passing), // Software caused connection abort: the program behind a FUSE mount has ended
        (Errno::CONNREFUSED, Passing), // Connection refused
        (Errno::CONNRESET, Passing),   // Connection reset by peer
        (Errno::NOTCONN, Passing),     // Transport endpoint is not connected: as for CONNABORTED
        (Errno::SHUTDOWN, Passing),    // Cannot send after transport endpoint shutdown
        (Errno::PIPE, Passing),        // Broken pipe
        (Errno::PROTO, Passing),       // Protocol error
        (Errno::REMOTEIO, Passing),    // Remote I/O error
        (Errno::NOBUFS, Passing),      // No buffer space available
        (Errno::NXIO, Passing),        // No such device or address: a disk that was pulled out
        (Errno::NODEV, Passing),       // No such device
        (Errno::NOMEDIUM, Passing),    // No medium found
        (Errno::BUSY, Passing),        // Device or resource busy
        (Errno::INTR, Passing),        // Interrupted system call
        (Errno::NOLCK, Passing),       // No locks available
        (Errno::BADMSG, Passing),      // Bad message: a wrong checksum on the disk
        (Errno::UCLEAN, Passing),      // Structure needs cleaning: a damaged file system
        (Errno::NODATA, Passing),      // No data available: a bad sector
        (Errno::NOKEY, Passing),       // Required key not available: an encrypted folder that is locked
        (Errno::KEYEXPIRED, Passing),  // Key has expired: a ticket of a network share
        (Errno::KEYREVOKED, Passing),  // Key has been revoked
        (Errno::KEYREJECTED, Passing), // Key was rejected by service
        (Errno::NOENT, Lasting),       // No such file or directory
        (Errno::NOTDIR, Lasting),      // Not a directory
        (Errno::ISDIR, Lasting),       // Is a directory
        (Errno::ACCESS, Lasting),      // Permission denied
        (Errno::PERM, Lasting),        // Operation not permitted
        (Errno::NOEXEC, Lasting),      // Exec format error
        (Errno::LIBBAD, Lasting),      // Accessing a corrupted shared library: the loader that a binary names
        (Errno::LOOP, Lasting),        // Too many levels of symbolic links, or of interpreters
        (Errno::NAMETOOLONG, Lasting), // File name too long
        (Errno::TOOBIG, Lasting),      // Argument list too long
        (Errno::INVAL, Lasting),       // Invalid argument
        (Errno::NOSYS, Lasting),       // Function not implemented
        (Errno::OPNOTSUPP, Lasting),   // Operation not supported
        (Errno::FAULT, Lasting),       // Bad address
    ]
};

impl StartError {
    /// What this error means; of one that the table lacks nobody knows that it passes.
    pub fn of(error: &io::Error) -> Self {
        let errno = Errno::from_io_error(error);
        MEANINGS
            .iter()
            .find(|(known, _)| Some(*known) == errno)
            .map_or(Self::Lasting, |(_, meaning)| *meaning)
    }
}

/// Whether the machine lacks something, so that a later try may succeed.
pub fn is_shortage(error: &io::Error) -> bool {
    StartError::of(error) == StartError::Shortage
}

/// Whether a disk or a network share has failed, which may pass.
pub fn is_disk_error(error: &io::Error) -> bool {
    StartError::of(error) == StartError::Passing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: i32) -> StartError {
        StartError::of(&io::Error::from_raw_os_error(number))
    }

    #[test]
    fn each_error_of_the_system_has_one_meaning() {
        use StartError::{Busy, Lasting, Passing, Shortage};
        let expected: [(StartError, &[i32]); 4] = [
            (
                Shortage,
                &[
                    libc::EAGAIN,
                    libc::EMFILE,
                    libc::ENFILE,
                    libc::ENOMEM,
                    libc::ENOSPC,
                    libc::EDQUOT,
                    libc::EFBIG,
                    libc::EROFS,
                ],
            ),
            (Busy, &[libc::ETXTBSY]),
            (
                Passing,
                &[
                    libc::EIO,
                    libc::ESTALE,
                    libc::ETIMEDOUT,
                    libc::EHOSTDOWN,
                    libc::EHOSTUNREACH,
                    libc::ENETDOWN,
                    libc::ENETUNREACH,
                    libc::ENETRESET,
                    libc::ENONET,
                    libc::ENOLINK,
                    libc::ECOMM,
                    libc::ECONNABORTED,
                    libc::ECONNREFUSED,
                    libc::ECONNRESET,
                    libc::ENOTCONN,
                    libc::ESHUTDOWN,
                    libc::EPIPE,
                    libc::EPROTO,
                    libc::EREMOTEIO,
                    libc::ENOBUFS,
                    libc::ENXIO,
                    libc::ENODEV,
                    libc::ENOMEDIUM,
                    libc::EBUSY,
                    libc::EINTR,
                    libc::ENOLCK,
                    libc::EBADMSG,
                    libc::EUCLEAN,
                    libc::ENODATA,
                    libc::ENOKEY,
                    libc::EKEYEXPIRED,
                    libc::EKEYREVOKED,
                    libc::EKEYREJECTED,
                ],
            ),
            (
                Lasting,
                &[
                    libc::ENOENT,
                    libc::ENOTDIR,
                    libc::EISDIR,
                    libc::EACCES,
                    libc::EPERM,
                    libc::ENOEXEC,
                    libc::ELIBBAD,
                    libc::ELOOP,
                    libc::ENAMETOOLONG,
                    libc::E2BIG,
                    libc::EINVAL,
                    libc::ENOSYS,
                    libc::EOPNOTSUPP,
                    libc::EFAULT,
                ],
            ),
        ];
        for (meaning, numbers) in expected {
            for number in numbers {
                assert_eq!(of(*number), meaning, "{}", io::Error::from_raw_os_error(*number));
            }
        }
        let numbers: Vec<i32> = expected.iter().flat_map(|(_, numbers)| numbers.iter().copied()).collect();
        assert_eq!(numbers.len(), MEANINGS.len(), "each is looked at, and each once");
        assert!(MEANINGS.iter().all(|(errno, _)| numbers.contains(&errno.raw_os_error())));
    }

    #[test]
    fn what_is_not_in_the_table_lasts() {
        assert_eq!(of(libc::EDOM), StartError::Lasting);
        // The standard library refuses words with a NUL in them without an error of the system.
        assert_eq!(StartError::of(&io::ErrorKind::InvalidInput.into()), StartError::Lasting);
    }
}
