//! Little programs that serve as jobs: statically linked, so that they cost next to nothing themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

/// Does nothing.
const NO_OP: &str = "int main(void) { return 0; }";

/// Fails until the attempt whose number it is given.
const SUCCEEDS_AT: &str = r#"
#include <stdlib.h>
int main(int argc, char **argv) {
    const char *attempt = getenv("RUNNER_ATTEMPT");
    return !(attempt && argc > 1 && atoi(attempt) >= atoi(argv[1]));
}
"#;

/// Sends the time at which it started to the socket that it is given.
const CLOCK: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
int main(int argc, char **argv) {
    struct timespec now;
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    char text[64];
    clock_gettime(CLOCK_REALTIME, &now);
    if (argc < 2 || strlen(argv[1]) >= sizeof to.sun_path) return 1;
    strcpy(to.sun_path, argv[1]);
    int length = snprintf(text, sizeof text, "%lld.%09ld", (long long)now.tv_sec, now.tv_nsec);
    int inbox = socket(AF_UNIX, SOCK_DGRAM, 0);
    return sendto(inbox, text, length, 0, (struct sockaddr *)&to, sizeof to) != length;
}
"#;

/// The compiled programs; their folder goes with them.
pub struct Helpers {
    _folder: TempDir,
    pub no_op: PathBuf,
    pub succeeds_at: PathBuf,
    pub clock: PathBuf,
}

impl Helpers {
    pub fn compile(dir: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(dir)?;
        let folder = tempfile::tempdir_in(dir)?;
        let no_op = compile(folder.path(), "no-op", NO_OP)?;
        let succeeds_at = compile(folder.path(), "succeeds-at", SUCCEEDS_AT)?;
        let clock = compile(folder.path(), "clock", CLOCK)?;
        Ok(Self { _folder: folder, no_op, succeeds_at, clock })
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
