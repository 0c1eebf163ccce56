//! `inspect --html`: what stands on the page, and that a browser shows it and nothing else.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Call, Finished, Sandbox, browse, many_kinds, page_text, wait_until};

/// The words of a hostile job, and how they must stand on the page.
const HOSTILE: [(&str, &str); 9] = [
    ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("\"><img src=x onerror=alert(1)>", "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;"),
    ("</title></style></svg><hr>", "&lt;/title&gt;&lt;/style&gt;&lt;/svg&gt;&lt;hr&gt;"),
    ("<![CDATA[ x ]]>", "&lt;![CDATA[ x ]]&gt;"),
    ("<!-- x", "&lt;!-- x"),
    ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
    ("\u{1b}[31mred\u{7}", "\\e[31mred\\u{7}"),
    ("pay \u{202e}001\u{2069} now", "pay \\u{202e}001\\u{2069} now"),
    ("zero\u{85}width", "zero\\u{85}width"),
];

fn page(sandbox: &Sandbox, options: &str) -> Finished {
    let mut ran = sandbox.run(&format!("inspect --html {options}")).ok().quietly();
    ran.stdout = page_text(&ran.stdout);
    ran
}

/// A database with the history of a night.
fn night(options: &[&str]) -> Sandbox {
    let sandbox = Sandbox::empty();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/night.py");
    // Noon UTC of 2025-10-26. What the history holds depends on the hour at which it ends.
    let call = sandbox.program("python3").arg(script).arg(sandbox.dir()).arg("--end").arg("1761480000");
    options.iter().fold(call.with_runner_on_path(), Call::arg).run().ok();
    sandbox
}

/// The times of a [`night`].
const NIGHT: &str = "--since 2025-10-25T12:00:00Z --until 2025-10-26T12:00:00Z";

/// These texts stand on the page in this order.
#[track_caller]
fn assert_order(page: &str, texts: &[&str]) {
    let mut rest = page;
    for text in texts {
        let at =
            rest.find(text).unwrap_or_else(|| panic!("{text:?} is missing, or in another place: {page}"));
        rest = &rest[at + text.len()..];
    }
}

#[test]
fn what_needs_attention_comes_first_with_what_to_type() {
    let sandbox = many_kinds();
    let shown = page(&sandbox, "").stdout;
    let order = [
        "2 things need attention</h1>",
        "<h3>push</h3><p><b class=\"kind bad\">dead</b> push died ",
        "HTTP_ERROR: no route",
        "<code>runner retry 1</code>",
        "Shows more:</p><pre class=\"type\"><code>runner logs 1</code>",
        "If that was dealt with:</p><pre class=\"type\"><code>runner resolve 1</code>",
        "<h3>once</h3>",
        "SIGNAL_KILL",
        "<code>runner resolve 4</code>",
        "Runs it again:</p><pre class=\"type\"><code>runner retry 4 --force</code>",
        "<h2>Timeline",
        ">1.2</th><td>push<",
        "failed HTTP_ERROR <span class=\"at\">after ",
        ">1.1</th><td>push<",
        "<h2>Names",
    ];
    assert_order(&shown, &order);
    assert_order(&shown, &["<h2>Timeline", ">2.1</th>", "succeeded <span class=\"at\">after ", "<h2>Names"]);
    for never in ["<script", "src=", "href=", "http://", "https://", "url(", "@import"] {
        assert!(!shown.contains(never), "{never} is on the page");
    }
    sandbox.run("resolve 1 4").ok();
    let shown = page(&sandbox, "").stdout;
    assert!(!shown.contains("runner retry"), "{shown}");
}

#[test]
fn dead_letters_of_one_name_are_one() {
    let sandbox =
        Sandbox::new("[jobs.bad]\ncommand = 'echo no route to host >&2; exit 1'\nmax_attempts = 1\n");
    sandbox.run("enqueue bad bad bad").ok();
    sandbox.run("work -j1 --drain").exits(1);
    page(&sandbox, "")
        .shows("3 jobs of bad died, the last")
        .shows("<code>runner retry --dead --name bad --latest<");
    sandbox.run(&format!("enqueue {}", "bad ".repeat(18))).ok();
    sandbox.run("work -j1 --drain").exits(1);
    let shown = page(&sandbox, "")
        .shows("21 jobs of bad died, the last")
        .shows("<code>runner retry --dead --name bad")
        .stdout;
    // In the sentence, and at the end of the output.
    assert_eq!(shown.matches("no route to host").count(), 2);
}

#[test]
fn all_is_well_unless_there_is_an_alarm() {
    let sandbox = Sandbox::new("[jobs.hourly]\ncommand = 'true'\nschedule = 'every 1h'\n");
    let shown = page(&sandbox, "").shows("There is no database yet</h1>").shows("UTC+00:00").stdout;
    assert!(shown.contains("<title>no database · ") && !shown.contains("othing needs attention"), "{shown}");
    sandbox.run("apply").ok();
    page(&sandbox, "")
        .shows("No worker is running</h1>")
        .shows("<p>No worker is running</p>")
        .shows("Starts one:</p><pre class=\"type\"><code>runner work</code>")
        .shows("Starts one for good:</p><pre class=\"type\"><code>runner service install</code>");
    let worker = sandbox.worker("");
    page(&sandbox, "").shows("Nothing ran, and nothing needs attention</h1>").shows("A worker is running");
    worker.kill();
    sandbox.finish_line("", "true");
    sandbox.add("--queue img --name picture -- true");
    sandbox.run("pause img").ok();
    let shown = page(&sandbox, "").shows("1 waiting</small>").stdout;
    assert_order(
        &shown,
        &[
            "No alarm, 1 note</h1>",
            "class=\"minor\"",
            "queue img is paused and holds 1 due job",
            "runner resume img",
        ],
    );
    sandbox.run("resume img").ok();
    sandbox.sql().run("UPDATE jobs SET run_at = run_at - 180000 WHERE state = 'pending'");
    let shown = page(&sandbox, "").stdout;
    assert_order(&shown, &["One thing needs attention</h1>", "no worker is running for queue img"]);
    assert_eq!(shown.matches("<code>runner service install</code>").count(), 1, "{shown}");
}

#[test]
fn filters_narrow_the_page_and_nothing_else_does() {
    let sandbox = many_kinds();
    let by_name = page(&sandbox, "--name push").shows("name push").stdout;
    assert!(by_name.contains("runner retry 1") && !by_name.contains("runner retry 4"), "{by_name}");
    let by_queue = page(&sandbox, "--queue default").stdout;
    assert!(by_queue.contains("runner retry 4") && !by_queue.contains("runner retry 1"), "{by_queue}");
    // A dead letter needs attention however old it is.
    let later = page(&sandbox, "--since 2099-01-01T00:00:00Z --until 2099-02-01T00:00:00Z");
    later.shows("Nothing ran in this time").shows("runner retry 1");
    page(&sandbox, "--since 2099-01-01T00:00:00Z").shows("Nothing ran in this time");
    page(&sandbox, "--until 1970-01-01T00:00:00Z").shows("Thu 1970-01-01 00:00");
    page(&sandbox, "--since 2001-01-01T00:00:00Z").shows(">4.1</th>").shows("\">2009-12<");
    for wrong in
        ["--html jobs", "--html --json", "--html --limit 3", "--html --state dead", "--html --openmetrics"]
    {
        sandbox.run(&format!("inspect {wrong}")).exits(2);
    }
}

#[test]
fn times_are_local_with_their_zone_also_when_clocks_change() {
    // In the night before noon UTC of this day, Berlin went from UTC+02:00 to UTC+01:00.
    let sandbox = night(&[]);
    let shown = sandbox.call(&format!("inspect --html {NIGHT}")).env("TZ", "Europe/Berlin").run().ok().stdout;
    let period = [
        "<time datetime=\"2025-10-25T14:00:00+02:00\">Sat 2025-10-25 14:00",
        "<time datetime=\"2025-10-26T13:00:00+01:00\">Sun 2025-10-26 13:00",
        "<span style=\"left:41.6%\">Sun 26<",
        "<span style=\"left:62.5%\">04:00<",
    ];
    assert_order(&shown, &period);
    // In the table, too, one of the two stands beside the times of which it is not the zone of the page.
    let is_told = |zone: &&str| shown.contains(&format!("<span class=\"at\">{zone}</span></td>"));
    assert_eq!(["UTC+01:00", "UTC+02:00"].iter().filter(|zone| is_told(zone)).count(), 1, "{shown}");
    page(&sandbox, &format!("--utc {NIGHT}")).shows("Sat 2025-10-25 12:00").shows("left:50.0%\">Sun 26<");
}

#[test]
fn text_from_jobs_is_only_text() {
    let sandbox = Sandbox::empty();
    for (index, (said, _)) in HOSTILE.iter().enumerate() {
        sandbox.write(&format!("said-{index}"), said);
        sandbox.add_line(&format!("--name err-{index}"), &format!("cat said-{index} >&2; exit 1"));
        sandbox.add_line(
            &format!("--name said-{index}"),
            &format!("printf 'message=%s' \"$(cat said-{index})\" > \"$RUNNER_REPORT\"; exit 2"),
        );
    }
    sandbox.add_line("--name bad", "printf 'bad \\377 bytes' >&2; exit 3");
    sandbox.add_line("--name long", "head -c 60000 /dev/zero | tr '\\0' w >&2; exit 4");
    sandbox.run("work -j2 --drain").exits(1);
    let shown = page(&sandbox, "").stdout;
    for (_, safe) in HOSTILE {
        assert!(shown.contains(safe), "{safe} is missing: {shown}");
    }
    for never in ["<script", "<img", "<hr", "<![", "<!--", "\u{1b}", "\u{202e}", "\u{85}", "\u{7}"] {
        assert!(!shown.contains(never), "{never:?} is on the page: {shown}");
    }
    assert!(
        shown.contains("bad \u{fffd} bytes") && shown.contains(&format!("{}…", "w".repeat(160))),
        "{shown}"
    );
    assert_eq!(shown.matches("<title>").count(), shown.matches("</title>").count());
    assert!(shown.len() < 100_000, "{} bytes", shown.len());
    if let Some((frames, console)) = browse(&sandbox, &shown) {
        assert_eq!(console, "");
        for frame in frames {
            assert_eq!((frame["alien"].as_u64(), frame["requests"].as_u64()), (Some(0), Some(0)), "{frame}");
            assert_eq!(frame["width"], frame["needs"], "{frame}");
        }
    }
    // A name or a code that runner could not have written is damage.
    for tampering in [
        "INSERT INTO queues (name, paused) VALUES ('$(reboot)', 1)",
        "DELETE FROM queues; UPDATE jobs SET error_code = '<b>\u{1b}[2J' WHERE id = 1",
    ] {
        sandbox.sql().run(tampering);
        let ran = sandbox.run("inspect --html").exits(74).prints("");
        assert!(!ran.stderr.contains('\u{1b}'), "{ran}");
    }
}

#[test]
fn a_browser_shows_a_night_at_any_width_and_asks_for_nothing() {
    let night = night(&[]);
    night.run("doctor").ok();
    let shown = page(&night, NIGHT).shows("upload-offsite").shows("No route to host").stdout;
    assert!(!shown.contains("drawn folded"));
    // The card of a name says since when and when it runs next. What counts dead letters counts the same ones.
    assert_order(
        &shown,
        &[
            "<title>4 dead,",
            "</b> dead",
            "upload-offsite</h3>",
            "the first died ",
            "2025-10-24 03:",
            "runs next ",
            "The last lines, other commands</summary>",
        ],
    );
    assert!(shown.contains("<b>4</b> dead"), "{shown}");
    let few = Sandbox::new("[jobs.flaky]\ncommand = 'exit 1'\nbackoff = ['1h']\n");
    few.run("enqueue flaky flaky").ok();
    let _ = few.run("work --until-idle");
    few.add("--after 1 --name report -- true");
    let few = page(&few, "").shows("retrying").shows("blocked").stdout;
    // Long texts break, wherever they stand.
    let long = Sandbox::new(&format!(
        "[jobs.{}]\ncommand = 'true'\nschedule = '{} 1,2,3,4,5,6,7 * * *'\n",
        "long-name-".repeat(9),
        (0..60).map(|n| n.to_string()).collect::<Vec<_>>().join(",")
    ));
    long.run("apply -q").ok();
    let id = long.add_line("--name talks", "head -c 3000 /dev/zero | tr '\\0' w; echo; sleep 60");
    let worker = long.worker("-j1");
    long.until_state(id, "running");
    wait_until("its last line", || page(&long, "").stdout.contains("<code>www"));
    let long = page(&long, "").stdout;
    worker.kill();
    for page in [shown, few, long, page(&Sandbox::empty(), "").stdout, page(&many_kinds(), "").stdout] {
        let Some((frames, console)) = browse(&night, &page) else { return };
        assert_eq!(console, "", "the console of the browser is not empty");
        assert_eq!(
            frames.iter().map(|frame| (frame["dark"] == true, frame["width"].as_u64())).collect::<Vec<_>>(),
            [false, true].map(|dark| [1280, 768, 390].map(|width| (dark, Some(width)))).concat()
        );
        for frame in &frames {
            assert_eq!((frame["alien"].as_u64(), frame["requests"].as_u64()), (Some(0), Some(0)), "{frame}");
            assert_eq!(frame["width"], frame["needs"], "the page is wider than the screen: {frame}");
            assert!(frame["text"].as_str().is_some_and(|text| text.contains("Timeline")), "{frame}");
            assert_eq!(frame["broken"], json!([]), "words are broken: {frame}");
            assert!(frame["contrast"].as_f64().is_some_and(|least| least >= 4.5), "{frame}");
            assert_eq!(frame["rows"], frame["told"], "rows of tables are not told to be rows: {frame}");
            // Only a narrow screen has blocks in place of tables.
            let has_blocks = frame["rows"].as_u64() > Some(0) && frame["width"] == 390;
            assert_eq!(frame["blocks"].as_u64() > Some(0), has_blocks, "{frame}");
            // The facts of the picture are in a table that a keyboard opens.
            let has_facts = frame["facts"].as_u64() > Some(0);
            assert_eq!(frame["focusable"].as_u64() > Some(0), has_facts, "{frame}");
            assert!(has_facts || !page.contains("<h2>Names"), "{frame}");
        }
    }
    // The browser tells of a page that is not as it must be.
    let bad = "<title>bad</title><p style='width:5000px'>x<script>nothing()</script><img src='data:image/png,x'>
        <p style='color:#999'>pale<b class=at style='display:block;width:1ch;overflow-wrap:anywhere'>3035</b>";
    let (frames, console) = browse(&night, bad).expect("the same browser");
    assert!(console.contains("nothing is not defined"), "{console}");
    assert!(frames.iter().all(|frame| frame["needs"] != frame["width"] && frame["alien"] == 2), "{frames:?}");
    let is_told =
        |frame: &Value| frame["broken"] == json!(["3035"]) && frame["contrast"].as_f64() < Some(3.0);
    assert!(frames.iter().all(is_told), "{frames:?}");
}

#[test]
fn a_page_over_5000_jobs_folds_what_succeeded_and_stays_small() {
    let few = page(&night(&["--jobs", "400"]), NIGHT).shows("The same as a table").stdout;
    assert!(!few.contains("drawn folded") && few.matches("<td>succeeded <").count() > 100);
    let many = page(&night(&["--jobs", "5200"]), NIGHT).shows("jobs, drawn folded by name.").stdout;
    assert_eq!(many.matches("<td>succeeded <").count(), 0);
    assert!(many.matches("failed CURL_TIMEOUT").count() > 50);
    assert!(many.len() < 200_000, "{} bytes", many.len());
}

#[test]
fn a_page_of_the_worst_text_stays_below_500_kb() {
    let name = |n: usize| format!("{n:02}{}", "n".repeat(126));
    let sandbox = Sandbox::empty();
    let job = |n| format!("[jobs.{}]\ncommand = 'true'\nschedule = '@daily'\n", name(n));
    sandbox.write("jobs.toml", (0..60).map(job).collect::<String>());
    sandbox.run("apply -q").ok();
    // Each name dies in six ways, each with a label, words and output of characters that the page has to escape.
    let line = |n: usize, label: usize| {
        let output = "yes '\"<&>\"\"\"\"\"\"\"\"\"\"\"\"' | tr -d '\\n' | head -c 4000 | fold -w 190 >&2; echo >&2; echo '\"\"\"\"\"\"\"\"\"\"'";
        json!({
            "command": ["sh", "-c", format!("{output}{label} >&2; exit {label}", label = label + 1)],
            "name": name(n), "label": format!("{label}{}", "\"".repeat(199)), "max_attempts": 1,
        })
        .to_string()
            + "\n"
    };
    let dying: String = (0..360).map(|n| line(n % 60, n / 60)).collect();
    sandbox.write("lines", dying);
    sandbox.run("enqueue -q --batch lines").ok();
    sandbox.run("work -j8 --until-idle -q").exits(1);
    // Some have jobs behind their deaths.
    let behind = |n: usize| {
        let label = format!("{n}{}", "<".repeat(198));
        json!({ "command": "true", "name": name(59 - n % 12), "label": label, "after": [n % 12 + 1] })
            .to_string()
            + "\n"
    };
    sandbox.write("lines", (0..24).map(behind).collect::<String>());
    sandbox.run("enqueue -q --batch lines").ok();
    // Every name has attempts of all outcomes all day.
    sandbox.sql().run(
        "DROP TRIGGER attempts_belong_to_a_running_job;
         WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n <= 200)
         INSERT INTO attempts (job_id, number, attempt_in_budget, outcome, error_code, exit_code, worker_id, started_at, finished_at,
                               duration_ms, output_held_open, next_state, dead_reason, nominal_delay_ms, delay_ms)
         SELECT job_id, n, 1, iif(n % 3 = 0, 'failed', iif(n % 3 = 1, 'timed_out', 'interrupted')), error_code, NULL, worker_id,
                finished_at - n * 430000 - job_id * 700, finished_at - n * 430000 + 100000 - job_id * 700, 7 * n * (n % 3 + 1), 0, 'pending',
                NULL, 1, 1
         FROM attempts, n WHERE job_id <= 60",
    );
    let shown = page(&sandbox, "").stdout;
    for section in ["<h2>Needs", "<h2>Now", "<h2>Timeline", "<h2>Schedules", "<h2>Names"] {
        assert!(shown.contains(section), "{section} is missing");
    }
    assert_eq!(shown.matches("</h3>").count(), 50, "every name that the page shows has a card");
    let sizes: Vec<_> =
        shown.split("<h2>").map(|part| (part.chars().take(8).collect::<String>(), part.len())).collect();
    assert!(shown.len() < 500_000, "{} bytes: {sizes:?}", shown.len());
}

#[test]
fn one_name_has_one_card_with_its_kinds_of_failure_and_its_output() {
    let jobs =
        "[jobs.bad]\ncommand = 'test -e again && echo the end >&2 || { touch again; echo the start >&2; }; exit 1'
        [defaults]\nmax_attempts = 1\n";
    let sandbox = Sandbox::new(jobs);
    sandbox.add("bad --label one");
    sandbox.add("bad --label two");
    sandbox.add_line("--name bad", "echo another end >&2; exit 2");
    sandbox.add_line("--name good --after 1", "true");
    sandbox.add_line("--name other", "exit 3");
    sandbox.run("work -j1 --until-idle").exits(1);
    let shown = page(&sandbox, "").stdout;
    assert_eq!(shown.matches("<h3>bad").count(), 1, "{shown}");
    for command in
        ["runner retry 1 2", "runner resolve 1 2", "runner logs 2", "runner retry 3", "runner logs 3"]
    {
        assert_eq!(shown.matches(&format!("<code>{command}</code>")).count(), 1, "{command}: {shown}");
    }
    let order = [
        "<title>4 dead, 0 ok · ",
        "<h3>bad</h3>",
        "bad [echo another end &gt;&amp;2; exit 2] died ",
        "EXIT_2: another end",
        "stuck</b> job 1 bad, which is dead, holds back 1 job: 4 good",
        "<summary>1 more, the last lines, other commands</summary>",
        "2 jobs of bad [two, one] died, the last",
        "EXIT_1: the end",
        "<ul class=\"kinds\"><li>1 job: the start</li></ul>",
        "The last lines of 3.1:",
        "<h3>other",
        "<h2>Timeline",
        "bad <small class=\"bad\">3 attempts, 3 failed",
        "<h2>Names",
        "bad</th>",
        "other</th>",
    ];
    assert_order(&shown, &order);
    let cards = &shown[shown.find("<h2>Needs").expect("cards")..shown.find("<h2>Timeline").expect("the end")];
    let bad = &cards[..cards.find("<h3>other").expect("another card")];
    assert!(!bad.contains("retry 5") && !bad.contains("resolve 5"), "{bad}");
    // Each label is there once.
    assert_eq!((bad.matches("one").count(), bad.matches("two").count()), (1, 1), "{bad}");
}

#[test]
fn what_waits_has_rows_and_tiles() {
    let sandbox = Sandbox::new("[jobs.flaky]\ncommand = 'exit 1'\nbackoff = ['1h', '1h']\n");
    sandbox.add("flaky");
    let _ = sandbox.run("work --until-idle");
    sandbox.add("--in 2h --name later -- true");
    sandbox.add("--after 2 --name blocked -- true");
    for _ in 0..12 {
        sandbox.add("--queue img --name picture -- true");
    }
    let order = [
        "</b> ready",
        "</b> retrying",
        "</b> scheduled",
        "</b> blocked",
        "<h2>Now",
        "no worker is running for queue img",
        "attempt 2 of 3, after EXIT_1",
        "waits for job 2 later",
        "2 more ready jobs:",
        "runner inspect jobs --state ready",
    ];
    assert_order(&page(&sandbox, "").stdout, &order);
    let by_name = page(&sandbox, "--name later").stdout;
    assert!(by_name.contains("</b> scheduled") && !by_name.contains("</b> ready"), "{by_name}");
}

#[test]
fn the_axis_fits_the_data_and_marks_now() {
    let sandbox = many_kinds();
    let fitted = page(&sandbox, "").shows(">now</b>").stdout;
    // All of it happened within a minute or so, so the ticks have seconds, unless this machine was very slow.
    let whole = page(&sandbox, "--since 24h").stdout;
    let first_tick = |page: &str| {
        let at = page.find("class=\"axis\"").expect("an axis");
        page[at..].split("%\">").nth(1).and_then(|rest| rest.split('<').next()).map(str::to_owned)
    };
    assert_ne!(first_tick(&fitted), first_tick(&whole));
}

#[test]
fn a_job_that_recovered_says_so() {
    let jobs = "[jobs.flaky]\ncommand = 'test -e done || { touch done; exit 1; }'\nbackoff = ['1ms']\n";
    let sandbox = Sandbox::new(jobs);
    sandbox.add("flaky");
    sandbox.drain();
    page(&sandbox, "").shows("2 attempts, 1 failed, 1 recovered");
}

#[test]
fn of_a_chain_the_page_says_what_keeps_a_job_from_running() {
    let jobs = "[defaults]
max_attempts = 1
[jobs.offsite]
command = 'echo No route to host >&2; exit 1'
[jobs.report]
command = 'true'
after = ['offsite']
";
    let sandbox = Sandbox::new(jobs);
    sandbox.run("enqueue report").ok();
    sandbox.run("work -j1 --until-idle").exits(1);
    let order = [
        "<h2>Needs",
        "<h3>offsite",
        "EXIT_1: No route to host",
        "job 1 offsite, which is dead, holds back 1 job: 2 report",
        "<code>runner retry 1</code>",
        "Gives up:</p><pre class=\"type\"><code>runner cancel 2</code>",
        "<h2>Timeline",
    ];
    let shown = page(&sandbox, "").stdout;
    assert_order(&shown, &order);
    // What waits in vain stands on the card alone.
    assert_eq!(shown.matches("report").count(), 1, "{shown}");
}
