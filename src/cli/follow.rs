//! `runner logs -f`: what a job writes while it writes it, through its retries, until it is final.

use anyhow::{Result, bail};

use super::args::{Global, Logs};
use super::commands::logs::{last_attempt, no_such_attempt, no_such_job};
use super::commands::wait;
use super::error::ExitStatus;
use super::output::{AttemptJson, Output, StreamCursor, Written, keep_last_lines, warn};
use super::poll::Poller;
use crate::clock;
use crate::model::sentence;
use crate::store::{self, JobRow, Store};

/// Follows the job from its last attempt on, or the one attempt that is named.
pub fn run(global: &Global, asked: &Logs, store: &mut Store) -> Result<ExitStatus> {
    let id = asked.which.job;
    let mut poller = Poller::start()?;
    let mut follower = Follower::new(Output::new(global), asked, store)?;
    while !follower.catch_up(store)? {
        if let Some(status) = poller.wait(store, None)? {
            return Ok(status);
        }
    }
    let job = store.job(id, clock::now())?.filter(|job| job.state.is_final());
    if let Some(job) = job.filter(|_| !follower.out.quiet && asked.which.attempt.is_none()) {
        warn(&wait::words(&job));
    }
    Ok(ExitStatus::SUCCESS)
}

struct Follower<'a> {
    out: Output,
    asked: &'a Logs,
    /// The attempt that is read.
    number: u32,
    /// How far its streams have been read; none before the first look.
    readings: Option<[StreamCursor; 2]>,
    /// How much of each it had written when they were read last. Other jobs change the file all the time.
    lengths: Option<(u64, u64)>,
}

impl<'a> Follower<'a> {
    fn new(out: Output, asked: &'a Logs, store: &Store) -> Result<Self> {
        let id = asked.which.job;
        let job = store.job(id, clock::now())?.ok_or_else(|| no_such_job(id))?;
        let last = last_attempt(&job);
        if let Some(number) = asked.which.attempt.filter(|number| *number > last || *number == 0) {
            bail!(no_such_attempt(id, number, last));
        }
        if last == 0 && !job.state.is_final() && !out.quiet {
            warn(&format!("job {id} has not been started yet; runner explain {id} says why"));
        }
        let number = asked.which.attempt.unwrap_or(last.max(1));
        Ok(Self { out, asked, number, readings: None, lengths: None })
    }

    /// Prints what is new; true when no more can come.
    fn catch_up(&mut self, store: &mut Store) -> Result<bool> {
        let id = self.asked.which.job;
        // The job is read before the output: when it says that an attempt has ended, its output is complete.
        let job = store.job(id, clock::now())?.ok_or_else(|| no_such_job(id))?;
        while self.number <= job.attempts {
            self.finish_attempt(store, &job)?;
            if self.asked.which.attempt.is_some() {
                return Ok(true);
            }
            self.number += 1;
        }
        if !job.state.is_final() && last_attempt(&job) == self.number && !self.out.json {
            let lengths = Some(store.live_lengths(id, self.number)?);
            if self.lengths != lengths {
                let output = store.output(id, self.number)?;
                self.print(&output, false)?;
                self.lengths = lengths;
            }
        }
        Ok(job.state.is_final() || self.out.is_closed())
    }

    fn finish_attempt(&mut self, store: &mut Store, job: &JobRow) -> Written {
        let mut output = store.output(job.id, self.number)?;
        let attempt = store.attempt(job.id, self.number)?;
        let runs = job.spec.policy.runs();
        if let Some(attempt) = attempt.as_ref().filter(|_| self.out.json) {
            if let Some(lines) = self.asked.lines {
                keep_last_lines(&mut output.stdout, lines);
                keep_last_lines(&mut output.stderr, lines);
            }
            self.out.object(&AttemptJson::new(attempt, runs).with_output(&output))?;
            self.out.flush()?;
        } else {
            self.print(&output, true)?;
        }
        // Of the next attempt everything is new.
        self.readings = Some([StreamCursor::default(); 2]);
        self.lengths = None;
        match attempt {
            Some(attempt) if !attempt.next_state.is_final() && !self.out.quiet => {
                warn(&format!(
                    "end of attempt {} of job {}: {}",
                    self.number,
                    job.id,
                    sentence(&attempt, runs)
                ));
            }
            _ => {}
        }
        Ok(())
    }

    fn print(&mut self, output: &store::Output, ended: bool) -> Written {
        let start = |stream| {
            self.asked.lines.map(|lines| StreamCursor::of_last_lines(stream, lines)).unwrap_or_default()
        };
        let mut readings = self.readings.unwrap_or_else(|| [start(&output.stdout), start(&output.stderr)]);
        if !self.asked.stderr {
            readings[0].print(&mut self.out, &output.stdout, ended)?;
        }
        if !self.asked.stdout {
            readings[1].print(&mut self.out, &output.stderr, ended)?;
        }
        self.readings = Some(readings);
        self.out.flush()
    }
}
