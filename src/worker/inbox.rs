//! Everything that the dispatcher waits for is a message in one channel.
//!
//! Slots and recoveries send from their threads. Each other source is a small task: one for signals, one for wake-ups,
//! one for the tick, one a timer. The tasks run on the dispatcher's thread while the dispatcher waits.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGTSTP};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use tokio::net::unix::pipe::Receiver;
use tokio::net::{UnixDatagram as AsyncDatagram, UnixStream as AsyncStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{MissedTickBehavior, interval_at, sleep_until, timeout};
use tokio::{select, spawn};

use super::recovery::DeadWorkerFindings;
use crate::model::{AttemptEnd, Status};
use crate::process::{Inherited, Progress};
use crate::store::EndedAttempt;

/// How often the worker looks for dead workers, and for changes that no wake-up announced.
const TICK: Duration = Duration::from_secs(1);

/// How long the death of a job by a signal waits for a signal to the worker, because both may have been sent together.
const SAME_MOMENT: Duration = Duration::from_millis(30);

pub(super) enum Message {
    /// A signal that asks to stop.
    Stop(i32),
    /// Ctrl-Z at the terminal.
    Suspend,
    /// Another process has written something.
    Woken,
    /// Comes once a second.
    Tick,
    TimeOver(Timer),
    Started {
        slot: usize,
        pid: i32,
    },
    /// News of an attempt that runs, or is about to.
    Progress {
        job_id: i64,
        number: u32,
        progress: Progress,
    },
    Ended {
        slot: usize,
        ended: Box<EndedAttempt>,
    },
    /// The claim is released; `shortage` names what the machine lacked, if anything.
    NotStarted {
        slot: usize,
        shortage: Option<String>,
    },
    /// The slot's thread panicked.
    SlotBroke,
    /// Trouble of a thread that goes on.
    Trouble(String),
    /// The processes of a dead worker's attempts have been dealt with.
    DeadWorker(Box<DeadWorkerFindings>),
}

/// The moments that the dispatcher waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// A job, a schedule or an expiry is due.
    Due,
    /// A shortage or trouble with the store may have passed.
    Retry,
    /// The shutdown timeout is over.
    Shutdown,
}

/// For whoever sends messages to the dispatcher.
#[derive(Clone)]
pub(super) struct MessageSender(UnboundedSender<Message>);

impl MessageSender {
    pub(super) fn send(&self, message: Message) {
        // A dispatcher that has gone needs no messages.
        let _ = self.0.send(message);
    }
}

pub(super) struct Inbox {
    messages: UnboundedReceiver<Message>,
    sender: MessageSender,
    /// A byte comes here with each signal.
    arrivals: UnixStream,
    due: watch::Sender<Option<Instant>>,
    retry: watch::Sender<Option<Instant>>,
    shutdown: watch::Sender<Option<Instant>>,
}

impl Inbox {
    /// Catches the signals from now on. The first message is a tick.
    pub(super) fn open(inherited: &Inherited) -> io::Result<Self> {
        let (sender, messages) = unbounded_channel();
        let sender = MessageSender(sender);
        // A signal that was ignored stays so: a worker under nohup survives SIGHUP, and one that a script has started with `&`
        // survives the Ctrl-C that ends the script. SIGTERM ends each.
        let is_wanted = |number: &i32| *number == SIGTERM || !inherited.ignored(*number);
        let numbers = [SIGTERM, SIGINT, SIGHUP, SIGTSTP].into_iter().filter(is_wanted);
        let arrivals = listen_for_signals(numbers, sender.clone())?;
        sender.send(Message::Tick);
        tick(sender.clone());
        let timer = |timer| start_timer(timer, sender.clone());
        Ok(Self {
            due: timer(Timer::Due),
            retry: timer(Timer::Retry),
            shutdown: timer(Timer::Shutdown),
            messages,
            sender,
            arrivals,
        })
    }

    /// Whether a signal has come that no message tells of yet.
    pub(super) fn has_new_signal(&self) -> bool {
        ioctl_fionread(&self.arrivals).is_ok_and(|count| count > 0)
    }

    /// For threads that send messages.
    pub(super) fn sender(&self) -> MessageSender {
        self.sender.clone()
    }

    /// Turns the datagrams of other processes into messages.
    pub(super) fn listen_for_wake_ups(&self, socket: UnixDatagram) -> io::Result<()> {
        let socket = AsyncDatagram::from_std(socket)?;
        let sender = self.sender.clone();
        spawn(async move {
            // After an error of the socket, the tick still finds the work.
            while socket.readable().await.is_ok() {
                // One message is enough, because every datagram only says that something was written.
                while socket.try_recv(&mut [0; 1]).is_ok() {}
                sender.send(Message::Woken);
            }
        });
        Ok(())
    }

    /// Sets a timer to another moment, or to none.
    pub(super) fn set_timer(&self, timer: Timer, at: Option<Instant>) {
        let moment = match timer {
            Timer::Due => &self.due,
            Timer::Retry => &self.retry,
            Timer::Shutdown => &self.shutdown,
        };
        moment.send_if_modified(|set| std::mem::replace(set, at) != at);
    }

    /// Waits for a message, and takes all that are there. Signals come first.
    ///
    /// A service or machine that stops may signal jobs and worker together. So, unless `is_stopping`, the death of a job by
    /// such a signal waits a moment for the worker's own signal: a shutdown is not recorded as a failure of the job.
    pub(super) async fn next(&mut self, is_stopping: bool) -> Vec<Message> {
        // However busy the slots are: the first yield lets the runtime see what has arrived, the second lets the tasks
        // pass it on.
        yield_now().await;
        yield_now().await;
        let mut messages = Vec::new();
        self.messages.recv_many(&mut messages, usize::MAX).await;
        let has_signal = |messages: &[Message]| messages.iter().any(asks_to_stop);
        if !is_stopping && !has_signal(&messages) && messages.iter().any(was_signalled_to_end) {
            let signal = async {
                while !has_signal(&messages) {
                    messages.extend(self.messages.recv().await);
                }
            };
            // If no signal comes in that time, the job was killed for its own reasons.
            let _ = timeout(SAME_MOMENT, signal).await;
        }
        messages.sort_by_key(|message| !asks_to_stop(message));
        messages
    }
}

/// Turns signals into messages. Gives the stream from which it reads that there is one. tokio's own signals would panic where there is
/// no descriptor left for them.
fn listen_for_signals(numbers: impl Iterator<Item = i32>, sender: MessageSender) -> io::Result<UnixStream> {
    let (arrivals, of_handler) = UnixStream::pair()?;
    arrivals.set_nonblocking(true)?;
    let for_inbox = arrivals.try_clone()?;
    let arrivals = AsyncStream::from_std(arrivals)?;
    let mut signals = SignalDelivery::with_pipe(arrivals, of_handler, SignalOnly, numbers)?;
    spawn(async move {
        while signals.get_read().readable().await.is_ok() {
            // The bytes only say that a signal has come. They are read here, and not only by `pending`, so that the runtime
            // sees that none is left.
            while signals.get_read().try_read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
            for number in signals.pending() {
                let message = if number == SIGTSTP { Message::Suspend } else { Message::Stop(number) };
                sender.send(message);
            }
        }
    });
    Ok(for_inbox)
}

fn tick(sender: MessageSender) {
    spawn(async move {
        let mut ticks = interval_at(tokio::time::Instant::now() + TICK, TICK);
        // A worker that was suspended has missed ticks that nobody needs.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            sender.send(Message::Tick);
        }
    });
}

/// Starts the task of a timer, which sends a message when the moment in the returned cell has come.
fn start_timer(timer: Timer, sender: MessageSender) -> watch::Sender<Option<Instant>> {
    let (set, mut moment) = watch::channel(None::<Instant>);
    spawn(async move {
        let mut at: Option<Instant> = None;
        loop {
            select! {
                changed = moment.changed() => match changed {
                    Ok(()) => at = *moment.borrow_and_update(),
                    Err(_) => return,
                },
                () = sleep_until(at.unwrap_or_else(Instant::now).into()), if at.is_some() => {
                    at = None;
                    sender.send(Message::TimeOver(timer));
                }
            }
        }
    });
    set
}

/// Reads and drops what comes from this pipe, until every process has closed the other end.
pub(super) fn read_and_drop(pipe: OwnedFd) {
    // This cannot fail on a pipe unless the kernel is out of memory.
    let Ok(pipe) = Receiver::from_owned_fd(pipe) else { return };
    spawn(async move {
        let mut chunk = [0; 4096];
        while pipe.readable().await.is_ok() && !matches!(pipe.try_read(&mut chunk), Ok(0)) {
            // However much comes, the other tasks get their turn.
            yield_now().await;
        }
    });
}

fn asks_to_stop(message: &Message) -> bool {
    matches!(message, Message::Stop(_))
}

fn was_signalled_to_end(message: &Message) -> bool {
    matches!(message, Message::Ended { ended, .. } if is_end_by_stop_signal(&ended.end))
}

/// Whether somebody other than runner ended the process by a signal to stop.
pub(super) fn is_end_by_stop_signal(end: &AttemptEnd) -> bool {
    end.cause.is_none() && matches!(end.status, Some(Status::Signaled(SIGHUP | SIGINT | SIGKILL | SIGTERM)))
}
