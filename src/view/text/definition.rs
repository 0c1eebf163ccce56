//! The definition of a job in words: its command, and what it starts with and is retried by.

use crate::model::{Backoff, Bytes, CodePattern, Command, Jitter, JobDefinition, Strategy};
use crate::text::{Millis, counted, safe_line, shell_word};
use crate::view::terminal::Output;

/// A command with its arguments, as a person would type it.
pub fn command_line(command: &Command, args: &[Bytes]) -> String {
    let mut typed = vec![command.typed()];
    typed.extend(args.iter().map(quoted));
    typed.join(" ")
}

/// Prints the launcher and the first lines of the command, without wrapping them, so that a reader can copy them.
pub fn print_command(out: &mut Output, definition: &JobDefinition, args: &[Bytes]) {
    const MAX_LINES: usize = 8;
    if !definition.launcher.is_empty() {
        let launcher: Vec<String> = definition.launcher.iter().map(quoted).collect();
        out.fact("launcher", &safe_line(&launcher.join(" ")));
    }
    let text = command_line(&definition.command, args);
    let lines: Vec<&str> = text.trim().lines().collect();
    for (index, line) in lines.iter().take(MAX_LINES).enumerate() {
        let word = if index == 0 { "command" } else { "" };
        out.line(format!("  {word:<9} {}", safe_line(line)));
    }
    if lines.len() > MAX_LINES {
        out.fact("", &format!("… {}", counted(lines.len() - MAX_LINES, "more line")));
    }
}

/// Prints what the command starts with, as far as that is not what every command starts with.
pub fn print_start(out: &mut Output, definition: &JobDefinition) {
    for value in definition.shown_values() {
        for (index, line) in value.lines.iter().enumerate() {
            out.fact(if index == 0 { value.word } else { "" }, &safe_line(line));
        }
    }
}

/// A word as a person would type it in a shell.
pub fn quoted(word: &Bytes) -> String {
    shell_word(&word.to_text())
}

/// Prints a retry policy in a few lines.
pub fn print_policy(out: &mut Output, definition: &JobDefinition) {
    let policy = definition.written_policy();
    if !policy.retryable {
        return out.fact("retries", "none: retryable = false, exactly one attempt");
    }
    match policy.max_attempts() {
        1 => out.fact("retries", "none: one attempt"),
        max => out.fact("retries", &format!("{max} attempts, {}", backoff_text(&policy.backoff))),
    }
    let list = |codes: &[CodePattern]| codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if let Some(codes) = &policy.auto_retry_for {
        out.fact("", &format!("only for {}", list(codes)));
    }
    if !policy.never_retry_for.is_empty() {
        out.fact("", &format!("never for {}", list(&policy.never_retry_for)));
    }
}

fn backoff_text(backoff: &Backoff) -> String {
    let strategy = match &backoff.strategy {
        Strategy::Exponential { initial, multiplier, max } => {
            format!("exponential from {initial}, ×{multiplier}, at most {max}")
        }
        Strategy::Linear { delay, max } => format!("linear by {delay}, at most {max}"),
        Strategy::Constant { delay } => format!("{delay} apart"),
        Strategy::List { delays, repeat_last } => {
            let delays = delays.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            if *repeat_last { format!("after {delays}, …") } else { format!("after {delays}") }
        }
    };
    match backoff.jitter {
        Jitter::Fraction(fraction) if fraction > 0.0 => format!("{strategy}, jitter ±{}%", fraction * 100.0),
        Jitter::Absolute(Millis(ms)) if ms > 0 => format!("{strategy}, jitter ±{}", Millis(ms)),
        _ => strategy,
    }
}
