//! The database file: where it lies, who may read it, and what is refused untouched.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use crate::support::{Call, Finished, NOBODY, Sandbox, Sql, is_root, json};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

/// No verb may use the file, and none may change it.
#[track_caller]
fn refused(sandbox: &Sandbox, status: i32) {
    let before = fs::read(sandbox.db()).expect("the file");
    let looks = ["inspect --json", "inspect 1", "logs 1"];
    for line in ["enqueue -- true", "work --drain", "cancel 1", "retry 1", "pause q"].iter().chain(&looks) {
        let ran = sandbox.run(line).exits(status).prints("");
        let ran = ran.says(&sandbox.db().display().to_string());
        assert!(fs::read(sandbox.db()).expect("the file") == before, "the file was changed by {ran}");
    }
}

#[test]
fn only_its_owner_may_read_it() {
    let sandbox = Sandbox::empty();
    let call = sandbox.program("sh").arg("-c").arg("umask 0; exec \"$0\" --db new/deep/r.db enqueue -- true");
    call.arg(env!("CARGO_BIN_EXE_runner")).run().ok();
    assert_eq!(mode(&sandbox.path("new/deep")), 0o700);
    assert_eq!(mode(&sandbox.path("new/deep/r.db")), 0o600);
    assert_eq!(mode(&sandbox.path("new/deep/r.db.run")), 0o700);
}

#[test]
fn the_umask_of_the_caller_takes_no_rights_from_its_owner() {
    let sandbox = Sandbox::new("");
    let runner = env!("CARGO_BIN_EXE_runner");
    let line = format!("umask 0777; {runner} --db new/folder/runner.db enqueue -- true");
    let made = std::process::Command::new("sh").args(["-c", &line]).current_dir(sandbox.dir()).output();
    assert!(made.unwrap().status.success());
    for folder in ["new", "new/folder", "new/folder/runner.db.run"] {
        assert_eq!(mode(&sandbox.path(folder)), 0o700, "{folder}");
    }
    for entry in std::fs::read_dir(sandbox.path("new/folder")).unwrap() {
        let path = entry.unwrap().path();
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), wanted, "{}", path.display());
    }
}

#[test]
fn the_file_says_which_program_it_belongs_to() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    let sql = sandbox.sql();
    assert_eq!(sql.number("PRAGMA application_id"), 0x7275_6e6a);
    assert_eq!(sql.number("PRAGMA user_version"), 1_002);
    assert_eq!(
        sql.number(
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('jobs', 'attempts') AND type = 'table'"
        ),
        2
    );
}

/// A database of two jobs whose log holds the second one, as after a `kill -9`, and its file.
fn with_log() -> (Sandbox, Vec<u8>) {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.run("backup copy.db").ok();
    let open = sandbox.sql();
    assert_eq!(open.number("SELECT count(*) FROM jobs"), 1);
    sandbox.add("-- true");
    let log = fs::read(sandbox.path("runner.db-wal")).expect("a log");
    drop(open);
    sandbox.write("runner.db-wal", &log);
    (sandbox, log)
}

#[test]
fn a_log_without_its_file_is_damage_and_stays() {
    for is_gone in [false, true] {
        let (sandbox, log) = with_log();
        let what = if is_gone { "it is gone" } else { "it is empty" };
        if is_gone {
            fs::remove_file(sandbox.db()).unwrap();
        } else {
            sandbox.write("runner.db", "");
        }
        for line in [
            "doctor",
            "inspect",
            "inspect 1",
            "enqueue -- true",
            "work --drain",
            "run -- true",
            "backup b.db",
        ] {
            sandbox.run(line).exits(74).prints("").says(what).says("runner.db-wal holds data of it");
            assert!(fs::read(sandbox.path("runner.db-wal")).unwrap() == log, "{line}");
            assert_eq!(sandbox.db().exists(), !is_gone, "{line}");
        }
        let kept = sandbox.path("runner.db.replaced-1-wal");
        let restored = sandbox.run("restore copy.db").says("so ids above 2 may be given out again").ok();
        assert!(restored.stdout.contains(&format!("is kept: {}", kept.display())), "{restored}");
        assert!(fs::read(kept).unwrap() == log);
        assert_eq!(sandbox.count_jobs(), 1);
        sandbox.run("doctor").ok().shows("nothing is wrong");
        assert_eq!(sandbox.add("-- true"), 3, "the log has given out 2");
        assert!(!sandbox.path("runner.db.run/old.db").exists());
    }
}

#[test]
fn a_log_of_another_database_spoils_no_copy() {
    let (sandbox, log) = with_log();
    for _ in 0..40 {
        sandbox.run("--db other.db enqueue -- true").ok();
    }
    sandbox.run("--db other.db backup other-copy.db").ok();
    fs::remove_file(sandbox.db()).unwrap();
    let mut torn = log.clone();
    torn.truncate(log.len() - 100);
    let mut wrong = log;
    wrong[60] ^= 1;
    for log in [torn, wrong] {
        sandbox.write("runner.db-wal", &log);
        sandbox.run("restore other-copy.db").says("may be given out again").ok();
        sandbox.run("doctor").ok().shows("nothing is wrong");
        assert_eq!(sandbox.add("-- true"), 41);
        fs::remove_file(sandbox.db()).unwrap();
    }
}

#[test]
fn a_log_that_holds_nothing_is_none() {
    let (sandbox, log) = with_log();
    let mut stale = log.clone();
    stale[40] ^= 1;
    for log in [&[][..], b"x", &log[..32], &log[..4000], &[0; 9000], &stale] {
        for suffix in ["", "-shm"] {
            let _ = fs::remove_file(sandbox.path(&format!("runner.db{suffix}")));
        }
        sandbox.write("runner.db-wal", log);
        sandbox.run("inspect").ok();
        assert_eq!(sandbox.add("-- true"), 1, "{} bytes", log.len());
    }
}

#[test]
fn an_empty_file_counts_as_missing() {
    let sandbox = Sandbox::empty();
    sandbox.write("runner.db", "");
    sandbox.run("inspect").ok();
    sandbox.run("inspect 1").exits(66);
    sandbox.run("enqueue -- true").ok().prints("1\n");
    sandbox.run("work --drain").ok();
    assert_eq!(mode(&sandbox.db()) & 0o077, 0);
}

#[test]
fn files_of_others_and_damaged_or_newer_ones_are_refused_untouched() {
    let sandbox = Sandbox::empty();
    for text in ["Dear reader,\n".repeat(100), "x".to_owned()] {
        sandbox.write("runner.db", text);
        refused(&sandbox, 74);
    }
    fs::remove_file(sandbox.db()).expect("it goes");
    sandbox.sql().run("CREATE TABLE jobs (id INTEGER PRIMARY KEY)");
    refused(&sandbox, 74);
    sandbox.sql().run("PRAGMA application_id = 77");
    refused(&sandbox, 74);
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    let mut whole = fs::read(sandbox.db()).expect("the file");
    for length in [whole.len() / 2, 4_096, 200, 50] {
        sandbox.write("runner.db", &whole[..length]);
        refused(&sandbox, 74);
    }
    sandbox.write("runner.db", &whole);
    for other_major in [1, 999, 2_000, 3_007] {
        sandbox.sql().run(&format!("PRAGMA user_version = {other_major}"));
        refused(&sandbox, 76);
    }
    sandbox.sql().run("PRAGMA user_version = 0");
    refused(&sandbox, 74);
    // The header stays; every page behind it is overwritten.
    whole[100..].fill(0xa5);
    sandbox.write("runner.db", &whole);
    refused(&sandbox, 74);
}

#[test]
fn a_second_name_is_refused() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    fs::hard_link(sandbox.db(), sandbox.path("second.db")).expect("a link");
    refused(&sandbox, 74);
    sandbox.run("--db second.db inspect").exits(74);
    fs::remove_file(sandbox.path("second.db")).expect("it goes");
    sandbox.run("inspect 1").ok();
}

#[test]
fn a_folder_is_refused() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.run("--db var/jobs/ enqueue -- true").exits(74);
    ran.says("var/jobs/: its path ends with a slash");
    assert!(!sandbox.path("var").exists());
    fs::create_dir(sandbox.db()).expect("a folder");
    for line in ["inspect", "enqueue -- true", "work --drain"] {
        sandbox.run(line).exits(74);
    }
}

#[test]
fn a_symbolic_link_is_followed() {
    let sandbox = Sandbox::empty();
    symlink("real.db", sandbox.path("link.db")).expect("a link");
    sandbox.run("--db link.db enqueue -- true").ok().prints("1\n");
    sandbox.run("--db real.db enqueue -- true").ok().prints("2\n");
    sandbox.run("--db link.db work --drain").ok();
    assert!(!sandbox.path("link.db.run").exists(), "what lies beside it goes by the canonical path");
    let overview = sandbox.run("--db link.db inspect --json").ok().json();
    assert_eq!(overview["db"], json!(sandbox.path("real.db")));
    assert_eq!(overview["counts"]["succeeded"], 2);
}

#[test]
fn eight_at_once_create_one_file() {
    let sandbox = Sandbox::empty();
    let calls = [0; 8].map(|_| sandbox.call("enqueue -- true").spawn(Stdio::piped(), Stdio::piped()));
    let mut ids: Vec<u64> = Vec::new();
    for call in calls {
        let output = call.wait_with_output().expect("a child");
        assert!(output.status.success(), "{output:?}");
        ids.extend(
            String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.parse::<u64>().ok()),
        );
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=8).collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_beside_it_by_a_worker_that_has_ended() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    sandbox.run("work --drain").ok();
    let names: Vec<_> = fs::read_dir(sandbox.path("runner.db.run"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "create.lock")
        .collect();
    assert_eq!(names, [""; 0]);
    assert_eq!(Sql::open(&sandbox.db()).text("PRAGMA integrity_check"), "ok");
}

#[test]
fn a_run_directory_is_made_private_and_a_planted_one_refused() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'true'\n");
    let run_dir = sandbox.path("runner.db.run");
    fs::create_dir(&run_dir).unwrap();
    fs::set_permissions(&run_dir, fs::Permissions::from_mode(0o777)).unwrap();
    sandbox.add("job");
    sandbox.run("work --drain").ok();
    assert_eq!(fs::metadata(&run_dir).unwrap().permissions().mode() & 0o777, 0o700);
    fs::rename(&run_dir, sandbox.path("elsewhere")).unwrap();
    symlink("elsewhere", &run_dir).unwrap();
    sandbox.run("work --drain").exits(77).says("a link");
}

#[test]
fn a_database_that_may_only_be_read_is_read_and_named_where_it_would_be_changed() {
    let sandbox = Sandbox::empty();
    sandbox.run("enqueue -- true").ok();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = sandbox.path("");
    // The superuser may write everywhere, so that another user has to look; who may not come near this package.
    let program = sandbox.program_for_all();
    if is_root() {
        sandbox.own("runner.db.run", NOBODY, 0o700);
    }
    let look = |line: &str| {
        let call = sandbox.program(&program);
        let call = if is_root() { call.run_by(NOBODY) } else { call };
        line.split(' ').fold(call, Call::arg).run()
    };
    for (of_file, of_folder) in [(0o444, 0o555), (0o644, 0o555)] {
        if is_root() {
            sandbox.own("runner.db", NOBODY, of_file);
        }
        mode(&sandbox.db(), of_file);
        mode(&folder, of_folder);
        let name = sandbox.db();
        for line in ["inspect", "inspect 1"] {
            look(line).ok().shows("ready").quietly();
        }
        look("logs 1").exits(66).says("job 1 has not been started yet");
        look("doctor").exits(1).shows("rules looked at, ").shows("chmod 600 fixes that");
        for line in ["cancel 1", "enqueue -- true", "change 1 --now"] {
            look(line).exits(77).prints("").says(name.to_str().unwrap()).says("to a directory of your own");
        }
        mode(&folder, 0o755);
    }
    if is_root() {
        sandbox.own("runner.db", 0, 0o600);
        sandbox.own("runner.db.run", 0, 0o700);
    }
    mode(&sandbox.db(), 0o600);
    sandbox.run("inspect 1").ok();
}

#[test]
fn a_schema_that_lacks_a_column_is_damage() {
    let sandbox = Sandbox::empty();
    sandbox.run("enqueue -- true").ok();
    sandbox.sql().run(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'start_ticks', 'begin_ticks') WHERE name = 'workers'",
    );
    sandbox.run("doctor").exits(1).shows("the table workers is not as it was made");
    for line in ["inspect", "inspect --json"] {
        sandbox.run(line).exits(74).says("is damaged: its schema is not ours: no such column: start_ticks");
    }
    sandbox.run("work --drain").exits(74).says("start_ticks");
}

#[test]
fn a_command_for_a_database_that_db_named_acts_on_that_one() {
    let sandbox = Sandbox::empty();
    fs::create_dir(sandbox.path("it's here")).expect("a folder");
    let call = |line: &str| {
        let call = sandbox.program(env!("CARGO_BIN_EXE_runner")).arg("--db").arg("it's here/my.db");
        line.split(' ').fold(call, Call::arg).run()
    };
    call("enqueue -- false").ok();
    call("work --drain -q").exits(1);
    let list = call("inspect --json").ok().json()["attention"].clone();
    let command = list[0]["command"].as_str().expect("a command");
    assert!(command.starts_with("runner retry --db '/"), "{command}");
    call("doctor --strict").exits(1).shows(command);
    sandbox.program("sh").with_runner_on_path().arg("-c").arg(command).run().ok();
    assert_eq!(call("inspect 1 --json").ok().json()["state"], "pending");
}

/// Runs lines of a shell in a mount namespace of their own. None, and loud words, where nobody may mount anything.
fn with_mounts(sandbox: &Sandbox, lines: &str) -> Option<Finished> {
    let call = |lines: &str| {
        let own_user: &[&str] = if is_root() { &[] } else { &["--user", "--map-root-user"] };
        let call = own_user.iter().fold(sandbox.program("unshare"), Call::arg);
        let call = call.arg("--mount").arg("sh").arg("-ec").arg(lines);
        call.arg(env!("CARGO_BIN_EXE_runner")).run()
    };
    if !call("mkdir -p probe && mount -t tmpfs none probe").ended_well() {
        let _ = writeln!(std::io::stderr(), "NOT TESTED, for nothing can be mounted here");
        return None;
    }
    Some(call(lines))
}

#[test]
fn a_file_that_is_a_mount_of_its_own_is_refused_and_a_mounted_folder_is_not() {
    let sandbox = Sandbox::empty();
    sandbox.run("--db home/runner.db enqueue -- true").ok();
    sandbox.write("empty", "");
    let lines = "
        mkdir one both; touch one/runner.db one/empty.db
        mount --bind home/runner.db one/runner.db; mount --bind empty one/empty.db; mount --bind home both
        for db in one/runner.db one/empty.db; do
            for verb in 'enqueue -- true' inspect 'work --drain' doctor 'cancel 1'; do
                \"$0\" --db $db $verb >> out 2>> err && exit 3 || echo $? >> statuses
            done
        done
        [ ! -e one/runner.db-wal ]
        \"$0\" --db both/runner.db enqueue -- true
        \"$0\" --db home/runner.db work --drain -q
        \"$0\" --db both/runner.db inspect 2 --json";
    let Some(ran) = with_mounts(&sandbox, lines) else { return };
    let ran = ran.ok();
    let (id, job) = ran.stdout.split_once('\n').expect("two lines");
    assert_eq!((id, job.contains("\"state\":\"succeeded\"")), ("2", true), "{ran}");
    assert_eq!(sandbox.read("statuses"), "74\n".repeat(10));
    assert_eq!(sandbox.read("out"), "");
    let said = sandbox.read("err");
    assert_eq!(said.matches("is mounted as a single file").count(), 10, "{said}");
    assert_eq!(said.matches("mount the folder").count(), 10, "{said}");
}

#[test]
fn doctor_notes_a_file_system_that_a_reboot_empties() {
    let sandbox = Sandbox::empty();
    let lines = "
        disk=$(mktemp -d \"$DISK/runner.XXXXXX\")
        mkdir tmpfs ramfs; mount -t tmpfs none tmpfs; mount -t ramfs none ramfs; chmod 700 tmpfs ramfs
        for folder in tmpfs ramfs \"$disk\"; do
            \"$0\" --db $folder/r.db enqueue -q -- true > $folder/id
            \"$0\" --db $folder/r.db doctor > report || exit 3
            echo $(stat -f -c %T $folder) $(grep -o '[a-z]*, which a reboot empties' report) >> said
        done
        rm -r \"$disk\"";
    let lines = format!("DISK={}{lines}", env!("CARGO_TARGET_TMPDIR"));
    let Some(ran) = with_mounts(&sandbox, &lines) else { return };
    ran.ok();
    let said = sandbox.read("said");
    let said: Vec<&str> = said.lines().collect();
    let told = ["tmpfs tmpfs, which a reboot empties", "ramfs ramfs, which a reboot empties"];
    assert_eq!(said[..2], told);
    assert!(told.contains(&said[2]) || !said[2].contains("empties"), "{said:?}");
}

/// Fails each call of the number with EPERM, EACCES or ENOSPC, as a file system does that knows no such files, or for other reasons.
const REFUSED: &str = "0x20 0 0 0; 0x15 0 1 CALL; 0x06 0 0 0x50001; 0x06 0 0 0x7fff0000";
const FORBIDDEN: &str = "0x20 0 0 0; 0x15 0 1 CALL; 0x06 0 0 0x5000d; 0x06 0 0 0x7fff0000";
const WITHOUT_ROOM: &str = "0x20 0 0 0; 0x15 0 1 CALL; 0x06 0 0 0x5001c; 0x06 0 0 0x7fff0000";
/// The same with ENODEV for mappings that are shared.
const UNMAPPED: &str =
    "0x20 0 0 0; 0x15 0 3 CALL; 0x20 0 0 40; 0x15 0 1 1; 0x06 0 0 0x50013; 0x06 0 0 0x7fff0000";

const SOCKET: [u32; 2] = [41, 198];
const BIND: [u32; 2] = [49, 200];
const MMAP: [u32; 2] = [9, 222];

/// The program on a kernel on which these calls fail.
fn filtered(sandbox: &Sandbox, call: [u32; 2], steps: &str, line: &str) -> Finished {
    let call = sandbox.filtered(call, steps).arg(env!("CARGO_BIN_EXE_runner"));
    line.split_whitespace().fold(call, Call::arg).run()
}

#[test]
fn a_folder_without_sockets_or_shared_mappings_is_refused_and_stays_empty() {
    // sshfs 3.7.3 has no sockets; mergerfs 2.33.5 with `direct_io` has no shared mappings; rclone 1.60.1 has neither.
    for (call, steps, why) in [(BIND, REFUSED, "no socket can be made"), (MMAP, UNMAPPED, "into memory")] {
        let sandbox = Sandbox::empty();
        for line in ["enqueue -- true", "run -- true", "work --until-idle", "apply", "restore copy.db"] {
            sandbox.write("jobs.toml", "[jobs.a]\ncommand = \"true\"\nschedule = \"@daily\"\n");
            if line.starts_with("restore") {
                if call == MMAP {
                    continue; // the copy cannot be read either
                }
                sandbox.add("-- true");
                sandbox.run("backup copy.db").ok();
            }
            let ran = filtered(&sandbox, call, steps, &format!("--db new/r.db {line}")).exits(74).prints("");
            ran.says(why).says("a local disk").says(&sandbox.path("new/r.db").display().to_string());
            assert_eq!(fs::read_dir(sandbox.path("new")).unwrap().count(), 0, "{line}");
        }
    }
}

#[test]
fn a_caller_who_may_have_no_sockets_makes_a_database_all_the_same() {
    for (call, steps) in [(SOCKET, REFUSED), (SOCKET, FORBIDDEN), (BIND, FORBIDDEN), (BIND, WITHOUT_ROOM)] {
        let sandbox = Sandbox::empty();
        filtered(&sandbox, call, steps, "enqueue -- true").ok();
        assert_eq!(sandbox.count_jobs(), 1);
    }
}

#[test]
fn where_the_index_of_the_log_cannot_be_mapped_the_file_system_is_named() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    let before = fs::read(sandbox.db()).unwrap();
    for line in ["inspect", "doctor", "enqueue -- true"] {
        filtered(&sandbox, MMAP, UNMAPPED, line).exits(74).says("would lie on ").says("into memory");
        assert!(fs::read(sandbox.db()).unwrap() == before, "{line}");
    }
    sandbox.run("work --until-idle").ok();
}

#[test]
fn whoever_creates_it_names_it() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\nschedule = '@daily'\n");
    sandbox.run("--db good.db enqueue -- true").ok();
    for line in ["enqueue a", "work --until-idle", "apply", "restore good.db"] {
        let path = sandbox.path("new/runner.db");
        let words = format!("created the database {}", path.display());
        let call = |options: &str| sandbox.run(&format!("--db new/runner.db {options} {line}"));
        call("").says(&words).ok();
        assert!(!call("").stderr.contains("created"));
        fs::remove_dir_all(sandbox.path("new")).expect("it was made");
        let quiet = call("-q").ok();
        assert!(!quiet.stderr.contains("created"), "{quiet}");
        fs::remove_dir_all(sandbox.path("new")).expect("it was made");
    }
}

#[test]
fn root_who_acts_for_somebody_is_told_of_the_database_of_that_user() {
    if !is_root() {
        eprintln!("skipped: only root can act for somebody");
        return;
    }
    let sandbox = Sandbox::empty();
    let home = sandbox.path("home").display().to_string();
    sandbox.write("passwd", format!("root:x:0:0::/root:/bin/sh\nme:x:1234:1234::{home}:/bin/sh\n"));
    sandbox.write("home/.local/state/runner/runner.db", "some");
    let lines = "
        mount --bind passwd /etc/passwd; unset RUNNER_DB; export HOME=$PWD/root
        SUDO_UID=1234 \"$0\" enqueue -- true
        SUDO_UID=1234 \"$0\" enqueue -- true
        SUDO_UID=1234 \"$0\" --db explicit/r.db enqueue -q -- true
        SUDO_UID=4321 \"$0\" --db other/r.db enqueue -- true";
    let Some(ran) = with_mounts(&sandbox, lines) else { return };
    let ran =
        ran.says(&format!("me, who called sudo, has a database, {home}/.local/state/runner/runner.db")).ok();
    assert!(ran.stderr.contains("runuser -u me -- runner ...") || ran.stderr.contains("setpriv"), "{ran}");
    assert_eq!(ran.stderr.matches("who called sudo").count(), 1, "{ran}");
    assert_eq!(ran.stderr.matches("created the database").count(), 2, "{ran}");
}

#[test]
fn verbs_that_write_say_how_a_file_that_others_may_read_is_closed() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\n");
    sandbox.add("a");
    let worker = sandbox.worker("-j1 --queue other");
    let open = |name: &str, mode| {
        fs::set_permissions(sandbox.path(name), PermissionsExt::from_mode(mode)).expect("it is ours");
    };
    let verbs = [
        "enqueue a",
        "work --until-idle",
        "cancel 1",
        "pause q",
        "resume q",
        "prune --older-than 1h",
        "wait 1",
    ];
    for name in ["runner.db", "runner.db-wal", "runner.db-shm"] {
        open(name, 0o644);
    }
    // Nobody else gets into the folder.
    open("", 0o700);
    assert!(!sandbox.run("enqueue a").ok().stderr.contains("chmod"));
    open("", 0o755);
    let path = sandbox.db().display().to_string();
    let words = format!("to close it: chmod -f o-r {path} {path}-wal {path}-shm");
    for line in verbs {
        let ran = sandbox.run(line);
        assert_eq!(ran.stderr.matches(&words).count(), 1, "{ran}");
        let quiet = sandbox.run(&format!("-q {line}"));
        assert!(!quiet.stderr.contains("chmod"), "{quiet}");
    }
    for line in ["inspect", "logs 1", "doctor"] {
        assert!(!sandbox.run(line).stderr.contains("chmod"));
    }
    let (_, typed) = words.split_once(": ").expect("a command");
    sandbox.program("sh").arg("-c").arg(typed).run().ok();
    assert!(!sandbox.run("enqueue a").ok().stderr.contains("chmod"));
    drop(worker);
}
