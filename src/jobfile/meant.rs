//! Which table or key a broken line was most likely meant to name.

use toml::de::{DeTable, DeValue};

use super::keys::Place;
use crate::model::ExitKey;

/// Stands for a key that cannot be told. Nothing is called so.
pub(super) const UNKNOWN: &str = "?";

/// The table that a header names.
pub(super) fn path_of(header: &str) -> Vec<String> {
    let code = header.split('#').next().unwrap_or_default();
    let inside = code.trim().trim_start_matches('[').split(']').next().unwrap_or_default();
    let closed = format!("[{inside}]");
    if let Ok(table) = DeTable::parse(&closed) {
        let mut names = names_in(table.get_ref());
        if names == ["jobs"] && code.trim().starts_with("[[") {
            names.push(UNKNOWN.to_owned()); // a job whose name is missing
        }
        return names;
    }
    let words = inside.split(|c: char| c == '.' || c == ':' || c.is_whitespace());
    words.map(unquoted).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The key of a line, with the tables before its dots; [`UNKNOWN`] if it begins with something else.
pub(super) fn key_of(line: &str) -> Vec<String> {
    let key = line.trim_start().split(['=', ':', '#', '\n']).next().unwrap_or_default();
    let is_plain = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
    let words: Vec<&str> = key.split('.').map(unquoted).collect();
    if words.iter().all(|word| is_plain(word)) {
        words.into_iter().map(str::to_owned).collect()
    } else {
        vec![UNKNOWN.to_owned()]
    }
}

/// Does `table` look like the one at `path`? If most of its keys are not known there, its header was meant otherwise.
pub(super) fn fits(path: &[String], table: &DeTable<'_>) -> bool {
    let place = Place::at(path);
    let is_known = |key: &str, value: &DeValue<'_>| match (place, path.last().map(String::as_str)) {
        (Some(place), _) => place.keys().contains(&key),
        (None, Some("exit_codes")) => ExitKey::parse(key).is_ok(),
        (None, Some("jobs")) => value.is_table(),
        (None, _) => value.is_str(),
    };
    let known = table.iter().filter(|(key, value)| is_known(key.get_ref(), value.get_ref())).count();
    is_table(path) && 2 * known >= table.len()
}

/// Is this the name of a table that a job file may have?
pub(super) fn is_table(path: &[String]) -> bool {
    let Some((name, parents)) = path.split_last() else {
        return false;
    };
    match Place::at(parents) {
        _ if Place::at(path).is_some() => true,
        Some(Place::File) => ["jobs", "exit_codes"].contains(&name.as_str()),
        Some(Place::Job) => ["env", "exit_codes"].contains(&name.as_str()),
        Some(Place::Defaults) => name == "env",
        Some(Place::Backoff) | None => false,
    }
}

fn names_in(table: &DeTable<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut table = Some(table);
    while let Some((key, node)) = table.and_then(|table| table.iter().next()) {
        names.push(key.get_ref().clone().into_owned());
        table = match node.get_ref() {
            DeValue::Table(inner) => Some(inner),
            _ => None,
        };
    }
    names
}

fn unquoted(word: &str) -> &str {
    word.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_are_not_closed_or_lack_dots() {
        for (header, path) in [
            ("[jobs.a]", "jobs/a"),
            ("  [ jobs.\"a.b\" . env ] # x\n", "jobs/a.b/env"),
            ("[jobs.a # x", "jobs/a"),
            ("jobs.a]", "jobs/a"),
            ("[[jobs]]", "jobs/?"),
            ("[jobs a]", "jobs/a"),
            ("[jobs.a] command = 1", "jobs/a"),
            ("[jobs..a]", "jobs/a"),
            ("[]", ""),
        ] {
            assert_eq!(path_of(header).join("/"), path, "{header}");
        }
    }

    #[test]
    fn keys_of_broken_lines() {
        for (line, key) in [
            ("command: 'x'", "command"),
            (" a . b == 1", "a/b"),
            ("\"key\"", "key"),
            ("a b = 1", "?"),
            ("=1", "?"),
        ] {
            assert_eq!(key_of(line).join("/"), key, "{line}");
        }
    }

    #[test]
    fn tables_of_a_job_file() {
        let is_table = |path: &str| is_table(&path.split('/').map(str::to_owned).collect::<Vec<_>>());
        for path in ["jobs", "jobs/a", "jobs/a/env", "jobs/a/backoff", "defaults/env", "exit_codes"] {
            assert!(is_table(path), "{path}");
        }
        for path in ["", "job/a", "jobs/a/reports", "defaults/exit_codes", "jobs/a/backoff/max"] {
            assert!(!is_table(path), "{path}");
        }
    }
}
