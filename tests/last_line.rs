//! The last line of what a job wrote is the same one wherever it is shown, kept or passed on, and no screen is full of it.

use serde_json::{Value, json};

use crate::support::{Sandbox, wait_until};

const JOBS: &str = r#"
[defaults]
max_attempts = 1
on_dead = "alert"
output_limit = "64KiB"
[jobs.fails]
command = "cat out; cat err >&2; cat report >> $RUNNER_REPORT; exit 1"
[jobs.hangs]
command = "cat out; exec sleep 60"
[jobs.alert]
command = 'printf %s "$RUNNER_DEAD_MESSAGE" > told'
"#;

/// A sandbox in which `fails` writes this, and reports that.
fn sandbox(out: &str, err: &str, report: &str) -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    for (name, text) in [("out", out), ("err", err), ("report", report)] {
        sandbox.write(name, text);
    }
    sandbox
}

/// A progress bar of so many steps.
fn bar(steps: usize) -> String {
    (1..=steps).map(|step| format!("\r{step} of {steps}")).collect::<Vec<_>>().concat()
}

#[test]
fn every_place_has_the_same_one() {
    for (out, err, last) in [
        ("out\n".to_owned(), bar(500) + "\rquota exceeded\n", "quota exceeded"),
        (bar(500) + "\rquota exceeded   \r\n", String::new(), "quota exceeded"),
        (bar(20_000), String::new(), "20000 of 20000"),
        (format!("no space\r\n{}\r\u{1b}[K\r\n", bar(20_000)), String::new(), "no space"),
        ("no route\n".to_owned(), "\u{1b}[K\n".to_owned(), "no route"),
        (String::new(), "\u{1b}[31mdenied\u{1b}[0m\n\u{1b}]0;done\u{7}\u{1b}[0m".to_owned(), "denied"),
        (bar(3) + "\r\u{1b}[K", String::new(), "3 of 3"),
        ("one\r\r\ntwo\r\r\n".to_owned(), String::new(), "two"),
    ] {
        let sandbox = sandbox(&out, &err, "");
        sandbox.add("fails");
        let ran = sandbox.run("work --drain --log json").exits(1);
        let death = ran.json_lines().into_iter().find(|event| event["event"] == "job_dead");
        let dead = sandbox.run("inspect dead --json").ok().json();
        let kept =
            [death.map_or(Value::Null, |event| event["last_output"].clone()), dead["last_output"].clone()];
        assert_eq!(kept, [json!(last), json!(last)], "{last}");
        assert_eq!(sandbox.read("told"), last);
        let stream = if err.trim_start_matches("\u{1b}[K").trim().is_empty() { "stdout" } else { "stderr" };
        for (verb, shown) in [
            ("inspect", format!("EXIT_1: {last};")),
            ("inspect dead", format!("  {last}\n")),
            ("inspect 1", format!("       {stream}: {last}\n")),
            ("inspect --html", format!("EXIT_1: {last}</p>")),
            ("inspect --html", format!("{last}\n</pre>")),
            ("doctor --strict", format!("EXIT_1: {last};")),
        ] {
            let ran = sandbox.run(verb);
            assert!(ran.stdout.contains(&shown) && !ran.stdout.contains("2 of "), "{shown}: {ran}");
        }
    }
}

#[test]
fn a_running_job_shows_where_its_bar_is() {
    let sandbox = sandbox(&bar(12), "", "");
    let id = sandbox.add("hangs");
    let worker = sandbox.worker("-j1");
    sandbox.until_state(id, "running");
    wait_until("the overview has it", || sandbox.run("inspect").ok().stdout.contains("12 of 12"));
    let overview = sandbox.run("inspect").ok().stdout;
    assert!(!overview.contains("11 of 12"), "{overview}");
    let page = sandbox.run("inspect --html").ok().shows("<code>12 of 12</code>").stdout;
    assert!(!page.contains("11 of 12"), "{page}");
    worker.kill();
}

/// No line of a screen has more than 300 of these characters.
#[track_caller]
fn assert_short(sandbox: &Sandbox, verbs: &[&str], of: char) {
    for verb in verbs {
        let ran = sandbox.run(verb);
        let longest = ran.stdout.split(|c| c != of).map(str::len).max();
        assert!(longest.is_some_and(|length| (10..300).contains(&length)), "{verb}: {longest:?} {ran}");
    }
}

#[test]
fn no_screen_is_full_of_it() {
    let screens = ["inspect", "inspect dead", "inspect 1", "inspect --html", "doctor --strict"];
    let sandbox = sandbox(&"w".repeat(50_000), "", "");
    sandbox.add("fails");
    let _ = sandbox.run("work --drain");
    assert_short(&sandbox, &screens, 'w');
    assert_eq!(sandbox.read("told"), "w".repeat(16 << 10));

    sandbox.write("report", format!("message={}", "m".repeat(50_000)));
    sandbox.run("retry 1").ok();
    let log = sandbox.run("work --drain").exits(1).stderr;
    assert!(log.lines().all(|line| line.len() < 600), "{log}");
    assert_short(&sandbox, &screens, 'm');
    assert_short(&sandbox, &["inspect jobs"], 'm');
    sandbox.write("out", "");
    sandbox.run("retry 1").ok();
    let _ = sandbox.run("work --drain");
    assert_short(&sandbox, &["inspect 1.3"], 'm');
    let message = sandbox.run("inspect 1.3 --json").ok().json()["message"].clone();
    assert_eq!(message, json!("m".repeat(50_000)), "a program gets all of it");
    let worker = sandbox.worker("-j1");
    let told = sandbox.run("enqueue fails --wait").exits(1).stderr;
    assert!(told.lines().all(|line| line.len() < 400) && told.contains("mmm"), "{told}");
    worker.kill();
}

#[test]
fn of_a_message_too_counts_what_was_written_last() {
    let report = format!("message={}\rno route\r\n", bar(40));
    let sandbox = sandbox("out\n", "", &report);
    sandbox.add("fails");
    let _ = sandbox.run("work --drain");
    assert_eq!(sandbox.run("inspect dead --json").ok().json()["message"], "no route");
    assert_eq!(sandbox.read("told"), "no route");
    sandbox.run("inspect").ok().shows("EXIT_1: no route;");
    sandbox.run("inspect jobs").ok().shows("EXIT_1, no route, ");
}
