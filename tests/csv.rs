//! `inspect LIST --csv`: the lists as tables for spreadsheets and databases.

use crate::support::{Sandbox, Value};

const JOBS: &str = r#"
[jobs.good]
command = "echo fine"
[jobs.bad]
command = ["sh", "-c", "echo 'a, \"b\"'; exit 3"]
max_attempts = 1
[jobs.nightly]
command = "true"
schedule = "0 3 * * *"
"#;

/// The lists, each with the keys of its objects that a table does not have.
const LISTS: [(&str, &[&str]); 7] = [
    ("jobs", &["command", "args", "history"]),
    ("attempts", &[]),
    ("dead", &["command", "args", "history"]),
    ("dead --resolved", &["command", "args", "history"]),
    ("stats", &[]),
    ("schedules", &[]),
    ("schedules --next 3d", &[]),
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("apply").ok();
    sandbox.call("run -q good --label").arg("a,\"b\";  d").run().exits(0);
    sandbox.call("enqueue --name lines -c").arg("echo ' a,\"b\"'\n\necho ü ").run().exits(0);
    for _ in 0..2 {
        sandbox.run("run -q bad").exits(3);
    }
    sandbox.run("resolve 3").ok();
    sandbox.call("enqueue --name after --after 4").arg("--").arg("echo").arg("=1+1").run().exits(0);
    sandbox
}

/// The field that a value of JSON becomes.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[test]
fn each_list_has_the_values_of_its_json_in_their_order() {
    let sandbox = sandbox();
    for (list, left_out) in LISTS {
        let objects = sandbox.run(&format!("inspect {list} --json")).ok().json_lines();
        assert!(!objects.is_empty(), "{list}");
        let printed = sandbox.run(&format!("inspect {list} --csv")).ok().quietly().stdout;
        let mut table = csv::ReaderBuilder::new().has_headers(false).from_reader(printed.as_bytes());
        let records: Vec<Vec<String>> = table.deserialize().map(|record| record.expect("a record")).collect();
        assert_eq!(records.len(), objects.len() + 1, "{list}: {printed}");
        for (record, object) in records[1..].iter().zip(&objects) {
            let object = object.as_object().expect("an object");
            let kept = object.iter().filter(|(key, _)| !left_out.contains(&key.as_str()));
            let (keys, values): (Vec<String>, Vec<String>) =
                kept.map(|(key, value)| (key.clone(), field(value))).unzip();
            assert_eq!((&records[0], record), (&keys, &values), "{list}");
        }
        assert_eq!(printed.matches("\r\n").count(), records.len(), "{list}: {printed:?}");
    }
}

#[test]
fn a_list_without_a_row_has_its_header_with_and_without_a_database() {
    let sandbox = Sandbox::new(JOBS);
    for is_there in [false, true] {
        if is_there {
            sandbox.run("run -q good").exits(0);
            sandbox.run("prune --older-than 0s -q").exits(0);
        }
        for (list, _) in LISTS {
            let none = if list.starts_with("schedules") { " --name none" } else { " --until 2000-01-01" };
            let header = sandbox.run(&format!("inspect {list} --csv{none} -q")).ok().stdout;
            assert_eq!(header.matches("\r\n").count(), 1, "{list}: {header:?}");
            assert!(
                header.starts_with("id,") || header.starts_with("name,") || header.starts_with("job_id,"),
                "{header}"
            );
        }
    }
}

#[test]
fn filters_limits_and_the_exit_status_are_those_of_the_list() {
    let sandbox = sandbox();
    let rows = |line: &str| sandbox.run(line).ok().stdout.matches("\r\n").count() - 1;
    assert_eq!(rows("inspect jobs --csv --name bad"), 2);
    assert_eq!(rows("inspect jobs --csv --limit 1"), 1);
    sandbox.run("inspect dead --csv --fail-if-any").exits(1);
    sandbox.run("inspect dead --csv --fail-if-any --name good").exits(0);
    for line in ["--csv", "workers --csv", "queues --csv", "1 --csv"] {
        sandbox
            .run(&format!("inspect {line}"))
            .exits(2)
            .says("it goes with jobs, attempts, dead, stats and schedules");
    }
    for option in ["--json", "--watch", "--html", "--prometheus"] {
        sandbox.run(&format!("inspect jobs --csv {option}")).exits(2);
    }
}

#[test]
fn what_could_steer_a_terminal_is_escaped_there_alone() {
    let sandbox = Sandbox::empty();
    sandbox.call("enqueue --name a -c").arg("echo \u{1b}[31mred").run().exits(0);
    assert!(sandbox.run("inspect jobs --csv").ok().stdout.contains("echo \u{1b}[31mred"));
    let screen = sandbox.call("inspect jobs --csv").at_terminal(80);
    assert!(screen.stdout.contains("echo \\e[31mred") && !screen.stdout.contains('\u{1b}'), "{screen}");
}
