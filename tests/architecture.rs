//! The house rules: imports go down only, and nothing sleeps where it should wait.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each part of the program may use. A part that is not here may not exist.
const MAY_USE: [(&str, &[&str]); 10] = [
    ("text", &[]),
    ("model", &["text"]),
    ("clock", &["text"]),
    ("jobfile", &["text", "model"]),
    ("store", &["text", "model"]),
    ("process", &["text", "model"]),
    ("wake", &[]),
    ("report", &["text", "model"]),
    ("worker", &["text", "model", "clock", "store", "process", "wake", "report"]),
    ("cli", &["text", "model", "clock", "jobfile", "store", "process", "wake", "report", "worker"]),
];

fn sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).expect("it is in there").display().to_string();
                found.push((name, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has no sources");
    found
}

/// The parts that a source names after `crate::`, also in a list in braces.
fn used(text: &str) -> BTreeSet<String> {
    let mut parts = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => top_level(list),
            None => vec![rest],
        };
        parts.extend(names.into_iter().map(first_word).filter(|word| !word.is_empty()));
    }
    parts
}

/// The items of a list in braces, whose opening brace is gone already.
fn top_level(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(list[start..at].trim());
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn imports_go_down_only() {
    let mut wrong = Vec::new();
    for (name, text) in sources("src") {
        if name == "main.rs" || name == "lib.rs" {
            continue;
        }
        let part = first_word(&name);
        let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == part) else {
            wrong.push(format!("{name}: there is no part called {part}"));
            continue;
        };
        for used in used(&text).iter().filter(|used| **used != part) {
            if !allowed.contains(&used.as_str()) {
                wrong.push(format!("{name} uses {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn imports_are_read_from_lists_too() {
    let parts = used("use crate::{model::{A, store}, clock};\nlet x = crate::wake::now();");
    assert_eq!(parts.into_iter().collect::<Vec<_>>(), ["clock", "model", "wake"]);
}

/// The one function besides the poll helper that may sleep, and it alone in its file: moments that are to be any.
const RHYTHM: (&str, &str) = ("kills/rhythm.rs", "pub fn pause(");

fn is_the_rhythm(name: &str, text: &str) -> bool {
    let count = |what| text.matches(what).count();
    name == RHYTHM.0 && text.contains(RHYTHM.1) && count("fn ") == 1 && count("thread::sleep") == 1
}

#[test]
fn only_the_poll_helper_and_the_rhythm_of_the_kills_sleep() {
    let asleep: Vec<_> = sources("tests")
        .into_iter()
        .filter(|(name, _)| name != "support/poll.rs" && name != "architecture.rs")
        .filter(|(name, text)| !is_the_rhythm(name, text))
        .filter(|(_, text)| text.contains("thread::sleep") || text.contains("park_timeout"))
        .map(|(name, _)| name)
        .collect();
    assert!(asleep.is_empty(), "{asleep:?}");
}

#[test]
fn unsafe_code_stands_in_three_files() {
    let found: Vec<_> = sources("src")
        .into_iter()
        .filter(|(_, text)| text.contains("allow(unsafe_code") || text.contains("expect(unsafe_code"))
        .map(|(name, _)| name)
        .collect();
    let known = ["process/inherit.rs", "process/vfork.rs", "cli/closed.rs"];
    assert!(found.iter().all(|name| known.contains(&name.as_str())), "{found:?}");
}

#[test]
fn unsafe_code_of_the_suites_stands_in_the_shim() {
    let words = ["allow(unsafe_code", "expect(unsafe_code"];
    let outside: Vec<_> = sources("tests")
        .into_iter()
        .filter(|(name, text)| !name.starts_with("shim/") && words.iter().any(|word| text.contains(word)))
        .map(|(name, _)| name)
        .filter(|name| name != "architecture.rs")
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
}
