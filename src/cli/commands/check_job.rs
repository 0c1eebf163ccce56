//! A declared job as `runner check` shows it, on a screen and as JSON.

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::scheduled_runs::dependencies_text;
use crate::jobfile::{Declared, JobFile};
use crate::model::{Backoff, Bytes, ExitRules, Jitter, JobDefinition, RetryPolicy, Strategy};
use crate::policy::{self, KnownStatus};
use crate::store::{DeclaredSchedule, StoredSchedule};
use crate::text::{Millis, Timestamp, append, human_size, local_time, rfc3339, safe_line, time_zone};
use crate::view::terminal::{Column, Output, Style, Table};
use crate::view::text::definition::{print_command, print_policy, print_start};
use crate::view::text::schedule::{missed_text, random_delay_text, times_text};

/// The most rows of the delay table on a screen, because later delays are like the last ones shown.
const MAX_ROWS: u32 = 12;

/// How many next times of a schedule are shown.
const NEXT_TIMES: usize = 3;

/// The most rows of the delay table as JSON.
const MAX_DELAYS: usize = 1_000;

/// The schedules of the file, and what was applied from it.
pub struct Schedules<'a> {
    pub declared: Vec<DeclaredSchedule>,
    pub applied: &'a [StoredSchedule],
    pub now: Timestamp,
}

impl Schedules<'_> {
    fn of(&self, job: &Declared) -> Option<&DeclaredSchedule> {
        self.declared.iter().find(|declared| declared.name() == job.definition.name)
    }

    /// The next times of a schedule: of one that would not change, those that are to come.
    fn next_times(&self, declared: &DeclaredSchedule) -> Vec<Timestamp> {
        self.find_times(declared).unwrap_or_default()
    }

    fn find_times(&self, declared: &DeclaredSchedule) -> Option<Vec<Timestamp>> {
        let zone = time_zone(declared.zone.as_deref()).ok()?;
        let schedule = declared.text.times(zone).ok()?;
        let is_applied = |row: &&StoredSchedule| {
            row.name() == declared.name()
                && row.text.lines == declared.text.lines
                && row.has_clocks_of(declared, self.now)
        };
        let applied = self.applied.iter().find(is_applied).and_then(|row| row.next_at);
        let next = match applied {
            Some(next) => schedule.next_given(next, self.now),
            None => schedule.first(self.now),
        };
        Some(schedule.from(next).take(NEXT_TIMES).collect())
    }
}

/// Shows a declared job, its schedule, its policy and its delays.
pub fn show(out: &mut Output, job: &Declared, file: &JobFile, schedules: &Schedules<'_>) {
    let dir = file.path.parent().unwrap_or(&file.path);
    let definition = &job.definition;
    let mut heading = out.paint(Style::Strong, &definition.name);
    if let Some(description) = &job.description {
        append(&mut heading, format_args!(" - {}", safe_line(description)));
    }
    out.line(heading);
    print_command(out, definition, &[]);
    out.fact("queue", &format!("{}, priority {}", definition.queue, definition.priority));
    out.fact("limits", &limits(definition));
    if definition.cwd != Bytes::from(dir.as_os_str()) {
        out.fact("cwd", &safe_line(&definition.cwd.to_text()));
    }
    print_start(out, definition);
    if !definition.env.is_empty() {
        out.fact("env", &safe_line(&env_names(definition).join(", ")));
    }
    if let Some(stdin) = &definition.stdin {
        out.fact("stdin", &human_size(stdin.len() as u64));
    }
    if let Some(key) = &definition.unique_key {
        out.fact("unique", key);
    }
    let ExitRules { success, warning, job: codes, file: codes_of_all, default } =
        definition.written_exit_rules();
    if success != ExitRules::default().success {
        out.fact("success", &format!("exit status {}", list(&success)));
    }
    if !warning.is_empty() {
        out.fact("warning", &format!("exit status {}, a success that people are told of", list(&warning)));
    }
    let codes = codes.0.iter().chain(&codes_of_all.0).map(|entry| format!("{} {}", entry.key, entry.code));
    let codes: Vec<_> = codes.chain(default.iter().map(|code| format!("else {code}"))).collect();
    if !codes.is_empty() {
        out.fact("codes", &codes.join(", "));
    }
    if !job.reports.is_empty() {
        let reports: Vec<_> = job.reports.iter().map(ToString::to_string).collect();
        out.fact("reports", &reports.join(", "));
    }
    if !job.after.is_empty() {
        out.fact("after", &dependencies_text(file, &job.after));
    }
    if !job.after_any.is_empty() {
        out.fact("after any", &dependencies_text(file, &job.after_any));
    }
    for (key, alert) in definition.alerts() {
        out.fact(key, &alert.name);
    }
    if let Some(declared) = schedules.of(job) {
        show_schedule(out, declared, schedules);
    }
    print_policy(out, definition);
    let max_attempts = definition.policy.max_attempts();
    if max_attempts < 2 {
        return;
    }
    let mut table = Table::new()
        .column(Column::new("  after attempt"), |row: &DelayJson| format!("  {}", row.after_attempt))
        .column(Column::new("delay").right(), |row| row.nominal_ms.to_string())
        .column(Column::new("from").right(), |row| row.min_ms.to_string())
        .column(Column::new("to").right(), |row| row.max_ms.to_string());
    table.rows(&delays(&definition.policy).take(MAX_ROWS as usize).collect::<Vec<_>>());
    table.print(out);
    if max_attempts - 1 > MAX_ROWS {
        out.line(format!("  … and {} more; --json shows them", max_attempts - 1 - MAX_ROWS));
    }
}

/// The exit statuses of its tool, and what the policy makes of each.
pub fn show_statuses(out: &mut Output, definition: &JobDefinition) {
    let known = policy::known_statuses(definition);
    if known.is_empty() {
        return;
    }
    let mut table = Table::new()
        .column(Column::new("  exit").right(), |row: &KnownStatus| row.status.to_string())
        .column(Column::new("what it means").text(), |row| row.meaning.clone())
        .column(Column::new("then"), |row| row.then.as_str().to_owned());
    table.rows(&known);
    out.line("");
    table.print(out);
}

/// The schedule and its next times.
fn show_schedule(out: &mut Output, declared: &DeclaredSchedule, schedules: &Schedules<'_>) {
    let text = &declared.text;
    let times = times_text(text, declared.zone.as_deref(), schedules.now);
    let missed = if text.is_at_boot() { String::new() } else { format!(", {}", missed_text(text)) };
    let delay = random_delay_text(text);
    out.fact("schedule", &format!("{times}{delay}{missed}"));
    if let Some(within) = text.fresh_within {
        out.fact("fresh", &format!("an alarm if the last success is older than {within}"));
    }
    if text.is_at_boot() {
        return out.fact("next", "at the next boot after it was applied");
    }
    let next: Vec<_> = schedules.next_times(declared).into_iter().map(local_time).collect();
    out.fact("next", &next.join(", "));
}

fn limits(definition: &JobDefinition) -> String {
    let timeout =
        definition.timeout.map_or_else(|| "no timeout".to_owned(), |span| format!("timeout {span}"));
    let expires = definition.expires_in.map(|span| format!(", expires in {span}")).unwrap_or_default();
    let kept = match definition.output_limit {
        JobDefinition::DEFAULT_OUTPUT_LIMIT => String::new(),
        bytes => format!(", {} of each stream kept", human_size(bytes)),
    };
    format!("{timeout}, grace {}{expires}{kept}", definition.grace_period)
}

/// The names of the variables. Their values are not shown, because they may be secrets.
fn env_names(definition: &JobDefinition) -> Vec<String> {
    definition.env.keys().map(Bytes::to_text).collect()
}

fn list(statuses: &[u8]) -> String {
    statuses.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
}

/// The delay after one attempt.
#[derive(Debug, Serialize)]
struct DelayJson {
    after_attempt: u32,
    nominal_ms: Millis,
    min_ms: Millis,
    max_ms: Millis,
}

/// The delays between the attempts of a budget.
fn delays(policy: &RetryPolicy) -> impl Iterator<Item = DelayJson> {
    (1..policy.max_attempts()).map(|n| {
        let nominal_ms = policy.backoff.strategy.nominal(n);
        let (min_ms, max_ms) = policy.backoff.window(nominal_ms);
        DelayJson { after_attempt: n, nominal_ms, min_ms, max_ms }
    })
}

/// A declared job as JSON, with its delays and the next times of its schedule.
pub fn json(job: &Declared, schedules: &Schedules<'_>) -> Value {
    let (definition, declared) = (&job.definition, schedules.of(job));
    let times = |declared| schedules.next_times(declared).into_iter().map(rfc3339).collect::<Vec<_>>();
    let policy = &definition.written_policy();
    let shown = definition.shown_values().into_iter().map(|value| (value.key.to_owned(), value.json));
    let before = json!({
        "name": definition.name,
        "policy": {
            "retryable": policy.retryable,
            "max_attempts": policy.max_attempts(),
            "backoff": backoff_json(&policy.backoff),
            "auto_retry_for": policy.auto_retry_for,
            "never_retry_for": policy.never_retry_for,
        },
        "delays": delays(policy).take(MAX_DELAYS).collect::<Vec<_>>(),
        "cwd": definition.cwd,
    });
    let after = json!({
        "env": env_names(definition),
        "stdin_bytes": definition.stdin.as_ref().map(String::len),
        "unique_key": definition.unique_key,
        "success_exit_codes": definition.exit.success,
        "warning_exit_codes": definition.exit.warning,
        "statuses": policy::known_statuses(definition),
        "notes": policy::notes(definition),
        "schedules": declared.map(|declared| &declared.text.lines),
        "next": declared.map(times),
    });
    let parts = [before, Value::Object(shown.collect()), after];
    parts.into_iter().flat_map(|part| part.as_object().cloned().unwrap_or_default()).collect()
}

/// A backoff with the keys of the job file, durations in milliseconds.
fn backoff_json(backoff: &Backoff) -> Value {
    let mut json = match &backoff.strategy {
        Strategy::Exponential { initial, multiplier, max } => {
            json!({"strategy": "exponential", "initial_ms": initial, "multiplier": multiplier, "max_ms": max})
        }
        Strategy::Linear { delay, max } => json!({"strategy": "linear", "delay_ms": delay, "max_ms": max}),
        Strategy::Constant { delay } => json!({"strategy": "constant", "delay_ms": delay}),
        Strategy::List { delays, repeat_last } => {
            json!({"strategy": "list", "delays_ms": delays, "repeat_last": repeat_last})
        }
    };
    let (fraction, absolute) = match backoff.jitter {
        Jitter::Fraction(fraction) => (Some(fraction), None),
        Jitter::Absolute(distance) => (None, Some(distance)),
    };
    json["jitter"] = json!(fraction);
    json["jitter_ms"] = json!(absolute);
    json
}
