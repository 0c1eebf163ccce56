//! Processes that an attempt leaves in the background: they may stay, and write, until the next attempt, which starts when they
//! are gone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::support::{
    Background, Call, NOBODY, Sandbox, Signal, eventually, is_alive, is_root, json, signal, wait_until,
};

/// The first attempt fails, and writes its environment to a file.
const JOBS: &str = r#"
[jobs.leaves]
command = "echo $RUNNER_ATTEMPT >> log; [ $RUNNER_ATTEMPT = 1 ] || exit 0; env -0 > env; exit 1"
max_attempts = 2
backoff = { strategy = "constant", delay = "1h", jitter = false }
grace_period = "GRACE"
"#;

/// The first attempt of a job has failed, and a process that ignores SIGTERM has joined what it has left: what was there before is
/// ended before a retry is recorded.
fn left_by_the_first(options: &str, grace: &str) -> (Sandbox, Background, i32) {
    let sandbox = Sandbox::new(&JOBS.replace("GRACE", grace));
    sandbox.run(&format!("enqueue leaves {options}")).ok();
    let worker = sandbox.worker("-j1");
    wait_until("the first attempt has failed", || count(&sandbox, "attempts = 1") == 1);
    let environment = sandbox.read("env");
    let variables = environment.split('\0').filter_map(|variable| variable.split_once('='));
    let line = "trap '' TERM; echo $$ > joined; while [ -e runner.db ]; do sleep 0.02; done";
    let joins = sandbox.program("sh").arg("-c").arg(line);
    let joins = variables.fold(joins, |call, (name, value)| call.env(name, value));
    drop(joins.spawn(Stdio::null(), Stdio::null()));
    let pid = sandbox.pid_of("joined");
    (sandbox, worker, pid)
}

/// The job is claimed for its second attempt, which waits for that process.
fn claimed_again() -> (Sandbox, Background) {
    let (sandbox, worker, _) = left_by_the_first("--unique-key k", "30s");
    sandbox.sql().run("UPDATE jobs SET run_at = 1000 * unixepoch(), expires_at = 1000 * unixepoch() + 4000");
    wait_until("the second attempt is claimed", || {
        count(&sandbox, "state = 'running' AND attempts = 1") == 1
    });
    (sandbox, worker)
}

fn count(sandbox: &Sandbox, which: &str) -> i64 {
    sandbox.sql().number(&format!("SELECT count(*) FROM jobs WHERE {which}"))
}

#[test]
fn a_stopping_worker_starts_no_attempt_that_still_waits() {
    let (sandbox, mut worker) = claimed_again();
    worker.ask_to_stop(Signal::TERM);
    let ran = worker.wait();
    assert!(ran.stderr.contains("0 running"), "{ran}");
    assert_eq!(count(&sandbox, "state = 'pending' AND attempts = 1 AND attempts_used = 1"), 1);
    assert_eq!(sandbox.log(), ["1"]);
    sandbox.run("doctor").ok();
}

#[test]
fn an_attempt_that_still_waits_expires_in_time() {
    let (sandbox, _worker) = claimed_again();
    eventually("it has expired", || (count(&sandbox, "dead_reason = 'expired'") == 1).then_some(()));
    assert_eq!(sandbox.run("enqueue leaves --in 1h --unique-key k").ok().stdout, "2\n");
    assert_eq!(sandbox.log(), ["1"]);
}

/// Ends its first thread, so that the kernel shows the process without an environment.
const HEADLESS: &str = r#"
import ctypes, os, threading, time
def stay():
    while os.path.exists("runner.db"): time.sleep(0.02)
    os._exit(0)
threading.Thread(target=stay).start()
ctypes.CDLL(None).pthread_exit(None)
"#;

#[test]
fn a_process_whose_first_thread_has_ended_is_ended_as_well() {
    let sandbox = Sandbox::new(
        r#"
[jobs.leaves]
command = """
if [ $RUNNER_ATTEMPT = 2 ]; then ls /proc/$(cat pid)/task | wc -l > threads; exit 0; fi
setsid sh -c 'echo $$ > pid; exec python3 headless.py' > /dev/null 2>&1 &
until grep -q '^State:.Z' /proc/$(cat pid)/status; do sleep 0.02; done 2> /dev/null
exit 1
"""
max_attempts = 2
backoff = { strategy = "constant", delay = "0s", jitter = false }
grace_period = "1s"
"#,
    );
    sandbox.add("leaves");
    sandbox.write("headless.py", HEADLESS);
    sandbox.run("work --drain").ok();
    let threads: u32 = sandbox.read("threads").trim().parse().unwrap();
    assert!(threads <= 1, "at most its first thread waits to be reaped: {threads}");
}

#[test]
fn processes_that_a_normal_end_leaves_are_left_alone() {
    let sandbox = Sandbox::new(
        "[jobs.job]\ncommand = 'sh -c \"echo \\$\\$ > stray; exec sleep 20\" & until [ -s stray ] || [ ! -e runner.db ]; do sleep 0.02; done'\n",
    );
    let id = sandbox.add("job");
    sandbox.run("work --drain").ok();
    let stray = sandbox.pid_of("stray");
    let attempt = sandbox.attempts(id).remove(0);
    assert_eq!((&attempt["outcome"], &attempt["leaked"]), (&json!("succeeded"), &json!(true)));
    sandbox.run(&format!("inspect {id}")).ok().shows("exit 0, leaked a process");
    assert!(is_alive(stray));
    signal(stray, Signal::KILL);
}

#[test]
fn a_background_child_that_holds_no_pipe_is_no_leak() {
    let sandbox = Sandbox::new("[jobs.job]\ncommand = 'sleep 20 > /dev/null 2>&1 & echo $! > stray'\n");
    let id = sandbox.add("job");
    sandbox.run("work --drain").ok();
    assert_eq!(sandbox.attempts(id)[0]["leaked"], false);
    let stray = sandbox.pid_of("stray");
    assert!(is_alive(stray));
    signal(stray, Signal::KILL);
}

#[test]
fn what_an_attempt_has_left_is_ended_before_its_retry_is_recorded() {
    let left =
        |code: i32| format!("sleep 60 > /dev/null 2>&1 & echo $! > stray; echo $$ >> log; exit {code}");
    for (keys, code, is_ended) in [
        ("backoff = '1h'", 1, true),
        // Nothing runs beside what a success or a death has left.
        ("backoff = '1h'", 0, false),
        ("max_attempts = 1", 1, false),
        ("never_retry_for = ['EXIT_1']", 1, false),
    ] {
        let sandbox = Sandbox::new(&format!("[jobs.job]\ncommand = '{}'\n{keys}\n", left(code)));
        sandbox.add("job");
        sandbox.run("work --until-idle").status();
        let stray = sandbox.pid_of("stray");
        assert_eq!(is_alive(stray), !is_ended, "{keys} {code}");
        if !is_ended {
            signal(stray, Signal::KILL);
        }
    }
}

#[test]
fn a_second_signal_to_stop_kills_what_an_attempt_has_left() {
    let line = "(trap \"\" TERM; echo > joined; while [ -e runner.db ]; do sleep 0.02; done) > /dev/null 2>&1 & \
                until [ -e joined ]; do sleep 0.01; done; echo $$ > ended; exit 1";
    let sandbox =
        Sandbox::new(&format!("[jobs.job]\ncommand = '{line}'\nbackoff = '1h'\ngrace_period = '1h'\n"));
    sandbox.add("job");
    let mut worker = sandbox.worker("");
    let command = sandbox.pid_of("ended");
    wait_until("the attempt has ended", || !is_alive(command));
    assert_eq!(count(&sandbox, "state = 'running' AND attempts = 0"), 1);
    worker.ask_to_stop(Signal::TERM);
    worker.ask_to_stop(Signal::TERM);
    worker.wait().exits(0);
    assert_eq!(count(&sandbox, "state = 'pending' AND attempts = 1 AND attempts_used = 1"), 1);
    assert_eq!(sandbox.attempts(1)[0]["outcome"], "failed");
}

/// The second attempt succeeds only if nothing is left of the first.
#[test]
fn leftovers_are_ended_before_the_next_attempt_by_the_same_or_another_worker() {
    for first in ["work --drain", "work --max-jobs 1"] {
        let sandbox = Sandbox::new(
            r#"
[jobs.job]
command = "[ $RUNNER_ATTEMPT -eq 2 ] || { sleep 20 > /dev/null 2>&1 & echo $! > stray; exit 1; }; ! grep -q 'State:.[^ZX]' /proc/$(cat stray)/status"
backoff = "1ms"
max_attempts = 2
"#,
        );
        sandbox.add("job");
        sandbox.run(first).ok();
        sandbox.run("work --drain").ok();
        assert_eq!(sandbox.job(1)["state"], "succeeded", "{first}");
        assert!(!is_alive(sandbox.pid_of("stray")), "{first}");
    }
}

#[test]
fn as_process_1_as_in_a_container_a_worker_reaps_what_its_jobs_leave() {
    let sandbox = Sandbox::new(
        "[jobs.orphans]\ncommand = 'for i in 1 2 3 4 5; do (sleep 0.01 & setsid sleep 0.01 &); done'\n\
         [jobs.look]\ncommand = '''\nfor i in $(seq 100); do\n  \
         grep -q '^State:.Z' /proc/[0-9]*/status || exit 0\n  sleep 0.1\ndone\n\
         cat /proc/[0-9]*/stat >&2; exit 1\n'''\nmax_attempts = 1\n",
    );
    let probe =
        ["--pid", "--fork", "--mount-proc", "true"].into_iter().fold(sandbox.program("unshare"), Call::arg);
    if !probe.run().stderr.is_empty() {
        eprintln!("no right to make a PID namespace here: nothing was tested");
        return;
    }
    sandbox.run("enqueue orphans look").ok();
    let mut unshare = sandbox.program("unshare");
    for word in ["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_runner"), "work", "-j1", "--drain"] {
        unshare = unshare.arg(word);
    }
    unshare.run().ok();
    assert_eq!(sandbox.job(2)["state"], "succeeded");
}

#[test]
fn nobody_learns_from_a_socket_how_to_pass_a_process_off_as_one_of_an_attempt() {
    let sandbox = Sandbox::new(
        "[jobs.again]\ncommand = 'test $RUNNER_ATTEMPT = 2'\nbackoff = '1ms'\nmax_attempts = 2\ngrace_period = '1m'\n",
    );
    let _worker = sandbox.worker("-j1");
    let workers = sandbox.run("inspect workers --json").ok().json();
    let id = workers["worker_id"].as_str().unwrap();
    // Everybody may read the names of sockets.
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    assert!(sockets.contains(id), "{id}: {sockets}");
    if !is_root() {
        eprintln!("skipped in part: only root can act as another user");
        return;
    }
    let bound = sockets.lines().filter_map(|line| line.split_once("/proc/self/fd/")?.1.split_once('/'));
    let learnt = bound.filter_map(|(_, name)| name.split('.').next());
    let forged = learnt.map(|id| {
        let call = sandbox.program("sleep").arg("600").dir("/").run_by(NOBODY);
        let call = call.env("RUNNER_WORKER_ID", id).env("RUNNER_MARK", id);
        let call = call.env("RUNNER_JOB_ID", "1").env("RUNNER_ATTEMPT", "1");
        call.spawn(Stdio::null(), Stdio::null())
    });
    let mut forged: Vec<_> = forged.collect();
    assert!(!forged.is_empty(), "{sockets}");
    sandbox.add("again");
    sandbox.until_state(1, "succeeded");
    for process in &mut forged {
        assert_eq!(process.try_wait().unwrap(), None, "it was taken for a process of the attempt");
        process.kill().unwrap();
        process.wait().unwrap();
    }
}

/// A line that leaves a server in the background. Once there is a file `go`, it writes more than a pipe holds to both streams,
/// and then makes a file `alive`.
fn leaves_a_server(how: &str, go: &str, alive: &str) -> String {
    let wait = format!("until [ -e {go} ] || [ ! -e runner.db ]; do sleep 0.02; done");
    let write = "echo tick; echo tock >&2; head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2";
    let stay = "while [ -e runner.db ]; do sleep 0.02; done";
    format!("{} & echo started", how.replace("SERVER", &format!("{wait}; {write}; echo > {alive}; {stay}")))
}

/// The ways in which jobs leave something in the background.
const WAYS: [&str; 6] = [
    "(SERVER)",
    "setsid sh -c 'SERVER'",
    "nohup sh -c 'SERVER'",
    "(SERVER) > /dev/null",
    "(SERVER) 2> /dev/null",
    "(exec 2>&1; SERVER)",
];

/// The processes of ours that read the pipe that this process writes to.
fn readers(writer: i32) -> Vec<i32> {
    let target = |pid: i32, fd: &str| fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok();
    let held: Vec<_> = ["1", "2"].iter().filter_map(|fd| target(writer, fd)).collect();
    let held: Vec<_> = held.into_iter().filter(|held| held.to_string_lossy().starts_with("pipe:")).collect();
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let reads = |pid: &i32| ["0", "1"].iter().any(|fd| target(*pid, fd).is_some_and(|it| held.contains(&it)));
    let is_ours = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.starts_with(b"runner: ")
    };
    pids.filter(is_ours).filter(reads).collect()
}

#[test]
fn what_a_run_has_left_goes_on_writing_after_the_run_has_gone() {
    for how in WAYS {
        for options in ["", "-q", "--json"] {
            let sandbox = Sandbox::empty();
            let run = sandbox
                .call(&format!("run {options} -c"))
                .arg(leaves_a_server(how, "go", "alive"))
                .run()
                .ok();
            assert_eq!(sandbox.attempts(1)[0]["leaked"], true, "{how} {run}");
            sandbox.write("go", "");
            wait_until(&format!("{how} {options}: it has written"), || sandbox.path("alive").exists());
        }
    }
}

#[test]
fn what_a_worker_has_left_goes_on_writing_whatever_becomes_of_the_worker() {
    let sandbox = Sandbox::new("");
    let worker = sandbox.worker("-j2");
    let jobs = WAYS.map(|how| sandbox.add_line("", &leaves_a_server(how, "go", "alive.$RUNNER_JOB_ID")));
    for id in jobs {
        sandbox.until_state(id, "succeeded");
    }
    let early = sandbox.add_line("", &leaves_a_server("(SERVER)", "runner.db", "alive"));
    wait_until("one writes beside its worker", || sandbox.path("alive").exists());
    sandbox.until_state(early, "succeeded");
    worker.kill();
    let _next = sandbox.worker("-j1");
    sandbox.write("go", "");
    for id in jobs {
        wait_until(&format!("job {id} has written"), || sandbox.path(&format!("alive.{id}")).exists());
    }
    sandbox.run("doctor").ok();
}

#[test]
fn the_reader_holds_nothing_but_the_pipes_and_ends_with_the_last_writer() {
    let sandbox = Sandbox::new("");
    let worker = sandbox.worker("-j1");
    let line = "sh -c 'echo $$ > stray; exec sleep 60' & until [ -s stray ]; do sleep 0.02; done";
    let id = sandbox.add_line("", line);
    sandbox.until_state(id, "succeeded");
    let stray = sandbox.pid_of("stray");
    let [reader] = readers(stray)[..] else { panic!("{:?}", readers(stray)) };
    let open = fs::read_dir(format!("/proc/{reader}/fd")).unwrap().flatten();
    let open = open.map(|entry| fs::read_link(entry.path()).unwrap().display().to_string());
    let mut open: Vec<_> = open.map(|path| path.split(':').next().unwrap().to_owned()).collect();
    open.sort();
    assert_eq!(open, ["/dev/null", "pipe", "pipe"]);
    assert_eq!(fs::read_link(format!("/proc/{reader}/cwd")).unwrap().to_str(), Some("/"));
    // Not empty, which would hold up every search for leftovers.
    assert_eq!(fs::read(format!("/proc/{reader}/environ")).unwrap(), b"PWD=/\0");
    let stat = fs::read_to_string(format!("/proc/{reader}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    assert_ne!(fields[1], worker.pid().to_string(), "its worker has nothing to reap");
    let session: i32 = fields[3].parse().unwrap();
    assert_eq!((session, fields[2]), (reader, fields[3]), "a session and a group of its own: {stat}");
    worker.kill();
    assert!(is_alive(reader) && is_alive(stray));
    signal(stray, Signal::KILL);
    wait_until("the reader has ended", || !is_alive(reader));
}

#[test]
fn whoever_reads_what_a_run_prints_does_not_wait_for_the_background() {
    let sandbox = Sandbox::empty();
    let shell = sandbox.program("sh").with_runner_on_path().arg("-c");
    let line = "runner run -c 'sh -c \"echo \\$\\$ > stray; exec sleep 600\" & echo x' 2> /dev/null | cat";
    shell.arg(line).run().ok().prints("x\n");
    signal(sandbox.pid_of("stray"), Signal::KILL);
}

#[test]
fn a_worker_that_cannot_start_the_reader_reads_and_says_so() {
    let sandbox = Sandbox::new("");
    let program = sandbox.program_for_all();
    let worker = Background::worker(&sandbox, sandbox.program(&program).arg("work").arg("-j1"));
    fs::set_permissions(&program, Permissions::from_mode(0o644)).unwrap();
    let id = sandbox.add_line("", &leaves_a_server("(SERVER)", "go", "alive"));
    sandbox.until_state(id, "succeeded");
    worker.until_it_says("this worker reads that for as long as it lives: Permission denied");
    sandbox.write("go", "");
    wait_until("it has written", || sandbox.path("alive").exists());
    sandbox.run("doctor").ok();
}

#[test]
fn an_upgraded_program_still_starts_the_reader() {
    let sandbox = Sandbox::new("");
    let program = sandbox.program_for_all();
    let worker = Background::worker(&sandbox, sandbox.program(&program).arg("work").arg("-j1"));
    fs::remove_file(&program).unwrap();
    let id = sandbox.add_line("", &leaves_a_server("(SERVER)", "go", "alive"));
    sandbox.until_state(id, "succeeded");
    worker.kill();
    sandbox.write("go", "");
    wait_until("it has written", || sandbox.path("alive").exists());
}

/// A job that fails and leaves a process, whose id it writes to a file, with these keys.
fn left_by_a_failure(keys: &str) -> (Sandbox, i32) {
    let file = "[jobs.fails]\ncommand = \"sleep 60 > /dev/null 2>&1 & echo $! > pid; exit 1\"\n";
    let sandbox = Sandbox::new(&format!("{file}{keys}"));
    sandbox.run("enqueue fails").ok();
    sandbox.run("work --until-idle").status();
    let pid = sandbox.pid_of("pid");
    assert!(is_alive(pid));
    (sandbox, pid)
}

#[test]
fn what_a_job_has_left_is_ended_before_it_is_put_back_or_replaced() {
    for (keys, left_alone, ends) in [
        ("max_attempts = 1", "change 1 --redefine", "retry 1"),
        ("max_attempts = 1", "resolve 1", "retry --dead --latest --name fails"),
        ("max_attempts = 1", "change 1 --now", "retry 1 --redefine"),
    ] {
        let (sandbox, pid) = left_by_a_failure(keys);
        sandbox.run(left_alone).status();
        sandbox.run(&format!("{ends} --dry-run")).exits(0);
        assert!(is_alive(pid), "{left_alone}, {ends}");
        if left_alone == "resolve 1" {
            sandbox.sql().run("UPDATE jobs SET resolved_at = NULL, resolution = NULL");
        }
        sandbox.run(ends).exits(0);
        wait_until("it is ended", || !is_alive(pid));
    }
}

#[test]
fn what_a_job_has_left_is_ended_before_another_takes_its_place() {
    for line in ["change 1 --redefine", "change --name leaves --redefine"] {
        let (sandbox, worker, pid) = left_by_the_first("", "200ms");
        worker.kill();
        sandbox.run("retry 1 --redefine").exits(1);
        sandbox.run(&format!("{line} --dry-run")).exits(0);
        assert!(is_alive(pid), "{line}");
        sandbox.run(line).exits(0);
        wait_until("it is ended", || !is_alive(pid));
    }
}
