//! Where output goes, and how: a closed pipe ends quietly, colour is used where it is wanted.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};

use anyhow::{Context, Result};
use serde::Serialize;

use super::args::Global;
use super::color;
use super::error::CliError;
use crate::text::{columns_of, hanging_indent};

/// Standard output, for data.
pub struct Screen {
    /// None once whoever read has seen enough, and gone.
    out: Option<BufWriter<StdoutLock<'static>>>,
    /// One JSON object a line.
    pub json: bool,
    /// Say nothing on success.
    pub quiet: bool,
    color: bool,
    /// None where it goes to a file or program.
    terminal: Option<Terminal>,
}

/// What the terminal can show.
#[derive(Clone, Copy, Debug)]
struct Terminal {
    columns: usize,
    /// ASCII alone.
    plain: bool,
}

/// What a colour stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It ended well.
    Good,
    /// It is dead, or wrong.
    Bad,
    /// It will be tried again, or wants a look.
    Warn,
    /// It is under way.
    Busy,
    /// Of less weight.
    Faint,
    /// A heading.
    Strong,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warn => "33",
            Self::Busy => "36",
            Self::Faint => "2",
            Self::Strong => "1",
        }
    }

    /// The tone of a state, kind of waiting or outcome.
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "succeeded" => Some(Self::Good),
            "dead" | "failed" | "timed_out" | "spawn_failed" | "worker_crashed" => Some(Self::Bad),
            "retrying" | "interrupted" => Some(Self::Warn),
            "running" => Some(Self::Busy),
            "cancelled" | "scheduled" => Some(Self::Faint),
            _ => None,
        }
    }
}

/// What writing gives: a failure, unless the reader just went away.
pub type Written = Result<()>;

impl Screen {
    /// Standard output under these options.
    pub fn new(global: &Global) -> Self {
        let stdout = io::stdout();
        let (terminal, columns) = (stdout.is_terminal(), columns_of(&stdout));
        Self {
            out: Some(BufWriter::new(stdout.lock())),
            json: global.json,
            quiet: global.quiet,
            color: color::wanted(global.color, terminal, &|name| std::env::var_os(name)),
            terminal: terminal.then_some(Terminal { columns, plain: is_plain() }),
        }
    }

    /// Is it a terminal?
    pub const fn is_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// The columns that a line may take; without limit where it goes to a file or program.
    pub fn width(&self) -> usize {
        self.terminal.map_or(usize::MAX, |terminal| terminal.columns)
    }

    /// The text in its tone, where colour is wanted.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if self.color { format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()) } else { text.to_owned() }
    }

    /// A state, kind of waiting or outcome in its tone.
    pub fn paint_word(&self, word: &str) -> String {
        Tone::of(word).map_or_else(|| word.to_owned(), |tone| self.paint(tone, word))
    }

    /// Writes a line.
    pub fn line(&mut self, text: impl AsRef<str>) -> Written {
        let text = text.as_ref();
        if self.is_plain() {
            self.bytes(in_ascii(text).as_bytes())?;
        } else {
            self.bytes(text.as_bytes())?;
        }
        self.bytes(b"\n")
    }

    /// Writes prose after a prefix; on a terminal it is broken between words, and goes on under the first of them.
    pub fn prose(&mut self, prefix: &str, text: &str) -> Written {
        hanging_indent(prefix, text, self.width()).into_iter().try_for_each(|line| self.line(line))
    }

    /// The same, of less weight.
    pub fn aside(&mut self, prefix: &str, text: &str) -> Written {
        let lines = hanging_indent(prefix, text, self.width());
        lines.into_iter().try_for_each(|line| self.line(self.paint(Tone::Faint, &line)))
    }

    /// Does the terminal show ASCII alone?
    pub fn is_plain(&self) -> bool {
        self.terminal.is_some_and(|terminal| terminal.plain)
    }

    /// Writes a line that says that there is nothing to show: silence says the same.
    pub fn remark(&mut self, text: &str) -> Written {
        if self.quiet { Ok(()) } else { self.line(text) }
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Written {
        let done = self.out.as_mut().map_or(Ok(()), |out| out.write_all(bytes));
        self.written(done)
    }

    /// Writes an object as a line of JSON.
    pub fn object(&mut self, value: &impl Serialize) -> Written {
        let line = serde_json::to_string(value).map_err(|error| {
            CliError::new(super::error::ExitStatus::INTERNAL, format!("could not write JSON: {error}"))
        })?;
        self.bytes(line.as_bytes())?;
        self.bytes(b"\n")
    }

    /// Makes sure that everything has been taken.
    pub fn flush(&mut self) -> Written {
        let done = self.out.as_mut().map_or(Ok(()), Write::flush);
        self.written(done)
    }

    /// Has the reader gone, so that nothing that is written arrives any more?
    pub const fn is_gone(&self) -> bool {
        self.out.is_none()
    }

    fn written(&mut self, done: io::Result<()>) -> Written {
        match done {
            // A closed pipe ends the talking quietly; the exit status is still to be right.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.out = None;
                Ok(())
            }
            done => done.context("could not write to standard output"),
        }
    }

    /// Writes and flushes text that must arrive; unlike elsewhere, a closed pipe is an error here.
    pub fn must_line(&mut self, text: &str) -> io::Result<()> {
        let out = self.out.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        writeln!(out, "{text}")?;
        out.flush()
    }
}

/// Nothing but ASCII is certain to be seen: the terminal is dumb, or the locale is not one of UTF-8.
pub fn is_plain() -> bool {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var).unwrap_or_default();
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    var("TERM").is_some_and(|term| term == "dumb") || !(locale.contains("utf-8") || locale.contains("utf8"))
}

/// The text with what this program itself puts into it in ASCII. The words of others stay as they are.
fn in_ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Cut text ends at a column, and so does its mark.
            '…' if plain.ends_with(|before| before != ' ' && before != '[') => plain.push('~'),
            '…' => plain.push_str("..."),
            '±' => plain.push_str("+-"),
            '×' => plain.push('x'),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_in_ascii() {
        let shown =
            ["jitter ±25%, ×2", "cut te…", "  … 3 more lines", "[… 2 B left out …]", "é"].map(in_ascii);
        assert_eq!(
            shown,
            ["jitter +-25%, x2", "cut te~", "  ... 3 more lines", "[... 2 B left out ...]", "é"]
        );
    }
}
