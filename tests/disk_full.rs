//! A full disk: a small file system of its own, in a mount namespace that goes with the test.

pub mod small_disk;

use small_disk::SmallDisk;

use std::io::Write;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::support::{Background, Sandbox, Signal, json, wait_until};

/// Jobs whose results do not fit into what the log has reserved already.
const JOBS: &str = r#"
[jobs.gated]
command = "echo begun >> log; until [ -e go ]; do sleep 0.02; done; seq 9000; seq 9000 >&2; echo ended >> log"
output_limit = "128KiB"
[jobs.longer]
command = "echo begun >> log; sleep 3; echo ended >> log"
[jobs.next]
command = "echo next >> log"
"#;

#[test]
fn a_change_that_is_not_on_disk_is_not_acknowledged() {
    let Some(disk) = SmallDisk::mount(JOBS, "600k") else { return };
    disk.run("enqueue next next").ok().prints("1\n2\n");
    // Alone with the file nobody gets as far as a commit; beside a worker, the commit is what finds no room.
    for beside in [false, true] {
        let _worker = beside.then(|| disk.worker("-j1 --queue other"));
        disk.fill();
        for _ in 0..3 {
            disk.run("enqueue next").exits(74).prints("").says("disk is full").says("make room");
            disk.run("cancel 1").exits(74).says("disk is full");
            disk.run("pause default").exits(74).says("disk is full");
        }
        disk.make_room();
    }
    disk.run("doctor").ok();
    assert_eq!(disk.run("inspect --json").ok().json()["counts"]["ready"], 2);
    disk.run("enqueue next").ok().prints("3\n");
}

#[test]
fn a_run_whose_job_finds_no_room_says_so() {
    let Some(disk) = SmallDisk::mount(JOBS, "2m") else { return };
    disk.run("enqueue next").exits(0);
    // The row of its worker would have room.
    let input = "x".repeat(4 << 20);
    disk.call("run --stdin -- cat")
        .stdin(input)
        .run()
        .exits(74)
        .prints("")
        .says("disk is full")
        .says("make room");
    disk.run("doctor").ok();
    disk.run("run -q -- true").ok();
}

#[test]
fn a_file_that_cannot_be_made_whole_is_not_made() {
    let Some(disk) = SmallDisk::mount(JOBS, "600k") else { return };
    for room in [0, 4, 40, 90] {
        disk.fill_but(room);
        disk.run("enqueue next").exits(74).prints("").says("disk is full");
        assert!(!disk.exists("runner.db"), "with {room} KiB of room");
    }
    disk.make_room();
    disk.run("enqueue next").ok().prints("1\n");
    disk.run("doctor").ok();
}

#[test]
fn a_disk_without_inodes_is_full_and_can_be_looked_at() {
    let Some(disk) = SmallDisk::mount(JOBS, "600k,nr_inodes=30") else { return };
    disk.run("enqueue next next").ok();
    let fill = || disk.shell("cd small; i=0; while touch file$i 2> /dev/null; do i=$((i + 1)); done");
    fill();
    // The log that stays does for a while.
    disk.run("backup copy.db").exits(74).says("could not create a file in ").says("runner.db.run: No space");
    disk.shell("rm small/runner.db-*");
    fill();
    for line in ["inspect", "inspect 1", "doctor", "inspect --json"] {
        disk.run(line).ok();
    }
    disk.run("doctor --strict").exits(1).shows("has no inodes left, which `df -i` shows");
    for line in ["enqueue next", "cancel 1"] {
        disk.run(line).exits(74).says("disk is full");
    }
    disk.run("work --until-idle").exits(74).says("No space left on device");
    disk.shell("rm small/file*");
    disk.run("enqueue next").ok().prints("3\n");
    disk.run("work --drain").ok();
    disk.run("doctor --strict").ok();
}

#[test]
fn a_full_disk_can_be_looked_at() {
    let Some(disk) = SmallDisk::mount(JOBS, "600k") else { return };
    disk.run("enqueue next next").ok();
    disk.fill();
    for line in
        ["inspect", "inspect --json", "inspect jobs", "inspect 1", "inspect queues", "inspect 2", "doctor"]
    {
        disk.run(line).exits(0);
    }
}

#[test]
fn a_worker_keeps_its_results_until_there_is_room() {
    let Some(disk) = SmallDisk::mount(JOBS, "600k") else { return };
    disk.run("enqueue gated longer next").ok();
    let mut worker = disk.worker("-j2");
    wait_until("the jobs have begun", || disk.log() == ["begun", "begun"]);
    disk.fill();
    disk.sandbox().write("go", "");
    wait_until("it says that the disk is full", || worker.stderr().contains("disk is full"));
    // It tries again every second, and the other job takes three of them.
    wait_until("the running jobs end", || disk.log() == ["begun", "begun", "ended", "ended"]);
    // The worker holds the file open: it can be looked at.
    assert_eq!(disk.run("inspect 1 --json").ok().json()["state"], "running");
    disk.run("doctor").ok();
    disk.make_room();
    wait_until("the next job runs", || disk.log().len() > 4);
    wait_until("all are recorded", || disk.run("inspect --json").ok().json()["counts"]["succeeded"] == 3);
    assert_eq!(disk.log(), ["begun", "begun", "ended", "ended", "next"]);
    let said = worker.stderr();
    assert_eq!(said.matches("disk is full").count(), 1, "{said}");
    assert_eq!(said.matches("can be written again").count(), 1, "{said}");
    let attempt = disk.run("inspect 1.1 --json").ok().json();
    assert_eq!((&attempt["outcome"], &attempt["exit_code"]), (&json!("succeeded"), &json!(0)));
    assert!(attempt["stdout"].as_str().is_some_and(|text| text.ends_with("9000\n")), "its output was kept");
    worker.signal(Signal::TERM);
    worker.wait().ok();
    disk.run("doctor").ok();
}

#[test]
fn a_boot_that_a_pause_has_held_back_waits_for_room() {
    let schedule = "[jobs.warm]\ncommand = 'echo warm >> log'\nschedule = '@reboot'\n";
    let Some(disk) = SmallDisk::mount(&format!("{JOBS}{schedule}"), "600k") else { return };
    disk.run("apply").ok();
    let boot_id = "/proc/sys/kernel/random/boot_id";
    disk.shell(&format!("cat /proc/sys/kernel/random/uuid > boot; mount --bind boot {boot_id}"));
    disk.run("pause --all --for 8s").ok();
    let mut worker = disk.worker("-j1");
    disk.fill();
    worker.until_it_says("disk is full: nothing was written; no job is started until that has passed");
    disk.make_room();
    worker.signal(Signal::TERM);
    worker.wait().ok();
    disk.run("work --until-idle").ok();
    assert_eq!(disk.log(), ["warm"]);
}

#[test]
fn a_worker_that_is_to_stop_and_cannot_write_says_so() {
    let Some(disk) = SmallDisk::mount(JOBS, "600k") else { return };
    disk.run("enqueue gated").ok();
    let mut worker = disk.worker("-j1 --shutdown-timeout 1s");
    wait_until("the job has begun", || disk.log() == ["begun"]);
    disk.fill();
    disk.sandbox().write("go", "");
    wait_until("the job ends", || disk.log() == ["begun", "ended"]);
    worker.signal(Signal::TERM);
    // The next worker cannot know it.
    worker
        .wait()
        .exits(74)
        .says("disk is full")
        .says("job 1, attempt 1 has ended (exit status 0), which could not be recorded");
    disk.make_room();
    // The next worker records the attempt as if the worker had died, because that one could not record its end.
    disk.run("work --drain").ok();
    let history = disk.run("inspect 1 --json").ok().json()["history"].clone();
    assert_eq!(history[0]["outcome"], "worker_crashed");
    assert_eq!(disk.log(), ["begun", "ended", "begun", "ended"]);
    disk.run("doctor").ok();
}

/// Lets files of a running program grow no further than this. Jobs that it has started already are not limited.
fn limit_files(worker: &Background, bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, maximum: None };
    let pid = Pid::from_raw(worker.pid());
    prlimit(pid, Resource::Fsize, limit).expect("the limit of a program of ours");
}

/// Less than the log of a database takes.
const LITTLE: Option<u64> = Some(4_096);

#[test]
fn a_limit_on_the_size_of_files_is_waited_out_like_a_full_disk() {
    let sandbox = Sandbox::new(&JOBS.replace("[jobs.longer]", "retryable = false\n[jobs.longer]"));
    sandbox.run("enqueue gated next").ok();
    let mut worker = sandbox.worker("-j1");
    wait_until("the job has begun", || sandbox.log() == ["begun"]);
    limit_files(&worker, LITTLE);
    sandbox.write("go", "");
    worker.until_it_says("limit on the size of files: nothing was written; no job is started");
    limit_files(&worker, None);
    worker.until_it_says("can be written again");
    wait_until("all are recorded", || sandbox.run("inspect --json").ok().json()["counts"]["succeeded"] == 2);
    assert_eq!(sandbox.log(), ["begun", "ended", "next"]);
    assert_eq!(sandbox.attempts(1).len(), 1);
    worker.signal(Signal::TERM);
    worker.wait().ok();
    sandbox.run("doctor").ok();
}

#[test]
fn a_worker_that_is_to_stop_tries_to_record_until_its_timeout() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.run("enqueue gated").ok();
    let mut worker = sandbox.worker("-j1 --shutdown-timeout 10m");
    wait_until("the job has begun", || sandbox.log() == ["begun"]);
    limit_files(&worker, LITTLE);
    sandbox.write("go", "");
    worker.until_it_says("nothing was written");
    worker.signal(Signal::TERM);
    worker.until_it_says("0 running");
    // Many more tries than the last ones.
    sandbox.run("enqueue --queue clock --in 6s -- true").ok();
    sandbox.run("work --queue clock --drain").ok();
    limit_files(&worker, None);
    worker.wait().says("can be written again").ok();
    assert_eq!(sandbox.attempts(1)[0]["outcome"], "succeeded");
    assert_eq!(sandbox.log(), ["begun", "ended"]);
}

#[test]
fn a_worker_that_has_nothing_to_record_stops_well_where_nothing_can_be_written() {
    let sandbox = Sandbox::new(JOBS);
    sandbox.finish("next");
    let mut worker = sandbox.worker("-j1");
    limit_files(&worker, LITTLE);
    worker.signal(Signal::TERM);
    worker.wait().says("shown as dead until another one starts").ok();
    sandbox.run("work --drain").ok();
    let workers = sandbox.run("inspect workers --json").ok().json_lines();
    assert_eq!(workers.len(), 0, "{workers:?}");
}

#[test]
fn a_database_that_a_worker_has_open_in_another_file_system_is_refused() {
    let Some(disk) = SmallDisk::mount(JOBS, "4m") else { return };
    let overlay = "cd small && mkdir low up work both && mount -t overlay -o lowerdir=low,upperdir=up,workdir=work none both";
    disk.shell(&format!("({overlay}) 2> /dev/null || touch small/none"));
    if disk.exists("none") {
        // Past the capture of the output: what was not tested is to be seen.
        let _ = writeln!(std::io::stderr(), "NOT TESTED, for no overlay can be mounted here");
        return;
    }
    let db = |view: &str| disk.sandbox().path(&format!("small/{view}/runner.db"));
    let call = |view: &str, line: &str| disk.call(line).env("RUNNER_DB", db(view));
    call("up", "enqueue next").run().ok();
    let mut worker = Background::worker(disk.sandbox(), call("up", "work"));
    wait_until("the job has run", || disk.log() == ["next"]);
    let says = "by which a worker has opened it: their locks do not meet";
    for line in ["enqueue next", "inspect", "work --drain", "run -- true"] {
        let refused = call("both", line).run().exits(74).says(says);
        refused.says(&format!("use it by one path: --db {}", db("up").display()));
    }
    call("up", "enqueue next").run().ok();
    wait_until("the next job has run", || disk.log() == ["next", "next"]);
    worker.signal(Signal::TERM);
    worker.wait().ok();
    // A copy is a database of its own, also while the worker of the original lives.
    let worker = Background::worker(disk.sandbox(), call("up", "work"));
    disk.shell("cp -r small/up small/copy");
    call("copy", "enqueue next").run().ok();
    drop(worker);
}
