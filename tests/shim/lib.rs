//! A library that is loaded into the program before the C library (`LD_PRELOAD`), for some suites: it records
//! what the program does to the files below a folder (`power`), lets calls fail (`faults`), and sets the wall clock
//! (`clock_steps`, `year`).
//!
//! The release build knows nothing of it, and it sees everything: SQLite and the standard library both reach the kernel
//! through the C library's functions, which this one stands in for. What it is to do comes by the environment:
//!
//! | variable | meaning |
//! |---|---|
//! | `SHIM_EXE` | the program it acts in; in all others, as in the shells of jobs, it passes everything on |
//! | `SHIM_ROOT`, `SHIM_JOURNAL` | record what is done to files below this folder, in this file |
//! | `SHIM_SIDE` | a file to which jobs append; what any process writes to it is recorded too |
//! | `SHIM_FAULT` | `KIND:N:once\|ever:ERRNO:fail\|after\|short\|count`: the N-th call of a kind fails |
//! | `CLOCK_OFFSET` | a file with the milliseconds by which the wall clock is off |
//! | `SHIM_HITS` | a byte is appended to this file by each process in which the fault was met; the kind of each call, to count |
//!
//! All calls that are recorded, of all processes, follow one another under one lock, and each is recorded before the
//! next can begin: the order of the journal is the order of the acts.
// Standing in for C functions is unsafe by nature. The argument for all of it: each function has the signature of the
// one it stands in for, hands on the caller's pointers unchanged, and itself reads only through those that the
// contract of that function makes readable: paths closed by a NUL, and buffers of the given length.
#![allow(unsafe_code)]
#![cfg(target_env = "gnu")]

mod config;
mod faults;
mod files;
mod kernel;
mod resources;
