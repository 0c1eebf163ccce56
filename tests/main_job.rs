//! The main job on real input: the script runs, and examples/main-job.txt shows what it prints.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the script with the program that is being tested, and gives its output.
fn printed() -> String {
    let runner = Path::new(env!("CARGO_BIN_EXE_runner"));
    let server = runner.with_file_name("examples").join("flaky_server");
    let folder = tempfile::tempdir().unwrap();
    let out = Command::new("sh")
        .arg(home().join("examples/main-job.sh"))
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap())
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path())
        .env("TZ", "UTC")
        .env("RUNNER", runner)
        .env("SERVER", server)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}: {stderr}", out.status);
    String::from_utf8(out.stdout).unwrap()
}

/// The lines without what differs from run to run: numbers, times, paths and the width of columns.
fn constant(text: &str) -> Vec<String> {
    let differs = |word: &&str| !matches!(*word, "ago," | "ago" | "s" | "ms" | "after");
    let constant = |word: &str| {
        // A fast machine prints `now` where a slow one prints `1.1 s ago`.
        let is_time = word == "now" || word.contains(|c: char| c.is_ascii_digit());
        let stays = !is_time && !word.starts_with("/tmp");
        if stays { word.to_owned() } else { "#".to_owned() }
    };
    let line = |line: &str| {
        let mut words: Vec<String> = line.split_whitespace().filter(differs).map(constant).collect();
        words.dedup();
        words.join(" ")
    };
    text.lines().map(line).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_transcript_shows_what_the_script_prints() {
    let shown = fs::read_to_string(home().join("examples/main-job.txt")).unwrap();
    assert_eq!(constant(&shown), constant(&printed()));
}
