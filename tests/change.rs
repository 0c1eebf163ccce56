//! `runner change`: pending jobs get another due time, priority or queue, or the present definition of the job file.

use crate::support::{Background, Sandbox, assert_fields, json, wait_until};

const JOBS: &str = "
[jobs.push]
command = 'echo $RUNNER_ATTEMPT $RUNNER_ATTEMPTS_LEFT $* >> log; exit 1'
max_attempts = 2
backoff = '1h'
[jobs.good]
command = 'echo good >> log'
";

#[test]
fn a_waiting_retry_can_be_made_due_now() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("push");
    sandbox.run("work --until-idle").ok();
    sandbox.run("retry 1").exits(1).says("job 1 is pending; runner change 1 --now makes it due");
    sandbox.run("change 1 --now").ok().prints("job 1 push: due now\n");
    sandbox.drain();
    assert_eq!(sandbox.log(), ["1 1", "2 0"], "budget and numbers stay");
    let ran = sandbox.run("change 1 --now").exits(1).prints("");
    ran.says("job 1 is dead; only pending jobs are changed; runner retry 1 puts it back");
}

#[test]
fn due_time_priority_and_queue_change_where_the_job_stands() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good --in 1h --label L");
    let before = sandbox.job(1);
    let ran = sandbox.run("change good --at 2099-01-02T03:04:05Z --priority 7 --to-queue net --utc").ok();
    ran.shows("job 1 good [L]: due 2099-01-02 03:04:05Z (in ").shows("), priority 7, in queue net\n");
    let mut expected = before;
    for (key, value) in
        [("run_at", json!("2099-01-02T03:04:05.000Z")), ("priority", json!(7)), ("queue", json!("net"))]
    {
        expected[key] = value;
    }
    assert_eq!(sandbox.job(1), expected);
    sandbox.run("pause net").ok();
    sandbox.run("change --queue net --now").ok().shows("due now; it ");
    sandbox.run("work --until-idle").ok();
    sandbox.run("change --label L --to-queue default").ok();
    sandbox.run("work --until-idle").ok();
    assert_eq!(sandbox.log(), ["good"]);
    sandbox.run("change --label L --now").prints("").says("no unfinished job").ok();
    sandbox.run("doctor").ok();
}

#[test]
fn a_change_needs_something_to_change() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("good --in 1h");
    for line in ["change 1", "change 1 --now --in 1h", "change 1 --redefine --now"] {
        sandbox.run(line).exits(2);
    }
    sandbox.run("retry 1 --now").exits(2).says("runner change ID --now");
    sandbox.run("change 1 --in 2h --dry-run").ok().shows("job 1 good would be due ");
    let due = sandbox.job(1)["run_at"].clone();
    sandbox.run("change 1 --priority 3").ok().prints("job 1 good: priority 3\n");
    assert_eq!(sandbox.job(1)["run_at"], due);
}

#[test]
fn an_expiry_moves_with_a_job_that_has_never_started() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("push --at 2099-01-01T00:00:00Z --expires-in 1h --backoff 1s --jitter false");
    sandbox.run("change 1 --at 2099-02-01T00:00:00Z").ok();
    assert_eq!(sandbox.job(1)["expires_at"], "2099-02-01T01:00:00.000Z");
    sandbox.run("change 1 --now").ok();
    sandbox.run("work --max-jobs 1").ok();
    let expires = sandbox.job(1)["expires_at"].clone();
    let ran = sandbox.run("change 1 --in 2h").exits(1).prints("");
    ran.says("job 1 was left: it has started before, so its expiry stays");
    let ran = sandbox.run("change --name push --in 2h").exits(1).prints("");
    ran.says("job 1 was left: it has started before, so its expiry stays");
    sandbox.run("change 1 --in 30m").ok();
    assert_eq!(sandbox.job(1)["expires_at"], expires);
}

#[test]
fn a_change_by_name_names_each_job_that_it_leaves() {
    let sandbox = Sandbox::new("[jobs.long]\ncommand = 'echo >> log; sleep 60'\n");
    sandbox.add("long");
    let _worker = sandbox.worker("-j 1");
    sandbox.until_logged(1);
    sandbox.add("long --in 1h");
    for line in ["change --name long --priority 3", "change --name long --redefine"] {
        let ran = sandbox.run(line).exits(1);
        assert_eq!(ran.stdout.lines().count(), 1, "{ran}");
        ran.says("runner: job 1 is running; only pending jobs are changed");
    }
}

/// Three hundred jobs that wait, of which each tells its label, in the order of their due times.
fn three_hundred() -> Sandbox {
    let sandbox = Sandbox::new("[jobs.push]\ncommand = 'echo $RUNNER_LABEL >> log'\ntimeout = '1s'\n");
    let lines: Vec<String> = (0..300)
        .map(|number| {
            let (due, priority) = ((number * 7) % 300 + 1, number % 2);
            format!(
                "{{\"name\":\"push\",\"label\":\"{number}\",\"in\":\"{due}h\",\"priority\":{priority}}}\n"
            )
        })
        .collect();
    sandbox.write("batch", lines.concat());
    sandbox.run("enqueue --batch batch").ok();
    sandbox
}

#[test]
fn what_is_queued_takes_the_present_definition_and_keeps_its_places() {
    let sandbox = three_hundred();
    let places = |which: &str| {
        let sql = "SELECT json_group_array(label) FROM (SELECT label FROM jobs WHERE state = 'pending'
                   ORDER BY priority DESC, run_at, id)";
        let due = "SELECT json_group_array(json_array(label, run_at, priority, queue)) FROM
                   (SELECT * FROM jobs WHERE state = 'pending' ORDER BY label)";
        (sandbox.sql().text(if which.is_empty() { sql } else { which }), sandbox.sql().text(due))
    };
    let before = places("");
    sandbox.write("jobs.toml", "[jobs.push]\ncommand = 'echo $RUNNER_LABEL >> log'\ntimeout = '2m'\n");
    let printed = sandbox.run("change --name push --redefine").ok().stdout;
    assert_eq!(printed, (301..=600).map(|id| id.to_string() + "\n").collect::<String>());
    assert_eq!(places(""), before);
    let timeouts = "SELECT group_concat(DISTINCT d.definition ->> '$.timeout') FROM jobs AS j
                    JOIN job_definitions AS d ON d.id = j.definition_id WHERE state = 'pending'";
    assert_eq!(sandbox.sql().text(timeouts), "120000");
    assert_fields(
        &sandbox.job(1),
        &json!({"state": "cancelled", "replaced_by": 301, "resolution": "replaced by job 301"}),
    );
    sandbox.run("doctor --strict").ok();
}

#[test]
fn a_replacement_keeps_keys_input_arguments_and_who_waits() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'cat; echo $* >> log'\n[jobs.b]\ncommand = 'true'\n");
    sandbox
        .call("enqueue a --stdin --in 1h --unique-key u --idempotency-key i -- x y")
        .stdin("input")
        .run()
        .ok();
    sandbox.run("enqueue b --after 1").ok();
    sandbox.run("enqueue b --after-any 1").ok();
    sandbox.write("jobs.toml", "[jobs.a]\ncommand = 'cat >> log; echo $1 >> log'\nmax_attempts = 7\n");
    sandbox.run("change 1 --redefine --dry-run").ok().prints("would replace job 1 a [x y]\n");
    sandbox.run("change 1 --redefine").ok().prints("4\n");
    assert_fields(
        &sandbox.job(4),
        &json!({"state": "pending", "phase": "scheduled", "unique_key": "u", "idempotency_key": "i",
                "args": ["x", "y"], "max_attempts": 7, "run_at": sandbox.job(1)["run_at"]}),
    );
    for (id, after, after_any) in [(2, json!([4]), json!([])), (3, json!([]), json!([4]))] {
        assert_fields(&sandbox.job(id), &json!({"phase": "blocked", "after": after, "after_any": after_any}));
    }
    sandbox.run("change 2 --redefine").exits(1).says("the job file does not declare b any more");
    sandbox.run("change 4 --now").ok();
    sandbox.drain();
    assert_eq!(sandbox.log(), ["inputx"]);
    assert_eq!(sandbox.job(3)["state"], "succeeded");
    sandbox.run("doctor --strict").ok();
}

#[test]
fn whoever_waits_for_a_job_waits_for_the_one_in_its_place() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'exit 3'\n");
    sandbox.add("a --in 1h");
    let mut waiter = Background::start(&sandbox, sandbox.call("wait 1"));
    let mut run = Background::start(&sandbox, sandbox.call("run a --label of-run --after 1 --unique-key r"));
    wait_until("the run to have its job", || sandbox.count_jobs() == 2);
    sandbox.write("jobs.toml", "[jobs.a]\ncommand = 'echo new'\n");
    sandbox.run("change 1 2 --redefine").ok().prints("3\n4\n");
    sandbox.run("change 3 --now").ok();
    sandbox.run("work --until-idle").ok();
    waiter.wait().prints("job 3 a: succeeded\n").says("job 1 a was replaced by job 3").ok();
    run.wait().ok().prints("new\n");
    assert_fields(&sandbox.job(4), &json!({"state": "succeeded", "unique_key": "r", "label": "of-run"}));
}
