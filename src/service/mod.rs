//! What keeps a worker running on this machine: a unit of systemd, or a line of a crontab. Everything is changed by steps, so that a
//! caller can show them first.

mod ask;
mod cron;
mod step;
mod systemd;
mod wanted;

pub use ask::answer_of_user;
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

/// All that may start a worker of this user: one of the ways, and for a caller who is not root the unit of the system that root
/// has set up for it, too.
pub fn starters(owner: &Owner) -> Vec<Service> {
    let of_system = || Unit::of(&Owner { by_root: true, ..owner.clone() }).map(Service::Unit);
    ways(owner).into_iter().chain((!owner.by_root).then(of_system).flatten()).collect()
}

impl Service {
    /// What is still to be done until this worker runs from now on.
    pub fn install(&self, wanted: &Wanted) -> Vec<Step> {
        match self {
            Self::Unit(unit) => unit.install(wanted),
            Self::Crontab(crontab) => crontab.install(wanted),
        }
    }

    /// A path that the unit or the line cannot hold. systemd and cron read these characters in ways of their own, and one cron reads
    /// a backslash before a `%` otherwise than another.
    pub fn cannot_hold<'a>(&self, wanted: &'a Wanted) -> Option<&'a str> {
        let is_refused = |c: char| c.is_control() || c == '\\' && matches!(self, Self::Crontab(_));
        [&wanted.program, &wanted.db, &wanted.path]
            .into_iter()
            .find(|word| word.contains(is_refused))
            .map(String::as_str)
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

    /// Whether a worker that it starts is one of this database. What somebody else wrote is taken for that.
    pub fn serves(&self, db: &str) -> bool {
        match self {
            Self::Unit(unit) => unit.serves(db),
            Self::Crontab(crontab) => crontab.serves(db),
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
