//! `runner logs -f`: what a job writes while it writes it, through its retries, until it is final.

use anyhow::{Result, bail};

use super::args::{Global, Logs};
use super::commands::logs::{last_attempt, no_such_attempt, no_such_job};
use super::commands::wait;
use super::error::ExitStatus;
use super::json_rows::AttemptJson;
use super::say::say;
use super::screen::{Screen, Written};
use super::streams::{self, Reading};
use super::watch::Watch;
use crate::clock;
use crate::model::sentence;
use crate::store::{JobRow, Output, Store};

/// Follows the job from its last attempt on, or the one attempt that is named.
pub fn run(global: &Global, asked: &Logs, store: &mut Store) -> Result<ExitStatus> {
    let id = asked.which.job;
    let mut watch = Watch::begin()?;
    let mut follower = Follower::new(Screen::new(global), asked, store)?;
    while !follower.catch_up(store)? {
        if let Some(status) = watch.wait(store, None)? {
            return Ok(status);
        }
    }
    let job = store.job(id, clock::now())?.filter(|job| job.state.is_final());
    if let Some(job) = job.filter(|_| !follower.screen.quiet && asked.which.attempt.is_none()) {
        say(&wait::words(&job));
    }
    Ok(ExitStatus::SUCCESS)
}

struct Follower<'a> {
    screen: Screen,
    asked: &'a Logs,
    /// The attempt that is read.
    number: u32,
    /// How far its streams have been read; none before the first look.
    readings: Option<[Reading; 2]>,
    /// How much of each it had written when they were read last. Other jobs change the file all the time.
    lengths: Option<(u64, u64)>,
}

impl<'a> Follower<'a> {
    fn new(screen: Screen, asked: &'a Logs, store: &Store) -> Result<Self> {
        let id = asked.which.job;
        let job = store.job(id, clock::now())?.ok_or_else(|| no_such_job(id))?;
        let last = last_attempt(&job);
        if let Some(number) = asked.which.attempt.filter(|number| *number > last || *number == 0) {
            bail!(no_such_attempt(id, number, last));
        }
        if last == 0 && !job.state.is_final() && !screen.quiet {
            say(&format!("job {id} has not been started yet; runner explain {id} says why"));
        }
        let number = asked.which.attempt.unwrap_or(last.max(1));
        Ok(Self { screen, asked, number, readings: None, lengths: None })
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
        if !job.state.is_final() && last_attempt(&job) == self.number && !self.screen.json {
            let lengths = Some(store.live_lengths(id, self.number)?);
            if self.lengths != lengths {
                let output = store.output(id, self.number)?;
                self.print(&output, false)?;
                self.lengths = lengths;
            }
        }
        Ok(job.state.is_final() || self.screen.is_gone())
    }

    fn finish_attempt(&mut self, store: &mut Store, job: &JobRow) -> Written {
        let mut output = store.output(job.id, self.number)?;
        let attempt = store.attempt(job.id, self.number)?;
        let runs = job.spec.policy.runs();
        if let Some(attempt) = attempt.as_ref().filter(|_| self.screen.json) {
            if let Some(lines) = self.asked.lines {
                streams::cut_to_last_lines(&mut output.stdout, lines);
                streams::cut_to_last_lines(&mut output.stderr, lines);
            }
            self.screen.object(&AttemptJson::new(attempt, runs).with_output(&output))?;
            self.screen.flush()?;
        } else {
            self.print(&output, true)?;
        }
        // Of the next attempt everything is new.
        self.readings = Some([Reading::default(); 2]);
        self.lengths = None;
        match attempt {
            Some(attempt) if !attempt.next_state.is_final() && !self.screen.quiet => {
                say(&format!(
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

    fn print(&mut self, output: &Output, ended: bool) -> Written {
        let start =
            |stream| self.asked.lines.map(|lines| Reading::of_last_lines(stream, lines)).unwrap_or_default();
        let mut readings = self.readings.unwrap_or_else(|| [start(&output.stdout), start(&output.stderr)]);
        if !self.asked.stderr {
            readings[0].print(&mut self.screen, &output.stdout, ended)?;
        }
        if !self.asked.stdout {
            readings[1].print(&mut self.screen, &output.stderr, ended)?;
        }
        self.readings = Some(readings);
        self.screen.flush()
    }
}
