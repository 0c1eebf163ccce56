//! The plain model of queues: pauses, limits, and the reasons for which a queue starts no job.

use std::collections::{BTreeMap, BTreeSet};

use super::plain::Plain;
use crate::model::{JobState, Limits, Pause};
use crate::store::{Applied, AppliedKind, Change, Declarations, LimitChange, QueueHold};
use crate::text::Timestamp;

impl Plain {
    /// True where it changed something.
    pub fn pause(&mut self, queue: &str, pause: Option<Pause>, now: Timestamp) -> bool {
        self.end_pauses(now);
        let before = match pause {
            Some(pause) => self.paused.insert(queue.to_owned(), pause),
            None => self.paused.remove(queue),
        };
        before != pause
    }

    pub fn pause_all(&mut self, pause: Option<Pause>, now: Timestamp) -> bool {
        self.end_pauses(now);
        std::mem::replace(&mut self.pause_of_all, pause) != pause
    }

    pub fn end_pauses(&mut self, now: Timestamp) {
        self.paused.retain(|_, pause| !pause.is_over(now));
        self.pause_of_all = self.pause_of_all.filter(|pause| !pause.is_over(now));
    }

    /// Whether a pause of this queue is recorded.
    pub fn is_paused(&self, queue: &str) -> bool {
        self.pause_of_all.is_some() || self.paused.contains_key(queue)
    }

    pub fn limit(&mut self, queue: &str, change: LimitChange) {
        let limits = self.limits.entry(queue.to_owned()).or_default();
        let files = self.limit_files.entry(queue.to_owned()).or_default();
        let LimitChange::Set(Limits { max_running, rate }) = change else {
            *limits = Limits::default();
            *files = [None, None];
            return;
        };
        if max_running.is_some() {
            (limits.max_running, files[0]) = (max_running, None);
        }
        if rate.is_some() {
            (limits.rate, files[1]) = (rate, None);
        }
    }

    pub fn apply_limits(&mut self, declared: Declarations) -> Vec<Applied> {
        let Declarations { file, queues, .. } = declared;
        let before = self.limits.clone();
        let mut names: BTreeSet<String> = queues.keys().cloned().collect();
        for (name, files) in &mut self.limit_files {
            let limits = self.limits.get_mut(name).unwrap();
            if files[0].as_deref() == Some(file) {
                (limits.max_running, files[0]) = (None, None);
                names.insert(name.clone());
            }
            if files[1].as_deref() == Some(file) {
                (limits.rate, files[1]) = (None, None);
                names.insert(name.clone());
            }
        }
        for (name, limits) in queues {
            let owner = Some(file.to_owned());
            let files = [limits.max_running.and(owner.as_ref()), limits.rate.and(owner.as_ref())];
            self.limit_files.insert(name.clone(), files.map(Option::<&String>::cloned));
            self.limits.insert(name.clone(), *limits);
        }
        let of =
            |limits: &BTreeMap<String, Limits>, name: &String| limits.get(name).copied().unwrap_or_default();
        let change = |name: String| {
            let (before, after) = (of(&before, &name), of(&self.limits, &name));
            let change = match (before.is_none(), after.is_none()) {
                (true, false) => Change::Added,
                (false, true) => Change::Removed,
                _ if before == after => Change::Unchanged,
                _ => Change::Changed,
            };
            Applied { name, change, kind: AppliedKind::Queue { before, after }, taken_from: None }
        };
        names.into_iter().map(change).collect()
    }

    fn running(&self, queue: &str) -> usize {
        self.jobs
            .values()
            .filter(|job| job.state == JobState::Running && job.definition.queue == queue)
            .count()
    }

    /// The reason why this queue starts no job.
    pub fn queue_hold(&self, queue: &str, now: Timestamp) -> Option<QueueHold> {
        let Limits { max_running, rate } = self.limits.get(queue).copied().unwrap_or_default();
        if let Some(pause) = self.pause_of_all.filter(|pause| !pause.is_over(now)) {
            return Some(QueueHold::AllPaused(pause));
        }
        if let Some(pause) = self.paused.get(queue).filter(|pause| !pause.is_over(now)) {
            return Some(QueueHold::Paused(*pause));
        }
        if let Some(most) = max_running.filter(|most| self.running(queue) >= *most as usize) {
            return Some(QueueHold::Full(most));
        }
        let next = self.last_starts.get(queue)?.plus(rate?.spacing());
        (next > now).then_some(QueueHold::Paced(rate?, next))
    }
}
