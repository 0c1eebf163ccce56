//! `runner enqueue NAME…`: durable before it returns, all or none, one id a line.

use std::fs::File;
use std::io::Read;

use crate::support::{Bed, json};

const JOBS: &str = r#"
[jobs.backup]
command = "echo backup >> log"
[jobs.report]
command = "echo report >> log"
[jobs.sweep]
command = "echo sweep >> log"
"#;

#[test]
fn ids_count_up_from_one_and_stand_one_a_line() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue backup report backup").ok().prints("1\n2\n3\n").quietly();
    bed.run("enqueue sweep").ok().prints("4\n");
    bed.drain();
    assert_eq!(bed.log(), ["backup", "report", "backup", "sweep"]);
}

#[test]
fn a_job_is_on_disk_when_its_id_is_printed() {
    let bed = Bed::new(JOBS);
    bed.add("backup");
    assert_eq!(bed.sql().text("SELECT state FROM jobs WHERE id = 1"), "pending");
    assert_eq!(bed.sql().text("PRAGMA integrity_check"), "ok");
}

#[test]
fn all_enqueues_every_job_of_the_file() {
    let bed = Bed::new(JOBS);
    assert_eq!(bed.run("enqueue --all").ok().ids().len(), 3);
    bed.drain();
    let mut names = bed.log();
    names.sort();
    assert_eq!(names, ["backup", "report", "sweep"]);
    bed.run("enqueue --all backup").exits(2);
}

#[test]
fn an_unknown_name_enqueues_nothing() {
    let bed = Bed::new(JOBS);
    let ran = bed.run("enqueue backup raport sweep").exits(66).prints("");
    let ran = ran.says("raport").says("report");
    ran.says(&bed.path("jobs.toml").display().to_string());
    bed.run("inspect jobs --json").ok().prints("");
}

#[test]
fn nothing_to_enqueue_is_a_usage_error() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue").exits(2).prints("");
    assert!(!bed.db().exists());
}

#[test]
fn a_dry_run_shows_the_job_and_writes_nothing() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue backup --dry-run").ok().shows("backup");
    let job = bed.run("enqueue backup --dry-run --json --priority 3").ok().json();
    assert_eq!(job["id"], json!(null));
    assert_eq!(job["priority"], 3);
    assert!(!bed.db().exists(), "a dry run does not even create the database");
    bed.run("enqueue backup nothing --dry-run").exits(66);
}

#[test]
fn quiet_prints_no_ids() {
    let bed = Bed::new(JOBS);
    bed.run("enqueue -q backup").ok().prints("").quietly();
    bed.run("-q enqueue --json backup").ok().prints("").quietly();
    assert_eq!(bed.count_jobs(), 2);
}

#[test]
fn json_prints_the_job_and_whether_it_was_created() {
    let bed = Bed::new(JOBS);
    let jobs = bed.run("enqueue backup report --json").ok().json_lines();
    assert_eq!((&jobs[0]["id"], &jobs[0]["name"]), (&json!(1), &json!("backup")));
    assert_eq!((&jobs[1]["id"], &jobs[1]["created"]), (&json!(2), &json!(true)));
    bed.run("enqueue backup --unique-key k").ok();
    let job = bed.run("enqueue backup --unique-key k --json").ok().json();
    assert_eq!((&job["id"], &job["created"]), (&json!(3), &json!(false)));
}

#[test]
fn options_stand_before_or_after_the_verb() {
    let bed = Bed::new(JOBS);
    bed.write("other/jobs.toml", "[jobs.elsewhere]\ncommand = 'true'\n");
    for line in [
        "--db a.db --file other/jobs.toml --json --color never enqueue elsewhere",
        "enqueue elsewhere --db a.db --file other/jobs.toml --json --color never",
    ] {
        assert_eq!(bed.run(line).ok().json()["name"], "elsewhere");
    }
    bed.run("--db a.db inspect jobs --json").ok().shows("\"id\":2");
    assert!(!bed.db().exists(), "--db goes before $RUNNER_DB");
}

#[test]
fn without_db_or_variable_the_database_lies_in_the_state_directory() {
    let bed = Bed::new(JOBS);
    bed.call("enqueue backup").env_remove("RUNNER_DB").run().ok();
    assert!(bed.path(".local/state/runner/runner.db").is_file());
    let state = bed.path("state");
    bed.call("enqueue backup").env_remove("RUNNER_DB").env("XDG_STATE_HOME", &state).run().ok();
    assert!(state.join("runner/runner.db").is_file());
}

#[test]
fn an_id_that_cannot_be_printed_is_said_on_standard_error() {
    let bed = Bed::new(JOBS);
    let full = || File::options().write(true).open("/dev/full").expect("a full device");
    bed.call("enqueue backup report").run_into(full()).exits(74).says("1 2");
    assert_eq!(bed.count_jobs(), 2);
    bed.call("enqueue backup --json").run_into(full()).exits(74).says("3");
    for line in ["--help", "--version", "enqueue --help"] {
        bed.call(line).run_into(full()).exits(74).says("could not print");
    }
}

#[test]
fn an_id_for_which_there_is_no_standard_output_is_said_on_standard_error() {
    let bed = Bed::new(JOBS);
    let ran = |redirection: &str| {
        let call = bed.program("sh").arg("-c").arg(format!("exec \"$@\" {redirection}")).arg("sh");
        call.arg(env!("CARGO_BIN_EXE_runner")).arg("enqueue").arg("backup").run()
    };
    ran(">&-").exits(74).says("standard output: it is closed").says("their ids: 1");
    ran("<&- >&-").exits(74).says("their ids: 2");
    // Whoever throws the id away does so on purpose.
    ran("> /dev/null").ok().quietly();
    ran("1<> /dev/null").ok().quietly();
    ran("<&-").ok().prints("5\n");
}

#[test]
fn an_id_that_nobody_reads_is_said_on_standard_error() {
    let bed = Bed::new(JOBS);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut child = bed.call("enqueue backup").spawn(writer, std::process::Stdio::piped());
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert_eq!(child.wait().expect("a child").code(), Some(74), "{said}");
    assert!(said.contains('1'), "{said}");
}
