//! What is printed for other programs to read: the manual page, the schema of the job file, help.

use std::path::Path;

use crate::support::{Sandbox, Value};

/// The verbs, as the help lists them.
fn verbs(sandbox: &Sandbox) -> Vec<String> {
    let help = sandbox.run("--help").ok().stdout;
    let list = help.split_once("Commands:\n").and_then(|(_, rest)| rest.split_once("\n\n")).expect("verbs").0;
    let first = |line: &str| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned);
    let verbs: Vec<String> =
        list.lines().filter_map(first).filter(|verb| !verb.is_empty() && verb != "help").collect();
    assert!(verbs.len() >= 17, "{verbs:?}");
    verbs
}

/// The long options that the help of a verb names.
fn options(help: &str) -> Vec<String> {
    let long = |line: &str| {
        let line = line.trim_start();
        let rest = if line.starts_with('-') { line.split_once("--")?.1 } else { return None };
        Some(rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect::<String>())
    };
    help.lines().filter_map(long).filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_help_has_examples() {
    let sandbox = Sandbox::empty();
    sandbox.run("--help").ok().quietly().shows("\nExamples:\n");
    sandbox.run("--version").ok().shows("runner ");
    for verb in verbs(&sandbox) {
        let help = sandbox.run(&format!("{verb} --help")).ok().quietly();
        let (_, examples) = help.stdout.split_once("\nExamples:\n").unwrap_or_else(|| panic!("none: {help}"));
        assert!(examples.contains(&format!("runner {verb}")), "{help}");
    }
}

#[test]
fn the_manual_page_has_every_verb_and_option() {
    let sandbox = Sandbox::empty();
    let page = sandbox.run("man").ok().quietly().stdout;
    assert!(page.lines().any(|line| line.starts_with(".TH RUNNER 1 ")), "{page}");
    let read = page.replace(r"\-", "-").replace(r"\fB", "").replace(r"\fI", "").replace(r"\fR", "");
    let everywhere = options(&sandbox.run("--help").ok().stdout);
    let general = read.split_once("\n.SH OPTIONS\n").unwrap().1.split("\n.S").next().unwrap();
    for verb in verbs(&sandbox) {
        assert!(read.contains(&format!("\n.SS {verb}\n")), "{verb}");
        let section = read.split_once(&format!("\n.SS {verb}\n")).unwrap().1;
        let section = section.split("\n.S").next().unwrap();
        assert!(section.contains("\nExamples:\n"), "{verb}");
        for option in options(&sandbox.run(&format!("{verb} --help")).ok().stdout) {
            let place = if everywhere.contains(&option) { general } else { section };
            assert!(place.contains(&format!("--{option}")), "{verb} --{option}");
        }
    }
    for section in ["NAME", "SYNOPSIS", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES"] {
        assert!(
            read.contains(&format!("\n.SH {section}\n")) || read.contains(&format!(".SH \"{section}\"\n"))
        );
    }
}

#[test]
fn a_line_of_the_manual_page_is_a_request_only_if_it_is_meant() {
    const REQUESTS: [&str; 13] =
        [".TH", ".SH", ".SS", ".PP", ".TP", ".EX", ".EE", ".ie", ".el", ".br", ".RS", ".RE", ".IP"];
    let page = Sandbox::empty().run("man").ok().stdout;
    for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
        let request = line.split(' ').next().unwrap();
        assert!(REQUESTS.contains(&request), "{line}");
    }
    assert!(page.is_ascii(), "groff would need to be told the encoding");
}

#[test]
fn the_schema_is_the_file_beside_the_example() {
    let sandbox = Sandbox::empty();
    let printed = sandbox.run("schema").ok().quietly();
    assert_eq!(printed.stdout, include_str!("../jobs.schema.json"));
    let schema: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn init_says_how_to_get_the_schema_that_its_file_names() {
    let sandbox = Sandbox::empty();
    sandbox.write("folder/file", "");
    let said = sandbox.run("init --file folder/x.toml").ok().stdout;
    let line = said.lines().find_map(|line| line.split_once(": runner schema > ")).expect("a line").1;
    assert_eq!(line, "folder/jobs.schema.json");
    let first = sandbox.read("folder/x.toml").lines().next().map(str::to_owned);
    assert_eq!(first.as_deref(), Some("#:schema ./jobs.schema.json"));
    sandbox.run("check folder/x.toml").ok();
    sandbox.run("init -q --file y.toml").ok().prints("");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let sandbox = Sandbox::empty();
    for verb in ["man", "schema", "completions bash"] {
        let line = format!("'{}' {verb} | true", Path::new(env!("CARGO_BIN_EXE_runner")).display());
        sandbox.program("sh").arg("-c").arg(&line).run().ok().quietly();
    }
}

#[test]
fn quiet_is_silent_on_success_whatever_form_is_asked_for() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\n");
    for line in [
        "enqueue a",
        "enqueue --dry-run a",
        "retry 1 --now",
        "cancel 1",
        "retry 1",
        "check",
        "pause default",
        "resume default",
        "work --drain",
        "prune --older-than 1h",
        "prune --dry-run",
        "backup copy.db",
    ] {
        sandbox.run(&format!("-q --json {line}")).ok().prints("").quietly();
    }
}
