//! Jobs that name other jobs of the file: `after` and `on_dead`.

use std::collections::HashMap;

use super::diagnostics::{Mistakes, Span};
use super::job::{Declared, Job};
use super::shared_keys::Level;
use super::suggest::nearest;
use crate::model::{FrozenJob, JobSpec};

/// Records names that no job of the file has, and jobs that would wait for themselves. `names` are those of all jobs,
/// also of broken ones.
pub(super) fn check(jobs: &[Job], defaults: &Level, names: &[&str], mistakes: &mut Mistakes) {
    for job in jobs {
        let own = &job.level.spec.name;
        for (name, at) in &job.after {
            check_name(name, at, names, mistakes);
        }
        match &job.level.on_dead {
            Some((name, at)) if name == own => {
                let what = format!("the job `{own}` cannot be its own alert");
                mistakes.add(at, what).hint("name another job, or leave `on_dead` out");
            }
            Some((name, at)) => check_name(name, at, names, mistakes),
            None => {}
        }
    }
    if let Some((name, at)) = &defaults.on_dead {
        check_name(name, at, names, mistakes);
    }
    let mut circles = Circles {
        jobs,
        index: jobs.iter().enumerate().map(|(index, job)| (job.level.spec.name.as_str(), index)).collect(),
        seen: vec![false; jobs.len()],
        path: Vec::new(),
    };
    (0..jobs.len()).for_each(|job| circles.visit(job, mistakes));
}

fn check_name(name: &str, at: &Span, names: &[&str], mistakes: &mut Mistakes) {
    if names.contains(&name) {
        return;
    }
    let mistake = mistakes.add(at, format!("there is no job `{name}` in this file"));
    if let Some(near) = nearest(name, names.iter().copied()) {
        mistake.hint(format!("did you mean \"{near}\"?"));
    }
}

/// A search for jobs that would wait for themselves.
struct Circles<'j> {
    jobs: &'j [Job],
    index: HashMap<&'j str, usize>,
    seen: Vec<bool>,
    /// Each job of it is after the next.
    path: Vec<usize>,
}

impl Circles<'_> {
    fn visit(&mut self, job: usize, mistakes: &mut Mistakes) {
        if std::mem::replace(&mut self.seen[job], true) {
            return;
        }
        self.path.push(job);
        for (name, at) in &self.jobs[job].after {
            let Some(next) = self.index.get(name.as_str()).copied() else { continue };
            if let Some(start) = self.path.iter().position(|job| *job == next) {
                let circle = self.path[start..].iter().chain([&next]);
                let circle: Vec<_> =
                    circle.map(|job| format!("`{}`", self.jobs[*job].level.spec.name)).collect();
                mistakes.add(at, format!("a job would wait for itself: {}", circle.join(" is after ")));
            } else {
                self.visit(next, mistakes);
            }
        }
        self.path.pop();
    }
}

/// The name of the alert of each job. An alert in `[defaults]` does not call itself.
pub(super) fn alerts(jobs: &[Job], defaults: &Level) -> Vec<Option<String>> {
    let alert = |job: &Job| {
        let (name, _) = job.level.on_dead.as_ref().or(defaults.on_dead.as_ref())?;
        (*name != job.level.spec.name).then(|| name.clone())
    };
    jobs.iter().map(alert).collect()
}

/// Gives each job the definition of its alert.
pub(super) fn freeze_alerts(jobs: &mut [Declared], alerts: &[Option<String>]) {
    let specs: HashMap<String, JobSpec> =
        jobs.iter().map(|job| (job.spec.name.clone(), job.spec.clone())).collect();
    for (job, alert) in jobs.iter_mut().zip(alerts) {
        let spec = alert.as_ref().and_then(|name| specs.get(name));
        job.spec.on_dead = spec.map(|spec| Box::new(FrozenJob::freeze(spec.clone())));
    }
}
