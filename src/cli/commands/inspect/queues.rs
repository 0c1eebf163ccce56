//! Queues.

use anyhow::Result;

use crate::cli::json_rows::QueueJson;
use crate::cli::screen::{Screen, Written};
use crate::cli::table::Table;
use crate::store::{QueueRow, Store};
use crate::text::Timestamp;

/// Lists queues with unfinished jobs, and paused ones.
pub(super) fn show(
    screen: &mut Screen,
    store: &mut Store,
    name: Option<&str>,
    now: Timestamp,
) -> Result<bool> {
    let mut queues = store.overview(now)?.queues;
    queues.retain(|queue| name.is_none_or(|name| name == queue.name));
    if screen.json {
        for queue in &queues {
            screen.object(&json(queue))?;
        }
    } else if queues.is_empty() {
        screen.remark("no queue has unfinished jobs or is paused")?;
    } else {
        table(screen, &queues)?;
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
pub(super) fn table(screen: &mut Screen, queues: &[QueueRow]) -> Written {
    let mut table = Table::new(&["queue", "ready", "scheduled", "retrying", "running", ""])
        .right(&[1, 2, 3, 4])
        .may_miss(&[2, 3]);
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
    table.print(screen)
}
