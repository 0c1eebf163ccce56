//! `inspect --html`: what the page leaves out, and which command has it.

use crate::support::{Sandbox, browse, page_text, wait_until};

fn page(sandbox: &Sandbox, options: &str) -> String {
    page_text(&sandbox.run(&format!("inspect --html {options}")).ok().quietly().stdout)
}

/// A section of the page.
fn section<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<h2>{name}")).unwrap_or_else(|| panic!("{name}: {page}"));
    rest.split("</section>").next().expect("a section")
}

/// More than 5000 jobs of 40 names within a day: a third of the names only succeed, a third has deaths that a later run made good,
/// and a third has deaths that are unresolved.
fn forty_names() -> Sandbox {
    let job =
        |n: usize| format!("[jobs.job-{n:02}]\ncommand = 'echo {n} is broken >&2; test -e {}'\n", n % 3);
    let sandbox =
        Sandbox::new(&format!("[defaults]\nmax_attempts = 1\n{}", (0..40).map(job).collect::<String>()));
    let names = (0..40).map(|n| format!("job-{n:02}")).collect::<Vec<_>>().join(" ");
    sandbox.write("0", "");
    sandbox.run(&format!("enqueue -q {names}")).ok();
    sandbox.run("work -j4 --drain -q").exits(1);
    sandbox.write("1", "");
    sandbox.run(&format!("enqueue -q {names}")).ok();
    sandbox.run("work -j4 --drain -q").exits(1);
    sandbox.sql().run(
        "DROP TRIGGER attempts_belong_to_a_running_job;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 64)
         INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at, attempts, attempts_used,
                           error_code, dead_reason, label, task_hash, job_file)
         SELECT definition_id, name, queue, 0, state, run_at - i * 1300000, run_at - i * 1300000, changed_at - i * 1300000, 1, 1,
                error_code, dead_reason, 'label ' || (i % 7), task_hash, job_file
         FROM jobs, n;
         INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, worker_id, started_at, finished_at,
                               duration_ms, output_held_open, next_state, dead_reason)
         SELECT id, 1, 1, iif(state = 'dead', 'failed', 'succeeded'), error_code, state = 'dead', 1, run_at, changed_at,
                changed_at - run_at, 0, state, dead_reason
         FROM jobs WHERE id > 80",
    );
    sandbox
}

#[test]
fn a_page_over_5000_jobs_of_40_names_is_some_screens_of_a_telephone() {
    let sandbox = forty_names();
    let shown = page(&sandbox, "");
    assert!(shown.contains("5200 jobs, drawn folded by name"), "{shown}");
    assert!(shown.len() < 200_000, "{} bytes", shown.len());
    // What stands on top counts the cards; those after the first eight are folded.
    assert!(shown.contains("<h1>13 things need attention</h1>"), "{shown}");
    let cards = section(&shown, "Needs");
    assert_eq!(cards.matches("<h3>").count(), 13, "{cards}");
    assert!(cards.contains("<summary>5 more: job-"), "{cards}");
    assert!(cards.contains("<summary>13 names with deaths that a later run made good"), "{cards}");
    let lanes = section(&shown, "Timeline");
    assert_eq!(lanes.matches("</svg></td>").count(), 26, "{lanes}");
    assert!(lanes.contains("<summary>18 more names</summary>"), "{lanes}");
    assert!(lanes.contains("14 names only succeeded: job-00, "), "{lanes}");
    assert!(lanes.contains("</p><pre class=\"type\"><code>runner inspect stats</code>"), "{lanes}");
    assert!(section(&shown, "Names").contains("<summary>40 names</summary>"), "{shown}");
    let Some((frames, _)) = browse(&sandbox, &sandbox.run("inspect --html").ok().stdout) else { return };
    for frame in frames.iter().filter(|frame| frame["width"] == 390) {
        assert!(frame["height"].as_u64() < Some(6_000), "{}", frame["height"]);
    }
}

#[test]
fn what_a_later_run_made_good_has_no_card() {
    let sandbox = Sandbox::new("[jobs.load]\ncommand = 'test -e there'\nmax_attempts = 1\n");
    sandbox.finish("load --label eu");
    sandbox.finish("load --label us");
    sandbox.write("there", "");
    sandbox.finish("load --label eu");
    let shown = page(&sandbox, "");
    let cards = section(&shown, "Needs");
    assert_eq!(cards.matches("<h3>").count(), 1, "{cards}");
    let (card, rest) =
        cards.split_once("<summary>1 name with deaths that a later run made good").expect("a line");
    assert!(card.contains("[us]") && !card.contains("[eu]") && !card.contains("recovered"), "{card}");
    assert!(
        rest.contains("[eu]") && rest.contains("<code>runner resolve --dead --recovered</code>"),
        "{rest}"
    );
    assert!(rest.contains("<code>runner inspect dead</code>"), "{rest}");
    // The command is about what the page is about. No option selects a queue.
    assert!(
        page(&sandbox, "--name load").contains("<code>runner resolve --dead --recovered --name load</code>")
    );
    let of_queue = page(&sandbox, "--queue default");
    assert!(
        of_queue.contains("<code>runner resolve 1</code>") && !of_queue.contains("--recovered"),
        "{of_queue}"
    );
    sandbox.run("resolve --dead --recovered").ok();
    assert!(!page(&sandbox, "").contains("made good"));
    // Notes are counted as they are shown.
    sandbox.run("retry 2").ok();
    sandbox.drain();
    assert!(page(&sandbox, "").contains("<h1>All is well</h1>"));
}

#[test]
fn lanes_that_only_succeeded_stand_where_there_are_no_others() {
    let sandbox = Sandbox::empty();
    sandbox.finish_line("--name good", "true");
    let shown = page(&sandbox, "");
    assert!(section(&shown, "Timeline").contains("aria-label=\"good: 1 attempt\""), "{shown}");
    sandbox.finish_line("--name bad", "exit 1");
    let shown = page(&sandbox, "");
    let lanes = section(&shown, "Timeline");
    assert!(lanes.contains("aria-label=\"bad: 1 attempt, 1 failed\""), "{lanes}");
    assert!(
        !lanes.contains("aria-label=\"good") && lanes.contains("1 name only succeeded: good</p>"),
        "{lanes}"
    );
    // The table has all attempts.
    assert!(lanes.contains(">1.1</th>") && lanes.contains(">2.1</th>"), "{lanes}");
}

#[test]
fn a_running_job_shows_its_last_line_and_a_chain_when_it_begins() {
    let sandbox = Sandbox::empty();
    let id = sandbox.add_line("--name encode", "echo frame 1; echo frame 2; sleep 60");
    sandbox.add("--name first --at 2099-01-01T12:00:00Z -- true");
    sandbox.add("--name second --after 2 -- true");
    sandbox.add("--name third --after 3 -- true");
    let worker = sandbox.worker("-j1");
    sandbox.until_state(id, "running");
    wait_until("its last line", || page(&sandbox, "").contains("<code>frame 2</code>"));
    let shown = page(&sandbox, "");
    let now = section(&shown, "Now");
    assert_eq!(now.matches("Thu 2099-01-01 12:00").count(), 3, "{now}");
    assert!(now.contains("waits for job 2 first, which is pending"), "{now}");
    worker.kill();
}

#[test]
fn every_command_stands_alone_on_a_line() {
    let sandbox = Sandbox::new("[jobs.load]\ncommand = 'exit 1'\nmax_attempts = 1\nschedule = '@daily'\n");
    sandbox.run("apply -q").ok();
    let dead = sandbox.finish("load")["id"].clone();
    for line in ["--queue img -- true", "--queue far -- true", "--in 1h -- true"] {
        sandbox.add(line);
    }
    sandbox.add(&format!("--after {dead} -- true"));
    sandbox.run("pause img").ok();
    for shown in [page(&sandbox, ""), page(&Sandbox::empty(), "")] {
        let body =
            shown.split("<body>").nth(1).and_then(|rest| rest.split("<footer>").next()).expect("a body");
        assert!(body.contains("<pre class=\"type\"><code>runner "), "{body}");
        let outside = body.split("<pre class=\"type\"><code>");
        let outside: String =
            outside.map(|part| part.rsplit("</code></pre>").next().expect("a part")).collect();
        assert!(!outside.contains("runner "), "{outside}");
    }
}
