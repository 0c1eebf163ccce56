//! Where and with what it was measured.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use crate::args::Args;
use crate::sample::Sample;
use crate::table::short;
use crate::timed::find;

/// A program whose version matters, who tells it, and how one gets it.
struct Program(&'static str, &'static [&'static str], &'static str);

const PROGRAMS: [Program; 8] = [
    Program("xargs", &["xargs", "--version"], "apt-get install findutils"),
    Program("sqlite3", &["sqlite3", "--version"], "apt-get install sqlite3"),
    Program("parallel", &["parallel", "--version"], "apt-get install parallel"),
    Program("tsp", &["tsp", "-V"], "apt-get install task-spooler"),
    Program("nq", &["dpkg-query", "-W", "-f", "${Version} (package)", "nq"], "apt-get install nq"),
    Program("pueue", &["pueue", "--version"], "cargo install --locked pueue"),
    Program(
        "huey_consumer",
        &["python3", "-c", "import huey; print('Huey', huey.__version__)"],
        "pip install huey",
    ),
    Program("rustc", &["rustc", "--version"], "rustup toolchain install stable"),
];

/// A list for the head of the table.
pub fn describe(args: &Args) -> anyhow::Result<String> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("?");
    let dir = args.dir.to_string_lossy();
    let mut lines = vec![
        format!("- date: {}", first_line("date", &["-u", "+%F %H:%M UTC"])),
        format!(
            "- machine: {} CPUs, {}; Linux {}; load {}",
            thread::available_parallelism()?,
            model.trim_start_matches([' ', '\t', ':']),
            read("/proc/sys/kernel/osrelease").trim(),
            read("/proc/loadavg").split(' ').next().unwrap_or("?"),
        ),
        format!("- files on {}", first_line("findmnt", &["-n", "-o", "FSTYPE,SOURCE,OPTIONS", "-T", &dir])),
        format!("- one fdatasync of 4 KiB there: {}", sync(&args.dir)?),
        format!("- command: {}", std::env::args().skip(1).collect::<Vec<_>>().join(" ")),
        format!(
            "- {}: {}",
            first_line(&args.runner.to_string_lossy(), &["--version"]),
            args.runner.display()
        ),
        format!("- SQLite in it: {}", rusqlite::version()),
    ];
    for Program(program, ask, install) in PROGRAMS {
        lines.push(if is_installed(program) {
            format!("- {program}: {}", first_line(ask[0], &ask[1..]))
        } else {
            format!("- {program}: not installed ({install})")
        });
    }
    Ok(lines.join("\n") + "\n")
}

/// What every durable thing is made of.
fn sync(dir: &Path) -> anyhow::Result<String> {
    const TIMES: u64 = 100;
    let file = tempfile::tempfile_in(dir)?;
    file.write_all_at(&vec![1; usize::try_from(TIMES * 4096)?], 0)?;
    file.sync_all()?;
    let mut times = Vec::new();
    for place in 0..TIMES {
        file.write_all_at(&[2; 4096], place * 4096)?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let times = Sample::new(times);
    Ok(format!("{} ms, p99 {} ms", short(times.median()), short(times.percentile(99))))
}

/// Is there a program of this name in `PATH`?
pub fn is_installed(program: &str) -> bool {
    find(Path::new(program)).is_some()
}

/// The first line that a program prints.
fn first_line(program: &str, words: &[&str]) -> String {
    let done = Command::new(program).args(words).output();
    let text = done.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("?").to_owned()
}
