//! Runs the processes of attempts.
//!
//! [`run()`] runs one attempt on one thread that blocks: it starts the command, returns when the process has ended, and ends
//! it on a timeout or when a [`Control`] asks for that. [`end_previous_attempt`] and [`end_attempts`] end the leftover
//! processes of other attempts. Nothing here knows of the store or of retries: the result is what happened.

mod attempt;
mod control;
mod environ;
mod folder_syncs;
mod held_output;
mod hidden;
mod ids;
mod inherit;
mod job_files;
mod leftover;
mod obstacles;
mod output;
mod pass_on;
mod procfs;
mod reap;
mod room;
mod scan;
mod spawn;
mod start_errors;
mod surroundings;
mod tag;
mod terminate;
mod waiting_input;

#[cfg(test)]
mod testing;

pub use attempt::{Progress, run};
pub use control::Control;
pub use folder_syncs::spare_syncs_of_folders;
pub use held_output::read_held_output;
pub use hidden::is_leader_alive;
pub use inherit::{Inherited, close_on_exec, is_stdout_closed, reset_inherited_state, suspend};
pub use leftover::{Leftover, find_leftovers};
pub use obstacles::obstacles;
pub use pass_on::PassOn;
pub use procfs::{Identity, Leader, ZombieReaper, boot_id, is_program_replaced, is_stopped};
pub use room::{check_null, check_pidfd, check_proc, room_for};
pub use spawn::Launch;
pub use start_errors::{is_disk_error, is_shortage};
pub use tag::AttemptTag;
pub use terminate::{end_attempts, end_own_background, end_previous_attempt};
pub use waiting_input::has_waiting_input;
