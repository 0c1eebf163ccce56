//! The database file: where it lies, who may read it, and what is refused untouched.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::{Bed, Call, Sql, json};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

/// No verb may use the file, and none may change it.
#[track_caller]
fn refused(bed: &Bed, status: i32) {
    let before = fs::read(bed.db()).expect("the file");
    for line in ["enqueue -- true", "work --drain", "inspect --json", "inspect 1", "cancel 1", "pause q"] {
        let ran = bed.run(line).exits(status).prints("");
        let ran = ran.says(&bed.db().display().to_string());
        assert!(fs::read(bed.db()).expect("the file") == before, "the file was changed by {ran}");
    }
}

#[test]
fn only_its_owner_may_read_it() {
    let bed = Bed::bare();
    let call = bed.program("sh").arg("-c").arg("umask 0; exec \"$0\" --db new/deep/r.db enqueue -- true");
    call.arg(env!("CARGO_BIN_EXE_runner")).run().ok();
    assert_eq!(mode(&bed.path("new/deep")), 0o700);
    assert_eq!(mode(&bed.path("new/deep/r.db")), 0o600);
    assert_eq!(mode(&bed.path("new/deep/r.db.run")), 0o700);
}

#[test]
fn it_says_whose_it_is() {
    let bed = Bed::bare();
    bed.add("-- true");
    let sql = bed.sql();
    assert_eq!(sql.number("PRAGMA application_id"), 0x7275_6e6a);
    assert_eq!(sql.number("PRAGMA user_version"), 1);
    assert_eq!(
        sql.number(
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('jobs', 'attempts') AND type = 'table'"
        ),
        2
    );
}

#[test]
fn an_empty_file_counts_as_missing() {
    let bed = Bed::bare();
    bed.write("runner.db", "");
    bed.run("inspect").ok();
    bed.run("inspect 1").exits(66);
    bed.run("enqueue -- true").ok().prints("1\n");
    bed.run("work --drain").ok();
    assert_eq!(mode(&bed.db()) & 0o077, 0);
}

#[test]
fn a_file_that_is_not_sqlite_is_refused() {
    let bed = Bed::bare();
    bed.write("runner.db", "Dear reader,\n".repeat(100));
    refused(&bed, 74);
    bed.write("runner.db", "x");
    refused(&bed, 74);
}

#[test]
fn a_database_of_another_program_is_refused() {
    let bed = Bed::bare();
    bed.sql().run("CREATE TABLE jobs (id INTEGER PRIMARY KEY)");
    refused(&bed, 74);
    bed.sql().run("PRAGMA application_id = 77");
    refused(&bed, 74);
}

#[test]
fn a_truncated_file_is_refused() {
    let bed = Bed::bare();
    bed.add("-- true");
    let whole = fs::read(bed.db()).expect("the file");
    for length in [whole.len() / 2, 4_096, 200, 50] {
        bed.write("runner.db", &whole[..length]);
        refused(&bed, 74);
    }
}

#[test]
fn a_file_whose_pages_are_garbage_is_refused() {
    let bed = Bed::bare();
    bed.add("-- true");
    let mut bytes = fs::read(bed.db()).expect("the file");
    // The header stays; every page behind it is overwritten.
    for byte in &mut bytes[100..] {
        *byte = 0xa5;
    }
    bed.write("runner.db", &bytes);
    refused(&bed, 74);
}

#[test]
fn a_database_from_a_newer_runner_is_refused() {
    let bed = Bed::bare();
    bed.add("-- true");
    bed.sql().run("PRAGMA user_version = 2");
    refused(&bed, 76);
}

#[test]
fn a_second_name_is_refused() {
    let bed = Bed::bare();
    bed.add("-- true");
    fs::hard_link(bed.db(), bed.path("second.db")).expect("a link");
    refused(&bed, 74);
    bed.run("--db second.db inspect").exits(74);
    fs::remove_file(bed.path("second.db")).expect("it goes");
    bed.run("inspect 1").ok();
}

#[test]
fn a_path_that_ends_as_a_folder_does_is_refused() {
    let bed = Bed::bare();
    let ran = bed.run("--db var/jobs/ enqueue -- true").exits(74);
    assert!(ran.stderr.contains("var/jobs/: its path ends with a slash"), "{}", ran.stderr);
    assert!(!bed.path("var").exists());
}

#[test]
fn a_folder_is_refused() {
    let bed = Bed::bare();
    fs::create_dir(bed.db()).expect("a folder");
    for line in ["inspect", "enqueue -- true", "work --drain"] {
        bed.run(line).exits(74);
    }
}

#[test]
fn a_symbolic_link_is_followed() {
    let bed = Bed::bare();
    symlink("real.db", bed.path("link.db")).expect("a link");
    bed.run("--db link.db enqueue -- true").ok().prints("1\n");
    bed.run("--db real.db enqueue -- true").ok().prints("2\n");
    bed.run("--db link.db work --drain").ok();
    assert!(!bed.path("link.db.run").exists(), "what lies beside it goes by the canonical path");
    let overview = bed.run("--db link.db inspect --json").ok().json();
    assert_eq!(overview["db"], json!(bed.path("real.db")));
    assert_eq!(overview["counts"]["succeeded"], 2);
}

#[test]
fn eight_at_once_create_one_file() {
    let bed = Bed::bare();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            bed.call("enqueue -- true").spawn(std::process::Stdio::piped(), std::process::Stdio::piped())
        })
        .collect();
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
    let bed = Bed::bare();
    bed.add("-- true");
    bed.run("work --drain").ok();
    let names: Vec<_> = fs::read_dir(bed.path("runner.db.run"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "create.lock")
        .collect();
    assert_eq!(names, [""; 0]);
    assert_eq!(Sql::open(&bed.db()).text("PRAGMA integrity_check"), "ok");
}

#[test]
fn a_run_directory_is_made_private_and_a_planted_one_refused() {
    let bed = Bed::new("[jobs.job]\ncommand = 'true'\n");
    let run_dir = bed.path("runner.db.run");
    fs::create_dir(&run_dir).unwrap();
    fs::set_permissions(&run_dir, fs::Permissions::from_mode(0o777)).unwrap();
    bed.add("job");
    bed.run("work --drain").ok();
    assert_eq!(fs::metadata(&run_dir).unwrap().permissions().mode() & 0o777, 0o700);
    fs::rename(&run_dir, bed.path("elsewhere")).unwrap();
    symlink("elsewhere", &run_dir).unwrap();
    bed.run("work --drain").exits(77).says("a link");
}

#[test]
fn a_database_that_may_only_be_read_is_named_with_what_to_do() {
    let bed = Bed::bare();
    bed.run("enqueue -- true").ok();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = bed.path("");
    // The superuser may write everywhere, so that another user has to look; who may not come near this package.
    let program = bed.path("runner");
    fs::copy(env!("CARGO_BIN_EXE_runner"), &program).unwrap();
    let look = |line: &str| {
        let call = if rustix::process::geteuid().is_root() {
            let drop = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
            drop.iter().fold(bed.program("setpriv"), Call::arg).arg(&program)
        } else {
            bed.program(program.to_str().unwrap())
        };
        line.split(' ').fold(call, Call::arg).run()
    };
    for (of_file, of_folder) in [(0o444, 0o555), (0o644, 0o555)] {
        mode(&bed.db(), of_file);
        mode(&folder, of_folder);
        let name = bed.db();
        for line in ["inspect", "inspect 1", "logs 1", "doctor", "explain 1", "cancel 1", "enqueue -- true"] {
            look(line).exits(77).prints("").says(name.to_str().unwrap()).says("to a directory of your own");
        }
        mode(&folder, 0o755);
    }
    mode(&bed.db(), 0o600);
    bed.run("inspect 1").ok();
}
