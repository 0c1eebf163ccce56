//! `runner logs`

use std::io::{self, IsTerminal};

use anyhow::{Result, bail};

use crate::cli::args::{Global, Logs};
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::follow;
use crate::cli::locate;
use crate::cli::output::{AttemptJson, Output, StreamCursor, keep_last_lines, warn};
use crate::clock;
use crate::model::JobState;
use crate::store::{JobRow, Store, StreamBytes};
use crate::text::relative_time;

/// Prints what the last or the named attempt wrote.
pub fn run(global: &Global, asked: &Logs) -> Result<ExitStatus> {
    let mut store = locate::open(global)?;
    if asked.follow {
        return follow::run(global, asked, &mut store);
    }
    let (job, number) = find(&store, asked)?;
    let mut output = store.output(job.id, number)?;
    let mut out = Output::new(global);
    if out.json {
        let attempt = match store.attempt(job.id, number)? {
            Some(attempt) => AttemptJson::new(&attempt, job.spec.policy.runs()),
            None => AttemptJson::running(&job),
        };
        if let Some(lines) = asked.lines {
            keep_last_lines(&mut output.stdout, lines);
            keep_last_lines(&mut output.stderr, lines);
        }
        out.object(&attempt.with_output(&output))?;
    } else {
        for (stream, left_out) in [(&output.stdout, asked.stderr), (&output.stderr, asked.stdout)] {
            let from = asked.lines.map(|lines| StreamCursor::of_last_lines(stream, lines));
            if !left_out {
                from.unwrap_or_default().print(&mut out, stream, true)?;
            }
        }
    }
    out.flush()?;
    if !out.json && !out.quiet && io::stderr().is_terminal() {
        let empty = |stream: &StreamBytes| stream.bytes.is_empty() && stream.omitted == 0;
        if (asked.stderr || empty(&output.stdout)) && (asked.stdout || empty(&output.stderr)) {
            warn(&nothing(&job, number, asked));
        }
    }
    Ok(ExitStatus::SUCCESS)
}

/// An empty log looks like a mistake to a person.
fn nothing(job: &JobRow, number: u32, asked: &Logs) -> String {
    let id = job.id;
    let who = match asked.which.attempt {
        Some(number) => format!("attempt {number} of job {id}"),
        None => format!("job {id}"),
    };
    let what = match (asked.stdout, asked.stderr) {
        (true, _) => "nothing on standard output",
        (_, true) => "nothing on standard error",
        _ => "no output",
    };
    if number > job.attempts {
        return format!("{who} has written {what} so far");
    }
    format!("{who} wrote {what}; runner inspect {id}.{number} tells how it ended")
}

/// The job, and the attempt that is meant: the running one, else the last.
fn find(store: &Store, asked: &Logs) -> Result<(JobRow, u32)> {
    let id = asked.which.job;
    let job = locate::job(store, id, clock::now())?.ok_or_else(|| no_such_job(id))?;
    let last = last_attempt(&job);
    let number = asked.which.attempt.unwrap_or(last);
    if number == 0 {
        bail!(not_started(&job));
    }
    if number > last {
        bail!(no_such_attempt(id, number, last));
    }
    Ok((job, number))
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

/// The number of the running attempt, else of the last; 0 before the first.
pub fn last_attempt(job: &JobRow) -> u32 {
    if job.state == JobState::Running { job.attempts.saturating_add(1) } else { job.attempts }
}

/// There is no job of this id.
pub fn no_such_job(id: i64) -> CliError {
    CliError::new(ExitStatus::NOT_FOUND, format!("there is no job {id}"))
}

/// The job does not have this attempt.
pub fn no_such_attempt(id: i64, number: u32, last: u32) -> CliError {
    CliError::new(ExitStatus::NOT_FOUND, format!("job {id} has no attempt {number}"))
        .hint(format!("its attempts go up to {last}"))
}
