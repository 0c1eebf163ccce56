//! Calls of the program with the library of `tests/shim` loaded before its C library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::Call;

/// The program under test.
pub const RUNNER: &str = env!("CARGO_BIN_EXE_runner");

/// The library of an example. `cargo test --test chaos` does not build examples, so build it here.
fn library(example: &str) -> PathBuf {
    assert!(
        cfg!(debug_assertions),
        "the released program cannot load the shim: run this suite without --release"
    );
    let target = Path::new(RUNNER).parent().expect("the program lies in a folder");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--locked", "--quiet", "--example", example, "--target-dir"])
        .arg(target.parent().expect("the target folder"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "cargo build --example {example} failed");
    target.join("examples").join(format!("lib{example}.so"))
}

/// Has the program record what it does, or fail where it is told to.
pub fn shimmed(call: Call) -> Call {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    call.env("LD_PRELOAD", SHIM.get_or_init(|| library("shim"))).env("SHIM_EXE", RUNNER)
}

/// Shows the program a wall clock that is as many milliseconds off as the file `offset` says.
pub fn off_clock(call: Call, offset: &Path) -> Call {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    call.env("LD_PRELOAD", SHIM.get_or_init(|| library("clockshim"))).env("CLOCK_OFFSET", offset)
}
