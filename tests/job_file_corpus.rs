//! `check` of each `tests/jobfile/NAME.toml` gives `NAME.expected`: the meaning of the file, or every mistake in it.
//!
//! `REWRITE=1 cargo test --test it job_file_corpus` writes what is found; read the difference before you commit it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use runner::jobfile::JobFile;
use runner::model::{KEYS, KeyPlace};

/// The definitions of the jobs as they are stored, and what else the file says; or the mistakes as a person sees them.
fn outcome(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a job file");
    let name = path.file_name().expect("a name");
    let file = match JobFile::parse(&Path::new("/srv").join(name), &text) {
        Ok(file) => file,
        Err(mistakes) => return with_short_lists(&format!("{mistakes}\n")),
    };
    let mut found = String::new();
    for job in &file.jobs {
        let definition = serde_json::to_string(&job.definition).expect("JSON");
        let _ = writeln!(found, "{definition}");
        let _ = writeln!(found, "    at most {} attempts", job.definition.policy.max_attempts());
        if !job.after.is_empty() {
            let _ = writeln!(found, "    after {}", job.after.join(", "));
        }
        if !job.after_any.is_empty() {
            let _ = writeln!(found, "    after any {}", job.after_any.join(", "));
        }
        if let Some(schedule) = &job.schedule {
            let _ = writeln!(found, "    {schedule:?}");
        }
        if let Some(description) = &job.description {
            let _ = writeln!(found, "    {description:?}");
        }
    }
    for (queue, limits) in &file.queues {
        let _ = writeln!(found, "queue {queue}: {limits}");
    }
    found
}

/// The message with a word in the place of each list of all keys of a job or of `[defaults]`, so that a new key does not
/// change what is written here.
fn with_short_lists(message: &str) -> String {
    let list = |keys: Vec<&str>| keys.join(", ");
    let of_job = list(KEYS.iter().map(|key| key.name).collect());
    let shared = KEYS.iter().filter(|key| key.place == KeyPlace::Shared);
    let of_defaults = list(shared.map(|key| key.name).collect());
    let mut parts = message.split("  = allowed: ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // The lines of a list that go on begin below its first word.
        let end = part.match_indices('\n').find(|(at, _)| !part[at + 1..].starts_with("             "));
        let (allowed, rest) = part.split_at(end.map_or(part.len(), |(at, _)| at));
        let words = match allowed.split_whitespace().collect::<Vec<_>>().join(" ") {
            words if words == of_job => "<every key of a job>".to_owned(),
            words if words == of_defaults => "<every key of [defaults]>".to_owned(),
            _ => allowed.to_owned(),
        };
        let _ = write!(text, "  = allowed: {words}{rest}");
    }
    text
}

#[test]
fn every_file_means_what_is_written_beside_it() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/jobfile");
    let mut differences = Vec::new();
    let entries = fs::read_dir(&folder).expect("the corpus").map(|entry| entry.expect("an entry").path());
    let files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    assert!(files.len() > 40, "the corpus has {} files", files.len());
    for path in files {
        let expected = path.with_extension("expected");
        let found = outcome(&path);
        if env::var_os("REWRITE").is_some() {
            fs::write(&expected, found).expect("a written file");
        } else if fs::read_to_string(&expected).ok().as_ref() != Some(&found) {
            differences.push(format!("{} differs; found:\n{found}", expected.display()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
