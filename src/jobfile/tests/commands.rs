//! Jobs without a command that can be started.

use super::drawn;

#[test]
fn a_job_without_a_command() {
    let text = "[jobs.a]\ndescription = 3\n";
    insta::assert_snapshot!(drawn(text), @r##"
    error: the job `a` has no `command`
     --> /srv/jobs.toml:1:7
      |
    1 | [jobs.a]
      |       ^
      = hint: write command = "…" for the shell, or an array such as command = ["tar", "-xf", "a.tar"]

    error: `description` must be a string, not 3
     --> /srv/jobs.toml:2:15
      |
    2 | description = 3
      |               ^
      = hint: write "3"

    /srv/jobs.toml: 2 mistakes
    "##);
}

#[test]
fn commands_that_name_nothing() {
    let text = r#"
[jobs.a]
command = ""
[jobs.b]
command = []
[jobs.c]
command = ["", 3, "a\u0000"]
[jobs.d]
command = { run = "x" }
"#;
    insta::assert_snapshot!(drawn(text), @r##"
    error: `command`: it is empty
     --> /srv/jobs.toml:2:11
      |
    2 | command = ""
      |           ^^

    error: `command`: an empty array names no program
     --> /srv/jobs.toml:4:11
      |
    4 | command = []
      |           ^^
      = hint: write the program and its arguments, such as ["tar", "-xf", "a.tar"]

    error: an entry of `command`: it is empty
     --> /srv/jobs.toml:6:12
      |
    6 | command = ["", 3, "a\u0000"]
      |            ^^

    error: an entry of `command` must be a string, not 3
     --> /srv/jobs.toml:6:16
      |
    6 | command = ["", 3, "a\u0000"]
      |                ^
      = hint: write "3"

    error: an entry of `command`: it holds a NUL byte, which the system cannot pass on
     --> /srv/jobs.toml:6:19
      |
    6 | command = ["", 3, "a\u0000"]
      |                   ^^^^^^^^^

    error: `command` must be a string for the shell ("make backup") or an array that is executed as it is (["make", "backup"]), not a table
     --> /srv/jobs.toml:8:11
      |
    8 | command = { run = "x" }
      |           ^^^^^^^^^^^^^

    /srv/jobs.toml: 6 mistakes
    "##);
}
