//! The fields of one line of a batch: from JSON to what they mean.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::super::values;
use super::overrides::{Due, Overrides, check_variable};
use crate::model::{Backoff, Bytes, CodePattern, Command, Jitter, Millis};
use crate::store::OnConflict;

/// The keys of a line.
const KEYS: [&str; 21] = [
    "name",
    "command",
    "args",
    "queue",
    "priority",
    "in",
    "at",
    "max_attempts",
    "retryable",
    "backoff",
    "jitter",
    "auto_retry_for",
    "never_retry_for",
    "timeout",
    "grace_period",
    "expires_in",
    "env",
    "cwd",
    "unique_key",
    "on_conflict",
    "idempotency_key",
];

/// The fields of a line that are not taken yet.
pub(super) struct Fields(Map<String, Value>);

impl<'de> Deserialize<'de> for Fields {
    /// Unlike a map of the library it refuses a key that is given twice: which one counts would be a guess.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Fields, A::Error> {
                let mut fields = Map::new();
                while let Some((key, value)) = entries.next_entry::<String, Value>()? {
                    if fields.contains_key(&key) {
                        return Err(A::Error::custom(format!("the key {key:?} is given twice")));
                    }
                    fields.insert(key, value);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
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

impl Fields {
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
        if self.0.contains_key("unique_key") {
            return None;
        }
        serde_json::to_string(&self.0).ok()
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
        match self.0.keys().next() {
            Some(unknown) => Err(unknown_key(unknown)),
            None => Ok((overrides, command, args, name)),
        }
    }

    /// The field, if it is there; null counts as absent.
    fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, String> {
        self.take(key).map(|value| string(key, value)).transpose()
    }

    fn parsed<T>(&mut self, key: &str, parse: fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
        let text = self.text(key)?;
        text.map(|text| parse(&text).map_err(|why| format!("{key:?}: {why}"))).transpose()
    }

    fn number<T>(&mut self, key: &str, parse: fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Number(number)) => {
                parse(&number.to_string()).map(Some).map_err(|why| format!("{key:?}: {why}"))
            }
            Some(other) => Err(format!("{key:?} must be a number, not {}", kind(&other))),
        }
    }

    fn switch(&mut self, key: &str) -> Result<Option<bool>, String> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(on)) => Ok(Some(on)),
            Some(other) => Err(format!("{key:?} must be true or false, not {}", kind(&other))),
        }
    }

    fn strings(&mut self, key: &str) -> Result<Option<Vec<String>>, String> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                items.into_iter().map(|item| string(key, item)).collect::<Result<_, _>>().map(Some)
            }
            Some(other) => Err(format!("{key:?} must be an array of strings, not {}", kind(&other))),
        }
    }

    fn args(&mut self) -> Result<Vec<Bytes>, String> {
        let args = self.strings("args")?.unwrap_or_default();
        Ok(args.iter().map(|arg| Bytes::from(arg.as_str())).collect())
    }

    fn command(&mut self) -> Result<Option<Command>, String> {
        if matches!(self.0.get("command"), Some(Value::Array(_))) {
            let argv = self.strings("command")?.unwrap_or_default();
            return Ok(Some(Command::Argv(argv.iter().map(|arg| Bytes::from(arg.as_str())).collect())));
        }
        let line = self.text("command")?;
        Ok(line.map(|line| Command::Shell(Bytes::from(line.as_str()))))
    }

    fn backoff(&mut self) -> Result<Option<Backoff>, String> {
        if matches!(self.0.get("backoff"), Some(Value::Array(_))) {
            let delays = self.strings("backoff")?.unwrap_or_default();
            let strategy = values::list(delays.iter().map(String::as_str));
            let strategy = strategy.map_err(|why| format!("\"backoff\": {why}"))?;
            return Ok(Some(Backoff { strategy, jitter: Jitter::DEFAULT }));
        }
        self.parsed("backoff", values::backoff)
    }

    fn jitter(&mut self) -> Result<Option<Jitter>, String> {
        let parsed = match self.take("jitter") {
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
        let entries = match self.take("env") {
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

fn unknown_key(unknown: &str) -> String {
    let near = KEYS.iter().find(|key| strsim::damerau_levenshtein(key, unknown) <= 2);
    match near {
        Some(near) => format!("unknown key {unknown:?}; did you mean {near:?}?"),
        None => format!("unknown key {unknown:?}; keys are {}", KEYS.join(", ")),
    }
}
