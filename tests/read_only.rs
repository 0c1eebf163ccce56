//! A database on a read-only file system.

use crate::disk_full::small_disk::SmallDisk;
use crate::support::Sandbox;
use crate::support::versions::VERSIONS;

const JOBS: &str =
    "[jobs.good]\ncommand = 'echo fine'\n[jobs.bad]\ncommand = 'echo no >&2; exit 3'\nmax_attempts = 1\n";

/// A disk with a job that has succeeded and one that is dead.
fn disk() -> Option<SmallDisk> {
    let disk = SmallDisk::mount(JOBS, "4m")?;
    disk.run("enqueue good bad").ok();
    disk.run("work -q --drain").exits(1);
    Some(disk)
}

#[test]
fn a_database_on_a_read_only_file_system_is_read_and_not_changed() {
    let Some(disk) = disk() else { return };
    disk.shell("mount -o remount,ro small");
    assert_eq!(disk.run("inspect --json").ok().json()["counts"]["succeeded"], 1);
    disk.run("inspect").ok().shows("EXIT_3").quietly();
    disk.run("inspect 1").ok().shows("job 1 good: succeeded");
    disk.run("inspect dead").ok().shows("bad");
    disk.run("logs 1").ok().prints("fine\n");
    disk.run("inspect 2").ok().shows("EXIT_3, attempts_exhausted");
    disk.run("doctor").ok().shows("nothing is wrong");
    assert!(!disk.run("inspect").ok().shows("is read-only: nothing can be").stdout.contains("disk full"));
    disk.run("inspect --html").ok().shows("bad");
    disk.run("inspect --openmetrics").ok().shows("runner_dead_letters{");
    for line in ["enqueue good", "cancel 1", "retry 2", "retry 2 --dry-run", "pause default"] {
        disk.run(line).exits(77).prints("").says("small");
    }
    disk.run("--db disk.db enqueue good").ok();
    disk.run("--db disk.db backup made.db").ok();
    for target in ["runner.db", "other.db", "no/folder.db"] {
        let refused = disk.run(&format!("--db small/{target} restore made.db")).exits(77).prints("");
        refused.says("its file system is read-only").says("mount it for writing").says(target);
    }
    disk.run("enqueue good").exits(77).says("runner.db cannot be changed: ").says("copy it");
    disk.run("backup copy.db").exits(77).says("runner.db cannot be changed: ").says("copy it");
    disk.run("work --drain").exits(77).prints("").says("small/runner.db.run: its file system is read-only");
    disk.shell("mount -o remount,rw small");
    disk.run("retry 2").ok();
}

#[test]
fn a_database_of_an_older_version_is_read_there_and_stays_as_it_is() {
    let Some(disk) = SmallDisk::mount(JOBS, "4m") else { return };
    let old = Sandbox::of_version(VERSIONS[0].1);
    let copy = format!("cp -p {} small/runner.db", old.db().display());
    disk.shell(&copy);
    disk.shell("sha256sum small/runner.db > sum && mount -o remount,ro small");
    disk.run("inspect").ok().quietly();
    disk.run("inspect held").ok().shows("held");
    disk.run("inspect schedules").ok();
    disk.run("logs once").ok();
    disk.run("doctor").ok().shows("version 1.0, older than this runner, which brings it up");
    disk.run("cancel held").exits(77).says("runner.db");
    disk.shell("sha256sum -c sum");
}

#[test]
fn what_only_the_log_holds_is_read_or_missed_and_said() {
    let Some(disk) = disk() else { return };
    let worker = disk.worker("-j1 --queue other");
    // The worker keeps the log, and dies without copying it into the file.
    disk.run("enqueue good").ok().prints("3\n");
    worker.kill();
    disk.shell("mount -o remount,ro small");
    disk.run("inspect 3").ok().shows("job 3 good: ready");
    disk.run("doctor").ok();
    disk.shell("mount -o remount,rw small && rm small/runner.db-shm && mount -o remount,ro small");
    for line in ["inspect", "inspect 3", "logs 1", "inspect 2", "doctor"] {
        disk.run(line).exits(74).prints("").says("runner.db-wal holds changes").says("copy both files");
    }
    disk.shell("mount -o remount,rw small");
    disk.run("inspect 3").ok().shows("job 3 good: ready");
}

#[test]
fn a_read_only_mount_shows_what_is_written_through_another_one() {
    let Some(disk) = disk() else { return };
    disk.shell("mkdir view && mount --bind small view && mount -o remount,ro,bind view");
    let seen =
        |counted: &str| disk.run("--db view/runner.db inspect --json").ok().json()["counts"][counted].clone();
    let worker = disk.worker("-j1 --queue other");
    disk.run("enqueue good").ok();
    assert_eq!((seen("ready"), seen("succeeded")), (1.into(), 1.into()));
    drop(worker);
    disk.run("work --drain").ok();
    assert_eq!((seen("ready"), seen("succeeded")), (0.into(), 2.into()));
    disk.run("--db view/runner.db enqueue good").exits(77);
}

/// No file can be opened for writing: `EROFS`. Neither `access` nor the flags of the mount say so. All calls are allowed but openat, and
/// of it those whose third argument has none of `O_WRONLY`, `O_RDWR` and `O_CREAT`.
const READ_ONLY: &str =
    "0x20 0 0 0; 0x15 0 3 CALL; 0x20 0 0 32; 0x45 0 1 0o103; 0x06 0 0 0x5001e; 0x06 0 0 0x7fff0000";

#[test]
fn a_file_system_that_says_only_at_the_open_that_it_is_read_only_can_be_read() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    let call = || {
        let call = sandbox.filtered([257, 56], READ_ONLY);
        call.arg(env!("CARGO_BIN_EXE_runner"))
    };
    assert_eq!(call().arg("inspect").arg("jobs").arg("--json").run().ok().json_lines().len(), 1);
    call().arg("enqueue").arg("--").arg("true").run().exits(77).says("cannot be changed");
    assert_eq!(sandbox.count_jobs(), 1);
}

#[test]
fn a_job_file_is_not_gone_where_there_is_no_proc() {
    let Some(disk) = SmallDisk::mount("[jobs.a]\ncommand = 'true'\nschedule = '@daily'\n", "4m") else {
        return;
    };
    disk.run("apply -q").ok();
    disk.run("doctor --strict").ok();
    disk.shell("mount -t tmpfs none /proc");
    let told = disk.run("doctor --strict");
    told.shows("jobs.toml cannot be used now");
    assert!(!disk.run("inspect").ok().stdout.contains("--none"), "it proposes to remove the schedules");
}
