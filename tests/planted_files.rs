//! Pipes, links, logs and triggers that somebody has put beside or into a database do no harm, and nothing waits for them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use crate::support::{NOBODY, Sandbox, Sql, is_root};

/// Verbs that read, that write and that work.
const VERBS: [&str; 6] =
    ["inspect", "inspect workers", "enqueue -- true", "work --drain", "doctor", "backup copy.db"];

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

impl Sandbox {
    fn make_fifo(&self, name: &str) {
        let _ = fs::remove_file(self.path(name));
        self.program("mkfifo").arg(name).run().ok();
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_holds_nothing_up() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    for suffix in ["-wal", "-journal", "-shm"] {
        let name = format!("runner.db{suffix}");
        sandbox.make_fifo(&name);
        for line in VERBS {
            let said = format!("{} is not a regular file", sandbox.path(&name).display());
            sandbox.run(line).exits(74).prints("").says(&said);
        }
        fs::remove_file(sandbox.path(&name)).unwrap();
    }
    // In the place of a worker's file.
    let job = sandbox.add_line("--retryable false", "echo $$ > pid; exec sleep 60");
    let worker = sandbox.worker("--queue default");
    sandbox.pid_of("pid");
    let names = names(&sandbox.path("runner.db.run"));
    let lock = names
        .iter()
        .find(|name| Path::new(name).extension() == Some("lock".as_ref()) && *name != "create.lock");
    let lock = format!("runner.db.run/{}", lock.expect("the lock of a worker"));
    worker.kill();
    sandbox.make_fifo(&lock);
    for line in ["inspect", "inspect workers", "enqueue -- true"] {
        sandbox.run(line).ok();
    }
    sandbox.run("work -j1 --drain").exits(1);
    assert_eq!(sandbox.job(job)["state"], "dead");
    sandbox.run("doctor").ok();
    sandbox.make_fifo("runner.db.run/create.lock");
    sandbox.run("backup copy.db").exits(74).says("it is not a regular file");
    // In the place of the folder.
    fs::remove_dir_all(sandbox.path("runner.db.run")).unwrap();
    sandbox.make_fifo("runner.db.run");
    for line in VERBS {
        sandbox.run(line).exits(77).prints("").says("runner.db.run: it is no directory");
    }
    sandbox.make_fifo("new.db.run");
    sandbox.run("--db new.db enqueue -- true").exits(77).says("new.db.run: it is no directory");
}

#[test]
fn a_trigger_that_came_with_a_file_runs_nothing() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.run("backup copy.db").ok();
    let copy = Sql::open(&sandbox.path("copy.db"));
    let ours = "attempts_are_immutable";
    let text = copy.text(&format!("SELECT sql FROM sqlite_schema WHERE name = '{ours}'"));
    for name in ["evil", ours] {
        copy.run(&format!("DROP TRIGGER IF EXISTS {name}"));
        copy.run(&format!(
            "CREATE TRIGGER {name} AFTER UPDATE ON jobs BEGIN UPDATE jobs SET priority = 7 WHERE id = NEW.id; END"
        ));
        for line in VERBS {
            let ran = sandbox.run(&format!("--db copy.db {line}"));
            ran.exits(74).prints("").says(&format!("somebody has added or changed the trigger \"{name}\""));
        }
        // What removes ours does not mend the file.
        let hint =
            if name == ours { "hint: name another file" } else { "'DROP TRIGGER \"evil\"'` removes it" };
        sandbox.run("restore copy.db").exits(74).says(name).says(hint);
        sandbox.run("doctor").ok();
        copy.run(&format!("DROP TRIGGER {name}"));
    }
    // The text of a trigger may have other comments and blanks.
    copy.run(&text.replace("ON attempts", "ON -- every one of the\n   attempts"));
    sandbox.run("restore copy.db").ok();
}

#[test]
fn a_trigger_in_disguise_runs_nothing() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.run("backup copy.db").ok();
    // Each of them is a trigger to SQLite.
    for disguise in [
        "type = 'TRIGGER', name = 'sqlite_evil', sql = replace(sql, 'evil', 'sqlite_evil')",
        "type = 'trigger' || char(0) || ' of nothing'",
        "type = CAST(type AS BLOB)",
        "name = 'evil' || char(0) || 'or not'",
        "sql = replace(sql, 'CREATE TRIGGER', 'create/**/trigger')",
        "sql = replace(sql, 'CREATE TRIGGER', 'CREATE TEMP TRIGGER')",
        "sql = CAST(sql AS BLOB)",
        "rootpage = 5",
        "name = 'INPUTS_ARE_IMMUTABLE', sql = replace(sql, 'evil', 'INPUTS_ARE_IMMUTABLE')",
    ] {
        fs::copy(sandbox.path("copy.db"), sandbox.path("evil.db")).unwrap();
        Sql::open(&sandbox.path("evil.db")).run(&format!(
            "DROP TRIGGER inputs_are_immutable;
             CREATE TRIGGER evil AFTER UPDATE ON jobs BEGIN UPDATE jobs SET priority = 7 WHERE id = NEW.id; END;
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET {disguise} WHERE name = 'evil'"
        ));
        for line in VERBS {
            let ran = sandbox.run(&format!("--db evil.db {line}"));
            ran.exits(74).prints("").says("somebody has added or changed the trigger \"");
        }
        let ran = sandbox.run("restore evil.db").exits(74);
        let evil = Sql::open(&sandbox.path("evil.db"));
        evil.run("UPDATE jobs SET run_at = run_at");
        assert_eq!(evil.number("SELECT priority FROM jobs"), 7, "{disguise}");
        if ran.stderr.contains("'DROP TRIGGER \"evil\"'` removes it") {
            evil.run("DROP TRIGGER evil");
            sandbox.run("--db evil.db enqueue -- true").ok();
        } else {
            ran.says("hint: name another file");
        }
    }
}

#[test]
fn what_stands_in_the_place_of_a_table_is_not_read() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    // Whoever reads it never comes to an end.
    let endless = "WITH RECURSIVE c (name) AS (SELECT ''a'' UNION ALL SELECT ''a'' FROM c) SELECT * FROM c";
    sandbox.sql().run(&format!(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET type = 'VIEW', name = 'Queues' || char(0), rootpage = 0,
                                  sql = 'CREATE VIEW Queues AS {endless}' WHERE name = 'queues'"
    ));
    for line in VERBS {
        let ran = sandbox.run(line).exits(74).prints("");
        ran.says("somebody has put a view in the place of the table queues");
    }
    // SQLite's own check of a file is asked for by a name that no view can take.
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.sql().run(&format!(
        "CREATE VIEW pragma_integrity_check AS SELECT name AS integrity_check FROM ({})",
        endless.replace("''", "'")
    ));
    sandbox.run("doctor").exits(1).shows("the view pragma_integrity_check is not of runner");
}

#[test]
fn a_job_file_that_a_database_names_is_read_only_if_it_can_be_one() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\nschedule = '@yearly'\n");
    sandbox.run("apply").ok();
    sandbox.make_fifo("pipe");
    symlink("pipe", sandbox.path("to-pipe")).unwrap();
    // Whoever reads this one takes messages away from others, and then waits for more.
    symlink("/proc/kmsg", sandbox.path("to-kernel")).unwrap();
    fs::File::create(sandbox.path("long")).unwrap().set_len(3 << 30).unwrap();
    fs::File::create(sandbox.path("just-too-long")).unwrap().set_len((16 << 20) + 1).unwrap();
    for (name, why) in [
        ("pipe", "it is not a regular file"),
        ("to-pipe", "it is not a regular file"),
        ("/dev/zero", "it is not a regular file"),
        (".", "it is not a regular file"),
        ("to-kernel", "it is a file of the kernel"),
        ("/sys/kernel/notes", "it is a file of the kernel"),
        ("long", "it is longer than 16 MiB"),
        ("just-too-long", "it is longer than 16 MiB"),
    ] {
        let path = sandbox.path(name);
        let path = path.to_str().unwrap();
        sandbox.sql().run(&format!("UPDATE schedules SET file = '{path}'"));
        let note = format!("{path} is not read, because {why}");
        let list = sandbox.run("inspect --json").ok().json()["attention"].clone();
        let found = &list[0];
        assert!(found["message"].as_str().is_some_and(|message| message.starts_with(&note)), "{list}");
        assert_eq!((&found["kind"], &found["alarm"]), (&json!("changed"), &json!(false)));
        sandbox.run("doctor --strict").ok().shows("checks");
        sandbox.run("inspect --html").ok().shows(why);
        sandbox.run("inspect --openmetrics").ok().shows("runner_attention");
        sandbox.run("inspect schedules").ok();
    }
    let list = sandbox.run("inspect --json").ok().json()["attention"].clone();
    let command = list[0]["command"].as_str().unwrap().to_owned();
    let call = sandbox.program("sh").arg("-c").arg(command.replacen("runner", "\"$0\"", 1));
    call.arg(env!("CARGO_BIN_EXE_runner")).run().ok();
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM schedules"), 0);
}

#[test]
fn a_restore_follows_no_planted_link() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.run("backup copy.db").ok();
    fs::create_dir(sandbox.path("elsewhere")).unwrap();
    symlink("elsewhere/taken.db", sandbox.path("runner.db.replaced-1")).unwrap();
    symlink("elsewhere/taken.db", sandbox.path("runner.db.replaced-2-wal")).unwrap();
    sandbox.run("restore copy.db").ok().shows("runner.db.replaced-3");
    assert_eq!(names(&sandbox.path("elsewhere")), [""; 0]);
    assert!(fs::symlink_metadata(sandbox.db()).unwrap().is_file());
    sandbox.run("--db runner.db.replaced-3 inspect 1").ok();
}

#[test]
fn a_backup_into_a_shared_folder_is_the_copy_and_nothing_else() {
    let sandbox = Sandbox::empty();
    sandbox.add("--name mine -- true");
    // The log of another database, which SQLite would believe if a draft lay beside it.
    sandbox.run("--db evil.db enqueue --name evil -- true").ok();
    let keeper = Sql::open(&sandbox.path("evil.db"));
    keeper.number("SELECT count(*) FROM jobs");
    sandbox.run("--db evil.db enqueue --name evil -- true").ok();
    let log = fs::read(sandbox.path("evil.db-wal")).unwrap();
    assert!(!log.is_empty());
    sandbox.write("shared/copy.db-wal", &log);
    if is_root() {
        sandbox.own("shared", NOBODY, 0o777);
        sandbox.own("shared/copy.db-wal", NOBODY, 0o666);
    }
    // One that is likely to lie on another file system.
    let far = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let is_far = fs::metadata(far.path()).unwrap().dev() != fs::metadata(sandbox.dir()).unwrap().dev();
    if !is_far {
        eprintln!("not tested: a backup to another file system");
    }
    for (place, others) in [(sandbox.path("shared"), vec!["copy.db-wal"]), (far.path().to_owned(), vec![])] {
        let target = place.join("copy.db");
        let call = sandbox.program("sh").arg("-c").arg("umask 0; exec \"$0\" backup \"$1\"");
        call.arg(env!("CARGO_BIN_EXE_runner")).arg(&target).run().ok();
        assert_eq!(mode(&target), 0o600);
        assert_eq!(fs::symlink_metadata(&target).unwrap().nlink(), 1);
        let mut left = names(&place);
        left.retain(|name| name != "copy.db");
        assert_eq!(left, others);
        fs::copy(&target, sandbox.path("taken.db")).unwrap();
        let job = sandbox.run("--db taken.db inspect 1 --json").ok().json();
        assert_eq!(job["name"], "mine");
        // A link is as good as a file: it is left as it is.
        fs::remove_file(&target).unwrap();
        symlink(sandbox.path("precious"), &target).unwrap();
        sandbox.call("backup").arg(&target).run().exits(73);
        assert!(!sandbox.path("precious").exists());
    }
    assert_eq!(names(&sandbox.path("runner.db.run")), ["create.lock"]);
}

#[test]
fn a_job_file_that_init_writes_is_the_callers_own_whatever_the_umask() {
    let sandbox = Sandbox::empty();
    let call = sandbox.program("sh").arg("-c").arg("umask 0; exec \"$0\" init");
    call.arg(env!("CARGO_BIN_EXE_runner")).run().ok();
    assert_eq!(mode(&sandbox.path("jobs.toml")), 0o644);
}
