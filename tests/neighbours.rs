//! Neighbours: processes of other users, and innocent ones, that look like those of an attempt, or that its worker cannot see.
//! Most of the scenes need root, and namespaces of their own.

use std::fs;

use crate::support::{
    Background, Call, Finished, NOBODY, Sandbox, Signal, is_alive, is_root, signal, wait_until,
};

/// What the scenes share. Each is process 1 of a pid namespace, and its processes end with it.
const STAGE: &str = r#"
import os, signal, subprocess, sys, time
RUNNER, NOBODY, STRANGER = sys.argv[1], 65534, 65533

def until(what, is_so):
    for _ in range(6000):
        found = is_so()
        if found: return found
        time.sleep(0.01)
    sys.exit("this did not happen: " + what)

def pid_in(name):
    text = lambda: open(name).read() if os.path.exists(name) else ""
    return int(until(name, lambda: text().endswith("\n") and text()))

def become(user):
    os.setgroups([]); os.setgid(user); os.setuid(user)

def worker(*options, user=0):
    def prepare(): become(user)
    return subprocess.Popen([RUNNER, "work", "-j2", *options], start_new_session=True, preexec_fn=prepare)

def is_alive(pid):
    try: return open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1][0] not in "ZX"
    except FileNotFoundError: return False

def end(pid):
    os.kill(pid, signal.SIGKILL)
    def is_gone():
        try: os.waitpid(-1, os.WNOHANG)
        except ChildProcessError: pass
        return not os.path.exists(f"/proc/{pid}")
    until(f"{pid} is gone", is_gone)

# Becomes a process that nothing but SIGKILL ends, with nothing in its environment.
def wait():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.execve("/bin/sleep", ["sleep", "600"], {})

# Takes this pid for a process that does `act`, leaves a process behind, and ends.
def leave(pid, act):
    for _ in range(1000):
        with open("/proc/sys/kernel/ns_last_pid", "w") as last: last.write(str(pid - 1))
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            if os.getpid() == pid:
                act()
                if os.fork() == 0:
                    os.write(write, str(os.getpid()).encode())
                    wait()
            os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        left = os.read(read, 20)
        os.close(read)
        if left: return int(left)
    sys.exit("the pid did not come round again")
"#;

/// Plays a scene. None where that cannot be done.
fn play(sandbox: &Sandbox, scene: &str) -> Option<Finished> {
    if !is_root() {
        eprintln!("skipped: only root can act as other users");
        return None;
    }
    let unshare = |command: &[&str]| {
        let words = ["--pid", "--fork", "--kill-child", "--mount-proc"].iter().chain(command);
        words.fold(sandbox.program("unshare"), Call::arg)
    };
    if !unshare(&["sh", "-c", "echo 1 > /proc/sys/kernel/ns_last_pid"]).run().ended_well() {
        eprintln!("skipped: no right to make a pid namespace and to choose pids in it");
        return None;
    }
    sandbox.write("scene.py", format!("{STAGE}{scene}"));
    Some(unshare(&["python3", "scene.py", &sandbox.program_for_all()]).run().ok())
}

/// Gives the folder and the database to a user without rights; what `run_by_nobody` runs can use them.
fn give_to_nobody(sandbox: &Sandbox) {
    for entry in fs::read_dir(sandbox.dir()).unwrap() {
        sandbox.own(entry.unwrap().file_name().to_str().unwrap(), NOBODY, 0o700);
    }
    sandbox.own(".", NOBODY, 0o700);
}

fn run_by_nobody(sandbox: &Sandbox, line: &str) -> Call {
    let runner = sandbox.path("runner").display().to_string();
    line.split_whitespace().fold(sandbox.program(&runner).run_by(NOBODY), Call::arg)
}

/// Attempt 1 stays until it is ended, attempt 2 succeeds.
const STAYS: &str = "
[jobs.stays]
command = '[ $RUNNER_ATTEMPT -gt 1 ] || { echo $$ > pid; exec sleep 600; }'
backoff = '1ms'
";

#[test]
fn whoever_gets_the_pid_of_a_dead_leader_is_left_alone_and_holds_nothing_up() {
    for act in [
        "os.setpgid(0, 0); become(NOBODY)",
        // A daemon of the worker's own user: it forks twice.
        "os.setsid()",
        "os.setpgid(0, 0)",
    ] {
        let sandbox = Sandbox::new(STAYS);
        sandbox.add("stays");
        let scene = format!(
            r#"
first, leader = worker(), pid_in("pid")
first.kill(); first.wait()
end(leader)
def act(): {act}
innocent = leave(leader, act)
assert os.getpgid(innocent) == leader
assert worker("--drain").wait() == 0
assert is_alive(innocent)
"#
        );
        if play(&sandbox, &scene).is_none() {
            return;
        }
        assert_eq!(sandbox.job(1)["state"], "succeeded", "{act}");
    }
}

#[test]
fn a_process_of_another_user_in_the_group_of_an_attempt_holds_nothing_up() {
    let jobs = "[jobs.slow]\ncommand = 'echo $$ > slow; exec sleep 600'\ntimeout = '1s'\ngrace_period = '100ms'\nmax_attempts = 1\n";
    let sandbox = Sandbox::new(&format!("{STAYS}{jobs}"));
    sandbox.run("enqueue slow stays").ok();
    sandbox.program_for_all();
    if is_root() {
        give_to_nobody(&sandbox);
    }
    // Every process of a session may join each of its groups, as a job could that a launcher runs as another user.
    let scene = r#"
def worker_with_stranger(group, *options):
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            leader = pid_in(group)
            if os.fork() == 0:
                os.setpgid(0, leader); become(STRANGER)
                os.write(write, f"{os.getpid()} x".encode())
                wait()
            os._exit(0)
        os.write(write, f"{os.getpid()} ".encode())
        become(NOBODY)
        os.execv(RUNNER, ["runner", "work", "-j1", *options])
    text = b""
    while not text.endswith(b"x"): text += os.read(read, 99)
    return map(int, text.split()[:2])

_, first = worker_with_stranger("slow", "--max-jobs", "1")
assert os.getpgid(first) == pid_in("slow")
os.wait()
assert is_alive(first)

killed, second = worker_with_stranger("pid")
leader = pid_in("pid")
assert os.getpgid(second) == leader
end(killed); end(leader)
assert os.getpgid(second) == leader
assert worker("--drain", user=NOBODY).wait() == 0
assert is_alive(second)
"#;
    if play(&sandbox, scene).is_none() {
        return;
    }
    let job = |id: u32| run_by_nobody(&sandbox, &format!("inspect {id} --json")).run().ok().json();
    assert_eq!((&job(1)["error_code"], &job(2)["state"]), (&"TIMEOUT".into(), &"succeeded".into()));
}

#[test]
fn what_a_job_of_another_user_learns_says_nothing_about_other_jobs() {
    let sandbox = Sandbox::new(
        r#"
[jobs.stranger]
command = "env | grep -E 'MARK|WORKER_ID' > open/learnt; mv open/learnt open/marks; exec sleep 600"
launcher = ["setpriv", "--reuid=65534", "--clear-groups", "--"]
[jobs.again]
command = "test $RUNNER_ATTEMPT = 2"
backoff = "1ms"
max_attempts = 2
"#,
    );
    if !is_root() {
        eprintln!("skipped: only root can act as other users");
        return;
    }
    sandbox.own(".", 0, 0o755);
    fs::create_dir(sandbox.path("open")).unwrap();
    sandbox.own("open", NOBODY, 0o755);
    let _worker = sandbox.worker("-j2");
    sandbox.add("stranger");
    wait_until("the stranger has looked", || sandbox.path("open/marks").exists());
    let marks = sandbox.read("open/marks");
    let secret = sandbox.sql().text("SELECT mark FROM workers");
    assert!(marks.contains("MARK") && !marks.contains(&secret), "{marks}");
    let call = sandbox.program("sleep").arg("600").dir("/").run_by(NOBODY);
    let call = call.env("RUNNER_JOB_ID", "2").env("RUNNER_ATTEMPT", "1");
    let learnt = marks.lines().filter_map(|line| line.split_once('='));
    let call = learnt.fold(call, |call, (name, value)| call.env(name, value).env("RUNNER_MARK", value));
    let forged = Background::start(&sandbox, call);
    sandbox.add("again");
    sandbox.until_state(2, "succeeded");
    assert!(is_alive(forged.pid()), "it was taken for a process of the attempt");
}

#[test]
fn a_worker_in_another_mount_namespace_belongs_to_the_same_database() {
    let sandbox = Sandbox::new(STAYS);
    for folder in ["data", "seen"] {
        fs::create_dir(sandbox.path(folder)).unwrap();
        sandbox.own(folder, rustix::process::geteuid().as_raw(), 0o700);
        sandbox.run(&format!("--db {folder}/runner.db enqueue stays")).ok();
    }
    let unshare = |line: &str| sandbox.program("unshare").arg("--mount").arg("sh").arg("-c").arg(line);
    if !unshare("mount --bind data seen").run().ended_well() {
        eprintln!("skipped: no right to make a mount namespace");
        return;
    }
    let line = "mount --bind data seen && exec $0 --db seen/runner.db work -j1";
    let worker = Background::worker(&sandbox, unshare(line).arg(env!("CARGO_BIN_EXE_runner")));
    let left = sandbox.pid_of("pid");
    // Here another database has the path that the worker knows.
    let of_worker = sandbox.run("--db data/runner.db inspect workers --json").ok().json();
    assert_eq!(of_worker["alive"], true);
    worker.kill();
    assert!(is_alive(left));
    sandbox.run("--db data/runner.db work --drain").ok();
    assert!(!is_alive(left), "two attempts ran at once");
    let job = sandbox.run("--db data/runner.db inspect 1 --json").ok().json();
    assert_eq!((&job["state"], &job["attempts"]), (&"succeeded".into(), &2.into()));
}

/// A sandbox of nobody whose job 1 runs a process of root. Nobody may start it, and only root can end it.
fn with_a_process_of_root() -> Option<Sandbox> {
    if !is_root() {
        eprintln!("skipped: only root can act as other users");
        return None;
    }
    let sandbox = Sandbox::new(
        "[jobs.as-root]\ncommand = '[ $RUNNER_ATTEMPT -gt 1 ] || { echo $$ > pid; exec ./as-root --reuid=0 --clear-groups sleep 600; }'\nbackoff = '1ms'\n",
    );
    sandbox.program_for_all();
    give_to_nobody(&sandbox);
    let copied = sandbox.program("cp").arg("/usr/bin/setpriv").arg("as-root").run();
    if !copied.ended_well() {
        eprintln!("skipped: there is no setpriv here");
        return None;
    }
    sandbox.own("as-root", 0, 0o4755);
    let is_obeyed = sandbox.program("./as-root").run_by(NOBODY).arg("--reuid=0").arg("id").arg("-ru").run();
    if is_obeyed.stdout != "0\n" {
        eprintln!("skipped: nothing takes the rights of root here");
        return None;
    }
    run_by_nobody(&sandbox, "enqueue as-root").run().ok();
    Some(sandbox)
}

/// Waits until the process of job 1 has the rights of root and its worker has it on record. Without that record nothing would tell
/// after a crash whose process it is, because nobody may read the environment of root's.
fn recorded_process_of_root(sandbox: &Sandbox) -> i32 {
    let pid = sandbox.pid_of("pid");
    wait_until("it is root's", || {
        fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| status.contains("Uid:\t0\t0"))
    });
    wait_until("it is on record", || {
        !run_by_nobody(sandbox, "inspect 1.1 --json").run().ok().json()["started_at"].is_null()
    });
    pid
}

#[test]
fn a_process_that_proc_hides_is_not_gone() {
    let Some(sandbox) = with_a_process_of_root() else { return };
    let hiding = |line: &str| {
        let line = format!(
            "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups ./runner {line}"
        );
        sandbox.program("unshare").arg("--mount").arg("sh").arg("-c").arg(line)
    };
    let worker = Background::worker(&sandbox, hiding("work -j1"));
    let left = recorded_process_of_root(&sandbox);
    worker.kill();
    let mut second = Background::worker(&sandbox, hiding("work --drain"));
    second.until_it_says(&format!("process {left} of job 1, attempt 1"));
    assert!(is_alive(left));
    let job = || run_by_nobody(&sandbox, "inspect 1 --json").run().ok().json();
    assert_eq!((&job()["state"], &job()["attempts"]), (&"running".into(), &0.into()));
    signal(left, Signal::KILL);
    second.wait().ok();
    assert_eq!(job()["state"], "succeeded");
}

#[test]
fn a_database_is_not_replaced_while_somebody_elses_process_is_left_of_its_jobs() {
    let Some(sandbox) = with_a_process_of_root() else { return };
    run_by_nobody(&sandbox, "backup copy.db").run().ok();
    let worker = Background::worker(&sandbox, run_by_nobody(&sandbox, "work -j1"));
    let left = recorded_process_of_root(&sandbox);
    worker.kill();
    let restore = || run_by_nobody(&sandbox, "restore copy.db").run();
    restore()
        .exits(75)
        .prints("")
        .says("nothing was restored")
        .says(&format!("process {left} of job 1, attempt 1"))
        .says("kill -KILL");
    assert!(is_alive(left));
    signal(left, Signal::KILL);
    restore().ok();
}

/// A process of another user whose memory nobody can look at: one thread waits for a file system that does not answer, and holds
/// the memory for reading; another wants to change it. `seized` gives its pid.
const SEIZE: &str = r#"
import ctypes, mmap, struct, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

# A file system with one file, of which no read is answered.
def serve(fuse):
    file = struct.pack("<6Q10I", 2, 65536, 8, 0, 0, 0, 0, 0, 0, 0o100644, 1, 0, 0, 0, 4096, 0)
    root = struct.pack("<6Q10I", 1, 4096, 8, 0, 0, 0, 0, 0, 0, 0o40755, 1, 0, 0, 0, 4096, 0)
    while True:
        request = os.read(fuse, 1 << 18)
        _, code, unique, node = struct.unpack("<IIQQ", request[:24])
        error, answer = 0, b""
        if code == 26: answer = struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 12, 9, 65536, 1, 16, 0, 0, *[0] * 7)
        elif code == 1: answer = struct.pack("<QQQQII", 2, 0, 100, 100, 0, 0) + file
        elif code == 3: answer = struct.pack("<QII", 100, 0, 0) + (root if node == 1 else file)
        elif code in (14, 27): answer = struct.pack("<QII", 1, 0, 0)
        elif code == 15:
            open("stalled", "w").close()
            continue
        elif code in (2, 36, 42): continue
        else: error = -38
        os.write(fuse, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)

def seized():
    os.mkdir("mnt")
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"fuse", b"mnt", b"fuse", 0, options.encode()): sys.exit(0)
    if os.fork() == 0: serve(fuse)
    # With the server the file system goes, and all that waits for it.
    os.close(fuse)
    file = os.open("mnt/file", os.O_RDONLY)
    process = os.fork()
    if process == 0:
        become(NOBODY)
        libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, as after an exec
        page = libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_PRIVATE, file, 0)
        own = os.getpid()
        if os.fork() == 0:
            os.pread(os.open(f"/proc/{own}/mem", os.O_RDONLY), 8, page)
        while True: libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    until("a read stalls", lambda: os.path.exists("stalled"))
    until("the memory is held", lambda: not is_readable(f"/proc/{process}/environ"))
    return process

def is_readable(path):
    return subprocess.run(["timeout", "-s", "KILL", "0.2", "cat", path], capture_output=True).returncode == 0
"#;

#[test]
fn a_process_whose_memory_another_user_holds_keeps_no_worker_waiting() {
    let sandbox = Sandbox::new("[jobs.again]\ncommand = 'test $RUNNER_ATTEMPT = 3'\nbackoff = '1ms'\n");
    sandbox.add("again");
    let scene = format!(
        r#"{SEIZE}
if not os.path.exists("/dev/fuse"): sys.exit(0)
process = seized()
assert worker("--drain").wait() == 0
assert is_alive(process)
open("played", "w").close()
"#
    );
    if play(&sandbox, &scene).is_none() {
        return;
    }
    if !sandbox.path("played").exists() {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    assert_eq!(sandbox.job(1)["state"], "succeeded");
}
