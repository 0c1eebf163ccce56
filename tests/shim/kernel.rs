//! The calls that this library makes itself, straight to the kernel, past the functions that it stands in for.

use std::ffi::CStr;

use libc::{c_int, c_long, c_void};

/// `errno` of this thread.
pub fn set_errno(errno: c_int) {
    // SAFETY: the C library gives the address of this thread's errno.
    unsafe { *libc::__errno_location() = errno };
}

/// The failure of a call that says so by -1.
pub fn fail(errno: c_int) -> c_long {
    set_errno(errno);
    -1
}

/// The target of a symbolic link.
pub fn link(path: &CStr) -> Option<Vec<u8>> {
    let mut buffer = vec![0_u8; 4096];
    // SAFETY: the path is closed by a NUL, and the buffer has the length that is said.
    let length = unsafe {
        libc::syscall(libc::SYS_readlinkat, libc::AT_FDCWD, path.as_ptr(), buffer.as_mut_ptr(), buffer.len())
    };
    buffer.truncate(usize::try_from(length).ok()?);
    Some(buffer)
}

/// The path behind a descriptor.
pub fn path_of(fd: c_int) -> Option<Vec<u8>> {
    let name = format!("/proc/self/fd/{fd}\0");
    link(CStr::from_bytes_with_nul(name.as_bytes()).ok()?)
}

pub fn status(fd: c_int) -> Option<libc::stat> {
    // SAFETY: a stat is plain numbers, for which zeros will do.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: there is room for the answer. The C library's function is not one of those stood in for.
    (unsafe { libc::fstat(fd, &raw mut found) } == 0).then_some(found)
}

/// Whether this descriptor is of a regular file.
pub fn is_regular(fd: c_int) -> bool {
    status(fd).is_some_and(|found| found.st_mode & libc::S_IFMT == libc::S_IFREG)
}

/// Whether something of this name exists.
///
/// # Safety
/// The path is closed by a NUL.
pub unsafe fn exists(dir: c_int, path: *const libc::c_char) -> bool {
    // SAFETY: as the caller says.
    unsafe { libc::syscall(libc::SYS_faccessat, dir, path, libc::F_OK) == 0 }
}

/// Where the next write to this descriptor goes.
pub fn position(fd: c_int) -> i64 {
    // SAFETY: the calls take numbers only.
    let (flags, at) = unsafe {
        (
            libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFL),
            libc::syscall(libc::SYS_lseek, fd, 0, libc::SEEK_CUR),
        )
    };
    if flags & c_long::from(libc::O_APPEND) != 0 { status(fd).map_or(0, |found| found.st_size) } else { at }
}

/// Writes all of it.
pub fn write_all(fd: c_int, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the buffer has the length that is said.
        let done = unsafe { libc::syscall(libc::SYS_write, fd, bytes.as_ptr(), bytes.len()) };
        match usize::try_from(done) {
            Ok(done) if done > 0 => bytes = &bytes[done..],
            _ => std::process::abort(), // a journal with a gap would prove nothing
        }
    }
}

/// Opens a file to append to.
pub fn open_to_append(path: &[u8]) -> Option<c_int> {
    let path: Vec<u8> = path.iter().copied().chain([0]).collect();
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the path is closed by a NUL.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0o600) };
    c_int::try_from(fd).ok().filter(|fd| *fd >= 0)
}

/// The function of this name that this library hides.
pub fn hidden(name: &CStr) -> *mut c_void {
    // SAFETY: the name is closed by a NUL.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        std::process::abort();
    }
    found
}
