//! What people are told to type acts on the database and with the job file that they named.

use std::collections::BTreeSet;

use regex::Regex;

use crate::support::{Call, Sandbox, page_text};

const JOBS: &str = r#"
[jobs.once]
command = "true"
retryable = false

[jobs.late]
command = "true"
schedule = "every 5m"
"#;

/// What the dead job is called and what it writes looks like commands of ours.
const LABEL: &str = "see runner cancel 88";
const OUTPUT: &str = "echo runner logs 77; echo then runner logs 77 >&2; exit 3";

/// Calls that name a command to type, each in a state that is made for it.
const CALLS: &[&str] = &[
    "inspect",
    "inspect --json",
    "inspect --html",
    "inspect 1",
    "inspect 2",
    "inspect 3",
    "inspect dead",
    "inspect workers",
    "inspect schedules",
    "inspect queue",
    "inspect 99",
    "doctor --strict",
    "doctor --strict --json",
    "inspect 4",
    "explain 2",
    "retry 4",
    "retry 5",
    "change 1 --now",
    "retry --all",
    "retry 4 --all --json",
    "logs 2",
    "logs 4",
    "wait 2",
    "wait 4 --wait-timeout 10ms",
    "wait 4 --wait-timeout 10ms --json",
    "enqueue nothing",
    "pause --schedule nothing",
    "limit net --max-running 0",
    "list",
];

#[test]
fn a_path_that_is_no_text_is_named_by_its_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::empty();
    let odd = std::ffi::OsStr::from_bytes(b"a'b \xff.db");
    let call = |line: &str| {
        let call = sandbox.program(env!("CARGO_BIN_EXE_runner")).arg("--db").arg(odd).env_remove("RUNNER_DB");
        line.split_whitespace().fold(call, Call::arg).run()
    };
    let said = call("run -- false").exits(1).stderr;
    let told = said.split("; ").find_map(|part| part.trim().strip_suffix(" tells more")).expect("a command");
    let shell = sandbox.program("sh").arg("-c").arg(told).with_runner_on_path().env_remove("RUNNER_DB");
    shell.run().ok().shows("job 1 false");
}

fn call(sandbox: &Sandbox, database: &[&str], line: &str) -> Call {
    let program = sandbox.program(env!("CARGO_BIN_EXE_runner"));
    let words = database.iter().copied().chain(line.split_whitespace());
    words.fold(program, Call::arg)
}

/// A dead job, one behind it, one in a queue that is paused, one that is ready, and one that is not retried without force.
fn states(database: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    let run = |line: &str| call(&sandbox, database, line).run();
    let dies = call(&sandbox, database, "enqueue -q --name dies --label");
    dies.arg(LABEL).arg("-c").arg(OUTPUT).run().ok();
    run("work --drain").exits(1);
    for line in [
        "enqueue -q --name behind --after 1 -c true",
        "pause -q net",
        "enqueue -q --name held --queue net -c true",
        "enqueue -q --name ready -c true",
        "enqueue -q once",
        "cancel -q 5",
    ] {
        run(line).ok();
    }
    sandbox
}

/// What the call says in our own words, without what the job is called and writes, and without how a verb is used.
fn own_words(sandbox: &Sandbox, database: &[&str], line: &str) -> String {
    let ran = call(sandbox, database, line).run();
    let said = format!("{}\n{}", ran.stdout, ran.stderr).replace("runner logs 77", "").replace(LABEL, "");
    let is_changed = ["' 77", "' 88"].iter().any(|changed| said.contains(changed));
    assert!(!is_changed, "{line}: a text of the job was changed: {said}");
    said.lines()
        .filter(|line| !line.starts_with("Usage: ") && !line.contains("[OPTIONS]"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A command to type.
const COMMAND: &str = r"\brunner (?:init|run|enqueue|work|inspect|logs|wait|cancel|retry|change|resolve|check|prune|doctor|backup|restore|pause|resume|apply|limit)\b";

#[test]
fn every_command_to_type_has_the_options_that_were_given() {
    let commands = Regex::new(COMMAND).expect("a pattern");
    let database = ["--db", "a b.db"];
    let sandbox = states(&database);
    let (db, file) = (sandbox.path("a b.db"), sandbox.path("jobs.toml"));
    let db_option = format!(" --db '{}'", db.display());
    let both = [database.as_slice(), &["--file", "jobs.toml"]].concat();
    let both_options = format!("{db_option} --file {}", file.display());
    for (options, wanted) in [(database.as_slice(), &db_option), (&both, &both_options)] {
        for line in CALLS {
            let said = page_text(&own_words(&sandbox, options, line));
            let found: Vec<_> = commands.find_iter(&said).collect();
            assert!(!found.is_empty(), "{line} names no command: {said}");
            for command in found {
                let rest = &said[command.end()..];
                let named = rest.strip_prefix(wanted.as_str());
                let once = named.is_some_and(|rest| !rest.starts_with(" --db"));
                assert!(once, "{line}: {}{:.60}", command.as_str(), rest);
            }
        }
    }
    let noted = call(&sandbox, &database, "enqueue -- true").at_terminal(500).ok();
    assert!(noted.stdout.contains(&format!("runner work{db_option} starts one")), "{noted}");
}

/// A command that names a job file of its own has no other.
#[test]
fn a_command_names_one_job_file() {
    let database = ["--db", "a b.db", "--file", "other.toml"];
    let sandbox = states(&["--db", "a b.db"]);
    call(&sandbox, &["--db", "a b.db"], "apply").run().ok();
    sandbox.write("other.toml", "[jobs.a]\ncommand = 'true'\n");
    sandbox.write("jobs.toml", JOBS.replace("5m", "7m"));
    let (db, jobs) = (sandbox.path("a b.db"), sandbox.path("jobs.toml"));
    let apply = format!("runner apply --db '{}' --file {}", db.display(), jobs.display());
    let said = own_words(&sandbox, &database, "inspect schedules");
    assert!(said.contains(&format!("{apply} takes")), "{said}");
    assert!(own_words(&sandbox, &database, "check jobs.toml").contains(&apply));
    let init = format!("runner init --db '{}' --file {}`", db.display(), sandbox.path("none.toml").display());
    let said = own_words(&sandbox, &database, "check none.toml");
    assert!(said.contains(&init), "{said}");
    let said = own_words(&sandbox, &database, "inspect");
    assert!(said.contains(&format!("{apply}\n")), "{said}");
}

/// The options may be given for every verb, so that each command to type can be run as it stands.
#[test]
fn commands_to_type_run_as_they_stand() {
    let options = ["--db", "a b.db", "--file", "jobs.toml"];
    let sandbox = states(&options);
    let shown = call(&sandbox, &options, "inspect --json").run().ok();
    let overview = shown.json();
    let entries = overview["attention"].as_array().expect("a list");
    // A worker would not end.
    let ending = entries.iter().filter(|entry| entry["kind"] != "no_worker");
    let lines: BTreeSet<&str> = ending.filter_map(|entry| entry["command"].as_str()).collect();
    assert!(lines.len() >= 2, "{shown}");
    for line in lines {
        sandbox.program("sh").arg("-c").arg(line).with_runner_on_path().run().ok();
    }
}

#[test]
fn a_command_to_type_has_no_options_where_none_were_given() {
    let sandbox = states(&[]);
    let with_option = Regex::new(&format!("{COMMAND} --(?:db|file)")).expect("a pattern");
    for line in CALLS {
        let said = own_words(&sandbox, &[], line);
        assert!(!with_option.is_match(&said), "{line}: {said}");
    }
}
