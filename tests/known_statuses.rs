//! What the exit statuses of known tools mean: where it is said, and where it is not.

use crate::support::{Sandbox, json};

const JOBS: &str = r#"
[defaults]
max_attempts = 1

[jobs.search]
command = "grep x nosuch"

[jobs.array]
command = ["nice", "grep", "x", "nosuch"]

[jobs.nothing]
command = "grep x /dev/null"
warning_exit_codes = [1]

[jobs.slow]
command = ["timeout", "0.01", "sleep", "9"]

[jobs.pipe]
command = "true | grep x nosuch"

[jobs.script]
command = "grep x nosuch; exit 2"

[jobs.twice]
command = "grep x nosuch"
max_attempts = 2
backoff = { strategy = "constant", delay = "1ms" }
"#;

const OF_GREP: &str = "exit 2 of grep: an error, for example no such file";

#[test]
fn inspect_says_what_the_status_of_a_known_tool_means() {
    let sandbox = Sandbox::new(JOBS);
    for (name, words) in [
        ("search", OF_GREP),
        ("array", OF_GREP),
        ("nothing", "exit 1 of grep: nothing matched"),
        ("slow", "exit 124 of timeout: the command took too long"),
    ] {
        let id = sandbox.finish(name)["id"].clone();
        sandbox.run(&format!("inspect {id}")).ok().shows(words);
        sandbox.run(&format!("inspect {id}.1")).ok().shows(words);
    }
    for name in ["pipe", "script"] {
        let id = sandbox.finish(name)["id"].clone();
        let shown = sandbox.run(&format!("inspect {id}")).ok().stdout;
        assert!(!shown.contains("of grep"), "{shown}");
    }
    let id = sandbox.finish("twice")["id"].clone();
    let shown = sandbox.run(&format!("inspect {id}")).ok().stdout;
    assert_eq!(shown.matches("of grep").count(), 1, "{shown}");
}

#[test]
fn dead_letters_and_the_page_say_it_once() {
    let sandbox = Sandbox::new(JOBS);
    for name in ["search", "search", "slow", "nothing", "pipe"] {
        sandbox.finish(name);
    }
    let dead = sandbox.run("inspect dead --name search").ok().shows(&format!("means   {OF_GREP}")).stdout;
    assert_eq!(dead.matches("of grep").count(), 1, "{dead}");
    sandbox.run("inspect dead --name slow").ok().shows("means   exit 124 of timeout");
    let dead = sandbox.run("inspect dead --name pipe").ok().stdout;
    assert!(!dead.contains("means"), "{dead}");
    let page = sandbox.run("inspect --html").ok().stdout;
    for words in ["Exit 2 of grep: ", "Exit 124 of timeout: ", "Exit 1 of grep: nothing matched"] {
        assert_eq!(page.matches(words).count(), 1, "{words} {page}");
    }
}

#[test]
fn check_shows_what_becomes_of_each_status() {
    let sandbox = Sandbox::new(
        r#"
[jobs.save]
command = ["timeout", "1h", "restic", "backup", "/home"]
warning_exit_codes = [3]
never_retry_for = ["EXIT_1"]

[jobs.other]
command = "restic backup /home; true"
"#,
    );
    let table = sandbox.run("check save").ok().stdout;
    for (start, end) in [
        ("     1  restic: an error", "  dead"),
        ("     3  restic: a snapshot was saved", "  succeeded with a warning"),
        ("   124  timeout: the command took too long", "  retried, then dead"),
        ("   127  timeout: the command was not found, or the command's own status", "  retried, then dead"),
    ] {
        let is_shown = table.lines().any(|line| line.starts_with(start) && line.ends_with(end));
        assert!(is_shown, "{start}: {table}");
    }
    let mut json = sandbox.run("check save --json").ok().json();
    assert_eq!(
        json["statuses"].as_array_mut().and_then(|statuses| statuses.drain(..).nth(1)),
        Some(json!({
            "status": 3, "meaning": "restic: a snapshot was saved, but a file could not be read", "kind": "warning",
            "then": "succeeded with a warning",
        }))
    );
    sandbox.run("check save --exit 3").ok().shows("means     exit 3 of restic: a snapshot was saved");
    let other = sandbox.run("check other").ok().stdout;
    assert!(!other.contains("what it means"), "{other}");
    assert_eq!(sandbox.run("check other --json").ok().json()["statuses"], json!([]));
    assert_eq!(sandbox.run("check other --exit 3 --json").ok().json()["meaning"], json!(null));
}

#[test]
fn check_shows_statuses_that_need_a_variable_where_it_is_set() {
    let sandbox = Sandbox::new(
        r#"
[jobs.classic]
command = "borg create /srv/b::x /home"

[jobs.line]
command = "cd / && BORG_EXIT_CODES=modern borg create /srv/b::x /home"

[jobs.array]
command = ["env", "BORG_EXIT_CODES=modern", "borg", "create", "/srv/b::x", "/home"]

[jobs.env]
command = "borg create /srv/b::x /home"
env = { BORG_EXIT_CODES = "modern" }
"#,
    );
    for (name, is_modern) in [("classic", false), ("line", true), ("array", true), ("env", true)] {
        let table = sandbox.run(&format!("check {name}")).exits(0);
        assert_eq!(table.stdout.contains("the passphrase is wrong"), is_modern, "{table}");
        assert_eq!(table.stderr.contains("exit 107 of borg"), is_modern, "{table}");
        // The environment of a worker may have it.
        sandbox
            .run(&format!("check {name} --exit 52"))
            .ok()
            .shows("exit 52 of borg: the passphrase is wrong");
    }
}

#[test]
fn check_notes_what_contradicts_the_table() {
    for (job, note) in [
        (
            "command = 'restic backup /home'",
            "exit 3 of restic (a snapshot was saved, but a file could not be read), with",
        ),
        (
            "command = 'sudo -n restic backup /home'\nwarning_exit_codes = [24]",
            "warning_exit_codes = [3, 24] makes it",
        ),
        (
            "command = 'msmtp a@b'\nexit_codes = { 75 = 'REFUSED' }\nauto_retry_for = ['TIMEOUT']",
            "exit 75 of msmtp (no connection, for example refused) may pass by itself, but is never retried",
        ),
        ("command = 'msmtp a@b'\nnever_retry_for = ['EXIT_75']", "exit 75 of msmtp"),
        (
            "command = ['curl', 'x']\nexit_codes = { 2 = 'USAGE', 3 = 'USAGE' }",
            "exit 2 of curl (the command line is wrong) and exit 3 of curl (the address is malformed) need a person, but are retried",
        ),
        ("command = 'curl x'\nauto_retry_for = ['EXIT_2', 'EXIT_7']", "exit 2 of curl"),
        (
            "command = ['wget', 'x']\nexit_codes = { '1-8' = 'WGET' }",
            "exit 2 of wget, exit 3 of wget, exit 5 of wget and exit 6 of wget need a person, but are retried",
        ),
    ] {
        let ran = Sandbox::new(&format!("[jobs.job]\n{job}")).run("check").says(note).ok();
        assert_eq!(ran.stderr.matches("runner: job: exit ").count(), 1, "{job}: {ran}");
    }
    for job in [
        "command = 'curl x'",
        "command = 'curl x'\nauto_retry_for = ['TIMEOUT']",
        "command = 'curl x'\nexit_codes = { 2 = 'USAGE' }\nmax_attempts = 1",
        "command = 'curl x'\nexit_codes = { 7 = 'REFUSED' }\nretryable = false",
        "command = 'curl x'\nauto_retry_for = ['EXIT_*']",
        "command = 'msmtp a@b'\nexit_codes = { 69 = 'LATER' }\nauto_retry_for = ['LATER']",
        "command = 'restic backup /home'\nwarning_exit_codes = [3]",
        "command = 'restic backup /home'\nsuccess_exit_codes = [0, 3]",
        "command = 'restic backup /home | cat; false'",
        "command = 'flock -n lock tar cf x y'",
        "command = 'tar cf x y > log'",
        "command = 'diff a b'",
        "command = 'tar df x'",
        "command = 'restic forget --prune'\nexit_codes = { 3 = 'PARTLY' }",
        "command = 'timeout 9 ./work'\nexit_codes = { 127 = 'NOT_FOUND' }",
    ] {
        let ran = Sandbox::new(&format!("[jobs.job]\n{job}")).run("check").exits(0);
        assert!(!ran.stderr.contains("exit "), "{job}: {ran}");
    }
}
