//! What may be typed after `cargo bench --bench figures --`.

use std::path::PathBuf;

use anyhow::bail;

const HELP: &str = "\
cargo bench --bench figures -- [--quick] [--runner PATH] [--dir DIR] [GROUP…]

--quick        smaller sizes and fewer repetitions: under two minutes
--runner PATH  measure this program, for example a statically linked build
--dir DIR      where the files go [default: target/tmp]; a file system in memory flatters everything durable
";

/// What is asked for.
pub struct Args {
    pub quick: bool,
    /// The program that is measured.
    pub runner: PathBuf,
    /// Where temporary folders are made.
    pub dir: PathBuf,
    groups: Vec<String>,
}

impl Args {
    pub fn from_command_line(known: &[&str]) -> anyhow::Result<Self> {
        let mut asked = Self {
            quick: false,
            runner: PathBuf::from(env!("CARGO_BIN_EXE_runner")),
            dir: PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
            groups: Vec::new(),
        };
        let mut words = std::env::args().skip(1);
        let value = |word: &str, next: Option<String>| match next {
            Some(value) => Ok(PathBuf::from(value)),
            None => bail!("{word} needs a value"),
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bench" => {} // what cargo adds
                "--quick" => asked.quick = true,
                "--runner" => asked.runner = value(&word, words.next())?.canonicalize()?,
                "--dir" => asked.dir = value(&word, words.next())?.canonicalize()?,
                "--help" | "-h" => {
                    println!("{HELP}\nGroups: {}", known.join(", "));
                    std::process::exit(0);
                }
                group if known.contains(&group) => asked.groups.push(word),
                other => bail!("there is no group or option {other}; the groups are {}", known.join(", ")),
            }
        }
        Ok(asked)
    }

    /// Is this group to be measured?
    pub fn wants(&self, group: &str) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|asked| asked == group)
    }
}
