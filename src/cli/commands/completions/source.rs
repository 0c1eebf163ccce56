//! The words that are typed already, and the files that they mean.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ColorChoice;

use crate::cli::args::Global;
use crate::cli::locate;
use crate::jobfile::JobFile;
use crate::store::Store;

/// What is asked when words are looked for. Anything that cannot be had is as if it were empty.
#[derive(Debug)]
pub(super) struct Source {
    words: Vec<OsString>,
    global: Global,
}

impl Source {
    /// Of the command line as far as it is typed.
    pub fn of(words: &[OsString]) -> Self {
        let global = Global {
            db: value_of("--db", words),
            file: value_of("--file", words),
            json: false,
            quiet: true,
            utc: false,
            color: ColorChoice::Never,
        };
        Self { words: words.to_vec(), global }
    }

    /// Is this word typed?
    pub fn says(&self, word: &str) -> bool {
        self.words.iter().any(|typed| typed == word)
    }

    /// The job file.
    pub fn job_file(&self) -> Option<JobFile> {
        locate::job_file(&self.global).ok()
    }

    /// The database.
    pub fn store(&self) -> Option<Store> {
        locate::open_if_there(&self.global).ok().flatten()
    }
}

/// The path that is given to an option. bash takes `--db=x` apart into three words.
fn value_of(option: &str, words: &[OsString]) -> Option<PathBuf> {
    let with_value = format!("{option}=");
    let at =
        words.iter().position(|word| word == option || word.to_string_lossy().starts_with(&with_value))?;
    let path = match words[at].to_str().and_then(|word| word.strip_prefix(&with_value)) {
        Some(path) => Path::new(path),
        None => Path::new(words[at + 1..].iter().find(|word| *word != "=")?),
    };
    Some(match (path.strip_prefix("~"), env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_among_the_words() {
        let find = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            value_of("--db", &words).map(|path| path.display().to_string())
        };
        for line in ["runner --db a/b cancel", "runner cancel --db=a/b", "runner --db = a/b cancel "] {
            assert_eq!(find(line).as_deref(), Some("a/b"), "{line}");
        }
        for line in ["runner cancel", "runner cancel --db", "runner --dbs x"] {
            assert_eq!(find(line), None, "{line}");
        }
        let home = env::var("HOME").unwrap_or_default();
        assert_eq!(find("runner --db ~/x cancel"), Some(format!("{home}/x")));
    }
}
