//! Output on a terminal: as wide as it is, in the colours and letters that it can show.

use crate::support::{Call, Finished, Sandbox, Session, Signal, assert_screen, many_kinds, wait_until};

/// A terminal that can show everything.
const ABLE: [(&str, &str); 2] = [("TERM", "xterm-256color"), ("LANG", "C.UTF-8")];

fn with(call: Call, vars: &[(&str, &str)]) -> Call {
    vars.iter().fold(call, |call, (name, value)| call.env(name, value))
}

#[track_caller]
fn look(sandbox: &Sandbox, line: &str, columns: u16) -> Finished {
    with(sandbox.call(line), &ABLE).at_terminal(columns)
}

/// Jobs 1 to 4 of [`many_kinds`], and job 6 with a long name in a long queue that says much.
fn wide_sandbox() -> Sandbox {
    let sandbox = many_kinds();
    sandbox.add_line(
        "--name a-name-that-is-rather-long-for-a-job --queue a-queue-with-a-long-name",
        "echo message=the remote host closed the connection before it had sent an answer >> $RUNNER_REPORT; exit 7",
    );
    sandbox.run("work -j1 --until-idle").exits(1);
    sandbox
}

#[test]
fn a_narrow_table_keeps_what_tells_the_rows_apart() {
    let sandbox = wide_sandbox();
    let ran = look(&sandbox, "inspect jobs --color never", 40).ok();
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout, @"
        id name  state  runs when
         6 a-nam…a-job dead  1/1 [AGO]
         5 fine  cancelled  0/3 [AGO]
         4 once  dead  1/1 [AGO]
         3 later  scheduled  0/3 in [DURATION]
         2 fine  succeeded  1/3 [AGO]
         1 push  dead  2/2 [AGO]
        left out: label, queue, what; a wider
        terminal or --json shows them
        ");
    });
    // How long ago it was has its own width, and so have the columns.
    let heading = |columns| {
        let ran = look(&sandbox, "inspect stats --color never", columns).ok();
        ran.stdout.lines().next().expect("a heading").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(heading(40), "name jobs ok last failure");
    assert_eq!(
        heading(200),
        "name jobs ok tries p50 p95 max wait50 wait95 cpu95 memory95 last success last failure"
    );
}

#[test]
fn a_name_of_100_characters_pushes_nothing_else_out() {
    let sandbox = Sandbox::empty();
    let name = format!("{}-the-end", "n".repeat(92));
    sandbox.add_line(
        &format!("--name {name} --queue {name}"),
        "echo message=no route >> $RUNNER_REPORT; exit 7",
    );
    sandbox.run("work --drain").exits(1);
    sandbox.run(&format!("pause {name}")).ok();
    for (line, kept) in [
        ("jobs", "id name state runs when"),
        ("dead", "id name runs died what"),
        ("attempts", "attempt name outcome when"),
        ("queues", "queue"),
        ("stats", "name jobs ok last"),
    ] {
        for columns in [80, 60] {
            let ran = look(&sandbox, &format!("inspect {line} --color never"), columns).ok();
            let heading = ran.stdout.lines().find(|line| line.contains("name") || line.contains("queue"));
            let heading: Vec<_> = heading.expect("a heading").split_whitespace().collect();
            assert!(kept.split(' ').all(|column| heading.contains(&column)), "{columns}: {ran}");
            assert!(ran.stdout.contains("…") && ran.stdout.contains("end "), "the end of the name: {ran}");
            assert!(ran.stdout.lines().all(|line| line.chars().count() <= columns.into()), "{ran}");
        }
    }
}

#[test]
fn colours_where_they_are_wanted() {
    let sandbox = many_kinds();
    let colours = |line: &str, vars: &[(&str, &str)]| {
        with(with(sandbox.call(line), &ABLE), vars).at_terminal(80).ok().stdout.contains("\u{1b}[")
    };
    for (vars, expected) in [
        ([].as_slice(), true),
        (&[("NO_COLOR", "1")], false),
        (&[("CLICOLOR", "0")], false),
        (&[("TERM", "dumb")], false),
        (&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], true),
        (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
    ] {
        assert_eq!(colours("inspect jobs", vars), expected, "{vars:?}");
        assert!(colours("inspect jobs --color always", vars), "{vars:?}");
        assert!(!colours("inspect jobs --color never", vars), "{vars:?}");
    }
    assert!(colours("--help", &[]));
    assert!(!colours("--help --color never", &[]));
    let piped = sandbox.call("inspect jobs").env("CLICOLOR_FORCE", "1").run().ok();
    assert!(piped.stdout.contains("\u{1b}["), "{piped}");
}

#[test]
fn letters_that_the_terminal_has() {
    let sandbox = many_kinds();
    let shown = |vars: &[(&str, &str)]| with(sandbox.call("inspect 2"), vars).at_terminal(80).ok().stdout;
    assert!(shown(&ABLE).contains("jitter ±25%"));
    for vars in [
        [("TERM", "xterm"), ("LANG", "C")],
        [("TERM", "dumb"), ("LANG", "C.UTF-8")],
        [("LC_ALL", "POSIX"), ("LANG", "C.UTF-8")],
    ] {
        assert!(shown(&vars).contains("jitter +-25%"), "{vars:?}");
    }
    sandbox.run("inspect 2").ok().shows("jitter ±25%");
}

#[test]
fn errors_are_broken_between_words() {
    let sandbox = Sandbox::empty();
    let ran = look(&sandbox, "inspect 1 --color never", 40).exits(66);
    assert_screen(&sandbox, || {
        insta::assert_snapshot!(ran.stdout.replace(&sandbox.dir().display().to_string(), "/tmp/somewhere"), @"
        runner: there is no database yet at
                /tmp/somewhere/runner.db
        hint: runner enqueue creates it; --db or
              $RUNNER_DB names another one
        ");
    });
    let ran = sandbox.run("inspect 1").exits(66);
    assert_eq!(ran.stderr.lines().count(), 2, "{ran}");
}

#[test]
fn times_in_utc() {
    let sandbox = many_kinds();
    let shown = |line: &str| {
        let ran = sandbox.call(line).env("TZ", "XXX-05:30").run().ok();
        let line = ran.stdout.lines().find(|line| line.contains("enqueued")).expect("a line").to_owned();
        line.trim_start().strip_prefix("enqueued").expect("a fact").trim()[..20].to_owned()
    };
    sandbox.sql().run("DROP TRIGGER jobs_keep_what_they_are; UPDATE jobs SET enqueued_at = 1795271400000");
    assert_eq!(shown("inspect 1"), "2026-11-21 20:00:00,");
    assert_eq!(shown("inspect 1 --utc"), "2026-11-21 14:30:00Z");
    assert_eq!(shown("--utc inspect 1"), "2026-11-21 14:30:00Z");
    let log = sandbox
        .call("work --drain --utc --queue none")
        .env("TZ", "XXX-05:30")
        .run()
        .says("slots, none")
        .ok()
        .stderr;
    assert!(log.lines().all(|line| line[..20].ends_with('Z')), "{log}");
}

#[test]
fn the_log_of_a_worker_is_broken_between_words_too() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'exit 3'\nmax_attempts = 1\n");
    sandbox.add("job");
    let drawn = look(&sandbox, "work -j1 --drain --color never", 60).exits(1).stdout;
    // The bar is wiped before a line of the log.
    let lines: Vec<&str> = drawn.split("\u{1b}[1A").flat_map(str::lines).collect();
    let ended = lines.iter().position(|line| line.contains("job 1 job: dead")).expect("its end");
    assert!(lines[ended].len() <= 60 && lines[ended + 1].starts_with(&" ".repeat(20)), "{drawn}");
    let logged = sandbox.run("work -j1 --drain").ok().stderr;
    assert!(logged.lines().all(|line| !line.starts_with(' ')), "{logged}");
}

/// Whatever the machine, so many of them take a while.
const LINES: [usize; 4] = [4_000, 16_000, 64_000, 256_000];

#[test]
fn progress_is_drawn_only_where_a_person_looks_on() {
    let shows = |sandbox: &Sandbox, line: &str, vars: &[(&str, &str)]| {
        with(with(sandbox.call(line), &ABLE), vars).at_terminal(80).ok().stdout.contains(" left")
    };
    let of_lines = |lines: usize| {
        let sandbox = Sandbox::empty();
        sandbox.write("lines", "{\"command\":\"true\"}\n".repeat(lines));
        sandbox
    };
    let long = LINES.into_iter().map(of_lines).find(|sandbox| shows(sandbox, "enqueue --batch lines", &[]));
    let sandbox = long.expect("enqueue draws a bar");
    assert!(!shows(&sandbox, "enqueue --batch lines", &[("TERM", "dumb")]), "a bar on a dumb terminal");
    assert!(!shows(&sandbox, "enqueue --batch lines -q", &[]), "a bar with -q");
    let prune_draws = |lines| {
        let sandbox = of_lines(lines);
        sandbox.run("enqueue -q --batch lines").ok();
        sandbox.sql().run("UPDATE jobs SET state = 'cancelled'");
        shows(&sandbox, "prune --older-than 0s", &[])
    };
    assert!(LINES.into_iter().any(prune_draws), "prune draws no bar");
}

#[test]
fn tables_fit_the_screen_and_name_the_columns_that_there_is_no_room_for() {
    let sandbox = wide_sandbox();
    for (line, all) in [
        ("inspect attempts", "attempt name outcome ended took when decision"),
        ("inspect stats", "name jobs ok tries p50 p95 max wait50 wait95 cpu95 memory95 success"),
        ("inspect dead", "id name runs died what"),
        ("inspect jobs", "id name queue state runs when what"),
        ("inspect queues", "queue ready scheduled retrying running"),
    ] {
        let first = if line == "inspect queues" { "queue" } else { "name" };
        for columns in [300, 80, 60, 40] {
            let ran = look(&sandbox, &format!("{line} --color never"), columns).ok();
            // Commands to type stay on one line, whatever their length: a broken one cannot be copied.
            let is_too_wide =
                |line: &&str| line.chars().count() > columns.into() && !line.contains("runner ");
            let too_wide: Vec<_> = ran.stdout.lines().filter(is_too_wide).collect();
            assert!(too_wide.is_empty(), "{columns} columns: {too_wide:#?}{ran}");
            let words = |line: &str| line.split([' ', ',', ';']).map(str::to_owned).collect::<Vec<_>>();
            let shown = words(ran.stdout.lines().find(|line| line.contains(first)).expect("a heading"));
            let told = ran.stdout.split_once("left out: ").map(|(_, told)| told.replace('\n', " "));
            let told = words(told.as_deref().and_then(|told| told.split(';').next()).unwrap_or_default());
            for column in words(all) {
                assert_ne!(shown.contains(&column), told.contains(&column), "{column} of {columns}: {ran}");
            }
        }
        assert!(!sandbox.run(line).ok().stdout.contains("left out"), "{line}");
    }
}

fn session(sandbox: &Sandbox, options: &str, columns: u16) -> Session {
    let call = with(sandbox.call(&format!("work {options}")), &ABLE);
    Session::start(call, columns)
}

#[test]
fn the_clock_of_the_whole_goes_on_while_a_job_runs() {
    let sandbox = Sandbox::empty();
    sandbox.add_line("--name long", "until [ -e go ]; do sleep 0.01; done");
    sandbox.add_line("--queue elsewhere", "true");
    let session = session(&sandbox, "--drain -j1 --queue default", 80);
    session.until_shown("0/1 done, 1 s");
    session.until_shown("0/1 done, 2 s");
    sandbox.write("go", "");
    assert!(session.end().iter().any(|line| line.contains("worker stopped")));
}

#[test]
fn only_a_worker_that_ends_by_itself_draws_a_bar() {
    let sandbox = Sandbox::empty();
    for (options, draws) in [("--drain", true), ("--until-idle", true), ("--max-jobs 1", false)] {
        sandbox.add_line("", "true");
        let seen = look(&sandbox, &format!("work -j1 --color never {options}"), 80).ok().stdout;
        assert_eq!((seen.contains(" done, "), seen.contains('\u{1b}')), (draws, draws), "{options}: {seen}");
    }
}

#[test]
fn nothing_that_was_drawn_is_left_after_ctrl_c() {
    for columns in [80, 40] {
        let sandbox = Sandbox::empty();
        for name in ["one", "a-job-with-a-name-that-is-longer-than-a-narrow-line"] {
            sandbox.add_line(&format!("--name {name}"), "exec sleep 60");
        }
        let mut session = session(&sandbox, "--drain -j2", columns);
        wait_until("both run", || (1..=2).all(|id| sandbox.job(id)["state"] == "running"));
        session.until_shown("0/2 done");
        session.press_ctrl_c();
        session.until_shown("SIGINT");
        session.until_shown("0/2 done");
        session.press_ctrl_c();
        let left = session.end();
        let is_drawn = |line: &&String| {
            line.contains(" done, ") || line.contains("^C") || line.starts_with(|c: char| c > '\u{2000}')
        };
        let stale: Vec<_> = left.iter().filter(is_drawn).collect();
        assert!(stale.is_empty() && left.len() > 5, "{columns} columns: {stale:#?} {left:#?}");
    }
}

#[test]
fn work_and_wait_paint_outcomes_on_a_terminal_alone() {
    let red = |word: &str| format!("\u{1b}[31m{word}\u{1b}[0m");
    let green = |word: &str| format!("\u{1b}[32m{word}\u{1b}[0m");
    for (colour, vars, is_painted) in
        [("", vec![], true), ("", vec![("NO_COLOR", "1")], false), ("--color never", vec![], false)]
    {
        let sandbox = Sandbox::empty();
        sandbox.add("--name dead -- false");
        sandbox.add("--name good -- true");
        let call = |line: &str| {
            let vars = ABLE.iter().chain(&vars);
            vars.fold(sandbox.call(&format!("{line} {colour}")), |call, (name, value)| call.env(name, value))
        };
        let worked = call("work -j1 --drain").at_terminal(120).exits(1);
        let waited = call("wait 1 2").at_terminal(120).exits(1);
        for ran in [&worked, &waited] {
            for (title, word) in [("job 1 dead: ", red("dead")), ("job 2 good: ", green("succeeded"))] {
                assert_eq!(ran.stdout.contains(&format!("{title}{word}")), is_painted, "{ran}");
            }
        }
        let piped = call("wait 1 2").run().exits(1);
        assert!(!piped.stdout.contains('\u{1b}'), "{piped}");
    }
}

#[test]
fn narrow_lists_keep_names_and_what_matters() {
    let sandbox = Sandbox::new(
        "[jobs.report-every-customers]\ncommand = 'true'\nschedule = '17 2 * * *'\ntimezone = 'Europe/Berlin'
         random_delay = '10m'\n[jobs.nightly-backup-to-offsite]\ncommand = 'exit 3'\nmax_attempts = 1\nschedule = 'every 1h'\n",
    );
    sandbox.run("apply -q").ok();
    sandbox.sql().run("UPDATE schedules SET next_at = next_at - 3600000");
    sandbox.run("enqueue report-every-customers nightly-backup-to-offsite").ok();
    sandbox.run("work --until-idle -q");
    for (list, columns, kept, least_name) in [
        ("schedules", 60, vec!["next", "last", "state"], 14),
        ("schedules", 40, vec!["next", "last"], 10),
        ("", 40, vec!["last 20 runs"], 10),
        ("dead", 40, vec!["last"], 10),
    ] {
        let ran = look(&sandbox, &format!("inspect {list} --color never"), columns).ok();
        let title = ran.stdout.lines().find(|line| line.contains(kept[0])).unwrap_or_else(|| panic!("{ran}"));
        assert!(kept.iter().all(|kept| title.contains(kept)), "{ran}");
        let name = ran
            .stdout
            .lines()
            .find_map(|line| line.split(' ').find(|word| word.starts_with("nig") && word.ends_with("ite")));
        let name = name.unwrap_or_else(|| panic!("{ran}"));
        assert!(name.chars().count() >= least_name, "{name}: {ran}");
        // A command is not broken, so that it can be copied.
        let mut lines = ran.stdout.lines().filter(|line| !line.trim_start().starts_with("runner retry "));
        assert!(lines.all(|line| line.trim_end().chars().count() <= columns.into()), "{ran}");
    }
}

const CTRL_S: &str = "\u{13}";
const CTRL_Q: &str = "\u{11}";

/// A `run` at a terminal that takes no output, because nobody reads it or because Ctrl-S has stopped it. Its job is number 2.
fn stuck_run(sandbox: &Sandbox, options: &str, line: &str, pressed: &str) -> Session {
    // The note that a database was created would have to be read first.
    sandbox.add("--in 1h -- true");
    let call = sandbox.call(&format!("run {options} -c")).arg(line);
    let run = Session::start_unread(call, 80, pressed);
    wait_until("the job to be enqueued", || sandbox.count_jobs() == 2);
    run
}

#[test]
fn a_terminal_that_takes_no_output_holds_up_no_timeout_no_cancel_and_no_signal() {
    let line = "grep -h ^flags /proc/$PPID/fdinfo/[12] > flags; echo $$ > pid; exec yes | tee /dev/stderr";
    for (pressed, signal, state, status) in [
        ("", Signal::TERM, "pending", 143),
        (CTRL_S, Signal::HUP, "pending", 129),
        (CTRL_S, Signal::INT, "cancelled", 130),
    ] {
        let sandbox = Sandbox::empty();
        let mut run = stuck_run(&sandbox, "", line, pressed);
        sandbox.pid_of("pid");
        run.signal(signal);
        assert_eq!(run.status(), Some(status), "{signal:?}");
        assert_eq!(sandbox.job(2)["state"], state);
        // The terminal is not this program's alone, whose writes block as before.
        let flags = sandbox.read("flags");
        let mut flags = flags.lines().map(|line| line.trim_start_matches("flags:").trim());
        assert!(
            flags.all(|flags| u32::from_str_radix(flags, 8).is_ok_and(|flags| flags & 0o4000 == 0)),
            "O_NONBLOCK is set"
        );
    }
    for (pressed, options, state, status) in [
        (CTRL_S, "--timeout 300ms", "dead", 124),
        ("", "--timeout 300ms --max-attempts 2 --backoff 1ms", "dead", 124),
        ("", "", "cancelled", 1),
    ] {
        let sandbox = Sandbox::empty();
        let mut run = stuck_run(&sandbox, options, line, pressed);
        sandbox.pid_of("pid");
        if state == "cancelled" {
            sandbox.run("cancel 2").ok();
        }
        sandbox.until_state(2, state);
        // What is left of the output waits for somebody who reads it, unless a signal comes.
        run.signal(Signal::HUP);
        assert_eq!(run.status(), Some(status), "{options}");
    }
}

#[test]
fn what_a_terminal_did_not_take_comes_in_its_order_once_it_does() {
    for pressed in ["", CTRL_S] {
        let sandbox = Sandbox::empty();
        let line = "seq 8000; echo try $RUNNER_ATTEMPT; exit 3";
        let mut run = stuck_run(&sandbox, "--max-attempts 2 --backoff 1ms", line, pressed);
        sandbox.until_state(2, "dead");
        run.read();
        run.press(CTRL_Q);
        assert_eq!(run.status(), Some(3));
        let lines = run.end();
        let at = |text: &str| lines.iter().position(|line| line.contains(text)).expect(text);
        let order = ["try 1", "EXIT_3 is retried", "try 2", "dead, EXIT_3"].map(at);
        assert!(order.is_sorted(), "{order:?}");
        let numbers: Vec<String> = (1..=8000).map(|number| number.to_string()).collect();
        let printed: Vec<&String> = lines.iter().filter(|line| line.parse::<u32>().is_ok()).collect();
        assert!(printed.iter().copied().eq(numbers.iter().chain(&numbers)), "{}", printed.len());
    }
}
