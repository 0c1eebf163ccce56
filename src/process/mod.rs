//! One attempt, from spawn to reaped, on one thread that blocks.
//!
//! [`spawn()`] starts a command, [`supervise`] returns when its process has ended, and ends the process on a timeout
//! or an order of a [`Control`]. [`end_earlier_attempts`] and [`end_attempts`] end the survivors of other attempts. Nothing
//! here knows of the store or of retries: the result is what happened.
//!
//! Processes of an attempt are found by their group, by descent, and by an [`AttemptTag`] in their environment.

mod attempt;
mod control;
mod inherit;
mod output;
mod procfs;
mod report_file;
mod spawn;
mod tag;
mod terminate;
mod zombies;

#[cfg(test)]
mod testing;

pub use attempt::{AttemptResult, Progress, supervise};
pub use control::Control;
pub use inherit::{Inherited, cleanse};
pub use procfs::{Identity, boot_id, is_stopped};
pub use spawn::{Child, Launch, SpawnError, is_disk_error, is_shortage, spawn};
pub use tag::AttemptTag;
pub use terminate::{end_attempts, end_earlier_attempts};
pub use zombies::ZombieReaper;
