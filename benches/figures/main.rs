//! Compares runner with the programs around it: how many jobs a second, how soon, how much memory and disk.
//!
//! ```text
//! cargo bench --bench figures                  every group in its short form
//! cargo bench --bench figures -- drain claim   these groups alone
//! cargo bench --bench figures -- --long        more jobs and rounds, up to 10 M jobs in a file
//! ```
//!
//! Machines drift by a factor of two within minutes, so only ratios inside one run mean anything. Contenders take
//! turns in every round, and a row shows the median of the rounds' ratios. A contender that did not finish its whole
//! work is an error. Everything goes through the command line, as for a user.

mod harness;
mod peers;
mod size;
mod speed;

use std::env;
use std::path::PathBuf;

use anyhow::bail;
use harness::Bench;

type Group = fn(&Bench) -> anyhow::Result<()>;

const GROUPS: [(&str, Group); 8] = [
    ("drain", speed::drain),
    ("enqueue", speed::enqueue),
    ("batch", speed::batch),
    ("pickup", speed::pickup),
    ("claim", size::claim),
    ("inspect", size::inspect),
    ("footprint", size::footprint),
    ("peers", peers::drain),
];

const HELP: &str = "\
cargo bench --bench figures -- [--long] [--runner PATH] [--dir DIR] [GROUP…]

--long         more jobs, more rounds, files with up to 10 M jobs
--runner PATH  measure this program instead of the one just built
--dir DIR      where the databases go [default: target/tmp]; a file system in memory makes every sync free";

fn main() -> anyhow::Result<()> {
    let mut bench = Bench {
        is_long: false,
        runner: PathBuf::from(env!("CARGO_BIN_EXE_runner")),
        dir: PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
    };
    let mut asked = Vec::new();
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut path = || PathBuf::from(words.next().unwrap_or_default()).canonicalize();
        match word.as_str() {
            "--bench" => {} // added by cargo
            speed::PING => return speed::ping(&path()?),
            "--long" => bench.is_long = true,
            "--runner" => bench.runner = path()?,
            "--dir" => bench.dir = path()?,
            "--help" | "-h" => {
                println!("{HELP}\n\nGroups: {}", GROUPS.map(|(name, _)| name).join(" "));
                return Ok(());
            }
            name => match GROUPS.iter().find(|group| group.0 == name) {
                Some(group) => asked.push(group),
                None => bail!("there is no group or option {name}; see --help"),
            },
        }
    }
    if asked.is_empty() {
        asked.extend(&GROUPS);
    }
    bench.describe()?;
    for (name, group) in asked {
        println!("\n{name}");
        group(&bench)?;
    }
    Ok(())
}
