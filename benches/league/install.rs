//! Installs the other programs from their registries, below a folder of this one, and tells their versions.

use std::fs;
use std::process::Command;
use std::thread;

use anyhow::ensure;

use crate::League;

/// The packages of Debian; they are unpacked, not installed.
const PACKAGES: [&str; 3] = ["task-spooler", "nq", "parallel"];

const PUEUE: &str = "4.0.4";

const HUEY: &str = "3.5.4";

pub fn install(league: &League) -> anyhow::Result<()> {
    let to = &league.installed;
    fs::create_dir_all(to)?;
    if !to.join("root").exists() {
        run(Command::new("apt-get").arg("download").args(PACKAGES).current_dir(to))?;
        let unpack =
            "for package in *.deb; do dpkg-deb --extract \"$package\" unpacked; done; mv unpacked root";
        run(Command::new("sh").args(["-ec", unpack]).current_dir(to))?;
    }
    if !to.join("bin/pueued").exists() {
        let words = ["install", "--locked", "pueue", "--version", PUEUE, "--root"];
        run(Command::new("cargo").args(words).arg(to))?;
    }
    if !to.join("venv/bin/huey_consumer").exists() {
        run(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(to))?;
        let huey = format!("huey=={HUEY}");
        run(Command::new("venv/bin/pip").args(["install", "--quiet", &huey]).current_dir(to))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    println!("$ {command:?}");
    ensure!(command.status()?.success(), "{command:?} failed");
    Ok(())
}

/// Prints the machine and the versions of everything that is compared.
pub fn describe(league: &League) -> anyhow::Result<()> {
    let cpus = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpus.lines().find(|line| line.starts_with("model name")).unwrap_or("?");
    println!("{} CPUs, {model}", thread::available_parallelism()?);
    println!("Linux {}", fs::read_to_string("/proc/sys/kernel/osrelease")?.trim());
    println!("load {}", fs::read_to_string("/proc/loadavg")?.trim());
    println!("files in {}", league.dir.display());
    println!("{}", first_line(Command::new(env!("CARGO_BIN_EXE_runner")).arg("--version"))?);
    println!("{}", first_line(Command::new(league.installed.join("bin/pueue")).arg("--version"))?);
    println!("huey {HUEY}");
    let mut packages: Vec<_> = fs::read_dir(&league.installed)?.flatten().map(|entry| entry.path()).collect();
    packages.retain(|path| path.extension().is_some_and(|end| end == "deb"));
    packages.sort();
    for package in packages {
        println!("{}", package.file_name().unwrap_or_default().display());
    }
    Ok(())
}

fn first_line(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}
