//! A program whose first thread ends before another, so that the kernel shows it without an environment. For the suites; no
//! part of the program. It ends when the file that it is given is gone.
#![allow(unsafe_code)]

use std::path::Path;
use std::time::Duration;
use std::{env, process, thread};

fn main() {
    let file = env::args_os().nth(1).expect("the name of a file");
    thread::spawn(move || {
        while Path::new(&file).exists() {
            thread::sleep(Duration::from_millis(20));
        }
        process::exit(0);
    });
    // SAFETY: it ends this thread alone, which holds nothing that another needs.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}
