//! *.md and docs/*.md: each console block shows what is really printed, each command and link works.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use runner::jobfile::JobFile;
use runner::policy;

use crate::support::{Sandbox, redacted};

/// Stands before a block that starts with a new folder and database; the blocks after it go on there.
const NEW_FOLDER: &str = "<!-- in a new folder -->";

/// Begins the same line where the block needs a program that not every machine has.
const NEW_FOLDER_WITH: &str = "<!-- in a new folder with ";

/// Stands before the job file of a new folder and database, for the blocks after it.
const NEW_JOB_FILE: &str = "<!-- jobs.toml of a new folder -->";

/// Stands in place of the temporary folder.
const HOME: &str = "/home/me";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Each page with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let folders = [root().to_owned(), root().join("docs")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let paths = files.map(|entry| entry.expect("a file").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let read = |path: PathBuf| (path.clone(), fs::read_to_string(path).expect("text"));
    paths.map(read).collect()
}

/// The fenced blocks: the line before each, its language, its text.
fn blocks(text: &str) -> Vec<(&str, &str, &str)> {
    let parts: Vec<&str> = text.split("```").collect();
    let fenced = parts.chunks_exact(2).map(|pair| {
        let (language, block) = pair[1].split_once('\n').expect("a fence on its own line");
        (pair[0].trim_end().lines().next_back().unwrap_or_default(), language, block)
    });
    fenced.collect()
}

/// A console block as it is printed now: each line after `$ `, and its output.
fn printed(sandbox: &Sandbox, block: &str) -> String {
    let mut shown = String::new();
    for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let shell =
            sandbox.program("sh").with_runner_on_path().env_remove("RUNNER_DB").dir(sandbox.path("demo"));
        let output = shell.arg("-c").arg(format!("exec 2>&1\n{line}")).run().stdout;
        let output = output.replace(&sandbox.dir().display().to_string(), HOME);
        let _ = writeln!(shown, "$ {line}\n{}", output.trim_end());
    }
    shown.replace("\n\n$ ", "\n$ ")
}

#[test]
fn console_blocks_show_what_is_printed() {
    for (path, text) in pages() {
        let mut now = text.clone();
        let mut sandbox = Sandbox::empty();
        for (before, language, block) in blocks(&text) {
            if before == NEW_JOB_FILE {
                sandbox = Sandbox::empty();
                sandbox.write("demo/jobs.toml", block);
            }
            if language != "console" {
                continue;
            }
            let program = before.strip_prefix(NEW_FOLDER_WITH).and_then(|rest| rest.strip_suffix(" -->"));
            if before == NEW_FOLDER || program.is_some() {
                sandbox = Sandbox::empty();
                sandbox.write("demo/.keep", "");
            }
            if let Some(program) = program
                && !sandbox.program("which").arg(program).run().ended_well()
            {
                eprintln!("{}: no {program} here, so its example was not tried", path.display());
                continue;
            }
            let fenced = |block: &str| format!("```console\n{block}```");
            now = now.replace(&fenced(block), &fenced(&printed(&sandbox, block)));
        }
        let (shown, now_shown) = (redacted(&text), redacted(&now));
        if shown != now_shown && env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, now).expect("the page can be written");
            continue;
        }
        for (shown, printed) in shown.lines().zip(now_shown.lines()) {
            let hint = "UPDATE_DOCS=1 cargo test --test it docs writes what is printed";
            assert_eq!(shown, printed, "{}: {hint}", path.display());
        }
        assert_eq!(shown.lines().count(), now_shown.lines().count(), "{}", path.display());
    }
}

/// From each `runner` that begins a command to the end of that command for a shell.
fn commands(text: &str) -> Vec<String> {
    let pattern =
        Regex::new(r"(?m)(?:^|\(|\| |\* +|@reboot +)(runner (?:'[^']*'|[^'|#><;&)\n])+)").expect("a pattern");
    let text = text.replace("$(date +\\%F)", "today").replace("$(date +%F)", "today");
    pattern.captures_iter(&text).map(|found| found[1].trim_end().to_owned()).collect()
}

#[test]
fn every_command_is_understood() {
    let sandbox = Sandbox::empty();
    let mut seen = std::collections::BTreeSet::new();
    for (_, text) in pages() {
        let scripts =
            blocks(&text).into_iter().filter(|(_, language, _)| matches!(*language, "sh" | "crontab"));
        seen.extend(scripts.flat_map(|(_, _, block)| commands(block)));
        let prose: String = text.split("```").step_by(2).collect();
        let spans = prose.split('`').skip(1).step_by(2).filter(|span| !span.contains('\n'));
        seen.extend(spans.flat_map(commands).map(|line| line.replace(" ID", " 7").replace(" COMMAND", "")));
    }
    assert!(seen.len() > 30, "only {} commands were found", seen.len());
    for line in seen {
        let options = line.split(" -- ").next().unwrap_or_default();
        let ran =
            sandbox.program("sh").with_runner_on_path().arg("-c").arg(format!("{options} --help")).run();
        assert!(ran.ended_well() && ran.stdout.contains("Usage: runner"), "{line}: {ran}");
    }
}

#[test]
fn the_defaults_are_those_of_the_program() {
    let page = fs::read_to_string(root().join("docs/job-file.md")).expect("a page");
    let (_, table) = page.split_once("what | default").expect("a table of defaults");
    let sandbox = Sandbox::new("[jobs.plain]\ncommand = 'head -c 70000 /dev/zero'\n");
    let plan = sandbox.run("check").ok().stdout;
    for label in ["  limits ", "  retries "] {
        let words =
            plan.lines().find_map(|line| line.strip_prefix(label)).expect("a line of the plan").trim();
        assert!(table.contains(words), "{words}");
    }
    let help = sandbox.run("work --help").ok().stdout;
    let help = help.split("--shutdown-timeout").nth(1).and_then(|rest| rest.split("[default: ").nth(1));
    let shutdown = help.and_then(|rest| rest.split(']').next()).expect("a default");
    assert!(table.contains(&format!("\n`--shutdown-timeout` of `work` | {shutdown} ")), "{shutdown}");
    sandbox.add("plain");
    sandbox.drain();
    assert!(table.contains("64KiB of each stream"));
    assert_eq!(sandbox.attempt(1, 1)["stdout_omitted_bytes"], 70_000 - (64 << 10));
}

#[test]
fn every_job_file_is_valid() {
    for (path, text) in pages() {
        for (_, _, file) in blocks(&text).into_iter().filter(|(_, language, _)| *language == "toml") {
            let ran = Sandbox::new(file).run("check");
            assert!(ran.ended_well(), "{}: {ran}", path.display());
        }
    }
}

/// What `check` notes on any machine.
#[test]
fn no_example_has_a_trap() {
    let mut files: Vec<(String, String)> = Vec::new();
    for (path, text) in pages() {
        let of_page = blocks(&text).into_iter().filter(|(_, language, _)| *language == "toml");
        files.extend(of_page.map(|(_, _, file)| (path.display().to_string(), file.to_owned())));
    }
    let folder = fs::read_dir(root().join("examples")).expect("a folder");
    let paths = folder.map(|entry| entry.expect("a file").path()).chain([root().join("jobs.example.toml")]);
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        files.push((path.display().to_string(), fs::read_to_string(&path).expect("text")));
    }
    assert!(files.len() > 10, "only {} job files were found", files.len());
    for (path, text) in files {
        let read = JobFile::parse(&root().join("jobs.toml"), &text);
        let file = read.unwrap_or_else(|why| panic!("{path}: {why}"));
        let notes: Vec<_> = file.jobs.iter().flat_map(|job| policy::notes(&job.definition)).collect();
        let found = (file.traps(None), notes, file.newer_toml);
        assert_eq!(found, (Vec::new(), Vec::new(), Vec::new()), "{path}");
    }
}

/// cron ends a command at a `%` without a backslash.
#[test]
fn no_line_for_cron_is_cut_at_a_percent_sign() {
    for (path, text) in pages() {
        let crontabs = blocks(&text).into_iter().filter(|(_, language, _)| *language == "crontab");
        let lines = crontabs.flat_map(|(_, _, block)| block.lines()).filter(|line| line.contains("runner"));
        let prose = text.split("\n\n").filter(|text| text.contains("cron line"));
        for text in lines.chain(prose) {
            assert!(!text.replace("\\%", "").contains('%'), "{}: {text}", path.display());
        }
    }
}

/// The anchor of a heading, as forges make it.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    words.chars().filter(|char| char.is_alphanumeric() || matches!(char, '-' | '_')).collect()
}

#[test]
fn links_and_named_files_exist() {
    for (page, text) in pages() {
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.starts_with("https:")) {
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { page.clone() } else { page.with_file_name("").join(file) };
            let target = fs::read_to_string(&file);
            let has =
                |section| target.iter().flat_map(|text| text.lines()).any(|line| anchor(line) == section);
            assert!(file.exists() && (section.is_empty() || has(section)), "{}: {link}", page.display());
        }
        for path in text.split('`').filter(|span| span.starts_with("tests/") || span.starts_with("src/")) {
            assert!(root().join(path).exists(), "{}: {path}", page.display());
        }
    }
}

/// The pages and what they link to lie in the Debian package as they do in the source.
#[test]
fn the_debian_package_has_what_the_pages_link_to() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let (_, assets) = manifest.split_once("\nassets = [\n").expect("a list of files");
    let (assets, _) = assets.split_once("\n]").expect("its end");
    let quoted = assets.lines().filter(|line| line.trim_start().starts_with('['));
    let packed: Vec<(&str, &str)> = quoted
        .map(|line| {
            let words: Vec<&str> = line.split('"').collect();
            (words[1], words[3])
        })
        .collect();
    let is_packed = |path: &str| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let place = format!("usr/share/doc/runner/{folder}{}", if folder.is_empty() { "" } else { "/" });
        let covers = |file: &str| match file.split_once('*') {
            Some((before, after)) => path.starts_with(before) && name.ends_with(after),
            None => file == path,
        };
        packed.iter().any(|(file, to)| covers(file) && *to == place)
    };
    for (page, text) in pages() {
        let page = page.strip_prefix(root()).expect("a page of the source").display().to_string();
        assert!(is_packed(&page), "{page}");
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.starts_with("https:")) {
            let path = match link.strip_prefix("../") {
                Some(path) => path.to_owned(),
                None if page.starts_with("docs/") => format!("docs/{link}"),
                None => link.to_owned(),
            };
            assert!(is_packed(&path), "{page}: {link}");
        }
    }
}
