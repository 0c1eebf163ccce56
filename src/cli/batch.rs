//! `enqueue --batch`: one JSON object a line.

use std::fs;
use std::io::{self, Read};
use std::mem;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use super::args::Global;
use super::error::{CliError, ExitStatus};
use super::locate;
use super::options::{JobOptions, unknown_key};
use super::output::Bar;
use super::plan::{Call, Planner};
use crate::clock;
use crate::model::JobSpec;
use crate::store::NewJob;
use crate::text::counted;

/// Bad lines that are told; the others are counted.
const MAX_TOLD: usize = 20;

/// Definitions that are remembered to be shared.
const MAX_SHARED: usize = 16;

/// Reads every line before anything is enqueued; `-` is standard input. Every bad line is named by its number.
pub fn read(global: &Global, path: &Path, defaults: &JobOptions) -> Result<Vec<NewJob>> {
    let (bytes, source) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        (read.map(|_| bytes), "standard input".to_owned())
    } else {
        (fs::read(path), locate::display(path))
    };
    let bytes = match bytes {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!(CliError::new(ExitStatus::NOT_FOUND, format!("there is no file {source}")))
        }
        read => read.with_context(|| format!("could not read {source}"))?,
    };
    parse(global, &bytes, &source, defaults)
}

fn parse(global: &Global, bytes: &[u8], source: &str, defaults: &JobOptions) -> Result<Vec<NewJob>> {
    let mut bar = Bar::new(global, "{pos} of {len} bytes read");
    let mut batch = Batch {
        planner: Planner::new(global, clock::now()),
        defaults,
        shared: Vec::new(),
        call: Call::default(),
    };
    let mut bad = BadLines::default();
    let mut done = 0;
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        bar.set(done as u64, bytes.len() as u64);
        done += line.len() + 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match batch.add(line).map_err(anyhow::Error::downcast) {
            Ok(()) => {}
            Err(Ok(error)) => bad.add(index + 1, error),
            // Every line would fail of this.
            Err(Err(error)) => return Err(error.context("nothing was enqueued")),
        }
    }
    bad.check(source).map(|()| batch.call.jobs)
}

#[derive(Default)]
struct BadLines {
    count: usize,
    /// The exit status for the first bad line.
    status: Option<ExitStatus>,
    told: Vec<String>,
}

impl BadLines {
    fn add(&mut self, number: usize, error: CliError) {
        self.count += 1;
        // A value that would be a wrong command line is wrong data here.
        let status = if error.status == ExitStatus::USAGE { ExitStatus::DATA } else { error.status };
        self.status.get_or_insert(status);
        if self.told.len() < MAX_TOLD {
            let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            self.told.push(format!("line {number}: {}{hint}", error.message));
        }
    }

    fn check(mut self, source: &str) -> Result<()> {
        let Some(status) = self.status else { return Ok(()) };
        if self.count > MAX_TOLD {
            self.told.push(format!("… and {}", counted(self.count - MAX_TOLD, "more bad line")));
        }
        let told = self.told.join("\n  ");
        let between = if self.count == 1 { " " } else { ":\n  " };
        bail!(CliError::new(status, format!("nothing was enqueued: {source}{between}{told}")))
    }
}

struct Batch<'a> {
    planner: Planner<'a>,
    /// The options of the command line.
    defaults: &'a JobOptions,
    /// The definitions of the last different lines: a million lines of few definitions need no million copies.
    shared: Vec<(JobOptions, Arc<JobSpec>)>,
    call: Call,
}

impl Batch<'_> {
    fn add(&mut self, line: &[u8]) -> Result<()> {
        let mut line = options(line)?;
        line.check()?;
        // These options belong to one job, not to its definition.
        let own = JobOptions {
            args: mem::take(&mut line.args),
            delay: line.delay.take(),
            at: line.at.take(),
            on_conflict: line.on_conflict.take(),
            idempotency_key: line.idempotency_key.take(),
            after: mem::take(&mut line.after),
            no_deps: mem::take(&mut line.no_deps),
            ..JobOptions::default()
        };
        let spec = if let Some((_, spec)) = self.shared.iter().find(|(seen, _)| *seen == line) {
            Arc::clone(spec)
        } else {
            let spec = Arc::new(self.planner.spec(&[&line, self.defaults])?);
            if self.shared.len() == MAX_SHARED {
                self.shared.clear();
            }
            self.shared.push((line, Arc::clone(&spec)));
            spec
        };
        self.planner.add(&mut self.call, spec, &[&own, self.defaults])
    }
}

fn options(line: &[u8]) -> Result<JobOptions> {
    let invalid = |message: String| CliError::new(ExitStatus::DATA, message);
    let fields: Map<String, Value> = serde_json::from_slice(line)
        .map_err(|error| invalid(format!("{error}; a JSON object is expected")))?;
    let mut options = JobOptions::default();
    for (key, value) in fields {
        if !options.set(&key, value).map_err(|why| invalid(format!("{key:?}: {why}")))? {
            bail!(invalid(unknown_key(&key)));
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::*;
    use crate::cli::error::describe;
    use crate::text::mutated;

    const LINES: [&str; 6] = [
        r#"{"name":"good","args":["a","b"],"queue":"q","priority":5,"in":"5m","env":{"A":"b","C":null}}"#,
        r#"{"command":["true","x"],"at":"2026-11-21 14:30","max_attempts":3,"retryable":true,"backoff":"5s,1m"}"#,
        r#"{"command":"true","jitter":0.5,"auto_retry_for":["A","EXIT_*"],"never_retry_for":"B","max_attempts":2}"#,
        r#"{"command":"true","timeout":"1s","grace_period":"0s","expires_in":"10y","in":"10y","cwd":"/","unique_key":"k"}"#,
        r#"{"name":"good","on_conflict":"replace","idempotency_key":"k","backoff":["1s","2s"],"retryable":false}"#,
        r#"{"name":"good","name":"good"}"#,
    ];

    proptest! {
        #[test]
        fn no_line_panics(line in mutated(&LINES), next in mutated(&LINES)) {
            let nowhere = || Some("/nowhere/at/all".into());
            let global = Global { db: nowhere(), file: nowhere(), ..Global::default() };
            let lines = format!("{line}\n\n{next}");
            if let Err(error) = parse(&global, lines.as_bytes(), "standard input", &JobOptions::default()) {
                assert!([ExitStatus::DATA, ExitStatus::NOT_FOUND].contains(&describe(&error).status), "{error:?}");
            }
        }
    }
}
