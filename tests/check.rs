//! `check` and `apply` warn of what will go wrong on this machine.

use crate::support::Sandbox;

/// What is told on standard error, with the folder of the sandbox as `DIR`.
fn told(sandbox: &Sandbox, line: &str) -> String {
    sandbox.run(line).ok().stderr.replace(&sandbox.dir().display().to_string(), "DIR")
}

const JOBS: &str = r#"
[jobs.cwd]
command = "true"
cwd = "nowhere"
[jobs.argv]
command = ["no-such-program", "-v"]
[jobs.found]
command = ["sh", "-c", "exit 0"]
[jobs.own-path]
command = ["tool"]
env = { PATH = "bin" }
[jobs.line]
command = "./backup.sh --all && true"
schedule = "0 2 * * *"
on_dead = "mail"
[jobs.mail]
command = ["bin/mail"]
[jobs.not-executable]
command = "./notes"
[jobs.launched]
command = ["no-such-program"]
cwd = "nowhere"
launcher = ["ssh", "nas"]
[jobs.secrets]
command = "true"
env_file = ["secrets.env", "-local.env"]
[jobs.crontab]
command = "tar -cf /srv/a-$(date +\\%F).tar /etc"
schedule = "0 3 * * *"
[jobs.variable]
command = "$HOME/bin/x; no-such-builtin"
"#;

#[test]
fn what_is_missing_on_this_machine_is_told_and_fails_nothing() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.write("bin/tool", "");
    sandbox.own("bin/tool", rustix::process::geteuid().as_raw(), 0o755);
    sandbox.write("notes", "");
    insta::assert_snapshot!(told(&sandbox, "check"), @r"
    runner: cwd cannot start here: no such directory: DIR/nowhere
    runner: argv cannot start here: no such program in PATH: no-such-program
    runner: line cannot start here: no such program: ./backup.sh
    runner: mail cannot start here: no such program: bin/mail
    runner: not-executable cannot start here: not executable: ./notes
    runner: secrets cannot start here: cannot read the env_file DIR/secrets.env: No such file or directory (os error 2)
    runner: crontab: cron takes the backslash out of `\%`, and runner leaves it: write `%`
    ");
    sandbox.run("check -q").ok().quietly();
    // Of the jobs, only those that a schedule starts count here, with the alerts of their deaths.
    insta::assert_snapshot!(told(&sandbox, "apply"), @r"
    runner: line cannot start here: no such program: ./backup.sh
    runner: mail cannot start here: no such program: bin/mail
    runner: crontab: cron takes the backslash out of `\%`, and runner leaves it: write `%`
    runner: created the database DIR/runner.db
    runner: no worker is running, so nothing fires; runner work starts one, runner service install one for good
    ");
    sandbox.run("apply -q").ok().quietly();
}

#[test]
fn a_file_that_was_never_applied_has_not_changed_since() {
    let sandbox = Sandbox::new(
        "[queues.net]\nmax_running = 4\n[jobs.a]\ncommand = 'true'\nqueue = 'net'\nschedule = '0 2 * * *'\n",
    );
    sandbox.add("-- true");
    assert!(!sandbox.run("check").ok().stdout.contains("since it was applied"));
    sandbox.run("apply -q").ok();
    sandbox.write("jobs.toml", sandbox.read("jobs.toml").replace("= 4", "= 5"));
    sandbox.run("check").ok().shows("changed since it was applied: queue net; runner apply takes");
}

#[test]
fn a_job_file_may_come_through_a_pipe() {
    let sandbox = Sandbox::empty();
    let line = format!(
        "printf '[jobs.a]\\ncommand = \"true\"\\n' | {} check /dev/stdin",
        env!("CARGO_BIN_EXE_runner")
    );
    sandbox.program("sh").arg("-c").arg(line).run().ok().shows("1 job, no mistakes");
}
