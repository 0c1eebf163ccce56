//! Queues.

use anyhow::Result;

use crate::cli::output::{Column, Output, QueueJson, Table, Written};
use crate::store::{QueueRow, Store};
use crate::text::Timestamp;

/// Lists queues with unfinished jobs, and paused ones.
pub(super) fn show(out: &mut Output, store: &mut Store, name: Option<&str>, now: Timestamp) -> Result<bool> {
    let mut queues = store.overview(now)?.queues;
    queues.retain(|queue| name.is_none_or(|name| name == queue.name));
    if out.json {
        for queue in &queues {
            out.object(&json(queue))?;
        }
    } else if queues.is_empty() {
        out.remark("no queue has unfinished jobs or is paused")?;
    } else {
        table(out, &queues)?;
    }
    Ok(!queues.is_empty())
}

/// A queue as JSON.
pub(super) fn json(queue: &QueueRow) -> QueueJson {
    QueueJson {
        name: queue.name.clone(),
        paused: queue.paused,
        ready: queue.counts.ready,
        scheduled: queue.counts.scheduled,
        retrying: queue.counts.retrying,
        running: queue.counts.running,
    }
}

/// Queues as a table.
pub(super) fn table(out: &mut Output, queues: &[QueueRow]) -> Written {
    let mut table = Table::new(&[
        Column::new("queue").name(),
        Column::new("ready").right(),
        Column::new("scheduled").right().dropped(1),
        Column::new("retrying").right().dropped(2),
        Column::new("running").right(),
        Column::new(""),
    ]);
    for queue in queues {
        table.row(vec![
            queue.name.clone(),
            queue.counts.ready.to_string(),
            queue.counts.scheduled.to_string(),
            queue.counts.retrying.to_string(),
            queue.counts.running.to_string(),
            if queue.paused { "paused".to_owned() } else { String::new() },
        ]);
    }
    table.print(out)
}
