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

    /// When a slot last took an order, if there are more.
    pub(super) fn stalled_since(&self) -> Option<Instant> {
        let state = self.lock();
        state.taken_at.filter(|_| !state.orders.is_empty())
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
