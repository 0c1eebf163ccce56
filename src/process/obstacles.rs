//! What keeps a job from starting on this machine, looked up before anything is started.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::job_files::read_env_file;
use super::spawn::{directory_fault, program_fault};
use crate::model::{Bytes, Command, JobDefinition, SpawnFailure};

/// Each thing that is missing here: the folder, the program, a file of variables. What this process may not enter, execute or
/// read is missing, too. With a launcher neither folder nor program is looked at, because they may be those of another machine.
///
/// A program that is no path is looked for only with `in_path`, because the PATH of whoever calls may not be the one that the job
/// gets. This looks at files, so it waits for a network share that hangs.
pub fn obstacles(definition: &JobDefinition, in_path: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut variables = definition.env.clone();
    for file in &definition.env_file {
        match read_env_file(file) {
            Ok(read) => {
                let own: Vec<_> =
                    read.into_iter().filter(|(name, _)| !variables.contains_key(name)).collect();
                variables.extend(own);
            }
            Err(unusable) => found.push(unusable.message),
        }
    }
    if !definition.launcher.is_empty() {
        return found;
    }
    let cwd = Path::new(definition.cwd.as_os_str());
    let fault = directory_fault(cwd);
    let is_there = fault.is_none();
    found.extend(fault.map(|(_, message)| message));
    let program = match &definition.command {
        Command::Argv(words) => words.first().map(|word| word.as_os_str().to_owned()),
        Command::Shell(line) => first_path(&line.to_text()).map(Into::into),
    };
    let path = variables.get(&Bytes::from("PATH"));
    // A relative one is looked for in the folder.
    let is_sought = |program: &OsString| {
        let is_path = program.as_bytes().contains(&b'/');
        (in_path || is_path) && (is_there || program.as_bytes().starts_with(b"/"))
    };
    found.extend(program.filter(is_sought).and_then(|program| program_obstacle(&program, cwd, path)));
    found
}

/// The first word of a line, if it is a path that the shell takes as it stands.
fn first_path(line: &str) -> Option<String> {
    let word =
        line.split([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')']).find(|word| !word.is_empty())?;
    let below_home = word.strip_prefix("~/");
    let is_plain = |c: char| c.is_alphanumeric() || "_-./+:@%,".contains(c);
    if !below_home.unwrap_or(word).chars().all(is_plain) || !word.contains('/') {
        return None;
    }
    match below_home {
        Some(rest) => Some(format!("{}/{rest}", env::var("HOME").ok()?)),
        None => Some(word.to_owned()),
    }
}

fn program_obstacle(program: &OsStr, cwd: &Path, own_path: Option<&Bytes>) -> Option<String> {
    let (failure, message) = program_fault(program, cwd, own_path)?;
    let is_sought_in_path = failure == Some(SpawnFailure::NotFound) && !program.as_bytes().contains(&b'/');
    Some(if is_sought_in_path {
        format!("no such program in PATH: {}", program.to_string_lossy())
    } else {
        message
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_of_a_line_counts_if_it_is_a_path() {
        for (line, path) in [
            ("/srv/backup.sh -v", Some("/srv/backup.sh")),
            ("  ./a;b", Some("./a")),
            ("bin/a&&b", Some("bin/a")),
            ("(/srv/a)", Some("/srv/a")),
            ("tar -xf /srv/a", None),
            ("PATH=/srv a", None),
            ("\"/srv/a b\"", None),
            ("$HOME/bin/a", None),
            ("/srv/*/a", None),
            ("[ -x /srv/a ] && /srv/a", None),
            ("", None),
        ] {
            assert_eq!(first_path(line).as_deref(), path, "{line}");
        }
    }
}
