//! Tests of what the corpus in `tests/jobfile` cannot show: lines that are hard to draw, files that cannot be read, and that no file
//! makes the parser panic. `schema` compares the schema for editors with the parser.

mod foreign;
mod schema;
mod validate;

use std::fs;
use std::path::Path;

use proptest::prelude::{any, prop, proptest};

use super::JobFile;
use super::keys::Section;
use crate::model::{KEYS, KeyPlace};

const EXAMPLE: &str = include_str!("../../../jobs.example.toml");

/// The mistakes of `text` as a person sees them.
fn drawn(text: &str) -> String {
    JobFile::parse(Path::new("/srv/jobs.toml"), text).unwrap_err().to_string()
}

#[test]
fn lines_that_are_hard_to_show() {
    let combined = drawn("jobs.a = { command = 'e\u{301}', x = 1 }");
    assert!(combined.contains(&format!("\n  | {}^\n", " ".repeat(26))), "{combined}");
    let text = drawn("jobs.a = { command = '\u{202e}\u{9b}2J\u{200f}', x = '\u{200f}' }");
    assert!(!text.contains(['\u{9b}', '\u{202e}', '\u{200f}']), "{text}");
    let path = Path::new("/srv/\u{1b}[2J.toml");
    let error = JobFile::parse(path, "a = 1").unwrap_err().to_string();
    assert!(error.contains("/srv/\\e[2J.toml:1:1"), "{error}");
    let long =
        format!("jobs.a = {{ command = '{}', x = 1, description = '{}' }}", "x".repeat(200), "y".repeat(200));
    let shown = drawn(&long);
    let [line, carets] = [3, 4].map(|number| shown.lines().nth(number).expect("a line"));
    assert!(line.starts_with("1 | ...xxx") && line.ends_with("yyy..."), "{shown}");
    assert_eq!(carets.find('^').map(|at| &line[at..at + 5]), Some("x = 1"), "{shown}");
}

#[test]
fn large_files() {
    let text = (0..2_000).fold(String::new(), |text, n| text + &n.to_string() + " = 1\n");
    assert!(drawn(&text).ends_with("/srv/jobs.toml: 2000 mistakes"));
    let long = drawn(&format!("[jobs.a]\ncommand = '{}'\n", "x".repeat(200_000)));
    assert!(long.contains("`command`: it has 200001 bytes, and the kernel takes at most 131072"), "{long}");
}

#[test]
fn files_that_cannot_be_read() {
    // The message for the file `name`, in a folder where `jobs.toml` holds `bytes`.
    let message = |name: &str, bytes: &[u8]| {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("jobs.toml"), bytes).unwrap();
        let error = JobFile::read(&dir.path().join(name)).unwrap_err();
        error.to_string().replace(&dir.path().display().to_string(), "DIR")
    };
    assert_eq!(message("job.toml", b""), "there is no job file DIR/job.toml");
    assert_eq!(message("", b""), "cannot read the job file DIR/: Is a directory (os error 21)");
    insta::assert_snapshot!(message("jobs.toml", b"[jobs.a]\ncommand = 'caf\xe9'\n"), @"
    the job file cannot be used

    error: the file is not UTF-8 text
     --> DIR/jobs.toml:2:15
      |
    2 | command = 'caf�'
      |               ^
      |
      = hint: save it as UTF-8

    DIR/jobs.toml: 1 mistake
    ");
}

#[test]
fn the_docs_have_every_key() {
    let page = include_str!("../../../docs/job-file.md");
    let keys = page.lines().filter_map(|line| line.split_once(" | ")).map(|(first, _)| first);
    let table: String = keys.filter(|first| first.starts_with('`')).collect();
    let outside_of_defaults = page.split("`[defaults]` may hold every key of a job but ").nth(1).unwrap();
    let outside_of_defaults = outside_of_defaults.split(". ").next().unwrap();
    for key in KEYS {
        let named = format!("`{}`", key.name);
        assert!(table.contains(&named), "docs/job-file.md has no row for {named}");
        assert_eq!(outside_of_defaults.contains(&named), key.place == KeyPlace::Job, "{named} in [defaults]");
    }
}

#[test]
fn every_key_that_is_allowed_is_read() {
    for (place, header) in [
        (Section::Defaults, "[defaults]"),
        (Section::Job, "[jobs.a]"),
        (Section::Backoff, "[jobs.a.backoff]"),
        (Section::Queue, "[queues.a]"),
    ] {
        for key in place.keys() {
            let mistakes = drawn(&format!("{header}\n{key} = 1979-05-27\n"));
            assert!(mistakes.contains("a date or time") || mistakes.contains("has no `"), "{mistakes}");
        }
    }
}

proptest! {
    #[test]
    fn no_file_panics(
        noise in "(\\PC|\n|\t|\r|\u{0}|\\[|\\]|=|\"|jobs|\\.){0,80}",
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, "[-\\[\\]{}=\"'.#\n\t0-9A-Za-z_*é]{0,6}"), 1..6),
    ) {
        let mut edited = EXAMPLE.to_owned();
        for (place, removed, added) in edits {
            let start = edited.floor_char_boundary(place.index(edited.len()));
            let end = edited.ceil_char_boundary((start + removed).min(edited.len()));
            edited.replace_range(start..end, &added);
        }
        for text in [noise, edited] {
            let _ = JobFile::parse(Path::new("/srv/jobs.toml"), &text).map_err(|it| it.to_string());
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        let _ = JobFile::read(file.path()).map_err(|it| it.to_string());
    }
}
