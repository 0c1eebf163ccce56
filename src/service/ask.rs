//! Asks other programs of the machine.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::getuid;

/// The command of these words, with nothing to read.
pub fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    // After `su` the variable by which systemctl finds the user's manager is missing.
    let runtime = PathBuf::from(format!("/run/user/{}", getuid().as_raw()));
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() && runtime.is_dir() {
        command.env("XDG_RUNTIME_DIR", runtime);
    }
    command
}

/// What it prints, if it can be run and ends well.
pub fn answer(words: &[String]) -> Option<String> {
    let output = command(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The words of a command.
pub fn words(program: &str, arguments: &[&str]) -> Vec<String> {
    [program].iter().chain(arguments).map(|word| (*word).to_owned()).collect()
}

/// The last line of a text that says something.
pub fn last_line(text: &str) -> Option<String> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
