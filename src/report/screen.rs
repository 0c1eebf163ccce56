//! Standard error as a screen to draw on, whose end stops nothing.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use console::Term;
use indicatif::TermLike;

use crate::stdio::Waiting;

/// A screen to which writing never fails, because indicatif panics where it cannot draw: somebody who closes the window
/// would kill the worker, and leave its jobs behind. What is drawn is written in one piece, so that it does not flicker.
#[derive(Debug, Default)]
pub(super) struct Screen {
    drawn: Mutex<String>,
}

impl Screen {
    fn drawn(&self) -> MutexGuard<'_, String> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the cursor, in the direction of this letter.
    fn move_cursor(&self, by: usize, direction: char) -> io::Result<()> {
        if by == 0 { Ok(()) } else { self.write_str(&format!("\x1b[{by}{direction}")) }
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        Term::stderr().size().1
    }

    fn height(&self) -> u16 {
        Term::stderr().size().0
    }

    fn move_cursor_up(&self, by: usize) -> io::Result<()> {
        self.move_cursor(by, 'A')
    }

    fn move_cursor_down(&self, by: usize) -> io::Result<()> {
        self.move_cursor(by, 'B')
    }

    fn move_cursor_right(&self, by: usize) -> io::Result<()> {
        self.move_cursor(by, 'C')
    }

    fn move_cursor_left(&self, by: usize) -> io::Result<()> {
        self.move_cursor(by, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.drawn().extend([text, "\n"]);
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.drawn().push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let drawn = std::mem::take(&mut *self.drawn());
        // A closed terminal must not stop the work.
        let _ = Waiting(io::stderr()).write_all(drawn.as_bytes());
        Ok(())
    }
}
