//! Asks other programs of the machine.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
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

/// Runs a program as another user, by root, and gives what it prints, if it ends well.
///
/// That user can make the process do anything. So it gets neither the terminal, the environment nor the folder of root, it is
/// waited for three seconds, and it can print a mebibyte and no more.
pub fn answer_of_user(command: impl IntoIterator<Item = OsString>) -> Option<String> {
    const MAX_BYTES: u64 = 1 << 20;
    let answer = memfd_create("answer", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).ok()?;
    ftruncate(&answer, MAX_BYTES).ok()?;
    fcntl_add_seals(&answer, SealFlags::GROW).ok()?;
    let mut answer = File::from(answer);
    let status = Command::new("setsid")
        .args(["--wait", "timeout", "--kill-after=1", "3"])
        .args(command)
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .stdout(answer.try_clone().ok()?)
        .stderr(Stdio::null())
        .status();
    let mut bytes = Vec::new();
    answer.rewind().ok()?;
    answer.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    status.ok()?.success().then(|| String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The words of a command.
pub fn words(program: &str, arguments: &[&str]) -> Vec<String> {
    [program].iter().chain(arguments).map(|word| (*word).to_owned()).collect()
}

/// The last line of a text that says something.
pub fn last_line(text: &str) -> Option<String> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_of(line: &str) -> Option<String> {
        answer_of_user(["sh", "-c", line].map(OsString::from))
    }

    #[test]
    fn another_user_gets_nothing_of_root_and_holds_nothing_up() {
        assert_eq!(answer_of("echo yes; echo no >&2").as_deref(), Some("yes\n"));
        assert_eq!(answer_of("echo yes; exit 1"), None);
        let variables = answer_of("env").unwrap();
        let names: Vec<&str> = variables.lines().filter_map(|line| line.split('=').next()).collect();
        assert!(names.iter().all(|name| ["PATH", "PWD", "SHLVL", "_"].contains(name)), "{variables}");
        assert_eq!(answer_of("pwd").as_deref(), Some("/\n"));
        // The sixth field is the session, the seventh the terminal. In a container the session of this test may be 0.
        let session_and_terminal = |stat: &str| -> Vec<String> {
            stat.split_whitespace().skip(5).take(2).map(str::to_owned).collect()
        };
        let own = session_and_terminal(&std::fs::read_to_string("/proc/self/stat").unwrap());
        let other = session_and_terminal(&answer_of("cat /proc/self/stat").unwrap());
        assert!(other[0] != own[0] && other[1] == "0", "{own:?} {other:?}");
        assert!(answer_of("while echo more; do :; done").is_some_and(|all| all.len() <= 1 << 20));
        assert_eq!(answer_of("kill -STOP $$"), None);
    }
}
