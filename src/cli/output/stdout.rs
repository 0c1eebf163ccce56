//! Standard output: a closed pipe ends the output quietly; a terminal gets the width, colours and letters that it
//! can show.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, Write};

use anyhow::{Context, Result};
use serde::Serialize;

use super::style::{self, Style};
use crate::cli::args::Global;
use crate::cli::error::{CliError, ExitStatus};
use crate::model::Outcome;
use crate::text::{columns_of, hanging_indent, rows_of};

pub struct Output {
    /// None once the reader has closed the pipe.
    out: Option<BufWriter<Stdout>>,
    /// One JSON object a line.
    pub json: bool,
    /// Say nothing on success.
    pub quiet: bool,
    color: bool,
    /// None if standard output is no terminal.
    terminal: Option<Terminal>,
    /// Bytes that were written since the last flush.
    unflushed: usize,
    /// Takes what would be written.
    captured: Option<Vec<u8>>,
    lines: usize,
}

/// The marks of outcomes.
const GOOD: char = '✓';
const BAD: char = '✗';

/// The mark of an outcome.
pub const fn mark(outcome: Outcome) -> char {
    match outcome {
        Outcome::Succeeded => GOOD,
        Outcome::Interrupted | Outcome::Cancelled => '-',
        _ => BAD,
    }
}

#[derive(Clone, Copy, Debug)]
struct Terminal {
    columns: usize,
    rows: usize,
    ascii_only: bool,
}

/// The result of a write. A pipe that its reader has closed is no failure.
pub type Written = Result<()>;

impl Terminal {
    fn of(stdout: &Stdout) -> Option<Self> {
        let (columns, rows, ascii_only) = (columns_of(stdout), rows_of(stdout), style::ascii_only());
        stdout.is_terminal().then_some(Self { columns, rows, ascii_only })
    }
}

impl Output {
    pub fn new(global: &Global) -> Self {
        let stdout = io::stdout();
        Self {
            terminal: Terminal::of(&stdout),
            out: Some(BufWriter::new(stdout)),
            json: global.json,
            quiet: global.quiet,
            color: style::is_colored(global.color),
            unflushed: 0,
            captured: None,
            lines: 0,
        }
    }

    pub const fn is_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// The columns of a line; no limit if standard output is no terminal.
    pub fn width(&self) -> usize {
        self.terminal.map_or(usize::MAX, |terminal| terminal.columns)
    }

    /// The rows of the screen; no limit if standard output is no terminal.
    pub fn height(&self) -> usize {
        self.terminal.map_or(usize::MAX, |terminal| terminal.rows)
    }

    /// The rows of the screen that no line has taken yet.
    pub fn rows_left(&self) -> usize {
        self.height().saturating_sub(self.lines)
    }

    /// Looks at the size of the terminal again.
    pub fn resize(&mut self) {
        self.terminal = Terminal::of(&io::stdout());
    }

    /// Is standard output a terminal that shows only ASCII?
    pub fn ascii_only(&self) -> bool {
        self.terminal.is_some_and(|terminal| terminal.ascii_only)
    }

    /// The text in this style, where colour is wanted.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.color { format!("{}{text}\u{1b}[0m", style.escape()) } else { text.to_owned() }
    }

    /// A job's state or phase, or an attempt's outcome, in its style.
    pub fn paint_status(&self, status: &str) -> String {
        Style::of_status(status).map_or_else(|| status.to_owned(), |style| self.paint(style, status))
    }

    /// Marks of outcomes, each in its style.
    pub fn paint_marks(&self, marks: &str) -> String {
        let paint = |mark: char| {
            let style = match mark {
                GOOD => Style::Good,
                BAD => Style::Bad,
                _ => Style::Faint,
            };
            self.paint(style, &mark.to_string())
        };
        marks.chars().map(paint).collect()
    }

    /// Writes a line.
    pub fn line(&mut self, text: impl AsRef<str>) -> Written {
        self.lines += 1;
        let text = text.as_ref();
        if self.ascii_only() {
            self.bytes(in_ascii(text).as_bytes())?;
        } else {
            self.bytes(text.as_bytes())?;
        }
        self.bytes(b"\n")
    }

    /// Writes the result of a verb: the object with `--json`, else the words; nothing with `-q`.
    pub fn done(&mut self, object: &impl Serialize, words: impl AsRef<str>) -> Written {
        match (self.quiet, self.json) {
            (true, _) => Ok(()),
            (false, true) => self.object(object),
            (false, false) => self.line(words),
        }
    }

    /// Writes prose after a prefix. On a terminal, long prose wraps between words, each line under the first word.
    pub fn prose(&mut self, prefix: &str, text: &str) -> Written {
        hanging_indent(prefix, text, self.width()).into_iter().try_for_each(|line| self.line(line))
    }

    /// Writes a value after a word, the values of all words under each other.
    pub fn fact(&mut self, word: &str, value: &str) -> Written {
        self.prose(&format!("  {word:<9} "), value)
    }

    /// [`Self::prose`] of less weight.
    pub fn aside(&mut self, prefix: &str, text: &str) -> Written {
        let lines = hanging_indent(prefix, text, self.width());
        lines.into_iter().try_for_each(|line| self.line(self.paint(Style::Faint, &line)))
    }

    /// Writes a line that says that there is nothing to show. With `-q` silence says the same.
    pub fn remark(&mut self, text: &str) -> Written {
        if self.quiet { Ok(()) } else { self.line(text) }
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Written {
        if let Some(captured) = &mut self.captured {
            captured.extend_from_slice(bytes);
            return Ok(());
        }
        self.unflushed += bytes.len();
        let done = self.out.as_mut().map_or(Ok(()), |out| out.write_all(bytes));
        self.written(done)
    }

    /// The lines that `draw` would write.
    pub fn lines_of(&mut self, draw: impl FnOnce(&mut Self) -> Written) -> Result<Vec<String>> {
        (self.captured, self.lines) = (Some(Vec::new()), 0);
        let drawn = draw(self);
        let captured = self.captured.take().unwrap_or_default();
        drawn.map(|()| String::from_utf8_lossy(&captured).lines().map(str::to_owned).collect())
    }

    /// Writes a line of JSON.
    pub fn object(&mut self, value: &impl Serialize) -> Written {
        let line = serde_json::to_string(value)
            .map_err(|error| CliError::new(ExitStatus::INTERNAL, format!("could not write JSON: {error}")))?;
        self.bytes(line.as_bytes())?;
        self.bytes(b"\n")
    }

    pub fn flush(&mut self) -> Written {
        // A worker writes its log past `Output`, and its log thread may hold the lock of standard output for ever.
        if std::mem::take(&mut self.unflushed) == 0 {
            return Ok(());
        }
        let done = self.out.as_mut().map_or(Ok(()), Write::flush);
        self.written(done)
    }

    /// True if the reader has closed the pipe.
    pub const fn is_closed(&self) -> bool {
        self.out.is_none()
    }

    fn written(&mut self, done: io::Result<()>) -> Written {
        match done {
            // The verb goes on, so that its exit status is right.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.out = None;
                Ok(())
            }
            done => done.context("could not write to standard output"),
        }
    }

    /// Writes and flushes a line that must arrive: here, a closed pipe is an error.
    pub fn must_line(&mut self, text: &str) -> io::Result<()> {
        let out = self.out.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        writeln!(out, "{text}")?;
        out.flush()
    }
}

/// The text with runner's own signs in ASCII. The text of jobs stays as it is.
fn in_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // A text was shortened to a number of columns here: the mark has to take one.
            '…' if ascii.ends_with(|before| before != ' ' && before != '[') => ascii.push('~'),
            '…' => ascii.push_str("..."),
            '±' => ascii.push_str("+-"),
            '×' | BAD => ascii.push('x'),
            GOOD => ascii.push('+'),
            c => ascii.push(c),
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_signs_in_ascii() {
        for (text, shown) in [
            ("jitter ±25%, ×2", "jitter +-25%, x2"),
            ("cut te…", "cut te~"),
            ("  … 3 more lines", "  ... 3 more lines"),
            ("[… 2 B left out …]", "[... 2 B left out ...]"),
            ("✓✗-", "+x-"),
            ("é", "é"),
        ] {
            assert_eq!(in_ascii(text), shown);
        }
    }
}
