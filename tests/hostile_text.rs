//! Text that somebody else wrote, in a job file, in a job or in a database, never steers a terminal, a path or a signal.

use std::fs;

use crate::support::{Call, Finished, Sandbox, many_kinds};

/// A character of each kind that may not reach a terminal.
const HOSTILE: &str = "\u{1b}[2J\u{7}\u{7f}\u{9b}31m\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202e}\u{2066}\u{2069}\u{feff}\u{ad}\u{180e}\u{2060}\u{206a}\u{3164}";

/// Nothing that it printed steers a terminal. Line breaks are runner's own.
#[track_caller]
fn assert_harmless(ran: &Finished) {
    let printed = format!("{}{}", ran.stdout, ran.stderr);
    let found = printed.chars().find(|c| *c != '\n' && (HOSTILE.contains(*c) && *c > '~' || c.is_control()));
    assert_eq!(found, None, "{ran}");
}

/// A word of TOML or JSON that holds the characters.
fn quoted(prefix: &str) -> String {
    let escaped: Vec<_> = HOSTILE.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let escaped = escaped.concat();
    format!("\"{prefix}{escaped}\"")
}

#[test]
fn a_hostile_job_file_shows_its_characters_as_escapes() {
    let text = quoted("x");
    let sandbox = Sandbox::new(&format!(
        "[jobs.evil]\ndescription = {text}\ncommand = {text}\nlauncher = ['nice', {text}]\ncwd = {text}\n\
         env = {{ {text} = {text} }}\ntimeout = '1m'\n"
    ));
    for line in [
        "check",
        "check --json",
        "enqueue evil",
        "enqueue evil --dry-run",
        "check evil --exit 1",
        "inspect",
        "inspect 1",
    ] {
        assert_harmless(&sandbox.run(line).ok());
        assert_harmless(&sandbox.run(&format!("{line} --utc")));
    }
    // A job that cannot start says why, in the log and everywhere else.
    assert_harmless(&sandbox.run("work --drain").exits(1));
    assert_harmless(&sandbox.run("enqueue evil").ok());
    assert_harmless(&sandbox.run("work --drain --log json").exits(1));
    for verb in
        ["inspect", "inspect dead", "inspect 1", "inspect attempts", "inspect jobs", "retry 1 --dry-run"]
    {
        assert_harmless(&sandbox.run(verb).ok());
        assert_harmless(&sandbox.run(&format!("{verb} --json")));
    }
    assert_harmless(&sandbox.run("inspect --html").ok());
    // Colour adds sequences of its own, and lets none of another through.
    let colored = sandbox.run("check --color always").ok().stdout;
    assert!(colored.contains("\u{1b}[") && !colored.contains("\u{1b}[2J") && !colored.contains('\u{202e}'));

    // Mistakes quote the file.
    for mistake in [
        format!("[jobs.{text}]\ncommand = 'true'\n"),
        format!("[jobs.a]\ncommand = 'true'\nqueue = {text}\n"),
        format!("[jobs.a]\ncommand = 'true'\nunique_key = {text}\n"),
        format!("[jobs.a]\ncommand = 'true'\n{text} = 1\n"),
        format!("[jobs.a]\ncommand = 'true'\nafter = [{text}]\non_dead = {text}\n"),
        format!("[jobs.a]\ncommand = 'true'\ntimeout = {text}\nexit_codes = {{ 3 = {text} }}\n"),
        format!("[jobs.a]\ncommand = 'true'\nschedule = {text}\ntimezone = {text}\n"),
        "[jobs.a]\ncommand = '\u{61c}\u{200b}\u{2028}\u{202e}\u{2066}\u{feff}\u{9b}' oops\n".to_owned(),
    ] {
        sandbox.write("jobs.toml", mistake);
        for line in ["check", "enqueue a"] {
            assert_harmless(&sandbox.run(line).exits(65));
        }
    }
}

#[test]
fn keys_hold_nothing_that_hides() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\n");
    for key in ["a\u{200d}b", "a\u{200c}b", "a\u{202e}", "a\u{1b}", "\u{feff}a", "a\nb"] {
        for option in ["--unique-key", "--idempotency-key"] {
            let ran = sandbox.call(&format!("enqueue a {option}")).arg(key).run().exits(2);
            assert!(ran.stderr.contains("is not a key"), "{ran}");
        }
        let line = format!(
            "{{\"name\": \"a\", \"unique_key\": \"{}\"}}",
            key.escape_default().to_string().replace(['{', '}'], "")
        );
        assert_harmless(&sandbox.call("enqueue --batch -").stdin(line).run().exits(65));
    }
    sandbox.call("enqueue a --unique-key").arg("schlüssel 鍵").run().ok();
}

#[test]
fn joiners_of_scripts_and_emoji_pass() {
    let family = "\u{1f468}\u{200d}\u{1f469}";
    let sandbox = Sandbox::new(&format!("[jobs.a]\ndescription = '{family}'\ncommand = 'true'\n"));
    sandbox.run("check").ok().shows(family);
}

/// Runs every verb on a database in which somebody has changed something by hand.
#[track_caller]
fn every_verb(tampering: &str) -> usize {
    let sandbox = many_kinds();
    sandbox.sql().force(&tampering.replace("HOSTILE", HOSTILE));
    let mut refused = 0;
    for line in [
        "inspect",
        "inspect 1",
        "inspect 1.1",
        "inspect 3",
        "inspect jobs",
        "inspect attempts",
        "inspect dead",
        "inspect workers",
        "inspect queues",
        "inspect schedules",
        "inspect stats",
        "inspect --html",
        "inspect --openmetrics",
        "logs 2",
        "retry 1 --dry-run",
        "doctor",
        "check",
        "enqueue push --dry-run",
        "enqueue later --dry-run",
        "apply",
        "work --until-idle",
        "work --until-idle --log json",
        "pause net",
        "resume net",
        "limit net --max-running 2",
        "resolve 1",
        "retry 4 --force",
        "cancel 3",
        "wait 2",
        "prune --older-than 0s --state dead",
    ] {
        for form in ["", " --json"] {
            let ran = sandbox.run(&format!("{line}{form}"));
            assert_harmless(&ran);
            refused += usize::from(ran.status() == Some(74));
        }
    }
    refused
}

#[test]
fn a_damaged_name_is_damage_for_every_verb() {
    for column in ["name", "queue", "error_code", "unique_key", "idempotency_key"] {
        let refused = every_verb(&format!("UPDATE jobs SET {column} = 'HOSTILE' WHERE id = 1"));
        assert!(refused > 0, "{column}");
    }
    for statement in [
        "UPDATE workers SET name = 'HOSTILE', ended_at = NULL",
        "UPDATE workers SET queues = json_array('HOSTILE'), ended_at = NULL",
        "INSERT INTO queues (name, paused) VALUES ('HOSTILE', 1)",
        "UPDATE job_definitions SET definition = json_set(definition, '$.name', 'HOSTILE')",
        "UPDATE attempts SET error_code = 'HOSTILE' WHERE error_code IS NOT NULL",
    ] {
        assert!(every_verb(statement) > 0, "{statement}");
    }
}

#[test]
fn free_text_of_a_hostile_database_is_escaped() {
    for statement in [
        "UPDATE attempts SET message = 'HOSTILE'",
        "UPDATE jobs SET result = 'HOSTILE'; UPDATE jobs SET resolved_at = 1, resolution = 'HOSTILE' WHERE id = 1",
        "UPDATE outputs SET stderr = CAST('HOSTILE' AS BLOB), stderr_head = 0, marks = NULL WHERE job_id = 1",
        "UPDATE workers SET db_path = CAST('/HOSTILE' AS BLOB), boot_id = 'HOSTILE', ended_at = NULL",
        "UPDATE job_definitions SET definition = json_set(definition, '$.cwd', 'HOSTILE', '$.command.shell', 'HOSTILE')",
    ] {
        every_verb(statement);
    }
}

#[test]
fn a_worker_id_with_a_path_in_it_removes_and_ends_nothing() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\n");
    sandbox.add("a");
    sandbox.drain();
    sandbox.write("theirs.reports/kept", "kept");
    sandbox.write("theirs.sock", "kept");
    // A start log that names a process: the worker that reads it would end that process.
    let mut victim =
        sandbox.program("sleep").arg("600").spawn(std::process::Stdio::null(), std::process::Stdio::null());
    let stat = fs::read_to_string(format!("/proc/{}/stat", victim.id())).unwrap();
    let ticks = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().to_owned();
    let record = format!("{:<127}\n", format!("1 2 {} {ticks} 1", victim.id()));
    sandbox.write("theirs.lock", &record);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    sandbox.sql().run(&format!(
        "DROP TRIGGER jobs_move_by_the_rules;
         UPDATE workers SET name = '../theirs', ended_at = NULL, boot_id = '{}', pid = 999999;
         UPDATE jobs SET state = 'running', worker_id = 1",
        boot.trim()
    ));
    for line in ["work --until-idle", "inspect", "inspect 1", "inspect workers", "cancel 1", "logs 1"] {
        assert_harmless(&sandbox.run(line).exits(74).says("is not the id of a worker"));
    }
    let doctor =
        sandbox.run("doctor").exits(1).shows("worker 1 is damaged: \"../theirs\" is not the id of a");
    assert_harmless(&doctor);
    assert_eq!([sandbox.read("theirs.reports/kept"), sandbox.read("theirs.sock")], ["kept", "kept"]);
    assert_eq!(sandbox.read("theirs.lock"), record);
    assert_eq!(victim.try_wait().unwrap(), None, "it still runs");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn what_clap_repeats_is_escaped() {
    let sandbox = Sandbox::empty();
    let hostile = format!("x{HOSTILE}\u{e0041}");
    let calls: [&[&str]; 5] = [
        &[&hostile],
        &["work", &hostile],
        &["work", "-j", &hostile],
        &["enqueue", "a", "--in", &hostile],
        &["inspect", "jobs", "--state", &hostile],
    ];
    for words in calls {
        for color in ["never", "always"] {
            let call = words.iter().fold(sandbox.call("--color").arg(color), Call::arg);
            let ran = call.run().exits(2).says("u{2028}");
            assert_harmless(&ran);
            assert!(!ran.stderr.contains('\u{e0041}'), "{ran}");
        }
    }
}
