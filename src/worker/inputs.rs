//! Everything that a dispatcher waits for.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::net::UnixDatagram as AsyncDatagram;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{sleep_until, timeout_at};

use super::exchange::Exchange;
use super::recovery::Remains;
use super::running;
use super::slots::FromSlot;
use crate::process::Inherited;

/// How long after a job's death by signal one for the worker may be seen.
const SAME_BREATH: Duration = Duration::from_millis(30);

/// What woke the dispatcher.
pub(super) enum Input {
    /// A slot has something to tell.
    Slot(FromSlot),
    /// A dead worker's processes have been dealt with.
    Remains(Remains),
    /// Somebody has written something.
    Woken,
    /// A signal that asks to stop, by its number.
    Stop(i32),
    /// The time that was waited for has come.
    Time,
}

/// The sources, in the order in which they are served.
pub(super) struct Inputs {
    stops: Vec<(Signal, i32)>,
    exchange: Arc<Exchange>,
    /// News of the slots that were taken and not yet served.
    news: VecDeque<FromSlot>,
    remains: UnboundedReceiver<Remains>,
    wake: AsyncDatagram,
}

impl Inputs {
    pub(super) fn new(
        inherited: Inherited,
        exchange: Arc<Exchange>,
        remains: UnboundedReceiver<Remains>,
        wake: UnixDatagram,
    ) -> io::Result<Self> {
        let mut kinds = vec![SignalKind::terminate(), SignalKind::interrupt()];
        if !inherited.sighup_ignored {
            kinds.push(SignalKind::hangup());
        }
        let stops = kinds
            .into_iter()
            .map(|kind| Ok((signal(kind)?, kind.as_raw_value())))
            .collect::<io::Result<_>>()?;
        let wake = AsyncDatagram::from_std(wake)?;
        Ok(Self { stops, exchange, news: VecDeque::new(), remains, wake })
    }

    /// Waits for the next input, at most until `deadline`.
    pub(super) async fn next(&mut self, deadline: Instant) -> Input {
        let Self { stops, exchange, news, remains, wake } = self;
        let stop = poll_fn(|context| poll_stops(stops, context));
        tokio::select! {
            biased;
            number = stop => Input::Stop(number),
            () = exchange.news() => {
                news.extend(exchange.take_news());
                news.pop_front().map_or(Input::Time, Input::Slot)
            }
            Some(done) = remains.recv() => Input::Remains(done),
            ready = wake.readable() => {
                drain(wake);
                // An error of the socket must not become a busy loop; the slow look still finds the work.
                if ready.is_err() {
                    sleep_until(deadline.into()).await;
                }
                Input::Woken
            }
            () = sleep_until(deadline.into()) => Input::Time,
        }
    }

    /// Lets a request to stop come first that is on its way.
    ///
    /// Whoever stops a service or a machine may signal the jobs in the same breath, and their deaths may be seen first.
    pub(super) async fn stop_first(&mut self, input: &Input) -> Option<Input> {
        let FromSlot::Ran { ran, .. } = (match input {
            Input::Slot(message) => message,
            _ => return None,
        }) else {
            return None;
        };
        if !running::was_signalled_to_end(ran) {
            return None;
        }
        let deadline = tokio::time::Instant::now() + SAME_BREATH;
        let stop = poll_fn(|context| poll_stops(&mut self.stops, context));
        timeout_at(deadline, stop).await.ok().map(Input::Stop)
    }

    /// The next input that is there already, a request to stop before all others.
    pub(super) fn ready(&mut self) -> Option<Input> {
        // The next wait registers itself again with its own waker.
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(number) = poll_stops(&mut self.stops, &mut context) {
            return Some(Input::Stop(number));
        }
        if self.news.is_empty() {
            self.news.extend(self.exchange.take_news());
        }
        if let Some(news) = self.news.pop_front() {
            return Some(Input::Slot(news));
        }
        self.remains.try_recv().ok().map(Input::Remains)
    }
}

fn poll_stops(stops: &mut [(Signal, i32)], context: &mut Context) -> Poll<i32> {
    let asked =
        stops.iter_mut().find_map(|(stop, number)| stop.poll_recv(context).is_ready().then_some(*number));
    asked.map_or(Poll::Pending, Poll::Ready)
}

/// Takes every datagram that is queued: they all say the same.
fn drain(wake: &AsyncDatagram) {
    let mut byte = [0; 1];
    while wake.try_recv(&mut byte).is_ok() {}
}
