//! What a `run` does besides what a worker does.

use anyhow::Result;

use super::state::Dispatcher;
use crate::store::{Act, StoreError};
use crate::worker::run::Run;

impl Dispatcher<'_> {
    /// Lets a `run` put its job on disk, once the claims of dead workers are recovered: one of them may have left this job.
    pub(super) fn start_run(&mut self) -> Result<()> {
        let is_recovered = !self.recovery.is_under_way();
        let Some(run) = self.run.as_mut().filter(|run| !run.has_started && is_recovered) else {
            return Ok(());
        };
        if self.shutdown.is_stopping() || run.waits_for_another_recovery(&self.store)? {
            return Ok(());
        }
        run.start(&mut self.store, self.worker.id);
        self.turn_needed = true;
        Ok(())
    }

    /// Begins the next job of a `run` whose first one was left by an earlier call, and has ended. False if there is none.
    pub(super) fn begin_next_of_run(&mut self) -> bool {
        let conditions = self.exit_conditions();
        let is_at_its_end = conditions.is_done() && !conditions.is_stopping && !conditions.gave_up;
        let Some(run) = self.run.as_mut().filter(|run| is_at_its_end && run.job.is_some()) else {
            return false;
        };
        let goes_on = self.summary.cancelled_by.is_none() && run.task.goes_on(&self.store);
        run.has_started = !goes_on;
        goes_on
    }

    pub(super) fn look_at_run(&mut self) {
        if let Some(Run { task, job: Some(job), gave_up, .. }) = &mut self.run {
            if let Ok(Some(present)) = self.store.job_of_run(self.worker.id) {
                *job = present;
            }
            self.turn_needed |= task.take_on(&mut self.store);
            *gave_up = !task.look(&self.store, *job);
        }
    }

    /// Cancels the job of a `run`, and what it depends on, because whoever started it in the foreground ends it. False if
    /// there is nothing left to cancel.
    pub(super) fn cancel_run(&mut self, number: i32) -> Result<bool, StoreError> {
        let Some(Run { job: Some(job), .. }) = self.run else { return Ok(false) };
        let job = self.store.job_of_run(self.worker.id)?.unwrap_or(job);
        let jobs = self.store.with_dependencies_of_run(self.worker.id, job)?;
        self.store.act(&jobs, Act::Cancel)?;
        self.turn_needed = true;
        if !jobs.is_empty() {
            self.summary.cancelled_by = Some(number);
        }
        Ok(!jobs.is_empty())
    }
}
