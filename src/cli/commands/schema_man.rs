//! `runner schema` and `runner man`: they print texts that are built into the program.

use anyhow::Result;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::error::ExitStatus;
use crate::cli::{args, help};
use crate::jobfile::SCHEMA;
use crate::view::terminal::Output;

/// Prints the JSON Schema of the job file.
pub fn schema(out: &mut Output) -> ExitStatus {
    out.bytes(SCHEMA.as_bytes());
    ExitStatus::SUCCESS
}

const DESCRIPTION: &str = include_str!("man/description.roff");

/// The page with the table of exit statuses, which the manual page repeats.
const REFERENCE: &str = include_str!("../../../docs/reference.md");

/// The section on what needs attention.
const ATTENTION: &str = include_str!("man/attention.roff");

/// The sections on the environment and on files.
const MORE: &str = include_str!("man/more.roff");

/// Prints the manual page: the help of every verb, what needs attention, exit statuses, the environment and files.
pub fn man(out: &mut Output) -> Result<ExitStatus> {
    out.bytes(&page()?);
    Ok(ExitStatus::SUCCESS)
}

fn page() -> Result<Vec<u8>> {
    let mut cli = args::command().disable_help_subcommand(true);
    cli.build();
    let mut page = Vec::new();
    let general = cli.clone().mut_args(|option| option.hide(false));
    let man = Man::new(general).title("RUNNER").manual("User Commands");
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    page.extend_from_slice(DESCRIPTION.as_bytes());
    man.render_options_section(&mut page)?;
    page.extend_from_slice(b".SH VERBS\n");
    for verb in cli.get_subcommands() {
        page.extend_from_slice(verb_section(&help::in_full(verb))?.as_bytes());
    }
    page.extend_from_slice(ATTENTION.as_bytes());
    exit_statuses().to_writer(&mut page)?;
    page.extend_from_slice(MORE.as_bytes());
    page.extend_from_slice(b".SH EXAMPLES\n");
    examples(&cli).to_writer(&mut page)?;
    Ok(page)
}

/// The section of a verb: its purpose, synopsis, own options and examples.
fn verb_section(verb: &Command) -> Result<String> {
    let man = Man::new(verb.clone());
    let mut sections = Vec::new();
    man.render_description_section(&mut sections)?;
    sections.extend_from_slice(b".PP\n");
    man.render_synopsis_section(&mut sections)?;
    man.render_options_section(&mut sections)?;
    sections.extend_from_slice(b".PP\n");
    examples(verb).to_writer(&mut sections)?;
    if let Some(more) = help::manual(verb.get_name()) {
        as_it_stands(more).to_writer(&mut sections)?;
    }
    let text = String::from_utf8(sections)?;
    let lines = text.lines().filter(|line| !line.starts_with(".SH"));
    Ok(std::iter::once(format!(".SS {}", verb.get_name()).as_str())
        .chain(lines)
        .flat_map(|line| [line, "\n"])
        .collect())
}

/// The rows of the table in docs/reference.md.
fn exit_statuses() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]).control("PD", ["0"]);
    let section = REFERENCE.split("\n## ").find(|section| section.starts_with("Exit statuses"));
    let rows = section.unwrap_or_default().lines().filter_map(|row| row.split_once(" | "));
    for (status, meaning) in rows.skip(1) {
        roff.control("TP", ["10"]).text([bold(status)]);
        roff.text([roman(meaning.replace('`', ""))]);
    }
    roff.control("PD", []);
    roff
}

/// The text below the help.
fn examples(command: &Command) -> Roff {
    as_it_stands(&command.get_after_help().map(ToString::to_string).unwrap_or_default())
}

/// A text with its line breaks.
fn as_it_stands(text: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("PP", []).control("EX", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("EE", []);
    roff
}
