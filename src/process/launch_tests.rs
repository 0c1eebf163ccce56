//! What a command sees when it starts, and what is said when it cannot.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::io::Errno;

use super::super::spawn_error::NotSpawned;
use super::super::testing::Bed;
use crate::model::{Bytes, Exit, Status, StopReason};

/// Written by another process: a file that this one has open for writing, if only in a child of another test
/// that is being forked, cannot be executed.
fn script(path: &Path, text: &str, mode: &str) {
    let write = "printf %s \"$1\" > \"$2\" && chmod \"$3\" \"$2\"";
    let written = Command::new("sh").args(["-c", write, "sh", text]).args([path, Path::new(mode)]).status();
    assert!(written.unwrap().success());
}

/// What is said when this cannot be started.
fn words(bed: &Bed) -> String {
    let over = bed.run();
    assert_eq!(over.ending, Exit::unseen(StopReason::SpawnFailed));
    let folder = bed.folder.path().to_str().unwrap();
    over.message.unwrap().replace(folder, "FOLDER")
}

#[test]
fn standard_input_is_the_file_that_is_given_or_nothing() {
    let mut bed = Bed::shell("cat");
    assert_eq!(bed.run().stdout.bytes, b"");
    fs::write(bed.path("input"), "a\nb").unwrap();
    bed.stdin = Some(fs::File::open(bed.path("input")).unwrap());
    assert_eq!(bed.run().stdout.bytes, b"a\nb");
}

#[test]
fn arguments_arrive_byte_for_byte() {
    let args = || [&b"a b"[..], b"", b"\xff\x80", b"'\"$x", b"-n", b"two\nlines"];
    let expected: Vec<u8> = args().map(|each| [each, b"|"].concat()).concat();

    let mut shell = Bed::shell("printf '%s:' \"$0\"; printf '%s|' \"$@\"");
    shell.args = args().map(|each| Bytes(each.to_vec())).into();
    assert_eq!(shell.run().stdout.bytes, [b"sh:", &expected[..]].concat());

    let mut plain = Bed::argv(&["printf", "%s|"]);
    plain.args = args().map(|each| Bytes(each.to_vec())).into();
    assert_eq!(plain.run().stdout.bytes, expected);
}

#[test]
fn stdin_is_empty_and_nothing_else_is_open() {
    crate::process::cleanse();
    let over = Bed::shell("cat; readlink /proc/$$/fd/0; ls -l /proc/$$/fd > open; grep -c ':\\[' open").run();
    assert_eq!(over.stdout.bytes, b"/dev/null\n2\n", "two pipes");
}

#[test]
fn it_leads_a_group_of_its_own_in_its_directory() {
    let bed = Bed::shell("ps -o pgid= -p $$ | tr -d ' '; echo $$; pwd -P");
    let out = String::from_utf8(bed.run().stdout.bytes).unwrap();
    let [group, pid, cwd] = out.lines().collect::<Vec<_>>()[..] else {
        panic!("{out}");
    };
    assert_eq!(group, pid);
    assert_eq!(Path::new(cwd), bed.folder.path().canonicalize().unwrap());
}

#[test]
fn variables_are_laid_over_each_other() {
    let bed = Bed::shell(
        "echo \"$HOME $EXTRA $RUNNER_JOB_NAME $RUNNER_JOB_ID $RUNNER_ATTEMPT $RUNNER_WORKER_ID ${RUNNER_REPORT##*/}\"",
    )
    .env("EXTRA", "extra")
    .env("RUNNER_JOB_NAME", "nor here")
    .env("RUNNER_JOB_ID", "a job cannot lie")
    .env("RUNNER_REPORT", "nor here");
    let out = String::from_utf8(bed.run().stdout.bytes).unwrap();
    let home = std::env::var("HOME").unwrap_or_default();
    assert_eq!(out, format!("{home} extra test 1 1 {} report\n", bed.mark.worker_id));
}

#[test]
fn a_path_of_its_own_finds_the_program() {
    let bed = Bed::argv(&["only-there"]);
    let there = bed.path("bin");
    fs::create_dir(&there).unwrap();
    script(&there.join("only-there"), "#!/bin/sh\nexit 9\n", "755");
    assert_eq!(words(&bed), "no such program: only-there");
    let bed = bed.env("PATH", there.to_str().unwrap());
    assert_eq!(bed.run().ending, Exit::by_itself(Status::Exited(9)));

    let relative = Bed::argv(&["./beside"]);
    script(&relative.path("beside"), "#!/bin/sh\nexit 8\n", "755");
    assert_eq!(relative.run().ending, Exit::by_itself(Status::Exited(8)));
}

#[test]
fn the_words_say_whether_directory_or_program_is_wrong() {
    let mut bed = Bed::shell("true");
    bed.spec.cwd = Bytes::from(bed.path("gone").as_os_str());
    assert_eq!(words(&bed), "no such directory: FOLDER/gone");

    let mut bed = Bed::argv(&["no-such-program-either"]);
    fs::write(bed.path("file"), "").unwrap();
    bed.spec.cwd = Bytes::from(bed.path("file").as_os_str());
    assert_eq!(words(&bed), "not a directory: FOLDER/file");

    assert_eq!(words(&Bed::argv(&["./missing"])), "no such program: ./missing");
    assert_eq!(words(&Bed::argv(&[""])), "no such program: the command is empty");
    assert_eq!(words(&Bed::argv(&["/"])), "not executable: /: a directory");

    let bed = Bed::argv(&["./plain"]);
    script(&bed.path("plain"), "#!/bin/sh\n", "644");
    assert_eq!(words(&bed), "not executable: ./plain");

    let bed = Bed::argv(&["./orphan"]);
    script(&bed.path("orphan"), "#!/no/such/interpreter\n", "755");
    assert_eq!(
        words(&bed),
        "not executable: ./orphan: the interpreter that its first line names does not exist"
    );

    let bed = Bed::argv(&["./prose"]);
    script(&bed.path("prose"), "no first line\n", "755");
    assert_eq!(
        words(&bed),
        "not executable: ./prose: neither a binary of this machine nor a script with a #! line"
    );
}

#[test]
fn what_the_kernel_cannot_take_is_a_failure_with_words() {
    let mut bed = Bed::argv(&["true"]);
    bed.args = vec![Bytes(vec![b'x'; 200_000])];
    assert!(words(&bed).starts_with("too long: "));
    let mut bed = Bed::argv(&["true"]);
    bed.args = vec![Bytes(b"a\0b".to_vec())];
    assert!(words(&bed).starts_with("cannot start true: "));
}

#[test]
fn what_the_machine_lacks_is_no_fault_of_the_job() {
    let explain = |errno: Errno| {
        let explained = Bed::argv(&["true"]).launch(|l| NotSpawned::explain(errno.into(), l));
        matches!(explained, NotSpawned::Shortage(why) if why.raw_os_error() == Some(errno.raw_os_error()))
    };
    for errno in [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSPC] {
        assert!(explain(errno), "{errno}");
    }
    for errno in [Errno::NOENT, Errno::ACCESS, Errno::TOOBIG, Errno::TXTBSY] {
        assert!(!explain(errno), "{errno}");
    }
}
