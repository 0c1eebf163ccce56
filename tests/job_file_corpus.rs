//! `check` of each `tests/jobfile/NAME.toml` gives `NAME.expected`: the meaning of the file, or every mistake in it.
//!
//! `REWRITE=1 cargo test --test it job_file_corpus` writes what is found; read the difference before you commit it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use runner::jobfile::JobFile;

/// The definitions of the jobs as they are stored, and what else the file says; or the mistakes as a person sees them.
fn outcome(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a job file");
    let name = path.file_name().expect("a name");
    let file = match JobFile::parse(&Path::new("/srv").join(name), &text) {
        Ok(file) => file,
        Err(mistakes) => return format!("{mistakes}\n"),
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
