//! `runner limit`: sets the limits of a queue by hand, or shows them.

use anyhow::Result;

use crate::cli::args::{Global, Limit};
use crate::cli::error::ExitStatus;
use crate::cli::locate;
use crate::cli::output::{Output, queue_json};
use crate::clock;
use crate::model::Limits;
use crate::store::{LimitChange, QueueRow};
use crate::wake;

pub fn run(global: &Global, args: &Limit, out: &mut Output) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    let given = Limits { max_running: args.max_running, rate: args.rate };
    if args.none || !given.is_none() {
        let change = if args.none { LimitChange::Lift } else { LimitChange::Set(given) };
        store.change_limits(&args.queue, change)?;
        wake::wake_workers(&store.file().run_dir());
    }
    let queues = store.overview(clock::now())?.queues;
    let row = queues.into_iter().find(|row| row.name == args.queue);
    let row = row.unwrap_or_else(|| QueueRow { name: args.queue.clone(), ..QueueRow::default() });
    let QueueRow { name, limits, counts, .. } = &row;
    let words = format!("queue {name}: {limits}; {} running, {} ready", counts.running, counts.ready);
    out.done(&queue_json(&row), words)?;
    Ok(ExitStatus::SUCCESS)
}
