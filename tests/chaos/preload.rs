//! Calls of the program with the library of `tests/shim` loaded before its C library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::Call;

/// The program under test.
pub const RUNNER: &str = env!("CARGO_BIN_EXE_runner");

/// Builds the library: `cargo test --test chaos` does not build examples.
fn build() -> PathBuf {
    const { assert!(cfg!(debug_assertions), "the released program cannot load the shim: leave --release out") };
    let target = Path::new(RUNNER).parent().expect("the program lies in a folder");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--locked", "--quiet", "--example", "shim", "--target-dir"])
        .arg(target.parent().expect("the target folder"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "cargo build --example shim failed");
    target.join("examples/libshim.so")
}

/// The call with the shim, which does what the environment tells it.
pub fn shimmed(call: Call) -> Call {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    call.env("LD_PRELOAD", SHIM.get_or_init(build)).env("SHIM_EXE", RUNNER)
}
