//! The fields of one line of a batch: from JSON to what they mean.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::values;
use super::object::{Object, unknown_key};
use super::overrides::{Due, Overrides, check_variable};
use crate::model::{Backoff, Bytes, CodePattern, Command, Jitter};
use crate::store::OnConflict;
use crate::text::Millis;

/// The fields of a line that are not taken yet. What stands behind a key is read when it is taken.
pub(super) struct Fields<'a> {
    line: &'a str,
    left: Object<'a>,
}

/// What a line says of its job alone: jobs that differ in nothing else share a definition.
pub(super) struct Own {
    pub args: Vec<Bytes>,
    pub due: Option<Due>,
    pub on_conflict: Option<OnConflict>,
    pub idempotency_key: Option<String>,
}

/// What a line says: options, and the command or the name of a job, with arguments.
pub(super) type Line = (Overrides, Option<Command>, Vec<Bytes>, Option<String>);

impl<'a> Fields<'a> {
    /// Takes a line apart.
    pub(super) fn parse(line: &'a str) -> Result<Self, String> {
        let left = serde_json::from_str(line).map_err(|error| no_object(&error))?;
        Ok(Self { line, left })
    }

    /// Takes what is said of this job alone.
    pub(super) fn take_own(&mut self) -> Result<Own, String> {
        let due = match (self.parsed("in", Millis::parse)?, self.parsed("at", values::At::parse)?) {
            (Some(_), Some(_)) => return Err("\"in\" and \"at\" do not go together".to_owned()),
            (delay, at) => delay.map(Due::In).or(at.map(Due::At)),
        };
        Ok(Own {
            args: self.args()?,
            due,
            on_conflict: self.parsed("on_conflict", values::on_conflict)?,
            idempotency_key: self.parsed("idempotency_key", values::key)?,
        })
    }

    /// The text of the fields that are left: equal texts are equal definitions. None where a key of the job's own is
    /// part of its definition.
    pub(super) fn what_is_left(&self) -> Option<String> {
        let mut text = String::with_capacity(self.line.len());
        for (key, value) in self.left.entries() {
            // A NUL, which no JSON contains, tells where a key ends and where a value does.
            if key == "unique_key" || key.contains('\0') {
                return None;
            }
            text.extend([key, "\0", value, "\0"]);
        }
        Some(text)
    }

    /// Takes every field that is left. The error names the one that is wrong.
    pub(super) fn take_all(&mut self, own: Own) -> Result<Line, String> {
        let name = self.text("name")?;
        let command = self.command()?;
        let Own { args, due, on_conflict, idempotency_key } = own;
        let mut overrides = Overrides {
            queue: self.parsed("queue", values::name)?,
            priority: self.number("priority", values::priority)?,
            due,
            jitter: self.jitter()?,
            timeout: self.parsed("timeout", values::above_zero)?,
            grace_period: self.parsed("grace_period", Millis::parse)?,
            expires_in: self.parsed("expires_in", values::above_zero)?,
            env: self.env()?,
            cwd: self.text("cwd")?.map(Into::into),
            unique_key: self.parsed("unique_key", values::key)?,
            on_conflict,
            idempotency_key,
            ..Overrides::default()
        };
        overrides.policy.retryable = self.switch("retryable")?;
        overrides.policy.max_attempts = self.number("max_attempts", values::max_attempts)?;
        overrides.policy.backoff = self.backoff()?;
        overrides.policy.auto_retry_for = self.codes("auto_retry_for")?;
        overrides.policy.never_retry_for = self.codes("never_retry_for")?;
        match self.left.entries().next() {
            Some((unknown, _)) => Err(unknown_key(unknown)),
            None => Ok((overrides, command, args, name)),
        }
    }

    /// The text of the field, if it is there; null counts as absent.
    fn take(&mut self, key: &str) -> Option<&'a str> {
        self.left.take(key).filter(|text| *text != "null")
    }

    /// Reads the text of a field. An error tells where in the line it is.
    fn read(&self, text: &str) -> Result<Value, String> {
        let in_line = |error| serde_json::from_str::<Value>(self.line).err().unwrap_or(error);
        serde_json::from_str(text).map_err(|error| no_object(&in_line(error)))
    }

    /// The field, if it is there.
    fn value(&mut self, key: &str) -> Result<Option<Value>, String> {
        self.take(key).map(|text| self.read(text)).transpose()
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        self.value(key)?.map(|value| string(key, value)).transpose()
    }

    fn parsed<T>(&mut self, key: &str, parse: fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
        let text = self.text(key)?;
        text.map(|text| parse(&text).map_err(|why| format!("{key:?}: {why}"))).transpose()
    }

    fn number<T>(&mut self, key: &str, parse: fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
        match self.value(key)? {
            None => Ok(None),
            Some(Value::Number(number)) => {
                parse(&number.to_string()).map(Some).map_err(|why| format!("{key:?}: {why}"))
            }
            Some(other) => Err(format!("{key:?} must be a number, not {}", kind(&other))),
        }
    }

    fn switch(&mut self, key: &str) -> Result<Option<bool>, String> {
        match self.value(key)? {
            None => Ok(None),
            Some(Value::Bool(on)) => Ok(Some(on)),
            Some(other) => Err(format!("{key:?} must be true or false, not {}", kind(&other))),
        }
    }

    fn strings(&mut self, key: &str) -> Result<Option<Vec<String>>, String> {
        let Some(text) = self.take(key) else { return Ok(None) };
        // Nearly always they are what they should be, and read at once. Otherwise it is to be told what is wrong.
        let strings = serde_json::from_str::<Vec<String>>(text).ok();
        if let Some(strings) = strings.filter(|strings| !strings.iter().any(|string| string.contains('\0'))) {
            return Ok(Some(strings));
        }
        match self.read(text)? {
            Value::Array(items) => {
                items.into_iter().map(|item| string(key, item)).collect::<Result<_, _>>().map(Some)
            }
            other => Err(format!("{key:?} must be an array of strings, not {}", kind(&other))),
        }
    }

    fn args(&mut self) -> Result<Vec<Bytes>, String> {
        Ok(bytes(self.strings("args")?.unwrap_or_default()))
    }

    fn is_array(&self, key: &str) -> bool {
        self.left.get(key).is_some_and(|text| text.starts_with('['))
    }

    fn command(&mut self) -> Result<Option<Command>, String> {
        if self.is_array("command") {
            return Ok(self.strings("command")?.map(|argv| Command::Argv(bytes(argv))));
        }
        let line = self.text("command")?;
        Ok(line.map(|line| Command::Shell(Bytes::from(line.as_str()))))
    }

    fn backoff(&mut self) -> Result<Option<Backoff>, String> {
        if self.is_array("backoff") {
            let delays = self.strings("backoff")?.unwrap_or_default();
            let strategy = values::list(delays.iter().map(String::as_str));
            let strategy = strategy.map_err(|why| format!("\"backoff\": {why}"))?;
            return Ok(Some(Backoff { strategy, jitter: Jitter::DEFAULT }));
        }
        self.parsed("backoff", values::backoff)
    }

    fn jitter(&mut self) -> Result<Option<Jitter>, String> {
        let parsed = match self.value("jitter")? {
            None => return Ok(None),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => values::jitter(&value.to_string()),
            Some(Value::String(text)) => values::jitter(&text),
            Some(other) => {
                Err(format!("it must be true, false, a fraction or a duration, not {}", kind(&other)))
            }
        };
        parsed.map(Some).map_err(|why| format!("\"jitter\": {why}"))
    }

    fn codes(&mut self, key: &str) -> Result<Option<Vec<CodePattern>>, String> {
        let Some(codes) = self.strings(key)? else { return Ok(None) };
        let parsed = codes.iter().map(|code| CodePattern::parse(code)).collect::<Result<_, _>>();
        parsed.map(Some).map_err(|why| format!("{key:?}: {why}"))
    }

    fn env(&mut self) -> Result<BTreeMap<Bytes, Bytes>, String> {
        let entries = match self.value("env")? {
            None => return Ok(BTreeMap::new()),
            Some(Value::Object(entries)) => entries,
            Some(other) => return Err(format!("\"env\" must be an object, not {}", kind(&other))),
        };
        entries
            .into_iter()
            .map(|(key, value)| {
                let name = Bytes::from(key.as_str());
                check_variable(&name).map_err(|why| format!("\"env\": {why}"))?;
                let value = string(&key, value)?;
                Ok((name, Bytes::from(value.as_str())))
            })
            .collect()
    }
}

/// Says that a line cannot be read.
fn no_object(error: &serde_json::Error) -> String {
    format!("{error}; a JSON object is expected")
}

fn bytes(texts: Vec<String>) -> Vec<Bytes> {
    let mut bytes = Vec::with_capacity(texts.len()); // collected, it would keep room for more, in a million jobs
    bytes.extend(texts.into_iter().map(|text| Bytes(text.into_bytes())));
    bytes
}

fn string(key: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(text) if !text.contains('\0') => Ok(text),
        Value::String(_) => Err(format!("{key:?} holds a NUL byte")),
        other => Err(format!("{key:?} must be a string, not {}", kind(&other))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
