//! Imports between the modules go down only, and each direct dependency has a reason.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules, and which of them each may import.
const MODULES: [(&str, &[&str]); 13] = [
    ("text", &[]),
    ("model", &["text"]),
    ("clock", &["text"]),
    ("jobfile", &["text", "model", "paths"]),
    ("crontab", &["text", "model", "jobfile"]),
    ("store", &["text", "model", "clock", "wake", "paths"]),
    ("view", &["text", "model", "store"]),
    ("process", &["text", "model", "clock"]),
    ("wake", &[]),
    ("paths", &[]),
    ("report", &["text", "model"]),
    ("worker", &["text", "model", "clock", "store", "process", "wake", "report"]),
    (
        "cli",
        &[
            "text", "model", "clock", "paths", "jobfile", "crontab", "store", "process", "wake", "report",
            "worker", "view",
        ],
    ),
];

/// All source files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    end.map_or(text, |end| &text[..end])
}

#[test]
fn imports_go_down_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for path in sources(&src) {
        let name = path.strip_prefix(&src).expect("a path below src").display().to_string();
        let module = first_word(&name);
        if ["main", "lib"].contains(&module) {
            continue;
        }
        let Some((_, may_import)) = MODULES.iter().find(|(known, _)| *known == module) else {
            wrong.push(format!("{name}: no such module"));
            continue;
        };
        let text = fs::read_to_string(&path).expect("text");
        for import in text.split("crate::").skip(1).map(first_word) {
            if import.is_empty() {
                wrong.push(format!(
                    "{name}: write `use crate::` once for each module, not with a list in braces"
                ));
            } else if import != module && !may_import.contains(&import) {
                wrong.push(format!("{name} imports {import}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The floors of the store, and which of them each may import.
const FLOORS: [(&str, &[&str]); 3] = [("file", &[]), ("write", &["file"]), ("read", &["file", "write"])];

#[test]
fn the_floors_of_the_store_import_down_only() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let mut wrong = Vec::new();
    for (floor, may_import) in FLOORS {
        for path in sources(&store.join(floor)) {
            let text = fs::read_to_string(&path).expect("text");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for import in code.split("crate::store::").skip(1).map(first_word) {
                let is_floor = import == "tests" || FLOORS.iter().any(|(known, _)| *known == import);
                if !is_floor || import != floor && !may_import.contains(&import) {
                    wrong.push(format!("{} imports {import:?}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_store_and_the_model_hold_no_command_to_type() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let others = ["init", "check", "completions", "man", "schema", "run", "service"];
    let verbs: Vec<&str> = runner::view::USE_DATABASE.into_iter().chain(others).collect();
    let mut wrong = Vec::new();
    for path in ["store", "model"].iter().flat_map(|folder| sources(&src.join(folder))) {
        let name = path.strip_prefix(&src).expect("a path below src").display().to_string();
        if name.contains("tests") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let mut calls = line.split("runner ").skip(1).map(first_word);
            if calls.any(|verb| verbs.contains(&verb)) {
                wrong.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "the words belong in view/advice: {wrong:#?}");
}

#[test]
fn each_direct_dependency_says_what_it_is_for() {
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).expect("text");
    let (mut is_listed, mut listed, mut silent) = (false, 0, Vec::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_listed = ["[dependencies]", "[dev-dependencies]"].contains(&line);
        } else if let Some((name, rest)) = line.split_once('=').filter(|_| is_listed) {
            listed += 1;
            if !rest.contains(" # ") {
                silent.push(name);
            }
        }
    }
    assert!(listed > 20, "{listed}");
    assert!(silent.is_empty(), "{silent:?}");
}
