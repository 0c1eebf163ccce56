//! The folders by which two projects that have jobs of one name are told apart on a screen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::text::{counted, safe_line};

/// A sentence names at most this many folders.
const MAX_LISTED: usize = 3;

/// The job files that the jobs of each name on a screen come from.
#[derive(Default)]
pub struct FilesOfNames<'a>(BTreeMap<&'a str, BTreeSet<Option<&'a str>>>);

impl<'a> FilesOfNames<'a> {
    /// Takes the name and the job file of each row; none is the file of an ad hoc job, or unknown.
    pub fn of(rows: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        let mut files = Self::default();
        for (name, file) in rows {
            files.0.entry(name).or_default().insert(file);
        }
        files
    }

    /// Like [`Self::of`], without the rows that have no file. [`Self::file`] gives those the only file of their name.
    pub fn of_known(rows: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        Self::of(rows.into_iter().filter(|(_, file)| file.is_some()))
    }

    /// This file, or else the only one of the name.
    pub fn file<'f>(&self, name: &str, file: Option<&'f str>) -> Option<&'f str>
    where
        'a: 'f,
    {
        let only = || match self.0.get(name)?.iter().collect::<Vec<_>>()[..] {
            [only] => *only,
            _ => None,
        };
        file.or_else(only)
    }

    /// The folder of this file if the name has jobs of others, too; none if it has not.
    pub fn folder(&self, name: &str, file: Option<&str>) -> Option<String> {
        let files = self.0.get(name).filter(|files| files.len() > 1)?;
        let others = files.iter().flatten().copied();
        Some(file.map_or_else(|| "folder unknown".to_owned(), |file| folder_among(file, others)))
    }
}

/// The folder of a job file, or its whole path if another of these files lies there, too.
pub fn folder_among<'a>(file: &str, mut files: impl Iterator<Item = &'a str>) -> String {
    let is_beside = |other: &str| other != file && Path::new(other).parent() == Path::new(file).parent();
    if files.any(is_beside) { safe_line(file) } else { folder_of(file) }
}

/// Says of which folder these jobs of a name are, and which others have jobs of this name: `meant` are their files, `others` those of
/// the other jobs.
pub fn which_text(name: &str, jobs: &[i64], meant: &[&str], others: &[&str]) -> String {
    let folders = |files: &[&str]| {
        let all = || meant.iter().chain(others).copied();
        files.iter().map(|file| folder_among(file, all())).collect::<Vec<_>>()
    };
    let who = match jobs {
        [id] => format!("job {id} {name} is that of"),
        jobs => format!("the {} of the name {name} are those of", counted(jobs.len(), "job")),
    };
    let which = if meant.is_empty() { "no known job file".to_owned() } else { listed(&folders(meant)) };
    let have = if others.len() == 1 { "has" } else { "have" };
    match others {
        [] => format!("{who} {which}"),
        others => format!("{who} {which}; {} {have} jobs of this name, too", listed(&folders(others))),
    }
}

/// Says which folders have jobs of a name that is to select all of them.
pub fn all_text(name: &str, files: &[String]) -> String {
    let all = || files.iter().map(String::as_str);
    let folders: Vec<String> = all().map(|file| folder_among(file, all())).collect();
    format!("the name {name} selects the jobs of {}", listed(&folders))
}

/// `/srv/a, /srv/b and /srv/c`, or of more than [`MAX_LISTED`] the first.
fn listed(folders: &[String]) -> String {
    match folders {
        [one] => one.clone(),
        folders if folders.len() > MAX_LISTED => {
            format!("{} and {} more", folders[..MAX_LISTED].join(", "), folders.len() - MAX_LISTED)
        }
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
        [] => String::new(),
    }
}

/// The folder of a job file, for a screen on which several files declare one name.
pub(super) fn folder_of(file: &str) -> String {
    let file = Path::new(file);
    safe_line(&file.parent().unwrap_or(file).to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_of_several_files_has_a_folder() {
        let files = FilesOfNames::of([
            ("a", Some("/x/jobs.toml")),
            ("a", Some("/y/jobs.toml")),
            ("a", Some("/y/more.toml")),
            ("b", Some("/x/jobs.toml")),
            ("b", None),
            ("c", Some("/x/jobs.toml")),
            ("c", Some("/x/jobs.toml")),
        ]);
        let folder = |name, file| files.folder(name, file);
        assert_eq!(folder("a", Some("/x/jobs.toml")).as_deref(), Some("/x"));
        assert_eq!(folder("a", Some("/y/more.toml")).as_deref(), Some("/y/more.toml"));
        assert_eq!(folder("b", Some("/x/jobs.toml")).as_deref(), Some("/x"));
        assert_eq!(folder("b", None).as_deref(), Some("folder unknown"));
        assert_eq!(folder("c", Some("/x/jobs.toml")), None);
    }

    #[test]
    fn which_jobs_are_meant() {
        let [x, y, more, z, last] =
            ["/x/jobs.toml", "/y/jobs.toml", "/y/more.toml", "/z/jobs.toml", "/last/jobs.toml"];
        let text = |jobs: &[i64], meant: &[&str], others: &[&str]| which_text("a", jobs, meant, others);
        assert_eq!(text(&[7], &[x], &[y]), "job 7 a is that of /x; /y has jobs of this name, too");
        assert_eq!(text(&[7, 8], &[x, y], &[]), "the 2 jobs of the name a are those of /x and /y");
        assert_eq!(
            text(&[7], &[y], &[more, x]),
            "job 7 a is that of /y/jobs.toml; /y/more.toml and /x have jobs of this name, too"
        );
        assert_eq!(
            text(&[7], &[], &[x, y]),
            "job 7 a is that of no known job file; /x and /y have jobs of this name, too"
        );
        assert_eq!(
            text(&[7, 8], &[x, z, last, y], &[]),
            "the 2 jobs of the name a are those of /x, /z, /last and 1 more"
        );
    }
}
