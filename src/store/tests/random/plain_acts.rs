//! The acts of the plain model: what a person asks for by id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::plain::{Job, Plain};
use crate::model::{DependencyKind, JobDefinition, JobState};
use crate::store::{Act, Done, Due, JobChange, NewJob, Refusal};
use crate::text::{Millis, Timestamp};

/// The job that was changed, or the reason why it was left.
type Acted = std::result::Result<Done, Refusal>;

impl Plain {
    pub fn act(&mut self, id: i64, act: Act, now: Timestamp) -> Acted {
        match act {
            Act::Cancel => self.cancel(id, now),
            Act::Resolve { note } => self.resolve(id, note, now),
            Act::Retry { force } => self.retry(id, force, now),
            Act::Change(change) => self.change(id, change, now),
            Act::ReplacePending { jobs } => self.replace_pending(id, jobs.get(&id), now),
            Act::ReplaceEnded { jobs, force } => self.replace_ended(id, jobs.get(&id), force, now),
        }
    }

    /// Of dead letters that do the same acts on the newest alone.
    pub fn act_on_latest(&mut self, ids: &BTreeSet<i64>, act: Act, now: Timestamp) -> BTreeMap<i64, Acted> {
        let task = |job: &Job| (job.definition.name.clone(), job.label.clone(), job.args.clone(), job.file);
        let mut newest: Vec<(_, i64, Acted)> = Vec::new();
        let mut all = BTreeMap::new();
        for id in ids.iter().rev() {
            let job = match self.at(*id, now) {
                Ok(job) => job.clone(),
                Err(refused) => {
                    all.insert(*id, Err(refused));
                    continue;
                }
            };
            let newer = newest.iter().find(|(of, ..)| !job.is_one_of_a_kind() && *of == task(&job));
            let acted = match newer {
                _ if job.resolved_at.is_some() || job.state != JobState::Dead => {
                    Err(Refusal::State(job.state))
                }
                None => self.act(*id, act, now),
                Some((_, newer, Err(_))) => Err(Refusal::NewerLeft(*newer)),
                Some((_, newer, Ok(done))) => {
                    let (by, word) = match *done {
                        Done::ReplacedBy(new) => (new, "enqueued"),
                        _ => (*newer, "replayed"),
                    };
                    let _ = self.resolve(*id, Some(&format!("job {by} was {word} instead")), now);
                    Ok(Done::ResolvedFor(by))
                }
            };
            if job.resolved_at.is_none() && newer.is_none() && !job.is_one_of_a_kind() {
                newest.push((task(&job), *id, acted));
            }
            all.insert(*id, acted);
        }
        all
    }

    fn cancel(&mut self, id: i64, now: Timestamp) -> Acted {
        let job = self.at(id, now)?;
        match job.state {
            JobState::Pending => {
                job.cancel_waiting(now);
                self.settle();
                Ok(Done::Changed)
            }
            JobState::Running => {
                job.cancel_requested_at.get_or_insert(now);
                Ok(Done::AskedToEnd)
            }
            done => Err(Refusal::State(done)),
        }
    }

    /// The job of this id, after an expiry that is due.
    pub fn at(&mut self, id: i64, now: Timestamp) -> std::result::Result<&mut Job, Refusal> {
        self.expire(id, now);
        self.jobs.get_mut(&id).ok_or(Refusal::Unknown)
    }

    fn retry(&mut self, id: i64, force: bool, now: Timestamp) -> Acted {
        let job = self.at(id, now)?;
        if !matches!(job.state, JobState::Dead | JobState::Cancelled) {
            return Err(Refusal::State(job.state));
        }
        let definition = Arc::clone(&job.definition);
        if !definition.policy.retryable && !force {
            return Err(Refusal::NotRetryable);
        }
        if let Some(holder) = definition.unique_key.as_ref().and_then(|key| self.holder(key, now)) {
            return Err(Refusal::KeyTaken(holder.id));
        }
        let job = self.jobs.get_mut(&id).unwrap();
        job.state = JobState::Pending;
        job.run_at = now;
        job.changed_at = now;
        job.expires_at = definition.expires_in.map(|span| now.plus(span));
        job.attempts_used = 0;
        job.dead = None;
        job.cancel_requested_at = None;
        job.resolved_at = None;
        job.resolution = None;
        job.replaced_by = None;
        Ok(Done::Changed)
    }

    /// A new job takes the place of an old one, with its input.
    fn replace_ended(&mut self, id: i64, new: Option<&NewJob>, force: bool, now: Timestamp) -> Acted {
        let old = self.at(id, now)?;
        if !matches!(old.state, JobState::Dead | JobState::Cancelled) {
            return Err(Refusal::State(old.state));
        }
        if let Some(by) = old.replaced_by {
            return Err(Refusal::Replaced(by));
        }
        if old.definition.ad_hoc {
            return Err(Refusal::AdHoc);
        }
        let Some(new) = new else { return Err(Refusal::Undeclared) };
        if !old.definition.policy.retryable && !force {
            return Err(Refusal::NotRetryable);
        }
        if let Some(holder) = new.definition.unique_key.as_ref().and_then(|key| self.holder(key, now)) {
            return Err(Refusal::KeyTaken(holder.id));
        }
        Ok(Done::ReplacedBy(self.take_place(id, new, &[DependencyKind::Success], now)))
    }

    /// Enqueues the new job in the place of the old one. What waits for the old one in one of these ways waits for the new one.
    fn take_place(&mut self, id: i64, new: &NewJob, moved: &[DependencyKind], now: Timestamp) -> i64 {
        let old = self.jobs.get_mut(&id).unwrap();
        let (stdin, after, ended) = (old.stdin.clone(), old.after.clone(), old.ended.clone());
        (old.resolved_at, old.resolution, old.idempotency_key) = (Some(now), None, None);
        let mut waiting = Vec::new();
        for job in self.jobs.values_mut().filter(|job| !job.ended.contains(&id)) {
            let kind = job.after.get(&id).copied().filter(|kind| moved.contains(kind));
            waiting.extend(kind.map(|kind| (job.id, kind)));
            if kind.is_some() {
                job.after.remove(&id);
            }
        }
        let new = self.enqueue_one(&NewJob { stdin, ..new.clone() }, BTreeMap::new(), 0, now).unwrap().id;
        let job = self.jobs.get_mut(&new).unwrap();
        (job.after, job.ended) = (after, ended);
        for (job, kind) in waiting {
            self.jobs.get_mut(&job).unwrap().after.insert(new, kind);
        }
        self.settle_new(new);
        self.jobs.get_mut(&id).unwrap().replaced_by = Some(new);
        new
    }

    fn resolve(&mut self, id: i64, note: Option<&str>, now: Timestamp) -> Acted {
        let job = self.at(id, now)?;
        if job.state != JobState::Dead && job.warning.is_none() {
            return Err(Refusal::State(job.state));
        }
        job.resolved_at.get_or_insert(now);
        job.resolution = note.map(str::to_owned).or(job.resolution.take());
        Ok(Done::Changed)
    }

    fn change(&mut self, id: i64, change: &JobChange, now: Timestamp) -> Acted {
        let job = self.at(id, now)?;
        if job.state != JobState::Pending {
            return Err(Refusal::State(job.state));
        }
        let was_due = job.run_at;
        let due = match change.due {
            Some(Due::In(delay)) if delay > Millis(0) => now.plus(delay),
            Some(Due::At(at)) if at > now => at,
            Some(_) if was_due > now => now,
            _ => was_due,
        };
        match job.expires_at {
            Some(expiry) if !job.attempts.is_empty() && expiry <= due => {
                return Err(Refusal::ExpiresBefore(expiry));
            }
            Some(expiry) if job.attempts.is_empty() => job.expires_at = Some(due.plus(expiry.since(was_due))),
            _ => {}
        }
        job.run_at = due;
        if let Some(due) = change.due {
            job.delay = match due {
                Due::At(at) if at > now => Some((at, None)),
                _ => due.delay().map(|delay| (now, Some(delay))),
            };
            job.changed_at = job.changed_at.min(now);
        }
        let mut definition = (*job.definition).clone();
        definition.priority = change.priority.unwrap_or(definition.priority);
        definition.queue = change.queue.clone().unwrap_or(definition.queue);
        job.definition = Arc::new(definition);
        Ok(Done::Changed)
    }

    /// A new job takes the place of one that waits, and nobody takes that for the end of it.
    fn replace_pending(&mut self, id: i64, new: Option<&NewJob>, now: Timestamp) -> Acted {
        let old = self.at(id, now)?;
        if old.state != JobState::Pending {
            return Err(Refusal::State(old.state));
        }
        if old.definition.ad_hoc {
            return Err(Refusal::AdHoc);
        }
        let Some(new) = new else { return Err(Refusal::Undeclared) };
        let (was_due, delay) = (old.run_at, old.delay);
        let new = &NewJob {
            definition: Arc::new(JobDefinition {
                queue: old.definition.queue.clone(),
                priority: old.definition.priority,
                ..(*new.definition).clone()
            }),
            due: Due::At(was_due.max(now)),
            run_worker_id: old.run,
            idempotency_key: old.idempotency_key.clone(),
            ..new.clone()
        };
        if let Some(holder) = new.definition.unique_key.as_ref().and_then(|key| self.holder(key, now))
            && holder.id != id
        {
            return Err(Refusal::KeyTaken(holder.id));
        }
        let old = self.jobs.get_mut(&id).unwrap();
        old.state = JobState::Cancelled;
        old.changed_at = now;
        let by = self.take_place(id, new, &[DependencyKind::Success, DependencyKind::Any], now);
        let job = self.jobs.get_mut(&by).unwrap();
        job.run_at = job.run_at.min(was_due);
        job.delay = delay;
        let run = self.workers.iter_mut().find(|(row, _)| Some(row.id) == new.run_worker_id);
        if let Some((row, _)) = run.filter(|(row, _)| row.run_job_id == Some(id)) {
            row.run_job_id = Some(by);
        }
        Ok(Done::ReplacedBy(by))
    }
}
