//! Whose worker is wanted, and how it is called.

use crate::crontab::Account;
use crate::text::{Millis, option};

/// The user whose jobs the worker runs.
#[derive(Clone, Debug)]
pub struct Owner {
    pub id: u32,
    pub account: Account,
    /// The caller is root, whose units are those of the system, and who may edit every crontab.
    pub by_root: bool,
}

/// The worker.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The path of the program.
    pub program: String,
    pub db: String,
    /// The `PATH` of its jobs.
    pub path: String,
    pub slots: Option<usize>,
    pub keep: Option<Millis>,
}

impl Wanted {
    /// The options of `work` as a shell takes them.
    pub fn options(&self) -> String {
        let slots = self.slots.map(|slots| format!("-j {slots}"));
        let keep = self.keep.map(|keep| option("--keep", &keep.to_string()));
        let options = [Some(option("--db", &self.db)), slots, keep];
        options.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}
