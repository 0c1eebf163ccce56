//! Which job file is meant, where nobody says it in full.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::diagnostics::JobFileError;

/// The name of a job file that is searched.
pub const FILE_NAME: &str = "jobs.toml";

/// The job file to read: `explicit`, else `$RUNNER_FILE`, else the nearest `jobs.toml` from `current_dir` upwards, else
/// `$XDG_CONFIG_HOME/runner/jobs.toml`.
///
/// A file that is named is not looked for: that it is missing is said when it is read. The error says where this looked.
pub fn locate(
    explicit: Option<&Path>,
    env: &dyn Fn(&str) -> Option<OsString>,
    current_dir: &Path,
) -> Result<PathBuf, JobFileError> {
    let env = |name| env(name).filter(|value| !value.is_empty());
    if let Some(named) = explicit.map(PathBuf::from).or_else(|| env("RUNNER_FILE").map(PathBuf::from)) {
        return Ok(current_dir.join(named));
    }
    let upwards = current_dir.ancestors().map(|dir| dir.join(FILE_NAME));
    // The XDG base directory specification wants relative paths to be ignored.
    let absolute = |name| env(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let of_user = absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))
        .map(|config| config.join("runner").join(FILE_NAME));
    upwards
        .chain(of_user.clone())
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| JobFileError::Nowhere { upwards_from: current_dir.to_owned(), of_user })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Machine {
        root: tempfile::TempDir,
        env: Vec<(&'static str, OsString)>,
    }

    impl Machine {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            for dir in ["home/.config/runner", "project/deep/down", "xdg/runner"] {
                fs::create_dir_all(root.path().join(dir)).unwrap();
            }
            let home = root.path().join("home").into_os_string();
            Self { root, env: vec![("HOME", home)] }
        }

        fn write(&self, path: &str) -> PathBuf {
            let path = self.root.path().join(path);
            fs::write(&path, "").unwrap();
            path
        }

        fn locate(&self, explicit: Option<&str>) -> Result<PathBuf, JobFileError> {
            let env = |name: &str| {
                let found = self.env.iter().find(|(key, _)| *key == name)?;
                Some(found.1.clone())
            };
            let current = self.root.path().join("project/deep/down");
            locate(explicit.map(Path::new), &env, &current)
        }
    }

    #[test]
    fn the_nearer_file_wins() {
        let mut machine = Machine::new();
        let of_user = machine.write("home/.config/runner/jobs.toml");
        assert_eq!(machine.locate(None).unwrap(), of_user);
        let xdg = machine.write("xdg/runner/jobs.toml");
        let config = machine.root.path().join("xdg").into_os_string();
        machine.env.push(("XDG_CONFIG_HOME", config));
        assert_eq!(machine.locate(None).unwrap(), xdg);
        let project = machine.write("project/jobs.toml");
        assert_eq!(machine.locate(None).unwrap(), project);
        let down = machine.root.path().join("project/deep/down");
        fs::create_dir(down.join("jobs.toml")).unwrap();
        assert_eq!(machine.locate(None).unwrap(), project);
        machine.env.push(("RUNNER_FILE", "/named/elsewhere".into()));
        let named = machine.locate(None).unwrap();
        assert_eq!(named, Path::new("/named/elsewhere"));
        let explicit = machine.locate(Some("my.toml")).unwrap();
        assert_eq!(explicit, down.join("my.toml"));
    }

    #[test]
    fn where_nothing_is_found_it_says_where_it_looked() {
        let mut machine = Machine::new();
        machine.env.push(("RUNNER_FILE", OsString::new()));
        machine.env.push(("XDG_CONFIG_HOME", "relative".into()));
        let root = machine.root.path().display().to_string();
        let error = machine.locate(None).unwrap_err().to_string();
        insta::assert_snapshot!(error.replace(&root, "ROOT"), @r"
        there is no job file: looked for jobs.toml in ROOT/project/deep/down and every directory above it, and for ROOT/home/.config/runner/jobs.toml
        ");
    }
}
