//! `env_file`: variables that the worker reads at each start, and that are stored nowhere.

use std::fs;

use crate::support::{Sandbox, json};

/// The message of the only attempt of a job that could not be started.
fn refusal(sandbox: &Sandbox, name: &str) -> String {
    let job = sandbox.finish(name);
    assert_eq!(job["error_code"], "SPAWN_FAILED", "{job}");
    assert_eq!(job["attempts"], 1);
    let message = job["history"][0]["message"].as_str().expect("a message").to_owned();
    message.replace(&sandbox.dir().display().to_string(), "DIR")
}

#[test]
fn each_start_reads_it_over_the_environment_of_the_worker_and_under_env() {
    let sandbox = Sandbox::new(
        "[defaults]\nenv_file = 'common.env'\n[jobs.both]\nenv_file = ['common.env', '-sub/own.env', '-none.env']\n\
         env = { C = 'env' }\nmax_attempts = 2\nbackoff = ['1ms']\n\
         command = 'echo $A $B $C $D $RUNNER_JOB_NAME >> log; printf \"B=later\\n\" > sub/own.env; exit 1'\n\
         [jobs.common]\ncommand = 'echo $A $B $C $D >> log'\n[jobs.none]\nenv_file = []\ncommand = 'echo $A- >> log'\n",
    );
    sandbox.write("common.env", "# for all\nexport A='common a'\nB=common\nC=common\n");
    sandbox.write("sub/own.env", "B=own\nC=own\nD=$HOME\n");
    sandbox.run("enqueue both common none").ok();
    sandbox.call("work -j1 --drain -q").env("A", "worker").env("D", "worker").run().exits(1);
    let mut log = sandbox.log();
    log.sort();
    assert_eq!(
        log,
        [
            "common a common common worker",
            "common a later env worker both",
            "common a own env $HOME both",
            "worker-"
        ]
    );
}

#[test]
fn its_path_is_stored_and_its_contents_are_not() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'test ${#KEY} = 6'\nenv_file = 'secrets.env'\n");
    sandbox.write("secrets.env", "KEY=geheim\nPASSWORD='geh\\eim'\n");
    assert_eq!(sandbox.finish("a")["state"], "succeeded");
    sandbox.write("secrets.env", "KEY=geheim\nPASSWORD=geheim\\\n");
    assert_eq!(
        refusal(&sandbox, "a"),
        "cannot use the env_file DIR/secrets.env: line 2: a backslash needs single quotes around the value"
    );
    let stored = sandbox.sql().text("SELECT definition FROM job_definitions");
    assert!(stored.contains("secrets.env"), "{stored}");
    for entry in fs::read_dir(sandbox.dir()).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.to_string_lossy().contains("runner.db") && path.is_file() {
            let bytes = fs::read(&path).expect("a file");
            assert!(!bytes.windows(6).any(|part| part == b"geheim"), "{}", path.display());
        }
    }
    sandbox.run("inspect 1").ok().shows("env_file  ").shows("/secrets.env");
}

#[test]
fn one_that_cannot_be_used_is_a_failed_start_that_names_it() {
    let sandbox = Sandbox::empty();
    let cases = [
        ("gone", "cannot read the env_file DIR/gone: No such file or directory (os error 2)"),
        ("folder", "cannot use the env_file DIR/folder: it is not a regular file"),
        ("fifo", "cannot use the env_file DIR/fifo: it is not a regular file"),
        ("latin", "cannot use the env_file DIR/latin: it is not UTF-8 text"),
        ("line", "cannot use the env_file DIR/line: line 2: there is no \"=\""),
        ("own", "cannot use the env_file DIR/own: line 1: runner itself sets RUNNER_DB; choose another name"),
        (
            "long",
            "cannot use the env_file DIR/long: line 1: the variable has 131073 bytes, and the kernel takes at most 131072",
        ),
    ];
    let jobs = cases.map(|(name, _)| format!("[jobs.{name}]\ncommand = 'touch ran'\nenv_file = '{name}'\n"));
    sandbox.write("jobs.toml", jobs.concat() + "[jobs.dash]\ncommand = 'true'\nenv_file = '-fifo'\n");
    sandbox.write("folder/file", "");
    sandbox.program("mkfifo").arg(sandbox.path("fifo")).run().ok();
    fs::write(sandbox.path("latin"), b"A=caf\xe9\n").expect("a file");
    sandbox.write("line", "A=1\nno assignment\n");
    sandbox.write("own", "RUNNER_DB=x\n");
    sandbox.write("long", "L=".to_owned() + &"x".repeat((128 << 10) - 2));
    for (name, message) in cases {
        assert_eq!(refusal(&sandbox, name), message);
    }
    sandbox.write("kernel.toml", "[jobs.kernel]\ncommand = 'true'\nenv_file = '/proc/version'\n");
    let said = "cannot use the env_file /proc/version: it is a file of the kernel";
    sandbox.run("check --file kernel.toml").says(said).ok();
    assert_eq!(refusal(&sandbox, "dash"), cases[2].1, "only a missing file is allowed");
    assert!(!sandbox.path("ran").exists());
    sandbox.run("wait gone").exits(126);
    // The file may still be made, so `check` only warns.
    let plan = sandbox
        .run("check")
        .says("runner: gone cannot start here: cannot read the env_file")
        .ok()
        .stderr
        .replace(&sandbox.dir().display().to_string(), "DIR");
    for (_, message) in cases {
        assert!(plan.split_whitespace().collect::<Vec<_>>().join(" ").contains(message), "{message}: {plan}");
    }
}

#[test]
fn all_variables_together_may_be_too_long_for_the_kernel() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\nenv_file = 'big'\n");
    let line = |number: u32| format!("A{number}={}\n", "x".repeat(120 << 10));
    sandbox.write("big", (0..60).map(line).collect::<String>());
    assert_eq!(refusal(&sandbox, "a"), "too long: the arguments and variables of /bin/sh together");
}

#[test]
fn a_path_in_it_finds_the_program() {
    let sandbox = Sandbox::new(
        "[jobs.a]\ncommand = ['chosen']\nenv_file = 'a.env'\n[jobs.b]\ncommand = ['other']\nenv_file = 'a.env'\n",
    );
    sandbox.program("sh").arg("-c").arg("mkdir bin; ln -s /bin/true bin/chosen; : > bin/other").run().ok();
    sandbox.write("a.env", format!("PATH={}", sandbox.path("bin").display()));
    assert_eq!(sandbox.finish("a")["state"], "succeeded");
    assert_eq!(refusal(&sandbox, "b"), "not executable: other");
}

#[test]
fn home_and_a_missing_file_are_allowed_in_front_of_the_path() {
    let sandbox = Sandbox::new(
        "[jobs.a]\ncommand = 'pwd >> log; echo $A >> log'\ncwd = '~/sub'\nenv_file = ['~/a.env', '-~/none.env']\n\
         [jobs.home]\ncommand = 'pwd >> log'\ncwd = '~'\n",
    );
    sandbox.write("home/sub/log", "");
    sandbox.write("home/a.env", "A=home");
    sandbox.call("enqueue a home").env("HOME", sandbox.path("home")).run().ok();
    sandbox.drain();
    let (home, sub) =
        (sandbox.path("home").display().to_string(), sandbox.path("home/sub").display().to_string());
    assert_eq!(sandbox.read("home/sub/log"), format!("{sub}\nhome\n"));
    assert_eq!(sandbox.read("home/log"), format!("{home}\n"));
    let plan =
        sandbox.run("check --json").says("cannot start here: cannot read the env_file").ok().json_lines();
    let own = |name: &str| sandbox.path(name).display().to_string();
    assert_eq!(
        plan[0]["env_file"],
        json!([{ "path": own("a.env") }, { "path": own("none.env"), "optional": true }])
    );
    sandbox
        .run("check")
        .says("runner: a cannot start here: cannot read the env_file")
        .ok()
        .shows("/none.env, if there is one");
    for home in ["", "relative"] {
        let ran = sandbox.call("enqueue home").env("HOME", home).run().exits(65);
        ran.says("there is no home directory: $HOME is not set to an absolute path");
    }
}
