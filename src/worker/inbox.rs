//! Everything that the dispatcher waits for: its slots, recoveries, signals, wake-ups, and the time.

use std::future::poll_fn;
use std::os::unix::net::UnixDatagram;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGTSTP};
use tokio::net::UnixDatagram as AsyncDatagram;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::yield_now;
use tokio::time::{sleep_until, timeout_at};

use super::lock::DeadWorker;
use crate::model::{Exit, Status};
use crate::process::Inherited;
use crate::store::{Ended, Output, WorkerRow};

/// The longest time between the death of a job by a signal and a signal to the worker that was sent with it.
const SAME_MOMENT: Duration = Duration::from_millis(30);

pub(super) enum Event {
    /// A signal that asks to stop.
    Signal(i32),
    /// Ctrl-Z at the terminal.
    Suspend,
    /// Another process has written something.
    Woken,
    Started {
        slot: usize,
        pid: i32,
    },
    /// The output of a running attempt so far.
    Output {
        job_id: i64,
        number: u32,
        output: Output,
    },
    Notice {
        job_id: i64,
        text: String,
    },
    Ended {
        slot: usize,
        ended: Box<Ended>,
    },
    /// The claim goes back; `shortage` names what the machine lacked, if anything.
    NotStarted {
        slot: usize,
        shortage: Option<String>,
    },
    /// The slot's thread panicked.
    SlotBroke,
    /// The processes of a dead worker's attempts have been dealt with.
    DeadWorker(Box<Findings>),
}

/// The attempts of a dead worker, ready to be recorded.
pub(super) struct Findings {
    pub worker: WorkerRow,
    /// Attempts that had started, or may have.
    pub lost: Vec<Ended>,
    pub never_started: Vec<i64>,
    /// Processes that could not be ended, in words: nothing may be recorded yet.
    pub survivors: Option<String>,
    /// Keeps other workers from recovering the same worker.
    pub _lock: DeadWorker,
}

pub(super) struct Inbox {
    signals: Vec<(Signal, i32)>,
    events: UnboundedReceiver<Event>,
    wake: AsyncDatagram,
}

impl Inbox {
    pub(super) fn new(
        inherited: &Inherited,
        events: UnboundedReceiver<Event>,
        wake: UnixDatagram,
    ) -> Result<Self> {
        let listen = || -> std::io::Result<_> {
            let numbers = [SIGTERM, SIGINT, SIGHUP, SIGTSTP].into_iter();
            // A worker under nohup lives on; one of a shell without job control is not suspended.
            let wanted =
                numbers.filter(|number| ![SIGHUP, SIGTSTP].contains(number) || !inherited.ignored(*number));
            let signals = wanted.map(|number| Ok((signal(SignalKind::from_raw(number))?, number)));
            Ok((signals.collect::<std::io::Result<_>>()?, AsyncDatagram::from_std(wake)?))
        };
        let (signals, wake) = listen().context("could not listen for signals and wake-ups")?;
        Ok(Self { signals, events, wake })
    }

    /// Waits for an event, at most until `deadline`, and takes all that are there. Signals come first.
    ///
    /// A service or machine that stops may signal jobs and worker together. So, unless `is_stopping`, the death of a job by
    /// such a signal waits a moment for the worker's own signal: a shutdown is not recorded as a failure of the job.
    pub(super) async fn next(&mut self, deadline: Instant, is_stopping: bool) -> Vec<Event> {
        // The runtime must see signals and wake-ups, however busy the slots are.
        yield_now().await;
        let mut events: Vec<Event> = self.first(deadline).await.into_iter().collect();
        while let Ok(event) = self.events.try_recv() {
            events.push(event);
        }
        // The next wait registers its own waker again.
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(event) = poll_signals(&mut self.signals, &mut context) {
            events.push(event);
        }
        let has_signal = events.iter().any(|event| matches!(event, Event::Signal(_)));
        if !is_stopping && !has_signal && events.iter().any(was_signalled_to_end) {
            let signal = poll_fn(|context| poll_signals(&mut self.signals, context));
            events.extend(timeout_at((Instant::now() + SAME_MOMENT).into(), signal).await);
        }
        events.sort_by_key(|event| !matches!(event, Event::Signal(_)));
        events
    }

    async fn first(&mut self, deadline: Instant) -> Option<Event> {
        let Self { signals, events, wake } = self;
        tokio::select! {
            biased;
            event = poll_fn(|context| poll_signals(signals, context)) => Some(event),
            event = events.recv() => event,
            ready = wake.readable() => {
                // All datagrams say the same.
                while wake.try_recv(&mut [0; 1]).is_ok() {}
                // An error of the socket must not become a busy loop; the poll once a second finds the work.
                if ready.is_err() {
                    sleep_until(deadline.into()).await;
                }
                Some(Event::Woken)
            }
            () = sleep_until(deadline.into()) => None,
        }
    }
}

fn poll_signals(signals: &mut [(Signal, i32)], context: &mut Context) -> Poll<Event> {
    let arrived = signals.iter_mut().find_map(|(signal, number)| {
        let is_ready = signal.poll_recv(context).is_ready();
        is_ready.then_some(*number)
    });
    match arrived {
        Some(SIGTSTP) => Poll::Ready(Event::Suspend),
        Some(number) => Poll::Ready(Event::Signal(number)),
        None => Poll::Pending,
    }
}

fn was_signalled_to_end(event: &Event) -> bool {
    matches!(event, Event::Ended { ended, .. } if is_end_by_stop_signal(ended.exit))
}

/// Did the process die by a signal that asks to end, without runner having a hand in it?
pub(super) fn is_end_by_stop_signal(exit: Exit) -> bool {
    exit.stop_reason.is_none()
        && matches!(exit.status, Some(Status::Signaled(SIGHUP | SIGINT | SIGKILL | SIGTERM)))
}
