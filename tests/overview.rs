//! `runner inspect`: what needs attention, and how the names that ran lately have fared.

use crate::support::{Finished, Sandbox, Sql};

fn look(sandbox: &Sandbox, columns: u16, lang: &str) -> Finished {
    let call = sandbox.call("inspect --color never").env("TERM", "xterm").env("LANG", lang);
    call.at_terminal(columns).ok()
}

/// The lines about names.
fn names(ran: &Finished) -> Vec<String> {
    let lines = ran.stdout.lines().skip_while(|line| !line.starts_with("ran lately")).skip(1);
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The attempts end an hour apart, the last one at this time in milliseconds.
fn spread(sql: &Sql, last: &str) {
    sql.run(&format!(
        "DROP TRIGGER IF EXISTS attempts_are_immutable;
         UPDATE attempts SET finished_at = {last}
             - 3600000 * (SELECT count(*) FROM attempts AS l WHERE (l.job_id, l.number) > (attempts.job_id, attempts.number))"
    ));
}

#[test]
fn a_line_for_each_name_shows_its_last_outcomes_and_what_comes_next() {
    let sandbox = Sandbox::new(
        "[jobs.backup]\ncommand = 'exit $(cat status)'\nschedule = '@daily'\nmax_attempts = 1
         [jobs.mail]\ncommand = 'true'\nschedule = 'every 2h'\n[jobs.flaky]\ncommand = 'exit 1'\nmax_attempts = 3
         backoff = ['0s', '0s']\n",
    );
    sandbox.run("apply -q").ok();
    sandbox.run("pause --schedule mail").ok();
    for status in [0, 1, 0] {
        sandbox.write("status", status.to_string());
        sandbox.add("backup");
        sandbox.drain();
    }
    sandbox.add("flaky");
    sandbox.drain();
    sandbox.add("mail");
    sandbox.run("work --drain --queue none").ok();
    sandbox.run("cancel mail").ok();
    spread(&sandbox.sql(), "1000 * unixepoch() - 60000");
    for (lang, good, bad) in [("C.UTF-8", "✓", "✗"), ("C", "+", "x")] {
        let ran = look(&sandbox, 80, lang);
        let lines = names(&ran);
        assert_eq!(lines[0], format!("flaky {} none lately", bad.repeat(3)), "{ran}");
        assert!(lines[1].starts_with(&format!("backup {good}{bad}{good} 3h 1m ago in ")), "{ran}");
        assert_eq!(lines[2], "mail paused", "{ran}");
    }
    // Days later the schedules are still of interest, and what they have fared before; the rest is not.
    spread(&sandbox.sql(), "1000 * (unixepoch() - 8 * 86400)");
    let ran = look(&sandbox, 80, "C.UTF-8");
    let lines = names(&ran);
    assert!(lines[0].starts_with("backup ✓✗✓ 8d 3h ago in ") && lines[1] == "mail paused", "{ran}");
    assert_eq!(lines.len(), 2, "{ran}");
}

#[test]
fn twenty_outcomes_are_shown_however_many_other_names_ran_since() {
    let sandbox = Sandbox::new("[jobs.nightly]\ncommand = 'true'\nschedule = '@daily'\n");
    sandbox.run("apply -q").ok();
    let many = |count: usize, job: &str| {
        sandbox.write("lines", job.repeat(count));
        sandbox.run("enqueue -q --batch lines").ok();
    };
    many(1, "{\"command\":\"true\",\"name\":\"nightly\"}\n");
    many(30, "{\"command\":\"false\",\"name\":\"nightly\"}\n");
    sandbox.drain();
    many(1, "{\"command\":\"true\",\"name\":\"busy\"}\n");
    sandbox.drain();
    // One attempt more than are looked at.
    sandbox.sql().run(
        "DROP TRIGGER attempts_belong_to_a_running_job;
         WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n <= 1001)
         INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, exit_code, worker_id, finished_at, duration_ms, output_held_open,
                               next_state)
         SELECT job_id, n, 1, outcome, 0, worker_id, finished_at, 1, 0, next_state FROM attempts, n WHERE job_id = 32",
    );
    let ran = look(&sandbox, 80, "C.UTF-8");
    let lines = names(&ran);
    assert!(lines[0].starts_with(&format!("nightly {} ", "✗".repeat(20))), "{ran}");
    assert!(!lines[0].contains("none lately"), "the success of the 31st job before: {ran}");
    assert!(lines[1].starts_with(&format!("busy {} ", "✓".repeat(20))), "{ran}");
}

#[test]
fn as_many_names_are_shown_as_there_is_room_for() {
    let sandbox = Sandbox::empty();
    let job = |number| format!("{{\"command\":\"true\",\"name\":\"a-name-of-some-length-{number:02}\"}}\n");
    sandbox.write("lines", (0..60).map(job).collect::<String>());
    sandbox.run("enqueue -q --batch lines").ok();
    sandbox.drain();
    for columns in [80, 60] {
        let ran = look(&sandbox, columns, "C.UTF-8");
        assert_eq!(ran.stdout.lines().count(), 23, "all but the prompt: {ran}");
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= columns.into()), "{ran}");
        assert!(
            names(&ran).last().is_some_and(|line| line == "… 43 more names; runner inspect stats"),
            "{ran}"
        );
    }
    // Where there is no screen, there is no end of it.
    let lines = names(&sandbox.run("inspect").ok());
    assert_eq!((lines.len(), lines[50].as_str()), (51, "… 10 more names; runner inspect stats"));
}

#[test]
fn what_needs_attention_comes_first() {
    let sandbox = Sandbox::empty();
    let words = || {
        let ran = sandbox.run("inspect").ok().stdout;
        let words = ran.lines().skip(1).take_while(|line| !line.is_empty());
        words.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect::<Vec<_>>()
    };
    sandbox.finish_line("", "true");
    assert_eq!(words(), ["jobs", "workers"], "all is well");
    sandbox.run("pause img").says("runner: no job is in queue img").ok();
    sandbox.add("--queue img -- true");
    let dead = sandbox.add_line("", "exit 1");
    sandbox.run("work --drain --queue default -q").exits(1);
    assert_eq!(words(), ["dead", "runner", "only", "paused", "runner", "jobs", "workers", "waiting"]);
    sandbox.run(&format!("resolve {dead}")).ok();
    assert_eq!(words(), ["paused", "runner", "jobs", "workers", "waiting"]);
    sandbox.run("resume img").ok();
    assert_eq!(words(), ["no", "runner", "jobs", "workers", "waiting"]);
    sandbox.drain();
    assert_eq!(words(), ["jobs", "workers"]);
}
