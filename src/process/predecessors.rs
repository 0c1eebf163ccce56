//! Ends what earlier attempts of a job left in the background, before the next one starts.

use std::time::{Duration, Instant};

use crate::model::StopReason;

use super::control::Listener;
use super::hunt::Hunt;
use super::run::wall_clock;
use super::scan::{Group, Sought};
use super::{Identity, Launch, Progress, strangers};

/// Returns when nothing is left of them, or with the reason why the attempt is not to start at all: it was asked to end, or
/// its time to be started is over.
pub(super) fn end(
    launch: &Launch<'_>,
    control: &Listener<'_>,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<(), StopReason> {
    let any_left =
        || launch.remnants.iter().any(Identity::is_alive) || strangers::any_marked(launch.predecessors);
    let left = || launch.not_from.map(|at| Duration::from_millis(at.since(wall_clock()).0));
    let is_late = || left() == Some(Duration::ZERO);
    if is_late() {
        return Err(StopReason::Interrupted);
    }
    if launch.predecessors.is_empty() || !any_left() {
        return Ok(());
    }
    let sought = launch.predecessors.iter().map(|mark| Sought { mark: mark.clone(), group: Group::Unknown });
    let grace = Duration::from_millis(launch.spec.grace_period.0);
    let mut hunt = Hunt::prepare_knowing(sought.collect(), launch.remnants, grace);
    hunt.begin(Instant::now());
    loop {
        let now = Instant::now();
        let asked = control.hear();
        if let Some(cut) = asked.stop.or_else(|| is_late().then_some(StopReason::Interrupted)) {
            return Err(cut);
        }
        if asked.kill {
            hunt.kill_now(now);
        }
        if hunt.look_at().is_some_and(|at| at <= now) && hunt.step(now) {
            return Ok(());
        }
        if let Some(words) = hunt.news_of_stuck(now) {
            tell(Progress::Stuck(&words));
        }
        let until_look = hunt.look_at().map(|at| at.saturating_duration_since(Instant::now()));
        control.sleep(until_look.into_iter().chain(left()).min().unwrap_or(Duration::MAX));
    }
}
