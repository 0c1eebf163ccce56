//! `check` and `apply` warn of what will go wrong on this machine.

use crate::support::Sandbox;

/// What is told on standard error, with the folder of the sandbox as `DIR`.
fn told(sandbox: &Sandbox, line: &str) -> String {
    sandbox.run(line).exits(0).stderr.replace(&sandbox.dir().display().to_string(), "DIR")
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
    runner: crontab: exit 1 of tar (a file changed while it was read), with which its work is done, fails the job; warning_exit_codes = [1] makes it a success that people are told of
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
fn what_no_shell_expands_is_told() {
    let sandbox = Sandbox::new(
        r#"
        [defaults]
        env = { BIN = "~/bin" }
        [jobs.plain]
        command = ["echo", "costs 5$", "$1", "a~/", "~"]
        env = { A = "a~/b", B = "$(x) $$" }
        [jobs.array]
        command = ["cp", "-r", "~/a", "x/${NAME}/y", "$_Z1"]
        launcher = ["nice", "-n", "$N"]
        cwd = "x$"
        env = { PASSWORD = "secret$word" }
        [jobs.script]
        command = ["bash", "run.sh", "-c", "$HOME"]
        [jobs.shell]
        command = ["/bin/bash", "-o", "pipefail", "-ec", "echo $HOME", "$0", "~/x"]
        [jobs.inner]
        command = ["env", "-i", "sh", "-c", "echo $HOME"]
        [jobs.other-user]
        command = ["su", "-", "bob", "-c", "echo $HOME"]
        [jobs.line]
        command = "ls ~/ $HOME"
        [jobs.far]
        command = ["ls", "$HOME"]
        launcher = ["ssh", "nas"]
        [jobs.near]
        command = ["ssh", "nas", "ls $HOME"]
        "#,
    );
    let all = told(&sandbox, "check");
    let notes: Vec<&str> = all.lines().filter(|line| !line.contains("cannot start here")).collect();
    insta::assert_snapshot!(notes.join("\n"), @r#"
    runner: [defaults]: the value of BIN in `env` has a `~/`, which is taken as it stands: write it out, here or in an `env_file`, or let `sh -c` set it
    runner: array: "~/a" (and 2 more) in `command` is taken as it stands, because no shell reads an array: write it out, or use ["sh", "-c", "…"]
    runner: array: "$N" in `launcher` is taken as it stands, because no shell reads an array: write it out, or use ["sh", "-c", "…"]
    runner: array: the value of PASSWORD in `env` has a `$NAME`, which is taken as it stands: write it out, here or in an `env_file`, or let `sh -c` set it
    runner: array: "x$" in `cwd` is taken as it stands; `~/` is the home folder, and `sh -c` can go elsewhere
    runner: script: "$HOME" in `command` is taken as it stands, because no shell reads an array: write it out, or use ["sh", "-c", "…"]
    "#);
    assert!(!all.contains("$word"), "a value may be a secret: {all}");
    assert_eq!(told(&sandbox, "check plain").lines().count(), 1);
}

#[test]
fn pipes_that_hide_a_failure_are_told() {
    let sandbox = Sandbox::new(
        r#"
        [jobs.nobody-asked]
        command = "a | b"
        [jobs.once]
        command = "a | b"
        max_attempts = 1
        [jobs.scheduled]
        command = "a | b"
        schedule = "@daily"
        [jobs.attempts]
        command = "a | b"
        max_attempts = 2
        [jobs.delays]
        command = "a | b"
        backoff = "1m"
        [jobs.codes]
        command = "a | b"
        never_retry_for = ["EXIT_2"]
        [jobs.safe]
        command = "set -o pipefail; a | b"
        schedule = "@daily"
        [jobs.no-pipe]
        command = "grep 'a|b' c || d"
        schedule = "@daily"
        [jobs.bash]
        command = ["bash", "-c", "a | b"]
        schedule = "@daily"
        "#,
    );
    let all = told(&sandbox, "check");
    let of_pipes = all.lines().filter(|line| line.contains(" pipe "));
    let names: Vec<_> = of_pipes.filter_map(|line| line.split(": ").nth(1)).collect();
    assert_eq!(names, ["scheduled", "attempts", "delays", "codes"]);
    sandbox.write("jobs.toml", "[defaults]\nmax_attempts = 5\n[jobs.a]\ncommand = 'a | b'\n");
    sandbox.run("check").says("a: the exit status of a pipe").ok();
    let alert = "[defaults]\nmax_attempts = 5\non_dead = 'tell'\n[jobs.a]\ncommand = 'true'\n[jobs.tell]\ncommand = 'a | mail b'\n";
    sandbox.write("jobs.toml", alert);
    sandbox.run("check").ok();
}

#[test]
fn what_readers_of_older_toml_refuse_is_told_with_its_place() {
    let sandbox = Sandbox::empty();
    sandbox.write(
        "jobs.toml",
        "\u{feff}[jobs.a]\r\ncommand = \"echo \\x41 \\e\"\r\nenv = {\r\n  A = '1',\r\n}\r\n",
    );
    insta::assert_snapshot!(told(&sandbox, "check"), @r#"
    runner: DIR/jobs.toml:1:1: only TOML 1.1 allows a byte order mark; editors and other programs refuse the file
    runner: DIR/jobs.toml:2:17: only TOML 1.1 allows `\x` in a string; editors and other programs refuse the file
    runner: DIR/jobs.toml:2:22: only TOML 1.1 allows `\e` in a string; editors and other programs refuse the file
    runner: DIR/jobs.toml:3:8: only TOML 1.1 allows a line break in an inline table (and 1 more place); editors and other programs refuse the file
    runner: DIR/jobs.toml:4:10: only TOML 1.1 allows a comma after the last entry of an inline table; editors and other programs refuse the file
    "#);
    sandbox.run("check -q").ok().quietly();
}

#[test]
fn a_line_of_a_file_from_windows_ends_in_a_line_feed() {
    let sandbox = Sandbox::empty();
    let job = [
        "[jobs.a]",
        "command = '''",
        "od -c",
        "echo \"$A\" | od -c'''",
        "stdin = \"\"\"1",
        "2\\",
        " 3\\r\"\"\"",
        "env = { A = '''x",
        "y''' }",
        "",
    ];
    sandbox.write("jobs.toml", job.join("\r\n"));
    let printed = sandbox.run("run a").ok().shows(r"1  \n   2   3  \r").stdout;
    assert!(printed.contains(r"x  \n   y  \n"), "{printed}");
    sandbox.write("jobs.toml", "[jobs.a]\r\ncommand = 'x'\r\nbad = 1\r\n");
    let mistake = sandbox.run("check --json").exits(65).stderr;
    assert!(mistake.contains(r#""line":3,"column":1"#), "{mistake}");
    sandbox.write("jobs.toml", "[jobs.a]\ncommand = '''a\r\r\nb'''\n");
    sandbox.run("check").exits(65).says("this is not TOML");
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

const CHAIN: &str = r#"
[queues.net]
max_running = 4
[queues.disk]
max_running = 1
[jobs.backup]
command = "true"
schedule = "0 2 * * *"
queue = "net"
[jobs."report.toml"]
command = "./report"
after = ["backup"]
[jobs.build]
command = ["no-such-program"]
on_dead = "alert"
[jobs.alert]
command = ["no-such-mailer"]
"#;

#[test]
fn a_name_shows_that_job_alone() {
    let sandbox = Sandbox::new(CHAIN);
    std::fs::create_dir(sandbox.path("build")).expect("a folder of that name is no file");
    for (name, notes) in [
        ("backup", ""),
        (
            "report.toml",
            "runner: no schedule reaches report.toml: put the schedule on the last job of the chain\n\
             runner: backup has a schedule and no fresh_within: a success of any age will do for report.toml, \
             which waits for its scheduled run\n\
             runner: report.toml cannot start here: no such program: ./report\n",
        ),
        (
            "build",
            "runner: build cannot start here: no such program in PATH: no-such-program\n\
             runner: alert cannot start here: no such program in PATH: no-such-mailer\n",
        ),
        ("alert", "runner: alert cannot start here: no such program in PATH: no-such-mailer\n"),
    ] {
        let ran = sandbox.run(&format!("check {name}")).exits(0);
        let path = sandbox.path("jobs.toml");
        let heading = format!("{}: 4 jobs, no mistakes; of these {name}\n\n{name}\n", path.display());
        assert!(ran.stdout.starts_with(&heading), "{ran}");
        assert_eq!(ran.stdout.matches("\n  command ").count(), 1, "{ran}");
        assert!(!ran.stdout.contains("queue net:"), "{ran}");
        assert_eq!(ran.stderr, notes, "{name}");
        let jobs = sandbox.run(&format!("check {name} --json")).exits(0).json_lines();
        assert_eq!(jobs.iter().map(|job| job["name"].clone()).collect::<Vec<_>>(), [name]);
        sandbox.run(&format!("check {name} -q")).ok().prints("").quietly();
        // The job file may be named, or lie above.
        sandbox
            .call(&format!("check {name} --file ../jobs.toml"))
            .dir(sandbox.path("build"))
            .run()
            .says(notes)
            .ok();
        sandbox
            .call(&format!("check {name}"))
            .dir(sandbox.path("build"))
            .run()
            .says(notes)
            .ok()
            .shows(&heading);
    }
}

#[test]
fn of_a_job_alone_its_own_changes_are_told() {
    let sandbox = Sandbox::new(CHAIN);
    sandbox.run("apply -q").ok();
    let shown = |name: &str| {
        let ran = sandbox.run(&format!("check {name}")).exits(0).stdout;
        ran.lines().filter(|line| line.starts_with("changed since")).collect::<String>()
    };
    sandbox.write("jobs.toml", CHAIN.replace("max_running = 4", "max_running = 5").replace("0 2", "0 3"));
    let rest = "; runner apply takes the file as it is";
    assert_eq!(shown("backup"), format!("changed since it was applied: backup, queue net{rest}"));
    assert_eq!(shown("build"), "");
    sandbox.write("jobs.toml", CHAIN.replace("max_running = 1", "max_running = 2"));
    assert_eq!(shown(""), format!("changed since it was applied: queue disk{rest}"));
    assert_eq!(shown("backup"), "");
}

#[test]
fn a_file_wins_over_a_job_of_its_name_and_that_is_told() {
    let sandbox = Sandbox::new(CHAIN);
    sandbox.write("report.toml", "[jobs.other]\ncommand = 'true'\n");
    let ran = sandbox
        .run("check report.toml")
        .says("runner: report.toml is a file, which is checked; the job report.toml of")
        .ok()
        .shows("report.toml: 1 job, no mistakes\n\nother\n");
    let path = sandbox.path("jobs.toml").display().to_string();
    let note = format!("report.toml is a file, which is checked; the job report.toml of {path} is not shown");
    assert_eq!(ran.stderr, format!("runner: {note}\n"));
    let ran = sandbox
        .run("check report.toml --json")
        .says("is a file, which is checked; the job report.toml of")
        .ok();
    assert_eq!((&ran.json()["name"], ran.stderr), (&"other".into(), format!("{{\"note\":\"{note}\"}}\n")));
    sandbox.run("check report.toml -q").ok().quietly();
    // It is told of a file with mistakes, too.
    sandbox.write("build", "no job file");
    sandbox.run("check build").exits(65).says("build is a file, which is checked").says("build:1:");
    // A path is no name.
    let ran = sandbox.run("check ./report.toml").ok().shows("other");
    assert_eq!(ran.stderr, "");
}

#[test]
fn what_is_neither_a_file_nor_a_job_is_told_as_both() {
    let sandbox = Sandbox::new(CHAIN);
    std::fs::create_dir(sandbox.path("src")).expect("a new folder");
    let told = |line: &str, status| {
        let ran = sandbox.run(&format!("check {line}")).exits(status).prints("");
        ran.stderr.replace(&sandbox.dir().display().to_string(), "DIR")
    };
    let shows = "`runner check` shows the jobs\n";
    for (what, words) in [
        (
            "bakup",
            "there is no job file DIR/bakup, and no job \"bakup\" in DIR/jobs.toml\nhint: did you mean backup?\n",
        ),
        (
            "reprt.toml",
            "there is no job file DIR/reprt.toml, and no job \"reprt.toml\" in DIR/jobs.toml\nhint: did you mean report.toml?\n",
        ),
        (
            "zzz",
            &format!(
                "there is no job file DIR/zzz, and no job \"zzz\" in DIR/jobs.toml\nhint: check the path, or write a job file with `runner init --file DIR/zzz`; {shows}"
            ),
        ),
        ("src", &format!("DIR/src is a folder, and no job \"src\" in DIR/jobs.toml\nhint: {shows}")),
    ] {
        assert_eq!(told(what, 66), format!("runner: {words}"));
    }
    let error = sandbox.run("check bakup --json").exits(66).prints("").stderr;
    assert!(
        error.starts_with("{\"error\":\"there is no job file ") && error.contains("did you mean backup?"),
        "{error}"
    );
    assert!(told("./bakup", 66).starts_with("runner: there is no job file DIR/bakup\n"));
    assert!(told("7", 2).starts_with("runner: 7 is an id"));
    sandbox.write("jobs.toml", "[jobs.backup]\n");
    assert!(
        told("backup", 65).starts_with(
            "runner: there is no job file DIR/backup, so backup is taken for the name of a job\n"
        )
    );
    std::fs::remove_file(sandbox.path("jobs.toml")).expect("it is there");
    assert!(told("backup", 66).starts_with(
        "runner: there is no job file DIR/backup, and no other one here that could have a job \"backup\"\nhint: `runner init`"
    ));
}

#[test]
fn schedules_that_nobody_has_applied_are_named() {
    let schedule = |name: &str| format!("[jobs.{name}]\ncommand = 'true'\nschedule = '@daily'\n");
    let sandbox = Sandbox::new(&(schedule("one") + &schedule("two")));
    let never = "no worker fires one, two, which nobody has applied; runner apply takes the file as it is";
    sandbox.run("check").ok().shows(never);
    sandbox.run("check two").ok().shows("no worker fires two, which");
    sandbox.run("check -q").ok().prints("");
    sandbox.run("apply -q").ok();
    assert!(!sandbox.run("check").ok().stdout.contains("no worker fires"));
    sandbox.write("jobs.toml", sandbox.read("jobs.toml") + &schedule("three"));
    sandbox.run("check").ok().shows("changed since it was applied: three; runner apply takes");
    // Nobody knows what is applied in a database that cannot be read.
    sandbox.write_private("runner.db", "something else");
    assert!(!sandbox.run("check").ok().stdout.contains("no worker fires"));
}

#[test]
fn a_name_of_digits_is_noted_because_verbs_take_it_for_an_id() {
    let sandbox = Sandbox::new("[jobs.2]\ncommand = 'true'\n[jobs.2nd]\ncommand = 'true'\n");
    let ran =
        sandbox.run("check").exits(0).says("2: a verb that takes an id or a name takes digits for an id");
    assert!(!ran.stderr.contains("2nd"), "{ran}");
}
