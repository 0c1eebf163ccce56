//! The library that is loaded into the program to record what it does, or to let its calls fail.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::Call;

/// The program that the suites run.
pub const RUNNER: &str = env!("CARGO_BIN_EXE_runner");

/// Where the library is: `cargo test` builds it among the examples, `cargo test --test it` does not.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = Path::new(RUNNER).parent().expect("the program lies in a folder");
        let library = target.join("examples/libshim.so");
        if !library.exists() {
            let profile = if target.ends_with("release") { "release" } else { "dev" };
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let built = Command::new(cargo)
                .args(["build", "--locked", "--quiet", "--example", "shim", "--profile", profile])
                .arg("--target-dir")
                .arg(target.parent().expect("the target folder"))
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .status();
            assert!(built.is_ok_and(|status| status.success()), "cargo build --example shim failed");
        }
        library
    })
}

/// Loads the library into the program that this calls.
pub fn shimmed(call: Call) -> Call {
    call.env("LD_PRELOAD", library()).env("SHIM_EXE", RUNNER)
}
