//! The surroundings of a job's command: variables, directory, descriptors, signals.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::{Sandbox, Signal};

#[test]
fn the_variables_of_an_attempt() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'env | grep ^RUNNER_ > env.$RUNNER_ATTEMPT; exit 4'\nqueue = 'net'\nbackoff = ['1ms', '1ms']\n",
    );
    sandbox.add("job");
    sandbox.drain();
    let variables = |number: u32| -> BTreeMap<String, String> {
        let text = sandbox.read(&format!("env.{number}"));
        text.lines()
            .filter_map(|line| line.split_once('='))
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect()
    };
    let mut second = variables(2);
    let report = second.remove("RUNNER_REPORT").expect("a report");
    assert!(report.starts_with(&format!("{}.run/", sandbox.db().display())), "{report}");
    assert_eq!(second.remove("RUNNER_ATTEMPT_MARK").map(|mark| mark.len()), Some(32));
    let worker = sandbox.attempts(1)[1]["worker_id"].as_str().expect("a worker").to_owned();
    let db = sandbox.db().display().to_string();
    let expected = [
        ("RUNNER_ATTEMPT", "2"),
        ("RUNNER_ATTEMPTS_LEFT", "1"),
        ("RUNNER_DB", &db),
        ("RUNNER_JOB_ID", "1"),
        ("RUNNER_JOB_NAME", "job"),
        ("RUNNER_LAST_ERROR_CODE", "EXIT_4"),
        ("RUNNER_MAX_ATTEMPTS", "3"),
        ("RUNNER_QUEUE", "net"),
        ("RUNNER_WORKER_ID", &worker),
    ];
    let second: Vec<_> = second.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(second, expected);
    assert_eq!(variables(1)["RUNNER_LAST_ERROR_CODE"], "");
    sandbox.run("retry 1").ok();
    sandbox.drain();
    let left: Vec<_> = (1..=6).map(|number| variables(number)["RUNNER_ATTEMPTS_LEFT"].clone()).collect();
    assert_eq!(left, ["2", "1", "0", "2", "1", "0"], "the budget counts anew after a replay");
    assert_eq!(variables(6)["RUNNER_MAX_ATTEMPTS"], "3");
}

#[test]
fn the_database_is_named_by_its_canonical_path() {
    let sandbox = Sandbox::empty();
    sandbox.write("real/file", "");
    std::os::unix::fs::symlink("real", sandbox.path("link")).expect("a link");
    sandbox.call("--db link/../link/r.db enqueue -c").arg("echo $RUNNER_DB > seen").run().ok();
    sandbox.run("--db link/r.db work --drain").ok();
    assert_eq!(sandbox.read("seen"), format!("{}\n", sandbox.path("real/r.db").display()));
}

#[test]
fn the_environment_is_that_of_the_worker_and_of_the_definition() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'echo $WORKER, $ENQUEUER, $JOB, $RUNNER_QUEUE >> log'\nenv = { JOB = 'job', WORKER = 'definition' }\n",
    );
    sandbox.call("enqueue job job").env("ENQUEUER", "enqueuer").run().ok();
    sandbox.call("work --max-jobs 1").env("WORKER", "worker").run().ok();
    assert_eq!(sandbox.log(), ["definition, , job, default"]);
    sandbox.write("jobs.toml", "[jobs.job]\ncommand = 'echo $WORKER >> log'\n");
    sandbox.add("job --priority 9");
    sandbox.call("work --max-jobs 1").env("WORKER", "worker").run().ok();
    assert_eq!(sandbox.log()[1], "worker");
}

#[test]
fn the_variable_of_the_folder_is_that_of_the_command() {
    let command = "command = ['printenv', 'PWD']\n";
    let sandbox = Sandbox::new(&format!(
        "[defaults]\ncwd = 'link'\n[jobs.link]\n{command}[jobs.up]\n{command}cwd = 'link/../b/'\n\
         [jobs.bare]\n{command}inherit_env = false\n[jobs.launched]\n{command}launcher = ['nice']\n\
         [jobs.line]\ncommand = 'echo $PWD'\n[jobs.own]\n{command}env = {{ PWD = '/own' }}\n\
         [jobs.file]\n{command}env_file = 'vars'\n"
    ));
    sandbox.write("vars", "PWD=/file\n");
    sandbox.write("a/b/c", "");
    std::os::unix::fs::symlink("a/b", sandbox.path("link")).expect("a link");
    let shown = |line: &str| {
        let ran = sandbox.call(line).env("PWD", "/elsewhere").run().ok();
        ran.stdout.trim_end().to_owned()
    };
    let (link, real) = (sandbox.path("link"), sandbox.path("a/b"));
    for (job, pwd) in [
        ("link", &link),
        ("up", &real),
        ("bare", &link),
        ("launched", &link),
        ("line", &link),
        ("own", &"/own".into()),
        ("file", &"/file".into()),
    ] {
        assert_eq!(shown(&format!("run {job}")), pwd.display().to_string(), "{job}");
    }
    assert_eq!(shown("run -- printenv PWD"), sandbox.dir().display().to_string());
    assert_eq!(shown("run --cwd link/ -- printenv PWD"), link.display().to_string());
}

#[test]
fn a_make_in_a_job_does_not_look_for_the_jobserver_of_the_make_around_it() {
    let sandbox = Sandbox::empty();
    let flags = " -j4 --jobserver-auth=3,4 -- A=1";
    let shown = |line: &str| {
        let call = sandbox.call(line).env("MAKEFLAGS", flags).env("MFLAGS", "-k --jobserver-fds=3,4 -j");
        call.arg("--").arg("printenv").arg("MAKEFLAGS").arg("MFLAGS").run().ok().stdout
    };
    assert_eq!(shown("run"), " -j4 -- A=1\n-k\n");
    assert_eq!(shown("run --env MAKEFLAGS"), " -j4 -- A=1\n-k\n");
    assert_eq!(shown("run --env MFLAGS=--jobserver-auth=fifo:/f"), " -j4 -- A=1\n--jobserver-auth=fifo:/f\n");
}

#[test]
fn a_job_that_does_not_inherit_the_environment_gets_little_of_it() {
    let command = "command = 'env | sort > $RUNNER_JOB_NAME'\n";
    let sandbox = Sandbox::new(&format!(
        "[defaults]\ninherit_env = false\nenv_file = 'vars'\nenv = {{ OWN = 'own' }}\n\
         [jobs.bare]\n{command}[jobs.whole]\n{command}inherit_env = true\n\
         [jobs.path]\n{command}env = {{ PATH = '/usr/bin:/bin' }}\nlauncher = ['nice']\n"
    ));
    sandbox.write("vars", "FROM_FILE=file\n");
    sandbox.run("enqueue --all").ok();
    let kept = [("LANG", "C.UTF-8"), ("SHELL", "/bin/sh"), ("LOGNAME", "me")];
    let lost = [("API_TOKEN", "secret"), ("USER", "me"), ("RUNNER_FILE", "/f"), ("RUNNER_DEAD_JOB_ID", "7")];
    let call = sandbox.call("work -j1 --drain");
    kept.iter().chain(&lost).fold(call, |call, (name, value)| call.env(name, value)).run().ok();
    let names = |job: &str| -> Vec<String> {
        let text = sandbox.read(job);
        let names = text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.to_owned());
        // The shell sets these itself.
        names.filter(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str())).collect()
    };
    let own = [
        "FROM_FILE",
        "HOME",
        "LANG",
        "LOGNAME",
        "OWN",
        "PATH",
        "RUNNER_ATTEMPT",
        "RUNNER_ATTEMPTS_LEFT",
        "RUNNER_ATTEMPT_MARK",
        "RUNNER_DB",
        "RUNNER_JOB_ID",
        "RUNNER_JOB_NAME",
        "RUNNER_LAST_ERROR_CODE",
        "RUNNER_MAX_ATTEMPTS",
        "RUNNER_QUEUE",
        "RUNNER_REPORT",
        "RUNNER_WORKER_ID",
        "SHELL",
    ];
    assert_eq!(names("bare"), own);
    assert_eq!(names("path"), own);
    assert!(lost.iter().all(|(name, _)| names("whole").iter().any(|there| there == name)));
    for line in ["inspect 1", "check"] {
        let said = "inherits  only PATH, HOME, LOGNAME, SHELL, LANG of the worker's environment";
        sandbox.run(line).ok().shows(said);
    }
    assert!(!sandbox.run("inspect 2").ok().stdout.contains("inherits"));
}

#[test]
fn an_older_worker_leaves_a_job_alone_that_does_not_inherit_the_environment() {
    let sandbox = Sandbox::new(
        "[jobs.bare]\ncommand = 'true'\ninherit_env = false\n[jobs.alerted]\ncommand = 'true'\non_dead = 'bare'\n\
         [jobs.whole]\ncommand = 'true'\ninherit_env = true\nschedule = '@daily'\n\
         [jobs.chained]\ncommand = 'true'\nafter = ['bare']\nschedule = '@daily'\n",
    );
    sandbox.run("enqueue bare alerted whole").ok();
    let needs = |what: &str| sandbox.sql().number(&format!("SELECT needs_version FROM {what}"));
    assert_eq!([1, 2, 3].map(|id| needs(&format!("jobs WHERE id = {id}"))), [1_001, 1_001, 1_000]);
    assert!(
        !sandbox
            .sql()
            .text("SELECT group_concat(definition) FROM job_definitions WHERE id = 3")
            .contains("inherit")
    );
    sandbox.run("apply -q").ok();
    assert_eq!(
        ["chained", "whole"].map(|name| needs(&format!("schedules WHERE name = '{name}'"))),
        [1_001, 1_000]
    );
}

/// Works on a line in a worker that was started by this shell line, in which `$0` is the program.
#[track_caller]
fn under(start: &str, line: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.add_line("", line);
    let call = sandbox.program("sh").arg("-c").arg(format!("{start}; exec \"$0\" work --drain"));
    let ran = call.arg(env!("CARGO_BIN_EXE_runner")).run();
    assert!(ran.stderr.contains("worker stopped"), "{ran}");
    sandbox
}

#[test]
fn no_other_descriptor_is_passed_on() {
    let sandbox = under("exec 7</dev/null 8>>other", "ls -l /proc/self/fd > fds; true");
    let listing = sandbox.read("fds");
    // One of them is the folder that is being listed.
    let targets: Vec<_> =
        listing.lines().filter_map(|line| line.split_once(" -> ")).map(|(_, to)| to).collect();
    let passed: Vec<_> = targets.iter().filter(|to| !to.starts_with("/proc/")).collect();
    assert_eq!(passed.len(), 3, "{listing}");
    assert!(targets.contains(&"/dev/null"), "standard input: {listing}");
}

#[test]
fn signals_have_their_default_dispositions_and_none_is_blocked() {
    let line = "grep -E '^Sig(Blk|Ign)' /proc/self/status > seen; kill -INT $$; echo still here >> seen";
    let sandbox = under("trap '' INT HUP QUIT PIPE USR1 TERM", line);
    let seen = sandbox.read("seen");
    for line in seen.lines() {
        let mask = line.split_whitespace().last().unwrap_or_default();
        let mask = u64::from_str_radix(mask, 16).expect("a mask, and no line after the interrupt");
        // 32 and 33 are the C library's own, and it ignores them in whatever it starts.
        assert_eq!(mask & !(0b11 << 31), 0, "{line}");
    }
    assert_eq!(seen.lines().count(), 2);
}

#[test]
fn a_command_leads_a_group_of_its_own_and_reads_nothing() {
    let sandbox = Sandbox::empty();
    sandbox.add_line(
        "",
        "echo $$ $(cut -d' ' -f5 /proc/$$/stat) > seen; cat >> seen; readlink /proc/$$/fd/0 >> seen",
    );
    sandbox.drain();
    let seen = sandbox.read("seen");
    let (group, stdin) = seen.split_once('\n').expect("two lines");
    let (pid, leader) = group.split_once(' ').expect("two numbers");
    assert_eq!(pid, leader);
    assert_eq!(stdin, "/dev/null\n");
}

#[test]
fn a_signal_at_the_worker_does_not_reach_the_job() {
    let sandbox = Sandbox::empty();
    sandbox.add_line(
        "",
        "trap 'echo told >> told' INT TERM; echo start >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done",
    );
    let mut worker = sandbox.worker("-j1");
    sandbox.until_logged(1);
    worker.ask_to_stop(Signal::INT);
    sandbox.write("go", "");
    worker.wait().ok();
    assert_eq!(sandbox.read("told"), "");
}

#[test]
fn a_name_that_is_no_text_is_a_value_that_cannot_be_taken() {
    let sandbox = Sandbox::empty();
    let call = sandbox.call("enqueue --env").arg(OsStr::from_bytes(b"\xff=1")).arg("--").arg("true");
    let ran = call.run().exits(2);
    ran.says("not UTF-8");
}
