//! The dispatcher: waits for one thing, takes all that is there, runs one transaction, then acts and speaks.
//!
//! `incoming` takes what has happened, `turns` brings it to disk and acts on the answer, `timing` says how long to wait.

mod incoming;
mod timing;
mod turns;

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc::unbounded_channel;

use super::exchange::Exchange;
use super::inputs::Inputs;
use super::pace::Pace;
use super::phase::Phase;
use super::presence::Presence;
use super::recovery::Recovery;
use super::remnants::Remnants;
use super::running::Running;
use super::slot_table::Ticket;
use super::slots::{Shared, Slots};
use super::{Options, Summary, WorkError};
use crate::clock;
use crate::process::{self, Inherited};
use crate::report::{Event, EventKind, Reporter};
use crate::store::{Backlog, Definitions, Ended, Output, Store};
use crate::text::Timestamp;

/// Works until it has done enough.
pub(super) async fn run(
    mut store: Store,
    options: Options,
    reporter: &mut dyn Reporter,
    inherited: Inherited,
) -> Result<Summary, WorkError> {
    let (mut presence, socket) = Presence::establish(&mut store, &options)?;
    let exchange = Arc::new(Exchange::default());
    let (tell_remains, remains) = unbounded_channel();
    let mut inputs = Inputs::new(inherited, Arc::clone(&exchange), remains, socket)
        .map_err(|error| WorkError::Io("listen for signals and wake-ups", error))?;
    let db = store.file().path().to_owned();
    let shared = Shared {
        worker_id: presence.row.name.clone(),
        db: db.clone(),
        reports: presence.reports.clone(),
        table: presence.table.clone(),
        exchange: Arc::clone(&exchange),
        remnants: Remnants::new(&store.file().run_dir()),
    };
    let boot_id = presence.row.boot_id.clone();
    let recovery = Recovery::new(store.file().run_dir(), boot_id, presence.row.id, tell_remains);
    let started = EventKind::WorkerStarted {
        worker_id: presence.row.name.clone(),
        slots: options.slots,
        queues: options.queues.clone(),
        db: db.display().to_string(),
    };
    let mut dispatcher = Dispatcher {
        worker: presence.row.id,
        name: presence.row.name.clone(),
        slots: Slots::new(options.slots, std::mem::take(&mut presence.tickets), shared),
        exchange,
        pace: Pace::default(),
        options,
        store,
        reporter,
        recovery,
        definitions: Definitions::default(),
        running: Running::default(),
        phase: Phase::Working,
        backlog: Backlog::default(),
        summary: Summary::default(),
        claimed: 0,
        unsaved: Vec::new(),
        unwanted: Vec::new(),
        settling: Vec::new(),
        gather_until: None,
        outputs: Vec::new(),
        look: true,
        looked_at: Instant::now(),
        seen: 0,
        not_before: None,
        breather: None,
        shortage_told: None,
        in_trouble: false,
        last_tries: 0,
        wrote: false,
        clocks: (Instant::now(), clock::now()),
    };
    dispatcher.tell(started);
    dispatcher.send_heartbeat();
    dispatcher.store.follow_clock_step(clock::now())?;
    dispatcher.look_around()?;
    dispatcher.serve(&mut inputs).await?;
    dispatcher.summary.cut_short = dispatcher.summary.cut_short.filter(|_| !dispatcher.has_done_enough());
    let Dispatcher { summary, mut store, reporter, .. } = dispatcher;
    presence.give_up(&mut store)?;
    let Summary { attempts, succeeded, dead, .. } = summary;
    reporter
        .report(&Event { time: clock::now(), kind: EventKind::WorkerStopped { attempts, succeeded, dead } });
    Ok(summary)
}

struct Dispatcher<'a> {
    /// The row id of this worker.
    worker: i64,
    /// Its random name.
    name: String,
    options: Options,
    store: Store,
    definitions: Definitions,
    reporter: &'a mut dyn Reporter,
    slots: Slots,
    exchange: Arc<Exchange>,
    pace: Pace,
    running: Running,
    recovery: Recovery,
    phase: Phase,
    /// What was left at the last turn.
    backlog: Backlog,
    summary: Summary,
    /// Claims that became attempts, or are about to.
    claimed: u64,
    /// Attempts that have ended and are not on disk.
    unsaved: Vec<Ended>,
    /// Claims that could not or should not be started and are not given back yet.
    unwanted: Vec<i64>,
    /// The places in the slot table of both.
    settling: Vec<Ticket>,
    /// Ends may gather until then.
    gather_until: Option<Instant>,
    /// What running attempts have written, not on disk.
    outputs: Vec<(i64, u32, Output)>,
    /// Something may have changed since the last turn.
    look: bool,
    looked_at: Instant,
    /// The data version at the last look.
    seen: i64,
    /// The store is in trouble: no turn before this.
    not_before: Option<Instant>,
    /// The machine lacks something.
    breather: Option<Breather>,
    /// When that was last told.
    shortage_told: Option<Instant>,
    /// The trouble has been told.
    in_trouble: bool,
    /// Tries to write since it was told to stop and nothing runs.
    last_tries: u32,
    /// There was a turn since the last look.
    wrote: bool,
    /// Both clocks at the last look: if the wall clock has fallen behind the other, it was set back.
    clocks: (Instant, Timestamp),
}

/// A while in which there are no more attempts than the machine had room for.
#[derive(Clone, Copy, Debug)]
struct Breather {
    until: Instant,
    room_for: usize,
}

impl Dispatcher<'_> {
    async fn serve(&mut self, inputs: &mut Inputs) -> Result<(), WorkError> {
        loop {
            if !self.lets_ends_gather() {
                self.take_turn()?;
                if self.is_done() {
                    return Ok(());
                }
            }
            let first = process::suspendable(inputs.next(self.deadline())).await;
            let mut next = Some(first);
            while let Some(input) = next {
                if !self.phase.is_stopping()
                    && let Some(stop) = inputs.stop_first(&input).await
                {
                    self.take(stop)?;
                }
                self.take(input)?;
                next = inputs.ready();
            }
            self.save_outputs();
            self.pass_time()?;
        }
    }

    fn tell(&mut self, kind: EventKind) {
        self.reporter.report(&Event { time: clock::now(), kind });
    }
}
