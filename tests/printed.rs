//! Texts that runner prints about itself: the manual page, the schema of the job file, help.

use crate::support::{Sandbox, Value};

/// The verbs, as the manual page lists them.
fn verbs(sandbox: &Sandbox) -> Vec<String> {
    let page = sandbox.run("man").ok().stdout;
    let verbs: Vec<String> =
        page.lines().filter_map(|line| line.strip_prefix(".SS ")).map(str::to_owned).collect();
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
    let within = ["service install", "service remove"].map(str::to_owned);
    for verb in verbs(&sandbox).into_iter().chain(within) {
        let help = sandbox.run(&format!("{verb} --help")).ok().quietly();
        let (_, examples) = help.stdout.split_once("\nExamples:\n").unwrap_or_else(|| panic!("none: {help}"));
        assert!(examples.contains(&format!("runner {verb}")), "{help}");
        let examples = examples.split("\n\n").next().unwrap();
        assert!(examples.lines().all(|line| line.contains("runner")), "broken lines: {help}");
    }
}

#[test]
fn help_fits_the_screen_and_shows_the_options_of_the_verb_first() {
    const COMMON: &str = "Also --db --file --json -q --color --utc: see runner --help\n";
    let sandbox = Sandbox::empty();
    for verb in verbs(&sandbox) {
        let help = sandbox.run(&format!("{verb} --help")).ok().stdout;
        let own = help.strip_suffix(COMMON).unwrap_or_else(|| panic!("no common options: {help}"));
        assert!(options(own).iter().all(|option| option != "db" && option != "json"), "{help}");
        let lines = own.lines().count() + 1;
        let most = match verb.as_str() {
            "run" | "enqueue" | "inspect" | "change" => 40,
            _ => 24,
        };
        assert!(lines <= most, "{lines} lines: {help}");
        assert_eq!(sandbox.run(&format!("{verb} -h")).ok().stdout, help);
        assert_eq!(sandbox.run(&format!("help {verb}")).ok().stdout, help);
        for columns in [60, 80] {
            let drawn = sandbox.call(&format!("{verb} --help --color never")).at_terminal(columns).ok();
            assert!(drawn.stdout.lines().all(|line| line.chars().count() <= columns.into()), "{drawn}");
        }
    }
}

#[test]
fn without_a_verb_the_verbs_are_shown_on_one_screen() {
    let sandbox = Sandbox::empty();
    let page = sandbox.run("").exits(2).prints("").stderr;
    assert!(page.lines().count() < 24 && page.lines().all(|line| line.len() <= 60), "{page}");
    let words: Vec<&str> = page.split(|c: char| !c.is_alphanumeric()).collect();
    for verb in verbs(&sandbox) {
        assert!(words.contains(&verb.as_str()), "{verb}: {page}");
    }
    assert_eq!(sandbox.run("-h").ok().stdout, page);
    let long = sandbox.run("--help").ok().stdout;
    for option in ["--db", "--file", "--json", "--quiet", "--color", "--utc", "--version"] {
        assert!(options(&long).iter().any(|named| option.ends_with(named)), "{option}: {long}");
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
        let help = sandbox.run(&format!("{verb} --help")).ok().stdout;
        let rare =
            help.split("Less often, see the manual page:").nth(1).and_then(|rest| rest.split("\n\n").next());
        let rare = rare.unwrap_or_default().split_whitespace().map(|option| option.replacen("--", "", 1));
        for option in options(&help).into_iter().chain(rare) {
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
fn the_manual_page_has_the_exit_statuses_of_the_docs() {
    let page = Sandbox::empty().run("man").ok().stdout.replace(r"\-", "-");
    let docs =
        include_str!("../docs/reference.md").split("\n## ").find(|part| part.starts_with("Exit statuses"));
    let rows: Vec<&str> =
        docs.expect("a section").lines().filter(|line| line.contains(" | ")).skip(1).collect();
    assert!(rows.len() > 12, "{rows:?}");
    for row in rows {
        let (status, meaning) = row.split_once(" | ").expect("two columns");
        let entry = format!("\\fB{status}\\fR\n{}\n", meaning.replace('`', ""));
        assert!(page.contains(&entry), "{entry}");
    }
}

#[test]
fn the_manual_page_has_the_kinds_of_attention_of_the_docs() {
    let page = Sandbox::empty().run("man").ok().stdout;
    let section = page.split(".SH ").find(|section| section.starts_with("ATTENTION")).expect("the section");
    let (alarms, notes) = section.split_once("\nNotes:\n").expect("both parts");
    let table =
        include_str!("../docs/operating.md").split("## What needs attention").nth(1).expect("the table");
    let is_row = |line: &&str| line.starts_with('`') && line.contains(" | ");
    let rows = table.lines().skip_while(|line| !is_row(line)).take_while(is_row);
    let mut kinds = 0;
    for row in rows {
        let kind = row.split('`').nth(1).expect("a kind");
        let part = if row.ends_with("| note") { notes } else { alarms };
        assert!(part.contains(&format!("\n\\fB{kind}\\fR\n")), "{kind}");
        kinds += 1;
    }
    assert_eq!(kinds, section.matches("\n\\fB").count());
}

#[test]
fn the_manual_page_has_the_variables_of_a_job() {
    let page = Sandbox::empty().run("man").ok().stdout;
    let docs =
        [include_str!("../docs/job-file.md"), include_str!("../docs/schedules-and-chains.md")].concat();
    let rows = docs.lines().filter(|line| line.starts_with("`RUNNER_") && line.contains(" | "));
    let names: Vec<&str> =
        rows.flat_map(|row| row.split('`')).filter(|word| word.starts_with("RUNNER_")).collect();
    assert!(names.len() > 12, "{names:?}");
    for name in names {
        assert!(page.contains(name.trim_end_matches('…')), "{name}");
    }
}

#[test]
fn a_line_of_the_manual_page_is_a_request_only_if_it_is_meant() {
    const REQUESTS: [&str; 14] =
        [".TH", ".SH", ".SS", ".PP", ".TP", ".EX", ".EE", ".ie", ".el", ".br", ".RS", ".RE", ".IP", ".PD"];
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
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
}

#[test]
fn init_names_no_schema_that_is_not_there() {
    let sandbox = Sandbox::empty();
    sandbox.write("folder/file", "");
    let said =
        sandbox.run("init --file folder/x.toml").ok().shows("and #:schema ./jobs.schema.json as").stdout;
    let line = said.lines().find_map(|line| line.split_once(": runner schema > ")).expect("a line").1;
    assert_eq!(line, "folder/jobs.schema.json");
    assert!(!sandbox.read("folder/x.toml").contains("#:schema"));
    sandbox.run("check folder/x.toml").ok();
    sandbox.write("folder/jobs.schema.json", sandbox.run("schema").ok().stdout);
    let said = sandbox.run("init --file folder/y.toml").ok().stdout;
    assert!(!said.contains("schema"), "{said}");
    assert!(sandbox.read("folder/y.toml").starts_with("#:schema ./jobs.schema.json\n# Jobs for runner."));
    sandbox.run("init -q --file y.toml").ok().prints("");
}

#[test]
fn init_names_its_file_where_the_other_verbs_would_not_find_it() {
    let sandbox = Sandbox::empty();
    sandbox.write("crontab", "@daily a\n");
    sandbox.write("folder/file", "");
    let found = "next: runner check, then runner ";
    let named = "next: runner check --file folder/jobs.toml, then runner ";
    for options in ["", " --from-crontab crontab"] {
        let said = |call: &str| {
            let said = sandbox.run(&format!("init{options}{call}")).ok().stdout;
            std::fs::remove_file(sandbox.path("folder/jobs.toml")).ok();
            said
        };
        let both = [said(" --file folder/jobs.toml"), said("")];
        assert!(both[0].contains(named) && both[1].contains(found), "{both:?}");
        std::fs::remove_file(sandbox.path("jobs.toml")).expect("it is there");
    }
    // The file that the variable names hides the one in the current folder.
    sandbox.write("other.toml", "");
    let said = sandbox.call("init").env("RUNNER_FILE", "other.toml").run().ok();
    said.shows(&format!("runner check --file {}, then", sandbox.path("jobs.toml").display()));
}

#[test]
fn quiet_is_silent_on_success_whatever_form_is_asked_for() {
    let sandbox = Sandbox::new("[jobs.a]\ncommand = 'true'\n");
    for line in [
        "enqueue a",
        "enqueue --dry-run a",
        "change 1 --now",
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
