//! Standard output: lines, wrapped text and JSON, fitted to the width, the colours and the letters of the terminal.

use std::io::{self, BufWriter, ErrorKind, Write};

use anyhow::{Context, Error, Result};
use clap::ColorChoice;
use console::Term;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::list_format::ListFormat;
use super::streams::Stream;
use super::style::{self, Style, in_ascii};
use crate::model::OutputStream;
use crate::text::{hanging_indent, safe_json};

/// A verb writes without looking whether it works: the first failure is kept until [`Output::flush`], and what is written
/// after it is dropped.
pub struct Output {
    /// None once a write has failed, or the reader has closed the pipe.
    out: Option<BufWriter<Stream>>,
    /// The failure that no flush has told yet.
    failure: Option<Error>,
    /// Print one JSON object a line instead of words, or a row of the format.
    pub json: bool,
    /// The format of rows, and their columns.
    format: Option<(&'static ListFormat, Vec<String>)>,
    /// Say nothing on success.
    pub quiet: bool,
    color: bool,
    /// None if standard output is a file or a pipe.
    terminal: Option<Terminal>,
    /// The number of bytes written since the last flush.
    unflushed: usize,
    /// While [`Output::lines_of`] draws: what it has drawn.
    captured: Option<Vec<u8>>,
    /// The number of lines written so far.
    lines: usize,
}

#[derive(Clone, Copy, Debug)]
struct Terminal {
    columns: usize,
    rows: usize,
    ascii_only: bool,
}

impl Terminal {
    /// The terminal behind standard output, with its present size; none if that is a file or a pipe.
    fn find() -> Option<Self> {
        let stdout = Term::stdout();
        let (rows, columns) = stdout.size();
        let terminal = Self { columns: columns.into(), rows: rows.into(), ascii_only: style::ascii_only() };
        stdout.is_term().then_some(terminal)
    }
}

impl Output {
    pub fn new(json: bool, quiet: bool, color: ColorChoice) -> Self {
        Self {
            terminal: Terminal::find(),
            out: Some(BufWriter::new(Stream(OutputStream::Stdout))),
            failure: None,
            json,
            format: None,
            quiet,
            color: style::is_colored(color, &io::stdout()),
            unflushed: 0,
            captured: None,
            lines: 0,
        }
    }

    pub const fn is_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// The width of the screen in columns; unlimited if standard output is no terminal.
    pub fn width(&self) -> usize {
        self.terminal.map_or(usize::MAX, |terminal| terminal.columns)
    }

    /// The height of the screen in rows; unlimited if standard output is no terminal.
    pub fn height(&self) -> usize {
        self.terminal.map_or(usize::MAX, |terminal| terminal.rows)
    }

    /// The rows of the screen below the lines that were written.
    pub fn rows_left(&self) -> usize {
        self.height().saturating_sub(self.lines)
    }

    /// Looks at the size of the terminal again.
    pub fn resize(&mut self) {
        self.terminal = Terminal::find();
    }

    /// Whether standard output is a terminal that may show only ASCII.
    pub fn ascii_only(&self) -> bool {
        self.terminal.is_some_and(|terminal| terminal.ascii_only)
    }

    /// The text in this style, or plain if the output has no colours.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.color { format!("{}{text}{}", style.escape(), style::RESET) } else { text.to_owned() }
    }

    /// A job's state or phase, or an attempt's outcome, in its style.
    pub fn paint_status(&self, status: &str) -> String {
        Style::of_status(status).map_or_else(|| status.to_owned(), |style| self.paint(style, status))
    }

    /// Marks of outcomes, each in its style.
    pub fn paint_marks(&self, marks: &str) -> String {
        marks.chars().map(|mark| self.paint(Style::of_mark(mark), &mark.to_string())).collect()
    }

    pub fn line(&mut self, text: impl AsRef<str>) {
        self.lines += 1;
        // Where text from elsewhere was not made safe, it is here.
        let text = &style::made_safe(text.as_ref(), self.color);
        if self.ascii_only() {
            self.bytes(in_ascii(text).as_bytes());
        } else {
            self.bytes(text.as_bytes());
        }
        self.bytes(b"\n");
    }

    /// Writes the result of a verb: the object with `--json`, else the words; nothing with `-q`.
    pub fn done(&mut self, object: &impl Serialize, words: impl AsRef<str>) {
        match (self.quiet, self.json) {
            (true, _) => {}
            (false, true) => self.object(object),
            (false, false) => self.line(words),
        }
    }

    /// Writes a text after a prefix. On a terminal a long text is broken between words, and its further lines are indented by
    /// the width of the prefix.
    pub fn prose(&mut self, prefix: &str, text: &str) {
        for line in hanging_indent(prefix, text, self.width()) {
            self.line(line);
        }
    }

    /// Writes a word and its value, indented so that the values of several facts stand under each other.
    pub fn fact(&mut self, word: &str, value: &str) {
        self.prose(&format!("  {word:<9} "), value);
    }

    /// Like [`Self::prose`], in the faint style.
    pub fn aside(&mut self, prefix: &str, text: &str) {
        for line in hanging_indent(prefix, text, self.width()) {
            self.line(self.paint(Style::Faint, &line));
        }
    }

    /// Writes a line that is no result, such as that a list is empty; nothing with `-q`.
    pub fn remark(&mut self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if let Some(captured) = &mut self.captured {
            captured.extend_from_slice(bytes);
        } else if let Some(out) = &mut self.out {
            let done = out.write_all(bytes);
            self.unflushed += bytes.len();
            self.note(done);
        }
    }

    /// The lines that `draw` would write.
    pub fn lines_of(&mut self, draw: impl FnOnce(&mut Self)) -> Vec<String> {
        (self.captured, self.lines) = (Some(Vec::new()), 0);
        draw(self);
        let captured = self.captured.take().unwrap_or_default();
        String::from_utf8_lossy(&captured).lines().map(str::to_owned).collect()
    }

    /// Prints the objects from now on in this format with these columns.
    pub fn begin_list(&mut self, format: &'static ListFormat, columns: Vec<String>) {
        self.encoded((format.head)(&columns).context("could not write the names of the columns"));
        (self.json, self.format) = (true, Some((format, columns)));
    }

    /// Writes a line of JSON, or a row of the format.
    pub fn object(&mut self, value: &impl Serialize) {
        let line = match &self.format {
            Some((format, columns)) => serde_json::to_value(value)
                .map_err(Error::new)
                .and_then(|object| format.row_of(columns, &object, self.is_terminal())),
            None => serde_json::to_string(value)
                .map_err(Error::new)
                .map(|line| format!("{}\n", safe_json(line)).into_bytes()),
        };
        self.encoded(line.context("could not write an object"));
    }

    fn encoded(&mut self, line: Result<Vec<u8>>) {
        match line {
            Ok(line) => self.bytes(&line),
            Err(error) => self.fail(error),
        }
    }

    /// Sends what was written on its way, and tells the first failure of a write, once. It is no failure if the reader has
    /// closed the pipe.
    pub fn flush(&mut self) -> Result<()> {
        self.send();
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Sends what was written on its way. A failure is left for the next [`Output::flush`] to tell.
    pub fn send(&mut self) {
        // A flush takes the lock of standard output. The log thread of a worker may hold that lock for ever, if nobody reads
        // the log, so a verb that wrote nothing must not ask for it.
        if std::mem::take(&mut self.unflushed) > 0
            && let Some(out) = &mut self.out
        {
            let done = out.flush();
            self.note(done);
        }
    }

    /// Whether all that is still written is dropped, because the reader has closed the pipe, or a write has failed. A verb
    /// that has nothing else to do can stop then.
    pub const fn is_closed(&self) -> bool {
        self.out.is_none()
    }

    /// Whether the reader has closed the pipe, also where nothing was written since.
    pub fn is_unread(&self) -> bool {
        let stdout = io::stdout();
        let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
        // The kernel tells of this error without being asked for anything.
        let is_told = poll(&mut polled, Some(&Timespec::default())).is_ok_and(|found| found > 0);
        self.is_closed() || is_told && polled[0].revents().contains(PollFlags::ERR)
    }

    fn note(&mut self, done: io::Result<()>) {
        match done {
            Ok(()) => {}
            // The verb goes on although nobody reads, because its exit status still matters.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.out = None,
            Err(error) => self.fail(Error::new(error).context("could not write to standard output")),
        }
    }

    fn fail(&mut self, failure: Error) {
        self.out = None;
        self.failure.get_or_insert(failure);
    }

    /// Writes and flushes a line that must arrive, such as an id. Here a closed pipe is an error.
    pub fn must_line(&mut self, text: &str) -> io::Result<()> {
        let out = self.out.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        writeln!(out, "{text}")?;
        out.flush()
    }
}
