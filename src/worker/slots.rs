//! The slots: a thread for each, running one attempt at a time.
//!
//! A blocking thread per slot spawns faster than an asynchronous process would, and everything about one attempt is
//! straight-line code.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::exchange::{Exchange, Order};
use super::remnants::Remnants;
use super::slot_table::{SlotTable, Ticket, Tickets};
use super::stdin;
use super::variables::variables;
use crate::process::{self, Control, Kept, Launch, Mark, Progress, Ran};
use crate::store::{Claim, Output, StreamBytes};

/// What a slot tells the dispatcher.
#[expect(clippy::large_enum_variant, reason = "none is kept for long, and boxing each end would cost more")]
pub(super) enum FromSlot {
    /// The command runs.
    Started { claim: Arc<Claim>, pid: i32 },
    /// What it has written so far.
    Output { job_id: i64, number: u32, output: Output },
    /// Something that a person should know.
    Notice { job_id: i64, text: String },
    /// The attempt is over, or never began; it kept the slot busy for so long.
    Ran { ticket: Ticket, claim: Arc<Claim>, ran: Ran, took: Duration },
    /// The thread broke down.
    Broken,
}

/// What all slots share.
pub(super) struct Shared {
    pub worker_id: String,
    pub db: PathBuf,
    pub reports: PathBuf,
    pub table: SlotTable,
    pub exchange: Arc<Exchange>,
    pub remnants: Remnants,
}

/// The slots of a worker. Threads are started when they are first needed.
pub(super) struct Slots {
    shared: Arc<Shared>,
    threads: usize,
    most: usize,
    tickets: Tickets,
}

impl Slots {
    pub(super) fn new(most: usize, tickets: Tickets, shared: Shared) -> Self {
        Self { shared: Arc::new(shared), threads: 0, most, tickets }
    }

    /// How many there are, started or not.
    pub(super) const fn number(&self) -> usize {
        self.most
    }

    /// Has an attempt made as soon as a slot is free, and gives the handle that can end it, with what it is of.
    pub(super) fn order(&mut self, mut claim: Claim) -> io::Result<(Arc<Claim>, Control)> {
        let control = Control::default();
        let (waiting, busy) = self.shared.exchange.waiting_and_busy();
        if self.threads < self.most.min(waiting + busy + 1) {
            self.add_thread()?;
        }
        let ticket = self.tickets.take().ok_or_else(|| io::Error::other("the slot table is full"))?;
        let stdin = claim.stdin.take();
        let claim = Arc::new(claim);
        let order = Order { claim: Arc::clone(&claim), ticket, stdin, control: control.clone() };
        self.shared.exchange.place(order);
        Ok((claim, control))
    }

    /// What became of these claims is on disk.
    pub(super) fn settle(&mut self, tickets: impl IntoIterator<Item = Ticket>) {
        tickets.into_iter().for_each(|ticket| self.tickets.put_back(ticket));
    }

    fn add_thread(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        thread::Builder::new()
            .name(format!("slot {}", self.threads))
            .stack_size(256 * 1024)
            .spawn(move || serve(&shared))?;
        self.threads += 1;
        Ok(())
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.shared.exchange.close();
    }
}

fn serve(shared: &Shared) {
    let mut ended = None;
    while let Some(mut order) = shared.exchange.next(ended.take()) {
        let began = Instant::now();
        let stdin = order.stdin.take();
        let made = panic::catch_unwind(AssertUnwindSafe(|| attempt(shared, &order, stdin)));
        ended = Some(match made {
            Ok(ran) => {
                if matches!(ran, Ran::NotStarted { .. }) {
                    let _ = shared.table.clear(order.ticket);
                    process::give_back_descriptors();
                }
                FromSlot::Ran { ticket: order.ticket, claim: order.claim, ran, took: began.elapsed() }
            }
            Err(_) => FromSlot::Broken,
        });
    }
}

fn attempt(shared: &Shared, order: &Order, input: Option<Vec<u8>>) -> Ran {
    let (claim, ticket) = (&order.claim, order.ticket);
    let (job_id, number) = (claim.job_id, claim.number);
    let report = shared.reports.join(format!("{job_id}.{number}"));
    let stdin = |bytes: Vec<u8>| stdin::file_with(&report.with_added_extension("stdin"), &bytes);
    let stdin = match make_folder(&shared.reports).and_then(|()| input.map(stdin).transpose()) {
        Ok(stdin) => stdin,
        Err(error) => return Ran::without(&format!("cannot use {}", shared.reports.display()), error),
    };
    let mark = |worker_id: String, attempt| Mark { worker_id, job_id, attempt };
    let predecessors: Vec<Mark> =
        claim.last_worker.iter().map(|worker| mark(worker.clone(), number - 1)).collect();
    let mark = mark(shared.worker_id.clone(), number);
    let launch = Launch {
        spec: &claim.spec,
        args: &claim.args,
        stdin: stdin.as_ref(),
        vars: variables(claim, &shared.worker_id, &shared.db, &report),
        mark: mark.clone(),
        report: &report,
        not_from: claim.expires_at,
        predecessors: &predecessors,
        remnants: &predecessors.iter().flat_map(|mark| shared.remnants.of(mark)).collect::<Vec<_>>(),
    };
    let tell = |news| shared.exchange.tell(news);
    process::run(&launch, &order.control, &mut |progress| match progress {
        // Without a record a recovery would take the attempt for one that never began, and run the job again.
        Progress::Starting(prevented) => *prevented = shared.table.starting(ticket, job_id, number).err(),
        Progress::Started(process, at) => {
            let _ = shared.table.started(ticket, job_id, number, process, at);
            tell(FromSlot::Started { claim: Arc::clone(claim), pid: process.pid });
        }
        Progress::Output { stdout, stderr } => {
            let output = Output { stdout: kept(stdout.clone()), stderr: kept(stderr.clone()) };
            tell(FromSlot::Output { job_id, number, output });
        }
        Progress::Left(processes) => shared.remnants.keep(&mark, &processes),
        Progress::Stuck(text) => tell(FromSlot::Notice { job_id, text: text.to_owned() }),
    })
}

/// Makes sure that it is there: a job before may have tidied up what it took for its own, or a cleaner of old files.
fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() { Ok(()) } else { DirBuilder::new().recursive(true).mode(0o700).create(path) }
}

/// The output of an attempt as the store takes it.
pub(super) fn kept(kept: Kept) -> StreamBytes {
    StreamBytes { bytes: kept.bytes, head: kept.head, omitted: kept.omitted }
}
