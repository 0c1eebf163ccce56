//! The README: every console block is run, and shows what is really printed; every command in it is one.

use std::env;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::support::{Sandbox, redacted};

/// Stands before a block whose folder and database are new; the blocks after it go on there.
const NEW_FOLDER: &str = "<!-- in a new folder -->";

/// Stands before the block that `examples/main-job.sh` prints, which a test of its own looks at.
const MAIN_JOB: &str = "This is what it prints:";

/// What a reader sees in place of the temporary folder.
const HOME: &str = "/home/me";

fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(home().join("README.md")).expect("a README")
}

/// The fenced blocks: the last words before each, its language, and its text.
fn blocks(text: &str) -> Vec<(&str, &str, &str)> {
    let parts: Vec<&str> = text.split("```").collect();
    let fenced = parts.chunks_exact(2).map(|pair| {
        let (language, block) = pair[1].split_once('\n').expect("a fence of its own line");
        let before = pair[0].trim_end().lines().next_back().unwrap_or_default();
        (before, language, block)
    });
    fenced.collect()
}

/// `PATH` with the program that is tested in front.
fn path() -> OsString {
    let mut path = Path::new(env!("CARGO_BIN_EXE_runner")).parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap());
    path
}

/// What a shell prints for a line, in the folder `demo` of somebody's home.
fn printed(sandbox: &Sandbox, line: &str) -> String {
    let call = sandbox.program("sh").env("PATH", path()).env_remove("RUNNER_DB").dir(sandbox.path("demo"));
    let ran = call.arg("-c").arg(format!("exec 2>&1\n{line}")).run();
    ran.stdout.replace(&sandbox.dir().display().to_string(), HOME)
}

/// A block as it is printed: each line after `$ `, and what it prints.
fn run(sandbox: &Sandbox, block: &str) -> String {
    let mut shown = String::new();
    for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let output = printed(sandbox, line);
        let _ = writeln!(shown, "$ {line}\n{}", output.trim_end());
    }
    shown.replace("\n\n$ ", "\n$ ")
}

#[test]
fn every_console_block_shows_what_is_printed() {
    let text = readme();
    let mut now = text.clone();
    let mut sandbox = Sandbox::empty();
    for (before, _, block) in blocks(&text).into_iter().filter(|(_, language, _)| *language == "console") {
        if before.starts_with(MAIN_JOB) || before.ends_with(MAIN_JOB) {
            continue;
        }
        if before == NEW_FOLDER {
            sandbox = Sandbox::empty();
            sandbox.write("demo/.keep", "");
        }
        now = now
            .replace(&format!("```console\n{block}```"), &format!("```console\n{}```", run(&sandbox, block)));
    }
    if env::var_os("UPDATE_README").is_some() {
        fs::write(home().join("README.md"), now).expect("the README can be written");
        return;
    }
    for (shown, printed) in redacted(&text).lines().zip(redacted(&now).lines()) {
        assert_eq!(shown, printed, "UPDATE_README=1 cargo test readme writes what is printed");
    }
    assert_eq!(text.lines().count(), now.lines().count());
}

/// Is this a command line that `runner` understands?
#[track_caller]
fn is_understood(sandbox: &Sandbox, line: &str) {
    let end = line.find(" -- ").unwrap_or(line.len());
    let ran =
        sandbox.program("sh").env("PATH", path()).arg("-c").arg(format!("{} --help", &line[..end])).run();
    assert!(ran.ended_well() && ran.stdout.contains("Usage: runner"), "{line}: {ran}");
}

/// From each `runner` that begins a command up to what ends it for a shell.
fn commands(text: &str) -> Vec<String> {
    let pattern = r"(?m)(?:^|\(|\| |\* +|@reboot +)(runner [^|#><;&)\n]+)";
    let text = text.replace("$(date +\\%F)", "today");
    let found = Regex::new(pattern).expect("a pattern");
    found.captures_iter(&text).map(|found| found[1].trim_end().to_owned()).collect()
}

#[test]
fn every_command_of_the_readme_is_one() {
    let sandbox = Sandbox::empty();
    let text = readme();
    let mut seen = 0;
    for (_, language, block) in blocks(&text) {
        if matches!(language, "sh" | "crontab") {
            for command in commands(block) {
                is_understood(&sandbox, &command);
                seen += 1;
            }
        }
    }
    let outside: String = text.split("```").step_by(2).collect();
    let spans =
        outside.split('`').skip(1).step_by(2).filter(|span| span.contains("runner ") && !span.contains('\n'));
    for command in spans.flat_map(commands) {
        is_understood(&sandbox, &command.replace(" ID", " 7").replace(" FILE", " file"));
        seen += 1;
    }
    assert!(seen > 15, "only {seen} commands were found");
}

#[test]
fn the_defaults_of_the_readme_are_those_of_the_program() {
    let text = readme();
    let (_, table) = text.split_once("| | default |").expect("a table of defaults");
    let sandbox = Sandbox::new("[jobs.plain]\ncommand = 'true'\n");
    let plan = sandbox.run("check").ok().stdout;
    for word in ["  limits ", "  retries "] {
        let words = plan.lines().find_map(|line| line.strip_prefix(word)).expect("a line of the plan").trim();
        assert!(table.contains(words), "{words}");
    }
    let help = sandbox.run("work --help").ok().stdout;
    let shutdown = help.split("--shutdown-timeout").nth(1).expect("an option");
    let shutdown = shutdown.split("[default: ").nth(1).and_then(|rest| rest.split(']').next());
    let row = format!("| `--shutdown-timeout` of `work` | {} ", shutdown.expect("a default"));
    assert!(table.contains(&row), "{row}");
    sandbox.add_line("", "head -c 70000 /dev/zero; head -c 1 /dev/zero >&2");
    sandbox.drain();
    let attempt = sandbox.attempt(1, 1);
    assert!(table.contains("64KiB of each stream"));
    assert_eq!(attempt["stdout_omitted_bytes"], 70_000 - (64 << 10));
}

#[test]
fn every_job_file_of_the_readme_holds() {
    let text = readme();
    let files: Vec<_> = blocks(&text).into_iter().filter(|(_, language, _)| *language == "toml").collect();
    assert!(!files.is_empty());
    for (_, _, file) in files {
        Sandbox::new(file).run("check").ok();
    }
}

#[test]
fn what_the_readme_links_to_is_there() {
    let text = readme();
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let tests = text.split('`').filter(|span| span.starts_with("tests/") || span.starts_with("src/"));
    for path in links.chain(tests).filter(|path| !path.starts_with("https:")) {
        let is_there = match path.strip_prefix('#') {
            Some(section) => text.lines().any(|line| {
                line.starts_with('#')
                    && line.trim_matches(['#', ' ']).to_lowercase().replace(' ', "-") == section
            }),
            None => home().join(path).exists(),
        };
        assert!(is_there, "{path}");
    }
}
