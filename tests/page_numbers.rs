//! `inspect --html`: the numbers on the page, of which days and periods they are, and what is red.

use crate::support::{Finished, Sandbox};

fn page(sandbox: &Sandbox, options: &str) -> Finished {
    sandbox.run(&format!("inspect --html {options}")).ok().quietly()
}

#[test]
fn a_time_that_was_due_and_did_not_run_looks_unlike_a_day_without_one() {
    let sandbox = Sandbox::new(
        "[jobs.backup]\ncommand = 'true'\nschedule = '0 12 * * *'\n[jobs.yearly]\ncommand = 'true'\nschedule = '0 0 1 1 *'",
    );
    sandbox.run("apply -q").ok();
    let cells = |name: &str| {
        let page = sandbox.run("inspect --html").ok().stdout;
        let (_, row) =
            page.split_once("<h2>Schedules").and_then(|(_, rest)| rest.split_once(name)).expect("its row");
        let (_, row) = row.split_once("aria-label=\"").expect("cells");
        row.split('"').next().expect("a text").split("; ").map(str::to_owned).collect::<Vec<_>>()
    };
    // Nothing was due since `apply`, two minutes ago at most.
    assert!(cells("backup").iter().all(|cell| cell.ends_with(": none")), "{:?}", cells("backup"));
    // Nobody worked for three days. On two of them noon is certain to have been within.
    let sql = sandbox.sql();
    sql.run("UPDATE schedules SET applied_at = applied_at - 3 * 86400000");
    let missed = cells("backup");
    assert!(missed[4..6].iter().all(|cell| cell.ends_with(": 1 did not run")), "{missed:?}");
    assert!(missed[..3].iter().all(|cell| cell.ends_with(": none")), "before it was applied: {missed:?}");
    assert!(cells("yearly")[4..6].iter().all(|cell| cell.ends_with(": none") || cell.starts_with("Thu 1")));
    assert!(sandbox.run("inspect --html").ok().stdout.contains("times did not run"));
    // A run counts on the day for which it was made, whenever it ended.
    let id = sandbox.add("backup");
    sandbox.drain();
    let noon = sql.number("SELECT strftime('%s', 'now', '-1 day', 'start of day', '+12 hours') * 1000");
    sql.run("DROP TRIGGER jobs_keep_what_they_are");
    sql.run(&format!("UPDATE jobs SET scheduled_for = {noon}, scheduled_offset = 0 WHERE id = {id}"));
    let ran = cells("backup");
    assert!(ran[5].ends_with(": 1 succeeded"), "{ran:?}");
    assert!(ran[4].ends_with(": 1 did not run"), "{ran:?}");
    // One that has not ended or was cancelled is neither, also if it is not the newest.
    let waiting = sandbox.add("backup --in 1h");
    let earlier = noon - 86_400_000;
    sql.run(&format!("UPDATE jobs SET scheduled_for = {earlier}, scheduled_offset = 0 WHERE id = {waiting}"));
    assert!(cells("backup")[4].ends_with(": 1 unfinished"), "{:?}", cells("backup"));
    sandbox.run(&format!("cancel {waiting}")).ok();
    assert!(cells("backup")[4].ends_with(": 1 cancelled"), "{:?}", cells("backup"));
    assert!(sandbox.run("inspect --html").ok().stdout.contains("path class=\"i\""));
    // Where jobs were removed, nothing is said of the days before those that are left.
    let stuck = sandbox.add("backup --in 1h");
    sql.run(&format!("UPDATE jobs SET scheduled_for = {earlier}, scheduled_offset = 0 WHERE id = {stuck}"));
    sandbox.run("prune --older-than 0s").ok();
    assert!(cells("backup")[5].ends_with(": none"), "{:?}", cells("backup"));
    sandbox.run(&format!("cancel {stuck}")).ok();
    sandbox.run("prune --older-than 0s").ok();
    assert!(cells("backup").iter().all(|cell| cell.ends_with(": none")), "{:?}", cells("backup"));
}

#[test]
fn numbers_are_of_one_period_and_only_what_is_unresolved_is_red() {
    let sandbox = Sandbox::new("[jobs.flaky]\ncommand = 'test -e done'\nmax_attempts = 2\nbackoff = '1ms'\n");
    sandbox.add("flaky");
    sandbox.run("work --drain -q").exits(1);
    let shown = page(&sandbox, "").stdout;
    for part in [
        "In this time:</li><li class=\"f\"><b>1</b> dead</li><li class=\"r\"><b>1</b> retried</li>",
        "Now:</li><li class=\"f\"><b>1</b> dead and not resolved</li>",
        "<small class=\"bad\">2 attempts, 2 failed",
        "<title>1 dead, 0 ok",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // A later run makes it good: the death stays in the numbers of the period, and nothing is red or has a card.
    sandbox.write("done", "");
    sandbox.add("flaky");
    sandbox.drain();
    let shown = page(&sandbox, "").stdout;
    let body = shown.split("<body>").nth(1).expect("a body");
    assert!(body.contains("<b>1</b> dead</li>"), "{body}");
    for red in ["small class=\"bad\"", "span class=\"bad\"", "code bad"] {
        assert!(!body.contains(red), "{red}: {body}");
    }
    assert!(body.contains("<summary>1 name with deaths that a later run made good</summary>"), "{body}");
    // A page that ends at midnight is about the day before.
    let day =
        |line: &str| page(&sandbox, line).stdout.split("</title>").next().unwrap_or_default()[..].to_owned();
    assert_ne!(day("--until today").rsplit(' ').nth(1), day("").rsplit(' ').nth(1), "the day of the month");
}
