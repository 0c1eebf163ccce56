//! A database that somebody else may have written is not used, because its jobs would run as the caller.
//!
//! Played with real user ids, which needs root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};

use crate::support::{Background, Call, NOBODY, Sandbox, is_root};

const VERBS: [&str; 14] = [
    "inspect",
    "inspect 1",
    "logs 1",
    "doctor",
    "enqueue -- true",
    "enqueue --dry-run -- true",
    "work --drain",
    "retry 1",
    "cancel 1",
    "pause q",
    "wait 1",
    "prune --dry-run",
    "backup copy.db",
    "restore good.db",
];

/// A sandbox with one job in `shared/runner.db` and a copy of it in `good.db`, and a program that every user may start.
fn sandbox() -> Option<(Sandbox, String)> {
    if !is_root() {
        eprintln!("skipped: only root can act as two users");
        return None;
    }
    let sandbox = Sandbox::empty();
    sandbox.own("", 0, 0o755);
    sandbox.run("--db shared/runner.db enqueue -- true").ok();
    sandbox.run("--db shared/runner.db backup good.db").ok();
    let program = sandbox.program_for_all();
    Some((sandbox, program))
}

impl Sandbox {
    /// A call on the database in the shared folder, as this user.
    fn shared(&self, program: &str, uid: u32, line: &str) -> Call {
        let call = self.program(program).env("RUNNER_DB", self.path("shared/runner.db"));
        line.split_whitespace().fold(call.run_by(uid), Call::arg)
    }
}

#[test]
fn every_verb_refuses_it_and_leaves_it_as_it_is() {
    let Some((sandbox, program)) = sandbox() else { return };
    let bytes = fs::read(sandbox.path("shared/runner.db")).unwrap();
    for (folder, file, words) in [
        ((0, 0o777), (0, 0o600), "its folder"),
        ((0, 0o1777), (0, 0o600), "and others may create files there"),
        ((NOBODY, 0o755), (0, 0o600), "belongs to user 65534, and not to you (user 0)"),
        ((0, 0o755), (NOBODY, 0o666), "it (mode 666) belongs to user 65534, and not to you (user 0)"),
        ((0, 0o755), (0, 0o602), "it (mode 602) belongs to user 0, and others may write to it"),
    ] {
        sandbox.own("shared", folder.0, folder.1);
        sandbox.own("shared/runner.db", file.0, file.1);
        for line in VERBS {
            sandbox
                .shared(&program, 0, line)
                .run()
                .exits(77)
                .prints("")
                .says(words)
                .says("/runner/runner.db");
        }
        assert!(fs::read(sandbox.path("shared/runner.db")).unwrap() == bytes);
    }
    assert!(!sandbox.path("copy.db").exists());
    // A group that shares a folder is trusted.
    sandbox.own("shared", 0, 0o2775);
    sandbox.own("shared/runner.db", 0, 0o660);
    sandbox.shared(&program, 0, "inspect 1").run().ok();
    // A user without rights is not told to become somebody.
    let ran = sandbox.shared(&program, NOBODY, "inspect 1").run().exits(77);
    assert!(!ran.stderr.contains("runuser"), "{ran}");
    // A copy that others may have written is not restored.
    sandbox.own("good.db", NOBODY, 0o644);
    sandbox.shared(&program, 0, "restore good.db").run().exits(77).says("copy it into a folder of your own");
}

#[test]
fn what_the_message_says_works_when_it_is_typed() {
    let Some((sandbox, program)) = sandbox() else { return };
    // None is made in a temporary folder either.
    fs::create_dir(sandbox.path("tmp")).unwrap();
    sandbox.own("tmp", 0, 0o1777);
    for uid in [0, NOBODY] {
        let enqueue = |db: &str| {
            let call = sandbox.program(&program).arg("--db").arg(db).arg("enqueue").arg("--").arg("true");
            call.run_by(uid).env("HOME", sandbox.path("tmp")).run()
        };
        let db = sandbox.path(&format!("tmp/{uid}.db"));
        let ran = enqueue(db.to_str().unwrap()).exits(77);
        assert!(!db.exists() && !db.with_extension("db.run").exists());
        let (_, offered) = ran.stderr.split_once("--db ").expect("an offer");
        let offered = offered.lines().next().unwrap().trim();
        enqueue(offered).ok();
        let folder = sandbox.path("tmp/runner");
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        // A folder that a neighbour made first is not used.
        sandbox.own("tmp/runner", NOBODY - 1, 0o755);
        enqueue(offered).exits(77).says("belongs to user 65533");
        fs::remove_dir_all(folder).unwrap();
    }
    // Root becomes the owner.
    for name in ["shared", "shared/runner.db.run"] {
        sandbox.own(name, NOBODY, 0o700);
    }
    sandbox.own("shared/runner.db", NOBODY, 0o600);
    let hint = sandbox.shared(&program, 0, "inspect 1").run().exits(77).stderr;
    let (_, typed) = hint.split_once("act as its owner: ").expect("a command");
    let (typed, _) = typed.split_once(" runner ...").expect("its end");
    let words: Vec<_> = typed.split(' ').collect();
    let call = words[1..].iter().fold(sandbox.program(words[0]), Call::arg);
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap());
    let db = sandbox.path("shared/runner.db");
    call.arg(&program).arg("--db").arg(db).arg("inspect").arg("1").env("PATH", path).run().ok();
}

#[test]
fn a_link_of_somebody_else_in_a_shared_folder_is_not_followed() {
    let Some((sandbox, program)) = sandbox() else { return };
    sandbox.write("own/jobs.toml", "[jobs.a]\ncommand = 'true'\n");
    fs::create_dir(sandbox.path("tmp")).unwrap();
    symlink("../own", sandbox.path("tmp/link")).unwrap();
    sandbox.own("own", 0, 0o700);
    sandbox.own("tmp", 0, 0o1777);
    let link = sandbox.path("tmp/link");
    let words = format!("the link {} belongs to user 65534", link.display());
    lchown(&link, Some(NOBODY), None).unwrap();
    let call = |line: &str| line.split_whitespace().fold(sandbox.program(&program), Call::arg);
    for line in
        ["--db tmp/link/r.db enqueue -- true", "--file tmp/link/jobs.toml check", "check tmp/link/jobs.toml"]
    {
        call(line).run().exits(77).prints("").says(&words).says("name what the link leads to, ../own");
    }
    // Nor where other files are read and written.
    sandbox.write("own/batch", "{\"command\":\"true\"}\n");
    sandbox.write("own/crontab", "0 2 * * * true\n");
    sandbox.run("enqueue -- true").ok();
    let others = [
        "enqueue --batch tmp/link/batch",
        "init --from-crontab tmp/link/crontab",
        "--file tmp/link/new.toml init",
        "--file tmp/link/new.toml init --from-crontab own/crontab",
        "backup tmp/link/copy.db",
        "restore tmp/link/copy.db",
    ];
    for line in others {
        call(line).run().exits(77).prints("").says(&words).says("name what the link leads to, ../own");
    }
    assert!(!sandbox.path("own/new.toml").exists() && !sandbox.path("own/copy.db").exists());
    assert!(!sandbox.path("jobs.toml").exists());
    let state = sandbox.path("tmp/link/state");
    call("enqueue -- true").env("RUNNER_DB", link.join("r.db")).run().exits(77).says(&words);
    call("work --drain").env_remove("RUNNER_DB").env("XDG_STATE_HOME", &state).run().exits(77).says(&words);
    call("enqueue a").env("RUNNER_FILE", link.join("jobs.toml")).run().exits(77).says(&words);
    fs::create_dir(sandbox.path("own/runner")).unwrap();
    fs::rename(sandbox.path("own/jobs.toml"), sandbox.path("own/runner/jobs.toml")).unwrap();
    call("enqueue a").env("XDG_CONFIG_HOME", &link).run().exits(77).says(&words);
    assert!(!sandbox.path("own/r.db").exists() && !sandbox.path("own/state").exists());
    // One of the caller is followed.
    lchown(&link, Some(0), None).unwrap();
    call("--db tmp/link/r.db enqueue -- true").run().ok();
    call("check tmp/link/runner/jobs.toml").run().ok();
    for line in ["enqueue --batch tmp/link/batch", "backup tmp/link/copy.db", "--file tmp/link/new.toml init"]
    {
        call(line).run().ok();
    }
    call("init --from-crontab tmp/link/crontab").run().ok();
}

#[test]
fn a_damaged_job_keeps_no_other_from_running() {
    for damage in [
        "UPDATE jobs SET name = 'a' || char(27) WHERE id = 2",
        "UPDATE jobs SET label = 'a' || char(0) WHERE id = 2",
        "UPDATE job_definitions SET definition = json_remove(definition, '$.name')
         WHERE id = (SELECT definition_id FROM jobs WHERE id = 2)",
    ] {
        let sandbox = Sandbox::empty();
        let running = sandbox.add_line("", "while [ ! -e go ]; do sleep 0.02; done");
        let damaged = sandbox.add("--in 1h --name damaged -- echo damaged");
        let mut worker = Background::worker(&sandbox, sandbox.call("work -j2 --drain"));
        sandbox.until_state(running, "running");
        let force = format!("{damage}; UPDATE jobs SET run_at = 1 WHERE id = 2");
        sandbox.sql().force(&force);
        let other = sandbox.add("-- true");
        sandbox.until_state(other, "succeeded");
        sandbox.write("go", "");
        let left = format!("job {damaged} cannot be read and is left alone: ");
        let ended = worker.wait().exits(74).says(&left).says("runner doctor says more");
        assert_eq!(ended.stderr.matches("cannot be read and is left alone").count(), 1, "{ended}");
        assert_eq!(sandbox.job(running)["state"], "succeeded", "{damage}");
        assert_eq!(sandbox.sql().text("SELECT state FROM jobs WHERE id = 2"), "pending");
    }
}

const ONE_JOB_WITH_ALERT: &str = r#"
[jobs]
good.command = "true"
alert.command = "true"

[jobs.damaged]
command = "false"
retryable = true
max_attempts = 2
backoff = "1h"
on_dead = "alert"
"#;

#[test]
fn a_damaged_job_that_has_expired_keeps_no_other_from_running() {
    for damage in [
        "UPDATE jobs SET name = 'a' || char(27) WHERE id = 2",
        "UPDATE jobs SET label = 'a' || char(0) WHERE id = 2",
        "UPDATE jobs SET definition_id = 99 WHERE id = 2",
        // What the alert of its death is told is read after its expiry has been written.
        "UPDATE attempts SET message = CAST(x'ff' AS TEXT) WHERE job_id = 2",
    ] {
        let sandbox = Sandbox::new(ONE_JOB_WITH_ALERT);
        let good = sandbox.add("--in 1h --expires-in 2h good");
        let damaged = sandbox.add("--expires-in 2h damaged");
        sandbox.run("work --max-jobs 1").ok();
        sandbox.sql().force(&format!("UPDATE jobs SET run_at = 1, expires_at = 2; {damage}"));
        let other = sandbox.add("-- true");
        let left = format!("job {damaged} cannot be read and is left alone: ");
        let ended = sandbox.run("work --drain").exits(1).says(&left);
        assert_eq!(ended.stderr.matches("is left alone").count(), 1, "{ended}");
        assert_eq!(sandbox.job(other)["state"], "succeeded", "{damage}");
        assert_eq!(sandbox.job(good)["error_code"], "EXPIRED");
        assert_eq!(sandbox.sql().text("SELECT state FROM jobs WHERE id = 2"), "pending", "{damage}");
        sandbox.run("run -q -- true").ok();
        assert_eq!(sandbox.run("doctor").status(), Some(1), "{damage}");
    }
}

#[test]
fn what_runs_ends_before_a_worker_gives_up_on_a_damaged_database() {
    for damage in [
        "INSERT INTO queues (name) VALUES (char(27))",
        "INSERT INTO schedules (name, chain, schedule, missed, file, applied_at, next_at)
         VALUES (char(27), '{}', 'every 1h', 'once', '/jobs.toml', 1, 1)",
    ] {
        let sandbox = Sandbox::empty();
        let running = sandbox.add_line("", "while [ ! -e go ]; do sleep 0.02; done");
        sandbox.add("--in 1h -- true");
        let mut worker = sandbox.worker("-j2");
        sandbox.until_state(running, "running");
        sandbox.sql().force(damage);
        sandbox.run("enqueue -- true");
        worker.until_it_says("nothing more is started, and this worker ends when what it runs has ended");
        sandbox.write("go", "");
        worker.wait().exits(74).says("makes no sense");
        assert_eq!(sandbox.sql().text("SELECT state FROM jobs WHERE id = 1"), "succeeded", "{damage}");
    }
}

#[test]
fn root_makes_nothing_in_the_home_of_another_user() {
    let Some((sandbox, program)) = sandbox() else { return };
    fs::create_dir_all(sandbox.path("home/.local")).unwrap();
    for owned in ["home", "home/.local"] {
        sandbox.own(owned, NOBODY, 0o755);
    }
    let call = |line: &str| {
        let call = sandbox.program(&program).env_remove("RUNNER_DB").env("HOME", sandbox.path("home"));
        line.split_whitespace().fold(call, Call::arg).run()
    };
    for line in ["enqueue -- true", "run -- true", "work --until-idle"] {
        call(line).exits(77).says("home/.local (mode 755) belongs to user 65534, and not to you (user 0)");
        assert!(fs::read_dir(sandbox.path("home/.local")).unwrap().next().is_none(), "{line}");
    }
    call("inspect").exits(0);
    // A folder that is root's own is used, wherever it lies.
    fs::create_dir(sandbox.path("home/.local/state")).unwrap();
    call("enqueue -- true").ok();
}
