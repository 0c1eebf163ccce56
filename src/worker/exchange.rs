//! What passes between the dispatcher and the slots: orders one way, news the other, under one lock.
//!
//! A slot that has ended an attempt hands in the news and takes the next order in one step, so it never waits for the
//! database while there is an order. While every slot is busy the dispatcher may let news gather for a moment, so that one
//! transaction serves many; it is woken earlier when orders run low.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::slot_table::Ticket;
use super::slots::FromSlot;
use crate::process::Control;
use crate::store::Claim;

/// News that are not left to gather any longer: one transaction with more of them is hardly cheaper for each.
const ENOUGH_NEWS: usize = 64;

/// An attempt that is to be made.
pub(super) struct Order {
    pub claim: Arc<Claim>,
    pub ticket: Ticket,
    /// Taken out of the claim, which is kept until the attempt has ended.
    pub stdin: Option<Vec<u8>>,
    pub control: Control,
}

#[derive(Default)]
pub(super) struct Exchange {
    state: Mutex<State>,
    orders: Condvar,
    news: Notify,
}

#[derive(Default)]
struct State {
    /// In the order in which they are to be started.
    orders: VecDeque<Order>,
    /// Since when there are any.
    placed_at: Option<Instant>,
    /// When a slot last took one.
    taken_at: Option<Instant>,
    /// Slots that are at work.
    busy: usize,
    news: Vec<FromSlot>,
    /// News may gather as long as there are this many orders, and no slot is idle.
    gathering: Option<usize>,
    closed: bool,
}

impl Exchange {
    /// Adds an order, behind those of the same priority and due time.
    pub(super) fn place(&self, order: Order) {
        let rank = |order: &Order| (-order.claim.priority, order.claim.run_at, order.claim.job_id);
        let mut state = self.lock();
        if state.orders.is_empty() {
            state.placed_at = Some(Instant::now());
        }
        let at = state.orders.partition_point(|other| rank(other) <= rank(&order));
        state.orders.insert(at, order);
        self.orders.notify_one();
    }

    /// Takes back the orders that no slot has taken and that are meant.
    pub(super) fn withdraw(&self, mut is_meant: impl FnMut(&Claim) -> bool) -> Vec<Order> {
        let mut state = self.lock();
        let (meant, others) = state.orders.drain(..).partition(|order| is_meant(&order.claim));
        state.orders = others;
        Vec::from(meant)
    }

    /// Orders that no slot has taken, and slots at work.
    pub(super) fn waiting_and_busy(&self) -> (usize, usize) {
        let state = self.lock();
        (state.orders.len(), state.busy)
    }

    /// Since when there have been orders of which no slot took one, if there are any. A slot that was idle until the
    /// first was placed has not been slow.
    pub(super) fn stalled_since(&self) -> Option<Instant> {
        let state = self.lock();
        state.placed_at.max(state.taken_at).filter(|_| !state.orders.is_empty())
    }

    /// Lets news gather until a slot has nothing to do, there are fewer than `low` orders, or news enough. False where
    /// that is so already.
    pub(super) fn gather(&self, low: usize) -> bool {
        let mut state = self.lock();
        let may = !state.orders.is_empty() && state.orders.len() >= low && state.news.len() < ENOUGH_NEWS;
        state.gathering = may.then_some(low);
        may
    }

    /// Waits until there are news that should be looked at.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// All news, oldest first.
    pub(super) fn take_news(&self) -> Vec<FromSlot> {
        let mut state = self.lock();
        state.gathering = None;
        std::mem::take(&mut state.news)
    }

    /// Tells what does not end an attempt.
    pub(super) fn tell(&self, news: FromSlot) {
        let mut state = self.lock();
        state.news.push(news);
        if state.gathering.is_none() {
            self.news.notify_one();
        }
    }

    /// Hands in the end of the last attempt and waits for the next order. None: there will be no more.
    pub(super) fn next(&self, ended: Option<FromSlot>) -> Option<Order> {
        let mut state = self.lock();
        if let Some(news) = ended {
            state.busy -= 1;
            state.news.push(news);
            if state.is_worth_a_look() {
                self.news.notify_one();
            }
        }
        loop {
            if state.closed {
                return None;
            }
            if let Some(order) = state.orders.pop_front() {
                state.busy += 1;
                state.taken_at = Some(Instant::now());
                return Some(order);
            }
            state = self.orders.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends the slots home.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.orders.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Not while the news may gather: then the slot that is to take the next order leaves enough of them.
    fn is_worth_a_look(&self) -> bool {
        let left = self.orders.len();
        self.gathering.is_none_or(|low| left == 0 || left <= low || self.news.len() >= ENOUGH_NEWS)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::model::{Bytes, Command, JobSpec};
    use crate::process::Ran;
    use crate::text::Timestamp;
    use crate::worker::slot_table::Tickets;

    fn order(job_id: i64, priority: i32, run_at: i64) -> Order {
        let spec = JobSpec::new("a", Command::Shell(Bytes::from("true")), Bytes::from("/"));
        let claim = Claim {
            job_id,
            number: 1,
            budget_number: 1,
            spec: Arc::new(spec),
            queue: "q".to_owned(),
            priority,
            run_at: Timestamp(run_at),
            expires_at: None,
            args: Vec::new(),
            stdin: None,
            last_error_code: None,
            last_worker: None,
        };
        let ticket = Tickets::new(1).take().unwrap();
        Order { claim: Arc::new(claim), ticket, stdin: None, control: Control::default() }
    }

    fn end(order: Order) -> FromSlot {
        let ran = Ran::NotStarted { why: std::io::Error::other("a test") };
        FromSlot::Ran { ticket: order.ticket, claim: order.claim, ran, took: Duration::ZERO }
    }

    fn with(orders: impl IntoIterator<Item = Order>) -> Exchange {
        let exchange = Exchange::default();
        orders.into_iter().for_each(|order| exchange.place(order));
        exchange
    }

    /// Is the dispatcher to look now?
    fn is_told(exchange: &Exchange) -> bool {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            tokio::select! { biased; () = exchange.news() => true, () = std::future::ready(()) => false }
        })
    }

    #[test]
    fn orders_are_taken_by_priority_then_due_time_then_id() {
        let exchange =
            with([order(4, 0, 2), order(3, 0, 2), order(2, 0, 1), order(9, 5, 9), order(1, -1, 0)]);
        let taken: Vec<i64> = (0..5).map(|_| exchange.next(None).unwrap().claim.job_id).collect();
        assert_eq!(taken, [9, 2, 3, 4, 1]);
        assert_eq!(exchange.waiting_and_busy(), (0, 5));
    }

    #[test]
    fn what_is_withdrawn_no_slot_gets() {
        let exchange = with([order(1, 0, 0), order(2, 0, 0), order(3, 0, 0)]);
        let withdrawn = exchange.withdraw(|claim| claim.job_id != 2);
        assert_eq!(withdrawn.iter().map(|order| order.claim.job_id).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(exchange.next(None).unwrap().claim.job_id, 2);
        assert_eq!(exchange.waiting_and_busy(), (0, 1));
    }

    #[test]
    fn an_end_is_told_at_once_unless_it_may_gather_with_others() {
        let exchange = with((1..=5).map(|id| order(id, 0, 0)));
        let first = exchange.next(None).unwrap();
        let second = exchange.next(Some(end(first))).unwrap();
        assert!(is_told(&exchange), "nobody said that it may gather");
        assert!(exchange.gather(1));
        let third = exchange.next(Some(end(second))).unwrap();
        assert!(!is_told(&exchange), "there are two more orders");
        let _fourth = exchange.next(Some(end(third))).unwrap();
        assert!(!is_told(&exchange));
        let last = exchange.next(None).unwrap();
        let idle = thread::scope(|scope| {
            let slot = scope.spawn(|| exchange.next(Some(end(last))).is_none());
            while exchange.waiting_and_busy().1 == 2 {
                thread::yield_now();
            }
            assert!(is_told(&exchange), "a slot has nothing to do");
            assert!(!exchange.gather(0));
            exchange.close();
            slot.join().unwrap()
        });
        assert!(idle);
        assert_eq!(exchange.take_news().len(), 4);
    }

    #[test]
    fn news_enough_are_told_though_there_are_orders() {
        let exchange = with((0..100).map(|id| order(id, 0, 0)));
        let mut last = exchange.next(None).unwrap();
        assert!(exchange.gather(10));
        let mut handed_in = 0;
        while !is_told(&exchange) {
            last = exchange.next(Some(end(last))).unwrap();
            handed_in += 1;
        }
        assert_eq!(handed_in, ENOUGH_NEWS);
    }

    #[test]
    fn orders_that_run_low_are_told() {
        let exchange = with((0..10).map(|id| order(id, 0, 0)));
        let mut last = exchange.next(None).unwrap();
        assert!(exchange.gather(5));
        let mut handed_in = 0;
        while !is_told(&exchange) {
            last = exchange.next(Some(end(last))).unwrap();
            handed_in += 1;
        }
        // The slot that tells takes one of the five.
        assert_eq!((handed_in, exchange.waiting_and_busy()), (5, (4, 1)));
    }

    #[test]
    fn it_is_stalled_only_while_there_are_orders() {
        let begun = Instant::now();
        let exchange = with([order(1, 0, 0), order(2, 0, 0)]);
        assert!(exchange.stalled_since() >= Some(begun));
        let before = Instant::now();
        let _first = exchange.next(None);
        assert!(exchange.stalled_since().is_some_and(|since| since >= before));
        let _second = exchange.next(None);
        assert_eq!(exchange.stalled_since(), None);
        let later = Instant::now();
        exchange.place(order(3, 0, 0));
        assert!(exchange.stalled_since() >= Some(later), "it is stalled since it is there");
    }
}
