//! What a crash costs: the same commands given to runner and to other queues, which are killed, and whose disk is cut off.
//!
//! ```text
//! cargo bench --bench league                       every program, three rounds of each group
//! cargo bench --bench league -- kills runner nq    this group and these programs alone
//! ```
//!
//! It installs the other programs below `target/tmp/league`, from the registries of apt, crates.io and `PyPI`, and touches
//! nothing else of the machine. Groups:
//!
//! * `calm`: nothing happens. Jobs a second, and the time from the first call to the first start.
//! * `kills`: `kill -9` of every process of the program at random moments: the daemon, the worker, the client that is
//!   waiting for an answer. The commands that it has started live on, as they do in life. Then it is started again.
//! * `power`: the files of the program lie on an ext4 of their own, whose kernel is told at random moments to write nothing
//!   any more (`EXT4_IOC_SHUTDOWN`), and all processes are killed. It is mounted anew, and the program is started again.
//!   What ext4 had written is there, as it would be on a disk without a cache of its own: kinder than life. Needs root.
//!
//! Each program is used as its own documentation says; `peers.rs` names the section. The commands
//! themselves write when they start and end, so that the judge needs nothing from the program but what it says of ends.

mod disk;
mod install;
mod job;
mod judge;
mod peers;
mod place;
mod round;
mod runner;
mod tools;

use std::collections::BTreeMap;
use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

use judge::Verdict;
use round::{Calm, Fault};
use tools::CONTENDERS;

const HELP: &str = "\
cargo bench --bench league -- [--rounds N] [--faults N] [--seed N] [--dir DIR] [GROUP…] [PROGRAM…]

--rounds N   rounds of each group [default: 3]
--faults N   kills or power cuts in each round [default: 5]
--seed N     draws the same moments again; each round prints its own [default: a random one]
--dir DIR    where the programs keep their files [default: target/tmp]";

const GROUPS: [&str; 3] = ["calm", "kills", "power"];

/// The options of the command line.
pub struct League {
    rounds: usize,
    pub faults: usize,
    seed: u64,
    /// Parent of the folders in which the programs keep their files.
    pub dir: PathBuf,
    /// Where the other programs are installed.
    pub installed: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == job::FLAG) {
        return job::run(&arguments[1..]);
    }
    let own = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let mut league = League {
        rounds: 3,
        faults: 5,
        seed: rand::random::<u32>().into(),
        installed: own.join("league"),
        dir: own,
    };
    let mut words = arguments.into_iter();
    let mut asked = Vec::new();
    while let Some(word) = words.next() {
        let mut number = || words.next().unwrap_or_default().parse::<u32>().context("a number is missing");
        match word.as_str() {
            "--bench" => {} // added by cargo
            "--rounds" => league.rounds = number()?.try_into()?,
            "--faults" => league.faults = number()?.try_into()?,
            "--seed" => league.seed = number()?.into(),
            "--dir" => league.dir = PathBuf::from(words.next().unwrap_or_default()).canonicalize()?,
            "--help" | "-h" => {
                let names = CONTENDERS.map(|contender| contender.name);
                println!("{HELP}\n\nGroups: {}\nPrograms: {}", GROUPS.join(" "), names.join(" "));
                return Ok(());
            }
            name if GROUPS.contains(&name) || CONTENDERS.iter().any(|known| known.name == name) => {
                asked.push(word);
            }
            other => bail!("there is no group, program or option {other}; see --help"),
        }
    }
    if rustix::process::geteuid().is_root() && env::var_os("OWN_MOUNTS").is_none() {
        // Nobody else sees the disks that are mounted.
        let error = Command::new("unshare")
            .args(["--mount", "--propagation", "private"])
            .arg(env::current_exe()?)
            .args(env::args_os().skip(1))
            .args(["--seed", &league.seed.to_string()])
            .env("OWN_MOUNTS", "yes")
            .exec();
        bail!("unshare: {error}");
    }
    play(&league, &asked)
}

/// What was found out about one program.
#[derive(Default)]
struct Row {
    calm: Vec<Calm>,
    kills: Verdict,
    power: Verdict,
}

fn play(league: &League, asked: &[String]) -> anyhow::Result<()> {
    let is_asked = |name: &str, all: &[&str]| {
        let mut of_them = asked.iter().filter(|word| all.contains(&word.as_str())).peekable();
        of_them.peek().is_none() || of_them.any(|word| word == name)
    };
    let names = CONTENDERS.map(|contender| contender.name);
    let contenders: Vec<_> = CONTENDERS.iter().filter(|contender| is_asked(contender.name, &names)).collect();
    install::install(league)?;
    install::describe(league)?;
    println!("seed {}, {} commands a round, {} rounds", league.seed, round::COMMANDS, league.rounds);
    let has_root = rustix::process::geteuid().is_root();
    if !has_root {
        println!("power: not tried, for it needs root");
    }
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for round in 0..league.rounds {
        for group in GROUPS.into_iter().filter(|group| is_asked(group, &GROUPS)) {
            for turn in 0..contenders.len() {
                // They take turns, another one first in each round.
                let contender = contenders[(turn + round) % contenders.len()];
                let row = rows.entry(contender.name).or_default();
                let seed = league.seed + round as u64;
                match group {
                    "calm" if contender.is_timed => row.calm.push(round::calm(league, contender)?),
                    "kills" => row.kills.add(&round::play(league, contender, Fault::Kill, seed)?),
                    "power" if has_root => row.power.add(&round::play(league, contender, Fault::Cut, seed)?),
                    _ => {}
                }
            }
        }
    }
    tell(&rows);
    Ok(())
}

/// Prints the tables, as they stand in `docs/comparison.md`.
fn tell(rows: &BTreeMap<&str, Row>) {
    let own = rows.get(CONTENDERS[0].name).map(|row| row.calm.as_slice()).unwrap_or_default();
    println!("\nprogram | slots | jobs/s | runner's over these | first start, ms\n---|---|---|---|---");
    for contender in &CONTENDERS {
        let calm = rows.get(contender.name).map(|row| row.calm.as_slice()).unwrap_or_default();
        if calm.is_empty() {
            continue;
        }
        let rate = judge::median(calm.iter().map(|calm| calm.rate));
        let soon = judge::median(calm.iter().map(|calm| calm.first_start_ms));
        let ratio = judge::median(own.iter().zip(calm).map(|(own, other)| own.rate / other.rate));
        println!("{} | {} | {rate:.0} | {ratio:.1} | {soon:.1}", contender.name, contender.slots);
    }
    for (group, of) in [
        ("kill -9", (|row| &row.kills) as fn(&Row) -> &Verdict),
        ("power cut", (|row| &row.power) as fn(&Row) -> &Verdict),
    ] {
        if rows.values().all(|row| of(row).faults == 0) {
            continue;
        }
        println!(
            "\nafter a {group}: program | how often | acknowledged | lost | started twice | overlapping | end unknown | note"
        );
        println!("---|---|---|---|---|---|---|---");
        for contender in &CONTENDERS {
            if let Some(row) = rows.get(contender.name) {
                println!("{} | {} | {}", contender.name, of(row), contender.note);
            }
        }
    }
}
