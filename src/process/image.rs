//! What exec takes, made before there is a child: that one may allocate nothing.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::LazyLock;

use crate::model::{Bytes, Command};

use super::Launch;

/// The worker's own environment as it was when it was first needed: the name of each variable, and its whole entry.
static WORKERS: LazyLock<BTreeMap<Bytes, CString>> = LazyLock::new(|| {
    let variables = std::env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
    let entries = variables.filter_map(|(name, value)| {
        let entry = CString::new([&name[..], b"=", &value].concat()).ok()?;
        Some((Bytes(name), entry))
    });
    entries.collect()
});

/// What exec takes.
#[derive(Debug)]
pub(super) struct Image<'a> {
    /// Where the program may be: to be tried one after the other.
    pub programs: &'a [&'a CStr],
    pub arguments: &'a [&'a CStr],
    pub variables: &'a [&'a CStr],
    pub directory: &'a CStr,
}

/// Lets `act` have what this launch gives to exec. Fails where a string of it holds a NUL.
pub(super) fn with_image<T>(
    launch: &Launch<'_>,
    act: impl FnOnce(&Image<'_>) -> io::Result<T>,
) -> io::Result<T> {
    let mut strings = Strings::default();
    strings.push(&[&launch.spec.cwd.0]);
    push_programs(launch, &mut strings);
    let programs = strings.ends.len();
    push_arguments(launch, &mut strings);
    let arguments = strings.ends.len();
    let unchanged = push_variables(launch, &mut strings);
    let mut all = strings.each()?;
    all.extend(unchanged);
    act(&Image {
        directory: all[0],
        programs: &all[1..programs],
        arguments: &all[programs..arguments],
        variables: &all[arguments..],
    })
}

/// A program without a slash is looked for in the job's own `PATH`; an empty folder there is the job's directory.
fn push_programs(launch: &Launch<'_>, strings: &mut Strings) {
    let program = launch.program().as_bytes();
    if program.is_empty() {
        return; // nothing to try: there is no such program
    }
    if program.contains(&b'/') {
        return strings.push(&[program]);
    }
    let path = launch.path();
    let path = path.as_deref().map_or(&b"/bin:/usr/bin"[..], OsStr::as_bytes);
    for folder in path.split(|byte| *byte == b':') {
        let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
        strings.push(&[folder, slash, program]);
    }
}

fn push_arguments(launch: &Launch<'_>, strings: &mut Strings) {
    match &launch.spec.command {
        Command::Shell(line) => {
            // What follows the line is $0, then $1 and so on.
            strings.push(&[b"/bin/sh"]);
            strings.push(&[b"-c"]);
            if launch.looks_like_an_option() {
                strings.push(&[b"--"]);
            }
            strings.push(&[&line.0]);
            strings.push(&[b"sh"]);
        }
        Command::Argv(argv) => argv.iter().for_each(|argument| strings.push(&[&argument.0])),
    }
    launch.args.iter().for_each(|argument| strings.push(&[&argument.0]));
}

/// Pushes what is laid over the worker's environment, each name once; returns what stays of that environment.
fn push_variables(launch: &Launch<'_>, strings: &mut Strings) -> Vec<&'static CStr> {
    let env = &launch.spec.env;
    let mark = launch.mark.variables();
    let report = ("RUNNER_REPORT".as_bytes(), launch.report.as_os_str().as_bytes());
    let mark = mark.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let vars = launch.vars.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let mut set: Vec<&[u8]> = Vec::with_capacity(16);
    // What counts more comes first.
    for (name, value) in [report].into_iter().chain(mark).chain(vars.rev()) {
        if !set.contains(&name) {
            set.push(name);
            strings.push(&[name, b"=", value]);
        }
    }
    for (name, value) in env.iter().filter(|(name, _)| !set.contains(&&name.0[..])) {
        strings.push(&[&name.0, b"=", &value.0]);
    }
    let stays = |name: &Bytes| !env.contains_key(name) && !set.contains(&&name.0[..]);
    WORKERS.iter().filter(|(name, _)| stays(name)).map(|(_, entry)| entry.as_c_str()).collect()
}

/// Strings that end with a NUL, in one piece of memory.
#[derive(Debug, Default)]
struct Strings {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    fn push(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.text.extend_from_slice(part);
        }
        self.text.push(0);
        self.ends.push(self.text.len());
    }

    fn each(&self) -> io::Result<Vec<&CStr>> {
        let mut start = 0;
        let string = |end: &usize| {
            let bytes = &self.text[start..*end];
            start = *end;
            CStr::from_bytes_with_nul(bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
        };
        self.ends.iter().map(string).collect()
    }
}
