//! `doctor`: where everything is, and whether everything is as it must be.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::{Call, NOBODY, Sandbox, Signal, assert_fields, is_root, wait_until};

/// Job 1 dead after two attempts, job 2 succeeded.
fn sandbox() -> Sandbox {
    let sandbox =
        Sandbox::new("[jobs.bad]\ncommand = 'exit 3'\nbackoff = ['1ms']\n[jobs.good]\ncommand = 'true'\n");
    sandbox.run("enqueue bad good").ok();
    sandbox.run("work -j1 --drain").exits(1);
    sandbox
}

/// The rules that are broken, each once.
fn broken(sandbox: &Sandbox) -> Vec<String> {
    let report = sandbox.run("doctor --json").exits(1).json();
    let problems = report["problems"].as_array().unwrap().clone();
    let mut rules: Vec<String> =
        problems.iter().map(|problem| problem["rule"].as_str().unwrap().to_owned()).collect();
    rules.dedup();
    rules
}

#[test]
fn a_sound_database_is_sound() {
    let sandbox = sandbox();
    sandbox.run("doctor").ok().shows("nothing is wrong");
    let report = sandbox.run("doctor --json").ok().json();
    assert_eq!(report["problems"], json!([]));
    assert_eq!(report["jobs_declared"], 2);
    assert_eq!(report["db_from"], "$RUNNER_DB");
    assert_eq!(report["workers_alive"], 0);
    sandbox.run("doctor -q").ok().prints("");
}

#[test]
fn the_last_line_says_which_of_the_two_failed() {
    let sandbox = sandbox();
    let last = |status: i32| {
        let ran = sandbox.run("doctor --strict").exits(status);
        ran.stdout.lines().last().unwrap().to_owned()
    };
    assert_eq!(last(1), "verdict   the file is sound, but one thing needs attention");
    sandbox.run("doctor").ok().shows("nothing is wrong");
    sandbox.run("doctor --strict -q").exits(1).shows("runner retry 1\n");
    sandbox.run("resolve 1").ok();
    assert_eq!(last(0), "verdict   the file is sound, and all is well");
    sandbox.run("doctor --strict -q").ok().prints("").quietly();
    sandbox.sql().run("UPDATE jobs SET attempts = 9 WHERE id = 1");
    assert_eq!(last(1), "verdict   the file is not sound");
    sandbox.sql().run("UPDATE jobs SET resolved_at = NULL WHERE id = 1");
    assert_eq!(last(1), "verdict   the file is not sound, and one thing needs attention");
    sandbox.run("doctor -q").exits(1);
}

#[test]
fn a_mail_from_cron_begins_with_what_is_wrong() {
    let sandbox = sandbox();
    let ran = sandbox.run("doctor --strict -q").exits(1);
    let words = ran.stdout.lines().filter_map(|line| line.split_whitespace().next());
    // The sandbox may lie in memory, which is a note.
    let words: Vec<&str> = words.filter(|word| *word != "note").collect();
    assert_eq!(words, ["database", "dead", "runner", "verdict"], "{ran}");
}

#[test]
fn without_a_database_there_is_nothing_wrong() {
    Sandbox::new("").run("doctor").ok().shows("not there");
}

#[test]
fn a_broken_rule_is_found() {
    for (tampering, rule) in [
        ("DELETE FROM attempts WHERE job_id = 1 AND number = 1", "attempts are numbered from 1 without gaps"),
        ("UPDATE jobs SET attempts = 9 WHERE id = 1", "a job counts its attempts"),
        ("UPDATE jobs SET state = 'cancelled' WHERE id = 2", "a success is the last attempt"),
        (
            "UPDATE jobs SET state = 'succeeded', dead_reason = NULL, error_code = NULL WHERE id = 1",
            "a job that succeeded has an attempt that did",
        ),
        (
            "UPDATE jobs SET warning = 'EXIT_3' WHERE id = 2",
            "a job was warned of what its last attempt says",
        ),
        (
            "UPDATE job_definitions SET definition = json_set(definition, '$.policy.max_attempts', 1) WHERE id = 1",
            "no budget is overdrawn",
        ),
        (
            "UPDATE job_definitions SET definition = \
             json_set(definition, '$.policy.retryable', json('false'), '$.policy.max_attempts', 9) WHERE id = 1",
            "what is not retryable is not retried",
        ),
        ("DELETE FROM job_definitions WHERE id = 2", "every job has its definition"),
        ("DELETE FROM jobs WHERE id = 2", "attempts, inputs and outputs belong to a job"),
        (
            "INSERT INTO jobs (definition_id, name, queue, priority, state, enqueued_at, run_at, changed_at, unmet_dependencies)
                 SELECT 2, 'good', 'default', 0, 'pending', 1, 1, 1, 1 FROM jobs;
             INSERT INTO dependencies (job_id, dependency_id) VALUES (3, 4), (4, 3)",
            "no job waits for itself",
        ),
        (
            "UPDATE jobs SET state = 'running', worker_id = 1, dead_reason = NULL, error_code = NULL WHERE id = 1",
            "a running job has a worker that has not ended",
        ),
        ("UPDATE sqlite_sequence SET seq = 1 WHERE name = 'jobs'", "ids are never reused"),
        ("DELETE FROM sqlite_sequence WHERE name = 'jobs'", "ids are never reused"),
        (
            "UPDATE jobs SET dead_reason = 'never_retry' WHERE id = 1",
            "a job died of what its last attempt says",
        ),
        ("UPDATE jobs SET error_code = 'EXIT_4' WHERE id = 1", "a job died of what its last attempt says"),
        ("UPDATE jobs SET name = 'other' WHERE id = 1", "a job has the name of its definition"),
        ("UPDATE jobs SET args_nul = x'61' WHERE id = 1", CAN_RUN),
        ("UPDATE job_definitions SET definition = json_set(definition, '$.policy.max_attempts', 0)", CAN_RUN),
        (
            "UPDATE job_definitions SET definition = json_set(definition, '$.command', json('{\"argv\":[]}'))",
            CAN_RUN,
        ),
        ("UPDATE job_definitions SET definition = json_set(definition, '$.timeout', 0)", CAN_RUN),
        ("UPDATE job_definitions SET definition = json_set(definition, '$.cwd', 'relative')", CAN_RUN),
        ("UPDATE job_definitions SET definition = json_set(definition, '$.cwd', json('[97, 255]'))", CAN_RUN),
        ("UPDATE workers SET name = '../../x' WHERE id = 1", "every row is as runner writes it"),
        ("DROP INDEX jobs_claimable", GIVEN),
        ("DROP VIEW dead_letters; CREATE VIEW dead_letters AS SELECT id FROM jobs", GIVEN),
    ] {
        let sandbox = sandbox();
        sandbox.sql().force(tampering);
        assert!(broken(&sandbox).iter().any(|found| found == rule), "{tampering}: {:?}", broken(&sandbox));
        sandbox.run("doctor").exits(1).shows(rule);
    }
}

const CAN_RUN: &str = "a definition says what can be run";
const GIVEN: &str = "the file has the tables, indexes, triggers and views that runner gave it";

#[test]
fn files_that_others_may_read_and_mistakes_of_the_job_file_are_found() {
    let sandbox = sandbox();
    fs::set_permissions(sandbox.db(), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(broken(&sandbox), ["only the owner may read the files"]);
    sandbox.run("doctor").exits(1).shows("chmod 600");
    fs::set_permissions(sandbox.db(), fs::Permissions::from_mode(0o600)).unwrap();
    sandbox.write("jobs.toml", "[jobs.a]\ncomand = 'x'\n");
    assert_eq!(broken(&sandbox), ["the job file can be used"]);
}

#[test]
fn what_is_missing_is_reported() {
    let sandbox = sandbox();
    sandbox.sql().run("DROP TRIGGER outputs_are_immutable");
    sandbox
        .run("doctor")
        .exits(1)
        .shows("the trigger outputs_are_immutable is missing; schema.sql has its text");
}

#[test]
fn what_inspect_calls_damaged_the_doctor_names_and_restore_refuses() {
    for (statement, said) in [
        (
            "UPDATE job_definitions SET definition = '{}' WHERE id = 1",
            "job 1 is damaged: definition: missing field `name`",
        ),
        ("UPDATE jobs SET label = 'a' || char(0) WHERE id = 1", "job 1 is damaged: \"a\\0\" is not a label"),
        (
            "UPDATE jobs SET name = 'a' || char(27) WHERE id = 2",
            "job 2 is damaged: \"a\\u{1b}\" is not a name",
        ),
        ("UPDATE attempts SET message = CAST(x'ff' AS TEXT)", "attempt 1 of job 1 is damaged: invalid utf-8"),
        ("UPDATE workers SET name = ''", "worker 1 is damaged: \"\" is not the id of a worker"),
    ] {
        let sandbox = sandbox();
        sandbox.sql().force(statement);
        for line in ["inspect 1", "inspect 2", "inspect 1.1"] {
            let ran = sandbox.run(line);
            assert!(matches!(ran.status(), Some(0 | 74)), "{ran}");
        }
        sandbox.run("doctor").exits(1).shows(said).shows("the rule: every row is as runner writes it");
        sandbox.run("--db new.db restore runner.db").exits(74);
    }
    // A look at the work is left out if it fails for that.
    let sandbox = sandbox();
    sandbox.sql().run("UPDATE jobs SET error_code = 'A' || char(27) WHERE id = 1");
    sandbox.run("inspect").exits(74);
    let ran = sandbox.run("doctor --strict").exits(1);
    ran.shows("workers   not known, because the database is damaged")
        .shows("verdict   the file is not sound\n");
    let report = sandbox.run("doctor --json").exits(1).json();
    assert_eq!([&report["attention"], &report["workers_alive"]], [&json!(null), &json!(null)]);
    // Whoever removes the row of a worker does no harm.
    let sandbox = self::sandbox();
    sandbox.sql().run("DELETE FROM workers");
    sandbox.run("doctor").ok();
    assert_eq!(sandbox.run("inspect 1.1 --json").ok().json()["worker_id"], json!(null));
    sandbox.run("inspect 1.1").ok().shows("unknown");
}

#[test]
fn objects_in_disguise_are_reported_and_not_restored() {
    const WRITABLE: &str = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET";
    for (tampering, said) in [
        ("CREATE UNIQUE INDEX mine ON jobs (queue, id)", "the index mine is not of runner"),
        ("CREATE INDEX mine ON jobs (length(name))", "the index mine is not of runner"),
        (
            &format!(
                "CREATE VIEW mine AS SELECT 1; {WRITABLE} type = 'View', name = 'sqlite_mine', tbl_name = 'sqlite_mine',
                 sql = replace(sql, 'mine', 'sqlite_mine') WHERE name = 'mine'"
            ),
            "the view \"sqlite_mine\" is not of runner",
        ),
        (
            &format!(
                "{WRITABLE} type = 'VIEW', name = 'DEAD_LETTERS', tbl_name = 'DEAD_LETTERS',
                 sql = 'CREATE VIEW DEAD_LETTERS AS SELECT 1 AS id' WHERE name = 'dead_letters'"
            ),
            "the view dead_letters is not as it was made",
        ),
        (
            &format!(
                "{WRITABLE} sql = replace(sql, 'CHECK (attempts >= 0)', 'CHECK (attempts >= abs(-0))') WHERE name = 'jobs'"
            ),
            "the table jobs is not as it was made",
        ),
        // Columns more are those of a newer version, but they hold what was put into them.
        (
            &format!(
                "PRAGMA user_version = 1900; {WRITABLE} sql = replace(sql, 'run_worker_id       INTEGER,',
                 'run_worker_id INTEGER, mine INTEGER AS (length(name)) VIRTUAL,') WHERE name = 'jobs'"
            ),
            "the table jobs is not as it was made",
        ),
    ] {
        let sandbox = sandbox();
        sandbox.sql().run(tampering);
        sandbox.run("doctor").exits(1).shows(said);
        sandbox.run("--db new.db restore runner.db").exits(74).says(said);
    }
    // What SQLite makes for itself is no stranger, nor what a newer version may add.
    let sandbox = sandbox();
    sandbox.sql().run("ANALYZE");
    sandbox.run("doctor").ok();
    sandbox.sql().run(
        "PRAGMA user_version = 1900; ALTER TABLE jobs ADD COLUMN mine INTEGER NOT NULL DEFAULT 5;
         ALTER TABLE outputs ADD COLUMN mine TEXT; CREATE TABLE mine (id UNIQUE);
         CREATE UNIQUE INDEX mine_too ON jobs (mine, id) WHERE id > 0",
    );
    sandbox.run("doctor").ok();
    sandbox.run("--db new.db restore runner.db").ok();
}

#[test]
fn files_that_the_owner_cannot_write_are_named() {
    let sandbox = sandbox();
    let mode = |mode| fs::set_permissions(sandbox.db(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o400);
    sandbox.run("doctor").exits(1).shows("runner.db is read-only (mode 400); chmod 600 fixes that");
    // The index of a log gets the mode that the database has when it is made.
    fs::remove_file(sandbox.path("runner.db-shm")).unwrap();
    let looks = sandbox.sql();
    looks.number("SELECT count(*) FROM jobs");
    mode(0o600);
    sandbox.run("doctor").exits(1).shows("runner.db-shm is read-only (mode 400); chmod 600 fixes that");
}

#[test]
fn jobs_of_a_dead_worker_are_found_and_one_is_not_told_as_many() {
    let sandbox = Sandbox::new("[jobs.only]\ncommand = 'exec sleep 60'\n");
    sandbox.add("only");
    let worker = sandbox.worker("");
    sandbox.until_state(1, "running");
    sandbox.run("doctor").ok().shows("1 alive");
    worker.kill();
    assert_eq!(broken(&sandbox), ["running jobs have a worker"]);
    let ran = sandbox.run("doctor").exits(1);
    ran.shows(", 1 job\n").shows("rules looked at, 1 problem\n").shows("a worker died holding 1 job;");
    sandbox
        .run("doctor --strict -q")
        .exits(1)
        .shows("verdict   the file is sound, but something else is wrong\n");
    sandbox.run("cancel 1").ok();
    sandbox.run("work --drain").ok();
    sandbox.run("doctor").ok();
    sandbox.add("only");
    sandbox.sql().run("UPDATE jobs SET attempts = 1 WHERE id = 2");
    sandbox.run("doctor").exits(1).shows("job 2 counts 1 attempt\n");
    let ran = sandbox.run("enqueue only --max-attempts 1 --backoff 1s,2s").exits(2);
    ran.says("`max_attempts = 1`, but the delays of `backoff` ask for 3 attempts");
}

#[test]
fn a_worker_whose_database_is_taken_away_ends_and_says_so() {
    let sandbox = Sandbox::new("[jobs.good]\ncommand = 'true'\n");
    sandbox.add("good");
    let mut worker = sandbox.worker("");
    sandbox.until_state(1, "succeeded");
    fs::rename(sandbox.db(), sandbox.path("elsewhere.db")).unwrap();
    wait_until("the worker notices", || worker.stderr().contains("moved or removed"));
    worker.wait().exits(74);
}

#[test]
fn a_worker_that_stops_or_is_suspended_takes_no_jobs() {
    let sandbox = Sandbox::empty();
    let mut worker = sandbox.worker("-j1");
    // Once this job has ended the worker writes nothing more: suspended while it writes, it would hold up everybody.
    let first = sandbox.add("-- true");
    sandbox.until_state(first, "succeeded");
    let told = |state: &str, what: &str| {
        wait_until(what, || sandbox.run("inspect workers").ok().stdout.contains(state));
        let waiting = sandbox.add("-- true");
        sandbox.run("doctor --strict").ok().shows(what);
        sandbox.run(&format!("inspect {waiting}")).ok().shows(what);
        sandbox.run(&format!("wait {waiting} --wait-timeout 1ms")).exits(75).says(what);
        assert_eq!(sandbox.run("inspect workers --json").ok().json()["alive"], true);
        waiting
    };
    worker.signal(Signal::STOP);
    let second = told("suspended", "the worker of queue default is suspended and starts nothing");
    worker.signal(Signal::CONT);
    sandbox.until_state(second, "succeeded");
    let line =
        "trap '' TERM; echo started >> log; until [ -e go ] || [ ! -e runner.db ]; do sleep 0.02; done";
    sandbox.add_line("", line);
    sandbox.until_logged(1);
    sandbox.run("doctor --strict -q").ok().prints("");
    worker.ask_to_stop(Signal::TERM);
    told("stopping", "the worker of queue default is stopping and starts nothing");
    sandbox.write("go", "");
    worker.wait().ok();
}

#[test]
fn a_database_that_is_not_there_is_noted() {
    let sandbox = Sandbox::empty();
    sandbox.run("doctor -q").ok().prints("");
    sandbox.run("doctor --strict -q").exits(1).shows("note").shows("runner.db");
    assert!(!sandbox.db().exists());
}

#[test]
fn a_schedule_that_cannot_start_here_is_an_alarm_of_doctor_alone() {
    let sandbox = Sandbox::new(
        "[jobs.a]\ncommand = './backup.sh -v'\nschedule = '0 2 * * *'\nafter = ['b']\n
         [jobs.b]\ncommand = 'no-such-program'\nenv_file = 'b.env'\n",
    );
    sandbox.run("apply -q").ok();
    let ran = sandbox.run("doctor --strict --json").exits(1);
    let attention = &ran.json()["attention"];
    let entry = &attention[0];
    assert_fields(entry, &json!({"kind": "cannot_start", "alarm": true, "command": null, "jobs": []}));
    let message = entry["message"].as_str().unwrap();
    assert!(message.starts_with("schedule a cannot start its jobs here: "), "{message}");
    assert!(message.contains("no such program: ./backup.sh") && message.contains("b.env"), "{message}");
    assert_eq!(attention.as_array().unwrap().len(), 1);
    assert_eq!(sandbox.run("inspect --json").ok().json()["attention"], json!([]));
    sandbox.run("doctor").ok();
    sandbox.write("b.env", "");
    sandbox.write("backup.sh", "");
    sandbox.run("doctor --strict").exits(1).shows("not executable: ./backup.sh");
    std::fs::set_permissions(sandbox.path("backup.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    sandbox.run("doctor --strict").ok();
    std::fs::remove_file(sandbox.path("backup.sh")).unwrap();
    sandbox.run("pause --schedule a").ok();
    sandbox.run("doctor --strict").ok();
}

#[test]
fn what_the_caller_may_not_enter_execute_or_read_keeps_a_schedule_from_starting() {
    if !is_root() {
        eprintln!("skipped: only root can shut another user out");
        return;
    }
    let cases = [
        ("behind", "'true'\ncwd = 'shut/in'", "no permission to enter the directory: DIR/shut/in"),
        ("shut", "'true'\ncwd = 'shut'", "no permission to enter the directory: DIR/shut"),
        (
            "argv",
            "['DIR/shut/in/program']",
            "no such program: DIR/shut/in/program: no permission to look there",
        ),
        ("line", "'shut/in/program -v'", "no such program: shut/in/program: no permission to look there"),
        ("private", "['./private']", "not executable: ./private"),
        ("folder", "['./open']", "not executable: ./open: a directory"),
        ("dangling", "['./dangling']", "no such program: ./dangling"),
        ("vars", "'true'\nenv_file = 'private'", "cannot read the env_file DIR/private: Permission denied"),
        ("fine", "['./program']\ncwd = 'open'", ""),
    ];
    let sandbox = Sandbox::empty();
    let placed = |text: &str| text.replace("DIR", &sandbox.dir().display().to_string());
    let job = |(name, keys, _): &(&str, &str, &str)| {
        format!("[jobs.{name}]\nschedule = '@daily'\ncommand = {}\n", placed(keys))
    };
    sandbox.write("jobs.toml", cases.iter().map(job).collect::<String>());
    for (file, mode) in [("shut/in/program", 0o755), ("open/program", 0o755), ("private", 0o700)] {
        sandbox.write(file, "#!/bin/sh\n");
        fs::set_permissions(sandbox.path(file), PermissionsExt::from_mode(mode)).unwrap();
    }
    fs::set_permissions(sandbox.path("shut"), PermissionsExt::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink("nowhere", sandbox.path("dangling")).unwrap();
    let program = sandbox.program_for_all();
    sandbox.own(".", NOBODY, 0o755);
    sandbox.own("jobs.toml", NOBODY, 0o644);
    let call = |line: &str| line.split(' ').fold(sandbox.program(&program).run_by(NOBODY), Call::arg).run();
    let (checked, applied) = (
        call("check")
            .says("runner: behind cannot start here: no permission to enter the directory")
            .ok()
            .stderr,
        call("apply")
            .says("runner: behind cannot start here: no permission to enter the directory")
            .ok()
            .stderr,
    );
    let looked = call("doctor --strict --json").exits(1).json();
    let alarms: Vec<&str> =
        looked["attention"].as_array().unwrap().iter().map(|it| it["message"].as_str().unwrap()).collect();
    for (name, _, fault) in cases {
        let told = placed(&format!("{name} cannot start here: {fault}"));
        let alarm = placed(&format!("schedule {name} cannot start its jobs here: {fault}"));
        let is_told = [
            checked.contains(&told),
            applied.contains(&told),
            alarms.iter().any(|message| message.starts_with(&alarm)),
        ];
        assert_eq!(is_told, [!fault.is_empty(); 3], "{told}\n{checked}\n{applied}\n{alarms:?}");
    }
}

#[test]
fn strict_names_waiting_jobs_whose_folder_is_gone() {
    let sandbox =
        Sandbox::new("[jobs.build]\ncommand = 'true'\ncwd = 'work'\n[jobs.other]\ncommand = 'true'\n");
    std::fs::create_dir(sandbox.path("work")).expect("a folder");
    for line in ["build --in 1h", "other --in 1h", "build --in 2h"] {
        sandbox.add(line);
    }
    sandbox.add("--in 1h --cwd work -- true");
    assert!(!sandbox.run("doctor --strict").ok().stdout.contains("cannot start"));
    std::fs::remove_dir(sandbox.path("work")).expect("a folder");
    let ran = sandbox.run("doctor --strict").ok();
    let ran = ran.shows("note      2 waiting jobs of build cannot start here, the newest is job 3: ");
    let ran = ran.shows("runner change 1 3 --redefine takes the present definition");
    assert_eq!(ran.stdout.matches("cannot start here").count(), 2, "{ran}");
    assert!(!sandbox.run("doctor").ok().stdout.contains("cannot start"));
    // Where the job file is gone with the folder, the file has to be named.
    std::fs::rename(sandbox.path("jobs.toml"), sandbox.path("moved.toml")).expect("it is there");
    let way = "runner change 1 3 --redefine --file PATH takes the definition in that file";
    sandbox.run("doctor --strict").ok().shows(way);
    std::fs::create_dir(sandbox.path("work")).expect("a folder");
    sandbox.run("change 1 3 --redefine --file moved.toml").ok();
}
