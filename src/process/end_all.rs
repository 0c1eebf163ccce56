//! Ends what is left of attempts whose worker died.

use std::fmt;
use std::time::{Duration, Instant};

use super::hunt::Hunt;
use super::scan::{Group, Sought};
use super::{Identity, Mark};

/// What is still there so long after SIGKILL is left for another try.
const LONGEST_KILL: Duration = Duration::from_secs(1);
/// Between two looks that found nothing.
const PAUSE: Duration = Duration::from_millis(10);

/// Processes that could not be ended, each with the attempt it belongs to; number 0 where they could not even be looked
/// for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers(pub Vec<(Mark, Identity)>);

impl Leftovers {
    /// Is nothing left?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is anything left of this attempt?
    pub fn any_of(&self, mark: &Mark) -> bool {
        self.0.iter().any(|(of, _)| of == mark)
    }
}

impl fmt::Display for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (mark, process)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let Mark { job_id, attempt, .. } = mark;
            match process.pid {
                0 => write!(
                    f,
                    "{comma}job {job_id}, attempt {attempt}: its processes could not be looked for"
                )?,
                pid => write!(f, "{comma}process {pid} of job {job_id}, attempt {attempt}")?,
            }
        }
        Ok(())
    }
}

/// Ends every process that is left of these attempts, each with the leader of its group where a record names it.
///
/// Processes are found by their group, by descent, and by the mark in their environment. SIGTERM and SIGCONT,
/// `patience` later SIGKILL, until a look finds none. Looks go on for at least `at_least`: between fork and exec a
/// child still shows the worker's environment, and during exec none. What withstands SIGKILL for a second is
/// returned, so that one stuck process does not hold up the rest.
pub fn end_all(marks: &[(Mark, Option<Identity>)], patience: Duration, at_least: Duration) -> Leftovers {
    if marks.is_empty() {
        return Leftovers::default();
    }
    let sought = marks.iter().map(|(mark, leader)| Sought {
        mark: mark.clone(),
        group: leader.map_or(Group::Unknown, Group::Recorded),
    });
    let began = Instant::now();
    let mut hunt = Hunt::prepare(sought.collect(), patience);
    hunt.begin(began);
    loop {
        let now = Instant::now();
        let none = hunt.step(now);
        if none && began.elapsed() >= at_least {
            return Leftovers::default();
        }
        if !none && hunt.killing_for(now) >= LONGEST_KILL {
            if hunt.has_failed() {
                let unseen = Identity { pid: 0, start_ticks: 0 };
                return Leftovers(marks.iter().map(|(mark, _)| (mark.clone(), unseen)).collect());
            }
            let left = hunt.left().iter();
            return Leftovers(left.map(|each| (marks[each.of].0.clone(), each.identity)).collect());
        }
        std::thread::sleep(if none {
            PAUSE
        } else {
            hunt.look_at().map_or(PAUSE, |at| at.saturating_duration_since(Instant::now()))
        });
    }
}
