//! The surroundings of a started command, and the messages for one that cannot start.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::super::testing::Sandbox;
use crate::model::{Bytes, EndCause, Status};

/// Written by another process: a file that this one has open for writing, if only in a child of another test
/// that is being forked, cannot be executed.
fn script(path: &Path, text: &str, mode: &str) {
    let write = "printf %s \"$1\" > \"$2\" && chmod \"$3\" \"$2\"";
    let written = Command::new("sh").args(["-c", write, "sh", text]).args([path, Path::new(mode)]).status();
    assert!(written.unwrap().success());
}

/// The message of a start that fails, with the name of the folder replaced.
fn spawn_error(sandbox: &Sandbox) -> String {
    let end = sandbox.run();
    assert!(matches!(end.cause, Some(EndCause::SpawnFailed(_))), "{end:?}");
    end.message.unwrap().replace(sandbox.folder.path().to_str().unwrap(), "FOLDER")
}

#[test]
fn the_words_say_whether_directory_or_program_is_wrong() {
    let mut sandbox = Sandbox::shell("true");
    sandbox.definition.cwd = Bytes::from(sandbox.path("gone").as_os_str());
    assert_eq!(spawn_error(&sandbox), "no such directory: FOLDER/gone");

    let mut sandbox = Sandbox::argv(&["no-such-program-either"]);
    fs::write(sandbox.path("file"), "").unwrap();
    sandbox.definition.cwd = Bytes::from(sandbox.path("file").as_os_str());
    assert_eq!(spawn_error(&sandbox), "not a directory: FOLDER/file");

    assert_eq!(spawn_error(&Sandbox::argv(&["./missing"])), "no such program: ./missing");
    assert_eq!(spawn_error(&Sandbox::argv(&[""])), "no such program: the command is empty");
    assert_eq!(spawn_error(&Sandbox::argv(&["/"])), "not executable: /: a directory");

    let sandbox = Sandbox::argv(&["./plain"]);
    script(&sandbox.path("plain"), "#!/bin/sh\n", "644");
    assert_eq!(spawn_error(&sandbox), "not executable: ./plain");

    let sandbox = Sandbox::argv(&["./orphan"]);
    script(&sandbox.path("orphan"), "#!/no/such/interpreter\n", "755");
    assert_eq!(
        spawn_error(&sandbox),
        "not executable: ./orphan: the interpreter that its first line names does not exist"
    );

    let sandbox = Sandbox::argv(&["./prose"]);
    script(&sandbox.path("prose"), "no first line\n", "755");
    assert_eq!(
        spawn_error(&sandbox),
        "not executable: ./prose: neither a binary of this machine nor a script with a #! line"
    );
}

#[test]
fn what_the_kernel_cannot_take_is_a_failure_with_words() {
    let mut sandbox = Sandbox::argv(&["true"]);
    sandbox.args = vec![Bytes(vec![b'x'; 200_000])];
    assert!(spawn_error(&sandbox).starts_with("too long: "));
    let mut sandbox = Sandbox::argv(&["true"]);
    sandbox.args = vec![Bytes(b"a\0b".to_vec())];
    assert!(spawn_error(&sandbox).starts_with("cannot start true: "));
}

#[test]
fn the_path_is_searched_as_execvp_does() {
    let mut sandbox = Sandbox::argv(&["chosen"]);
    let prepare = "mkdir shut empty yes no; ln -s /bin/true yes/chosen; ln -s /bin/false no/chosen
        echo echo > shut/chosen; ln -s /bin/false chosen";
    let prepared = Command::new("sh").args(["-ec", prepare]).current_dir(sandbox.folder.path()).status();
    assert!(prepared.unwrap().success());
    for (path, expected) in [
        ("yes:no", "exit 0"),
        ("no:yes", "exit 1"),
        ("gone:empty:shut/chosen:yes", "exit 0"),
        ("shut:yes", "exit 0"),
        ("shut:empty", "not executable: chosen"),
        (":yes", "exit 1"),
        ("yes:", "exit 0"),
        ("", "exit 1"),
        ("empty", "no such program: chosen"),
    ] {
        sandbox = sandbox.env("PATH", path);
        let end = sandbox.run();
        let found = match end.status {
            Some(Status::Exited(status)) => format!("exit {status}"),
            _ => end.message.unwrap(),
        };
        assert_eq!(found, expected, "{path}");
    }
}
