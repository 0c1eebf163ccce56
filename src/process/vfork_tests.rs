//! What a job is given at its birth, however many are born at once and whatever disturbs them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

use super::super::image::with_image;
use super::super::spawn::spawn as start;
use super::super::testing::Bed;
use super::super::{cleanse, portable};
use super::*;
use crate::model::{Exit, Status};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Runs a test in a process and a group of its own: it changes what all threads share.
fn alone(test: &str, inside: impl FnOnce()) {
    const INSIDE: &str = "RUNNER_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let name = format!("process::vfork::tests::{test}");
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", &name, "--nocapture"]).env(INSIDE, "1").process_group(0).output();
    let output = output.unwrap();
    let said = text([output.stdout, output.stderr].concat());
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn no_signal_is_ignored_or_blocked() {
    alone("no_signal_is_ignored_or_blocked", || {
        // SAFETY: plain calls, on signals that nothing here uses and on this thread's mask.
        unsafe {
            libc::signal(libc::SIGUSR2, libc::SIG_IGN);
            let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(mask.as_mut_ptr());
            libc::sigaddset(mask.as_mut_ptr(), libc::SIGUSR1);
            libc::pthread_sigmask(libc::SIG_BLOCK, mask.as_ptr(), ptr::null_mut());
        }
        let status = text(Bed::argv(&["cat", "/proc/self/status"]).run().stdout.bytes);
        for set in ["SigIgn:\t", "SigBlk:\t", "SigPnd:\t", "ShdPnd:\t"] {
            let line = status.lines().find_map(|line| line.strip_prefix(set));
            assert_eq!(line, Some("0000000000000000"), "{set}");
        }
        let own = fs::read_to_string("/proc/thread-self/status").unwrap();
        let blocked = format!("SigBlk:\t{:016x}", 1 << (libc::SIGUSR1 - 1));
        assert!(own.contains(&blocked), "the thread's own mask is another now: {own}");
    });
}

#[test]
fn those_born_at_once_do_not_get_each_others_pipes() {
    cleanse();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let bed = Bed::argv(&["ls", "-l", "/proc/self/fd"]);
                for _ in 0..30 {
                    let open = text(bed.run().stdout.bytes);
                    let pipes: BTreeSet<_> =
                        open.lines().filter_map(|line| line.split_once("pipe:[")).map(|(_, id)| id).collect();
                    assert_eq!((pipes.len(), open.matches("pipe:[").count()), (2, 2), "{open}");
                }
            });
        }
    });
}

static WORKER: AtomicI32 = AtomicI32::new(0);
static RAN_ELSEWHERE: AtomicBool = AtomicBool::new(false);
static RAN_HERE: AtomicBool = AtomicBool::new(false);

extern "C" fn note_where(_signal: c_int) {
    // SAFETY: one system call that cannot fail.
    let here = unsafe { libc::getpid() } == WORKER.load(Ordering::Relaxed);
    let ran = if here { &RAN_HERE } else { &RAN_ELSEWHERE };
    ran.store(true, Ordering::Relaxed);
}

#[test]
fn signals_to_the_worker_s_group_are_not_the_job_s() {
    alone("signals_to_the_worker_s_group_are_not_the_job_s", || {
        WORKER.store(std::process::id().cast_signed(), Ordering::Relaxed);
        let signals = [libc::SIGTERM, libc::SIGWINCH];
        for signal in signals {
            // SAFETY: the handler takes one argument, and does nothing that a handler may not do.
            unsafe { libc::signal(signal, note_where as extern "C" fn(c_int) as libc::sighandler_t) };
        }
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    for signal in signals {
                        // SAFETY: numbers only; the group is this process's alone, but for what it starts.
                        unsafe { libc::kill(0, signal) };
                    }
                }
            });
            let bed = Bed::argv(&["true"]);
            let endings: Vec<_> = (0..500).map(|_| bed.run().ending).collect();
            over.store(true, Ordering::Relaxed);
            assert_eq!(endings, [Exit::by_itself(Status::Exited(0)); 500]);
        });
        assert!(RAN_HERE.load(Ordering::Relaxed), "no signal came");
        assert!(!RAN_ELSEWHERE.load(Ordering::Relaxed), "a child ran the worker's handler");
    });
}

#[test]
fn a_job_is_still_started_where_this_way_is_shut() {
    alone("a_job_is_still_started_where_this_way_is_shut", || {
        shut_clone();
        let bed = Bed::argv(&["cat", "/proc/self/stat"]);
        let nothing = File::open("/dev/null").unwrap();
        let streams = [nothing.as_fd(); 3];
        let refused = bed.launch(|launch| with_image(launch, |image| spawn(image, streams)));
        assert!(refused.unwrap().is_none(), "it is not shut");
        let stat = text(bed.run().stdout.bytes);
        let [pid, _, _, _, group] = stat.split(' ').take(5).collect::<Vec<_>>()[..] else { panic!("{stat}") };
        assert_eq!(pid, group);
    });
}

/// From here on the kernel refuses a `clone` that asks for a handle, as a container may.
fn shut_clone() {
    let step = |code: u32, k, jt, jf| libc::sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k };
    let load = |at| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0);
    let done = |with| step(libc::BPF_RET | libc::BPF_K, with, 0, 0);
    let number = u32::try_from(libc::SYS_clone).unwrap();
    let mut steps = [
        load(0), // the number of the call
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number, 0, 3),
        load(16), // its flags
        step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, libc::CLONE_PIDFD.cast_unsigned(), 0, 1),
        done(libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned()),
        done(libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: 6, filter: steps.as_mut_ptr() };
    // SAFETY: the filter is whole and lives for the call, which copies it; it is this thread's alone.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

#[test]
fn both_ways_give_the_same() {
    let line = "tr a-z A-Z; env | grep -v ^_= | sort >&2; pwd";
    let mut bed = Bed::shell(line).env("HOME", "/home").env("A", "a=b\nc");
    fs::write(bed.path("input"), "words\n").unwrap();
    let seen = [start, portable::spawn].map(|start| {
        bed.stdin = Some(File::open(bed.path("input")).unwrap());
        let spawned = bed.launch(start).unwrap();
        let seen = [spawned.stdout, spawned.stderr].map(|stream| {
            let mut bytes = Vec::new();
            File::from(stream).read_to_end(&mut bytes).unwrap();
            text(bytes)
        });
        waitpid(Some(spawned.pid), WaitOptions::empty()).unwrap();
        seen
    });
    assert_eq!(seen[0], seen[1]);
    assert!(seen[0][0].starts_with("WORDS\n/"), "{}", seen[0][0]);
}

#[test]
fn each_variable_is_there_once() {
    let bed = Bed::argv(&["env", "-0"]).env("HOME", "/home").env("RUNNER_JOB_NAME", "a lie");
    let variables = text(bed.run().stdout.bytes);
    let names: Vec<_> =
        variables.split_terminator('\0').filter_map(|entry| entry.split('=').next()).collect();
    let once: BTreeSet<_> = names.iter().collect();
    assert_eq!(names.len(), once.len(), "{variables}");
    assert!(variables.contains("HOME=/home\0") && variables.contains("RUNNER_JOB_NAME=test\0"));
    assert!(names.contains(&"PATH"), "the worker's own");
}

#[test]
fn streams_may_come_from_the_numbers_that_they_are_to_have() {
    let bed = Bed::argv(&["readlink", "/proc/self/fd/0", "/proc/self/fd/2"]);
    let (mut reader, writer) = io::pipe().unwrap();
    let (stdin, stderr) = (io::stdin(), io::stderr());
    let streams = [stderr.as_fd(), writer.as_fd(), stdin.as_fd()];
    let born = bed.launch(|launch| with_image(launch, |image| spawn(image, streams))).unwrap().unwrap();
    drop(writer);
    let mut seen = String::new();
    reader.read_to_string(&mut seen).unwrap();
    waitpid(Some(born.pid), WaitOptions::empty()).unwrap();
    let own = |number| fs::read_link(format!("/proc/self/fd/{number}")).unwrap().display().to_string();
    assert_eq!(seen, format!("{}\n{}\n", own(2), own(0)));
}

#[test]
fn the_path_is_searched_as_execvp_does() {
    let mut bed = Bed::argv(&["chosen"]);
    let prepare = "mkdir shut empty yes no text; ln -s /bin/true yes/chosen; ln -s /bin/false no/chosen
        echo echo > shut/chosen; echo echo > text/chosen; chmod 755 text/chosen; ln -s /bin/false chosen";
    let prepared = Command::new("sh").args(["-ec", prepare]).current_dir(bed.folder.path()).status();
    assert!(prepared.unwrap().success());
    for (path, expected) in [
        ("yes:no", "exit 0"),
        ("no:yes", "exit 1"),
        ("gone:empty:shut/chosen:yes", "exit 0"),
        ("shut:yes", "exit 0"),
        ("shut:empty", "not executable: chosen"),
        (":yes", "exit 1"),
        ("yes:", "exit 0"),
        ("", "exit 1"),
        ("empty", "no such program: chosen"),
        ("text:yes", "not executable: chosen: neither a binary of this machine nor a script with a #! line"),
    ] {
        bed = bed.env("PATH", path);
        let over = bed.run();
        let found = match over.ending.status {
            Some(Status::Exited(status)) => format!("exit {status}"),
            _ => over.message.unwrap_or_default(),
        };
        assert_eq!(found, expected, "{path}");
    }
    bed = bed.env("PATH", "shut:empty");
    let why = bed.launch(start).unwrap_err().raw_os_error();
    assert_eq!(why, Some(libc::EACCES), "what comes later hides what was found");
}
