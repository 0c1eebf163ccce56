//! `runner logs`: prints the output of an attempt. `-f` follows the job through its retries until its state is final.

use std::io::{self, IsTerminal};

use anyhow::{Result, bail};

use crate::call_target::to_type;
use crate::cli::args::{Global, LogsArgs};
use crate::cli::change_watch::ChangeWatch;
use crate::cli::commands::ended_jobs::final_text;
use crate::cli::database;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::find_job::{self, Candidates};
use crate::clock;
use crate::model::{AttemptOutput, OutputStream, decision_text};
use crate::store::{JobRow, Store};
use crate::text::relative_time;
use crate::view::json::{attempt_json, with_output};
use crate::view::terminal::{Output, OutputCursor, OutputForm, keep_last_lines, warn};
use crate::view::text::status::dependency_text;

/// The id of the job, and the number of the attempt if one was named.
type Which = (i64, Option<u32>);

/// Prints the output of the last or the named attempt.
pub fn run(global: &Global, args: &LogsArgs, out: &mut Output) -> Result<ExitStatus> {
    let store = database::open(global)?;
    let which = find_job::job_or_attempt(&store, &args.which, Candidates::Started, clock::now(), out.quiet)?;
    if args.follow {
        return follow(out, args, which, &store);
    }
    let job = find(&store, which)?;
    let number = which.1.unwrap_or(job.last_attempt());
    if number == 0 {
        bail!(not_started(&job));
    }
    let mut reader = LogReader::new(out, args, &store, which, number);
    let output = reader.print(&job, true)?;
    reader.note_unknown_times(&output, &job);
    let nothing = (args.stderr || output.stdout.is_empty()) && (args.stdout || output.stderr.is_empty());
    if nothing && !out.json && !out.quiet && io::stderr().is_terminal() {
        let id = job.id;
        warn(&format!(
            "nothing was written here yet; {} tells more about the attempt",
            to_type("inspect", format_args!("{id}.{number}"))
        ));
    }
    Ok(ExitStatus::SUCCESS)
}

/// The job, if it has the named attempt.
fn find(store: &Store, (id, attempt): Which) -> Result<JobRow> {
    let job = find_job::job(store, id, clock::now())?;
    let last = job.last_attempt();
    if let Some(number) = attempt.filter(|number| *number > last) {
        bail!(CliError::no_attempt(id, number).hint(if last == 0 {
            "it has not started".to_owned()
        } else {
            format!("its attempts go up to {last}")
        }));
    }
    Ok(job)
}

fn not_started(job: &JobRow) -> CliError {
    let JobRow { id, state, .. } = job;
    if state.is_final() {
        return CliError::new(ExitStatus::NOT_FOUND, format!("job {id} was never started: it is {state}"))
            .hint(format!("{} says why", to_type("inspect", id)));
    }
    let due = relative_time(job.run_at, clock::now());
    let what = format!("job {id} has not been started yet: {}, due {due}", job.status());
    if job.is_stuck() {
        return CliError::new(ExitStatus::NOT_FOUND, what).hint(format!("it {}", dependency_text(job)));
    }
    CliError::new(ExitStatus::NOT_FOUND, what).hint(format!(
        "{} says why; {} waits for it",
        to_type("inspect", id),
        to_type("logs", format_args!("-f {id}"))
    ))
}

/// Follows the job from its last attempt on, or only the named attempt.
fn follow(out: &mut Output, args: &LogsArgs, which: Which, store: &Store) -> Result<ExitStatus> {
    let (id, attempt) = which;
    let quiet = out.quiet;
    let mut changes = ChangeWatch::start()?;
    let job = find(store, which)?;
    if job.last_attempt() == 0 && !job.state.is_final() && !quiet {
        warn(&format!("job {id} has not been started yet; {} says why", to_type("inspect", id)));
    }
    let number = attempt.unwrap_or(job.last_attempt().max(1));
    let mut reader = LogReader::new(out, args, store, which, number);
    while !reader.catch_up()? {
        if let Some(status) = changes.wait(store, None)? {
            return Ok(status);
        }
    }
    let job = store.job(id, clock::now())?.filter(|job| job.state.is_final());
    if let Some(job) = job.filter(|_| !quiet && attempt.is_none()) {
        warn(&final_text(&job));
    }
    Ok(ExitStatus::SUCCESS)
}

struct LogReader<'a> {
    out: &'a mut Output,
    args: &'a LogsArgs,
    store: &'a Store,
    which: Which,
    /// The number of the attempt that is read.
    number: u32,
    /// How far the output was printed; none before the first read.
    cursor: Option<OutputCursor>,
    /// How long the streams were at the last look. If they are as long now, another job has changed the database.
    lengths: Option<(u64, u64)>,
}

impl<'a> LogReader<'a> {
    const fn new(
        out: &'a mut Output,
        args: &'a LogsArgs,
        store: &'a Store,
        which: Which,
        number: u32,
    ) -> Self {
        Self { out, args, store, which, number, cursor: None, lengths: None }
    }

    /// Prints the new output. True if no more can come.
    fn catch_up(&mut self) -> Result<bool> {
        let (id, attempt) = self.which;
        // The job is read before the output, because the output is complete once the job says that the attempt has ended.
        let job = find_job::job(self.store, id, clock::now())?;
        while self.number <= job.attempts {
            self.finish_attempt(&job)?;
            if attempt.is_some() {
                return Ok(true);
            }
            self.number += 1;
        }
        if !job.state.is_final() && job.last_attempt() == self.number && !self.out.json {
            let lengths = Some(self.store.live_lengths(id, self.number)?);
            if self.lengths != lengths {
                self.print(&job, false)?;
                self.lengths = lengths;
            }
        }
        Ok(job.state.is_final() || self.out.is_unread())
    }

    fn finish_attempt(&mut self, job: &JobRow) -> Result<()> {
        let output = self.print(job, true)?;
        self.note_unknown_times(&output, job);
        // `--lines` is about the first attempt that is shown. The next one is printed from its first byte.
        self.cursor = Some(OutputCursor::new(self.form()));
        self.lengths = None;
        let attempt = self.store.attempt(job.id, self.number)?;
        if let Some(attempt) = attempt.filter(|attempt| !attempt.next_state.is_final() && !self.out.quiet) {
            let decision = decision_text(&attempt, job.definition.policy.max_attempts());
            warn(&format!("end of attempt {} of job {}: {decision}", self.number, job.id));
        }
        Ok(())
    }

    /// Prints the attempt's output from the cursors on, or all of it as JSON.
    fn print(&mut self, job: &JobRow, ended: bool) -> Result<AttemptOutput> {
        let output = self.store.output(job.id, self.number)?;
        if self.out.json {
            self.print_json(job, output.clone())?;
        } else {
            let (form, lines) = (self.form(), self.args.lines);
            let cursor = self.cursor.get_or_insert_with(|| {
                let mut cursor = OutputCursor::new(form);
                if let Some(lines) = lines {
                    cursor.skip_to_last_lines(&output, lines);
                }
                cursor
            });
            cursor.print(self.out, &output, ended);
        }
        self.out.flush()?;
        Ok(output)
    }

    fn note_unknown_times(&self, output: &AttemptOutput, job: &JobRow) {
        if self.args.timestamps && !self.out.quiet && output.marks.is_empty() && output.lengths() != [0, 0] {
            let (id, number) = (job.id, self.number);
            warn(&format!(
                "nobody knows when attempt {number} of job {id} wrote this: runner 1.0 kept no times"
            ));
        }
    }

    fn form(&self) -> OutputForm {
        let only = match (self.args.stdout, self.args.stderr) {
            (true, _) => Some(OutputStream::Stdout),
            (_, true) => Some(OutputStream::Stderr),
            (false, false) => None,
        };
        OutputForm { only, timestamps: self.args.timestamps }
    }

    fn print_json(&mut self, job: &JobRow, mut output: AttemptOutput) -> Result<()> {
        if let Some(lines) = self.args.lines {
            keep_last_lines(&mut output.stdout, lines);
            keep_last_lines(&mut output.stderr, lines);
        }
        let ended = self.store.attempt(job.id, self.number)?;
        self.out.object(&with_output(attempt_json(job, ended.as_ref()), &output));
        Ok(())
    }
}
