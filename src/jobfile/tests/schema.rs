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
        DeValue::Integer(number) => json!(i64::from_str_radix(number.as_str(), number.radix()).unwrap()),
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
        (Section::Job, "/definitions/job"),
        (Section::Backoff, "/definitions/backoff_table"),
        (Section::Queue, "/definitions/limits"),
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
/// `definitions`.
#[test]
fn the_schema_is_that_of_the_table_of_keys() {
    let mut schema = schema();
    for (pointer, section) in [
        ("/properties/defaults/properties", Section::Defaults),
        ("/definitions/job/properties", Section::Job),
    ] {
        let entry = |key: &str| (key.to_owned(), json!({"$ref": format!("#/definitions/{key}")}));
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
        let about = &schema["definitions"][key.name];
        assert!(about["description"].is_string(), "{}: {about}", key.name);
        if let Some(form) =
            key.form.filter(|form| *form != key.name && !schema["definitions"][*form].is_null())
        {
            assert_eq!(about["allOf"][0]["$ref"], format!("#/definitions/{form}"), "{}", key.name);
        }
    }
}

#[test]
fn the_schema_has_the_strategies_of_the_parser() {
    let schema = schema();
    let table = &schema["definitions"]["backoff_table"];
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

/// As readers of draft-07 need it: they ignore what stands beside `$ref`, and a strict one wants a type beside a pattern. The
/// validator of these tests knows no keyword of a later draft.
fn assert_draft_07(schema: &Value) {
    match schema {
        Value::Object(keywords) => {
            let is_schema = |keyword: &str| keywords.get(keyword).is_some_and(Value::is_string);
            assert!(!is_schema("$ref") || keywords.len() == 1, "{schema}");
            assert!(!is_schema("pattern") || keywords.get("type") == Some(&json!("string")), "{schema}");
            keywords.values().for_each(assert_draft_07);
        }
        Value::Array(list) => list.iter().for_each(assert_draft_07),
        _ => {}
    }
}

#[test]
fn the_schema_is_of_the_draft_that_all_editors_read() {
    assert_eq!(schema()["$schema"], "http://json-schema.org/draft-07/schema#");
    assert_draft_07(&schema());
}

/// The files of this folder of the source with this ending, each with its text.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|it| it == ending));
    paths.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn every_good_job_file_of_the_project_is_taken() {
    let mut all =
        vec![("starter".to_owned(), STARTER.to_owned()), ("example".to_owned(), EXAMPLE.to_owned())];
    all.extend(files("examples", "toml"));
    all.extend(files("tests/jobfile", "toml").into_iter().filter(|(_, text)| is_parsed(text)));
    for (page, text) in [files(".", "md"), files("docs", "md")].concat() {
        let blocks = text.split("\n```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        all.extend(blocks.map(|block| (page.clone(), block.to_owned())));
    }
    assert!(all.len() > 20, "only {} files were found", all.len());
    for (name, text) in all {
        assert!(is_taken(&text), "{name}: {text}");
    }
}

/// The mistakes there depend on several keys, or on another job.
const BEYOND_A_SCHEMA: [&str; 3] = [
    "a_code_listed_in_the_defaults_is_told_once",
    "codes_that_cannot_occur_2",
    "entries_that_claim_the_same_ending",
];

#[test]
fn the_bad_job_files_of_the_corpus_are_refused() {
    for (name, text) in files("tests/jobfile", "toml") {
        let stem = Path::new(&name).file_stem().unwrap().to_str().unwrap();
        if DeTable::parse(&text).is_ok() && !is_parsed(&text) {
            assert_eq!(is_taken(&text), BEYOND_A_SCHEMA.contains(&stem), "{name}");
        }
    }
}

/// Further values that may stand after `KEY = `, with bars between them; the parser decides.
const VALUES: [(&str, &str); 30] = [
    (
        "timeout",
        "'30s' | '1h 30m' | '1h30m' | ' 1.5 h ' | '0s' | 30 | '30' | '5 parsecs' | '.5s' | '' | \
         true | '10y' | '11y' | '0010s' | '87600h' | '876000h' | '400000000000000ms' | \"1s\\u0000\"",
    ),
    (
        "grace_period",
        "'0s' | '1msec' | '2sec' | '1second 2seconds' | '1min' | '1minute 2minutes' | '1hr' | 'x' | '-1s' | '1' | '1 s' | ' ' | '1s,2s' | '1S' | '1.s' | '1..5s'",
    ),
    (
        "expires_in",
        "'1hour' | '2hours' | '1d' | '1day 3days' | '1w' | '1week 2weeks' | '1y' | '1year' | \
         '1 years' | '0ms'",
    ),
    (
        "output_limit",
        "'64KiB' | '1 MiB' | '0B' | '1KB' | '1MB' | 65536 | '64kb' | '1.5MiB' | '' | '16MiB' | '17MiB' | '16777216B' | '100000000B' | '99999999KiB' | '0016 MiB' | '1GiB'",
    ),
    ("priority", "-1000 | 1000 | 1001 | -1001 | '1' | 1.5 | +5 | 0x10 | 1e2"),
    (
        "max_attempts",
        "1 | 1000000 | 0 | 1000001 | '3' | -1 | 1\nretryable = false | 2\nretryable = false | 2\nretryable = true | 3.0",
    ),
    ("queue", "'a' | 'A.b_c-9' | '-a' | 'a b' | '' | 1 | 'default' | \"default\\n\" | '.a' | '_a'"),
    ("cwd", "'.' | 'a b' | '' | 1 | '~' | '~/x' | '~x' | './~x' | 'a~' | \"a\\u0000\" | '~/a b' | '/'"),
    (
        "env_file",
        "'a.env' | '-a.env' | '' | '-' | '--a' | '~/a.env' | '-~/a.env' | '~a' | '-~a' | [] | \
         ['a', '-b'] | ['a', ''] | [1] | 1",
    ),
    (
        "unique_key",
        "'any thing' | '' | 1 | ' a ' | ' ' | \"a\\tb\" | \"a\\nb\" | \"a\\u0007\" | 'ä' | \
         \"a\\u00adb\" | \"a\\u200bb\" | \"a\\u200eb\" | \"a\\u2028b\" | \"a\\u2029b\" | \"a\\u202eb\" | \"a\\u2060b\" | \"a\\u206fb\" | \"a\\ufeffb\" | \"a\\u00a0b\" | \"a\\u3000b\" | \"a\\u2010b\" | \"a\\u202fb\"",
    ),
    (
        "default_error_code",
        "'FAILED' | 'EXIT_CODE' | 'SIGNAL_LOST' | 'EXIT_1' | 'SIGNAL_KILL' | 'TIMEOUT' | \
         'failed' | 'A-B' | '*' | 1",
    ),
    (
        "warning_exit_codes",
        "[24] | [1, 255] | [] | [256] | [-1] | [3, 3] | 3 | ['3'] | [0]\nsuccess_exit_codes = [3]",
    ),
    ("success_exit_codes", "[0] | [0, 255] | [] | [256] | [-1] | [0, 0] | 0 | ['0']"),
    (
        "never_retry_for",
        "[] | ['EXIT_*', 'SIGNAL_*', '*'] | ['EXIT_1', 'SIGNAL_KILL'] | \
         ['TIMEOUT', 'WORKER_CRASHED', 'SPAWN_FAILED'] | ['CANCELLED'] | ['EXPIRED'] | \
         ['INTERRUPTED'] | ['EX*'] | ['exit_1'] | 'EXIT_1' | ['EXIT_1', 'EXIT_1'] | ['EXIT_255'] | ['EXIT_256'] | ['EXIT_300'] | ['EXIT_1000'] | ['EXIT_99999'] | ['SIGNAL_64'] | ['SIGNAL_65'] | ['SIGNAL_STOP'] | ['SIGNAL_CHLD'] | ['SIGNAL_100'] | ['SIGNAL_TERM', 'SIGNAL_34']",
    ),
    (
        "auto_retry_for",
        "['EXIT_1'] | [] | [1] | ['EXIT_1']\nretryable = false | ['EXIT_1']\nretryable = true | ['EXIT_300']",
    ),
    (
        "env",
        "{ A = 'b', b = '' } | { A = 1 } | { 'A=B' = 'c' } | { RUNNER_DB = 'x' } | \
         { '' = 'x' } | [] | { A = \"\\u0000\" } | { RUNNER_ATTEMPT_MARK = 'x' } | { RUNNER_SCHEDULED_FOR = 'x' } | { RUNNER_DEAD_JOB_ID = 'x' } | { RUNNER_DEPENDENCIES = 'x' } | { A = 'a b' } | { 'a b' = 'x' }",
    ),
    (
        "exit_codes",
        "{ 22 = 'A', '3-9' = 'B', ' 10 - 12 ' = 'C', SIGUSR1 = 'D', '023' = 'E' } | \
         { x = 'A' } | { 'SIG' = 'A' } | { '-3' = 'A' } | { 22 = 'TIMEOUT' } | { 22 = 3 } | [] | { 255 = 'A' } | { 256 = 'A' } | { 300 = 'A' } | { '1-255' = 'A' } | { '200-256' = 'A' } | { SIGWRONG = 'A' } | { SIGRTMIN = 'A' } | { SIGIO = 'A' } | { KILL = 'A' } | { '0255' = 'A' } | { '1 - 3' = 'A' } | { '-' = 'A' } | { '3-' = 'A' } | { ' 3' = 'A' } | { '+3' = 'A' } | { '*' = 'A' }",
    ),
    (
        "schedule",
        "'0 2 * * *' | '*/5 9-17 * * mon-fri' | '@weekly' | 'every 15m' | '@reboot' | '@boot' | '* * *' | '' | 1 | '* * * * ?' | 'every 1s' | 'every 0s' | 'every x' | 'every' | 'every  2m' | ' every 1h ' | 'every1h' | 'every 0.5h' | 'every 20000000h' | ' @daily ' | '@Daily' | 'every 1h 30m' | '* * * * * *' | '0 0 1 1 0' | '0~5 * * * *' | '@reboot' | \
         '59 23 31 12 7' | '60 * * * *' | '00,30 007 * * *' | '* 24 * * *' | '*/0 * * * *' | '*/100 * * * *' | '5/15 * * * *' | \
         '1-5/2,40 * * * *' | '1,,2 * * * *' | '1- * * * *' | '** * * * *' | '* * 32 * *' | '* * L * *' | '* * 0 * *' | \
         '0 0 1 jan-MAR,Dec *' | '0 0 1 13 *' | '0 0 1 mon *' | '0 0 1 january *' | '0 0 * * 8' | '0 0 * * fri,Sun' | \
         '0 0 * * monday' | '0 0 * * 5#3' | '0 0 * * 5#6' | 'L * * * *' | \
         '0 0 L-3,LW,15W * *' | '0 0 l-3,lw,15w * *' | '0 0 L-31 * *' | '0 0 L-0 * *' | '0 0 32W * *' | '0 0 W15 * *' | '0 0 * * 5L,friL' | \
         '0 0 * * sunl,7L' | '0 0 * * 8L' | '0 0 * * L' | '0 0 * * L5' | ['30 8 * * 1-5', '0 10 * * 6,0'] | ['@daily'] | [] | ['@daily', '@daily'] | ['@daily', '@reboot'] | ['every 1h'] | ['@daily', 5] | \
          '\t0 2 * * * '",
    ),
    (
        "timezone",
        "'Europe/Berlin'\nschedule = '@daily' | '' | 1 | 'UTC' | 'UTC'\nschedule = 'every 1h' | 'UTC'\nschedule = '@reboot'",
    ),
    (
        "missed",
        "'once'\nschedule = '@daily' | 'skip'\nschedule = '@daily' | 'never' | true | 'once'\nschedule = '@reboot' | 'once'\nschedule = ' @reboot ' | 'once' | 'skip'\nschedule = 'every 1h'",
    ),
    (
        "missed_within",
        "'3h'\nschedule = '@daily' | '0s'\nschedule = '@daily' | 3\nschedule = '@daily' | '1h'\nschedule = '@reboot' | '1h'\nmissed = 'skip'\nschedule = '@daily' | '1h'\nmissed = 'all'\nschedule = 'every 1h' | '1h'",
    ),
    (
        "fresh_within",
        "'26h'\nschedule = '@daily' | '0s'\nschedule = '@daily' | 26\nschedule = '@daily' | '' | '1h' | '1h'\nschedule = '@reboot'",
    ),
    (
        "random_delay",
        "'10m'\nschedule = '@reboot' | '0s'\nschedule = '@daily' | 10\nschedule = '@daily' | '' | '1h'",
    ),
    ("launcher", "['nice', '-n', '10'] | [] | [1] | 'nice' | [\"a\\u0000\"] | ['a', '']"),
    ("after", "[] | ['x y'] | 'b' | [1] | ['', '']"),
    ("after_any", "[] | ['x y'] | 'b' | [1] | ['', '']"),
    ("on_dead", "'' | 'a b' | 1 | ['b']"),
    ("on_warning", "'' | 'a b' | 1 | ['b']"),
    (
        "reports",
        "['A', 'B'] | ['TIMEOUT'] | ['A', 'A'] | 'A' | ['EXIT_300'] | ['EXIT_1'] | ['SIGNAL_KILL'] | ['a'] | []",
    ),
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
         { steps = 3 } | { jitter = '1s' } | { jitter = 'x' } | { jitter = -0.1 } | { multiplier = nan } | ['1s', 2] | ' 10m ' | { strategy = 'list', delays = '1s' } | { max = 5 } | { strategy = 'linear', repeat_last = true }",
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
        "timezone" | "missed" | "missed_within" | "fresh_within" | "random_delay" => "schedule = '@daily'\n",
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
        let examples = schema["definitions"][key]["examples"].as_array();
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
        "[defaults]\nretryable = false\nmax_attempts = 2\n",
        "[defaults]\nretryable = false\nauto_retry_for = ['EXIT_1']\n",
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
