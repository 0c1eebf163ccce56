//! Workers.

use anyhow::Result;

use crate::cli::output::{Column, Output, Table, WorkerJson};
use crate::store::{Store, WorkerRow};
use crate::text::{Timestamp, relative_time, rfc3339};
use crate::worker::{Liveness, liveness};

/// A worker, and whether it lives.
pub struct Seen {
    row: WorkerRow,
    liveness: Liveness,
    running: u64,
}

impl Seen {
    /// Its random name.
    pub fn name(&self) -> &str {
        &self.row.name
    }

    /// Whether it lives.
    pub const fn liveness(&self) -> Liveness {
        self.liveness
    }

    /// It holds its lock, if only suspended.
    pub fn is_alive(&self) -> bool {
        self.liveness != Liveness::Dead
    }

    /// It lives and looks at this queue.
    pub fn takes_from(&self, queue: &str) -> bool {
        let looks = self.row.queues.as_ref().is_none_or(|queues| queues.iter().any(|name| name == queue));
        self.is_alive() && looks
    }

    /// The number of jobs that it holds.
    pub const fn holds(&self) -> u64 {
        self.running
    }

    /// As JSON.
    pub(super) fn json(&self) -> WorkerJson {
        WorkerJson {
            id: self.row.name.clone(),
            pid: self.row.pid,
            alive: self.is_alive(),
            started_at: rfc3339(self.row.started_at),
            slots: self.row.slots,
            running: self.running,
            queues: self.row.queues.clone(),
        }
    }
}

/// Looks at every worker that has neither stopped nor been buried.
pub fn look(store: &Store) -> Result<Vec<Seen>> {
    let run_dir = store.file().run_dir();
    store
        .open_workers()?
        .into_iter()
        .map(|row| {
            let running = store.held_by(row.id)?.len() as u64;
            Ok(Seen { liveness: liveness(&run_dir, &row), row, running })
        })
        .collect()
}

/// Lists them.
pub(super) fn show(out: &mut Output, store: &mut Store, now: Timestamp) -> Result<bool> {
    let workers = look(store)?;
    if out.json {
        for worker in &workers {
            out.object(&worker.json())?;
        }
        return Ok(!workers.is_empty());
    }
    if workers.is_empty() {
        out.remark("no worker is running; runner work starts one")?;
        return Ok(false);
    }
    let mut table = Table::new(&[
        Column::new("worker"),
        Column::new("pid").right().dropped(2),
        Column::new("state").status(),
        Column::new("running").right(),
        Column::new("slots").right(),
        Column::new("started").dropped(1),
        Column::new("queues").text(),
    ]);
    for Seen { row, liveness, running } in &workers {
        table.row(vec![
            row.name.clone(),
            row.pid.to_string(),
            match liveness {
                Liveness::Alive => "alive",
                Liveness::Suspended => "suspended",
                Liveness::Dead => "dead",
            }
            .to_owned(),
            running.to_string(),
            row.slots.to_string(),
            relative_time(row.started_at, now),
            row.queues.as_ref().map_or_else(|| "all".to_owned(), |queues| queues.join(", ")),
        ]);
    }
    table.print(out)?;
    if workers.iter().any(|worker| worker.liveness == Liveness::Suspended) {
        out.line("a suspended worker is alive: its jobs go on, timeouts and cancels wait for it")?;
    }
    Ok(true)
}
