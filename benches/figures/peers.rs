//! The same drain by the queues that people would use instead: jobs a second, against runner's in the same repetition.
//!
//! Each peer is given what it needs before the clock starts, and as many jobs as it does in a few seconds. What is left
//! out of its time is said where it is left out.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::Context;
use crate::bed::{Bed, wait_until};
use crate::drain::runner_rate;
use crate::machine::is_installed;
use crate::sample::{Sample, float, median};
use crate::table::{Row, Target, short};
use crate::timed::{interleaved, program, seconds};

/// Gives jobs a second.
type Drain = fn(&Context, usize) -> anyhow::Result<f64>;

struct Peer {
    name: &'static str,
    /// The program that must be there, and how one gets it.
    program: &'static str,
    install: &'static str,
    /// In the full form; in the quick one the last alone.
    slots: &'static [usize],
    bound: f64,
    drain: Option<Drain>,
}

const PEERS: [Peer; 6] = [
    Peer {
        name: "GNU parallel --joblog",
        program: "parallel",
        install: "apt-get install parallel",
        slots: &[2, 8],
        bound: 8.0,
        drain: Some(parallel),
    },
    Peer {
        name: "pueue",
        program: "pueued",
        install: "cargo install --locked pueue",
        slots: &[8],
        bound: 120.0,
        drain: Some(pueue),
    },
    Peer {
        name: "nq",
        program: "nq",
        install: "apt-get install nq",
        slots: &[1],
        bound: 9.0,
        drain: Some(nq),
    },
    Peer {
        name: "task-spooler",
        program: "tsp",
        install: "apt-get install task-spooler",
        slots: &[1, 4],
        bound: 0.0,
        drain: Some(task_spooler),
    },
    Peer {
        name: "apalis-sqlite",
        program: "",
        install: "a library: it takes a program of one's own to run commands",
        slots: &[4],
        bound: 1.5,
        drain: None,
    },
    Peer {
        name: "Huey",
        program: "huey_consumer",
        install: "pip install huey",
        slots: &[4],
        bound: 3.0,
        drain: Some(huey),
    },
];

pub fn rows(context: &Context) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for peer in &PEERS {
        let target = if peer.bound > 0.0 { Target::AtLeast(peer.bound) } else { Target::None };
        let left_out = context.size(peer.slots.len() - 1, 0);
        for slots in &peer.slots[left_out..] {
            let plural = if *slots == 1 { "" } else { "s" };
            let measure = format!("drain /bin/true, {slots} slot{plural}, against {}", peer.name);
            let Some(drain) = peer.drain.filter(|_| is_installed(peer.program)) else {
                rows.push(Row::not_measured(measure, peer.install, "×", target));
                continue;
            };
            let [runner, other] = interleaved(context.size(3, 7), |contender| match contender {
                0 => runner_rate(context, *slots),
                _ => drain(context, *slots).with_context(|| peer.name.to_owned()),
            })?;
            let note =
                format!("jobs/s: runner {}, {} {}", short(median(&runner)), peer.name, short(median(&other)));
            rows.push(Row::ratio(measure, Sample::ratios(&runner, &other), target).note(note));
        }
    }
    Ok(rows)
}

/// The whole process, as with `xargs`.
fn parallel(context: &Context, slots: usize) -> anyhow::Result<f64> {
    let jobs = context.size(200, 600);
    let bed = Bed::new(&context.args)?;
    fs::write(bed.path("input"), "x\n".repeat(jobs))?;
    let mut call = program("parallel");
    call.args(["-j", &slots.to_string(), "--joblog", "log", "/bin/true"]);
    call.env("HOME", bed.path("")).stdin(File::open(bed.path("input"))?).current_dir(bed.path(""));
    let took = seconds(&mut call)?;
    let lines = fs::read_to_string(bed.path("log"))?.lines().count();
    ensure!(lines == jobs + 1, "its log has {lines} lines");
    Ok(float(jobs) / took)
}

/// Everything is enqueued behind a job that waits for a pipe; the clock starts when that is let go.
fn nq(context: &Context, _slots: usize) -> anyhow::Result<f64> {
    let jobs = context.size(200, 600);
    let bed = Bed::new(&context.args)?;
    let call = |words: &[&str]| {
        let mut command = program("nq");
        command.args(words).env("NQDIR", bed.path("")).current_dir(bed.path(""));
        command
    };
    let gate = Gate::new(&bed)?;
    seconds(&mut call(&["sh", "-c", Gate::WAIT]))?;
    for _ in 0..jobs {
        seconds(&mut call(&["/bin/true"]))?;
    }
    let began = Instant::now();
    gate.open()?;
    seconds(&mut call(&["-w"]))?;
    Ok(float(jobs) / began.elapsed().as_secs_f64())
}

/// Likewise; it takes no more than 1 000 jobs at once.
fn task_spooler(context: &Context, slots: usize) -> anyhow::Result<f64> {
    let jobs = context.size(500, 900);
    let bed = Bed::new(&context.args)?;
    let call = |words: &[&str]| {
        let mut command = program("tsp");
        command.args(words).env("TS_SOCKET", bed.socket("tsp")).env("TMPDIR", bed.path(""));
        command.env("TS_MAXFINISHED", "2000").current_dir(bed.path(""));
        command
    };
    let gate = Gate::new(&bed)?;
    seconds(&mut call(&["-S", "1"]))?;
    seconds(&mut call(&["sh", "-c", Gate::WAIT]))?;
    for _ in 0..jobs {
        seconds(&mut call(&["/bin/true"]))?;
    }
    seconds(&mut call(&["-S", &slots.to_string()]))?;
    let began = Instant::now();
    gate.open()?;
    let left = || {
        let listed = call(&["-l"]).output().map(|done| done.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&listed).into_owned();
        text.lines().filter(|line| line.contains(" queued ") || line.contains(" running ")).count()
    };
    while left() > 0 {
        thread::sleep(Duration::from_millis(5));
    }
    let took = began.elapsed().as_secs_f64();
    seconds(&mut call(&["-K"]))?;
    Ok(float(jobs) / took)
}

/// A daemon of its own. The jobs are added while it is paused; adding them is not timed.
fn pueue(context: &Context, slots: usize) -> anyhow::Result<f64> {
    let jobs = context.size(40, 150);
    let bed = Bed::new(&context.args)?;
    let dir = bed.path("pueue");
    let folder = dir.display();
    fs::create_dir_all(&dir)?;
    fs::write(
        bed.path("pueue.yml"),
        format!(
            "shared:\n  pueue_directory: {folder}\n  runtime_directory: {folder}\n  use_unix_socket: true\n  unix_socket_path: {}\n",
            bed.socket("pueue").display()
        ),
    )?;
    let call = |name: &str, words: &[&str]| -> Command {
        let mut command = Command::new(name);
        command.arg("-c").arg(bed.path("pueue.yml")).args(words).env("HOME", bed.path(""));
        command.stdin(Stdio::null());
        command
    };
    let daemon = call("pueued", &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut daemon = Daemon(daemon);
    wait_until("pueued answers", || {
        call("pueue", &["status"]).output().is_ok_and(|done| done.status.success())
    })?;
    seconds(&mut call("pueue", &["parallel", &slots.to_string()]))?;
    seconds(&mut call("pueue", &["pause"]))?;
    for _ in 0..jobs {
        seconds(&mut call("pueue", &["add", "--", "/bin/true"]))?;
    }
    let began = Instant::now();
    seconds(&mut call("pueue", &["start"]))?;
    let done = || {
        let status =
            call("pueue", &["status", "--json"]).output().map(|done| done.stdout).unwrap_or_default();
        String::from_utf8_lossy(&status).matches("\"Success\"").count()
    };
    while done() < jobs {
        ensure!(daemon.0.try_wait()?.is_none(), "its daemon has ended");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(float(jobs) / began.elapsed().as_secs_f64())
}

/// A library, so a program that uses it: a task that starts a process. It is started and filled before its clock runs.
fn huey(context: &Context, slots: usize) -> anyhow::Result<f64> {
    let jobs = context.size(500, 1_500);
    let bed = Bed::new(&context.args)?;
    let mut call = program("python3");
    call.args(["-c", include_str!("huey.py"), "huey.db", &jobs.to_string(), &slots.to_string()]);
    let done = call.env("HOME", bed.path("")).current_dir(bed.path("")).output()?;
    ensure!(done.status.success(), "it ended with {}", String::from_utf8_lossy(&done.stderr));
    Ok(float(jobs) / String::from_utf8(done.stdout)?.trim().parse::<f64>()?)
}

/// A process that is ended when this is dropped.
struct Daemon(std::process::Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A pipe that a first job waits for, so that those behind it wait too.
struct Gate<'a>(&'a Bed);

impl<'a> Gate<'a> {
    /// What the job in front runs, in the folder of the bed.
    const WAIT: &'static str = "read line < gate";

    fn new(bed: &'a Bed) -> anyhow::Result<Self> {
        seconds(program("mkfifo").arg(bed.path("gate")))?;
        Ok(Self(bed))
    }

    /// Returns when the job in front has taken the line.
    fn open(self) -> anyhow::Result<()> {
        Ok(File::options().write(true).open(self.0.path("gate"))?.write_all(b"go\n")?)
    }
}
