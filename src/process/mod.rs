//! One attempt, from spawn to reaped, on one thread that blocks.
//!
//! [`run()`] starts a command, keeps the ends of its output, and returns when its process has ended; or it ends the
//! attempt itself, when the timeout is over or a [`Control`] asks for it. [`end_all()`] ends what a dead worker left
//! behind. Nothing here knows of the store or of retries: what comes out is what happened.
//!
//! Processes of an attempt are traced by their group, by descent, and by a [`Mark`] in their environment. That
//! needs `/proc`; elsewhere only the group is known.

mod birth;
mod control;
mod end_all;
mod hunt;
mod identity;
#[cfg(target_os = "linux")]
mod image;
mod inherit;
mod kept;
mod launch;
mod leader;
mod mark;
mod orphans;
mod portable;
mod predecessors;
mod remnants;
mod report_file;
mod run;
mod scan;
mod spawn;
mod spawn_error;
mod stat;
mod strangers;
mod stream;
#[cfg(target_os = "linux")]
mod vfork;
mod wait;
mod watch;

#[cfg(test)]
mod testing;

pub use control::{Control, give_back_descriptors};
pub use end_all::{Leftovers, end_all};
pub use identity::{Identity, boot_id};
pub use inherit::{Inherited, cleanse, suspendable};
pub use kept::Kept;
pub use launch::Launch;
pub use mark::Mark;
pub use orphans::reap_orphans;
pub use run::{Progress, Ran, run};
pub use spawn_error::exit_status as not_spawned_exit_status;
