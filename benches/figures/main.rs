//! Measures runner against what it holds itself to, next to the programs that people would use in its place.
//!
//! ```text
//! cargo bench --bench figures                    every row at every size: half an hour or so, 4 GB of disk
//! cargo bench --bench figures -- --quick         smaller sizes, fewer slots and repetitions: under two minutes
//! cargo bench --bench figures -- drain enqueue   these groups alone; --help lists them
//! ```
//!
//! Machines drift, so contenders do the same work in turn inside every repetition, and what is judged is the median of the
//! ratios of the repetitions, never a time on its own against one of another moment. A contender that did not do its
//! whole work is an error, not a fast one. What cannot be measured here is said to be so, and never holds.

mod args;
mod bare;
mod batch;
mod bed;
mod claim;
mod crowd;
mod drain;
mod enqueue;
mod footprint;
mod helpers;
mod machine;
mod peers;
mod pickup;
mod retry;
mod sample;
mod table;
mod timed;

use std::time::Instant;

use args::Args;
use table::{Row, Table};

/// What every group of rows is given.
struct Context {
    args: Args,
    /// Little programs that are compiled for the occasion.
    helpers: helpers::Helpers,
}

impl Context {
    /// One of two sizes: for the quick form, and for the full one.
    fn size<T>(&self, quick: T, full: T) -> T {
        if self.args.quick { quick } else { full }
    }
}

type Group = fn(&Context) -> anyhow::Result<Vec<Row>>;

/// The groups of rows, in the order in which they are measured.
const GROUPS: [(&str, Group); 8] = [
    ("drain", drain::rows),
    ("retry", retry::rows),
    ("enqueue", enqueue::rows),
    ("batch", batch::rows),
    ("pickup", pickup::rows),
    ("claim", claim::rows),
    ("footprint", footprint::rows),
    ("peers", peers::rows),
];

fn main() -> anyhow::Result<()> {
    let names: Vec<_> = GROUPS.iter().map(|(name, _)| *name).collect();
    let args = Args::from_command_line(&names)?;
    let helpers = helpers::Helpers::compile(&args.dir)?;
    let context = Context { args, helpers };
    let began = Instant::now();
    println!("{}", machine::describe(&context.args)?);
    let mut table = Table::default();
    for (name, group) in GROUPS.iter().filter(|(name, _)| context.args.wants(name)) {
        eprintln!("{:>5.0} s  {name}", began.elapsed().as_secs_f64());
        table.add(match group(&context) {
            Ok(rows) => rows,
            Err(error) => vec![Row::failed(name, &error)],
        });
    }
    println!("{table}\nmeasured in {:.0} s", began.elapsed().as_secs_f64());
    anyhow::ensure!(!table.has_failed(), "not everything could be run to its end: see the table");
    Ok(())
}
