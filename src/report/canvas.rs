//! What bars are drawn on: the terminal without its last columns.
//!
//! A terminal puts `^C` where the cursor is. The library leaves it at the end of a full line, from where `^C` goes to the
//! next: all moves up by a line that nobody counted, and what should be wiped is missed. Here it fits.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::TermLike;
use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthChar;

use crate::text::columns_of;

/// Columns that are left free at the end of a line: `^C` twice.
const SPARE: usize = 4;

/// The rows that are assumed of a terminal that does not tell.
const ROWS: u16 = 24;

/// A terminal that is narrower than standard error, and breaks what is longer than its lines as that would.
#[derive(Debug, Default)]
pub struct Canvas {
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
    fn steer(&mut self, by: usize, direction: char) {
        if by > 0 {
            let _ = write!(self.drawn, "\u{1b}[{by}{direction}");
        }
    }

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
    fn pen(&self) -> MutexGuard<'_, Pen> {
        self.pen.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.pen().steer(n, 'A');
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.pen().steer(n, 'B');
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.pen().steer(n, 'C');
        Ok(())
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.pen().steer(n, 'D');
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        let width = usize::from(self.width());
        self.pen().draw(text, width);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r")?;
        self.pen().drawn.push_str("\u{1b}[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let drawn = std::mem::take(&mut self.pen().drawn);
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
