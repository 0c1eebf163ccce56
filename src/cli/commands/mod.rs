//! One file a verb.

pub mod apply;
pub mod backup;
pub mod cancel;
pub mod check;
pub mod completions;
pub mod doctor;
pub mod enqueue;
pub mod explain;
pub mod init;
pub mod inspect;
pub mod limit;
pub mod logs;
pub mod man;
pub mod pause;
pub mod prune;
pub mod resolve;
pub mod restore;
pub mod retry;
pub mod schema;
pub mod wait;
pub mod work;
