//! Completions: what a shell offers after the words that are typed.

use crate::support::{Call, Sandbox};

const JOBS: &str = r#"
[jobs.nightly-backup]
description = "Copies the home directory"
command = "true"
queue = "slow"

[jobs.nightly-report]
command = "exit 3"
"#;

/// Calls the completion function as bash does when TAB is pressed at the end of these words.
const PRESS_TAB: &str = r#"
eval "$(runner completions bash)"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
_clap_complete_runner runner "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
for word in "${COMPREPLY[@]}"; do echo "$word"; done
"#;

fn tab(sandbox: &Sandbox, line: &str) -> Call {
    let call = sandbox.program("bash").with_runner_on_path().arg("-c").arg(PRESS_TAB).arg("bash");
    line.split(' ').fold(call, Call::arg)
}

/// The completions that bash offers; blanks in `line` part words.
#[track_caller]
fn offered(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let ran = tab(sandbox, line).run().ok().quietly();
    ran.stdout.lines().map(str::to_owned).collect()
}

/// The completions but for options, which bash offers where nothing else can stand.
#[track_caller]
fn words(sandbox: &Sandbox, line: &str) -> Vec<String> {
    offered(sandbox, line).into_iter().filter(|word| !word.starts_with('-')).collect()
}

#[test]
fn verbs_and_options() {
    let sandbox = Sandbox::empty();
    for (line, expected) in [
        ("enq", "enqueue"),
        ("enqueue --max-a", "--max-attempts"),
        ("work --log ", "text json"),
        ("enqueue --on-conflict ", "skip replace error"),
        ("run --on-conflict ", "skip replace error"),
        ("completions ", "bash elvish fish powershell zsh"),
        ("check x --signal SIGK", "SIGKILL"),
        ("prune --state ", "succeeded cancelled dead"),
        ("inspect --state s", "succeeded scheduled"),
        ("inspect --state dead,su", "dead,succeeded"),
    ] {
        assert_eq!(offered(&sandbox, &format!("runner {line}")).join(" "), expected, "{line}");
    }
    assert_eq!(words(&sandbox, "runner cancel "), [""; 0]);
    assert!(!sandbox.db().exists(), "no database is made by asking");
}

#[test]
fn names_of_the_job_file() {
    let sandbox = Sandbox::new(JOBS);
    for verb in [
        "enqueue ",
        "enqueue nightly-",
        "run ",
        "run nightly-",
        "inspect jobs --name ",
        "retry --dead --name ",
        "prune --name ",
    ] {
        let line = format!("runner {verb}");
        assert_eq!(offered(&sandbox, &line), ["nightly-backup", "nightly-report"], "{verb}");
    }
    assert_eq!(offered(&sandbox, "runner enqueue nightly-r"), ["nightly-report"]);
    sandbox.write("other.toml", "[jobs.other]\ncommand = 'true'\n");
    assert_eq!(offered(&sandbox, "runner --file other.toml enqueue "), ["other"]);
    assert_eq!(offered(&sandbox, "runner enqueue --file = other.toml "), ["other"]);
}

#[test]
fn queues() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("nightly-backup --queue net");
    for option in [
        "enqueue --queue ",
        "work --queue ",
        "work --queue =",
        "inspect jobs --queue ",
        "prune --queue ",
        "pause ",
    ] {
        let line = format!("runner {option}").replace('=', "= ");
        assert_eq!(offered(&sandbox, &line), ["default", "net", "slow"], "{option}");
    }
    sandbox.run("pause net").ok();
    assert_eq!(offered(&sandbox, "runner pause "), ["default", "slow"]);
    assert_eq!(offered(&sandbox, "runner resume "), ["net"]);
}

#[test]
fn ids_that_the_verb_can_take() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue nightly-report nightly-backup --max-attempts 1").ok();
    sandbox.drain();
    sandbox.add("nightly-backup --in 1h");
    sandbox.add("nightly-backup");
    sandbox.run("cancel 4").ok();
    for (line, ids) in [
        ("wait ", "3 nightly-backup"),
        ("cancel ", "3 nightly-backup"),
        ("retry ", "4 1 nightly-backup nightly-report"),
        ("resolve ", "1 nightly-report"),
        ("change ", "3 nightly-backup"),
        ("logs ", "4 3 2 1 nightly-backup nightly-report"),
        ("retry --dead --error-code ", "EXIT_3"),
    ] {
        assert_eq!(offered(&sandbox, &format!("runner {line}")).join(" "), ids, "{line}");
    }
    let lists = ["jobs", "attempts", "dead", "workers", "queues", "schedules", "stats"];
    assert_eq!(offered(&sandbox, "runner inspect ")[..7], lists);
    let (ids, names) = (["4", "3", "2", "1"], ["nightly-backup", "nightly-report"]);
    assert_eq!(offered(&sandbox, "runner inspect ")[7..], [&ids[..], &names[..]].concat());
    assert_eq!(words(&sandbox, "runner cancel --db other.db "), [""; 0]);
}

#[test]
fn files() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.write("folder/file", "");
    assert_eq!(offered(&sandbox, "runner enqueue --cwd f"), ["folder/"]);
    assert_eq!(offered(&sandbox, "runner check job"), ["jobs.toml"]);
    assert_eq!(offered(&sandbox, "runner enqueue nightly-backup -- j"), ["jobs.toml"]);
    assert_eq!(offered(&sandbox, "runner run nightly-backup -- j"), ["jobs.toml"]);
}

#[test]
fn whatever_is_wrong_the_shell_is_told_nothing() {
    let sandbox = Sandbox::new("[jobs.broken]\ncomand = 'true'\n");
    sandbox.write(
        "runner.db",
        "no database at all, and long enough to be looked at ......................................",
    );
    for line in ["runner enqueue ", "runner cancel ", "runner resume ", "runner --db /nowhere/at/all wait "] {
        assert_eq!(words(&sandbox, line), [""; 0], "{line}");
    }
    for (shell, words) in [("tcsh", "-- runner "), ("fish", ""), ("fish", "--"), ("zsh", "--")] {
        let asked = sandbox.call(words).env("_RUNNER_COMPLETE", shell).run();
        asked.exits(1).prints("").quietly();
    }
    sandbox.call("--version").env("_RUNNER_COMPLETE", "").run().ok().shows("runner ");
    assert!(!sandbox.path("runner.db.run").exists());
}

#[test]
fn other_shells_are_told_more() {
    let sandbox = Sandbox::new(JOBS);
    let ask = |shell| {
        let call = sandbox.call("-- runner enqueue nightly-").env("_RUNNER_COMPLETE", shell);
        call.env("_CLAP_COMPLETE_INDEX", "2").run().ok().quietly().stdout
    };
    assert_eq!(ask("fish"), "nightly-backup\tCopies the home directory\nnightly-report\ta job\n");
    assert_eq!(ask("powershell"), "nightly-backup\tCopies the home directory\nnightly-report\ta job\n");
    assert_eq!(ask("zsh"), "nightly-backup:Copies the home directory\nnightly-report:a job");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = sandbox.run(&format!("completions {shell}")).ok().quietly().stdout;
        assert!(script.contains("_RUNNER_COMPLETE") && script.contains(shell), "{script}");
    }
}
