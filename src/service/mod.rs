//! What keeps a worker running on this machine: a unit of systemd, or a line of a crontab. Everything is changed by steps, so that a
//! caller can show them first.

mod ask;
mod cron;
mod step;
mod systemd;
mod wanted;

pub use cron::Crontab;
pub use step::{ServiceError, Step};
pub use systemd::Unit;
pub use wanted::{Owner, Wanted};

/// One way to keep a worker running.
#[derive(Debug)]
pub enum Service {
    Unit(Unit),
    Crontab(Crontab),
}

/// The ways that this machine has, the best first: a unit where a manager of systemd answers (for root that of the system, else the
/// user's own), and a crontab where there is a program for it.
pub fn ways(owner: &Owner) -> Vec<Service> {
    let unit = Unit::of(owner).map(Service::Unit);
    let crontab = Crontab::of(owner).map(Service::Crontab);
    unit.into_iter().chain(crontab).collect()
}

impl Service {
    /// What is still to be done until this worker runs from now on.
    pub fn install(&self, wanted: &Wanted) -> Vec<Step> {
        match self {
            Self::Unit(unit) => unit.install(wanted),
            Self::Crontab(crontab) => crontab.install(wanted),
        }
    }

    /// What undoes that; nothing where it was not done.
    pub fn remove(&self) -> Vec<Step> {
        match self {
            Self::Unit(unit) => unit.remove(),
            Self::Crontab(crontab) => crontab.remove(),
        }
    }

    /// Whether it starts a worker, whoever set it up.
    pub fn is_installed(&self) -> bool {
        match self {
            Self::Unit(unit) => unit.is_enabled(),
            Self::Crontab(crontab) => crontab.starts_a_worker(),
        }
    }

    /// The last line that its worker logged as trouble, as far as that can be read.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Unit(unit) => unit.trouble(),
            Self::Crontab(crontab) => crontab.trouble(),
        }
    }
}
