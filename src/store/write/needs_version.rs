//! The version that a program has to know for a row: older ones leave the job or the schedule alone. What a definition needs is
//! in the model, beside its keys.

use crate::model::{Chain, JobDefinition, Link};
use crate::store::file::version::Version;

/// The version that brought `run`. Older programs do not know whose its jobs are.
pub const OF_RUNS: Version = Version::of_minor(1);

/// The version that brought the columns of what a program of version 1.0 cannot read of a schedule.
pub const OF_SCHEDULE_COLUMNS: Version = Version::of_minor(2);

pub fn of_job(definition: &JobDefinition, is_of_run: bool) -> Version {
    let needs = Version::of_minor(definition.needs_minor_version());
    if is_of_run { needs.max(OF_RUNS) } else { needs }
}

/// `uses_columns` says whether those of [`OF_SCHEDULE_COLUMNS`] hold something.
pub fn of_schedule(chain: &Chain, uses_columns: bool) -> Version {
    let needs = Version::of_minor(chain.links().map(Link::needs_minor_version).max().unwrap_or_default());
    if uses_columns { needs.max(OF_SCHEDULE_COLUMNS) } else { needs }
}
