//! Libraries that suites load into the program, before its C library, and a program that serves as a job.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::Call;

/// The program that the suites run.
pub const RUNNER: &str = env!("CARGO_BIN_EXE_runner");

/// Where the library of an example is.
fn library(example: &str) -> PathBuf {
    let is_static = !cfg!(debug_assertions);
    assert!(!is_static, "nothing can be loaded into the released program: run this suite without --release");
    built(example, &format!("lib{example}.so"))
}

/// A program whose first thread ends at once, and which ends when the file that it is given does.
pub fn headless() -> PathBuf {
    built("headless", "headless")
}

/// Where this file of an example is: `cargo test` builds it among the examples, `cargo test --test it` does not.
fn built(example: &str, file: &str) -> PathBuf {
    let target = Path::new(RUNNER).parent().expect("the program lies in a folder");
    let built = target.join("examples").join(file);
    if !built.exists() {
        let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--locked", "--quiet", "--example", example, "--target-dir"])
            .arg(target.parent().expect("the target folder"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(status.is_ok_and(|status| status.success()), "cargo build --example {example} failed");
    }
    built
}

/// Has the program that this calls record what it does, or fail where it is told to.
pub fn shimmed(call: Call) -> Call {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    call.env("LD_PRELOAD", SHIM.get_or_init(|| library("shim"))).env("SHIM_EXE", RUNNER)
}

/// Has the program that this calls see a clock that is as far off as the file `offset` says, in milliseconds.
pub fn off_clock(call: Call, offset: &Path) -> Call {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    call.env("LD_PRELOAD", SHIM.get_or_init(|| library("clockshim"))).env("CLOCK_OFFSET", offset)
}
