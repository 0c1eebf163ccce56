//! What the overview, the page, the metrics and `doctor` show.

use crate::model::Attention;
use crate::store::{Overview, StoredSchedule, WorkerStatus};

/// The overview, and the list of what needs attention, at one moment.
pub struct Snapshot {
    pub overview: Overview,
    pub workers: Vec<WorkerStatus>,
    pub schedules: Vec<StoredSchedule>,
    pub attention: Vec<Attention>,
    pub boot_id: String,
}

/// The name of this machine.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
