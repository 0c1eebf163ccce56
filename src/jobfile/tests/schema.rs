//! The schema for editors says what the parser says, as far as a schema can.

use std::path::Path;
use std::{env, fs};

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

use super::EXAMPLE;
use super::validate::Schema;
use crate::jobfile::keys::Section;
use crate::jobfile::retry::{STRATEGIES, has_key};
use crate::jobfile::{JobFile, SCHEMA, STARTER};
use crate::model::KEYS;

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// As a language server sees it.
fn seen(table: &DeTable<'_>) -> Value {
    let entries = table.iter().map(|(key, value)| (key.get_ref().to_string(), value_seen(value.get_ref())));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn value_seen(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => json!(number.as_str().parse::<i64>().unwrap()),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap()),
        DeValue::Boolean(value) => json!(value),
        DeValue::Datetime(time) => json!(time.to_string()),
        DeValue::Array(array) => array.iter().map(|entry| value_seen(entry.get_ref())).collect(),
        DeValue::Table(table) => seen(table),
    }
}

/// Whether this job file is valid under the schema.
fn is_taken(text: &str) -> bool {
    let file = seen(DeTable::parse(text).unwrap().get_ref());
    Schema::new(&schema()).takes(&file)
}

fn is_parsed(text: &str) -> bool {
    JobFile::parse(Path::new("/srv/jobs.toml"), text).is_ok()
}

/// The keys of a table of the schema, sorted.
fn keys_at(pointer: &str) -> Vec<String> {
    let schema = schema();
    let table = schema.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
    assert_eq!(table["additionalProperties"], false, "{pointer} takes any key");
    let mut keys: Vec<_> = table["properties"].as_object().unwrap().keys().cloned().collect();
    keys.sort();
    keys
}

#[test]
fn the_schema_has_the_keys_of_the_parser_and_no_others() {
    let places = [
        (Section::File, ""),
        (Section::Defaults, "/properties/defaults"),
        (Section::Job, "/$defs/job"),
        (Section::Backoff, "/$defs/backoff_table"),
        (Section::Queue, "/$defs/limits"),
    ];
    for (place, pointer) in places {
        let mut keys = place.keys();
        keys.sort_unstable();
        assert_eq!(keys_at(pointer), keys, "{place:?}");
    }
}

/// JSON with one entry a line, but for tables and lists that fit into a line.
fn laid_out(value: &Value, indent: usize) -> String {
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(table) => {
            table.iter().map(|(key, value)| (format!("{}: ", json!(key)), value)).collect()
        }
        Value::Array(list) => list.iter().map(|value| (String::new(), value)).collect(),
        _ => return value.to_string(),
    };
    let (open, close) = if value.is_object() { ("{", "}") } else { ("[", "]") };
    let of_each =
        |indent: usize| entries.iter().map(move |(key, value)| key.clone() + &laid_out(value, indent));
    let blank = if value.is_object() { " " } else { "" };
    let line = format!("{open}{blank}{}{blank}{close}", of_each(indent).collect::<Vec<_>>().join(", "));
    if entries.is_empty() || indent > 0 && !line.contains('\n') && indent + line.len() < 100 {
        return line;
    }
    let (inner, outer) = (" ".repeat(indent + 2), " ".repeat(indent));
    let lines = of_each(indent + 2).collect::<Vec<_>>().join(&format!(",\n{inner}"));
    format!("{open}\n{inner}{lines}\n{outer}{close}")
}

/// `UPDATE_SCHEMA=1 cargo test --lib jobfile` writes where each key may stand. What a key means is written by hand below
/// `$defs`.
#[test]
fn the_schema_is_that_of_the_table_of_keys() {
    let mut schema = schema();
    for (pointer, section) in
        [("/properties/defaults/properties", Section::Defaults), ("/$defs/job/properties", Section::Job)]
    {
        let entry = |key: &str| (key.to_owned(), json!({"$ref": format!("#/$defs/{key}")}));
        *schema.pointer_mut(pointer).unwrap() =
            Value::Object(section.keys().into_iter().map(entry).collect());
    }
    let found = laid_out(&schema, 0) + "\n";
    if env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs.schema.json"), &found).unwrap();
    } else {
        assert!(found == SCHEMA, "UPDATE_SCHEMA=1 cargo test --lib jobfile writes the schema");
    }
}

#[test]
fn the_schema_describes_each_key_in_the_form_of_the_table() {
    let schema = schema();
    for key in KEYS {
        let about = &schema["$defs"][key.name];
        assert!(about["description"].is_string(), "{}: {about}", key.name);
        if let Some(form) = key.form.filter(|form| *form != key.name && !schema["$defs"][*form].is_null()) {
            assert_eq!(about["$ref"], format!("#/$defs/{form}"), "{}", key.name);
        }
    }
}

#[test]
fn the_schema_has_the_strategies_of_the_parser() {
    let schema = schema();
    let table = &schema["$defs"]["backoff_table"];
    let names: Vec<_> = STRATEGIES.iter().map(|(name, _)| *name).collect();
    assert_eq!(table["properties"]["strategy"]["enum"], json!(names));
    for (name, case) in names.iter().zip(table["oneOf"].as_array().unwrap()) {
        assert_eq!(case["properties"]["strategy"]["const"], json!(name));
        for key in Section::Backoff.keys() {
            let refused = case["properties"].get(key) == Some(&json!(false));
            assert_eq!(refused, !has_key(name, key), "{name} and {key}");
        }
    }
}

#[test]
fn job_files_without_a_mistake_are_taken() {
    for text in [EXAMPLE, STARTER, include_str!("../../../examples/main-job.toml"), ""] {
        assert!(is_taken(text), "{text}");
    }
}

/// Further values that may stand after `KEY = `, with bars between them; the parser decides.
const VALUES: [(&str, &str); 27] = [
    (
        "timeout",
        "'30s' | '1h 30m' | '1h30m' | ' 1.5 h ' | '0s' | 30 | '30' | '5 parsecs' | '.5s' | '' | \
         true",
    ),
    (
        "grace_period",
        "'0s' | '1msec' | '2sec' | '1second 2seconds' | '1min' | '1minute 2minutes' | '1hr' | 'x'",
    ),
    (
        "expires_in",
        "'1hour' | '2hours' | '1d' | '1day 3days' | '1w' | '1week 2weeks' | '1y' | '1year' | \
         '1 years' | '0ms'",
    ),
    ("output_limit", "'64KiB' | '1 MiB' | '0B' | '1KB' | '1MB' | 65536 | '64kb' | '1.5MiB' | ''"),
    ("priority", "-1000 | 1000 | 1001 | -1001 | '1' | 1.5"),
    ("max_attempts", "1 | 1000000 | 0 | 1000001 | '3' | -1"),
    ("queue", "'a' | 'A.b_c-9' | '-a' | 'a b' | '' | 1"),
    ("cwd", "'.' | 'a b' | '' | 1 | '~' | '~/x' | '~x' | './~x' | 'a~'"),
    (
        "env_file",
        "'a.env' | '-a.env' | '' | '-' | '--a' | '~/a.env' | '-~/a.env' | '~a' | '-~a' | [] | \
         ['a', '-b'] | ['a', ''] | [1] | 1",
    ),
    ("unique_key", "'any thing' | '' | 1"),
    (
        "default_error_code",
        "'FAILED' | 'EXIT_CODE' | 'SIGNAL_LOST' | 'EXIT_1' | 'SIGNAL_KILL' | 'TIMEOUT' | \
         'failed' | 'A-B' | '*' | 1",
    ),
    ("success_exit_codes", "[0] | [0, 255] | [] | [256] | [-1] | [0, 0] | 0 | ['0']"),
    (
        "never_retry_for",
        "[] | ['EXIT_*', 'SIGNAL_*', '*'] | ['EXIT_1', 'SIGNAL_KILL'] | \
         ['TIMEOUT', 'WORKER_CRASHED', 'SPAWN_FAILED'] | ['CANCELLED'] | ['EXPIRED'] | \
         ['INTERRUPTED'] | ['EX*'] | ['exit_1'] | 'EXIT_1' | ['EXIT_1', 'EXIT_1']",
    ),
    ("auto_retry_for", "['EXIT_1'] | [] | [1]"),
    (
        "env",
        "{ A = 'b', b = '' } | { A = 1 } | { 'A=B' = 'c' } | { RUNNER_DB = 'x' } | \
         { '' = 'x' } | []",
    ),
    (
        "exit_codes",
        "{ 22 = 'A', '3-9' = 'B', ' 10 - 12 ' = 'C', SIGUSR1 = 'D', '023' = 'E' } | \
         { x = 'A' } | { 'SIG' = 'A' } | { '-3' = 'A' } | { 22 = 'TIMEOUT' } | { 22 = 3 } | []",
    ),
    (
        "schedule",
        "'0 2 * * *' | '*/5 9-17 * * mon-fri' | '@weekly' | 'every 15m' | '@reboot' | '@boot' | '* * *' | '' | 1",
    ),
    ("timezone", "'Europe/Berlin'\nschedule = '@daily' | '' | 1"),
    ("missed", "'once'\nschedule = '@daily' | 'skip'\nschedule = '@daily' | 'never' | true"),
    ("fresh_within", "'26h'\nschedule = '@daily' | '0s'\nschedule = '@daily' | 26\nschedule = '@daily' | ''"),
    (
        "random_delay",
        "'10m'\nschedule = '@reboot' | '0s'\nschedule = '@daily' | 10\nschedule = '@daily' | ''",
    ),
    ("launcher", "['nice', '-n', '10'] | [] | [1] | 'nice'"),
    ("after", "[] | ['x y'] | 'b' | [1] | ['', '']"),
    ("after_any", "[] | ['x y'] | 'b' | [1] | ['', '']"),
    ("on_dead", "'' | 'a b' | 1 | ['b']"),
    ("reports", "['A', 'B'] | ['TIMEOUT'] | ['A', 'A'] | 'A'"),
    (
        "backoff",
        "'10m' | ['5s', '1m'] | {} | \
         { initial = '2s', multiplier = 2, max = '5m', jitter = 0.25 } | \
         { strategy = 'linear', delay = '1m', max = '1h', jitter = '100ms' } | \
         { strategy = 'constant', delay = '30s', jitter = false } | \
         { strategy = 'list', delays = ['5s'], repeat_last = true } | { multiplier = 1.5 } | \
         'exponential' | 'linear' | 'constant' | 'list' | 'linear:1m' | 30 | [] | [5] | { strategy = 'fixed' } | { strategy = 'list' } | \
         { strategy = 'list', delays = [] } | { delay = '1s' } | \
         { strategy = 'constant', max = '1h' } | { strategy = 'linear', multiplier = 2 } | \
         { strategy = 'list', delays = ['1s'], delay = '1s' } | { multiplier = 0.5 } | \
         { multiplier = 1001 } | { jitter = 2 } | { jitter = '1' } | { repeat_last = true } | \
         { steps = 3 }",
    ),
];

#[test]
fn the_schema_takes_and_refuses_what_the_parser_does() {
    let mut disagreements = Vec::new();
    for (key, values) in VALUES {
        for value in values.split(" | ") {
            let text = format!("[jobs.a]\ncommand = 'x'\n{key} = {value}\n");
            let (parsed, taken) = (is_parsed(&text), is_taken(&text));
            if parsed != taken {
                disagreements.push(format!("{key} = {value}: parsed {parsed}, taken {taken}"));
            }
        }
    }
    assert_eq!(disagreements, [""; 0]);
}

/// As [`VALUES`], for a queue.
const LIMITS: [(&str, &str); 2] = [
    ("max_running", "1 | 4 | 1000000 | 0 | -1 | 1000001 | 1.5 | '4' | true"),
    (
        "rate",
        "'10/s' | '30/m' | '999999999/h' | '0/s' | '010/s' | '1/d' | '1.5/s' | '10' | ' 1/s' | 10 | '1000000000/s' | ''",
    ),
];

#[test]
fn the_schema_takes_and_refuses_limits_as_the_parser_does() {
    assert_eq!(LIMITS.map(|(key, _)| key), *Section::Queue.keys());
    for (key, values) in LIMITS {
        for value in values.split(" | ") {
            let text = format!("[queues.net]\n{key} = {value}\n");
            assert_eq!(is_parsed(&text), is_taken(&text), "{text}");
        }
    }
}

/// A job file with this value of a key, and what the key may need beside it.
fn with(key: &str, value: &str) -> String {
    let schedule = match key {
        "timezone" | "missed" | "fresh_within" | "random_delay" => "schedule = '@daily'\n",
        _ => "",
    };
    let command = if key == "command" { "" } else { "command = 'x'\n" };
    let others = ["alert", "extract", "load"].map(|name| format!("[jobs.{name}]\ncommand = 'x'\n")).concat();
    format!("[jobs.a]\n{command}{key} = {value}\n{schedule}{others}")
}

#[test]
fn each_key_has_examples_that_hold() {
    let schema = schema();
    for key in Section::Job.keys() {
        let examples = schema["$defs"][key]["examples"].as_array();
        for example in examples.unwrap_or_else(|| panic!("jobs.schema.json has no examples of {key}")) {
            let text = with(key, &example.to_string().replace("\":", "\" = "));
            assert!(is_parsed(&text), "the parser refuses {text}");
            assert!(is_taken(&text), "the schema refuses {text}");
        }
    }
}

#[test]
fn values_of_another_type_are_refused_or_taken_as_by_the_parser() {
    let values = ["''", "'  '", "1", "1.5", "true", "false", "[]", "[1]", "{}", "{ a = 1 }"];
    let files = Section::Job.keys().into_iter().flat_map(|key| values.map(|value| with(key, value)));
    let disagreed: Vec<_> = files.filter(|text| is_parsed(text) != is_taken(text)).collect();
    assert!(disagreed.is_empty(), "{}", disagreed.join("\n"));
}

#[test]
fn mistakes_of_other_kinds_are_refused() {
    for text in [
        "[jobs.a]\n",
        "[jobs.a]\ncommand = ''\n",
        "[jobs.a]\ncommand = ' '\n",
        "[jobs.a]\ncommand = []\n",
        "[jobs.a]\ncommand = ['a', 1]\n",
        "[jobs.a]\ncommand = 1\n",
        "[jobs.a]\ncomand = 'x'\n",
        "[jobs.a]\ncommand = 'x'\nretries = 3\n",
        "[jobs.'a b']\ncommand = 'x'\n",
        "[jobs]\na = 'x'\n",
        "[defaults]\ncommand = 'x'\n",
        "[defaults]\nexit_codes = { 1 = 'A' }\n",
        "[default]\ntimeout = '1s'\n",
        "timeout = '1s'\n",
        "exit_codes = { 1 = 'EXPIRED' }\n",
        "[queues.net]\n",
        "[queues.'a b']\nrate = '1/s'\n",
        "[queues]\nnet = 3\n",
        "[queues.net]\nspeed = 3\n",
    ] {
        assert!(!is_parsed(text), "{text}");
        assert!(!is_taken(text), "{text}");
    }
}
