//! `runner init`, `runner schema` and `runner man`: they write or print texts that are built into the program.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result, bail};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::args::Global;
use crate::cli::definition::quoted;
use crate::cli::error::{CliError, ExitStatus};
use crate::cli::output::Output;
use crate::cli::{args, locate};
use crate::jobfile::{FILE_NAME, SCHEMA, STARTER};
use crate::model::Bytes;

/// The schema file that the first line of the starter refers to.
const SCHEMA_NAME: &str = "jobs.schema.json";

/// Writes a small job file, never over an existing one.
pub fn init(global: &Global, out: &mut Output) -> Result<ExitStatus> {
    let path = match &global.file {
        Some(path) => path.clone(),
        None => locate::current_dir()?.join(FILE_NAME),
    };
    let shown = locate::display(&path);
    // Others may not write to it, whatever the umask says: its commands run as the caller.
    let mut file = match File::options().create_new(true).write(true).mode(0o644).open(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!(
                CliError::new(ExitStatus::EXISTS, format!("{shown} exists and was left as it is"))
                    .hint("runner check looks at it; --file PATH writes another one")
            )
        }
        created => created.with_context(|| format!("could not create {shown}"))?,
    };
    let written = file.write_all(STARTER.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(&path); // an empty file would make the next `init` fail
    }
    written.with_context(|| format!("could not write {shown}"))?;
    if !out.quiet {
        out.line(format!("wrote {shown}"))?;
        out.line("next: runner check, then runner enqueue --all, then runner work --drain")?;
        let schema = quoted(&Bytes::from(&*locate::display(&path.with_file_name(SCHEMA_NAME))));
        out.line(format!("for an editor that completes its keys: runner schema > {schema}"))?;
    }
    Ok(ExitStatus::SUCCESS)
}

/// Prints the JSON Schema of the job file.
pub fn schema(out: &mut Output) -> Result<ExitStatus> {
    out.bytes(SCHEMA.as_bytes())?;
    Ok(ExitStatus::SUCCESS)
}

const DESCRIPTION: &str = include_str!("man/description.roff");

/// The page with the table of exit statuses, which the manual page repeats.
const OPERATING: &str = include_str!("../../../docs/operating.md");

/// The section on what needs attention.
const ATTENTION: &str = include_str!("man/attention.roff");

/// The sections on the environment and on files.
const MORE: &str = include_str!("man/more.roff");

/// Prints the manual page: the help of every verb, what needs attention, exit statuses, the environment and files.
pub fn man(out: &mut Output) -> Result<ExitStatus> {
    out.bytes(&page()?)?;
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
        page.extend_from_slice(verb_section(verb)?.as_bytes());
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
    let text = String::from_utf8(sections)?;
    let lines = text.lines().filter(|line| !line.starts_with(".SH"));
    Ok(std::iter::once(format!(".SS {}", verb.get_name()).as_str())
        .chain(lines)
        .flat_map(|line| [line, "\n"])
        .collect())
}

/// The rows of the table in docs/operating.md.
fn exit_statuses() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]).control("PD", ["0"]);
    let section = OPERATING.split("\n## ").find(|section| section.starts_with("Exit statuses"));
    let rows =
        section.unwrap_or_default().lines().filter_map(|row| row.strip_prefix("| ")?.split_once(" | "));
    for (status, meaning) in rows.skip(1) {
        roff.control("TP", ["10"]).text([bold(status)]);
        roff.text([roman(meaning.trim_end_matches(" |").replace('`', ""))]);
    }
    roff.control("PD", []);
    roff
}

/// The text below the help, with its line breaks.
fn examples(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("EX", []);
    for line in command.get_after_help().map(ToString::to_string).unwrap_or_default().lines() {
        roff.text([roman(line)]);
    }
    roff.control("EE", []);
    roff
}
