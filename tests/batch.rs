//! `runner enqueue --batch`: one JSON object a line, all or none, in one transaction.

use serde_json::Value;

use crate::support::{Sandbox, assert_fields, assert_screen, chain, json};

const JOBS: &str = r#"
[jobs.job]
command = "echo \"$1\" >> log"
"#;

#[test]
fn lines_name_declared_jobs_or_bring_a_command() {
    let sandbox = Sandbox::new(JOBS);
    let lines = r#"{"name":"job","args":["a b"]}
{"command":"echo \"line $1\" >> log","args":["1"]}

{"command":["sh","-c","echo array >> log"],"name":"listed"}
"#;
    sandbox.call("enqueue --batch -").stdin(lines).run().ok().prints("1\n2\n3\n");
    sandbox.drain();
    assert_eq!(sandbox.log(), ["a b", "line 1", "array"]);
    assert_eq!(sandbox.job(3)["name"], "listed");
    assert_eq!(sandbox.job(2)["max_attempts"], 1);
    assert_eq!(sandbox.job(1)["max_attempts"], 3);
}

#[test]
fn a_batch_comes_from_a_file_or_from_standard_input() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.call("enqueue --batch -").stdin("\n\n").run().ok().prints("");
    sandbox.write("lines", "{\"name\":\"job\"}\n{\"name\":\"job\"}\n");
    assert_eq!(sandbox.run("enqueue --batch lines").ok().ids(), [1, 2]);
    sandbox.run("enqueue --batch nothing").exits(66).says("nothing");
    sandbox.run("enqueue --batch lines job").exits(2);
    let lines = "{\"name\":\"job\",\"args\":[\"x\"]}\n".repeat(2_000);
    let ids = sandbox.call("enqueue --batch -").stdin(lines).run().ok().ids();
    assert!(ids.into_iter().eq(3..=2_002));
}

#[test]
fn every_option_has_a_key() {
    let sandbox = Sandbox::new(JOBS);
    let line = json!({
        "name": "job", "queue": "net", "priority": 7, "in": "1h", "max_attempts": 4, "retryable": true,
        "backoff": "exponential:1s:3:1m", "jitter": false, "auto_retry_for": ["A", "EXIT_*"],
        "never_retry_for": ["B"], "timeout": "5s", "grace_period": "1s", "expires_in": "2h",
        "env": {"A": "b"}, "cwd": "/", "unique_key": "u", "on_conflict": "error", "idempotency_key": "i",
    });
    let job = sandbox.call("enqueue --json --batch -").stdin(line.to_string()).run().ok().json();
    let expected = json!({
        "queue": "net", "priority": 7, "max_attempts": 4, "cwd": "/", "unique_key": "u", "idempotency_key": "i",
    });
    assert_fields(&job, &expected);
    assert_ne!(job["run_at"], job["enqueued_at"]);
    assert_ne!(job["expires_at"], json!(null));
    let definition = sandbox.sql().text("SELECT definition FROM job_definitions");
    for part in ["\"A\"", "5000", "1000", "60000"] {
        assert!(definition.contains(part), "{part}: {definition}");
    }
    let again = json!({"name": "job", "unique_key": "u", "on_conflict": "error"});
    sandbox.call("enqueue --batch -").stdin(again.to_string()).run().exits(75).prints("");
    let at = json!({"name": "job", "at": "2099-01-02T03:04:05Z", "backoff": ["1s", "2s"]});
    let job = sandbox.call("enqueue --json --batch -").stdin(at.to_string()).run().ok().json();
    assert_eq!((&job["run_at"], &job["max_attempts"]), (&json!("2099-01-02T03:04:05.000Z"), &json!(3)));
}

#[test]
fn the_command_line_gives_the_defaults_and_a_line_is_nearer() {
    let sandbox = Sandbox::new(JOBS);
    let command = r#"{"command":"true"}"#;
    for (options, line, expected) in [
        ("--priority 5 --queue net", command.to_owned(), json!({"priority": 5, "queue": "net"})),
        (
            "--priority 5 --queue net",
            with(command, r#""priority":1"#),
            json!({"priority": 1, "queue": "net"}),
        ),
        ("--backoff 5s,1m,10m", with(command, r#""max_attempts":2"#), json!({"max_attempts": 2})),
        ("--max-attempts 5", with(command, r#""backoff":["1s"]"#), json!({"max_attempts": 2})),
        ("--max-attempts 5", with(command, r#""retryable":false"#), json!({"max_attempts": 1})),
        (
            "--retryable false",
            with(command, r#""auto_retry_for":["A"],"max_attempts":4"#),
            json!({"retryable": true, "max_attempts": 4}),
        ),
    ] {
        let call = sandbox.call(&format!("enqueue --batch - --dry-run --json {options}")).stdin(line);
        assert_fields(&call.run().ok().json(), &expected);
    }
}

/// The line with further keys.
fn with(line: &str, keys: &str) -> String {
    line.replace('}', &format!(",{keys}}}"))
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_passed_over() {
    let sandbox = Sandbox::empty();
    sandbox.call("enqueue --batch -").stdin("\u{feff}{\"command\": \"true\"}\r\n").run().ok().prints("1\n");
}

#[test]
fn a_line_that_waits_for_no_job_is_named_by_number() {
    let sandbox = Sandbox::empty();
    let lines = "{\"command\": \"true\"}\n{\"command\": \"true\", \"after\": [\"77\"]}\n";
    let ran = sandbox.call("enqueue --batch -").stdin(lines).run().exits(66).prints("");
    ran.says("nothing was enqueued: standard input line 2: there is no job 77 to wait for\n");
}

#[test]
fn a_bad_line_is_named_by_number_and_nothing_is_enqueued() {
    let sandbox = Sandbox::new(JOBS);
    for (bad, said) in [
        ("not json", "line 3"),
        ("[1]", "line 3"),
        ("{}", "line 3"),
        (r#"{"name":"job","colour":1}"#, "colour"),
        (
            r#"{"name":"job","priority":1,"queue":"a","priority":1}"#,
            "line 3: the key \"priority\" is given twice",
        ),
        (r#"{"name":"job","env":{"A":"1","A":"2"}}"#, "line 3: the key \"A\" is given twice"),
        (r#"{"name":"job","cwd":""}"#, "line 3: \"cwd\": it is empty"),
        (r#"{"name":"job","prioritty":1}"#, "priority"),
        (r#"{"name":"job","priority":"5"}"#, "priority"),
        (r#"{"name":"job","timeout":5}"#, "timeout"),
        (r#"{"name":"job","max_attempts":0}"#, "max_attempts"),
        (r#"{"name":"job","auto_retry_for":"A"}"#, "auto_retry_for"),
        (r#"{"name":"job","args":"x"}"#, "args"),
        (r#"{"command":"true","backoff":"30"}"#, "line 3"),
        (r#"{"command":"true","backoff":"liner"}"#, "did you mean linear?"),
        (r#"{"name":"job","retryable":false,"max_attempts":2}"#, "retryable"),
    ] {
        let lines = format!("{{\"name\":\"job\"}}\n\n{bad}\n{{\"name\":\"job\"}}\n");
        let ran = sandbox.call("enqueue --batch -").stdin(lines).run().exits(65).prints("");
        ran.says("line 3").says(said);
    }
    let lines = b"{\"name\":\"job\"}\n\n{\"name\":\"j\xffob\"}\n";
    sandbox
        .call("enqueue --batch -")
        .stdin(lines)
        .run()
        .exits(65)
        .prints("")
        .says("line 3: invalid unicode code point");
    let lines = "{\"name\":\"job\"}\n{\"name\":\"jab\"}\n";
    sandbox.call("enqueue --batch -").stdin(lines).run().exits(66).prints("").says("line 2").says("job");
    assert!(!sandbox.db().exists());
}

#[test]
fn all_bad_lines_are_told_up_to_twenty() {
    let sandbox = Sandbox::new(JOBS);
    let lines = "{\"name\":\"job\"}\n{\"name\":\"jab\"}\n\n{\"priorty\":1}\n{\"name\":\"job\"}\n";
    let ran = sandbox.call("enqueue --batch -").stdin(lines).run().exits(66).prints("");
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stderr, @r#"
        runner: nothing was enqueued: standard input:
          line 2: there is no job "jab" in [DIR]/jobs.toml; did you mean job?
          line 4: unknown key "priorty"; did you mean "priority"?
        "#);
    });
    let all_differ: Vec<_> = (0..30).map(|n| format!("{{\"k{n}\":1}}\n")).collect();
    let ran = sandbox.call("enqueue --batch -").stdin(all_differ.concat()).run().exits(65).prints("");
    ran.says("\n  line 1: ").says("\n  line 20: ").says("\n  … and 10 more bad lines\n");
    sandbox.write("jobs.toml", "[jobs.job]\n");
    let ran = sandbox.call("enqueue --batch -").stdin(lines).run().exits(65).prints("");
    assert_eq!(ran.stderr.matches("1 mistake").count(), 1, "{ran}");
    assert!(!sandbox.db().exists());
}

#[test]
fn a_mistake_of_several_lines_is_told_once() {
    let sandbox = Sandbox::new(JOBS);
    let said = |lines: &str| sandbox.call("enqueue --batch -").stdin(lines).run().exits(65).prints("").stderr;
    insta::assert_snapshot!(said(&"{}\n".repeat(600)), @r#"runner: nothing was enqueued: standard input lines 1 to 600: a "name" or a "command" is needed"#);
    insta::assert_snapshot!(said("{}\n[1]\n\n{}\n[1]\n{}\n{\"name\":\"job\"}\n{}\n{}\n"), @r#"
    runner: nothing was enqueued: standard input:
      lines 1, 4, 6 and 2 more: a "name" or a "command" is needed
      lines 2, 5: invalid type: sequence, expected a JSON object; a JSON object is expected
    "#);
}

/// A value is read when it is asked for; where it stands is told of the whole line, as of any other error.
#[test]
fn a_bad_line_that_begins_like_the_line_before_is_reported() {
    let sandbox = Sandbox::new(JOBS);
    let good = r#"{"name":"job","queue":"q","args":["x"]}"#;
    let many_keys: Vec<_> = (0..30).map(|n| format!("\"k{n}\":{n}")).collect();
    let many_keys = format!("{{{}}}", many_keys.join(","));
    for (bad, said) in [
        (r#"{"name":"job","args":["\ud800"]}"#, "unexpected end of hex escape at column 30; a JSON object"),
        (r#"{"name":"job","priority":1e999}"#, "number out of range at column 30; a JSON object"),
        (r#"{"name":"job","args":["a\u0000"]}"#, r#""args": it holds a NUL byte"#),
        (r#"{"name":"job","args":["x",1]}"#, "\"args\": invalid type: integer `1`, expected a string"),
        (r#"{"name":"job","args":["x"]} {}"#, "trailing characters"),
        ("[]", "invalid type: sequence, expected a JSON object; a JSON object"),
        (r#"{"name\"job\"queue":"q","args":["x"]}"#, "unknown key"),
        (r#"{"name\u0000\"job\"\u0000queue":"q","args":["x"]}"#, "unknown key"),
        (&many_keys, "unknown key \"k"),
    ] {
        let lines = format!("{good}\n{bad}\n");
        let ran = sandbox.call("enqueue --batch -").stdin(lines).run().exits(65).prints("");
        ran.says("standard input line 2: ").says(said);
    }
    let same =
        "{\"\\u006eame\":\"job\",\"args\":null,\"queue\":null}\n{\"args\":[\"\"],\"name\":\"j\\u006fb\"}";
    assert_eq!(sandbox.call("enqueue --batch -").stdin(same).run().ok().ids(), [1, 2]);
    assert_eq!(
        sandbox.sql().text("SELECT count(*) || hex(group_concat(args_nul)) FROM jobs, job_definitions"),
        "200"
    );
}

#[test]
fn a_dependency_of_one_line_is_the_job_that_another_line_names() {
    let sandbox = Sandbox::new(&chain(&["extract", "load", "report"]));
    let names = |lines: &[&str]| {
        let ran = sandbox.call("enqueue --batch - --json").stdin(lines.join("\n")).run().ok();
        let name = |job: &Value| format!("{} {}", job["name"].as_str().unwrap(), job["after"]);
        ran.json_lines().iter().map(name).collect::<Vec<_>>()
    };
    let (extract, load) =
        (r#"{"name":"extract","args":["a"],"queue":"q"}"#, r#"{"name":"load","priority":7}"#);
    let report = r#"{"name":"report"}"#;
    let first = names(&[report, load, extract, r#"{"name":"extract","args":["b"]}"#]);
    assert_eq!(first, ["extract []", "load [1]", "report [2]", "extract []"]);
    // The options of the line that names it are its own, and no one else's.
    assert_fields(&sandbox.job(1), &json!({"args": ["a"], "queue": "q", "priority": 0}));
    assert_fields(&sandbox.job(2), &json!({"args": [], "queue": "default", "priority": 7}));
    sandbox.drain();
    assert_eq!(sandbox.log().iter().filter(|line| line.starts_with("extract a")).count(), 1);

    assert_eq!(names(&[extract, report, load]), ["extract []", "load [5]", "report [6]"]);
    assert_eq!(names(&[extract, load, report]), ["extract []", "load [8]", "report [9]"]);
    // Without its own dependencies it needs none, and they are not enqueued.
    let alone = r#"{"name":"load","no_deps":true}"#;
    assert_eq!(names(&[report, alone]), ["load []", "report [11]"]);
    // A job that exists is waited for as well.
    assert_eq!(
        names(&[report, r#"{"name":"load","after":[1]}"#]),
        ["extract []", "load [1,13]", "report [14]"]
    );
    sandbox.run("doctor").ok();
}
