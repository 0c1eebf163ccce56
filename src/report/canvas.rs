//! What bars are drawn on: the terminal without its last columns.
//!
//! A terminal puts `^C` where the cursor is. The library leaves it at the end of a full line, from where `^C` goes to the
//! next: all moves up by a line that nobody counted, and what should be wiped is missed. Here it fits.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use indicatif::TermLike;
use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthChar;

use super::columns_of;

/// Columns that are left free at the end of a line: `^C` twice.
const SPARE: usize = 4;

/// The rows that are assumed of a terminal that does not tell.
const ROWS: u16 = 24;

/// A terminal that is narrower than standard error, and breaks what is longer than its lines as that would.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    pen: Mutex<Pen>,
}

#[derive(Debug, Default)]
struct Pen {
    /// Not written yet: a drawing comes in one piece.
    drawn: String,
    /// The column of the cursor.
    column: usize,
}

impl Pen {
    fn draw(&mut self, text: &str, width: usize) {
        for c in text.chars() {
            let wide = c.width().unwrap_or(0);
            if matches!(c, '\r' | '\n') {
                self.column = 0;
            } else if self.column + wide > width {
                self.drawn.push_str("\r\n");
                self.column = 0;
            }
            self.column += wide;
            self.drawn.push(c);
        }
    }
}

impl Canvas {
    fn with_pen(&self, work: impl FnOnce(&mut Pen)) -> io::Result<()> {
        work(&mut self.pen.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    fn steer(&self, by: usize, direction: char) -> io::Result<()> {
        self.with_pen(|pen| {
            if by > 0 {
                pen.drawn.push_str(&format!("\u{1b}[{by}{direction}"));
            }
        })
    }
}

impl TermLike for Canvas {
    fn width(&self) -> u16 {
        let columns = columns_of(io::stderr());
        u16::try_from(columns.saturating_sub(SPARE).max(1)).unwrap_or(u16::MAX)
    }

    fn height(&self) -> u16 {
        tcgetwinsize(io::stderr()).map_or(ROWS, |size| size.ws_row)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        let width = usize::from(self.width());
        self.with_pen(|pen| pen.draw(text, width))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r")?;
        self.with_pen(|pen| pen.drawn.push_str("\u{1b}[2K"))
    }

    fn flush(&self) -> io::Result<()> {
        let mut pen = self.pen.lock().unwrap_or_else(PoisonError::into_inner);
        let drawn = std::mem::take(&mut pen.drawn);
        let mut stderr = io::stderr().lock();
        stderr.write_all(drawn.as_bytes())?;
        stderr.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_full_goes_on_in_the_next_where_there_is_more() {
        let mut pen = Pen::default();
        pen.draw("abc", 3);
        assert_eq!(pen.drawn, "abc");
        pen.draw("d█", 3);
        pen.draw("漢\rx", 3);
        assert_eq!(pen.drawn, "abc\r\nd█\r\n漢\rx");
    }
}
