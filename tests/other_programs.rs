//! Other programs that work on the database file: what they leave in it, and how it goes on.

use std::fs;
use std::path::Path;

use crate::support::versions::VERSIONS;
use crate::support::{Background, Finished, Sandbox, Sql, wait_until};

/// A database with one job, which is not in WAL mode.
fn without_wal() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    leave_wal(&sandbox);
    sandbox
}

fn leave_wal(sandbox: &Sandbox) {
    assert_eq!(sandbox.sql().text("PRAGMA journal_mode = DELETE"), "delete");
}

#[track_caller]
fn is_in_wal_mode(sandbox: &Sandbox) -> bool {
    fs::read(sandbox.db()).expect("the file")[18] == 2
}

/// Another process that reads the database, until it is dropped.
fn reader(sandbox: &Sandbox) -> Sql {
    let reader = sandbox.sql();
    reader.run("BEGIN; SELECT count(*) FROM jobs");
    reader
}

#[test]
fn the_next_verb_that_writes_puts_the_file_back_into_wal_mode() {
    let sandbox = Sandbox::empty();
    for line in ["enqueue -- true", "work --drain", "pause q", "backup b.db"] {
        sandbox.add("-- true");
        leave_wal(&sandbox);
        sandbox.run("inspect jobs").ok();
        assert!(!is_in_wal_mode(&sandbox));
        sandbox.run(line).exits(0);
        assert!(is_in_wal_mode(&sandbox), "{line}");
    }
    // The copy that VACUUM INTO makes is not in WAL mode.
    sandbox.sql().run(&format!("VACUUM INTO '{}'", sandbox.path("v.db").display()));
    sandbox.run("restore v.db").ok();
    assert!(is_in_wal_mode(&sandbox));
}

/// How often a process has opened the file.
fn descriptors(pid: i32, file: &Path) -> usize {
    let all = fs::read_dir(format!("/proc/{pid}/fd")).expect("a process");
    all.flatten().filter(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file)).count()
}

/// SQLite takes the log away where it closes a file that nobody else has locked. A process that opens the file beside SQLite, and closes
/// it, loses its locks without a word.
#[test]
fn a_program_that_opens_and_closes_the_file_takes_the_log_from_nobody() {
    let sandbox = Sandbox::new("[jobs.long]\ncommand = 'sleep 600'\n");
    let log = sandbox.path("runner.db-wal");
    let calls =
        ["work", "work --keep 1h", "run -- sleep 600", "enqueue --wait long", "wait 1", "logs --follow 1"];
    for line in calls {
        let connections = if line.contains("--keep") { 2 } else { 1 };
        let process = Background::start(&sandbox, sandbox.call(line));
        wait_until("it has connected", || descriptors(process.pid(), &log) == connections);
        drop(reader(&sandbox));
        assert!(log.exists(), "{line}");
    }
}

const DUMP: &str = "
import sqlite3, sys
one, two = sqlite3.connect(sys.argv[1]), sqlite3.connect(':memory:')
print(one.execute('PRAGMA integrity_check').fetchone()[0])
two.executescript('\\n'.join(one.iterdump()))
for table, in one.execute('SELECT name FROM sqlite_schema WHERE type = \"table\"'):
    rows = [db.execute(f'SELECT * FROM {table}').fetchall() for db in (one, two)]
    print(table, len(rows[0]), rows[0] == rows[1])
";

/// Python of Debian 12 has SQLite 3.40, to which no JSON at all is no valid JSON.
#[test]
fn an_older_sqlite_finds_the_file_sound_and_loads_its_dump() {
    let sandbox = Sandbox::new(
        "[jobs.one]\ncommand = 'exit 3'\nwarning_exit_codes = [3]\nschedule = '@daily'\n\
         [jobs.two]\ncommand = 'true'\nschedule = ['0 8 * * 1-5', '0 10 * * 6']\nafter = ['one']\n",
    );
    sandbox.run("apply").exits(0);
    sandbox.run("run -q two").exits(0);
    let ran = sandbox.program("python3").arg("-c").arg(DUMP).arg(sandbox.db()).run().ok();
    assert!(ran.stdout.starts_with("ok\n") && !ran.stdout.contains("False"), "{ran}");
    assert!(ran.stdout.contains("schedules 2 True"), "{ran}");
}

#[test]
fn doctor_names_a_file_that_is_not_in_wal_mode() {
    let sandbox = without_wal();
    sandbox.run("doctor").ok().shows("not in WAL mode").shows("nothing is wrong");
    sandbox.add("-- true");
    let ran = sandbox.run("doctor").ok();
    assert!(!ran.stdout.contains("WAL mode"), "{ran}");
}

#[test]
fn where_a_reader_keeps_the_file_from_wal_mode_it_is_named() {
    let sandbox = without_wal();
    let reading = reader(&sandbox);
    sandbox.run("enqueue -- true").exits(75).says("one that only reads it can").says("not in WAL mode");
    drop(reading);
    sandbox.add("-- true");
    let _reading = reader(&sandbox);
    sandbox.add("-- true");
    assert_eq!(sandbox.count_jobs(), 3);
}

#[test]
fn restore_replaces_no_file_that_somebody_reads_without_wal() {
    let sandbox = without_wal();
    sandbox.run("backup b.db").ok();
    leave_wal(&sandbox);
    let reading = reader(&sandbox);
    sandbox.run("restore b.db").exits(75).says("had it open");
    drop(reading);
    sandbox.run("restore b.db").ok();
    assert_eq!(sandbox.count_jobs(), 1);
}

/// More rows that break the rules of their own table than `doctor` names of one kind.
const BREAKS_ITS_OWN_RULES: &str = "
    CREATE TABLE t (a CHECK (a > 0), b); PRAGMA ignore_check_constraints = ON;
    INSERT INTO t SELECT -value, NULL FROM json_each('[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]');
    PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a CHECK (a > 0), b NOT NULL)' WHERE name = 't'";

/// What other programs put into a database, and the command that removes it.
const HARMLESS: [(&str, &str); 9] = [
    // As Litestream 0.5.17 does.
    (
        "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER); CREATE TABLE _litestream_lock (id INTEGER);
         INSERT INTO _litestream_seq VALUES (1, 7)",
        "DROP TABLE \"_litestream_seq\"",
    ),
    ("CREATE TABLE \"it's my \"\"table\"\"\" (a INTEGER PRIMARY KEY AUTOINCREMENT)", "DROP TABLE \"it'\\''s my "),
    ("CREATE VIEW [of mine] AS SELECT id FROM jobs", "DROP VIEW \"of mine\""),
    ("CREATE VIEW broken AS SELECT gone FROM nowhere", "DROP VIEW \"broken\""),
    ("CREATE INDEX Mine ON jobs (name COLLATE nocase, state DESC)", "DROP INDEX \"Mine\""),
    ("CREATE TABLE t (a UNIQUE); CREATE UNIQUE INDEX u ON t (length(a))", "DROP INDEX \"u\""),
    (
        "CREATE TABLE t (job REFERENCES jobs (id), attempt REFERENCES attempts (job_id) ON DELETE RESTRICT); INSERT INTO t VALUES (1, 1)",
        "DROP TABLE \"t\"",
    ),
    (BREAKS_ITS_OWN_RULES, "DROP TABLE \"t\""),
    ("PRAGMA writable_schema = ON; CREATE TABLE t (a);
      UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a CHECK (only_there(a)))' WHERE name = 't'; INSERT INTO t VALUES (1)", "DROP TABLE \"t\""),
];

#[test]
fn what_other_programs_add_is_a_note_and_goes_along() {
    for (statements, removal) in HARMLESS {
        let sandbox = Sandbox::empty();
        sandbox.add("-- true");
        sandbox.sql().run(statements);
        let count = "SELECT count(*) FROM sqlite_schema";
        let objects = sandbox.sql().number(count);
        let doctor = || sandbox.run("doctor").ok().shows(removal).shows("nothing is wrong");
        doctor();
        sandbox.run("backup b.db").ok();
        sandbox.add("-- true");
        sandbox.run("restore b.db").ok();
        assert_eq!(sandbox.sql().number(count), objects, "{statements}");
        doctor();
        sandbox.run("work --drain").ok();
        sandbox.run("prune --older-than 0s").ok();
        assert_eq!(sandbox.count_jobs(), 0, "{statements}");
        assert_eq!(sandbox.add("-- true"), 3, "{statements}");
        doctor();
    }
}

/// The notes of `doctor`, without the one about a sandbox in memory.
fn notes(sandbox: &Sandbox) -> Vec<String> {
    let report = sandbox.run("doctor --json").ok().json();
    let notes = report["notes"].as_array().expect("a list").iter();
    let notes = notes.map(|note| note.as_str().expect("a sentence").to_owned());
    notes.filter(|note| !note.contains("a reboot empties")).collect()
}

#[test]
fn the_command_of_a_note_removes_what_it_names() {
    for (statements, _) in HARMLESS {
        let sandbox = Sandbox::empty();
        sandbox.add("-- true");
        sandbox.sql().run(statements);
        for note in notes(&sandbox) {
            let (_, command) = note.split_once("if nothing needs it, ").expect("a command");
            let command = command.strip_suffix(" removes it").expect("a command");
            let words = shlex(command);
            assert_eq!(words[..2], ["sqlite3", &sandbox.db().display().to_string()]);
            // An index goes with its table.
            let dropped = sandbox.sql().try_run(&words[2]);
            assert!(dropped.is_ok() || note.starts_with("the index"), "{note}: {dropped:?}");
        }
        assert_eq!(notes(&sandbox), [""; 0], "{statements}");
    }
}

/// The words of a command line that has no other signs than quotes.
fn shlex(line: &str) -> Vec<String> {
    let sh = std::process::Command::new("sh").args(["-c", &format!("printf '%s\\0' {line}")]).output();
    let printed = String::from_utf8(sh.expect("a shell").stdout).expect("UTF-8");
    printed.split_terminator('\0').map(str::to_owned).collect()
}

/// The words of the command in a hint.
#[track_caller]
fn hinted(ran: &Finished) -> Vec<String> {
    let (_, hint) = ran.stderr.split_once("hint: `").expect("a hint");
    shlex(&hint.split_once('`').expect("a command").0.replace("\n      ", " "))
}

#[test]
fn what_can_refuse_our_statements_or_answer_them_is_not_sound() {
    for (statements, said) in [
        ("CREATE UNIQUE INDEX mine ON jobs (queue, id)", "'DROP INDEX \"mine\"' removes it"),
        ("CREATE INDEX mine ON jobs (abs(priority))", "'DROP INDEX \"mine\"' removes it"),
        ("CREATE TABLE pragma_table_info (name)", "the table pragma_table_info is not of runner"),
        ("CREATE VIRTUAL TABLE notes USING fts5 (text)", "'DROP TABLE \"notes\"' removes it"),
    ] {
        let sandbox = Sandbox::empty();
        sandbox.add("-- true");
        sandbox.sql().run(statements);
        sandbox.run("doctor").exits(1).shows(said).shows("not sound");
        sandbox.run("--db new.db restore runner.db").exits(74).says(said);
    }
}

#[test]
fn damage_of_ours_is_found_among_rows_that_break_the_rules_of_others() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.sql().run(BREAKS_ITS_OWN_RULES);
    sandbox.sql().force("UPDATE jobs SET unmet_dependencies = -1");
    sandbox.run("doctor").exits(1).shows("CHECK constraint failed in jobs").shows("not sound");
    sandbox.run("backup b.db").exits(74).says("CHECK constraint failed in jobs");
}

#[test]
fn what_takes_the_name_of_a_function_is_damage() {
    for statement in ["CREATE VIEW json_each AS SELECT 1 AS value", "CREATE TABLE Json_Tree (value)"] {
        let sandbox = Sandbox::empty();
        sandbox.add("-- true");
        sandbox.sql().run(statement);
        for line in ["doctor", "inspect", "enqueue -- true"] {
            sandbox.run(line).exits(74).says("in the place of the function json_");
        }
    }
}

#[test]
fn the_hint_about_a_trigger_removes_it() {
    for (name, on) in [("mine", "jobs"), ("it's \"\"mine\"\"", "jobs"), ("INSERT", "t")] {
        let sandbox = Sandbox::empty();
        sandbox.add("-- true");
        sandbox.sql().run(&format!(
            "CREATE TABLE t (a); CREATE TRIGGER \"{name}\" AFTER INSERT ON {on} BEGIN SELECT 1; END"
        ));
        let ran = sandbox.run("doctor").exits(74).says("is damaged: somebody has added");
        sandbox.sql().run(&hinted(&ran)[2]);
        assert_eq!(sandbox.add("-- true"), 2);
        sandbox.run("doctor").ok().shows("nothing is wrong");
    }
}

/// The numbers that `.dump | sqlite3` and `.clone` of sqlite3 3.40.1 leave out.
const MARK: [&str; 2] = ["application_id", "user_version"];

#[test]
fn a_database_that_lost_its_mark_gets_it_back() {
    let [(_, first), (_, second), ..] = VERSIONS;
    let cases = [
        (first, "1000", &MARK[..]),
        (second, "1001", &MARK),
        ("", "1002", &MARK),
        ("", "1002", &MARK[..1]),
        ("", "1002", &MARK[1..]),
    ];
    for (made_by, version, lost) in cases {
        let sandbox = if made_by.is_empty() { Sandbox::empty() } else { Sandbox::of_version(made_by) };
        if made_by.is_empty() {
            sandbox.add("-- true");
        }
        let sql = sandbox.sql();
        for number in lost {
            sql.run(&format!("PRAGMA {number} = 0"));
        }
        let told = |line: &str| {
            let ran = sandbox.run(line).exits(74).says("has lost its mark").says("it was not touched");
            let words = hinted(&ran);
            let mark = format!("PRAGMA application_id = 0x72756e6a; PRAGMA user_version = {version}");
            assert_eq!(words, ["sqlite3", sandbox.db().to_str().unwrap(), &mark]);
            ran.says("makes a copy that keeps it");
            mark
        };
        // The numbers are in the log alone, and then in the file alone.
        told("inspect");
        sql.run("PRAGMA wal_checkpoint(TRUNCATE)");
        drop(sql);
        let before = fs::read(sandbox.db()).unwrap();
        for line in
            ["enqueue -- true", "work --until-idle", "doctor", "backup b.db", "--db new.db restore runner.db"]
        {
            told(line);
            assert!(fs::read(sandbox.db()).unwrap() == before, "{line}");
        }
        sandbox.run("--db new.db enqueue -- true").ok();
        sandbox.run("--db new.db backup good.db").ok();
        let mark = told("restore good.db");
        sandbox.sql().run(&mark);
        sandbox.run("enqueue -- true").ok();
        let found = sandbox.run("doctor --json").json();
        assert_eq!(found["schema_version"], "1.2", "{found}");
    }
}

#[test]
fn a_database_with_some_tables_of_our_names_belongs_to_another_program() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.sql().run("PRAGMA application_id = 1");
    sandbox.run("inspect").exits(74).says("belongs to another program");
    sandbox.sql().run("PRAGMA application_id = 0; PRAGMA user_version = 0; DROP TABLE queues");
    sandbox.run("inspect").exits(74).says("belongs to another program");
    sandbox.write_private("other.db", "");
    Sql::open(&sandbox.path("other.db")).run("CREATE TABLE jobs (id); CREATE TABLE attempts (id)");
    sandbox.run("--db other.db inspect").exits(74).says("belongs to another program");
}
