//! The values of `[defaults]` or of a job, each in the form that the table of keys names.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use toml::de::DeValue;

use super::diagnostics::{Mistakes, Span};
use super::read::{Entry, Value, distinct};
use super::{foreign_times, retry};
use crate::model::{
    Backoff, Bytes, CodePattern, EnvFile, JobDefinition, JobLayer, Missed, ReadForm, Schedule, WholeNumber,
    check_key, check_variable,
};
use crate::text::{Millis, human_size};

/// The values of `[defaults]` or of a job, with what is needed to point at them.
#[derive(Default)]
pub(super) struct PlacedLayer {
    pub values: JobLayer,
    /// The error codes that this layer lists, with the key of the list and their places.
    pub listed_codes: Vec<(String, CodePattern, Span)>,
    /// The place of the value of each key that this layer gives, also of values that could not be read.
    places: HashMap<String, Span>,
}

impl PlacedLayer {
    /// The place of the value of this key, if this layer gives it.
    pub(super) fn place(&self, key: &str) -> Option<&Span> {
        self.places.get(key)
    }

    /// The alerts that this layer names: the key, the name and its place.
    pub(super) fn alerts(&self) -> impl Iterator<Item = (&'static str, &String, &Span)> {
        let JobLayer { on_dead, on_warning, .. } = &self.values;
        let alerts = [("on_dead", on_dead), ("on_warning", on_warning)];
        alerts.into_iter().filter_map(|(key, name)| Some((key, name.as_ref()?, self.place(key)?)))
    }

    /// Reads a key. `dir` holds the file. Whether a layer has such a key.
    pub(super) fn read_key(&mut self, entry: &Entry<'_>, dir: &Path, mistakes: &mut Mistakes) -> bool {
        self.places.insert(entry.key.to_owned(), entry.value.at());
        let listed_codes = &mut self.listed_codes;
        self.values
            .read(entry.key, &mut Form { key: entry.key, value: entry.value, dir, mistakes, listed_codes })
    }
}

/// The value of a key.
struct Form<'f> {
    key: &'f str,
    value: Value<'f>,
    /// Holds the file.
    dir: &'f Path,
    mistakes: &'f mut Mistakes,
    listed_codes: &'f mut Vec<(String, CodePattern, Span)>,
}

impl ReadForm for Form<'_> {
    fn boolean(&mut self) -> Option<bool> {
        self.value.boolean(self.mistakes)
    }

    fn text(&mut self) -> Option<String> {
        self.value.text(self.mistakes).map(str::to_owned)
    }

    fn parsed<T>(&mut self, parse: fn(&str) -> Result<T, String>) -> Option<T> {
        let text = self.value.string(self.mistakes)?;
        self.value.ok_or_refuse(parse(text), self.mistakes)
    }

    fn unique_key(&mut self) -> Option<String> {
        let key = self.value.text(self.mistakes)?;
        self.value.ok_or_refuse(check_key(key), self.mistakes).map(|()| key.to_owned())
    }

    fn input(&mut self) -> Option<String> {
        let text = self.value.string(self.mistakes)?;
        if text.len() > JobDefinition::MAX_STDIN {
            self.value
                .refused(self.mistakes, "it has more than 16 MiB")
                .hint("put it into a file, and let the command read that");
            return None;
        }
        Some(text.to_owned())
    }

    fn path(&mut self) -> Option<Bytes> {
        let path = self.value.text(self.mistakes)?;
        located(self.value, self.dir, path, self.mistakes)
    }

    fn argv(&mut self) -> Option<Vec<Bytes>> {
        argv(self.value, self.mistakes)
    }

    fn env_files(&mut self) -> Option<Vec<EnvFile>> {
        env_files(self.value, self.dir, self.mistakes)
    }

    fn variables(&mut self) -> Option<BTreeMap<Bytes, Bytes>> {
        Some(variables(self.value, self.mistakes))
    }

    fn integer<N: WholeNumber>(&mut self, range: RangeInclusive<N>) -> Option<N> {
        self.value.integer(range, self.mistakes)
    }

    fn duration(&mut self) -> Option<Millis> {
        self.value.duration(self.mistakes)
    }

    fn duration_above_zero(&mut self) -> Option<Millis> {
        self.value.duration_above_zero(self.mistakes)
    }

    fn output_limit(&mut self) -> Option<u64> {
        let bytes = self.value.size(self.mistakes)?;
        if bytes > JobDefinition::MAX_OUTPUT_LIMIT {
            let allowed = format!("at most {}", human_size(JobDefinition::MAX_OUTPUT_LIMIT));
            self.value.wrong(self.mistakes, &allowed);
            return None;
        }
        Some(bytes)
    }

    fn exit_statuses(&mut self) -> Option<Vec<u8>> {
        let statuses = exit_statuses(self.value, "[0, 3]", self.mistakes);
        if self.value.data().as_array().is_some_and(|list| list.is_empty()) {
            self.value
                .refused(self.mistakes, "with an empty list no attempt could succeed")
                .hint("write [0], or leave it out");
        }
        Some(statuses)
    }

    fn warning_statuses(&mut self) -> Option<Vec<u8>> {
        Some(exit_statuses(self.value, "[3]", self.mistakes))
    }

    fn attempts(&mut self) -> Option<u32> {
        retry::max_attempts(self.value, self.mistakes)
    }

    fn backoff(&mut self) -> Option<Backoff> {
        retry::backoff(self.value, self.mistakes)
    }

    fn codes(&mut self) -> Option<Vec<CodePattern>> {
        let (codes, is_whole) = retry::codes(self.value, self.mistakes)?;
        let placed = codes.iter().map(|(code, at)| (self.key.to_owned(), code.clone(), at.clone()));
        self.listed_codes.extend(placed);
        is_whole.then(|| codes.into_iter().map(|(code, _)| code).collect())
    }

    fn schedule(&mut self) -> Option<Vec<String>> {
        if let DeValue::String(_) = self.value.data() {
            let line = self.value.text(self.mistakes)?;
            let read = Schedule::parse(line, TimeZone::UTC);
            refuse_schedule(self.value, line, read, self.mistakes);
            return Some(vec![line.to_owned()]);
        }
        let entries = self.value.list("a string or an array of lines of cron", self.mistakes)?;
        match entries.len() {
            0 => {
                self.value
                    .refused(self.mistakes, "an empty array has no times")
                    .hint("leave it out for none");
            }
            1..=Schedule::MAX_LINES => {}
            lines => {
                let most = Schedule::MAX_LINES;
                self.value.refused(self.mistakes, &format!("it has {lines} lines, and takes at most {most}"));
                return None;
            }
        }
        let mut lines = Vec::new();
        // Two lines are the same if they mean the same: `@daily` and `0 0 * * *`.
        distinct(&entries, self.mistakes, |entry, mistakes| {
            let line = entry.text(mistakes)?;
            lines.push(line.to_owned());
            let read = Schedule::parse(line, TimeZone::UTC);
            if read.as_ref().is_ok_and(|read| !read.goes_by_clocks()) {
                let hint = format!("write schedule = \"{}\", or give it a job of its own", line.trim());
                entry.refused(mistakes, &format!("{:?} stands alone", line.trim())).hint(hint);
                return None;
            }
            refuse_schedule(entry, line, read, mistakes)
        });
        Some(lines)
    }

    fn missed(&mut self) -> Option<Missed> {
        let words: Vec<_> = Missed::ALL.iter().map(|missed| missed.as_str()).collect();
        self.value.one_of(&words, self.mistakes).and_then(Missed::parse)
    }
}

/// A schedule that could be read; else the mistake is recorded.
fn refuse_schedule(
    value: Value<'_>,
    line: &str,
    read: Result<Schedule, String>,
    mistakes: &mut Mistakes,
) -> Option<Schedule> {
    read.map_err(|why| {
        let mistake = mistakes.add(&value.at(), why);
        if let Some(hint) = foreign_times::hint(line) {
            mistake.hint(hint);
        }
    })
    .ok()
}

/// A program and its arguments.
pub(super) fn argv(value: Value<'_>, mistakes: &mut Mistakes) -> Option<Vec<Bytes>> {
    let words = value.list("an array of strings", mistakes)?;
    let Some((program, arguments)) = words.split_first() else {
        value
            .refused(mistakes, "an empty array names no program")
            .hint("write the program and its arguments, such as [\"tar\", \"-xf\", \"a.tar\"]");
        return None;
    };
    let program = program.text(mistakes);
    let arguments: Vec<_> =
        arguments.iter().map(|word| word.fits_kernel(word.string(mistakes)?, 0, mistakes)).collect();
    let words = [program].into_iter().chain(arguments);
    words.map(|word| word.map(Bytes::from)).collect()
}

/// The files of variables, each with a dash in front if it may be missing.
fn env_files(value: Value<'_>, dir: &Path, mistakes: &mut Mistakes) -> Option<Vec<EnvFile>> {
    let allowed = "a path, or an array of paths, such as [\"common.env\", \"-local.env\"]";
    let values = match value.data() {
        DeValue::String(_) => vec![value],
        _ => value.list(allowed, mistakes)?,
    };
    let read = |value: Value<'_>| {
        let text = value.text(mistakes)?;
        let path = text.strip_prefix('-').unwrap_or(text);
        if path.is_empty() {
            value.refused(mistakes, "there is no path after the dash");
            return None;
        }
        Some(EnvFile { path: located(value, dir, path, mistakes)?, optional: path != text })
    };
    // All of them are read, so that all mistakes are recorded.
    let files: Vec<_> = values.into_iter().map(read).collect();
    files.into_iter().collect()
}

/// A path of the job file: relative to `dir`, or to the home directory if it begins with `~/`.
fn located(value: Value<'_>, dir: &Path, path: &str, mistakes: &mut Mistakes) -> Option<Bytes> {
    let Some(below_home) = path.strip_prefix('~') else { return Some(joined(dir, path)) };
    if !below_home.is_empty() && !below_home.starts_with('/') {
        value
            .refused(mistakes, "only `~` and `~/…` stand for a home directory, which is your own")
            .hint(format!("write the path in full, or ./{path} for a name that begins with `~`"));
        return None;
    }
    let Some(home) = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()) else {
        value.refused(mistakes, "there is no home directory: $HOME is not set to an absolute path");
        return None;
    };
    Some(joined(&home, below_home.trim_start_matches('/')))
}

/// `path` relative to `dir`, without `.`. A `..` stays, because the directory before it may be a symbolic link.
pub(super) fn joined(dir: &Path, path: &str) -> Bytes {
    let joined: PathBuf = dir.join(path).components().collect();
    Bytes(joined.as_os_str().as_bytes().to_vec())
}

fn variables(value: Value<'_>, mistakes: &mut Mistakes) -> BTreeMap<Bytes, Bytes> {
    let entries = value.table("a table of strings, such as { LANG = \"C\" }", mistakes);
    let mut variables = BTreeMap::new();
    for entry in entries.unwrap_or_default() {
        let name = entry.key;
        if let Err(why) = check_variable(name) {
            mistakes.add(&entry.at, why);
        }
        let text = entry.value.string(mistakes);
        if let Some(text) = text.and_then(|text| entry.value.fits_kernel(text, name.len() + 1, mistakes)) {
            variables.insert(Bytes::from(name), Bytes::from(text));
        }
    }
    variables
}

/// The list is empty if it cannot be read. Then `checks` finds no contradiction with it.
fn exit_statuses(value: Value<'_>, example: &str, mistakes: &mut Mistakes) -> Vec<u8> {
    let list = value.list(&format!("an array of exit statuses, such as {example}"), mistakes);
    let read = |status: Value<'_>, mistakes: &mut Mistakes| status.integer(0..=255_u8, mistakes);
    let statuses = distinct(&list.unwrap_or_default(), mistakes, read);
    statuses.into_iter().map(|(status, _)| status).collect()
}
