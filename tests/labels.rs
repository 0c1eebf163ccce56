//! Labels tell jobs of one name apart: in lists, in lines, and as a selection.

use crate::support::{Call, Sandbox, Value, assert_fields, assert_screen, json};

const JOBS: &str = r#"
[jobs.fetch]
command = 'test "$1" != bad'
max_attempts = 1
[jobs.other]
command = "true"
"#;

/// Jobs 1 and 2 with labels are dead, job 3 has arguments alone and is dead, job 4 has succeeded, job 5 waits, job 6 is ad hoc
/// and waits.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(JOBS);
    for line in ["fetch --label eu-west -- bad", "fetch --label us-east -- bad", "fetch -- bad", "other"] {
        sandbox.add(line);
    }
    sandbox.drain();
    sandbox.add("fetch --label eu-west --in 1h");
    sandbox.add("--in 1h -- curl https://eu.example/a");
    sandbox
}

fn ids(sandbox: &Sandbox, line: &str) -> Vec<Value> {
    sandbox.run(&format!("{line} --json")).each("id")
}

/// A label, which may hold blanks, after these words.
fn labelled(sandbox: &Sandbox, line: &str, label: &str) -> Call {
    sandbox.call(line).arg("--label").arg(label)
}

#[test]
fn lists_and_lines_show_the_label_or_else_the_arguments() {
    let sandbox = sandbox();
    let seen = |line: &str| sandbox.run(line).ok().quietly().stdout;
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(seen("inspect jobs"), @"
        id  name  label  queue  state  runs  when  what
         6  curl  https://eu.example/a  default  scheduled  0/1  in [DURATION]
         5  fetch  eu-west  default  scheduled  0/1  in [DURATION]
         4  other  default  succeeded  1/3  [AGO]
         3  fetch  bad  default  dead  1/1  [AGO]  EXIT_1, attempts_exhausted
         2  fetch  us-east  default  dead  1/1  [AGO]  EXIT_1, attempts_exhausted
         1  fetch  eu-west  default  dead  1/1  [AGO]  EXIT_1, attempts_exhausted
        ");
        insta::assert_snapshot!(seen("inspect attempts"), @"
        attempt  name  label  outcome  ended  took  when  decision
        4.1  other  succeeded  exit 0  [DURATION]  [AGO]  succeeded
        3.1  fetch  bad  failed  exit 1  [DURATION]  [AGO]  EXIT_1 is final: attempt 1 of 1 was the last
        2.1  fetch  us-east  failed  exit 1  [DURATION]  [AGO]  EXIT_1 is final: attempt 1 of 1 was the last
        1.1  fetch  eu-west  failed  exit 1  [DURATION]  [AGO]  EXIT_1 is final: attempt 1 of 1 was the last
        ");
        insta::assert_snapshot!(seen("cancel 5 6"), @"
        job 5 fetch [eu-west]: cancelled
        job 6 curl [https://eu.example/a]: cancelled
        ");
        insta::assert_snapshot!(sandbox.run("retry 1 3 --dry-run").says("jobs would change; nothing is done yet").ok().stdout, @"
        would put job 1 fetch [eu-west] back
        would put job 3 fetch [bad] back
        ");
        insta::assert_snapshot!(sandbox.run("wait 1 4").exits(1).stdout, @"
        job 1 fetch [eu-west]: dead, EXIT_1: its attempts are used up
        job 4 other: succeeded
        ");
    });
    sandbox.run("inspect dead").ok().shows("bad, us-east, eu-west");
    sandbox.run("resolve 1").ok().prints("job 1 fetch [eu-west]: resolved\n");
    sandbox.run("inspect dead --resolved").ok().shows("fetch  eu-west");
    sandbox.run("inspect 1").ok().shows("  label     eu-west\n");
    let page = seen("inspect --html");
    assert!(page.contains("2 jobs of fetch [bad, us-east] died, the last"), "{page}");
    // The log of a worker.
    sandbox.run("retry 2").ok();
    let log = sandbox.run("work -j1 --until-idle").exits(1).stderr;
    for said in
        ["job 2 fetch [us-east]: attempt 1 of 1 (number 2) started", "job 2 fetch [us-east]: dead after"]
    {
        assert!(log.contains(said), "{log}");
    }
}

#[test]
fn a_list_without_any_label_has_no_column_for_it() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.add("other");
    let heading = |sandbox: &Sandbox| {
        sandbox.run("inspect jobs").ok().stdout.lines().next().expect("a heading").to_owned()
    };
    assert!(!heading(&sandbox).contains("label"));
    sandbox.run("inspect jobs").ok().shows("name   queue");
    sandbox.add("other --label x");
    assert!(heading(&sandbox).contains("label"));
}

#[test]
fn a_narrow_screen_keeps_the_name_and_shortens_the_label_in_the_middle() {
    let sandbox = Sandbox::new(&JOBS.replace("fetch", "fetch-of-a-page-by-name"));
    for n in [101, 102, 103] {
        sandbox.add(&format!("fetch-of-a-page-by-name -- https://mirror.example/path/file-{n}.tgz"));
    }
    sandbox.drain();
    let at = |columns| {
        let call = sandbox.call("inspect jobs --color never").env("TERM", "xterm").env("LANG", "C.UTF-8");
        call.at_terminal(columns).ok().stdout
    };
    // How many columns are left for a name depends on how long ago the jobs ran.
    for (columns, least_name) in [(80, 14), (60, 14), (40, 10)] {
        let screen = at(columns);
        let rows: Vec<Vec<&str>> = screen.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(screen.lines().all(|line| line.chars().count() <= columns.into()), "{screen}");
        let has_label = rows[0].contains(&"label");
        assert_eq!(has_label, columns > 40, "{screen}");
        for (row, id) in rows[1..4].iter().zip([3, 2, 1]) {
            let [shown, name, label, ..] = row.as_slice() else { panic!("{screen}") };
            assert_eq!(*shown, id.to_string(), "{screen}");
            assert!(name.chars().count() >= least_name && name.ends_with("name"), "{screen}");
            assert!(!has_label || label.starts_with("http"), "{screen}");
            assert!(
                !has_label || label.ends_with(&format!("{id}.tgz")),
                "the end tells them apart: {screen}"
            );
        }
    }
}

#[test]
fn a_label_is_checked_and_stands_in_json_and_batches() {
    let sandbox = Sandbox::new(JOBS);
    let bad = ["", " ", "a\nb", "a\u{202e}b", "a\u{200d}b", &"é".repeat(201)];
    for label in bad {
        labelled(&sandbox, "enqueue other", label).run().exits(2);
    }
    let longest = "é".repeat(200);
    assert_eq!(labelled(&sandbox, "enqueue other", &longest).run().ok().id(), 1);
    assert_fields(&sandbox.job(1), &json!({"label": longest, "name": "other"}));
    let planned = labelled(&sandbox, "enqueue other --dry-run", "a b").run().ok();
    assert!(planned.stdout.contains("label a b, queue default"), "{planned}");
    let planned = labelled(&sandbox, "enqueue other --dry-run --json", "a b").run().ok().json();
    assert_fields(&planned, &json!({"id": null, "label": "a b"}));
    let lines =
        [r#"{"name":"other","label":"one"}"#, r#"{"name":"other","label":null}"#, r#"{"name":"fetch"}"#];
    let batch = |lines: &[&str], options: &str| {
        sandbox.write("batch", lines.join("\n"));
        sandbox.run(&format!("enqueue --batch batch {options}"))
    };
    batch(&lines, "--label all").ok();
    let labels: Vec<_> = (2..=4).map(|id| sandbox.job(id)["label"].clone()).collect();
    assert_eq!(labels, ["one", "all", "all"], "the option is the default of every line");
    for bad in [
        r#"{"name":"other","label":""}"#,
        r#"{"name":"other","label":7}"#,
        r#"{"name":"other","label":"a\u0007"}"#,
    ] {
        batch(&[bad], "").exits(65).says("line 1: \"label\"");
    }
    // Somebody has written another one into the file.
    let sql = sandbox.sql();
    sql.run("DROP TRIGGER jobs_keep_what_they_are");
    sql.run("UPDATE jobs SET label = 'a' || char(27) || '[2J' WHERE id = 1");
    for line in ["inspect 1", "inspect jobs", "inspect 1 --json"] {
        let ran = sandbox.run(line).exits(74);
        assert!(!ran.stderr.contains('\u{1b}') && !ran.stdout.contains('\u{1b}'), "{ran}");
    }
}

#[test]
fn a_label_selects_in_lists_and_an_empty_one_what_has_none() {
    let sandbox = sandbox();
    let list = |options: &str| ids(&sandbox, &format!("inspect {options}"));
    assert_eq!(list("jobs --label eu-west"), [5, 1]);
    assert_eq!(list("jobs --label eu-west --state dead --name fetch"), [1]);
    assert_eq!(list("dead --label us-east"), [2]);
    assert_eq!(list("jobs --label eu"), [0; 0], "exactly");
    assert_eq!(labelled(&sandbox, "inspect jobs --json", "").run().ok().each("id"), [6, 4, 3]);
    let attempts =
        |label: &str| labelled(&sandbox, "inspect attempts --json", label).run().ok().each("job_id");
    assert_eq!((attempts("us-east"), attempts("")), (vec![json!(2)], vec![json!(4), json!(3)]));
    let stats = sandbox.run("inspect stats --label us-east --json").ok().json();
    assert_fields(&stats, &json!({"name": "fetch", "jobs": 1, "dead": 1}));
    sandbox.run("inspect jobs --label eu").says("no job has the label eu").ok();
    sandbox.run("inspect jobs --label eu-west --state succeeded").ok().quietly();
    sandbox.run("inspect dead --label eu-west").ok().shows("runner retry 1");
    sandbox.run("inspect workers --label eu").exits(2);
    sandbox.run("inspect --label eu").exits(2);
    let page = sandbox.run("inspect --html --label us-east").ok().stdout;
    assert!(page.contains("label us-east") && !page.contains("eu-west"), "{page}");

    let resolved = labelled(&sandbox, "resolve --dead --note done --json", "").run().ok().json();
    assert_fields(&resolved, &json!({"id": 3, "label": null, "resolution": "done"}));
}

#[test]
fn cancel_takes_all_unfinished_jobs_that_match() {
    let sandbox = sandbox();
    sandbox.add("fetch --label eu-west --queue far --in 1h");
    sandbox.add("fetch --label us-east --in 1h --after 1");
    sandbox.add("other --queue far");
    assert_eq!(ids(&sandbox, "cancel --name fetch --label us-east"), [8], "a blocked one");
    assert_eq!(ids(&sandbox, "cancel --label eu-west --queue far"), [7]);
    assert_eq!(ids(&sandbox, "cancel --queue far"), [9]);
    sandbox.run("cancel --name fetch").ok().prints("job 5 fetch [eu-west]: cancelled\n").quietly();
    sandbox
        .run("cancel --name fetch --label eu-west")
        .prints("")
        .says("there is no unfinished job of the name fetch with the label eu-west")
        .ok();
    let without = labelled(&sandbox, "cancel", "").run().ok();
    without.prints("job 6 curl [https://eu.example/a]: cancelled\n");
}

#[test]
fn cancel_takes_more_jobs_than_one_transaction() {
    let sandbox = Sandbox::new(JOBS);
    let lines: Vec<_> = (0..1_200).map(|n| format!(r#"{{"name":"other","label":"{}"}}"#, n % 2)).collect();
    sandbox.write("batch", lines.join("\n"));
    sandbox.run("enqueue --batch batch -q").ok();
    assert_eq!(ids(&sandbox, "cancel --label 1").len(), 600);
    let waiting = sandbox.run("inspect --json").ok().json();
    assert_fields(&waiting["counts"], &json!({"ready": 600, "cancelled": 600}));
}

#[test]
fn wait_takes_every_job_with_the_label() {
    let sandbox = sandbox();
    let ended = sandbox.run("wait --label us-east").exits(1);
    assert!(ended.stdout.contains("job 2 fetch [us-east]: dead"), "{ended}");
    sandbox.run("resolve 2").ok();
    let none = sandbox
        .run("wait --label us-east")
        .says("runner: there is no job with the label us-east that was not resolved")
        .ok()
        .prints("");
    none.says("there is no job with the label us-east that was not resolved");
    sandbox.run("wait --label us-east -q").ok().quietly();
    sandbox.add("other --label two");
    sandbox.add("other --label two");
    sandbox.run("wait --label two --wait-timeout 10ms").exits(75);
    sandbox.run("work --until-idle").ok();
    assert_eq!(ids(&sandbox, "wait --label two"), [7, 8]);
    sandbox.run("wait --label two").ok();
    sandbox.run("wait 7 --label two").exits(2);
    sandbox.run("wait").exits(2);
}

#[test]
fn a_redefined_job_takes_its_label_along() {
    let sandbox = sandbox();
    sandbox.write("jobs.toml", JOBS.replace("max_attempts = 1", "max_attempts = 2"));
    let new = sandbox.run("retry 1 --redefine --json").ok().json();
    assert_fields(&new, &json!({"id": 7, "label": "eu-west", "args": ["bad"], "max_attempts": 2}));
    sandbox.run("wait --label eu-west --wait-timeout 10ms").exits(75).says("job 5 has not started");
}

#[test]
fn recovered_dead_letters_are_those_of_which_a_later_run_succeeded() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'test -e mended'\nmax_attempts = 1\n");
    for line in [
        "job",
        "job --label a",
        "job --label b",
        "job --label a -- x",
        "job -- x",
        "--name job -- test -e mended",
    ] {
        sandbox.add(line);
    }
    sandbox.drain();
    sandbox
        .run("resolve --dead --recovered")
        .prints("")
        .says("there is no unresolved dead letter of which a later run succeeded")
        .ok();
    sandbox.write("mended", "");
    for line in ["job", "job --label a", "job --label a -- y", "job -- x", "--name job -- test -e mended"] {
        sandbox.add(line);
    }
    sandbox.drain();
    let recovered = sandbox.run("resolve --dead --recovered --note later --json").ok().each("id");
    assert_eq!(recovered, [1, 2], "of the same name, label and arguments, and not ad hoc");
    assert_eq!(ids(&sandbox, "inspect dead"), [6, 5, 4, 3]);
    sandbox.run("resolve --recovered").exits(2);
    sandbox
        .run("resolve --dead --superseded")
        .exits(2)
        .says("`runner resolve --dead --recovered` is its name now");
    sandbox.run("resolve 3 --recovered").exits(2);
    sandbox.run("retry --dead --recovered").exits(2);
}

#[test]
fn a_character_that_nobody_sees_is_refused_and_what_was_stored_before_stays_readable() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'exit 1'\nmax_attempts = 1\n");
    for c in "\u{ad}\u{34f}\u{180e}\u{200d}\u{2060}\u{206a}\u{3164}\u{ffa0}\u{e0041}".chars() {
        for option in ["--label", "--unique-key", "--idempotency-key"] {
            let call = sandbox.call("enqueue a").arg(option).arg(format!("v{c}1"));
            call.run().exits(2).prints("").says("invisible ones may not stand");
        }
    }
    // A variation selector chooses the form of a character.
    labelled(&sandbox, "enqueue a", "\u{2764}\u{fe0f}").run().ok().prints("1\n");
    // Version 1.0 took these for visible.
    sandbox.sql().run(
        "INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at, label, unique_key)
         SELECT definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at,
                'v' || char(173) || '1', 'k' || char(917569) FROM jobs",
    );
    sandbox.run("inspect 2").ok().shows("v\\u{ad}1");
    assert_eq!(sandbox.job(2)["label"], "v\u{ad}1");
    assert_eq!(sandbox.job(2)["unique_key"], "k\u{e0041}");
    let found = labelled(&sandbox, "inspect jobs --json", "v\u{ad}1").run().ok().json_lines();
    assert_eq!(found.len(), 1);
    sandbox.run("doctor").ok();
    sandbox.drain();
}

#[test]
fn a_label_that_looks_like_an_option_is_suggested_so_that_it_can_be_typed() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'exit 1'\nmax_attempts = 1\n");
    for label in ["-x", "-x", "-x", "-x", "-x", "-x", "-y"] {
        sandbox.call("enqueue a").arg(format!("--label={label}")).run().ok();
    }
    sandbox.drain();
    let said = sandbox.run("inspect dead").ok().stdout + &sandbox.run("inspect").ok().stdout;
    assert!(!said.contains("--label -x"), "{said}");
    let filtered = sandbox.run("inspect dead --name a --label=-x").ok();
    assert!(filtered.stdout.contains("--label=-x"), "{filtered}");
}
