//! Little programs that serve as jobs: statically linked, so that they cost next to nothing themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

/// Does nothing.
const NO_OP: &str = "int main(void) { return 0; }";

/// The compiled programs; their folder goes with them.
pub struct Helpers {
    _folder: TempDir,
    pub no_op: PathBuf,
}

impl Helpers {
    pub fn compile(dir: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(dir)?;
        let folder = tempfile::tempdir_in(dir)?;
        let no_op = compile(folder.path(), "no-op", NO_OP)?;
        Ok(Self { _folder: folder, no_op })
    }
}

fn compile(folder: &Path, name: &str, source: &str) -> anyhow::Result<PathBuf> {
    let text = folder.join(format!("{name}.c"));
    let program = folder.join(name);
    fs::write(&text, source)?;
    let done = Command::new("cc")
        .args(["-O2", "-static", "-o"])
        .args([&program, &text])
        .output()
        .context("a C compiler is needed: cc")?;
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    ensure!(done.status.success(), "cc -static failed: {words}");
    Ok(program)
}
