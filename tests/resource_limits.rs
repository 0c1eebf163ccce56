//! A worker in bad surroundings: nobody reads its log, its folder is tidied up, the machine has no room for all slots.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, kill_process};
use serde_json::Value;

use crate::support::{Background, Call, Sandbox, Signal, eventually, is_root, json};

/// A shell's line that runs the program under a limit.
fn limited(sandbox: &Sandbox, limit: &str, line: &str) -> crate::support::Finished {
    let runner = env!("CARGO_BIN_EXE_runner");
    sandbox.program("sh").arg("-c").arg(format!("ulimit {limit}; exec '{runner}' {line}")).run()
}

#[test]
fn a_log_that_nobody_reads_holds_nothing_up() {
    let sandbox =
        Sandbox::new("[jobs.victim]\ncommand = ['sleep', '600']\ntimeout = '300ms'\nmax_attempts = 1\n");
    // Far more than the 64 KiB that a pipe takes.
    let line = json!({"command": ["true"], "name": "n".repeat(120)}).to_string() + "\n";
    for format in ["text", "json"] {
        let (_unread, log) = std::io::pipe().unwrap();
        sandbox.call("enqueue -q --batch -").stdin(line.repeat(400)).run().ok();
        let victim = sandbox.add("victim");
        let also = log.try_clone().unwrap();
        let mut worker = sandbox.call(&format!("work -j2 --log {format}")).spawn(log, also);
        assert_eq!(sandbox.until_state(victim, "dead")["error_code"], "TIMEOUT");
        kill_process(Pid::from_child(&worker), Signal::TERM).unwrap();
        let status = eventually("the worker has stopped", || worker.try_wait().unwrap());
        assert_eq!(status.code(), Some(0));
        assert_eq!(
            sandbox.sql().number("SELECT count(*) FROM jobs WHERE state NOT IN ('succeeded', 'dead')"),
            0
        );
    }
}

#[test]
fn the_folder_of_the_reports_is_made_again() {
    let sandbox = Sandbox::new(
        r#"
[jobs.tidy]
command = 'rm -rf "$(dirname "$RUNNER_REPORT")"'

[jobs.tell]
command = 'cat; echo result=told >> "$RUNNER_REPORT"'
"#,
    );
    sandbox.add("tidy");
    sandbox.call("enqueue tell --stdin").stdin("captured").run().ok();
    sandbox.run("work -j1 --drain").ok();
    assert_eq!(sandbox.job(2)["result"], "told");
    assert_eq!(sandbox.run("logs 2").ok().stdout, "captured");
}

#[test]
fn a_folder_that_cannot_be_made_again_is_told_and_holds_nobody_up() {
    let sandbox = Sandbox::new(
        r#"
[jobs.spoil]
command = 'd=$(dirname "$RUNNER_REPORT"); rm -rf "$d"; touch "$d"'

[jobs.next]
command = 'true'
"#,
    );
    sandbox.run("enqueue spoil next").ok();
    sandbox.run("work -j1 --drain").exits(1);
    let attempt = sandbox.attempt(2, 1);
    assert_eq!(attempt["error_code"], "SPAWN_FAILED");
    assert!(attempt["message"].as_str().unwrap().contains(".reports: File exists"), "{attempt}");
}

#[test]
fn where_there_is_no_room_for_all_slots_those_that_fit_go_on() {
    let sandbox = Sandbox::new("[jobs.nap]\ncommand = ['sleep', '0.1']\n");
    sandbox.call("enqueue -q --batch -").stdin("{\"name\":\"nap\"}\n".repeat(60)).run().ok();
    let ran = limited(&sandbox, "-n 64", "work -j30 --until-idle").ok();
    let ran = ran.says(" slots of 30: the limit of open files (ulimit -n) is 64\n");
    let told = ran.stderr.matches("could not be started now").count();
    assert!(told <= 1, "{}", ran.stderr);
    assert_eq!(
        sandbox.sql().number("SELECT count(*) FROM jobs WHERE state = 'succeeded' AND attempts = 1"),
        60
    );
}

#[test]
fn with_json_the_log_of_a_worker_is_json() {
    let sandbox = Sandbox::new("[jobs.bad]\ncommand = 'exit 3'\nmax_attempts = 1\n");
    for (options, stdout_has) in
        [("--json", "worker_started"), ("--json --log json", "job_dead"), ("-q --json", "")]
    {
        sandbox.run("enqueue bad").ok();
        let ran = limited(&sandbox, "-n 64", &format!("work -j30 --drain {options}")).exits(1);
        let ran = ran.shows(stdout_has).says("{\"note\":\"there is room for ");
        for line in ran.stdout.lines().chain(ran.stderr.lines()) {
            assert!(
                serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object()),
                "{options}: {ran}"
            );
        }
        assert!(
            options != "-q --json" || ran.stdout.is_empty() && ran.stderr.contains("job 3 bad: "),
            "{ran}"
        );
    }
    // Without it notes are for people.
    let ran = limited(&sandbox, "-n 64", "work -j30 --drain --log json")
        .says("the limit of open files (ulimit -n) is")
        .ok();
    ran.says("runner: there is room for ");
}

#[test]
fn where_no_file_can_be_opened_the_limit_of_them_is_named() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    for limit in 5..=9 {
        for line in ["inspect", "doctor", "enqueue -- true", "work --drain", "run -- true"] {
            let ran = limited(&sandbox, &format!("-n {limit}"), line);
            assert!(
                ran.status() == Some(0)
                    || ran.status() == Some(74)
                        && ran.stderr.contains("ulimit -n")
                        && !ran.stderr.contains("mknod"),
                "{limit}: {ran}"
            );
        }
    }
}

#[test]
fn where_there_is_room_for_no_slot_the_worker_says_so_and_ends() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    // The least with which the database can be opened, and what a worker alone would need.
    for limit in 7..=20 {
        let ran = limited(&sandbox, &format!("-n {limit}"), "work -j8 --drain").exits(74);
        let why =
            format!("no room for a single slot: the limit of open files (ulimit -n) is {limit}; raise it\n");
        ran.says(&why);
    }
    assert_eq!(sandbox.sql().number("SELECT count(*) FROM workers"), 0);
}

#[test]
fn a_limit_of_processes_leaves_the_slots_that_fit() {
    /// No other test has processes of this user, which would count.
    const USER: u32 = 64_123;
    if !is_root() {
        eprintln!("only root has users to spare: nothing was tested");
        return;
    }
    let sandbox = Sandbox::empty();
    let runner = sandbox.program_for_all();
    let folder = sandbox.path("theirs");
    fs::create_dir(&folder).unwrap();
    sandbox.own("theirs", USER, 0o700);
    fs::set_permissions(sandbox.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    let db = folder.join("runner.db");
    let call = |program: &str| {
        sandbox.program(program).dir(&folder).env("HOME", &folder).env("RUNNER_DB", &db).run_by(USER)
    };
    let line = json!({"command": ["sleep", "0.05"]}).to_string() + "\n";
    let enqueue = call(&runner).arg("enqueue").arg("-q").arg("--batch").arg("-");
    enqueue.stdin(line.repeat(20)).run().ok();
    let limited = |limit: u32| {
        let words = [&format!("--nproc={limit}"), &runner, "work", "-j8", "--drain"];
        words.into_iter().fold(call("prlimit"), Call::arg).run()
    };
    let why = |limit| format!("the limit of processes and threads (ulimit -u) is {limit}");
    limited(2).exits(74).says(&format!("no room for a single slot: {}", why(2)));
    let ran = limited(6).says(&format!("there is room for 2 slots of 8: {}\n", why(6))).ok();
    ran.says(" 20 succeeded, 0 dead").says(" started: 2 slots");
}

#[test]
fn a_worker_that_could_not_find_its_processes_again_does_not_start() {
    let sandbox = Sandbox::empty();
    let unshare = |words: &[&str]| {
        let call = words.iter().fold(sandbox.program("unshare"), Call::arg);
        call.arg(env!("CARGO_BIN_EXE_runner")).run()
    };
    if !unshare(&["--pid", "--fork", "--mount-proc", "true"]).ended_well() {
        eprintln!("no right to make a PID namespace here: nothing was tested");
        return;
    }
    sandbox.add("-- true");
    let runner = "exec \"$0\" work --drain";
    unshare(&["--pid", "--fork", "sh", "-c", runner]).exits(74).says("/proc shows another pid namespace");
    unshare(&["--mount", "sh", "-c", &format!("while umount -l /proc; do :; done; {runner}")])
        .exits(74)
        .says("/proc is missing");
    unshare(&["--pid", "--fork", "--mount-proc", "sh", "-c", runner]).ok();
    assert_eq!(sandbox.job(1)["state"], "succeeded");
}

#[test]
fn a_worker_without_dev_null_does_not_start() {
    let sandbox = Sandbox::empty();
    let lines = |line: &str| {
        let call = sandbox.program("unshare").arg("--mount").arg("sh").arg("-c").arg(line);
        call.arg(env!("CARGO_BIN_EXE_runner")).run()
    };
    if !lines("mount -t tmpfs none /dev").ended_well() {
        eprintln!("nothing can be mounted here: nothing was tested");
        return;
    }
    sandbox.add("-- true");
    lines("mount -t tmpfs none /dev; exec \"$0\" work --drain").exits(74).says("/dev/null cannot be opened");
    assert_eq!(sandbox.job(1)["state"], "pending");
}

/// A filter that refuses `pidfd_open`, which has one number on all machines, and then the program.
const WITHOUT_PIDFD: &str = "
import ctypes, os, struct, sys
refuse = struct.pack('HBBI' * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 434, 0x06, 0, 0, 0x50026, 0x06, 0, 0, 0x7fff0000)
code = ctypes.create_string_buffer(refuse)
program = struct.pack('HxxxxxxP', 4, ctypes.addressof(code))
prctl = ctypes.CDLL(None, use_errno=True).prctl
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
";

#[test]
fn a_worker_that_could_not_watch_its_jobs_does_not_start() {
    let sandbox = Sandbox::empty();
    sandbox.add("-- true");
    let call = sandbox.program("python3").arg("-c").arg(WITHOUT_PIDFD).arg(env!("CARGO_BIN_EXE_runner"));
    call.arg("work").arg("--drain").run().exits(74).says("pidfd_open is refused here");
    assert_eq!(sandbox.job(1)["attempts"], 0);
    sandbox.drain();
    assert_eq!(sandbox.job(1)["state"], "succeeded");
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_no_end() {
    let sandbox = Sandbox::empty();
    let ran = limited(&sandbox, "-f 1", "enqueue -c true").exits(74);
    assert!(ran.stderr.starts_with("runner: "), "{}", ran.stderr);
    sandbox.run("enqueue -q -- true").ok();
}

#[test]
fn a_job_file_that_could_not_be_written_does_not_stand_in_the_way() {
    let sandbox = Sandbox::empty();
    let ran = limited(&sandbox, "-f 0", "init --file new.toml");
    ran.exits(74).says("write new.toml");
    assert!(!sandbox.path("new.toml").exists());
    sandbox.run("init --file new.toml").ok();
}

#[test]
fn a_worker_that_is_suspended_from_the_terminal_holds_nobody_up() {
    let sandbox = Sandbox::new("[jobs.short]\ncommand = ['true']\n");
    sandbox.call("enqueue -q --batch -").stdin("{\"name\":\"short\"}\n".repeat(5_000)).run().ok();
    let worker = Background::worker(&sandbox, sandbox.call("work -j2").in_own_process_group());
    let sql = sandbox.sql();
    sql.run("PRAGMA busy_timeout = 0");
    for _ in 0..20 {
        worker.signal(Signal::TSTP);
        let stat = format!("/proc/{}/stat", worker.pid());
        eventually("it is suspended", || fs::read_to_string(&stat).unwrap().contains(") T ").then_some(()));
        sql.run("BEGIN IMMEDIATE; ROLLBACK");
        worker.signal(Signal::CONT);
    }
    sandbox.run("inspect").ok().shows("ready");
}
