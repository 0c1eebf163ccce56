//! Jobs get default signals, an empty mask and no descriptors, whatever the worker was given.

use std::os::fd::AsRawFd;
use std::process::Command;

use super::*;

/// The hexadecimal mask of this name in `/proc/PID/status`.
fn mask(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
}

#[test]
fn nothing_is_passed_on() {
    let file = std::fs::File::open("/dev/null").unwrap();
    // SAFETY: plain calls on a signal that nothing else here uses, on this thread's mask, and on an open file.
    let leaked = unsafe {
        libc::signal(libc::SIGUSR2, libc::SIG_IGN);
        let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(mask.as_mut_ptr());
        libc::sigaddset(mask.as_mut_ptr(), libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_BLOCK, mask.as_ptr(), ptr::null_mut());
        // High enough to be no descriptor of the commands below; as a duplicate, not closed on exec.
        libc::fcntl(file.as_raw_fd(), libc::F_DUPFD, 700)
    };
    let show = || {
        let output = Command::new("/bin/sh")
            .args(["-c", "grep ^Sig /proc/self/status; ls /proc/self/fd"])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let bit = |signal: i32| 1_u64 << (signal - 1);
    // The C library ignores two signals of its own in every child it spawns.
    let standard = bit(32) - 1;
    let descriptor = format!("\n{leaked}\n");

    let before = show();
    assert_ne!(mask(&before, "SigIgn:") & bit(libc::SIGUSR2), 0);
    assert!(before.contains(&descriptor), "{before}");

    cleanse();
    let after = show();
    assert_eq!(mask(&after, "SigIgn:") & standard, 0);
    assert_eq!(mask(&after, "SigBlk:"), 0);
    assert!(!after.contains(&descriptor), "{after}");
}

#[test]
fn an_ignored_signal_still_does_nothing() {
    // SAFETY: a signal that nothing else here uses; it is sent to this process once it has a handler.
    unsafe {
        libc::signal(libc::SIGWINCH, libc::SIG_IGN);
        assert!(handle_if_ignored(libc::SIGWINCH));
        assert!(!handle_if_ignored(libc::SIGWINCH), "it has a handler now");
        libc::raise(libc::SIGWINCH);
    }
}
