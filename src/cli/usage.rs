//! The error for a command line that cannot be used: that of clap, with tips that lead on.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::args::Cli;
use super::error::CliError;
use crate::call_target::{to_type, with_commands};
use crate::text::{foreign_words, misspelt, nearest, shell_word};

/// The tip for a word or option that people type who know other tools: our own in its place.
fn tip(section: &str, typed: &str) -> Option<String> {
    foreign_words(section)?.get(typed).map(|ours| with_commands(ours))
}

/// Replaces tips of clap that lead nowhere. It would offer each unknown option behind `--`, where verbs take ids and names,
/// which never begin with a dash; only for `enqueue` that is right, as the job gets the argument then.
pub fn with_tip(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(typed) = text_of(&error, ContextKind::InvalidSubcommand) else { return error };
            error.remove(ContextKind::SuggestedSubcommand);
            let program = Cli::command();
            let verbs = program.get_subcommands().map(Command::get_name);
            if let Some(tip) = tip("verbs", &typed) {
                error.insert(ContextKind::Suggested, tips(tip));
            } else if let Some(near) = nearest(&typed, verbs) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(near.to_owned()));
            }
        }
        ErrorKind::UnknownArgument => {
            let Some(typed) = text_of(&error, ContextKind::InvalidArg) else { return error };
            let typed = typed.split('=').next().unwrap_or_default();
            let tip_of = |verb: &OsString| tip(&format!("options of {}", verb.to_str()?), typed);
            let known = args.iter().find_map(tip_of);
            let call = call_of_command(args).map(|call| format!("a command goes after `--`, too: `{call}`"));
            error.remove(ContextKind::Suggested);
            let near = text_of(&error, ContextKind::SuggestedArg);
            // An option that only has similar letters mostly does something else.
            if known.is_some() || near.is_some_and(|near| misspelt(typed, [near.as_str()]).is_none()) {
                error.remove(ContextKind::SuggestedArg);
            }
            let is_for_jobs = args.iter().any(|arg| arg == "enqueue" || arg == "run");
            let own = || is_for_jobs.then(|| format!("arguments for the job go after `--`: `-- {typed}`"));
            let told: Vec<String> = known.or_else(own).into_iter().chain(call).collect();
            if !told.is_empty() {
                error.insert(ContextKind::Suggested, tips(told.join("; ")));
            }
        }
        ErrorKind::TooManyValues => {
            if let Some(call) = call_of_command(args) {
                error.insert(ContextKind::Suggested, tips(format!("a command goes after `--`: `{call}`")));
            }
        }
        _ => {}
    }
    error
}

/// The call that takes as a command what was typed like `runner run ls -l`: a word, and more words or short options after it.
fn call_of_command(args: &[OsString]) -> Option<String> {
    let args: Vec<&str> = args.iter().map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let at = args.iter().position(|arg| ["run", "enqueue"].contains(arg))?;
    let words = &args[at + 1..];
    let is_command =
        words.len() > 1 && !words.iter().any(|word| word.starts_with("--")) && !words[0].starts_with('-');
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    is_command.then(|| to_type(args[at], format_args!("-- {}", words.join(" "))))
}

fn text_of(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

fn tips(text: String) -> ContextValue {
    ContextValue::StyledStrs(vec![StyledStr::from(text)])
}

/// The message of an unusable command line, without its markup: what is wrong, and a tip or the usage.
pub fn usage_error(answer: &clap::Error) -> CliError {
    if answer.kind() == ErrorKind::MissingSubcommand {
        return CliError::usage("there is no verb").hint("runner --help lists them");
    }
    let text = answer.render().to_string();
    let joined = |part: &str| part.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let parts: Vec<String> = text.split("\n\n").map(joined).collect();
    let message = parts.first().map(|part| part.trim_start_matches("error: ")).unwrap_or_default();
    let tip = parts.iter().find_map(|part| part.strip_prefix("tip: "));
    let usage = parts.iter().find(|part| part.starts_with("Usage: ")).map(String::as_str);
    match tip.or(usage) {
        Some(hint) => CliError::usage(message).hint(hint),
        None => CliError::usage(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options and verbs that a tip names in backquotes, each option behind its verb.
    fn named<'t>(verb: &'t str, tip: &'t str) -> Vec<(&'t str, &'t str)> {
        let phrases = tip.split('`').skip(1).step_by(2);
        let named = phrases.flat_map(|phrase| {
            let (verb, words) = match phrase.split_once("$runner ") {
                Some((_, call)) => call.split_once(' ').unwrap_or((call, "")),
                None => (verb, phrase),
            };
            // Behind a `--` stands another program.
            let words = words.split(' ').take_while(|word| *word != "--");
            words.filter_map(|word| word.strip_prefix("--")).chain([""]).map(move |option| (verb, option))
        });
        named.filter(|(verb, _)| !verb.is_empty()).collect()
    }

    #[test]
    fn each_tip_can_be_reached_and_names_what_there_is() {
        let mut program = Cli::command();
        program.build();
        let has = |verb: &str, option: &str| {
            let verb = program.find_subcommand(verb).unwrap_or_else(|| panic!("there is no verb {verb}"));
            let short = option.strip_prefix('-').and_then(|short| short.chars().next());
            let is_it = |flag: &clap::Arg| {
                flag.get_long() == Some(option) || short.is_some() && flag.get_short() == short
            };
            option.is_empty() || verb.get_arguments().any(is_it)
        };
        let verbs = program.get_subcommands().map(Command::get_name);
        let mut sections = 0;
        for verb in verbs.chain([""]) {
            let section = if verb.is_empty() { "verbs" } else { &format!("options of {verb}") };
            let Some(rows) = foreign_words(section) else { continue };
            sections += 1;
            for (theirs, ours) in rows {
                let option = theirs.strip_prefix("--").or(theirs.strip_prefix('-').map(|_| theirs.as_str()));
                match option {
                    Some(option) => assert!(!has(verb, option), "{verb} has the option {theirs}"),
                    None => assert!(program.find_subcommand(theirs).is_none(), "{theirs} is a verb"),
                }
                for (verb, option) in named(verb, ours) {
                    assert!(has(verb, option), "{theirs}: {verb} has no option --{option}");
                }
            }
        }
        let text = include_str!("../text/foreign_words.toml");
        assert_eq!(text.matches("\n[\"options of ").count() + 1, sections, "a section of no verb");
    }
}
