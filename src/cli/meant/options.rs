//! Options of other programs, and what does the same here.

use clap::CommandFactory;

use super::super::args::Cli;
use crate::jobfile::{counts_retries, our_key};

/// What to type in place of this option, which the verb among these words does not have.
pub(super) fn tips(typed: &[String], option: &str) -> Vec<String> {
    let option = option.split('=').next().unwrap_or(option);
    let value = value_of(typed, option);
    let word = option.trim_start_matches('-');
    let verb = typed.iter().find(|word| matches!(word.as_str(), "enqueue" | "work"));
    let tip = match (verb.map(String::as_str), option) {
        (Some("enqueue"), _) if option == "--retry" || counts_retries(word) => {
            let runs = value.and_then(|value| value.parse::<u32>().ok()).and_then(|more| more.checked_add(1));
            let runs = runs.map_or_else(|| "N".to_owned(), |runs| runs.to_string());
            format!("write `--max-attempts {runs}`: it counts every run, the first included")
        }
        (Some("enqueue"), "--delay" | "--after") => {
            format!("write `--in {}`; `--at TIME` is for a time of the day", value.unwrap_or("DUR"))
        }
        (Some("enqueue"), "--cron" | "--schedule" | "--every") => {
            "there are no schedules here: let cron run `runner enqueue`; the README shows the line".to_owned()
        }
        (Some("enqueue"), _) if word == "command" || our_key(word) == Some("command") => {
            "write `-c 'LINE'`, or `-- CMD ARG...`".to_owned()
        }
        (Some("enqueue"), _) => match our_key(word).map(|key| key.replace('_', "-")) {
            Some(ours) if is_option_of_enqueue(&ours) => {
                format!("write `--{ours} {}`", value.unwrap_or("VALUE"))
            }
            _ => return Vec::new(),
        },
        (Some("work"), "--concurrency" | "--parallel" | "--workers" | "--threads" | "--slots") => {
            format!("write `-j {}`", value.unwrap_or("N"))
        }
        (Some("work"), "--once") => {
            "write `--until-idle`; `--drain` also waits for what is due later".to_owned()
        }
        _ => return Vec::new(),
    };
    vec![tip]
}

fn is_option_of_enqueue(long: &str) -> bool {
    let command = Cli::command();
    let enqueue = command.find_subcommand("enqueue");
    enqueue.is_some_and(|enqueue| enqueue.get_arguments().any(|known| known.get_long() == Some(long)))
}

/// The value that was typed with it: after `=`, or as the next word.
fn value_of<'a>(typed: &'a [String], option: &str) -> Option<&'a str> {
    let at = typed.iter().position(|word| word.split('=').next() == Some(option))?;
    match typed[at].split_once('=') {
        Some((_, value)) => Some(value),
        None => typed.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tip(line: &str, option: &str) -> Vec<String> {
        tips(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), option)
    }

    #[test]
    fn with_the_value_that_was_typed() {
        let said = "write `--max-attempts 4`: it counts every run, the first included";
        assert_eq!(tip("enqueue x --retries 3", "--retries"), [said]);
        assert_eq!(tip("enqueue x --retries=3", "--retries"), [said]);
        assert!(tip("enqueue --retries -- true", "--retries")[0].contains("--max-attempts N"));
        assert!(tip("enqueue --retries 4294967295 x", "--retries")[0].contains("--max-attempts N"));
        assert!(tip("inspect --retries 3", "--retries").is_empty());
    }
}
