//! A database of each version that ever was released, as its program left it: every later program must open it, show what
//! is in it, and go on with it.
//!
//! Version 1 is the first. Its file is made by `UPDATE_GOLDEN=1 cargo test golden` as long as it has not been released, and
//! never again afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::Bed;

/// Jobs in every state, with what may hang on a job.
const JOBS: &str = r#"
[jobs.good]
command = "echo out; echo err >&2; echo result=42 >> $RUNNER_REPORT"
cwd = "/"

[jobs.bad]
command = "echo no luck >&2; echo message=gone >> $RUNNER_REPORT; exit 3"
cwd = "/"
max_attempts = 2
backoff = { delays = ["0s"], strategy = "list", jitter = false }
exit_codes = { 3 = "NO_LUCK" }

[jobs.later]
command = "exit 75"
cwd = "/"
backoff = { strategy = "constant", delay = "9y", jitter = false }

[jobs.reader]
command = ["cat"]
cwd = "/"
env = { NAME = "value" }
queue = "files"
priority = 7
unique_key = "reader"
"#;

/// What is shown of it.
const SCREENS: [&str; 5] = [
    "inspect jobs --json",
    "inspect attempts --json",
    "inspect 2 --json",
    "inspect 1.1 --json",
    "inspect dead --json",
];

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Every screen, one after the other.
fn shown(bed: &Bed) -> String {
    let screens = SCREENS.map(|line| format!("$ runner {line}\n{}", bed.run(line).ok().stdout));
    screens.concat()
}

fn make() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue good bad later").ok();
    bed.run("work -j1 --until-idle").exits(1);
    bed.call("enqueue reader --stdin --idempotency-key today").stdin("input\n").run().ok();
    bed.add("good --in 9y --expires-in 1h");
    bed.add("good --in 1h");
    bed.run("cancel 6").ok();
    bed.run("pause files").ok();
    bed.run("backup golden.db").ok();
    fs::create_dir_all(golden("")).expect("a folder");
    fs::copy(bed.path("golden.db"), golden("version-1.db")).expect("a copy");
    fs::write(golden("version-1.txt"), shown(&bed)).expect("a file");
}

#[test]
fn the_first_version_is_opened_shown_and_gone_on_with() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        make();
    }
    let bed = Bed::bare();
    fs::copy(golden("version-1.db"), bed.db()).expect("the golden file");
    fs::set_permissions(bed.db(), fs::Permissions::from_mode(0o600)).expect("it is ours");
    assert_eq!(shown(&bed), fs::read_to_string(golden("version-1.txt")).expect("what it shows"));
    bed.run("doctor").ok();
    bed.run("resume files").ok();
    bed.run("retry 2 6").ok();
    bed.run("retry 3 --now").ok();
    bed.run("work -j1 --until-idle").exits(1);
    let states = |id| bed.job(id)["state"].as_str().map(str::to_owned);
    let after: Vec<_> = (1..=6).filter_map(states).collect();
    assert_eq!(after, ["succeeded", "dead", "pending", "succeeded", "pending", "succeeded"]);
    assert_eq!((bed.attempts(2).len(), bed.attempts(3).len()), (4, 2));
    assert_eq!(bed.run("logs 4").ok().stdout, "input\n");
    assert_eq!(bed.call("enqueue -c true --idempotency-key today").run().ok().id(), 4);
    bed.run("doctor").ok();
}
