//! `launcher`: a program that is put in front of the command.

use crate::support::{Sandbox, json};

#[test]
fn the_launcher_stands_in_front_of_the_command() {
    let sandbox = Sandbox::new(
        r#"
[defaults]
launcher = ["env", "FROM=defaults"]
max_attempts = 1
[jobs.line]
command = "echo $FROM $1 >> log"
[jobs.words]
command = ["sh", "-c", 'echo "$FROM $1 $2" >> log', "x", "own"]
launcher = ["env", "FROM=job"]
[jobs.dash]
command = "-v true; echo $FROM >> log"
"#,
    );
    sandbox.finish("line -- given");
    sandbox.finish("words -- given");
    sandbox.finish("dash");
    assert_eq!(sandbox.log(), ["defaults given", "job own given", "defaults"]);
    sandbox.run("inspect 1").ok().shows("launcher  env FROM=defaults");
    sandbox.run("check").ok().shows("launcher  env FROM=job");
}

#[test]
fn a_launcher_that_is_missing_is_a_failed_start_and_a_missing_command_is_its_exit_status() {
    let sandbox = Sandbox::new(
        "[jobs.no-launcher]\ncommand = 'true'\nlauncher = ['no-such-launcher', '-x']\n\
         [jobs.no-command]\ncommand = ['no-such-command']\nlauncher = ['env']\nmax_attempts = 1\n",
    );
    let job = sandbox.finish("no-launcher");
    assert_eq!(job["error_code"], "SPAWN_FAILED");
    assert_eq!(sandbox.attempt(1, 1)["message"], json!("no such program: no-such-launcher"));
    assert_eq!(sandbox.finish("no-command")["error_code"], "EXIT_127");
}

#[test]
fn an_empty_launcher_is_a_mistake() {
    let sandbox = Sandbox::new(
        "[jobs.a]\ncommand = 'true'\nlauncher = []\n[jobs.b]\ncommand = 'true'\nlauncher = 'nice'\n",
    );
    sandbox.run("check").exits(65).says("`launcher`: an empty array names no program").says("2 mistakes");
}
