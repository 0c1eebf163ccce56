//! A definition in words: its command, its retry policy.

use super::output::{Output, Written};
use crate::model::{Backoff, Bytes, CodePattern, Command, Jitter, JobSpec, RetryPolicy, Strategy};
use crate::text::{Millis, counted, safe_line};

/// A command with its arguments, as a person would type it.
pub fn command_line(command: &Command, args: &[Bytes]) -> String {
    let mut typed = match command {
        Command::Shell(line) => vec![line.to_text()],
        Command::Argv(words) => words.iter().map(quoted).collect(),
    };
    typed.extend(args.iter().map(quoted));
    typed.join(" ")
}

/// Prints the launcher, and the first lines of the command, unbroken: a person may copy the lines.
pub fn print_command(out: &mut Output, spec: &JobSpec, args: &[Bytes]) -> Written {
    const MAX_LINES: usize = 8;
    if !spec.launcher.is_empty() {
        let launcher: Vec<String> = spec.launcher.iter().map(quoted).collect();
        out.fact("launcher", &safe_line(&launcher.join(" ")))?;
    }
    let text = command_line(&spec.command, args);
    let lines: Vec<&str> = text.trim().lines().collect();
    for (index, line) in lines.iter().take(MAX_LINES).enumerate() {
        let word = if index == 0 { "command" } else { "" };
        out.line(format!("  {word:<9} {}", safe_line(line)))?;
    }
    if lines.len() > MAX_LINES {
        out.fact("", &format!("… {}", counted(lines.len() - MAX_LINES, "more line")))?;
    }
    Ok(())
}

/// A word, quoted if a shell needs that.
pub fn quoted(word: &Bytes) -> String {
    let text = word.to_text();
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Prints a retry policy in a few lines.
pub fn print_policy(out: &mut Output, policy: &RetryPolicy) -> Written {
    if !policy.retryable {
        return out.fact("retries", "none: retryable = false, exactly one attempt");
    }
    match policy.runs() {
        1 => out.fact("retries", "none: one attempt")?,
        runs => out.fact("retries", &format!("{runs} attempts, {}", backoff_text(&policy.backoff)))?,
    }
    let list = |codes: &[CodePattern]| codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if let Some(codes) = &policy.auto_retry_for {
        out.fact("", &format!("only for {}", list(codes)))?;
    }
    if !policy.never_retry_for.is_empty() {
        out.fact("", &format!("never for {}", list(&policy.never_retry_for)))?;
    }
    Ok(())
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
