//! `--json`: the documented fields, and the form of times.

use std::collections::BTreeSet;

use crate::support::{Sandbox, Value, json};

const JOB: &str = "id name label queue state phase dead_reason error_code priority attempts budget_used max_attempts retryable \
    command args cwd unique_key idempotency_key enqueued_at run_at started_at finished_at expires_at next_retry_at \
    cancel_requested_at result worker_id after after_any waits_for scheduled_for resolved_at resolution replaced_by file \
    command_line warning history";

const ATTEMPT: &str = "job_id name number outcome error_code exit_code signal message started_at finished_at duration_ms cpu_ms max_rss_bytes \
    will_retry decision counted nominal_delay_ms delay_ms next_retry_at worker_id leaked stdout stderr \
    stdout_omitted_bytes stderr_omitted_bytes warning";

#[track_caller]
fn assert_only_fields(object: &Value, fields: &str) {
    let found: BTreeSet<_> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(found, fields.split_whitespace().collect::<BTreeSet<_>>());
}

/// A job that was retried, and one that waits.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'echo out; exit 3'\nbackoff = ['1ms']\n");
    sandbox.add("job");
    sandbox.drain();
    sandbox.add("job --in 1h");
    sandbox
}

#[test]
fn the_fields_of_a_job() {
    let sandbox = sandbox();
    for line in ["inspect 1", "inspect 2", "inspect jobs --limit 1", "enqueue job --dry-run", "cancel 2"] {
        assert_only_fields(&sandbox.run(&format!("{line} --json")).ok().json(), JOB);
    }
    let dead = format!("{JOB} message last_output");
    assert_only_fields(&sandbox.run("inspect dead --json").ok().json(), &dead);
    assert_only_fields(&sandbox.run("resolve 1 --json").ok().json(), JOB);
    assert_only_fields(&sandbox.run("inspect dead --resolved --json").ok().json(), &dead);
    assert_only_fields(&sandbox.run("retry 1 --json").ok().json(), JOB);
    assert_only_fields(&sandbox.run("enqueue job --json").ok().json(), &format!("{JOB} created"));
}

#[test]
fn the_fields_of_an_attempt() {
    let sandbox = sandbox();
    let attempt = sandbox.attempt(1, 1);
    assert_only_fields(&attempt, ATTEMPT);
    assert_eq!(attempt["stdout"], "out\n");
    for attempt in sandbox.attempts(1) {
        assert_only_fields(&attempt, ATTEMPT);
        assert_eq!((&attempt["stdout"], &attempt["stdout_omitted_bytes"]), (&json!(null), &json!(null)));
    }
    assert_only_fields(&sandbox.run("inspect attempts --json --limit 1").ok().json(), ATTEMPT);
}

/// The fields of the overview.
const FIELDS: &str = "db counts queues workers dead_by_error_code next_run_at oldest_due_at time version host attention dead_by_code";

#[test]
fn the_fields_of_the_overview() {
    let sandbox = sandbox();
    let _worker = sandbox.worker("-j3 --queue a --queue b");
    let overview = sandbox.run("inspect --json").ok().json();
    assert_only_fields(&overview, FIELDS);
    assert_only_fields(
        &overview["counts"],
        "ready scheduled retrying blocked running succeeded dead resolved cancelled",
    );
    assert_only_fields(
        &overview["queues"][0],
        "name paused max_running rate ready scheduled retrying blocked running",
    );
    let worker = &overview["workers"][0];
    assert_only_fields(worker, "id pid alive started_at slots running queues");
    assert_eq!((&worker["slots"], &worker["queues"]), (&json!(3), &json!(["a", "b"])));
    let listed = sandbox.run("inspect workers --json").ok().json();
    assert_only_fields(&listed, "worker_id pid alive started_at slots running queues job_id outdated");
    assert_eq!(listed["worker_id"], worker["id"]);
    assert_eq!(overview["db"], sandbox.db().display().to_string());
    let empty = Sandbox::empty().run("inspect --json").ok().json();
    assert_only_fields(&empty, FIELDS);
    sandbox.add("--queue none -- true");
    let attention = sandbox.run("inspect --json").ok().json()["attention"][0].clone();
    assert_only_fields(&attention, "kind alarm message command jobs file");
}

#[test]
fn the_fields_of_check() {
    let sandbox = sandbox();
    assert_only_fields(
        &sandbox.run("check --json").ok().json(),
        "name policy delays cwd inherit_env env_file env stdin_bytes unique_key success_exit_codes \
         warning_exit_codes statuses notes schedules next",
    );
    let ending = sandbox.run("check job --exit 3 --json").ok().json();
    assert_only_fields(&ending, "error_code warning meaning decision dead_reason delay_min_ms delay_max_ms");
}

#[test]
fn times_are_utc_with_milliseconds_and_absent_values_are_null() {
    let sandbox = sandbox();
    let job = sandbox.job(1);
    for field in ["enqueued_at", "run_at", "started_at", "finished_at"] {
        let text = job[field].as_str().expect(field);
        assert!(text.len() == 24 && text.as_bytes()[10] == b'T' && text.ends_with('Z'), "{field}: {text}");
    }
    for field in ["expires_at", "next_retry_at", "cancel_requested_at", "result", "worker_id", "unique_key"] {
        assert_eq!(job[field], json!(null), "{field}");
    }
    assert_eq!(job["args"], json!([]));
}

#[test]
fn a_job_has_its_phase_beside_its_state() {
    let sandbox = Sandbox::empty();
    let ready = sandbox.add("-- true");
    let delayed = sandbox.add("--in 1h -- true");
    let blocked = sandbox.add(&format!("--after {delayed} -- true"));
    for (job, phase) in [(ready, "ready"), (delayed, "scheduled"), (blocked, "blocked")] {
        let job = sandbox.job(job);
        assert_eq!((&job["state"], &job["phase"]), (&json!("pending"), &json!(phase)));
    }
    let job = sandbox.run("cancel 1 --json").ok().json();
    assert_eq!((&job["state"], &job["phase"]), (&json!("cancelled"), &json!("cancelled")));
}

#[test]
fn the_command_is_always_one_string_too() {
    let sandbox = Sandbox::new("[jobs.file]\ncommand = ['printf', 'a b', '$x']\nlauncher = ['nice']\n");
    sandbox.add("--name words -- printf %s\\n it's");
    sandbox.add_line("", "echo one");
    sandbox.add("file -- more");
    sandbox.call("enqueue").arg("-c").arg("  echo one\n\techo 'two'\n").run().ok();
    let line = |job: u64| sandbox.job(job)["command_line"].clone();
    assert_eq!([line(1), line(2)], [json!(r"printf '%s\n' 'it'\''s'"), json!("echo one")]);
    assert_eq!([line(3), line(4)], [json!("printf 'a b' '$x'"), json!("  echo one\n\techo 'two'\n")]);
    assert_eq!(sandbox.job(3)["command"], json!(["printf", "a b", "$x"]));
}

/// The blocks of this language in the JSON section of the reference, line by line.
fn lines_of_the_reference(language: &str) -> Vec<String> {
    let page = include_str!("../docs/reference.md");
    let section =
        page.split("\n## JSON\n").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a section");
    let fence = format!("```{language}\n");
    let blocks = section.split(&fence).skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// Prints the rows that a line of the reference reads: a relation of `DuckDB`, or a frame of polars or pandas.
const PRINT_ROWS: &str = r#"
if hasattr(read, "fetchall"):
    rows = [dict(zip(read.columns, row)) for row in read.fetchall()]
else:
    rows = read.to_dicts() if hasattr(read, "to_dicts") else read.to_dict("records")
for row in rows:
    print(json.dumps([row[key] for key in ["id", "name", "label", "state", "command_line"]]))
"#;

#[test]
fn other_programs_read_the_list_of_jobs_as_the_reference_says() {
    let sandbox = Sandbox::empty();
    for line in
        ["--label 007 -- true", "--label 2026-11-27 --name 1e3 -- printf %s\\n a", "--label NaN -c true"]
    {
        sandbox.add(line);
    }
    for line in ["echo \"\\d+\"\n\techo 'two'", "[\"a\"]", "{}", "12", "null", "2026-11-27T00:00:00Z"] {
        sandbox.add_line("--label null", line);
    }
    let mut shell = lines_of_the_reference("sh").into_iter();
    let sh = |line: &str| sandbox.program("sh").with_runner_on_path().arg("-c").arg(line).run();
    sh(&shell.next().expect("a line that writes the list")).ok();
    let text = sandbox.read("jobs.json");
    let jobs = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let row = |job: Value| json!([job["id"], job["name"], job["label"], job["state"], job["command_line"]]);
    let expected: Vec<Value> = jobs.map(row).collect();
    assert_eq!(expected.len(), 9);
    let mut tried = 0;
    for line in shell {
        if !sh("command -v jq").ended_well() {
            println!("skipped: there is no jq");
            continue;
        }
        assert_eq!(sh(&line).ok().json_lines(), expected, "{line}");
        tried += 1;
    }
    for line in lines_of_the_reference("python") {
        let module = line.split('.').next().unwrap_or_default();
        let python = |code: &str| sandbox.program("python3").arg("-c").arg(code).run();
        if !python(&format!("import {module}")).ended_well() {
            println!("skipped: python3 has no {module}");
            continue;
        }
        let found = python(&format!("import json, {module}\nread = {line}\n{PRINT_ROWS}")).ok();
        assert_eq!(found.json_lines(), expected, "{line}");
        tried += 1;
    }
    println!("{tried} of 4 programs were tried");
}

#[test]
fn the_overview_counts_dead_letters_by_code_in_a_list() {
    let sandbox = Sandbox::empty();
    for status in [4, 3, 4] {
        sandbox.finish_line("", &format!("exit {status}"));
    }
    let overview = sandbox.run("inspect --json").ok().json();
    let list = json!([{"error_code": "EXIT_3", "jobs": 1}, {"error_code": "EXIT_4", "jobs": 2}]);
    assert_eq!(overview["dead_by_code"], list);
    assert_eq!(overview["dead_by_error_code"], json!({"EXIT_3": 1, "EXIT_4": 2}));
    assert_eq!(Sandbox::empty().run("inspect --json").ok().json()["dead_by_code"], json!([]));
}

#[test]
fn a_dead_letter_has_the_last_words() {
    let sandbox = Sandbox::empty();
    sandbox
        .finish_line("", "echo out; echo one >&2; echo two >&2; echo message=why >> $RUNNER_REPORT; exit 3");
    sandbox.finish_line("", "echo only; echo; exit 4");
    sandbox.finish_line("", "exit 5");
    let words = |code: &str| {
        let dead = sandbox.run(&format!("inspect dead --json --error-code {code}")).ok().json();
        [dead["message"].clone(), dead["last_output"].clone()]
    };
    assert_eq!(words("EXIT_3"), [json!("why"), json!("two")]);
    assert_eq!(words("EXIT_4"), [json!(null), json!("only")]);
    assert_eq!(words("EXIT_5"), [json!(null), json!(null)]);
    assert_eq!(sandbox.run("inspect dead --json --limit 1").ok().json_lines().len(), 1);
}

/// The one object on standard error.
#[track_caller]
fn error_of(sandbox: &Sandbox, line: &str, status: i32) -> Value {
    let ran = sandbox.run(line).exits(status).prints("");
    let error: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|why| panic!("{why}: {ran}"));
    assert_eq!(error["status"], status, "{ran}");
    error
}

#[test]
fn an_error_is_one_object() {
    let sandbox = Sandbox::new("[jobs.backup]\ncommand = 'true'\n");
    sandbox.add("backup");
    for (line, status, error, hint) in [
        ("enqueue bakcup --json", 66, "there is no job \"bakcup\" in ", "did you mean backup?"),
        ("--json inspect 7", 66, "there is no job 7 in ", "runner inspect jobs lists them"),
        ("inspect frob --json", 66, "there is no job named frob in ", "runner inspect jobs lists them"),
        ("cancel frob --json", 66, "there is no job named frob in ", "runner inspect jobs lists them"),
        ("inspec --json", 2, "unrecognized subcommand 'inspec'", "a similar subcommand exists: 'inspect'"),
        (
            "prune --json",
            2,
            "the following required arguments were not provided: --older-than",
            "Usage: runner prune",
        ),
        ("enqueue x --in soon --json", 2, "invalid value 'soon' for '--in <DUR>'", ""),
        ("--json", 2, "there is no verb", "runner --help lists them"),
        ("enqueue --json", 2, "there is nothing to enqueue", "runner enqueue NAME"),
    ] {
        let object = error_of(&sandbox, line, status);
        assert_only_fields(&object, "error hint status");
        assert!(object["error"].as_str().expect("text").starts_with(error), "{line}: {object}");
        let told = object["hint"].as_str().unwrap_or_default();
        assert!(told.starts_with(hint) && told.is_empty() == hint.is_empty(), "{line}: {object}");
    }
    // The argument of a job is none of the program.
    sandbox.run("enqueue -c -- --json").exits(2).says("error: ");
    // Each job that is left has an object.
    let left = sandbox.run("retry 1 7 --json").exits(66).prints("");
    let errors: Vec<Value> =
        left.stderr.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!(errors.iter().map(|error| error["status"].clone()).collect::<Vec<_>>(), [json!(1), json!(66)]);
    // Notes are objects, too.
    let noted = sandbox.run("retry --dead --json").says("is no unresolved dead").ok();
    assert_eq!(noted.stderr, "{\"note\":\"there is no unresolved dead letter\"}\n");
}

#[test]
fn all_mistakes_of_a_job_file_are_in_one_object() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\nretrys = 3\n[jobs.b]\ncommand = 1\n");
    let error = error_of(&sandbox, "check --json", 65);
    assert_only_fields(&error, "error hint status mistakes");
    let path = sandbox.path("jobs.toml").display().to_string();
    let text = error["error"].as_str().expect("text");
    assert!(text.starts_with(&format!("the job file cannot be used: {path}:3:1: ")), "{text}");
    assert!(text.contains(&format!("; {path}:5:11: ")) && !text.contains('\n'), "{text}");
    let places: Vec<_> =
        error["mistakes"].as_array().expect("a list").iter().map(|it| [&it["line"], &it["column"]]).collect();
    assert_eq!(places, [[&json!(3), &json!(1)], [&json!(5), &json!(11)]]);
    assert_only_fields(&error["mistakes"][0], "file line column error hint");
    assert_eq!(error["mistakes"][0]["file"], path);
    assert_eq!(error_of(&sandbox, "enqueue a --json", 65)["mistakes"], error["mistakes"]);
}

#[test]
fn a_job_that_is_waited_for_is_printed_once_it_has_ended() {
    let sandbox = Sandbox::new("[jobs.bad]\ncommand = 'echo out; echo boom >&2; exit 3'\nmax_attempts = 1\n");
    let worker = sandbox.worker("--log json");
    let ran = sandbox.run("enqueue bad --wait --json").exits(3);
    let note =
        "{\"note\":\"job 1 bad: dead, EXIT_3: its attempts are used up; runner inspect 1 tells more\"}\n";
    assert_eq!(ran.stderr, note);
    let job = ran.json();
    assert_only_fields(&job, &format!("{JOB} created attempt"));
    assert_eq!((&job["state"], &job["created"]), (&json!("dead"), &json!(true)));
    assert_only_fields(&job["attempt"], ATTEMPT);
    assert_eq!((&job["attempt"]["exit_code"], &job["attempt"]["stderr"]), (&json!(3), &json!("boom\n")));
    let dead = sandbox.run("inspect dead --json").ok().json();
    assert_eq!((&dead["message"], &dead["last_output"]), (&json!(null), &json!("boom")));
    let event =
        |line: &str| serde_json::from_str::<Value>(line).ok().filter(|event| event["event"] == "job_dead");
    let event = worker.stdout().lines().find_map(event).expect("a death");
    assert_eq!((&event["message"], &event["last_output"]), (&json!(null), &json!("boom")));
    worker.kill();
    // A wait that is given up prints the job as it is then.
    let ran = sandbox.run("enqueue bad --wait --wait-timeout 1ms --json").exits(75);
    assert_eq!((&ran.json()["id"], &ran.json()["attempt"]), (&json!(2), &json!(null)));
    // So does a wait for a job that was there before.
    let ran = sandbox.run("enqueue --wait --wait-timeout 1ms --idempotency-key a --json -- true").exits(75);
    assert_eq!(ran.json()["created"], true);
    let ran = sandbox.run("enqueue --wait --wait-timeout 1ms --idempotency-key a --json -- true").exits(75);
    assert_eq!(ran.json()["created"], false);
    for line in ran.stderr.lines() {
        let told: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {ran}"));
        assert!(told.get("note").or(told.get("error")).is_some(), "{ran}");
    }
}

#[test]
fn a_blocked_job_names_all_that_it_waits_for() {
    let names: Vec<String> = (0..12).map(|n| format!("part-{n}")).collect();
    let parts: Vec<_> = names.iter().map(|name| format!("[jobs.{name}]\ncommand = 'true'\n")).collect();
    let parts = parts.concat();
    let sandbox = Sandbox::new(&format!("{parts}[jobs.whole]\ncommand = 'true'\nafter = {names:?}\n"));
    sandbox.run("enqueue whole").ok();
    let job = sandbox.job(13);
    let waits_for = job["waits_for"].as_array().expect("a list");
    assert_eq!(waits_for.len(), 12);
    assert_eq!(waits_for[3], json!({"job_id": 4, "name": "part-3", "state": "pending"}));
    assert_eq!(sandbox.job(1)["waits_for"], json!(null));
}
