//! `runner logs`: what an attempt wrote; with `-f` through the retries of its job, until that is final.

use std::io::{self, IsTerminal};

use anyhow::{Result, bail};

use crate::cli::args::{Global, Logs};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::locate;
use crate::cli::output::{AttemptJson, Output, StreamCursor, Written, keep_last_lines, warn};
use crate::cli::poll::Poller;
use crate::cli::waiter::final_text;
use crate::clock;
use crate::model::sentence;
use crate::store::{self, JobRow, Store};
use crate::text::relative_time;

/// Prints what the last or the named attempt wrote.
pub fn run(global: &Global, asked: &Logs) -> Result<ExitStatus> {
    let store = locate::open(global)?;
    let mut out = Output::new(global);
    if asked.follow {
        return follow(out, asked, &store);
    }
    let job = find(&store, asked)?;
    let number = asked.which.attempt.unwrap_or(job.last_attempt());
    if number == 0 {
        bail!(not_started(&job));
    }
    let output = store.output(job.id, number)?;
    if out.json {
        print_json(&mut out, asked, &store, &job, number)?;
    } else {
        for (stream, left_out) in [(&output.stdout, asked.stderr), (&output.stderr, asked.stdout)] {
            if !left_out {
                start(asked, stream).print(&mut out, stream, true)?;
            }
        }
    }
    out.flush()?;
    let nothing = (asked.stderr || output.stdout.is_empty()) && (asked.stdout || output.stderr.is_empty());
    if nothing && !out.json && !out.quiet && io::stderr().is_terminal() {
        warn(&nothing_text(&job, number, asked));
    }
    Ok(ExitStatus::SUCCESS)
}

/// The job, if it has the attempt that is named.
fn find(store: &Store, asked: &Logs) -> Result<JobRow> {
    let id = asked.which.job;
    let Some(job) = locate::job(store, id, clock::now())? else { bail!(no_such_job(id)) };
    let last = job.last_attempt();
    if let Some(number) = asked.which.attempt.filter(|number| *number > last || *number == 0) {
        bail!(
            CliError::new(ExitStatus::NOT_FOUND, format!("job {id} has no attempt {number}"))
                .hint(format!("its attempts go up to {last}"))
        );
    }
    Ok(job)
}

fn no_such_job(id: i64) -> CliError {
    CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {id}"))
}

fn not_started(job: &JobRow) -> CliError {
    let JobRow { id, state, .. } = job;
    if state.is_final() {
        return CliError::new(ExitStatus::NOT_FOUND, format!("job {id} was never started: it is {state}"))
            .hint(format!("runner explain {id} says why"));
    }
    let due = relative_time(job.run_at, clock::now());
    let what = format!("job {id} has not been started yet: {}, due {due}", job.status());
    CliError::new(ExitStatus::NOT_FOUND, what)
        .hint(format!("runner explain {id} says why; runner logs -f {id} waits for it"))
}

/// Where to begin to read a stream.
fn start(asked: &Logs, stream: &store::StreamBytes) -> StreamCursor {
    asked.lines.map(|lines| StreamCursor::of_last_lines(stream, lines)).unwrap_or_default()
}

fn print_json(out: &mut Output, asked: &Logs, store: &Store, job: &JobRow, number: u32) -> Written {
    let attempt = match store.attempt(job.id, number)? {
        Some(attempt) => AttemptJson::new(&attempt, job.spec.policy.runs()),
        None => AttemptJson::running(job),
    };
    let mut output = store.output(job.id, number)?;
    if let Some(lines) = asked.lines {
        keep_last_lines(&mut output.stdout, lines);
        keep_last_lines(&mut output.stderr, lines);
    }
    out.object(&attempt.with_output(&output))
}

/// An empty log looks like a mistake to a person.
fn nothing_text(job: &JobRow, number: u32, asked: &Logs) -> String {
    let id = job.id;
    let subject = match asked.which.attempt {
        Some(number) => format!("attempt {number} of job {id}"),
        None => format!("job {id}"),
    };
    let what = match (asked.stdout, asked.stderr) {
        (true, _) => "nothing on standard output",
        (_, true) => "nothing on standard error",
        _ => "no output",
    };
    if number > job.attempts {
        return format!("{subject} has written {what} so far");
    }
    format!("{subject} wrote {what}; runner inspect {id}.{number} tells how it ended")
}

/// Follows the job from its last attempt on, or the one attempt that is named.
fn follow(out: Output, asked: &Logs, store: &Store) -> Result<ExitStatus> {
    let id = asked.which.job;
    let mut poller = Poller::start()?;
    let job = find(store, asked)?;
    if job.last_attempt() == 0 && !job.state.is_final() && !out.quiet {
        warn(&format!("job {id} has not been started yet; runner explain {id} says why"));
    }
    let number = asked.which.attempt.unwrap_or(job.last_attempt().max(1));
    let mut follower = Follower { out, asked, number, cursors: None, lengths: None };
    while !follower.catch_up(store)? {
        if let Some(status) = poller.wait(store, None)? {
            return Ok(status);
        }
    }
    let job = store.job(id, clock::now())?.filter(|job| job.state.is_final());
    if let Some(job) = job.filter(|_| !follower.out.quiet && asked.which.attempt.is_none()) {
        warn(&final_text(&job));
    }
    Ok(ExitStatus::SUCCESS)
}

struct Follower<'a> {
    out: Output,
    asked: &'a Logs,
    /// The attempt that is read.
    number: u32,
    /// How far its streams have been read; none before the first look.
    cursors: Option<[StreamCursor; 2]>,
    /// The lengths of its streams at the last look. Other jobs change the database all the time.
    lengths: Option<(u64, u64)>,
}

impl Follower<'_> {
    /// Prints what is new. True when no more can come.
    fn catch_up(&mut self, store: &Store) -> Result<bool> {
        let id = self.asked.which.job;
        // The job is read before the output: when it says that an attempt has ended, the output is complete.
        let Some(job) = locate::job(store, id, clock::now())? else { bail!(no_such_job(id)) };
        while self.number <= job.attempts {
            self.finish_attempt(store, &job)?;
            if self.asked.which.attempt.is_some() {
                return Ok(true);
            }
            self.number += 1;
        }
        if !job.state.is_final() && job.last_attempt() == self.number && !self.out.json {
            let lengths = Some(store.live_lengths(id, self.number)?);
            if self.lengths != lengths {
                self.print(&store.output(id, self.number)?, false)?;
                self.lengths = lengths;
            }
        }
        Ok(job.state.is_final() || self.out.is_closed())
    }

    fn finish_attempt(&mut self, store: &Store, job: &JobRow) -> Written {
        if self.out.json {
            print_json(&mut self.out, self.asked, store, job, self.number)?;
            self.out.flush()?;
        } else {
            self.print(&store.output(job.id, self.number)?, true)?;
        }
        // Of the next attempt everything is new, whatever `--lines` says.
        self.cursors = Some([StreamCursor::default(); 2]);
        self.lengths = None;
        let attempt = store.attempt(job.id, self.number)?;
        if let Some(attempt) = attempt.filter(|attempt| !attempt.next_state.is_final() && !self.out.quiet) {
            let decision = sentence(&attempt, job.spec.policy.runs());
            warn(&format!("end of attempt {} of job {}: {decision}", self.number, job.id));
        }
        Ok(())
    }

    fn print(&mut self, output: &store::Output, ended: bool) -> Written {
        let beginning = || [start(self.asked, &output.stdout), start(self.asked, &output.stderr)];
        let mut cursors = self.cursors.unwrap_or_else(beginning);
        if !self.asked.stderr {
            cursors[0].print(&mut self.out, &output.stdout, ended)?;
        }
        if !self.asked.stdout {
            cursors[1].print(&mut self.out, &output.stderr, ended)?;
        }
        self.cursors = Some(cursors);
        self.out.flush()
    }
}
