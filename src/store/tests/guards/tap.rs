//! What sits between the store and SQLite in a test: it hears every statement, and can put another in its place.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

/// Statements of one connection: far more than a history runs. A walk that lost the condition that ends it is stopped.
const MOST: usize = 20_000;

#[derive(Debug, Default)]
pub(in crate::store) struct Tap {
    /// The text of each statement that was prepared.
    heard: Mutex<BTreeSet<String>>,
    /// Statements, and what is prepared instead of each.
    instead: Vec<(String, String)>,
}

thread_local! {
    /// What connections are tapped by that this thread opens.
    static CURRENT: RefCell<Option<Arc<Tap>>> = const { RefCell::new(None) };
}

impl Tap {
    /// Sets the current thread's tap on a new connection, or one that does nothing where there is none.
    pub fn onto(mut connection: Connection) -> (Connection, Arc<Self>) {
        let Some(tap) = CURRENT.with_borrow(Clone::clone) else {
            return (connection, Arc::default());
        };
        let interrupt = connection.get_interrupt_handle();
        let mut left = MOST;
        let count = move |_: TraceEvent<'_>| {
            left = left.saturating_sub(1);
            if left == 0 {
                interrupt.interrupt();
            }
        };
        connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(count)).unwrap();
        (connection, tap)
    }

    /// The text to prepare where the store asks for this one.
    pub fn pass<'a>(&'a self, sql: &'a str) -> &'a str {
        if self.instead.is_empty() {
            self.heard.lock().unwrap().insert(sql.to_owned());
        }
        self.instead.iter().find(|(replaced, _)| replaced == sql).map_or(sql, |(_, by)| by)
    }
}

/// The statements that are prepared while this runs.
pub(super) fn heard(run: impl FnOnce()) -> BTreeSet<String> {
    let tap = Arc::new(Tap::default());
    tapped(&tap, run);
    std::mem::take(&mut *tap.heard.lock().unwrap())
}

/// Runs this with the second statement of each pair in the place of the first.
pub(super) fn with_instead(instead: &[(String, String)], run: impl FnOnce()) {
    tapped(&Arc::new(Tap { instead: instead.to_vec(), ..Tap::default() }), run);
}

fn tapped(tap: &Arc<Tap>, run: impl FnOnce()) {
    /// The thread is used again by whoever catches a panic.
    struct Untap;
    impl Drop for Untap {
        fn drop(&mut self) {
            CURRENT.set(None);
        }
    }
    CURRENT.set(Some(Arc::clone(tap)));
    let _untap = Untap;
    run();
}
