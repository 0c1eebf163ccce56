//! The slots: a thread for each, running one attempt at a time.
//!
//! A blocking thread per slot spawns faster than an asynchronous process would, and everything about one attempt is
//! straight-line code.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use tokio::sync::mpsc::UnboundedSender;

use super::lock::SlotTable;
use super::stdin;
use super::variables::variables;
use crate::process::{self, Control, Kept, Launch, Mark, Progress, Ran};
use crate::store::{Claim, Output, StreamBytes};

/// What a slot tells the dispatcher.
pub(super) enum FromSlot {
    /// The command runs.
    Started { claim: Arc<Claim>, pid: i32 },
    /// What it has written so far.
    Output { job_id: i64, number: u32, output: Output },
    /// Something that a person should know.
    Notice { job_id: i64, text: String },
    /// The attempt is over, or never began.
    Ran { slot: usize, claim: Arc<Claim>, ran: Ran },
    /// The thread broke down.
    Broken,
}

/// What all slots share.
pub(super) struct Shared {
    pub worker_id: String,
    pub db: PathBuf,
    pub reports: PathBuf,
    pub table: SlotTable,
    pub tell: UnboundedSender<FromSlot>,
}

struct Order {
    claim: Arc<Claim>,
    /// Taken out of the claim, which is kept until the attempt has ended.
    stdin: Option<Vec<u8>>,
    control: Control,
}

/// The slots of a worker. Threads are started when they are first needed.
pub(super) struct Slots {
    shared: Arc<Shared>,
    threads: Vec<mpsc::Sender<Order>>,
    most: usize,
    idle: Vec<usize>,
}

impl Slots {
    pub(super) fn new(most: usize, shared: Shared) -> Self {
        Self { shared: Arc::new(shared), threads: Vec::new(), most, idle: Vec::new() }
    }

    /// How many attempts could be started now.
    pub(super) fn free(&self) -> usize {
        self.idle.len() + self.most - self.threads.len()
    }

    /// Starts an attempt in a free slot and gives the handle that can end it.
    pub(super) fn start(&mut self, mut claim: Claim) -> io::Result<Control> {
        let control = Control::new()?;
        let slot = match self.idle.pop() {
            Some(slot) => slot,
            None => self.add_thread()?,
        };
        let stdin = claim.stdin.take();
        let order = Order { claim: Arc::new(claim), stdin, control: control.clone() };
        match self.threads.get(slot).map(|thread| thread.send(order)) {
            Some(Ok(())) => Ok(control),
            _ => Err(io::Error::other("a slot's thread is gone")),
        }
    }

    /// A slot has told of the end of its attempt.
    pub(super) fn release(&mut self, slot: usize) {
        self.idle.push(slot);
    }

    fn add_thread(&mut self) -> io::Result<usize> {
        let slot = self.threads.len();
        let (sender, orders) = mpsc::channel();
        let shared = Arc::clone(&self.shared);
        thread::Builder::new()
            .name(format!("slot {slot}"))
            .stack_size(256 * 1024)
            .spawn(move || serve(slot, &shared, &orders))?;
        self.threads.push(sender);
        Ok(slot)
    }
}

fn serve(slot: usize, shared: &Shared, orders: &mpsc::Receiver<Order>) {
    for mut order in orders {
        let stdin = order.stdin.take();
        let told = panic::catch_unwind(AssertUnwindSafe(|| attempt(slot, shared, &order, stdin)));
        let message = match told {
            Ok(ran) => {
                if matches!(ran, Ran::NotStarted { .. }) {
                    let _ = shared.table.clear(slot);
                }
                FromSlot::Ran { slot, claim: order.claim, ran }
            }
            Err(_) => FromSlot::Broken,
        };
        // Nobody listens any more: the worker has ended.
        if shared.tell.send(message).is_err() {
            return;
        }
    }
}

fn attempt(slot: usize, shared: &Shared, order: &Order, stdin: Option<Vec<u8>>) -> Ran {
    let claim = &order.claim;
    let (job_id, number) = (claim.job_id, claim.number);
    let report = shared.reports.join(format!("{job_id}.{number}"));
    let stdin =
        stdin.map(|bytes| stdin::file_with(&report.with_added_extension("stdin"), &bytes)).transpose();
    let stdin = match stdin {
        Ok(stdin) => stdin,
        // The machine lacks something, most likely room; the job is not to blame.
        Err(why) => return Ran::NotStarted { why },
    };
    let mark = |worker_id: String, attempt| Mark { worker_id, job_id, attempt };
    let predecessors: Vec<Mark> =
        claim.last_worker.iter().map(|worker| mark(worker.clone(), number - 1)).collect();
    let launch = Launch {
        spec: &claim.spec,
        args: &claim.args,
        stdin: stdin.as_ref(),
        vars: variables(claim, &shared.worker_id, &shared.db, &report),
        mark: mark(shared.worker_id.clone(), number),
        report: &report,
        predecessors: &predecessors,
    };
    let tell = |message| {
        let _ = shared.tell.send(message);
    };
    process::run(&launch, &order.control, &mut |progress| match progress {
        // Without a record a recovery would take the attempt for one that never began, and run the job again.
        Progress::Starting(prevented) => *prevented = shared.table.starting(slot, job_id, number).err(),
        Progress::Started(process, at) => {
            let _ = shared.table.started(slot, job_id, number, process, at);
            tell(FromSlot::Started { claim: Arc::clone(claim), pid: process.pid });
        }
        Progress::Output { stdout, stderr } => {
            let output = Output { stdout: kept(stdout.clone()), stderr: kept(stderr.clone()) };
            tell(FromSlot::Output { job_id, number, output });
        }
        Progress::Stuck(text) => tell(FromSlot::Notice { job_id, text: text.to_owned() }),
    })
}

/// The output of an attempt as the store takes it.
pub(super) fn kept(kept: Kept) -> StreamBytes {
    StreamBytes { bytes: kept.bytes, head: kept.head, omitted: kept.omitted }
}
