//! `enqueue --batch`: one JSON object a line.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::args::Global;
use super::error::{CliError, ExitStatus};
use super::job_file;
use super::options::JobOptions;
use super::plan::{Plan, Planner};
use crate::clock;
use crate::model::JobDefinition;
use crate::stdio::Waiting;
use crate::text::{and_more, counted, shown_path};
use crate::view::terminal::Bar;

/// At most this many different messages about bad lines are told; the lines with others are counted.
const MAX_DESCRIBED: usize = 20;

/// A message names at most this many of its lines, unless they follow each other.
const MAX_NUMBERS: usize = 3;

/// The number of different definitions that are kept for later lines to share.
const MAX_SHARED: usize = 16;

/// Reads the jobs of a batch; the path `-` means standard input. All lines are read before anything is enqueued,
/// because one bad line makes the whole batch fail.
pub fn read(global: &Global, path: &Path, defaults: &JobOptions) -> Result<Plan> {
    let (bytes, source) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = Waiting(io::stdin()).read_to_end(&mut bytes);
        (read.map(|_| bytes), "standard input".to_owned())
    } else {
        job_file::refuse_foreign_link(path)?;
        (fs::read(path), shown_path(path))
    };
    let bytes = match bytes {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!(CliError::new(ExitStatus::NOT_FOUND, format!("there is no file {source}")))
        }
        read => read.with_context(|| format!("could not read {source}"))?,
    };
    parse(global, &bytes, &source, defaults)
}

fn parse(global: &Global, bytes: &[u8], source: &str, defaults: &JobOptions) -> Result<Plan> {
    let mut bar = Bar::new(global.quiet, "{pos} of {len} bytes read");
    let mut batch = Batch {
        planner: Planner::new(global, "enqueue", clock::now()),
        defaults,
        shared: Vec::new(),
        plan: Plan::of_batch(source),
    };
    let mut bad = BadLines::default();
    let mut done = 0;
    // Editors of Windows begin a file with a byte order mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        bar.set(done as u64, bytes.len() as u64);
        done += line.len() + 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match batch.add(line).map_err(anyhow::Error::downcast) {
            Ok(job) => drop(batch.plan.lines.insert(job, index + 1)),
            Err(Ok(error)) => bad.add(index + 1, error),
            // Other errors do not come from the line, so every line would fail in the same way.
            Err(Err(error)) => return Err(error.context("nothing was enqueued")),
        }
    }
    bad.check(source).map(|()| batch.plan)
}

#[derive(Default)]
struct BadLines {
    count: usize,
    /// The exit status for the first bad line.
    status: Option<ExitStatus>,
    described: Vec<Alike>,
}

/// The bad lines with one message.
struct Alike {
    message: String,
    count: usize,
    /// The first few of them.
    first: Vec<usize>,
    last: usize,
}

impl Alike {
    fn add(&mut self, number: usize) {
        self.count += 1;
        self.last = number;
        if self.first.len() < MAX_NUMBERS {
            self.first.push(number);
        }
    }
}

/// `line 7: …`, `lines 1 to 600: …` or `lines 1, 4, 9 and 597 more: …`.
impl fmt::Display for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, count, first, last } = self;
        match first[0] {
            only if *count == 1 => write!(f, "line {only}: {message}"),
            begin if *count > 2 && last - begin == count - 1 => {
                write!(f, "lines {begin} to {last}: {message}")
            }
            _ => write!(f, "lines {}: {message}", and_more(first, (count - first.len()) as u64)),
        }
    }
}

impl BadLines {
    fn add(&mut self, number: usize, error: CliError) {
        self.count += 1;
        // A usage error counts as bad data here, because it stands in a file and not on the command line.
        let status = if error.status == ExitStatus::USAGE { ExitStatus::DATA } else { error.status };
        self.status.get_or_insert(status);
        let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        let message = format!("{}{hint}", error.message);
        if let Some(alike) = self.described.iter_mut().find(|alike| alike.message == message) {
            alike.add(number);
        } else if self.described.len() < MAX_DESCRIBED {
            self.described.push(Alike { message, count: 1, first: vec![number], last: number });
        }
    }

    fn check(self, source: &str) -> Result<()> {
        let Some(status) = self.status else { return Ok(()) };
        let mut described: Vec<String> = self.described.iter().map(Alike::to_string).collect();
        let others = self.count - self.described.iter().map(|alike| alike.count).sum::<usize>();
        if others > 0 {
            described.push(format!("… and {}", counted(others, "more bad line")));
        }
        let between = if described.len() == 1 { " " } else { ":\n  " };
        let described = described.join("\n  ");
        bail!(CliError::new(status, format!("nothing was enqueued: {source}{between}{described}")))
    }
}

/// Words an error of one line: `serde_json` counts lines, too, but here the line is always 1, and column 0 stands for none.
fn of_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column 0", "").replace(" at line 1 column", " at column")
}

struct Batch<'a> {
    planner: Planner<'a>,
    /// The options of the command line.
    defaults: &'a JobOptions,
    /// The definitions of earlier lines by their options, because a million lines often share a few definitions.
    shared: Vec<(JobOptions, Arc<JobDefinition>)>,
    plan: Plan,
}

impl Batch<'_> {
    /// Gives the index of the job.
    fn add(&mut self, line: &[u8]) -> Result<usize> {
        let invalid = |message: String| CliError::new(ExitStatus::DATA, message);
        let Line { keys, twice } = serde_json::from_slice(line)
            .map_err(|error| invalid(format!("{}; a JSON object is expected", of_line(&error))))?;
        if let Some(key) = twice {
            bail!(invalid(format!("the key {key:?} is given twice")));
        }
        let line = JobOptions::from_line(&keys).map_err(invalid)?;
        line.check()?;
        let part = line.definition_part();
        let definition = if let Some((_, definition)) = self.shared.iter().find(|(seen, _)| *seen == part) {
            Arc::clone(definition)
        } else {
            let definition = Arc::new(self.planner.definition(&[&part, self.defaults])?);
            if self.shared.len() == MAX_SHARED {
                self.shared.clear();
            }
            self.shared.push((part, Arc::clone(&definition)));
            definition
        };
        self.planner.add(&mut self.plan, definition, &[&line, self.defaults])
    }
}

/// A JSON object, and a key that it or an object in it has twice.
#[derive(Default)]
struct Line {
    keys: Map<String, Value>,
    twice: Option<String>,
}

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(LineVisitor)
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Line;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Line, A::Error> {
        let mut line = Line::default();
        while let Some(key) = entries.next_key::<String>()? {
            let value = match entries.next_value()? {
                LineValue::Object(nested) => {
                    line.twice = line.twice.or(nested.twice);
                    Value::Object(nested.keys)
                }
                LineValue::Other(value) => value,
            };
            if line.keys.insert(key.clone(), value).is_some() {
                line.twice.get_or_insert(key);
            }
        }
        Ok(line)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LineValue {
    Object(Line),
    Other(Value),
}

#[cfg(test)]
mod tests {
    use clap::Args;
    use proptest::prelude::proptest;

    use super::*;
    use crate::cli::args::EnqueueArgs;
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

    /// A flag that is not listed here is an option of one job, so it belongs in [`JobOptions`], where it is a key of a
    /// line.
    #[test]
    fn flags_that_are_no_keys_are_for_the_whole_call() {
        let options = JobOptions::keys();
        let enqueue = EnqueueArgs::augment_args(clap::Command::new("enqueue"));
        let flags = enqueue.get_arguments().map(|flag| flag.get_id().as_str());
        let is_key = |flag: &str| options.iter().any(|key| key == if flag == "delay" { "in" } else { flag });
        let others: Vec<_> = flags.filter(|flag| !is_key(flag)).collect();
        let expected =
            ["names", "all", "batch", "stdin", "dry_run", "wait", "wait_timeout", "output_on_failure"];
        assert_eq!(others, expected);
    }

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
